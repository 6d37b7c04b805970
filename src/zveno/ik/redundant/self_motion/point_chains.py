"""Seven joints of which the first or last three meet in a point: four joints move that point along a curve.

    Z(a0) L1 Z(a1) L2 Z(a2) L3 Z(a3) p = X

with a = q of the first four joints and the centre of a wrist, or a = −q of the last four in reverse and the centre
of a shoulder. Turning about the first axis leaves the height and the distance of X, about the last those of p: two
equations in three angles, linear in the cosine and the sine of each. For two angles (s, u) they give the third, w,
and cos² w + sin² w = 1 is a curve F(s, u) = 0 of degree four in both.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...ik_problem import IkProblem
from ...six_revolute.equations import trigonometric
from ...six_revolute.templates import rigid_inverse
from .plane_curves import PlaneCurve, common_zero, harmonics, plane_curve, sample_angles

SAMPLES = 16
FEW = 8
"""Number of samples of polynomials of degree at most two."""
DEGREE = 4
MEET = 1e-9
"""Distance of three axes from a point, in lengths of the arm, up to which they meet."""


class PointChain(NamedTuple):
    """The chain of four joints.

    Attributes:
        joints: their numbers, in order.
        sign: of the angles: a = sign · q.
        links: L1, L2, L3, (3, 4, 4).
        p: (3,), in lengths of the arm.
        point: (4,) the centre as the tool sees it, or as the world does.
        end: the rest of the chain beyond a0, (4, 4).
        length: of the arm.
    """

    joints: tuple[int, ...]
    sign: float
    links: np.ndarray
    p: np.ndarray
    point: np.ndarray
    end: np.ndarray
    length: float

    def target(self, T: np.ndarray) -> np.ndarray:
        """Return X (3,) of a pose T (4, 4), in lengths of the arm."""
        T = T if self.sign > 0 else rigid_inverse(T)
        return (self.end @ T @ self.point)[:3] / self.length


class PointProjection(NamedTuple):
    """One curve F(s, u) = 0 of a chain.

    Attributes:
        chain: the chain.
        first: True if the first angle is left out, else the last.
        s, u, w: indices of its angles.
    """

    chain: PointChain
    first: bool
    s: int
    u: int
    w: int

    @property
    def sheets(self) -> int:
        """Solutions of all joints to one of the four: a wrist or shoulder has two."""
        return 2

    @property
    def sign(self) -> float:
        """Sign of the chain's angles."""
        return self.chain.sign

    def curve(self, T: np.ndarray) -> PlaneCurve:
        """Return the curve of a pose (4, 4)."""
        angles = sample_angles(SAMPLES)
        a = np.zeros((SAMPLES, SAMPLES, 3, 4))
        a[..., self.s], a[..., self.u] = angles[:, None, None], angles[None, :, None]
        a[..., self.w] = np.array([0.0, np.pi, np.pi / 2])
        X = self.chain.target(T)
        z, square = _invariants(self.chain, a, X, self.first)
        (e0, e1, e2), (f0, f1, f2) = (np.moveaxis(trigonometric(part, 2), 2, 0) for part in (z, square))
        F = (e1 * f2 - e2 * f1) ** 2 - (e2 * f0 - e0 * f2) ** 2 - (e0 * f1 - e1 * f0) ** 2
        return plane_curve(F, DEGREE)

    def may_turn(self, T: np.ndarray, low: float, high: float) -> bool:
        """Return True if s may turn between two close values: in the plane of u and w, without eliminating w.

        There both equations and the determinant of their derivatives by u and w have a common zero.
        """
        X, angles = self.chain.target(T), sample_angles(FEW)
        middle, half = 0.5 * (low + high), 0.5 * (high - low)
        a = np.zeros((3, FEW, FEW, 4))
        a[..., self.s] = (middle + half * np.array([0.0, -1.0, 1.0]))[:, None, None]
        a[..., self.u], a[..., self.w] = angles[:, None], angles
        z, square = _invariants(self.chain, a, X, self.first)
        slopes = [_slopes(part, 1) for part in (z, square)]
        determinant = slopes[0][0] * slopes[1][1] - slopes[0][1] * slopes[1][0]
        # What s changes over the interval, with a margin for what lies between the samples.
        functions = ((z, 1), (square, 1), (determinant, 2))
        return common_zero([plane_curve(f[0], d, 4 * float(np.abs(f[1:] - f[0]).max())) for f, d in functions])

    def angles(self, x: np.ndarray) -> np.ndarray:
        """Return s and u (n, 2) of configurations x (n, 7)."""
        return self.chain.sign * x[:, [self.chain.joints[self.s], self.chain.joints[self.u]]]


def _slopes(samples: np.ndarray, degree: int) -> tuple[np.ndarray, np.ndarray]:
    """Return derivatives by both angles of polynomials from samples (..., n, n), at the same places."""
    n = samples.shape[-1]
    values, rates = harmonics(sample_angles(n), degree, 1)
    project = values * (2.0 / n)
    project[:, 0] *= 0.5
    A = project.T @ samples @ project
    return rates @ A @ values.T, values @ A @ rates.T


def _invariants(chain: PointChain, a: np.ndarray, X: np.ndarray, first: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return the residuals of height and half the squared distance at angles a (..., 4)."""
    if first:
        v = np.broadcast_to(chain.p, (*a.shape[:-1], 3))
        for i in (3, 2, 1):
            v = _turned(v, a[..., i]) @ chain.links[i - 1, :3, :3].T + chain.links[i - 1, :3, 3]
        other = X
    else:
        v = np.broadcast_to(X, (*a.shape[:-1], 3))
        for i in (0, 1, 2):
            v = (_turned(v, -a[..., i]) - chain.links[i, :3, 3]) @ chain.links[i, :3, :3]
        other = chain.p
    return v[..., 2] - other[2], 0.5 * (np.sum(v * v, axis=-1) - other @ other)


def _turned(v: np.ndarray, angle: np.ndarray) -> np.ndarray:
    """Rotate points (..., 3) about z."""
    c, s = np.cos(angle), np.sin(angle)
    return np.stack([c * v[..., 0] - s * v[..., 1], s * v[..., 0] + c * v[..., 1], v[..., 2]], axis=-1)


def point_projections(problem: IkProblem, joint: int) -> list[PointProjection]:
    """Return curves of both kinds in which s is a joint of the chain; none if no three joints at an end meet."""
    projections = []
    for chain in point_chains(problem):
        if joint not in chain.joints:
            continue
        s = chain.joints.index(joint)
        for first in (True, False):
            others = [i for i in ((1, 2, 3) if first else (0, 1, 2)) if i != s]
            if len(others) == 2:
                projections += [PointProjection(chain, first, s, u, w) for u, w in (others, others[::-1])]
    return projections


def point_chains(problem: IkProblem) -> list[PointChain]:
    """Return the chains of four joints of an arm of seven."""
    C, length = problem.constants, problem.length
    chains = []
    wrist = _heights(C[5], C[6], length)
    if wrist is not None:
        p, tool = C[4] @ _on_axis(wrist[0]), rigid_inverse(C[7]) @ _on_axis(wrist[2])
        links = _scaled(C[1:4], length)
        chains.append(PointChain((0, 1, 2, 3), 1.0, links, p[:3] / length, tool, rigid_inverse(C[0]), length))
    shoulder = _heights(C[1], C[2], length)
    if shoulder is not None:
        p, world = rigid_inverse(C[3]) @ _on_axis(shoulder[2]), C[0] @ _on_axis(shoulder[0])
        links = _scaled(rigid_inverse(C[[6, 5, 4]]), length)
        chains.append(PointChain((6, 5, 4, 3), -1.0, links, p[:3] / length, world, C[7], length))
    return chains


def _heights(A: np.ndarray, B: np.ndarray, length: float) -> tuple[float, float, float] | None:
    """Return the common point of three joint axes as coordinates along them, A and B (4, 4) between; else None."""
    heights: list[float] = []
    for link in (A, B):
        R, t = link[:3, :3], link[:3, 3]
        if abs(R[2, 2]) > 1.0 - 1e-9:
            return None  # parallel axes meet everywhere or nowhere
        # Points of both axes: h e_z = t + h' R e_z.
        h, h_next = np.linalg.lstsq(np.stack([np.eye(3)[2], -R[:, 2]], axis=1), t, rcond=None)[0]
        if np.linalg.norm(h * np.eye(3)[2] - t - h_next * R[:, 2]) > MEET * length:
            return None
        if heights and abs(h - heights[-1]) > MEET * length:
            return None
        heights += [h, h_next] if not heights else [h_next]
    return heights[0], heights[1], heights[2]


def _on_axis(height: float) -> np.ndarray:
    return np.array([0.0, 0.0, height, 1.0])


def _scaled(links: np.ndarray, length: float) -> np.ndarray:
    links = links.copy()
    links[:, :3, 3] /= length
    return links
