"""Whole bodies: a humanoid reaches, squats and looks; a quadruped keeps its feet; an arm rides on a base.

Run it with `python examples/13_whole_bodies.py`; the pictures go to out/. Where the package example-robot-data is
installed (it comes with `pip install pin example-robot-data`), the humanoid is a Unitree G1, otherwise the built-in
biped, which has no arms.
"""

from __future__ import annotations

import importlib.util
import math
import warnings
from pathlib import Path

import numpy as np

import zveno
from zveno import ik
from zveno.ik import CenterOfMassTask, FrameTask, PostureTask

DT = 0.02


def humanoid() -> tuple[zveno.Robot, list[str], str | None, str]:
    """(Robot, feet, hand, what looks)."""
    found = importlib.util.find_spec("pinocchio")
    folders = Path(found.origin).parents if found and found.origin else ()
    prefix = next((folder for folder in folders if folder.name == "cmeel.prefix"), None)
    files = list(prefix.glob("share/example-robot-data/**/g1_29dof_rev_1_0.urdf")) if prefix else []
    if not files:
        print("example-robot-data is not installed: the built-in biped squats and looks instead of a G1")
        return zveno.load("biped"), ["left_foot", "right_foot"], None, "trunk"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # meshes and limits that do not matter here
        robot = zveno.load(files[0]).with_base("free")
    return robot, ["left_ankle_roll_link", "right_ankle_roll_link"], "right_rubber_hand", "torso_link"


def reach_squat_and_look() -> None:
    Path("out").mkdir(exist_ok=True)
    robot, feet, hand, head = humanoid()
    bent = {"hip_pitch": -0.2, "knee": 0.4, "ankle_pitch": -0.2}  # soles stay level
    start = robot.pack({name: x for name in robot.joint_names for part, x in bent.items() if part in name})
    soles = dict(zip(feet, robot.frame_poses(start, frames=feet), strict=True))
    aside = zveno.rotations.from_rpy([0, 0, 0.4]) @ robot.forward_kinematics(start, frame=head)[:3, :3]
    asked = soles | {head: aside}
    if hand is not None:
        asked[hand] = robot.forward_kinematics(start, frame=hand)[:3, 3] + [0.1, 0.0, 0.0]
    center = robot.center_of_mass(start)
    above = np.mean([T[:2, 3] for T in soles.values()], axis=0)
    down = np.append(above, center[2] - 0.08)
    posture = ik.whole_body(robot, asked, center_of_mass=down, q0=start)
    print("posture:", posture.summary)
    assert posture.status == "solved"
    # The way there, step by step: feet strictly where they are, velocities and limits kept.
    tasks = [*(FrameTask(foot, math.inf) for foot in feet), CenterOfMassTask(), FrameTask(head, kind="rotation")]
    tasks += [PostureTask(0.1)] if hand is None else [FrameTask(hand, kind="position"), PostureTask(0.1)]
    step_for, step, q, way = ik.DifferentialIK(robot, tasks, DT, velocity=1.0), None, start, [start]
    for _ in range(100):
        step = step_for(q, asked | {"center_of_mass": down, "posture": posture.q[0]}, previous=step)
        assert step.solved
        q = step.q
        way.append(q)
    moved = robot.frame_poses(q, frames=feet) - np.stack(list(soles.values()))
    print(f"feet moved by {1e3 * abs(moved[:, :3, 3]).max():.3f} mm, errors at the end {step.errors.max():.1e}")
    assert abs(moved).max() < 1e-3
    assert step.errors[:-1].max() < 1e-2
    robot.plot(np.array(way[::25]), frames=[hand or head]).savefig("out/humanoid.png")
    print("picture: out/humanoid.png")


def keep_the_feet() -> None:
    dog = zveno.load("quadruped")
    paws = [name for name in dog.frame_names if name.endswith("_foot")]
    bent = {name: 0.6 for name in dog.joint_names if "hip_pitch" in name}
    q = dog.pack(bent | {name: -1.2 for name in dog.joint_names if "knee" in name})
    places = {name: dog.forward_kinematics(q, frame=name)[:3, 3] for name in paws}
    body = dog.forward_kinematics(q, frame="body")
    stay = [FrameTask(paw, math.inf, kind="position") for paw in paws]
    step_for = ik.DifferentialIK(dog, [*stay, FrameTask("body")], DT)
    step, way, worst = None, [q], 0.0
    for k in range(100):
        sway = 0.15 * math.sin(0.1 * k)
        looks = body @ zveno.transforms.transform(zveno.rotations.from_rpy([sway, 0.5 * sway, sway]), [0, 0, -0.02])
        step = step_for(q, places | {"body": looks}, previous=step)
        assert step.solved
        q = step.q
        way.append(q)
        worst = max(worst, *(abs(dog.forward_kinematics(q, frame=p)[:3, 3] - places[p]).max() for p in paws))
    print(f"quadruped: its body looks around, its feet move by {1e3 * worst:.2f} mm at most")
    assert worst < 2e-3
    dog.plot(np.array(way[::20]), frames=["body"]).savefig("out/quadruped.png")
    print("picture: out/quadruped.png")


def base_and_arm() -> None:
    mobile = zveno.load("Tx(x) Ty(y) Rz(turn) Tz(0.5) Rz(q1) Ry(q2) Tx(0.4) Ry(q3) Tx(0.4) Ry(q4) Rx(q5)")
    tool, q = mobile.link_names[-1], mobile.neutral() + 0.3
    reached = ik.whole_body(mobile, {tool: zveno.transforms.transform(None, [2.0, 1.0, 0.8])})
    print("mobile manipulator:", reached.status)
    assert reached.status == "solved"
    # The arm is quick and the base is slow: the base does what the arm cannot.
    fastest = np.array([0.3, 0.3, 0.5, 2.0, 2.0, 2.0, 2.0, 2.0])
    step_for = ik.DifferentialIK(
        mobile, [FrameTask(tool, kind="position"), PostureTask(0.05)], DT, velocity=fastest
    )
    step, way, goal = None, [q], np.array([2.0, 1.0, 0.8])
    for _ in range(400):
        step = step_for(q, {tool: goal, "posture": reached.q[0]}, previous=step)
        assert step.solved
        assert (abs(step.v) <= fastest + 1e-9).all()
        q = step.q
        way.append(q)
    print(f"its tool is {1e3 * np.linalg.norm(mobile.forward_kinematics(q)[:3, 3] - goal):.2f} mm from the goal")
    assert step.errors[0] < 1e-2
    mobile.plot(np.array(way[::80])).savefig("out/mobile.png")
    print("picture: out/mobile.png")


def main():
    reach_squat_and_look()
    keep_the_feet()
    base_and_arm()


if __name__ == "__main__":
    main()
