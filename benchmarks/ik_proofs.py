"""Floating and certified inverse kinematics on the same poses: counts, values and statuses, by class of arms.

    python -m benchmarks.ik_proofs --poses 10000

Poses in equal parts: random, anywhere in reach, 1e-3 and 1e-6 from singular, and with a joint at a limit. What the
floating solver claims ("complete", "unreachable", "excluded by limits") is judged by `zveno.prove`: as many
solutions as the proof has inside limits, and the same. Where nothing is claimed, or the proof fails, that is said.
Exit code 1 if a claim is refuted.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

import zveno
from zveno.mechanism import Limits

from .ik_certified import poses_of
from .ik_law import singular_angles

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "ik"))
from ik_answers import robot_of  # pyright: ignore[reportMissingImports]
from ik_arms import general_arms, industrial_arms, known_arms  # pyright: ignore[reportMissingImports]
from test_ik_certified_short import CHAINS  # pyright: ignore[reportMissingImports]

KINDS = ("random", "anywhere", "1e-3 from singular", "1e-6 from singular", "at a limit")
CLAIMS = ("complete", "unreachable", "excluded by limits")
VERDICTS = {"proved": "agree", "refuted": "refuted", "not proved": "no proof"}
BOUND = 2.0
"""rad, limits of the arms asked for poses at a limit."""


def classes() -> dict[str, list]:
    """Arms of six revolute joints by class; other chains are asked as they are."""
    named = [arm for name, arm in known_arms().items() if name not in ("ur10", "kuka_limits")]
    return {"named": named, "general": general_arms(10), "industrial": industrial_arms(10)}


def asked(arm, kind: str, rng: np.random.Generator, robots: dict) -> tuple[zveno.Robot, np.ndarray]:
    """A robot and one pose (4, 4) of a kind."""
    limited = kind == "at a limit"
    if (arm.name, limited) not in robots:
        robots[arm.name, limited] = robot_of(arm, Limits(-BOUND, BOUND) if limited else None)
    robot = robots[arm.name, limited]
    if limited:
        q = rng.uniform(-BOUND, BOUND, 6)
        q[rng.integers(6)] = rng.choice([-BOUND, BOUND])
        return robot, arm.forward(q)
    if kind == "1e-6 from singular":
        q, joint = rng.uniform(-np.pi, np.pi, (1, 6)), rng.choice([1, 2, 4], 1)
        q[0, joint] = singular_angles(robot, q, joint, rng) + 1e-6 * rng.choice([-1, 1])
        return robot, arm.forward(q)[0]
    return robot, poses_of(arm, robot, kind, 1, rng)[0]


def verdict(robot: zveno.Robot, T: np.ndarray, task: str = "pose", limits: bool = True) -> str:
    """How the floating answer of a pose compares with the proof."""
    floating = robot.ik(T, task=task, limits=limits)
    if floating.status not in CLAIMS:
        return "no claim"
    return VERDICTS[str(zveno.prove(floating).status)]


def main(arguments: list[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--poses", type=int, default=10_000, help="of each class")
    parser.add_argument("--seconds", type=float, default=np.inf, help="of CPU for each class, at most")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    rng = np.random.default_rng(options.seed)
    table = Table("class", "poses", "agree", "refuted", "no claim", "no proof")
    failed, robots = False, {}
    for name, arms in {**classes(), "slides and short chains": list(CHAINS.values())}.items():
        verdicts, start = Counter(), time.process_time()
        for i in range(options.poses):
            if time.process_time() - start > options.seconds:
                break
            if isinstance(arms[0], tuple):
                model, task = arms[i % len(arms)]
                robot = robots.setdefault(model, zveno.load(model))
                T = robot.forward_kinematics(robot.random((), int(rng.integers(1 << 30))))
                verdicts[verdict(robot, T, task, limits=False)] += 1
            else:
                robot, T = asked(arms[i % len(arms)], KINDS[(i // len(arms)) % len(KINDS)], rng, robots)
                verdicts[verdict(robot, T)] += 1
        failed |= bool(verdicts["refuted"])
        words = ("agree", "refuted", "no claim", "no proof")
        table.add_row(name, str(verdicts.total()), *(str(verdicts[word]) for word in words))
        Console(width=130).print(table)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
