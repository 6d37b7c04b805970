"""Arms whose inverse kinematics is frozen, as tables, and their kinematics in plain NumPy.

T(q) = F[0] motion(q[0]) F[1] motion(q[1]) … tool, each joint turning about or sliding along z.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import pi

import numpy as np

import zveno

from . import api
from .robots import placement

TURN, SLIDE = 2.6, 1.5
"""Limits of joints, rad and m, unless an arm has its own."""
GRID, HALVINGS = 48, 44


def product(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """A @ B (..., 4, 4) by sums in a fixed order."""
    terms = [A[..., :, k, None] * B[..., None, k, :] for k in range(4)]
    return ((terms[0] + terms[1]) + terms[2]) + terms[3]


@dataclass(frozen=True, eq=False)
class Arm:
    """A chain of joints."""

    name: str
    kinds: str
    F: np.ndarray
    tool: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    task: str = "pose"

    @property
    def n(self) -> int:
        """Number of joints."""
        return len(self.kinds)

    def robot(self) -> zveno.Robot:
        """The same arm as a robot."""
        links = [zveno.Link(f"l{i}") for i in range(self.n + 1)]
        types = {"R": api.joints.Revolute(), "P": api.joints.Prismatic((0.0, 0.0, 1.0))}
        joints = [
            zveno.Joint(f"j{i + 1}", f"l{i}", f"l{i + 1}", types[kind], F, limits=zveno.Limits(low, high))
            for i, (kind, F, low, high) in enumerate(zip(self.kinds, self.F, self.lower, self.upper, strict=True))
        ]
        frames = [zveno.Frame("tool", links[-1].name, self.tool)]
        return zveno.Robot(zveno.assemble("arm", links, joints, frames))

    def motion(self, i: int, q: np.ndarray) -> np.ndarray:
        """(..., 4, 4) of joint i."""
        T = np.broadcast_to(np.eye(4), (*q.shape, 4, 4)).copy()
        if self.kinds[i] == "P":
            T[..., 2, 3] = q
            return T
        c, s = np.cos(q), np.sin(q)
        T[..., 0, 0], T[..., 0, 1], T[..., 1, 0], T[..., 1, 1] = c, -s, s, c
        return T

    def forward(self, q: np.ndarray) -> np.ndarray:
        """T_world_tool (..., 4, 4) at q (..., n)."""
        T = np.broadcast_to(np.eye(4), (*q.shape[:-1], 4, 4))
        for i in range(self.n):
            T = product(product(T, self.F[i]), self.motion(i, q[..., i]))
        return product(T, self.tool)

    def determinant(self, q: np.ndarray) -> np.ndarray:
        """Of the Jacobian of the task at q (..., n), where it is square."""
        T, axes, points = np.broadcast_to(np.eye(4), (*q.shape[:-1], 4, 4)), [], []
        for i in range(self.n):
            T = product(T, self.F[i])
            axes.append(T[..., :3, 2])
            points.append(T[..., :3, 3])
            T = product(T, self.motion(i, q[..., i]))
        tip = product(T, self.tool)[..., :3, 3]
        columns = []
        for kind, z, p in zip(self.kinds, axes, points, strict=True):
            turning = kind == "R"
            linear = np.cross(z, tip - p) if turning else z
            columns.append(np.concatenate([linear, z if turning else 0 * z], axis=-1))
        J = np.stack(columns, axis=-1)
        rows = {"pose": slice(0, 6), "position": slice(0, 3), "rotation": slice(3, 6)}[self.task]
        return np.linalg.det(J[..., rows, :])

    @property
    def square(self) -> bool:
        """Whether there are as many joints as the task has directions."""
        return self.n == (6 if self.task == "pose" else 3)


def by_table(name: str, a, alpha, d, limits=None) -> Arm:
    """An arm of turning joints from standard Denavit–Hartenberg parameters, m and rad."""
    links = []
    for length, twist, offset in zip(a, alpha, d, strict=True):
        c, s = np.cos(twist), np.sin(twist)
        c, s = (float(np.round(x)) if abs(x - np.round(x)) < 1e-15 else x for x in (c, s))
        links.append([[1, 0, 0, length], [0, c, -s, 0], [0, s, c, offset], [0, 0, 0, 1]])
    n = len(links)
    lower, upper = np.full(n, -TURN), np.full(n, TURN)
    if limits is not None:
        lower, upper = np.radians(np.array(limits, float)).T
    F = np.array([np.eye(4), *links[:-1]], float)
    return Arm(name, "R" * n, F, np.array(links[-1], float), lower, upper)


UR = (pi / 2, 0, 0, pi / 2, -pi / 2, 0)
TABLES = {
    "puma": ((0, 0.4318, 0.0203, 0, 0, 0), (pi / 2, 0, -pi / 2, pi / 2, -pi / 2, 0), (0, 0, 0.15005, 0.4318, 0, 0)),
    "ur5": ((0, -0.425, -0.39225, 0, 0, 0), UR, (0.089159, 0, 0, 0.10915, 0.09465, 0.0823)),
    "ur10": ((0, -0.612, -0.5723, 0, 0, 0), UR, (0.1273, 0, 0, 0.163941, 0.1157, 0.0922)),
    "kuka": (
        (0.26, 0.68, -0.035, 0, 0, 0),
        (-pi / 2, 0, pi / 2, -pi / 2, pi / 2, pi),
        (0.675, 0, 0, -0.67, 0, -0.158),
    ),
    "jaco": (
        (0, 0.41, 0, 0, 0, 0),
        (pi / 2, pi, pi / 2, pi / 3, pi / 3, pi),
        (0.2755, 0, -0.0098, -0.2501, -0.0856, -0.2228),
    ),
    "manseur_doty": (
        (0.3, 1, 0, 1.5, 0, 0),
        (pi / 2, pi / 180, pi / 2, pi / 180, pi / 2, pi / 180),
        (0, 0, 0.2, 0, 0, 0),
    ),
}
KUKA_LIMITS = ((-170, 170), (-190, 45), (-120, 156), (-185, 185), (-120, 120), (-350, 350))


def named() -> list[Arm]:
    """Published geometry: PUMA, UR, KUKA with its own limits and with wide ones."""
    arms = [by_table(name, *TABLES[name]) for name in ("puma", "ur5", "ur10", "kuka")]
    return [*arms, by_table("kuka_limits", *TABLES["kuka"], KUKA_LIMITS)]


def closed_forms() -> list[Arm]:
    """Random arms with spherical wrists or three parallel axes."""
    rng, arms = np.random.default_rng(61), []
    for i in range(6):
        twist = np.radians(rng.choice([-90.0, -60.0, 60.0, 90.0], 6))
        twist[1] = rng.choice([0.0, twist[1]])
        a, d = rng.uniform(0.1, 0.5, 6), rng.uniform(0.1, 0.5, 6)
        a[3] = a[4] = d[4] = 0.0
        if twist[1] != 0.0:
            a[1] = d[1] = 0.0
        arms.append(by_table(f"wrist{i}", a, twist, d))
    for i in range(3):
        twist = [rng.choice([-pi / 2, pi / 2]), 0, 0, *rng.choice([-pi / 2, pi / 2], 2), rng.choice([0, pi / 4])]
        a = [0, *rng.uniform(0.2, 0.6, 2), 0, 0, rng.uniform(-0.3, 0.3)]
        arms.append(by_table(f"parallel{i}", a, twist, rng.uniform(0.1, 0.4, 6)))
    return arms


def offset_wrists() -> list[Arm]:
    """Right-angled and parallel axes, wrists that do not meet in a point."""
    rng, arms = np.random.default_rng(62), [by_table("jaco", *TABLES["jaco"])]
    while len(arms) < 8:
        twist = rng.choice([0, pi / 2, -pi / 2], 6, p=[0.3, 0.35, 0.35])
        a = np.where(rng.random(6) < 0.5, rng.uniform(0.1, 0.6, 6), 0)
        d = np.where(rng.random(6) < 0.5, rng.uniform(0.1, 0.5, 6), 0)
        a[4] = rng.uniform(0.05, 0.2)
        arm = by_table(f"offset{len(arms)}", a, twist, d)
        if np.abs(arm.determinant(rng.uniform(-pi, pi, (6, 6)))).min() > 1e-5:
            arms.append(arm)
    return arms


def general() -> list[Arm]:
    """Six turning joints without special geometry."""
    rng, arms = np.random.default_rng(63), [by_table("manseur_doty", *TABLES["manseur_doty"])]
    for i in range(5):
        twist = np.radians(rng.uniform(15, 165, 6)) * rng.choice([-1, 1], 6)
        arms.append(by_table(f"general{i}", rng.uniform(0.05, 0.5, 6), twist, rng.uniform(-0.5, 0.5, 6)))
    return arms


def calibrated() -> list[Arm]:
    """Closed forms that calibration moved: every parameter off by about 1e-3 … 1e-9 m and rad."""
    rng, arms = np.random.default_rng(64), []
    for name in ("puma", "ur5", "kuka"):
        for off in (1e-3, 1e-5, 1e-9):
            a, alpha, d = (np.array(x) + off * rng.standard_normal(6) for x in TABLES[name])
            arms.append(by_table(f"{name} off by {off:.0e}", a, alpha, d))
    return arms


def _chain(name: str, kinds: str, F: list[np.ndarray], tool: np.ndarray, task: str = "pose") -> Arm:
    bound = np.array([TURN if kind == "R" else SLIDE for kind in kinds])
    return Arm(name, kinds, np.array(F), tool, -bound, bound, task)


def sliding() -> list[Arm]:
    """One arm of each closed form with slides, and slides anywhere before a spherical wrist."""
    rng = np.random.default_rng(65)

    def at(p=None, along: bool = False) -> np.ndarray:
        T = placement(rng)
        if p is not None:
            T[:3, 3] = p
        if along:
            T[:3, :3] = np.eye(3)
        return T

    here = np.zeros(3)
    arms = []
    for kinds in ("PPP", "RPP", "RRP", "RPR", "PRR", "PRP"):
        arms.append(_chain(f"{kinds} and wrist", f"{kinds}RRR", [at(), at(), at(), at(), at(here), at(here)], at()))
    stanford = [at(), at([0, 0, 0.3]), at(), at(), at(here), at(here)]
    arms.append(_chain("stanford", "RRPRRR", stanford, at()))
    parallel = [at(), at(along=True), at(), at(), at(here), at(here)]
    arms.append(_chain("parallel", "RRPRRR", parallel, at()))
    for kinds in ("PRRR", "RPRR", "RRPR", "RRRP"):
        arms.append(_chain(f"scara {kinds}", kinds, [at(), *(at(along=True) for _ in range(3))], at()))
    for kinds in ("PRPRPR", "RRRPPP", "RPRR"):
        arms.append(_chain(f"turns then slides {kinds}", kinds, [at() for _ in kinds], at()))
    return arms


def points() -> list[Arm]:
    """Three joints that bring a point to a place, or a wrist to an attitude."""
    rng, arms = np.random.default_rng(66), []
    for kinds in ("RRR", "RRP", "RPR", "PRR", "RPP", "PRP", "PPR", "PPP"):
        F = [placement(rng) for _ in kinds]
        arms.append(_chain(f"point by {kinds}", kinds, F, placement(rng), "position"))
    for kinds in ("RRR", "RPR", "RRP"):
        F = [placement(rng) for _ in kinds]
        F[1][:3, :3] = np.eye(3) if kinds[:2] == "RR" else np.array([[0.0, 0, 1], [0, 1, 0], [-1, 0, 0]])
        arms.append(_chain(f"point by {kinds}, special", kinds, F, placement(rng), "position"))
    arms.append(_chain("attitude by RRR", "RRR", [placement(rng) for _ in range(3)], placement(rng), "rotation"))
    return arms


CLASSES = {
    "named": named,
    "closed forms": closed_forms,
    "offset wrists": offset_wrists,
    "general 6R": general,
    "calibrated": calibrated,
    "slides": sliding,
    "points": points,
}


def poses(arm: Arm, n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """(n, 4, 4) poses and how far, rad or m, each is from singular: inf for random ones, NaN for those moved away.

    Half are random within limits, and a 25th of all has right angles only, where arms are exactly singular or have
    continua; a third is 1e-1 … 1e-9 from singular along one joint; the others are scaled from the origin, many of
    them out of reach.
    """
    rng = np.random.default_rng([seed, n])
    q = rng.uniform(arm.lower, arm.upper, (n, arm.n))
    off = np.full(n, np.inf)
    near = np.arange(n // 2, n // 2 + n // 3)
    far = np.arange(n // 2 + n // 3, n)
    off[near] = 10.0 ** rng.uniform(-9, -1, len(near))
    joint = rng.integers(arm.n, size=len(near))
    q[near, joint] = _singular(arm, q[near], joint, rng) + off[near] * rng.choice([-1, 1], len(near))
    right = np.arange(n // 25)
    turning = np.array([kind == "R" for kind in arm.kinds])
    q[right] = np.where(turning, rng.integers(-1, 2, (len(right), arm.n)) * (pi / 2), q[right])
    off[right] = 0.0
    T = arm.forward(q)
    T[far, :3, 3] *= rng.uniform(0.5, 2.5, (len(far), 1))
    off[far] = np.nan
    order = rng.permutation(n)
    return T[order], off[order]


def _singular(arm: Arm, q: np.ndarray, joint: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """(k,) values of a joint at which the determinant changes sign along it; right angles where it does not."""
    angles = rng.integers(-1, 2, len(q)) * (pi / 2) * np.array([kind == "R" for kind in arm.kinds])[joint]
    if not arm.square:
        return angles
    rows = np.arange(len(q))
    width = np.where(np.array([kind == "R" for kind in arm.kinds])[joint], pi, SLIDE)
    grid = np.linspace(-1, 1, GRID)

    def value(x: np.ndarray) -> np.ndarray:
        moved = q.copy()
        moved[rows, joint] = x
        return np.sign(arm.determinant(moved))

    signs = np.stack([value(width * x) for x in grid], axis=1)
    changes = np.diff(signs, axis=1) != 0
    found = changes.any(axis=1)
    k = np.where(found, (changes * rng.random(changes.shape)).argmax(axis=1), 0)
    low, high = width * grid[k], width * grid[k + 1]
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        same = value(middle) == signs[rows, k]
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    return np.where(found, 0.5 * (low + high), angles)
