"""Inverse kinematics with a proof: how many poses are proved, how fast, and whether wrong claims are refused.

    python -m benchmarks.ik_certified --poses 10

Named, general and industrial arms; random poses, poses anywhere in reach (most of them out of reach), and poses at
given distances from det J = 0 along one joint. Proofs of a pose by different templates are compared, and right and
wrong claims judged. Exit code 1 if two proofs disagree, a claim is judged wrongly, or an exactly singular pose is
proved. `benchmarks.ik_proofs` compares the floating solvers and exported C with proofs.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

import zveno
from zveno.ik.certified.exact_chain import exact_chain
from zveno.ik.certified.exact_readings import transform_meant
from zveno.ik.certified.six_revolute.arm import SixRevolute
from zveno.ik.certified.six_revolute.choice import chosen_templates
from zveno.ik.ik_problem import problem_of

from .ik_law import singular_angles
from .timing import Row

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "ik"))
from ik_answers import nearest, robot_of  # pyright: ignore[reportMissingImports]
from ik_arms import general_arms, industrial_arms, known_arms  # pyright: ignore[reportMissingImports]

MEDIAN, P95, SETUP = 25e-3, 0.1, 0.2
"""Seconds of CPU promised."""
DISTANCES = {"1e-3 from singular": 1e-3, "1e-5": 1e-5, "1e-6": 1e-6, "1e-7": 1e-7}
SINGULAR = {
    "puma": ([0, 0.4318, 0.0203, 0, 0, 0], [90, 0, -90, 90, -90, 0], [0, 0, 0.15005, 0.4318, 0, 0]),
    "kuka": ([0.26, 0.68, -0.035, 0, 0, 0], [-90, 0, 90, -90, 90, 180], [0.675, 0, 0, -0.67, 0, -0.158]),
    "ur5": (
        [0, -0.425, -0.39225, 0, 0, 0],
        [90, 0, 0, 90, -90, 0],
        [0.089159, 0, 0, 0.10915, 0.09465, 0.0823],
    ),
}
"""Arms whose fifth joint makes them exactly singular at 0 and 180°."""


def classes(n: int) -> dict[str, list]:
    """Arms by class."""
    named = [arm for name, arm in known_arms().items() if name not in ("ur10", "kuka_limits")]
    return {"named": named, "general": general_arms(n), "industrial": industrial_arms(n)}


def poses_of(arm, robot: zveno.Robot, kind: str, n: int, rng: np.random.Generator) -> np.ndarray:
    """(n, 4, 4) of a kind."""
    q = rng.uniform(-np.pi, np.pi, (n, 6))
    if kind in DISTANCES:
        joint = rng.choice([1, 2, 4], n)
        rows = np.arange(n)
        q[rows, joint] = singular_angles(robot, q, joint, rng) + DISTANCES[kind] * rng.choice([-1, 1], n)
    T = arm.forward(q)
    if kind == "anywhere":
        reach = np.linalg.norm(arm.F[:, :3, 3], axis=1).sum() + np.linalg.norm(arm.tool[:3, 3])
        direction = rng.standard_normal((n, 3))
        direction /= np.linalg.norm(direction, axis=1, keepdims=True)
        T[:, :3, 3] = direction * (reach * rng.random((n, 1)) ** (1 / 3))
    return T


class Figures:
    """What came out for poses of one kind and class of arms."""

    def __init__(self):
        self.seconds: list[float] = []
        self.proved = 0

    def add(self, robot: zveno.Robot, T: np.ndarray):
        for pose in T:
            start = time.process_time()
            answer = robot.ik(pose, method="certified")
            self.seconds.append(time.process_time() - start)
            self.proved += answer.status != "not proved"

    def row(self) -> list[str]:
        n, ms = len(self.seconds), np.array(self.seconds) * 1e3
        return [f"{self.proved}/{n}", f"{np.median(ms):.0f}", f"{np.quantile(ms, 0.95):.0f}", f"{ms.max():.0f}"]


def falsified(robot: zveno.Robot, T: np.ndarray, rng: np.random.Generator) -> Counter:
    """Verdicts on right and wrong claims for poses: any solution removed, doubled, moved or added to."""
    verdicts: Counter = Counter()
    for pose in T:
        answer = robot.ik(pose, method="certified")
        if answer.status != "proved":
            continue
        q = answer.q
        one = rng.integers(len(q))
        moved = q.copy()
        moved[one, rng.integers(6)] += 1e-6 * rng.choice([-1, 1])
        claims = {
            "right": q,
            "removed": np.delete(q, one, axis=0),
            "added": np.concatenate([q, rng.uniform(-np.pi, np.pi, (1, 6))]),
            "moved": moved,
            "doubled": np.concatenate([q, q[one : one + 1]]),
        }
        for name, listed in claims.items():
            claim = replace(answer, q=listed, count=np.array(len(listed)))
            verdicts[name, claim.prove().status] += 1
    return verdicts


def proofs_agree(arm, T: np.ndarray) -> Counter:
    """Proofs of the same pose by single templates, compared with the first of them."""
    chain = exact_chain(problem_of(robot_of(arm)))
    templates = chosen_templates(chain.constants, chain.floats)
    agreement: Counter = Counter()
    routes = [SixRevolute(chain.constants, [template]) for template in templates]
    for pose in T:
        target = transform_meant(pose).balls
        proofs = [route.solve(target).solutions for route in routes]
        known = [np.array([[float(x.mid()) for x in s.enclosure] for s in p]) for p in proofs if p is not None]
        for other in known[1:]:
            same = len(other) == len(known[0]) and all(nearest(q, known[0]) < 1e-12 for q in other)
            agreement["agree" if same else "DISAGREE"] += 1
    return agreement


def singular_poses(n: int, rng: np.random.Generator) -> Counter:
    """Statuses of exactly singular poses, given as elementary transforms."""
    statuses: Counter = Counter()
    for a, alpha, d in SINGULAR.values():
        terms = [f"Rz({{}}) Tx({x}) Tz({z}) Rx({t}deg)" for x, t, z in zip(a, alpha, d, strict=True)]
        text = " ".join(terms)
        robot = zveno.load(text.format(*(f"q{i}" for i in range(1, 7))))
        for _ in range(n):
            angles = [f"{15 * k}deg" for k in rng.integers(-11, 12, 6)]
            angles[4] = str(rng.choice(["0", "180deg"]))
            statuses[robot.ik(text.format(*angles), method="certified").status] += 1
    return statuses


def setup_seconds(arm) -> float:
    """CPU of choosing templates for an arm, kernels built."""
    chain = exact_chain(problem_of(robot_of(arm)))
    start = time.process_time()
    chosen_templates(chain.constants, chain.floats)
    return time.process_time() - start


def run() -> list[Row]:
    """Median seconds a random pose beside what was promised."""
    rows, rng = [], np.random.default_rng(1)
    for name, arms in classes(3).items():
        figures = Figures()
        for arm in arms:
            robot = robot_of(arm)
            robot.ik(arm.poses(1)[1][0], method="certified")
            figures.add(robot, poses_of(arm, robot, "random", 5, rng))
        rows.append(Row(f"certified ik, {name} arms", float(np.median(figures.seconds)), MEDIAN, "promised", 1.0))
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ik_certified", description=__doc__)
    parser.add_argument("--poses", type=int, default=10, help="poses of each kind and arm")
    parser.add_argument("--claims", type=int, default=2, help="poses of each arm of which claims are made")
    parser.add_argument("--arms", type=int, default=10, help="general and industrial arms, each")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    table = Table("arms", "poses", "proved", "ms", "p95", "worst")
    setup, agreement, verdicts, console = [], Counter(), Counter(), Console(width=130)
    for name, arms in classes(options.arms).items():
        figures = {kind: Figures() for kind in ("random", "anywhere", *DISTANCES)}
        for arm in arms:
            robot = robot_of(arm)
            robot.ik(arm.poses(1)[1][0], method="certified")
            setup.append(setup_seconds(arm))
            for kind, gathered in figures.items():
                T = poses_of(arm, robot, kind, options.poses, rng)
                gathered.add(robot, T)
                agreement += proofs_agree(arm, T[:2])
            verdicts += falsified(robot, arm.poses(options.claims, seed=options.seed)[1], rng)
        for kind, gathered in figures.items():
            table.add_row(name, kind, *gathered.row())
        console.print(table)
    singular = singular_poses(options.poses, rng)
    wrong = sum(n for (claim, status), n in verdicts.items() if (status == "proved") != (claim == "right"))
    console.print(f"set-up, s: median {np.median(setup):.2f}, worst {max(setup):.2f}")
    console.print(f"proofs by different templates: {dict(agreement)}")
    console.print(f"claims judged: {sum(verdicts.values())}, wrongly {wrong}; exactly singular: {dict(singular)}")
    return int(bool(wrong or agreement["DISAGREE"] or singular.total() != singular["not proved"]))


if __name__ == "__main__":
    sys.exit(main())
