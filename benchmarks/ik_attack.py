"""Claims of inverse kinematics against many random starts of another iteration, on nine kinds of chains.

    python -m benchmarks.ik_attack --poses 20

The oracle has its own kinematics (products of 4 × 4 matrices in NumPy) and its own damped least squares. What it
finds inside limits must be listed where the answer is "complete", and must not exist where the answer is
"unreachable" or "excluded by limits". Exit code 1 if a claim is false. It can miss solutions, so agreement proves
nothing.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import zveno
from zveno.ik.solve import solve_ik
from zveno.mechanism import Continuous, Frame, Joint, Limits, Link, Prismatic, Revolute, assemble

PI = np.pi
STARTS, ITERATIONS = 300, 60
CLOSED = 1e-11
"""Error of a pose, m and rad, of what counts as a solution of the oracle."""
SAME = 1e-6
"""Two solutions of the oracle, or one of it and one listed, are the same up to this, rad or m."""
REGULAR = 1e-4
"""Least singular value from which on a solution is known to `SAME`."""
NEGATIVE = ("unreachable", "excluded by limits")


@dataclass
class Chain:
    """C[0] Z_1(q1) C[1] … Z_n(qn) C[n], each Z a turn about z ("R") or a slide along it ("P"), with limits."""

    kinds: str
    C: np.ndarray
    task: str
    lower: np.ndarray
    upper: np.ndarray

    @property
    def turning(self) -> np.ndarray:
        """(n,) which joints turn."""
        return np.array([kind == "R" for kind in self.kinds])

    def robot(self) -> zveno.Robot:
        """The same as a robot."""
        n = len(self.kinds)
        links, joints = [Link(f"l{i}") for i in range(n + 1)], []
        for i, kind in enumerate(self.kinds):
            endless = np.isinf(self.upper[i])
            limits = Limits() if endless else Limits(float(self.lower[i]), float(self.upper[i]))
            joint = Prismatic() if kind == "P" else Continuous() if endless else Revolute()
            joints.append(Joint(f"j{i + 1}", f"l{i}", f"l{i + 1}", joint, self.C[i], limits=limits))
        return zveno.Robot(assemble("attacked", links, joints, [Frame("tool", f"l{n}", self.C[n])]))

    def placed(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Poses (s, 4, 4) at q (s, n), and Jacobians (s, 6, n), linear rows first."""
        T, axes = np.broadcast_to(np.eye(4), (len(q), 4, 4)), []
        for i, kind in enumerate(self.kinds):
            before = T @ self.C[i]
            axes.append(before)
            Z = np.tile(np.eye(4), (len(q), 1, 1))
            if kind == "P":
                Z[:, 2, 3] = q[:, i]
            else:
                Z[:, 0, 0] = Z[:, 1, 1] = np.cos(q[:, i])
                Z[:, 1, 0] = np.sin(q[:, i])
                Z[:, 0, 1] = -Z[:, 1, 0]
            T = before @ Z
        T = T @ self.C[-1]
        J = np.zeros((len(q), 6, len(self.kinds)))
        for i, (kind, A) in enumerate(zip(self.kinds, axes, strict=True)):
            z = A[:, :3, 2]
            J[:, :3, i] = z if kind == "P" else np.cross(z, T[:, :3, 3] - A[:, :3, 3])
            J[:, 3:, i] = 0.0 if kind == "P" else z
        return T, J

    def error(self, T: np.ndarray, J: np.ndarray, goal: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What the task misses, (s, m), and its Jacobian (s, m, n)."""
        e, rows = [goal[:3, 3] - T[:, :3, 3]], [J[:, :3]]
        if self.task == "pose":
            e.append(np.sum([np.cross(T[:, :3, k], goal[:3, k]) for k in range(3)], axis=0) / 2)
            rows.append(J[:, 3:])
        elif self.task == "position+axis":
            z = T[:, :3, 2]
            e.append(goal[:3, 2] - z)
            rows.append(np.cross(J[:, 3:].swapaxes(1, 2), z[:, None]).swapaxes(1, 2))
        return np.concatenate(e, axis=1), np.concatenate(rows, axis=1)

    def missed(self, T: np.ndarray, goal: np.ndarray) -> np.ndarray:
        """(s,) by how much poses miss what the task asks for."""
        columns = {"pose": slice(0, 4), "position": slice(3, 4), "position+axis": slice(2, 4)}[self.task]
        return np.abs(T[:, :3, columns] - goal[:3, columns]).max(axis=(1, 2))

    def apart(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Greatest difference of configurations in any joint, whole turns aside."""
        d = a - b
        return np.abs(np.where(self.turning, d - 2 * PI * np.round(d / (2 * PI)), d)).max(axis=-1)

    def inside(self, q: np.ndarray) -> np.ndarray:
        """q (n,) moved by whole turns to the middle of its limits; NaN if it is outside them or at one."""
        middle = np.where(np.isinf(self.upper), 0.0, np.nan_to_num(self.lower / 2) + np.nan_to_num(self.upper / 2))
        q = np.where(self.turning, q - 2 * PI * np.round((q - middle) / (2 * PI)), q)
        return q if np.all((q > self.lower + SAME) & (q < self.upper - SAME)) else np.full_like(q, np.nan)


def attacked(chain: Chain, goal: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Distinct regular solutions (s, n) inside limits that random starts reach."""
    q = rng.uniform(np.maximum(chain.lower, -PI), np.minimum(chain.upper, PI), (STARTS, len(chain.kinds)))
    for _ in range(ITERATIONS):
        T, J = chain.placed(q)
        e, J = chain.error(T, J, goal)
        damping = 0.02 * np.sum(e**2, axis=1) + 1e-14
        A = J.swapaxes(1, 2) @ J + damping[:, None, None] * np.eye(J.shape[2])
        step = np.linalg.solve(A, J.swapaxes(1, 2) @ e[..., None])[..., 0]
        q = q + step * np.minimum(1, 0.5 / np.maximum(np.abs(step).max(axis=1), 1e-12))[:, None]
    T, J = chain.placed(q)
    regular = np.linalg.svd(chain.error(T, J, goal)[1], compute_uv=False)[:, -1] > REGULAR
    solutions: list[np.ndarray] = []
    for x in q[(chain.missed(T, goal) < CLOSED) & regular]:
        x = chain.inside(x)
        if np.isfinite(x).all() and not any(chain.apart(x, other) < 10 * SAME for other in solutions):
            solutions.append(x)
    return np.array(solutions).reshape(-1, len(chain.kinds))


def screws(rng: np.random.Generator, n: int, right: bool) -> np.ndarray:
    """(n + 1, 4, 4) links by a turn and a length along z, a twist and a length along x; right-angled: some zero."""
    C = [np.eye(4)]
    for _ in range(n):
        twist, turn = rng.choice([-PI / 2, 0.0, PI / 2], 2) if right else rng.uniform(-PI, PI, 2)
        lengths = rng.uniform(-0.5, 0.5, 2) * (rng.random(2) < (0.6 if right else 1.0))
        c, s = np.round(np.cos(turn), 15), np.round(np.sin(turn), 15)
        about_z = np.array([[c, -s, 0, 0], [s, c, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])
        C.append(about_z @ turned(twist, *lengths))
    return np.array(C)


def turned(twist: float, x: float = 0.0, z: float = 0.0) -> np.ndarray:
    """A link by its twist and its lengths."""
    c, s = np.round(np.cos(twist), 15), np.round(np.sin(twist), 15)
    return np.array([[1, 0, 0, x], [0, c, -s, 0], [0, s, c, z], [0, 0, 0, 1.0]])


def spherical(rng: np.random.Generator, arm: np.ndarray) -> np.ndarray:
    """An arm of three joints with a wrist whose axes meet."""
    wrist = [turned(PI / 2), turned(-PI / 2), turned(0.0, *rng.uniform(-0.2, 0.2, 2))]
    return np.array([*arm[:3], turned(PI / 2, *rng.uniform(0.2, 0.5, 2)), *wrist])


def parallel(rng: np.random.Generator) -> np.ndarray:
    """An arm built like a UR."""
    x, z = rng.uniform(0.2, 0.5, 7), rng.uniform(-0.2, 0.2, 7)
    links = [turned(0), turned(PI / 2, 0, z[1]), turned(0, x[2], z[2]), turned(0, x[3], z[3])]
    return np.array([*links, turned(PI / 2, 0, z[4]), turned(-PI / 2, 0, z[5]), turned(0, 0, z[6])])


KINDS: dict[str, tuple[str, str, Callable[[np.random.Generator], np.ndarray]]] = {
    "spherical wrist": ("RRRRRR", "pose", lambda rng: spherical(rng, screws(rng, 6, right=False))),
    "three parallel axes": ("RRRRRR", "pose", parallel),
    "right-angled": ("RRRRRR", "pose", lambda rng: screws(rng, 6, right=True)),
    "general": ("RRRRRR", "pose", lambda rng: screws(rng, 6, right=False)),
    "gantry with a wrist": ("PPPRRR", "pose", lambda rng: spherical(rng, screws(rng, 6, right=False))),
    "slide third, offset wrist": ("RRPRRR", "pose", lambda rng: screws(rng, 6, right=True)),
    "slides second and third": ("RPPRRR", "pose", lambda rng: spherical(rng, screws(rng, 6, right=False))),
    "point with three joints": ("RRR", "position", lambda rng: screws(rng, 3, right=True)),
    "axis with five joints": ("RRRRR", "position+axis", lambda rng: screws(rng, 5, right=True)),
}


def chains(name: str, n: int, rng: np.random.Generator) -> list[Chain]:
    """n chains of a kind that have regular configurations, every second with limits of turns."""
    kinds, task, make = KINDS[name]
    made: list[Chain] = []
    while len(made) < n:
        slides = np.array([kind == "P" for kind in kinds])
        reach = np.where(slides, 1.0, rng.uniform(1.0, 2.8, len(kinds)) if len(made) % 2 else np.inf)
        chain = Chain(kinds, make(rng), task, -reach, reach)
        T, J = chain.placed(rng.uniform(-1, 1, (20, len(kinds))))
        if np.linalg.svd(chain.error(T, J, T[0])[1], compute_uv=False)[:, -1].max() > 0.01:
            made.append(chain)
    return made


def poses(chain: Chain, n: int, rng: np.random.Generator) -> np.ndarray:
    """(n, 4, 4): of configurations inside limits, of any, near right angles, and moved a little."""
    q = rng.uniform(np.maximum(chain.lower, -PI), np.minimum(chain.upper, PI), (n, len(chain.kinds)))
    any_angle = chain.turning & (rng.random(n) < 0.3)[:, None]
    q = np.where(any_angle, rng.uniform(-PI, PI, q.shape), q)
    near = (rng.random(q.shape) < 0.2) & chain.turning
    q = np.where(near, np.round(q / (PI / 2)) * (PI / 2) + 10 ** rng.uniform(-3, -1, q.shape), q)
    T = chain.placed(q)[0].copy()
    T[:, :3, 3] += np.where(rng.random(n) < 0.3, 0.3, 0.0)[:, None] * rng.normal(size=(n, 3))
    return T


def judged(chain: Chain, T: np.ndarray, rng: np.random.Generator) -> tuple[Counter, list[dict]]:
    """Counts by status, and claims that are false."""
    answer = solve_ik(chain.robot(), T, task=chain.task)
    counts, faults = Counter(), []
    for k, status in enumerate(answer.status):
        counts[status] += 1
        if status not in ("complete", *NEGATIVE):
            continue
        truth, listed = attacked(chain, T[k], rng), answer.of(k)
        counts["solutions of the oracle"] += len(truth)
        missing = [x.tolist() for x in truth if not (chain.apart(listed, x) < SAME).any()]
        off = chain.missed(chain.placed(listed)[0], T[k]).max(initial=0.0)
        if missing or off > 1e-8:
            fault = {"status": status, "missing": missing, "off": off, "T": T[k].tolist(), "C": chain.C.tolist()}
            faults.append(fault | {"kinds": chain.kinds, "task": chain.task, "upper": chain.upper.tolist()})
            counts["false claims"] += 1
    return counts, faults


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--poses", type=int, default=20, help="of each chain")
    parser.add_argument("--chains", type=int, default=6, help="of each kind")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kinds", nargs="*", default=list(KINDS), choices=list(KINDS))
    options = parser.parse_args()
    rng, false = np.random.default_rng(options.seed), 0
    for name in options.kinds:
        started, counts = time.process_time(), Counter()
        for chain in chains(name, options.chains, rng):
            found, faults = judged(chain, poses(chain, options.poses, rng), rng)
            counts += found
            for fault in faults:
                print(json.dumps(fault), flush=True)
        false += counts["false claims"]
        told = ", ".join(f"{counts[word]} {word}" for word in sorted(counts))
        print(f"{name}: {told}; {time.process_time() - started:.0f} s CPU", flush=True)
    return int(false > 0)


if __name__ == "__main__":
    sys.exit(main())
