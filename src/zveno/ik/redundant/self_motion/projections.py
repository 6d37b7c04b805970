"""Curves F(s, u) = 0 in the plane of two joint angles on which all solutions of a pose of seven joints lie.

Where three joints at an end meet, `point_chains` gives them. Elsewhere the sliced joint s is added to the loop
equation of six joints (Raghavan and Roth): with s not in the link between the eliminated angles, every entry of
the 12 × 12 matrix is linear in the cosine and the sine of s too, and its determinant is a polynomial of degree
twelve at most in both. One solution lies over a point of the curve, but for points where curves cross.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple, Protocol

import numpy as np

from ...ik_problem import IkProblem
from ...six_revolute.equations import at_angle, trigonometric
from ...six_revolute.roots import DEGREE, SAMPLE_POINTS
from ...six_revolute.templates import Eliminated, rigid_inverse, usable
from ..seven_revolute import GENERIC, held
from .plane_curves import PlaneCurve, harmonics, plane_curve
from .point_chains import point_projections

MOST = 3
"""Maximum number of projections of an arm: what one leaves ambiguous another may decide."""
TRIALS = 3
SLOPE = 1e4
"""Times the noise that the gradient of F must be at solutions of random poses: else F has no simple zeros there."""


class Projection(Protocol):
    """Family of plane curves, one per pose."""

    @property
    def sheets(self) -> int:
        """Number of solutions of the arm over a point of the curve."""
        ...

    @property
    def sign(self) -> float:
        """1 where s is the joint's angle, −1 where it is the opposite."""
        ...

    def curve(self, T: np.ndarray) -> PlaneCurve:
        """Return the curve of a pose (4, 4)."""
        ...

    def angles(self, x: np.ndarray) -> np.ndarray:
        """Return s and u (n, 2) of configurations x (n, 7), in the curve's convention."""
        ...

    def may_turn(self, T: np.ndarray, low: float, high: float) -> bool:
        """Return True if s may turn between two close values, by another argument than the curve's."""
        ...


class LoopProjection(NamedTuple):
    """The determinant of the loop equation, over the sliced joint and the scan angle of a template.

    Attributes:
        system: the template with three arms: s at 0, π and π/2.
        before, after: (3, 4, 4) inverses of the transforms before the first and after the last of the six joints.
        scale: of lengths.
        joints: numbers of s and u in the arm of seven.
        shift: added to the scan angle to give u.
    """

    system: Eliminated
    before: np.ndarray
    after: np.ndarray
    scale: float
    joints: tuple[int, int]
    shift: float

    @property
    def sheets(self) -> int:
        """One solution over a point."""
        return 1

    @property
    def sign(self) -> float:
        """Sign of s: s is the joint's angle."""
        return 1.0

    def curve(self, T: np.ndarray) -> PlaneCurve:
        """Return the curve of a pose (4, 4)."""
        X = self.before @ T @ self.after
        X[:, :3, 3] *= self.scale
        E, _ = self.system.system(X[:, :3])
        E = trigonometric(E, 0)
        by_s = np.stack([at_angle(E, point) for point in SAMPLE_POINTS])
        return plane_curve(self.system.determinants(by_s, SAMPLE_POINTS), DEGREE)

    def angles(self, x: np.ndarray) -> np.ndarray:
        """Return s and the scan angle (n, 2) of configurations x (n, 7)."""
        return x[:, list(self.joints)] - np.array([0.0, self.shift])

    def may_turn(self, T: np.ndarray, low: float, high: float) -> bool:
        """Return True: no other argument is known."""
        return True


@lru_cache(maxsize=32)
def projections_of(problem: IkProblem, joint: int) -> tuple[Projection, ...]:
    """Return the best projections with a joint as s; none if none has simple zeros at solutions of random poses."""
    q = np.random.default_rng(2).uniform(-np.pi, np.pi, (TRIALS, problem.n))
    T = np.stack([problem.forward(row) for row in q])
    candidates: list[Any] = [*point_projections(problem, joint)] or [*_loop_projections(problem, joint)]
    rated = []
    for i, projection in enumerate(candidates):
        curves = [projection.curve(pose) for pose in T]
        worth = min(_slope(curve, projection.angles(q[k : k + 1])[0]) for k, curve in enumerate(curves))
        if worth > SLOPE:
            rated.append((worth, i, max(curve.A.size for curve in curves)))
    best: dict[int, tuple[int, int]] = {}
    for _, i, size in sorted(rated, reverse=True):
        if len(best) < MOST:
            best.setdefault(_second(candidates[i]), (size, i))
    # The simplest first: those after it are asked only where it leaves doubt.
    return tuple(candidates[i] for _, i in sorted(best.values(), key=lambda own: own[0]))


def _second(projection: Any) -> int:
    """Return the joint that is u."""
    return projection.joints[1] if isinstance(projection, LoopProjection) else projection.chain.joints[projection.u]


def _slope(curve: PlaneCurve, at: np.ndarray) -> float:
    """Return |∇F| over the noise at a point; 0 where F itself is not small there."""
    S, U = (harmonics(at[k : k + 1], curve.degrees[k], 1)[:, 0] for k in (0, 1))
    value, gradient = S[0] @ curve.A @ U[0], np.hypot(S[1] @ curve.A @ U[0], S[0] @ curve.A @ U[1])
    return gradient / curve.noise if abs(value) < 1e3 * curve.noise else 0.0


def _loop_projections(problem: IkProblem, joint: int) -> list[LoopProjection]:
    """Return the projections of all templates that eliminate two angles between links without s."""
    lower, upper = problem.span[0][joint], problem.span[1][joint]
    generic = lower + GENERIC * (upper - lower)
    before, links, after = held(problem, joint, np.array([0.0, np.pi, np.pi / 2, generic]))
    scale = 2.0 / np.linalg.norm(links[3, 1:, :3, 3], axis=1).sum()
    L = links.copy()
    L[:, 0] = np.eye(4)
    L[..., :3, 3] *= scale
    projections = []
    for eliminated in usable(L[3], np.random.default_rng(0)):
        template = eliminated.template
        places = [(other + template.backwards) % 6 for other in template.order]
        # At an end of the arm s is part of the target, elsewhere of the link that joins its neighbours.
        apart = places.index(joint) >= 2 if 0 < joint < 6 else eliminated.left
        if apart and eliminated.dimension == 1:
            u = template.scan_joint + (template.scan_joint >= joint)
            system = Eliminated(template.on(L[:3]), eliminated.rank, 1)
            ends = rigid_inverse(before[:3]), rigid_inverse(after[:3])
            projections.append(LoopProjection(system, *ends, scale, (joint, u), template.scan_offset))
    return projections
