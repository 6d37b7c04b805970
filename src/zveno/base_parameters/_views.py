"""Views of the ten inertial parameters of a link, and the maps between them.

Internally, a link is represented by its pseudo-inertia H = ∫ [r; 1][r; 1]ᵀ dm as ten numbers xx yy zz xy xz yz Sx
Sy Sz m (document 000's order). The function ⟨X, H⟩ = Σ over both triangles is then a row of ten numbers, and
moving a body to another frame, H → A H Aᵀ, is a 10×10 matrix.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from ..errors import unknown_name
from ..spatial.inertia import PARAMETER_NAMES

PAIRS = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2), (0, 3), (1, 3), (2, 3), (3, 3))
"""Row and column in H of each of the ten numbers."""
WEIGHTS = np.array([1.0 if i == j else 2.0 for i, j in PAIRS])
"""Weights w of ⟨X, H⟩ = Σ_s x_s w_s h_s: entries off the diagonal count twice."""
DEGREES = np.array([2, 2, 2, 2, 2, 2, 1, 1, 1, 0])
"""Power of a length in the unit of each of the ten numbers, in every view."""


def _half(x: int) -> Fraction:
    return Fraction(x, 2)


# Hxx = (Iyy + Izz − Ixx)/2 and cyclically, Hxy = −Ixy: columns Ixx Iyy Izz Ixy Ixz Iyz hx hy hz m.
_FROM_INERTIA = [[_half(-1 if i == j else 1) for j in range(3)] + [Fraction(0)] * 7 for i in range(3)] + [
    [Fraction((-1 if s < 6 else 1) if s == t else 0) for t in range(10)] for s in range(3, 10)
]
_TO_INERTIA = [[Fraction(0 if i == j else 1) for j in range(3)] + [Fraction(0)] * 7 for i in range(3)] + [
    [Fraction((-1 if s < 6 else 1) if s == t else 0) for t in range(10)] for s in range(3, 10)
]


@dataclass(frozen=True)
class View:
    """Choice of a link's ten parameters; their order is the order in which independent ones are chosen.

    Attributes:
        name: "inertia", "pseudo" or "center".
        symbols: symbols of the ten parameters, where `{}` stands for the link's number.
        explanation: of the symbols.
        to_pseudo, from_pseudo: (10, 10) exact maps to and from the pseudo-inertia's ten numbers.
        columns: index of each parameter among the ten columns of a link in `robot.regressor`; None if the
            parameters of the view are not columns of it.
    """

    name: str
    symbols: tuple[str, ...]
    explanation: str
    to_pseudo: tuple[tuple[Fraction, ...], ...]
    from_pseudo: tuple[tuple[Fraction, ...], ...]
    columns: tuple[int, ...] | None

    @cached_property
    def matrix(self) -> np.ndarray:
        """Map `to_pseudo` in floating point."""
        return np.array(self.to_pseudo, dtype=float)

    @cached_property
    def inverse(self) -> np.ndarray:
        """Map `from_pseudo` in floating point."""
        return np.array(self.from_pseudo, dtype=float)


def _frozen(rows) -> tuple[tuple[Fraction, ...], ...]:
    return tuple(tuple(row) for row in rows)


_IDENTITY = _frozen([[Fraction(int(s == t)) for t in range(10)] for s in range(10)])
_TENSOR = ("xx", "yy", "zz", "xy", "xz", "yz")

INERTIA = View(
    "inertia",
    tuple(f"I{{}}{ij}" for ij in _TENSOR) + tuple(f"h{{}}{i}" for i in "xyz") + ("m{}",),
    "I: inertia tensor about the link frame's origin, h: first moments m c, m: mass",
    _frozen(_FROM_INERTIA),
    _frozen(_TO_INERTIA),
    tuple(PARAMETER_NAMES.index(f"I{ij}") for ij in _TENSOR) + (1, 2, 3, 0),
)
PSEUDO = View(
    "pseudo",
    tuple(f"I{{}}{ij}" for ij in _TENSOR) + tuple(f"S{{}}{i}" for i in "xyz") + ("m{}",),
    "document 000: Ixx = ∫x² dm, Ixy = ∫xy dm, …, S: first moments, m: mass",
    _IDENTITY,
    _IDENTITY,
    None,
)
CENTER = View(
    "center",
    INERTIA.symbols,
    "J: inertia tensor about the centre of mass c, m: mass",
    INERTIA.to_pseudo,
    INERTIA.from_pseudo,
    INERTIA.columns,
)
"""View with the base parameters of `INERTIA`, written with I = J + m (c·c − c cᵀ) and h = m c."""
VIEWS = {view.name: view for view in (INERTIA, PSEUDO, CENTER)}


def view_named(name: str) -> View:
    """Return the view with the given name."""
    try:
        return VIEWS[name]
    except KeyError:
        raise unknown_name("view", name, VIEWS) from None


DOUBLE = np.zeros((10, 16))
"""Map from rows of ten numbers to rows of sixteen, both triangles of the symmetric matrix."""
SYMMETRIC = np.zeros((16, 10))
"""Map from rows of sixteen numbers to the ten of the symmetric part."""
for _s, (_i, _j) in enumerate(PAIRS):
    for _k in {4 * _i + _j, 4 * _j + _i}:
        DOUBLE[_s, _k] = 1.0
        SYMMETRIC[_k, _s] = 1.0 if _i == _j else 0.5


MOMENTS = np.eye(10)[6:]
"""Map from rows over Sx Sy Sz m to rows over all ten numbers."""


def carried(A: np.ndarray) -> np.ndarray:
    """Matrices (..., 10, 10) that map a body's ten numbers h to those of A H Aᵀ, from A (..., 4, 4)."""
    square = np.einsum("...ia,...jb->...ijab", A, A).reshape(*A.shape[:-2], 16, 16)
    return SYMMETRIC.T @ square @ DOUBLE.T


def carried_in(view: View, A: np.ndarray) -> np.ndarray:
    """Matrices (..., 10, 10) of `carried` in the parameters of a view."""
    return view.inverse @ carried(A) @ view.matrix
