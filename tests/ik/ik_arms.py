"""Arms for tests of inverse kinematics: known ones, and generators of general and industrial geometry.

An arm is given as constant transforms: T_world_tool(q) = F[0] Rz(q[0]) F[1] Rz(q[1]) … F[n-1] Rz(q[n-1]) tool.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import pi

import numpy as np


@dataclass
class Arm:
    """A chain of revolute joints about z."""

    name: str
    F: np.ndarray
    tool: np.ndarray
    lower: np.ndarray = field(default_factory=lambda: np.full(6, -pi))
    upper: np.ndarray = field(default_factory=lambda: np.full(6, pi))

    def forward(self, q) -> np.ndarray:
        """T_world_tool (..., 4, 4) at q (..., n)."""
        q = np.asarray(q, float)
        T = np.broadcast_to(np.eye(4), (*q.shape[:-1], 4, 4))
        for i in range(len(self.F)):
            T = T @ self.F[i] @ turns(q[..., i])
        return T @ self.tool

    def jacobian(self, q) -> np.ndarray:
        """(6, n) at one q, linear rows first, world axes at the tool."""
        T, axes = np.eye(4), []
        for i in range(len(self.F)):
            T = T @ self.F[i]
            axes.append(T)
            T = T @ turns(q[i])
        p = (T @ self.tool)[:3, 3]
        return np.array([np.r_[np.cross(A[:3, 2], p - A[:3, 3]), A[:3, 2]] for A in axes]).T

    def poses(self, n: int, seed: int = 5) -> tuple[np.ndarray, np.ndarray]:
        """n random configurations within the limits, and their poses."""
        rng = np.random.default_rng(seed)
        q = rng.uniform(self.lower, self.upper, (n, len(self.F)))
        return q, self.forward(q)


def turns(q) -> np.ndarray:
    """Rotations about z, (..., 4, 4)."""
    c, s = np.cos(q), np.sin(q)
    T = np.zeros((*np.shape(q), 4, 4))
    T[..., 0, 0], T[..., 0, 1], T[..., 1, 0], T[..., 1, 1] = c, -s, s, c
    T[..., 2, 2] = T[..., 3, 3] = 1.0
    return T


def _right(angle: float) -> tuple[float, float]:
    """Cosine and sine, exact at multiples of a right angle."""
    return tuple(np.round(v) if abs(v - np.round(v)) < 1e-15 else v for v in (np.cos(angle), np.sin(angle)))


def dh_arm(name: str, a, alpha, d, limits=None) -> Arm:
    """An arm from standard Denavit–Hartenberg parameters, metres and radians."""
    links = []
    for length, twist, offset in zip(a, alpha, d, strict=True):
        c, s = _right(twist)
        links.append([[1, 0, 0, length], [0, c, -s, 0], [0, s, c, offset], [0, 0, 0, 1]])
    F = np.array([np.eye(4), *links[:-1]], float)
    arm = Arm(name, F, np.array(links[-1], float), np.full(len(links), -pi), np.full(len(links), pi))
    if limits is not None:
        arm.lower, arm.upper = np.radians(np.array(limits, float)).T
    return arm


KUKA_LIMITS = [[-170, 170], [-190, 45], [-120, 156], [-185, 185], [-120, 120], [-350, 350]]


def known_arms() -> dict[str, Arm]:
    """Arms with published or representative geometry (nominal numbers)."""
    kuka = (
        [0.26, 0.68, -0.035, 0, 0, 0],
        [-pi / 2, 0, pi / 2, -pi / 2, pi / 2, pi],
        [0.675, 0, 0, -0.67, 0, -0.158],
    )
    ur = [pi / 2, 0, 0, pi / 2, -pi / 2, 0]
    arms = [
        dh_arm("ur5", [0, -0.425, -0.39225, 0, 0, 0], ur, [0.089159, 0, 0, 0.10915, 0.09465, 0.0823]),
        dh_arm("ur10", [0, -0.612, -0.5723, 0, 0, 0], ur, [0.1273, 0, 0, 0.163941, 0.1157, 0.0922]),
        dh_arm(
            "puma",
            [0, 0.4318, 0.0203, 0, 0, 0],
            [pi / 2, 0, -pi / 2, pi / 2, -pi / 2, 0],
            [0, 0, 0.15005, 0.4318, 0, 0],
        ),
        dh_arm(
            "jaco",
            [0, 0.41, 0, 0, 0, 0],
            [pi / 2, pi, pi / 2, pi / 3, pi / 3, pi],
            [0.2755, 0, -0.0098, -0.2501, -0.0856, -0.2228],
        ),
        dh_arm("kuka", *kuka),
        dh_arm("kuka_limits", *kuka, KUKA_LIMITS),
        manseur_doty(),
    ]
    return {arm.name: arm for arm in arms}


def manseur_doty() -> Arm:
    """Manseur and Doty (1989): an arm that reaches one pose in sixteen ways."""
    one = pi / 180
    return dh_arm(
        "manseur_doty", [0.3, 1, 0, 1.5, 0, 0], [pi / 2, one, pi / 2, one, pi / 2, one], [0, 0, 0.2, 0, 0, 0]
    )


def manseur_doty_pose() -> np.ndarray:
    """The pose with sixteen solutions, printed to six digits and made a rotation again."""
    T = np.array(
        [
            [-0.760117, -0.641689, 0.102262, -1.140175],
            [0.133333, 0, 0.991071, 0],
            [-0.635959, 0.766965, 0.085558, 0],
            [0, 0, 0, 1],
        ]
    )
    U, _, V = np.linalg.svd(T[:3, :3])
    T[:3, :3] = U @ V
    return T


def general_arms(n: int, seed: int = 101, joints: int = 6) -> list[Arm]:
    """Random arms without any special geometry."""
    rng = np.random.default_rng(seed)

    def one(i):
        twist = np.radians(rng.uniform(15, 165, joints)) * rng.choice([-1, 1], joints)
        lengths = rng.uniform(0.05, 0.5, joints)
        return dh_arm(f"general{i}", lengths, twist, rng.uniform(-0.5, 0.5, joints))

    return [one(i) for i in range(n)]


def industrial_arms(n: int, seed: int = 202) -> list[Arm]:
    """Random arms with right-angled and parallel axes and zeros among the lengths; half have spherical wrists."""
    rng = np.random.default_rng(seed)
    arms: list[Arm] = []
    while len(arms) < n:
        twist = rng.choice([0, pi / 2, -pi / 2], 6, p=[0.3, 0.35, 0.35])
        a = np.where(rng.random(6) < 0.5, rng.uniform(0.1, 0.6, 6), 0)
        d = np.where(rng.random(6) < 0.5, rng.uniform(0.1, 0.5, 6), 0)
        if len(arms) % 2 == 0:
            a[3] = a[4] = d[4] = 0
            twist[3], twist[4] = rng.choice([-1, 1], 2) * pi / 2
        arm = dh_arm(f"industrial{len(arms)}", a, twist, d)
        if all(_regular(arm, rng.uniform(-pi, pi, 6)) for _ in range(4)):
            arms.append(arm)
    return arms


def _regular(arm: Arm, q) -> bool:
    s = np.linalg.svd(arm.jacobian(q), compute_uv=False)
    return s[-1] > 1e-3 * s[0]
