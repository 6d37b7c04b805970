"""Spaces of rows over twists, in floating point and in exact numbers, for the closure of twists.

Both classes have the same methods: `unit`, `basis`, `rank`, `times`, `placed` (rows seen from the body on the other
side of a constant transform) and `brackets` (ad of the twists of a joint).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ...base_parameters.exact_field import Field, field_of
from ...spatial.exact_numbers import Matrix, exact_transform, exact_twist
from ...spatial.transforms import adjoint, inverse, transform
from ...spatial.vectors import skew

if TYPE_CHECKING:
    from .proof import Step

TOLERANCE = 1e-10


class FloatRows:
    """Orthonormal bases with ranks by singular values; the smallest gap is recorded.

    Args:
        scale: a length, m, that makes lengths comparable with angles.
    """

    scale: float
    gap: float

    def __init__(self, scale: float):
        self.scale, self.gap = scale, np.inf

    def unit(self, n: int) -> np.ndarray:
        """Return the first n coordinates."""
        return np.eye(6)[:n]

    def rank(self, rows: np.ndarray) -> int:
        """Return the dimension of a basis."""
        return len(rows)

    def times(self, rows: np.ndarray, operator: np.ndarray) -> np.ndarray:
        """Return the images of the rows."""
        return rows @ operator

    def basis(self, *spaces: np.ndarray) -> np.ndarray:
        """Return a basis of all rows of the spaces."""
        rows = np.concatenate(spaces)
        if not len(rows):
            return rows
        _, s, Vt = np.linalg.svd(rows)
        if not s[0] > TOLERANCE:
            self.gap = min(self.gap, 1.0 / max(s[0], 1e-16))
            return np.zeros((0, 6))
        rank = int((s > TOLERANCE * s[0]).sum())
        if rank < len(s):
            self.gap = min(self.gap, float(s[rank - 1] / max(s[rank], 1e-16)))
        return Vt[:rank]

    def placed(self, rows: np.ndarray, step: Step) -> np.ndarray:
        """Return rows on the other side of a constant transform."""
        T = step.T
        assert T is not None
        return rows if len(rows) == 6 else rows @ adjoint(inverse(transform(T[:3, :3], T[:3, 3] / self.scale)))

    def brackets(self, step: Step) -> list[np.ndarray]:
        """Return ad_s = [[w×, v×], [0, w×]] of every twist s = [v, w]."""
        out = []
        for s in step.twists:
            v, w = skew(s[:3] / (self.scale if s[3:].any() else 1.0)), skew(s[3:])
            out.append(np.block([[w, v], [np.zeros((3, 3)), w]]))
        return out


class ExactRows:
    """Row echelon bases over ℚ or ℚ(√2, √3); `NotExact` if a constant has no exact value."""

    gap: float = np.inf

    def __init__(self, steps: Sequence[Step]):
        self._T = {id(step): exact_transform(step.T, step.what) for step in steps if step.T is not None}
        self._s = {id(step): [exact_twist(s, step.what) for s in step.twists] for step in steps if step.T is None}
        every = [*self._T.values(), *(s for own in self._s.values() for s in own)]
        self.field: Field = field_of(frozenset().union(*(A.roots for A in every)))

    def unit(self, n: int) -> Any:
        """Return the first n coordinates."""
        return _unit(self.field, n)

    def rank(self, rows: Any) -> int:
        """Return the dimension of a basis."""
        return self.field.rank(rows)

    def times(self, rows: Any, operator: Any) -> Any:
        """Return the images of the rows."""
        return rows * operator

    def basis(self, *spaces: Any) -> Any:
        """Return a basis of all rows of the spaces."""
        return self.field.basis(*spaces)

    def placed(self, rows: Any, step: Step) -> Any:
        """Return rows on the other side of a constant transform."""
        T = self._T[id(step)]
        return rows if T.identity or self.rank(rows) == 6 else rows * _carried(self.field, T)

    def brackets(self, step: Step) -> list[Any]:
        """Return ad_s of every twist."""
        return [_bracket(self.field, s) for s in self._s[id(step)]]


@lru_cache(maxsize=32)
def _unit(field: Field, n: int):
    return field.matrix([[field.number(int(i == j)) for j in range(6)] for i in range(n)], 6)


@lru_cache(maxsize=256)
def _carried(field: Field, T: Matrix):
    """Return Ad(T⁻¹) = [[Rᵀ, −Rᵀ p×], [0, Rᵀ]]."""
    R, p = [row[:3] for row in T.rows[:3]], [row[3] for row in T.rows[:3]]
    Rt = [list(column) for column in zip(*R, strict=True)]
    across = _cross_matrix(p)
    lever = [[-sum((a * across[k][j] for k, a in enumerate(row)), 0 * p[0]) for j in range(3)] for row in Rt]
    return _six_by_six(field, Rt, lever)


@lru_cache(maxsize=256)
def _bracket(field: Field, D: Matrix):
    """Return ad_s from the (4, 4) matrix of a twist."""
    w = [row[:3] for row in D.rows[:3]]
    return _six_by_six(field, w, _cross_matrix([row[3] for row in D.rows[:3]]))


def _cross_matrix(p):
    x, y, z = p
    zero = 0 * x
    return [[zero, -z, y], [z, zero, -x], [-y, x, zero]]


def _six_by_six(field: Field, diagonal, upper):
    """Return [[diagonal, upper], [0, diagonal]]."""
    rows = [[*d, *u] for d, u in zip(diagonal, upper, strict=True)] + [[0, 0, 0, *d] for d in diagonal]
    return field.matrix([[field.number(x) for x in row] for row in rows], 6)
