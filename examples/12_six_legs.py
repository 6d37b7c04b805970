"""A machine with six legs from a ten-line description walks statically, on level ground and onto a step.

Run it with `python examples/12_six_legs.py`; the picture goes to out/.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

import zveno
from zveno import walking

rod, at, turned = zveno.inertia.parameters, zveno.transforms.transform, zveno.rotations.from_rpy


def hexapod() -> zveno.Robot:
    """A body of 12 kg with six times the same leg of three rods, turned to the left or to the right."""
    leg = zveno.load("Rz(hip) Tx(0.06) Ry(thigh) Tx(0.2) Ry(shin) Tx(0.25)")
    leg = leg.with_inertia(dict.fromkeys(leg.link_names[1:], rod(0.4, [0.1, 0, 0], 0.002 * np.eye(3)))).mechanism
    joints = tuple(replace(joint, limits=zveno.Limits(-2.2, 2.2, 5.0, 40.0)) for joint in leg.joints)
    leg = replace(leg, joints=joints, frames=(replace(leg.frames[0], name="foot"),))
    body = zveno.assemble("body", [zveno.Link("body", rod(12.0, np.zeros(3), np.diag([0.1, 0.4, 0.5])))], [])
    for row, x in {"front": 0.3, "middle": 0.0, "rear": -0.3}.items():
        for side, y in {"left": 1, "right": -1}.items():
            hip = at(turned([0, 0, y * np.pi / 2]), [x, 0.12 * y, 0])
            body = zveno.edit.attach(body, leg, "body", hip, f"{row}_{side}_")
    return zveno.Robot(replace(body, name="hexapod")).with_base("free")


def main():
    robot = hexapod()
    feet = [name for name in robot.frame_names if name.endswith("_foot")]
    angles = {"thigh": -0.5, "shin": 1.7}
    start = robot.pack({name: angles.get(name.split("_")[-1], 0.0) for name in robot.joint_names[1:]})
    walk = walking.simulate_walk(robot, feet, start, walking.StaticGait(steps=6, clearance=0.05))
    print(walk.summary)
    print("order:", ", ".join(walk.feet[i] for i in walk.steps))
    assert walk.walked
    ground = zveno.simulation.GroundSteps([0.37], [0.0, 0.06])
    gait = walking.StaticGait(steps=12, stride=(0.1, 0.0), clearance=0.05)
    climb = walking.simulate_walk(robot, feet, start, gait, ground=ground, expected=ground)
    print("up a step of 6 cm:", climb.summary)
    assert climb.walked
    assert climb.footholds[:, 2].max() > 0.059
    Path("out").mkdir(exist_ok=True)
    climb.plot().savefig("out/six_legs.png")
    print("picture: out/six_legs.png")


if __name__ == "__main__":
    main()
