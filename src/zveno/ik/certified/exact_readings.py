"""Exact problem to be solved: the meaning, in balls, of the floats of a model, a pose or a limit.

Lengths are the decimals that were typed, rotations products of multiples of 15°, as `zveno.spatial.exact_numbers`
recognises them; any other length is the float itself, any other rotation the one nearest to the float matrix.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from flint import arb, ctx, fmpq

from ...errors import ShapeError
from ...io.elementary import parse_terms
from ...io.expressions import Place, Units
from ...spatial.exact_numbers import ROOTS, NotExact, Surd, decimal, exact_rotation, steps_of_15
from .balls import Pair, Rigid, nearest_rotation, product


def ball(x: Any) -> arb:
    """Return a fraction or a number of ℚ(√2, √3) as a ball."""
    if isinstance(x, Surd):
        return sum((ball(part) * arb(root).sqrt() for part, root in zip(x.parts, ROOTS, strict=True)), arb(0))
    x = Fraction(x)
    return arb(fmpq(x.numerator, x.denominator))


@dataclass(frozen=True)
class Angle:
    """An angle, radians: so many times 15°, or a rational number."""

    steps: int | None
    radians: Fraction

    def ball(self) -> arb:
        """Return the angle as a ball."""
        return ball(self.radians) if self.steps is None else arb.pi() * self.steps / 12

    def pair(self) -> Pair:
        """Return its cosine and sine."""
        if self.steps is None:
            angle = ball(self.radians)
            return angle.cos(), angle.sin()
        return arb.cos_pi_fmpq(fmpq(self.steps, 12)), arb.sin_pi_fmpq(fmpq(self.steps, 12))


def angle_meant(x: float) -> Angle:
    """Return the angle that a float stands for."""
    try:
        return Angle(steps_of_15(x), Fraction(0))
    except NotExact:
        return Angle(None, decimal(x))


@dataclass(frozen=True)
class Transform:
    """A rigid transform in exact numbers.

    Attributes:
        rotation: rows of exact numbers, or None where the float matrix stands for the rotation nearest to it.
        position: three rationals.
        matrix: the float matrix (4, 4), as bytes.
    """

    rotation: tuple[tuple[Any, ...], ...] | None
    position: tuple[Fraction, Fraction, Fraction]
    matrix: bytes

    def balls(self) -> Rigid:
        """Return the transform in balls of the current precision."""
        return [list(row) for row in _balls(self, ctx.prec)]

    @property
    def n_floats(self) -> int:
        """Number of its lengths that are floats that stand for themselves."""
        return sum(Fraction(float(x)) == x and x.denominator > 10**12 for x in self.position)


@lru_cache(maxsize=4096)
def _balls(T: Transform, bits: int) -> Rigid:
    if T.rotation is None:
        R = nearest_rotation(np.frombuffer(T.matrix).reshape(4, 4)[:3, :3])
    else:
        R = [[ball(x) for x in row] for row in T.rotation]
    return [[*R[i], ball(T.position[i])] for i in range(3)]


def transform_meant(T: np.ndarray) -> Transform:
    """Return the transform that a float matrix (4, 4) stands for."""
    return _meant(np.ascontiguousarray(T, dtype=float).tobytes())


@lru_cache(maxsize=4096)
def _meant(matrix: bytes) -> Transform:
    T = np.frombuffer(matrix).reshape(4, 4)
    try:
        rotation = tuple(tuple(row) for row in exact_rotation(T[:3, :3]))
    except NotExact:
        rotation = None
    x, y, z = (decimal(float(t)) for t in T[:3, 3])
    return Transform(rotation, (x, y, z), matrix)


class ElementaryPose:
    """A pose given as a product of elementary transforms, such as "Tx(0.4) Tz(0.3) Ry(90deg)".

    Each term is exact: lengths are decimals, angles multiples of 15° or decimal radians.
    """

    def __init__(self, text: str, place: str = "target"):
        self.text: str = text
        where = Place(None, place)
        self.terms: list[tuple[str, int, float]] = []
        self.matrix: np.ndarray = np.eye(4)
        for term in parse_terms(text, Units("m", "rad"), where, snap=True, notes=[]):
            if term.value.joint is not None:
                name = term.value.joint
                raise where.error(f"{name!r} is not a number, and a pose has no joints", text, term.offset)
            self.terms.append((term.kind, "xyz".index(term.axis), term.value.constant))
            self.matrix = self.matrix @ term.constant()
        if not self.terms:
            raise ShapeError("the text of a pose is empty", element=place, remedy='Write "Tx(0)" for no motion')

    def balls(self) -> Rigid:
        """Return the transform in balls of the current precision."""
        T = [[arb(int(i == j)) for j in range(4)] for i in range(3)]
        for kind, axis, value in self.terms:
            T = product(T, _elementary(kind, axis, value))
        return T


def _elementary(kind: str, axis: int, value: float) -> Rigid:
    T = [[arb(int(i == j)) for j in range(4)] for i in range(3)]
    if kind == "T":
        T[axis][3] = ball(decimal(value))
        return T
    c, s = angle_meant(value).pair()
    a, b = (axis + 1) % 3, (axis + 2) % 3
    T[a][a] = T[b][b] = c
    T[a][b], T[b][a] = -s, s
    return T
