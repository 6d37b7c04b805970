"""All inverse solutions of arms, and what happens where there are none: limits, reach, singular poses, paths.

Run it with `python examples/06_all_solutions.py [picture.png]`; the picture shows the residual of one pose against
the number of the scan's grid, with the cells of the solutions marked.
"""

from __future__ import annotations

import sys

import numpy as np

import zveno
from zveno.ik import choose, problem_of, solve_ik
from zveno.ik.paths import solve_path


def main(picture: str | None = None):
    np.set_printoptions(precision=3, suppress=True)
    robot = zveno.load("puma560")
    q = np.radians([20.0, -40.0, 30.0, 10.0, 60.0, 0.0])
    T_world_tool = robot.forward_kinematics(q)

    found = solve_ik(robot, T_world_tool)
    print(found.summary)
    print(np.degrees(found.q))
    print("nearest to home:", np.degrees(choose.nearest(found, np.zeros(6))))
    print("farthest from its limits:", np.degrees(choose.farthest_from_limits(found, robot)))

    # The wrist aligned: axes 4 and 6 can turn against each other.
    aligned = solve_ik(robot, robot.forward_kinematics(robot.pack({"joint5": 0.0}, default=q)))
    print(aligned.summary)

    # Out of reach, and out of limits.
    far = T_world_tool.copy()
    far[0, 3] += 1.0
    print(solve_ik(robot, far).summary)
    print(solve_ik(robot, T_world_tool, limits={"joint5": (-0.1, 0.1)}).summary)

    # A batch, a straight line, and an arm with one joint too many.
    many = solve_ik(robot, robot.forward_kinematics(robot.random(200, 0)))
    print(many.summary)
    line = np.repeat(T_world_tool[None], 50, axis=0)
    line[:, 2, 3] += np.linspace(0.0, 0.1, 50)
    print(solve_path(robot, line, start=q).summary)
    panda = zveno.load("panda")
    free = solve_ik(panda, panda.forward_kinematics([0.1, 0.3, 0.2, -1.6, 0.3, 1.8, 0.4]), slices=32)
    print(free.summary)

    if picture is not None:
        from zveno.report.pictures.numbers import draw_scan

        print("picture:", draw_scan(problem_of(robot), T_world_tool, found.q, picture))


if __name__ == "__main__":
    main(*sys.argv[1:2])
