"""A quadruped trots, is pushed, and climbs a step.

Run it with `python examples/14_quadruped_trots.py`; the picture goes to out/.
"""

from __future__ import annotations

import zveno


def main():
    dog = zveno.load("quadruped")
    stance = zveno.stance_of(dog)
    gait = zveno.DynamicGait((0.2, 0.0), steps=10, step_time=0.3)
    trot = zveno.simulate_walk(dog, *stance, gait, pushes=[zveno.Push(1.5, (0.0, 2.0, 0.0))])
    print("trot with a push of 2 N·s:", trot.summary)
    assert trot.walked
    print("picture:", trot.plot("out/quadruped_trot.png"))
    step = zveno.GroundSteps([0.35], [0.0, 0.05])
    gait = zveno.StaticGait((0.16, 0.0), steps=18, clearance=0.05, swing_time=0.5)
    climb = zveno.simulate_walk(dog, *stance, gait, ground=step, expected=step)
    print("up a step of 5 cm:", climb.summary)
    assert climb.walked
    assert climb.footholds[-4:, 2].min() > 0.045, "all four feet are up"


if __name__ == "__main__":
    main()
