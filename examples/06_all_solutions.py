"""All inverse solutions of arms, and what happens where there are none: limits, reach, singular poses, paths.

Run it with `python examples/06_all_solutions.py [picture.png]`; the picture shows the robot in all
solutions of the first pose.
"""

from __future__ import annotations

import sys

import numpy as np

import zveno


def main(picture: str | None = None):
    np.set_printoptions(precision=3, suppress=True)
    robot = zveno.load("puma560")
    q = np.radians([20.0, -40.0, 30.0, 10.0, 60.0, 0.0])
    T_world_tool = robot.forward_kinematics(q)

    found = robot.ik(T_world_tool)
    print(found)
    print("nearest to home:", np.degrees(found.nearest_to(np.zeros(6))))
    print("farthest from its limits:", np.degrees(found.sorted_by("limit distance").q[0]))

    # The wrist aligned: axes 4 and 6 can turn against each other.
    aligned = robot.ik(robot.forward_kinematics(robot.pack({"joint5": 0.0}, default=q)))
    print(aligned.summary)

    # Out of reach, and out of limits.
    far = T_world_tool.copy()
    far[0, 3] += 1.0
    print(robot.ik(far).summary)
    print(robot.ik(T_world_tool, limits={"joint5": (-0.1, 0.1)}).summary)

    # A batch, a straight line, and an arm with one joint too many.
    many = robot.ik(robot.forward_kinematics(robot.random(200, 0)))
    print(many.summary)
    line = np.repeat(T_world_tool[None], 50, axis=0)
    line[:, 2, 3] += np.linspace(0.0, 0.1, 50)
    print(robot.ik_path(line, q0=q).summary)
    panda = zveno.load("panda")
    free = panda.ik(panda.forward_kinematics([0.1, 0.3, 0.2, -1.6, 0.3, 1.8, 0.4]), samples=32)
    print(free.summary)

    if picture is not None:
        found.plot().savefig(picture)
        print("picture:", picture)


if __name__ == "__main__":
    main(*sys.argv[1:2])
