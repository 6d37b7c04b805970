"""Self-motions of seven joints against 512 slices: components missing, poses decided, time a pose.

    python -m benchmarks.ik_self_motion --poses 200

Four arms and random ones, 200 poses each, every fourth of a configuration that disregards limits. The rival solves
512 slices of a joint and joins neighbours. From a point of each of its curves another iteration (Jacobians and
plain steps in NumPy) goes both ways inside limits until it meets a configuration that the answer lists: a curve
that meets none is missing. Where the answer says that there is none, every curve is. Exit code 1 if one is missing.
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

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "ik"))
from ik_answers import robot_of  # pyright: ignore[reportMissingImports]
from ik_arms import general_arms  # pyright: ignore[reportMissingImports]

NAMED = ("panda", "iiwa14", "xarm7", "gen3")
SLICES = 512
STEP = 0.01
LONGEST = 4.0
"""Radians along a curve within which a listed configuration must be met."""
ALONG = 2e-3
"""How far off the tangent a listed configuration one step ahead may be."""
DECIDED = ("self-motion", "excluded by limits", "unreachable")


def arms(n_random: int) -> dict[str, zveno.Robot]:
    """By name."""
    named = {name: zveno.load(name) for name in NAMED}
    limits = Limits(-2.618, 2.618)
    general = general_arms(n_random, seed=707, joints=7)
    return named | {arm.name: robot_of(arm, limits if i % 2 else None) for i, arm in enumerate(general)}


def poses_of(robot: zveno.Robot, n: int, seed: int) -> np.ndarray:
    """(n, 4, 4): of random configurations inside limits, every fourth disregards them."""
    q = robot.random(n, seed)
    rng = np.random.default_rng(seed + 1)
    q[::4] = rng.uniform(-np.pi, np.pi, q[::4].shape)
    return robot.forward_kinematics(q)


def short(d: np.ndarray) -> np.ndarray:
    """Differences of angles the short way round."""
    return d - 2 * np.pi * np.round(d / (2 * np.pi))


def error(robot: zveno.Robot, q: np.ndarray, T: np.ndarray) -> np.ndarray:
    """(6,) of a configuration: metres, and the sine of the turn about each axis."""
    F = robot.forward_kinematics(q)
    E = F[:3, :3] @ T[:3, :3].T
    turn = 0.5 * np.array([E[2, 1] - E[1, 2], E[0, 2] - E[2, 0], E[1, 0] - E[0, 1]])
    return np.concatenate([F[:3, 3] - T[:3, 3], turn])


def meets(robot: zveno.Robot, T: np.ndarray, start: np.ndarray, listed: np.ndarray) -> bool:
    """Whether the curve through a solution comes by a listed configuration, inside limits."""
    ended = np.isfinite(robot.upper - robot.lower)
    lower, upper = np.where(ended, robot.lower, 0.0), np.where(ended, robot.upper, 0.0)
    middle, half = (lower + upper) / 2, np.where(ended, (upper - lower) / 2, np.inf)
    for sign in (1.0, -1.0):
        q, way = start.copy(), None
        for _ in range(round(LONGEST / STEP)):
            tangent = np.linalg.svd(robot.jacobian(q))[2][-1]
            tangent = sign * tangent if way is None else tangent * np.sign(tangent @ way)
            d = short(listed - q)
            ahead = d @ tangent
            off = np.linalg.norm(d - ahead[:, None] * tangent, axis=1)
            if np.any((np.abs(ahead) <= STEP) & (off < ALONG)):
                return True
            q, way = q + STEP * tangent, tangent
            for _ in range(3):
                q = q - np.linalg.lstsq(robot.jacobian(q), error(robot, q, T), rcond=None)[0]
            if np.any(np.abs(short(q - middle)) > half):
                break
    return False


def nearest_of(curve: np.ndarray, listed: np.ndarray) -> np.ndarray:
    """Of some configurations of a curve (n, 7) the one nearest to one of those listed: a short way to go."""
    some = curve[:: max(1, len(curve) // 16)]
    off = [np.abs(short(listed - q)).max(axis=1).min() for q in some]
    return some[int(np.argmin(off))]


def judged(robot: zveno.Robot, T: np.ndarray, figures: Counter, seconds: list[float]) -> None:
    """Enter one pose."""
    start = time.process_time()
    answer = robot.ik(T)
    seconds.append(time.process_time() - start)
    figures["decided"] += answer.status in DECIDED
    figures[answer.status] += 1
    figures["our curves"] += len(answer.self_motions.get(0, ()))
    if answer.count:
        inside = np.all((answer.q >= robot.lower - 1e-9) & (answer.q <= robot.upper + 1e-9))
        figures["wrong solutions"] += not (inside and answer.residual.max() < 1e-9)
    rival = robot.ik(T, samples=SLICES)
    for curve in rival.self_motions.get(0, ()):
        figures["their curves"] += 1
        if not (answer.count and meets(robot, T, nearest_of(curve.q, answer.q), answer.q)):
            figures["missing"] += 1
            figures["missing though decided"] += answer.status in DECIDED


def main(arguments: list[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--poses", type=int, default=200)
    parser.add_argument("--random", type=int, default=10, help="random arms, which share their poses")
    parser.add_argument("--arm", action="append", help="only these")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    table = Table(title="Self-motions of seven joints against 512 slices")
    for column in ("arm", "poses", "decided", "statuses", "curves", "theirs", "missing", "ms median", "ms p95"):
        table.add_column(column, justify="left" if column in ("arm", "statuses") else "right")
    failed = False
    for name, robot in arms(given.random).items():
        if given.arm and name not in given.arm:
            continue
        n = given.poses if name in NAMED else max(1, given.poses // given.random)
        figures: Counter = Counter()
        seconds: list[float] = []
        T = poses_of(robot, n, given.seed)
        robot.ik(T[0])
        for pose in T:
            judged(robot, pose, figures, seconds)
        failed |= bool(figures["missing"] or figures["wrong solutions"])
        ms = 1e3 * np.array(seconds)
        statuses = ", ".join(
            f"{figures[word]} {word}" for word in (*DECIDED, "sampled", "undecided") if figures[word]
        )
        table.add_row(
            name,
            str(n),
            f"{figures['decided'] / n:.1%}",
            statuses,
            str(figures["our curves"]),
            str(figures["their curves"]),
            f"{figures['missing']} ({figures['missing though decided']} decided)",
            f"{np.median(ms):.0f}",
            f"{np.quantile(ms, 0.95):.0f}",
        )
        Console(width=160).print(table)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
