"""Bounds that certify a configuration: of the second derivatives of a chain's pose error, and of its rounding.

For a symmetric form max |H[v, w]| over unit vectors is max |H[v, v]|, so that one direction is enough. Of positions
∂²p/∂x_i∂x_j, i ≤ j, is ω_i × ∂p/∂x_j where joint i turns, and no longer than the greatest distance d_j of the tip
from axis j (1 for a slide); a slide before leaves none. So ‖D²p‖ ≤ ‖A‖, A_ij = d_max(i,j). Rotations, as twice the
vector of a quaternion, change with at most half the square of the sum of all rates.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from ...kernels.ops import less_equal, maximum
from ..ik_problem import IkProblem
from ..pose_error import Chain
from ..steps import Step
from ..task import Task
from .judgement import N_KNOWN, orientable

ROUNDING = 4e-16
"""Rounding error of a pose error, lengths over `length` and radians, of a chain no longer than that."""
LINE = 2e-14
"""Pose error along a straight self-motion of such a chain. Wrists 1e-13 from aligned are certified as they are."""
N_OF_ROW = 3
"""Numbers of a row beside its judgement: state, radius of the ball, and 1 where it is kept; then a direction."""


@dataclass(frozen=True)
class RowClass:
    """Chains whose configurations one program certifies: they differ in numbers only.

    Attributes:
        moves: kind, coordinate, factor and pitch over `length` of every step.
        n: number of coordinates.
        task: the requested components.
        oriented: True if signs of det J mean something.
        n_candidates: number of candidates that are certified at once.
    """

    moves: tuple[tuple[str, int, float, float], ...]
    n: int
    task: Task
    oriented: bool
    n_candidates: int

    @property
    def turning(self) -> np.ndarray:
        """(n,) booleans: x[k] + 2π is the same pose."""
        turning = np.ones(self.n, bool)
        for kind, k, factor, _ in self.moves:
            turning[k] &= kind == "R" and float(factor).is_integer()
        return turning

    @property
    def n_places(self) -> int:
        """Number of results there is room for."""
        return 2 * self.n_candidates + 8

    @property
    def width(self) -> int:
        """Numbers of a row of the answer."""
        return self.n + N_KNOWN + N_OF_ROW + self.n

    @property
    def in_double_double(self) -> bool:
        """True if residuals are evaluated in double-double: of poses and positions by independent joints."""
        independent = all(
            kind in "RP" and k == i and factor == 1.0 for i, (kind, k, factor, _) in enumerate(self.moves)
        )
        return independent and (self.task.is_pose or not (self.task.rotation or self.task.axis))

    def chain(self, links: Any) -> Chain:
        """Return the chain of links (s, 3, 4), numbers or traced, lengths over `length`."""
        steps = [
            Step(kind, links[i], k, factor, pitch, "", k) for i, (kind, k, factor, pitch) in enumerate(self.moves)
        ]
        return Chain(tuple(steps), self.n, self.task, self.turning, 1.0)


@lru_cache(maxsize=64)
def row_class(problem: IkProblem, n_candidates: int) -> RowClass:
    """Return the class of a chain."""
    moves = tuple((s.kind, s.coordinate, float(s.factor), s.pitch / problem.length) for s in problem.steps)
    return RowClass(moves, problem.n, problem.task, orientable(problem), n_candidates)


@lru_cache(maxsize=64)
def arm_numbers(problem: IkProblem) -> tuple[np.ndarray, np.ndarray]:
    """Return links and tool (s + 1, 12), lengths over `length`; and length, K, ε, and the error of a line."""
    links = np.stack([step.T_before[:3] for step in problem.steps] + [problem.T_last_frame[:3]])
    links[0] = np.eye(3, 4)
    links[..., 3] /= problem.length
    K, reach = certificate_numbers(problem, problem.length)
    numbers = np.array([problem.length, K, ROUNDING * reach, LINE * reach])
    return np.ascontiguousarray(links.reshape(-1, 12)), numbers


def certificate_numbers(problem: IkProblem, length: float) -> np.ndarray:
    """Return K, and what `ROUNDING` grows by, lengths over `length`; valid too where some joints are held."""
    links = sum(float(np.linalg.norm(C[:3, 3])) for C in problem.constants)
    strokes = sum(1.0 for step in problem.steps if step.kind != "R")
    return np.array([second_derivative(problem, length), max(1.0, links / length + strokes)])


def is_certified(K: Any, error: Any, least: Any) -> Any:
    """Return True where Kantorovich's condition holds, with h = K error / σ² at most 1/4."""
    least = maximum(0.0, least)
    return less_equal(4.0 * K * error, least * least)


def second_derivative(problem: IkProblem, length: float) -> float:
    """Return K, a bound of |D²e[v, v]| over unit v, of slides that are within 1 of zero, lengths over `length`."""
    steps, n = problem.steps, problem.n
    lengths = [float(np.linalg.norm(step.T_before[:3, 3])) / length for step in steps[1:]]
    lengths.append(float(np.linalg.norm(problem.T_last_frame[:3, 3])) / length)
    A, rates = np.zeros((n, n)), np.zeros(n)
    for j, step in enumerate(steps):
        link = steps[j + 1].T_before if j + 1 < len(steps) else problem.T_last_frame
        # The part of its own link along an axis moves nothing.
        lever = float(np.hypot(*link[:2, 3])) / length
        lever += sum(lengths[j + 1 :]) + sum(1.0 for later in steps[j + 1 :] if later.kind != "R")
        lever = 1.0 if step.kind == "P" else lever + abs(step.pitch) / length
        if step.kind != "P":
            rates[step.coordinate] += abs(step.factor)
        for i, before in enumerate(steps[: j + 1]):
            if before.kind != "P" and (i < j or step.kind != "P"):
                size = abs(before.factor * step.factor) * lever
                A[before.coordinate, step.coordinate] += size
                if i < j:
                    A[step.coordinate, before.coordinate] += size
    squared = float(rates @ rates)
    positions = float(np.linalg.norm(A, 2)) if problem.task.position else 0.0
    rotations = squared if problem.task.axis else 0.5 * squared if problem.task.rotation else 0.0
    return float(np.hypot(positions, rotations))
