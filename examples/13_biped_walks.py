"""Document 003's biped walks: twenty static steps, then dynamically on ground it does not know, then on oil.

Sensors have noise, bias and delay; the controller sees only what the estimator makes of them.
Run it with `python examples/13_biped_walks.py`; pictures and an animation go to out/.
"""

from __future__ import annotations

import zveno

robot = zveno.load("biped")
stance = zveno.stance_of(robot)


def hydraulic_drive() -> zveno.HydraulicDrive:
    """A cylinder of 2.5 cm² on a lever of 5 cm at every joint, valves of 5 l/min, one supply of 210 bar."""
    start = robot.unpack(stance.start)
    cylinders = {}
    for name in robot.joint_names[1:]:
        lever = zveno.ConstantLever(0.05, middle=float(start[name]))
        cylinders[name] = zveno.HydraulicCylinder(
            zveno.ServoValve(5 / 60000), area=2.5e-4, stroke=0.3, lever=lever, dead_volume=1e-5, viscous=100.0
        )
    return zveno.HydraulicDrive(cylinders)


def main():
    ground = zveno.uneven_ground(0.02, rng=1)
    static = zveno.simulate_walk(robot, *stance, zveno.StaticGait(steps=20), ground=zveno.uneven_ground(0.0))
    print(static.summary)
    assert static.walked
    assert len(static.steps) == 20
    print("picture:", static.plot("out/biped_static.png"))
    dynamic = zveno.simulate_walk(robot, *stance, zveno.DynamicGait(steps=10), ground=ground)
    print("ground within ±20 mm:", dynamic.summary)
    assert dynamic.walked
    print("picture:", dynamic.plot("out/biped_dynamic.png"))
    print("animation:", dynamic.trajectory.animate("out/biped_walks.gif", rate=10, size=(320, 320)))
    oil = zveno.simulate_walk(robot, *stance, zveno.DynamicGait(steps=6), ground=ground, drive=hydraulic_drive())
    print("on hydraulic drives:", oil.summary)
    assert oil.walked


if __name__ == "__main__":
    main()
