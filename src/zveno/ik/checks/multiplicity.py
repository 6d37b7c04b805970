"""Types of solutions at a singular Jacobian: a double root, a point of a continuum, or a higher root.

At a solution with kernel vectors v of J and cokernel vectors u the task's error is, to second order, the quadratic
form Q(v) = u · D²e[v, v] / 2. With one of each, a form that is not zero makes an isolated double root: a target
moved by δ has two solutions there if (u · δ) Q > 0, and none if it is negative. That also counts: poses on either
side of a double root are regular, and must have as many solutions as the forms predict.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...spatial.rotations import exp
from ..ik_problem import IkProblem
from ..newton import Lanes
from .distinct import SAME, near
from .judgement import SINGULAR, errors, jacobians

CURVED = 1e-3
"""Value above which a quadratic form (lengths over `length`) is not zero; most are near 1."""
ASIDE = 1e-5
"""Displacement of a target to count solutions beside a double root, in lengths over `length` and radians."""
ROUNDING = 1e-16
"""Smallest pose error that has a meaning."""
_STEP = 1e-4


class Singular(NamedTuple):
    """Second-order data of a solution where J is singular.

    Attributes:
        kind: "double" root; "isolated" or "branch" (curves that cross), where kernels are of two dimensions and the
            form of one; "open" where the second order does not decide.
        kernel: (d, n) directions the solution might move in.
        cokernel: (c, m) directions J does not reach.
        forms: (c, d, d).
        x: (n,) the solution, in the chain's units.
        second: the second least singular value of J: where it is small too, continua may cross.
        blur: possible distance from the exact solution, its error over the least singular value of J.
        apart: distance of two solutions that nearly meet, if both are listed; else 0.
    """

    kind: str
    kernel: np.ndarray
    cokernel: np.ndarray
    forms: np.ndarray
    x: np.ndarray
    second: float
    blur: float
    apart: float = 0.0

    @property
    def blurred(self) -> bool:
        """Return True if rounding exceeds the distance between solutions and no double root explains it."""
        return self.kind == "open" and self.blur > SAME

    @property
    def fourfold(self) -> bool:
        """Return True if two kernel directions meet two cokernel directions: solutions nearly meet in fours
        there."""
        return self.kind == "open" and len(self.kernel) > 1

    def holds(self, problem: IkProblem, x: np.ndarray) -> np.ndarray:
        """Return True for points x (..., n), in the chain's units, that are this solution or one of its pair."""
        return near(problem, x, self.x, max(2.0 * self.apart, SAME))


def classified(problem: IkProblem, lanes: Lanes, pose: int, x: np.ndarray) -> Singular:
    """Classify a singular solution x (n,), in the chain's units, by the second order."""
    which = np.array([pose])
    U, singular, Vt = np.linalg.svd(jacobians(problem, x[None], lanes, which)[0])
    rank = int(np.sum(singular > SINGULAR))
    kernel, cokernel = Vt[rank:], U[:, rank:].T
    forms = np.zeros((len(cokernel), len(kernel), len(kernel)))
    for i, v in enumerate(kernel):
        around = jacobians(problem, np.stack([x + _STEP * v, x - _STEP * v]), lanes, np.repeat(which, 2))
        forms[:, i] = cokernel @ ((around[0] - around[1]) / (2 * _STEP)) @ kernel.T / 2
    second = float(singular[-2]) if len(singular) > 1 else np.inf
    error = max(float(np.linalg.norm(errors(problem, x[None], lanes, which))), ROUNDING)
    return Singular(_kind(forms), kernel, cokernel, forms, x, second, error / max(float(singular[-1]), ROUNDING))


def _kind(forms: np.ndarray) -> str:
    c, d, _ = forms.shape
    if c == 1 and d == 1:
        return "double" if abs(forms[0, 0, 0]) > CURVED else "open"
    if c == 1 and d == 2:
        low, high = np.linalg.eigvalsh((forms[0] + forms[0].T) / 2)
        if min(abs(low), abs(high)) > CURVED:
            return "branch" if low * high < 0 else "isolated"
    return "open"


def countable(problem: IkProblem) -> bool:
    """Return True if targets of the task can be moved in every direction of its error."""
    task = problem.task
    return not task.axis and len(task.position) in (0, 3) and len(task.rotation) in (0, 3)


def sides(
    problem: IkProblem, T: np.ndarray, doubles: list[Singular], seed: int = 0
) -> tuple[np.ndarray, tuple[int, int]]:
    """Return two targets (2, 4, 4) on either side of T (4, 4), and the numbers of double roots that split."""
    rng = np.random.default_rng(seed)
    u = np.stack([root.cokernel[0] for root in doubles])
    tried = rng.normal(size=(16, u.shape[1]))
    tried /= np.linalg.norm(tried, axis=1, keepdims=True)
    aside = tried[np.argmax(np.abs(tried @ u.T).min(axis=1))]
    split = int(np.sum((u @ aside) * np.array([root.forms[0, 0, 0] for root in doubles]) > 0))
    moved = np.stack([_moved(problem, T, ASIDE * aside), _moved(problem, T, -ASIDE * aside)])
    return moved, (split, len(doubles) - split)


def _moved(problem: IkProblem, T: np.ndarray, by: np.ndarray) -> np.ndarray:
    """Return T (4, 4) moved by a difference of the task's error, in the axes of the first joint."""
    seen = problem.end_transforms[0] @ T
    rows = len(problem.task.position)
    if rows:
        seen[:3, 3] += by[:rows] * problem.length
    if problem.task.rotation:
        seen[:3, :3] = exp(by[rows:]) @ seen[:3, :3]
    return problem.steps[0].T_before @ seen
