"""A machine with six legs from a short description walks statically, on level ground and up a step.

Run it with `python examples/12_six_legs.py`; the picture goes to out/.
"""

from __future__ import annotations

import numpy as np

import zveno
from zveno import Frame, Joint, Limits, Link, Revolute

ROWS = {"f": 0.3, "m": 0.0, "r": -0.3}
LIMITS = Limits(-2.2, 2.2, 5.0, 40.0)


def hexapod() -> zveno.Robot:
    """A body of 12 kg with three legs a side, each turning at the hip and bending at thigh and knee."""
    rod, at = zveno.inertia.parameters, zveno.transforms.transform
    links, joints, frames = [Link("body", rod(12.0, np.zeros(3), np.diag([0.1, 0.4, 0.5])))], [], []
    legs = [(f"{end}_{side}", x, y) for end, x in ROWS.items() for side, y in (("l", 1), ("r", -1))]
    for name, x, side in legs:
        hip = at(zveno.rotations.from_rpy([0, 0, side * np.pi / 2]), [x, 0.12 * side, 0])
        for part, parent, axis, place in (
            ("hip", "body", (0, 0, 1), hip),
            ("thigh", f"{name}_hip", (0, 1, 0), at(p=(0.06, 0, 0))),
            ("shin", f"{name}_thigh", (0, 1, 0), at(p=(0.2, 0, 0))),
        ):
            links.append(Link(f"{name}_{part}", rod(0.4, np.array([0.1, 0, 0]), 0.002 * np.eye(3))))
            joints.append(Joint(f"{name}_{part}", parent, f"{name}_{part}", Revolute(axis), place, limits=LIMITS))
        frames.append(Frame(f"{name}_foot", f"{name}_shin", at(p=(0.25, 0, 0))))
    return zveno.Robot(zveno.assemble("hexapod", links, joints, frames)).with_base("free")


def main():
    robot = hexapod()
    feet = [name for name in robot.frame_names if name.endswith("foot")]
    angles = {"thigh": -0.5, "shin": 1.7}
    start = robot.pack({name: angles.get(name[4:], 0.0) for name in robot.joint_names if name != "floating_base"})
    walk = zveno.plan_walk(robot, feet, start, stride=(0.1, 0.0), cycles=2, margin=0.05)
    print(walk.summary)
    print("order:", ", ".join(walk.feet[i] for i in walk.order))
    assert walk.status == "planned"
    assert walk.margin.min() > 0.05 - 1e-5
    climb = zveno.plan_walk(
        robot, feet, start, stride=(0.1, 0.0), cycles=4, margin=0.04, ground=zveno.GroundSteps([0.45], [0.0, 0.06])
    )
    print("up a step of 6 cm:", climb.summary)
    assert climb.status == "planned"
    assert climb.footholds[:, 2].max() > 0.059
    print("picture:", walk.plot("out/six_legs.png"))
    made = zveno.simulate_walk(robot, feet, start, zveno.StaticGait(steps=6, clearance=0.05))
    print("in simulation:", made.summary)
    assert made.walked


if __name__ == "__main__":
    main()
