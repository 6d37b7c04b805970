"""The configuration behind a pose is always among its solutions: random arms, at every distance from singular.

    python -m benchmarks.ik_law --poses 100000

One to three joints of every configuration are placed where det J vanishes along that joint (an aligned wrist, a
stretched elbow, a wrist centre above the shoulder), plus an offset that is log-uniform from 1e-12 to 1 rad. Poses
come from the kinematics of the tests, not from the product's. Exit code 1 if a status claims more than is so.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np

from zveno.ik.solve import solve_ik
from zveno.robot import Robot

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "ik"))
from ik_answers import nearest, robot_of, wrapped  # pyright: ignore[reportMissingImports]
from ik_arms import dh_arm, general_arms, industrial_arms, known_arms  # pyright: ignore[reportMissingImports]

PI = np.pi
OPEN = ("undecided", "sampled")
LEAST, POSE = 1e-9, 2e-9
"""A solution is that configuration up to LEAST rad, or what rounding of the pose moves it by; pose errors, m."""
ONE_ROOT, ROUNDING = 0.02, 4e-15
"""Solutions nearer than ONE_ROOT are one root if what lies between misses the pose by ROUNDING of it at most."""
ALONG, ON_CURVE = 0.15, 1e-3
"""Step along a continuum, and how near to a configuration on it the way along it must come."""


def wrist_arms(n: int, seed: int) -> list:
    """Random arms with spherical wrists: right-angled or skew, second and third axes parallel or meeting."""
    rng, arms = np.random.default_rng(seed), []
    for i in range(n):
        twist = np.radians(rng.choice([-90.0, -60.0, 60.0, 90.0], 6))
        twist[1] = rng.choice([0.0, twist[1]])
        a, d = rng.uniform(-0.5, 0.5, 6), rng.uniform(-0.5, 0.5, 6)
        a *= rng.random(6) < 0.7
        a[3] = a[4] = d[4] = 0.0
        if rng.random() < 0.5:
            twist[3:5] = rng.choice([-PI / 2, PI / 2], 2)
        if twist[1] != 0.0:
            a[1] = d[1] = 0.0  # second and third axes meet
        arms.append(dh_arm(f"wrist{i}", a, twist, d))
    return arms


def mobile(arm) -> bool:
    """Whether some configuration has a regular Jacobian."""
    q = np.random.default_rng(0).uniform(-PI, PI, (20, 6))
    return max(np.linalg.svd(arm.jacobian(each), compute_uv=False)[-1] for each in q) > 1e-6


def parallel_arms(n: int, seed: int) -> list:
    """Random arms built like a UR: three parallel axes, the last two meeting, some lengths zero."""
    rng, arms = np.random.default_rng(seed), []
    for i in range(n):
        twist = [
            *rng.choice([-PI / 2, PI / 2], 1),
            0,
            0,
            *rng.choice([-PI / 2, PI / 2], 2),
            rng.choice([0, PI / 4]),
        ]
        a = np.array([0, *rng.uniform(0.2, 0.6, 2) * rng.choice([-1, 1], 2), 0, 0, rng.uniform(-0.3, 0.3)])
        d = rng.uniform(-0.4, 0.4, 6) * (rng.random(6) < 0.8)
        arms.append(dh_arm(f"parallel{i}", a, twist, d))
    return arms


CLASSES = {
    "known arms": lambda n, seed: [arm for arm in known_arms().values() if arm.name != "kuka_limits"],
    "spherical wrists": lambda n, seed: [arm for arm in wrist_arms(2 * n, seed) if mobile(arm)][:n],
    "singular everywhere": lambda n, seed: [arm for arm in wrist_arms(3 * n, seed) if not mobile(arm)][: n // 4],
    "three parallel axes": parallel_arms,
    "right-angled": industrial_arms,
    "general": general_arms,
}


def configurations(robot: Robot, n: int, rng: np.random.Generator) -> np.ndarray:
    """(n, 6) configurations at log-uniform distances from singular ones, in one to three joints."""
    q = rng.uniform(-PI, PI, (n, 6))
    for turn in range(3):
        rows = np.flatnonzero(rng.random(n) < (1.0, 0.5, 0.25)[turn])
        joint = rng.choice(6, len(rows), p=[0.02, 0.28, 0.28, 0.08, 0.32, 0.02])
        q[rows, joint] = singular_angles(robot, q[rows], joint, rng)
        q[rows, joint] += 10 ** rng.uniform(-12, 0, len(rows)) * rng.choice([-1, 1], len(rows))
    return q


def singular_angles(robot: Robot, q: np.ndarray, joint: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """(n,) angles of one joint of each row at which det J vanishes; 0 or π where it never changes its sign."""
    grid = np.linspace(-PI, PI, 65) + rng.uniform(0, 0.1)
    row = np.arange(len(q))

    def value(angle: np.ndarray) -> np.ndarray:
        moved = q.copy()
        moved[row, joint] = angle
        return np.linalg.det(robot.jacobian(moved))

    values = np.stack([value(np.full(len(q), angle)) for angle in grid], axis=1)
    change = (np.sign(values[:, 1:]) != np.sign(values[:, :-1])) & (np.abs(values).max(1, keepdims=True) > 1e-9)
    pick = np.argmax(change * rng.random(change.shape), axis=1)
    low, high, below = grid[pick], grid[pick + 1], values[row, pick]
    for _ in range(52):
        middle = 0.5 * (low + high)
        at = value(middle)
        same = np.sign(at) == np.sign(below)
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    special = rng.choice([0.0, PI], len(q))
    angle = 0.5 * (low + high)
    rounded = np.round(angle / (PI / 2)) * (PI / 2)
    angle = np.where(np.abs(angle - rounded) < 1e-9, rounded, angle)  # exact where the geometry is
    return np.where(change.any(axis=1), angle, special)


def on_family(arm, q: np.ndarray, family) -> bool:
    """Whether q lies on a family: from the nearest points of its sample one gets there along solutions."""
    T = arm.forward(q)
    order = np.argsort(np.abs(wrapped(family.q - q)).max(axis=1))
    return any(_arrives(arm, T, family.q[k], q) for k in order[:4])


def _arrives(arm, T: np.ndarray, start: np.ndarray, goal: np.ndarray) -> bool:
    """Whether steps along the kernel of J towards a goal, each brought back to the pose, end there."""
    x: np.ndarray | None = start
    for _ in range(40):
        away = wrapped(goal - x)
        if np.abs(away).max() < ON_CURVE:
            return True
        _, sizes, Vt = np.linalg.svd(arm.jacobian(x))
        kernel = Vt[sizes < max(1e-6, 2.0 * sizes[-1])]
        step = kernel.T @ (kernel @ away)
        longest = np.abs(step).max()
        if longest < 0.1 * ON_CURVE:
            return False
        x = corrected(arm, T, x + step * min(1.0, ALONG / longest))
        if x is None:
            return False
    return False


def listed(arm, q: np.ndarray, solutions: np.ndarray) -> bool:
    """Whether q is among solutions, as exactly as the pose tells it: to ROUNDING over the least singular value."""
    off = nearest(q, solutions)
    if off < LEAST:
        return True
    if off > ONE_ROOT:
        return False
    least = np.linalg.svd(arm.jacobian(q), compute_uv=False)[-1]
    return off < ROUNDING / max(least, ROUNDING / ONE_ROOT) or same_root(arm, q, solutions)


def same_root(arm, q: np.ndarray, solutions: np.ndarray) -> bool:
    """Whether the pose does not tell q from a solution: what lies between them misses it by rounding only."""
    away = wrapped(solutions - q)
    near = away[np.abs(away).max(axis=1) < ONE_ROOT]
    T = arm.forward(q)
    return any(all(_rounding(arm, T, q + share * d) for share in (0.25, 0.5, 0.75)) for d in near)


def _rounding(arm, T: np.ndarray, q: np.ndarray) -> bool:
    for _ in range(4):
        e = _error(arm, T, q)
        q = q + np.linalg.pinv(arm.jacobian(q), rcond=1e-4) @ e
    return bool(np.abs(_error(arm, T, q)).max() < ROUNDING)


def _error(arm, T: np.ndarray, q: np.ndarray) -> np.ndarray:
    F = arm.forward(q)
    R = T[:3, :3] @ F[:3, :3].T
    turn = 0.5 * np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    return np.concatenate([T[:3, 3] - F[:3, 3], turn])


def corrected(arm, T: np.ndarray, q: np.ndarray) -> np.ndarray | None:
    """q brought to the pose T by Gauss–Newton; None if it does not arrive."""
    for _ in range(20):
        e = _error(arm, T, q)
        if np.abs(e).max() < 1e-10:
            return q
        q = q + np.linalg.pinv(arm.jacobian(q), rcond=1e-4) @ e
    return None


def judged(arm, robot: Robot, q: np.ndarray) -> tuple[Counter, list[dict]]:
    """Counts of what came out for configurations (n, 6) of an arm, and what is missing or false."""
    T = arm.forward(q)
    answer = solve_ik(robot, T)
    counts, faults = Counter(), []
    for k, status in enumerate(answer.status):
        solutions, self_motions = answer.of(k), answer.self_motions.get(k, ())
        told = listed(arm, q[k], solutions) or any(on_family(arm, q[k], family) for family in self_motions)
        every = np.concatenate([solutions, *(family.q for family in self_motions)])
        off = np.abs(arm.forward(every) - T[k]).max(initial=0.0)
        counts[str(status)] += 1
        what = [] if told else ["missing"]
        what += ["wrong"] if off > POSE else []
        for word in what:
            counts[f"{word}, {'not claimed' if status in OPEN else 'claimed'}"] += 1
            faults.append({"what": word, "status": str(status), "arm": arm.name, "q": q[k].tolist(), "off": off})
    return counts, faults


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--poses", type=int, default=100_000)
    parser.add_argument("--arms", type=int, default=20, help="arms of each class")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--classes", nargs="*", default=list(CLASSES), choices=list(CLASSES))
    parser.add_argument("--out", type=Path, default=None, help="where to write what is missing, JSON")
    options = parser.parse_args()
    rng, everything, faults = np.random.default_rng(options.seed), Counter(), []
    for name in options.classes:
        started, counts = time.process_time(), Counter()
        arms = CLASSES[name](options.arms, options.seed)
        share = 0.01 if name == "singular everywhere" else 0.99 / (len(options.classes) - 1 or 1)
        each = max(1, int(options.poses * share) // len(arms))
        for arm in arms:
            robot = robot_of(arm)
            found, wrong = judged(arm, robot, configurations(robot, each, rng))
            counts += found
            faults += [{"class": name, **fault} for fault in wrong]
            for fault in wrong:
                if fault["status"] not in OPEN:
                    print(json.dumps(fault), flush=True)
        everything += counts
        print(f"{name}: {summary(counts)}; {time.process_time() - started:.0f} s CPU", flush=True)
    print(f"all: {summary(everything)}")
    if options.out is not None:
        options.out.write_text(json.dumps(faults))
    return int(any(count for what, count in everything.items() if what.endswith(", claimed")))


def summary(counts: Counter) -> str:
    """Counts in one line."""
    return ", ".join(f"{counts[word]} {word}" for word in sorted(counts))


if __name__ == "__main__":
    sys.exit(main())
