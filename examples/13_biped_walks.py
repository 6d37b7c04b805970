"""Document 003's biped walks: twenty static steps, then dynamically on ground it does not know, then on oil.

Sensors have noise, bias and delay; the controller sees only what the estimator makes of them.
Run it with `python examples/13_biped_walks.py`; the pictures go to out/.
"""

from __future__ import annotations

from pathlib import Path

import zveno
from zveno import simulation, walking

robot = zveno.load("biped")
stance = walking.default_stance(robot)


def hydraulic_drive() -> simulation.HydraulicDrive:
    """A cylinder of 2.5 cm² on a lever of 5 cm at every joint, valves of 5 l/min, one supply of 210 bar."""
    start = robot.unpack(stance.start)
    cylinders = {}
    for name in robot.joint_names[1:]:
        lever = simulation.ConstantLever(0.05, middle=float(start[name]))
        cylinders[name] = simulation.HydraulicCylinder(
            simulation.ServoValve(5 / 60000),
            area=2.5e-4,
            stroke=0.3,
            lever=lever,
            dead_volume=1e-5,
            viscous=100.0,
        )
    return simulation.HydraulicDrive(cylinders)


def main():
    Path("out").mkdir(exist_ok=True)
    ground = walking.uneven_ground(0.02, rng=1)
    static = walking.simulate_walk(robot, *stance, walking.StaticGait(steps=20), ground=walking.uneven_ground(0.0))
    print(static.summary)
    assert static.walked
    assert len(static.steps) == 20
    static.plot().savefig("out/biped_static.png")
    print("picture: out/biped_static.png")
    dynamic = walking.simulate_walk(robot, *stance, walking.DynamicGait(steps=10), ground=ground)
    print("ground within ±20 mm:", dynamic.summary)
    assert dynamic.walked
    dynamic.plot().savefig("out/biped_dynamic.png")
    print("picture: out/biped_dynamic.png")
    oil = walking.simulate_walk(
        robot, *stance, walking.DynamicGait(steps=6), ground=ground, drive=hydraulic_drive()
    )
    print("on hydraulic drives:", oil.summary)
    assert oil.walked


if __name__ == "__main__":
    main()
