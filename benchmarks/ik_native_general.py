"""Inverse kinematics of arms with six revolute joints and no closed form, through the public functions.

Time of one pose and of a pose of a batch, with q, count and codes read, beside what is promised and beside the
careful way; and how many of 10⁵ random poses the two answer otherwise. EAIK knows no decomposition of these arms.
"""

from __future__ import annotations

import sys
from pathlib import Path

import zveno

from .ik_native import agreement
from .timing import Row, interleaved

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "ik"))
from ik_answers import robot_of  # pyright: ignore[reportMissingImports]
from ik_arms import general_arms, industrial_arms, known_arms  # pyright: ignore[reportMissingImports]

ONE, BATCH = 60e-6, 14e-6
"""Seconds promised: one pose, and a pose of a batch."""
SINGLES, POSES = 50, 1000
CAREFUL = "six_revolute"


def run() -> list[Row]:
    """All comparisons."""
    zveno.set_threads(1)
    arms = [known_arms()["jaco"], known_arms()["manseur_doty"], *general_arms(3, seed=500)]
    arms.append(industrial_arms(8, seed=600)[7])
    return [row for arm in arms for row in _of(arm)]


def _of(arm) -> list[Row]:
    robot = robot_of(arm)
    _, T = arm.poses(POSES)
    singles = [pose.copy() for pose in T[:SINGLES]]

    def read(poses, method):
        answer = robot.ik(poses, method=method)
        return answer.q, answer.count, answer.codes

    one = interleaved({f"{k}": lambda pose=pose: read(pose, "auto") for k, pose in enumerate(singles)}, 1, 3, 1e-3)
    careful = interleaved({"one": lambda: [read(pose, CAREFUL) for pose in singles[:10]]}, 10, 5)["one"]
    batch = interleaved({"auto": lambda: read(T, "auto"), CAREFUL: lambda: read(T, CAREFUL)}, POSES, 9)
    times = sorted(one.values())
    return [
        Row(f"{arm.name}: one pose, median of {SINGLES}", times[SINGLES // 2], ONE, "promised", 1.0),
        Row(f"{arm.name}: one pose, mean of {SINGLES}", sum(times) / SINGLES, careful, "the careful way"),
        Row(f"{arm.name}: a pose of {POSES}", batch["auto"], BATCH, "promised", 1.0),
        Row(f"{arm.name}: a pose of {POSES}", batch["auto"], batch[CAREFUL], "the careful way"),
        agreement(robot, CAREFUL),
    ]
