"""A quadruped trots, is pushed, and climbs a step.

Run it with `python examples/14_quadruped_trots.py`; the picture goes to out/.
"""

from __future__ import annotations

from pathlib import Path

import zveno
from zveno import walking


def main():
    Path("out").mkdir(exist_ok=True)
    dog = zveno.load("quadruped")
    stance = walking.default_stance(dog)
    gait = walking.DynamicGait((0.2, 0.0), steps=10, step_time=0.3)
    trot = walking.simulate_walk(dog, *stance, gait, pushes=[walking.Push(1.5, (0.0, 2.0, 0.0))])
    print("trot with a push of 2 N·s:", trot.summary)
    assert trot.walked
    trot.plot().savefig("out/quadruped_trot.png")
    print("picture: out/quadruped_trot.png")
    step = zveno.simulation.GroundSteps([0.38], [0.0, 0.05])
    gait = walking.StaticGait((0.16, 0.0), steps=18, clearance=0.05, swing_time=0.5)
    climb = walking.simulate_walk(dog, *stance, gait, ground=step, expected=step)
    print("up a step of 5 cm:", climb.summary)
    assert climb.walked
    assert climb.footholds[-4:, 2].min() > 0.045, "all four feet are up"


if __name__ == "__main__":
    main()
