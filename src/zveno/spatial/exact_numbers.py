"""Exact values of a model's floats in ℚ or ℚ(√2, √3), and matrices over these fields.

With right angles alone all entries are rational; multiples of 15° need √2 and √3. An element of ℚ(√2, √3) is
stored as four rationals. Multiplication by it is a 4×4 rational matrix, so one rational row echelon form serves
both fields.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cache, lru_cache
from typing import Any

import numpy as np

from ..errors import MissingExtraError
from .rotations import to_rpy

ROOTS = (1, 2, 3, 6)
"""Squares of the basis 1, √2, √3, √6 of the field over ℚ."""
_DECIMALS = 12
_ULPS = 8 * np.finfo(float).eps


class NotExact(Exception):
    """A constant of the mechanism is not recognised as an exact number; the message names it."""


class Surd:
    """a + b√2 + c√3 + d√6 with rational a, b, c, d."""

    __slots__ = ("parts",)

    def __init__(self, parts: Sequence[Any]):
        self.parts: tuple[Any, ...] = tuple(parts)

    def __add__(self, other: Any) -> Any:
        return Surd([x + y for x, y in zip(self.parts, _parts(other), strict=True)])

    __radd__ = __add__

    def __neg__(self) -> Surd:
        return Surd([-x for x in self.parts])

    def __sub__(self, other: Any) -> Any:
        return self + (-1) * other

    def __rsub__(self, other: Any) -> Any:
        return other + (-self)

    def __mul__(self, other: Any) -> Any:
        product = [0, 0, 0, 0]
        for i, x in enumerate(self.parts):
            for j, y in enumerate(_parts(other)):
                if x != 0 and y != 0:
                    k, factor = _PRODUCTS[i, j]
                    product[k] += factor * x * y
        return Surd(product)

    __rmul__ = __mul__

    def __eq__(self, other: object) -> bool:
        return all(x == y for x, y in zip(self.parts, _parts(other), strict=True))

    def __hash__(self) -> int:
        return hash(self.parts)

    def __bool__(self) -> bool:
        return any(x != 0 for x in self.parts)

    def __float__(self) -> float:
        return float(sum(float(x) * math.sqrt(root) for x, root in zip(self.parts, ROOTS, strict=True)))

    def __str__(self) -> str:
        words = [
            f"{x}" if root == 1 else f"{'' if x == 1 else '-' if x == -1 else x}√{root}"
            for x, root in zip(self.parts, ROOTS, strict=True)
            if x != 0
        ]
        return "+".join(words).replace("+-", "-") or "0"

    def __repr__(self) -> str:
        return f"Surd({self})"


def _parts(x):
    return x.parts if isinstance(x, Surd) else (x, 0, 0, 0)


def _products() -> dict[tuple[int, int], tuple[int, int]]:
    table = {}
    for i, a in enumerate(ROOTS):
        for j, b in enumerate(ROOTS):
            square = math.gcd(a, b)
            table[i, j] = (ROOTS.index(a * b // square**2), square)
    return table


_PRODUCTS = _products()


def _cosines() -> dict[int, Surd]:
    """Cosines of 0°, 15°, …, 90°, indexed by the number of 15° steps."""
    half, quarter = Fraction(1, 2), Fraction(1, 4)
    return {
        0: Surd((Fraction(1), 0, 0, 0)),
        1: Surd((0, quarter, 0, quarter)),
        2: Surd((0, 0, half, 0)),
        3: Surd((0, half, 0, 0)),
        4: Surd((half, 0, 0, 0)),
        5: Surd((0, -quarter, 0, quarter)),
        6: Surd((Fraction(0), 0, 0, 0)),
    }


_COSINES = _cosines()


def cosine(steps: int) -> Surd:
    """Exact value of cos(15° · steps)."""
    steps = abs((steps + 12) % 24 - 12)
    return _COSINES[steps] if steps <= 6 else -_COSINES[12 - steps]


def decimal(x: float) -> Fraction:
    """Return the decimal that a float represents (0.4318, not 0.43180000000000002), or else its exact value."""
    rounded = round(x, _DECIMALS)
    return Fraction(repr(rounded)) if abs(x - rounded) <= _ULPS * max(1.0, abs(x)) / 8 else Fraction(x)


def steps_of_15(angle: float) -> int:
    """Number of 15° steps in an angle; raise `NotExact` if the angle is not a multiple of 15°."""
    steps = round(angle / (math.pi / 12))
    if abs(angle - steps * math.pi / 12) > _ULPS * max(1.0, abs(angle)):
        raise NotExact(f"{math.degrees(angle):.9g}° is not a multiple of 15°")
    return steps


def exact_rotation(R: np.ndarray) -> list[list[Any]]:
    """Convert a rotation matrix to exact numbers: a signed permutation, or multiples of 15° in roll, pitch, yaw."""
    whole = np.rint(R)
    if (whole == R).all():
        return [[Fraction(int(x)) for x in row] for row in whole]
    roll, pitch, yaw = (steps_of_15(angle) for angle in to_rpy(R))
    rotation = _product(_about("z", yaw), _product(_about("y", pitch), _about("x", roll)))
    if abs(np.array([[float(x) for x in row] for row in rotation]) - R).max() > 1e-14:
        raise NotExact("its rotation is not made of multiples of 15°")
    return rotation


def _about(letter: str, steps: int) -> list[list]:
    c, s = cosine(steps), cosine(steps - 6)
    k = "xyz".index(letter)
    rotation = [[Surd((Fraction(int(i == j)), 0, 0, 0)) for j in range(3)] for i in range(3)]
    a, b = (k + 1) % 3, (k + 2) % 3
    rotation[a][a] = rotation[b][b] = c
    rotation[a][b], rotation[b][a] = -s, s
    return rotation


def _product(A, B) -> list[list]:
    return [
        [sum((A[i][k] * B[k][j] for k in range(3)), Surd((Fraction(0), 0, 0, 0))) for j in range(3)]
        for i in range(3)
    ]


class Matrix:
    """Constant 4×4 matrix of exact numbers. Equal matrices are the same object, which makes them cheap keys."""

    __slots__ = ("identity", "roots", "rows")

    def __init__(self, rows: Sequence[Sequence[Any]]):
        self.rows: tuple[tuple[Any, ...], ...] = tuple(tuple(row) for row in rows)
        surds = [x for row in self.rows for x in row if isinstance(x, Surd)]
        self.roots: frozenset[int] = frozenset(k for x in surds for k in (1, 2, 3) if x.parts[k] != 0)
        """Indices of the roots √2, √3, √6 that occur in the entries."""
        if not self.roots:
            self.rows = tuple(tuple(x.parts[0] if isinstance(x, Surd) else x for x in row) for row in self.rows)
        self.identity: bool = all(x == int(i == j) for i, row in enumerate(self.rows) for j, x in enumerate(row))

    def __matmul__(self, other: Matrix) -> Matrix:
        if self.identity or other.identity:
            return other if self.identity else self
        return Matrix(
            [[sum((self.rows[i][k] * other.rows[k][j] for k in range(4)), 0) for j in range(4)] for i in range(4)]
        )

    def __add__(self, other: Matrix) -> Matrix:
        if other is ZERO or self is ZERO:
            return self if other is ZERO else other
        return Matrix(
            [[x + y for x, y in zip(a, b, strict=True)] for a, b in zip(self.rows, other.rows, strict=True)]
        )


IDENTITY = Matrix([[Fraction(int(i == j)) for j in range(4)] for i in range(4)])
ZERO = Matrix([[Fraction(0)] * 4] * 4)


def exact_transform(T: np.ndarray, label: str) -> Matrix:
    """Convert a rigid transform to exact numbers."""
    try:
        return _transform(np.ascontiguousarray(T).tobytes())
    except NotExact as obstacle:
        raise NotExact(f"{label}: {obstacle}") from None


@lru_cache(maxsize=1024)
def _transform(data: bytes) -> Matrix:
    T = np.frombuffer(data).reshape(4, 4)
    R = exact_rotation(T[:3, :3])
    zero = Fraction(0)
    return Matrix([[*R[i], decimal(float(T[i, 3]))] for i in range(3)] + [[zero, zero, zero, Fraction(1)]])


def exact_direction(vector: np.ndarray) -> list[Any]:
    """Convert a direction, up to scale, to exact numbers: small ratios or two angles that are multiples of 15°."""
    largest = vector[int(np.argmax(abs(vector)))]
    ratios = [Fraction(float(x / largest)).limit_denominator(1000) for x in vector]
    if max(abs(float(r) - x / largest) for r, x in zip(ratios, vector, strict=True)) <= _ULPS:
        sign = 1 if largest > 0 else -1
        return [sign * r for r in ratios]
    for pole in range(3):  # two angles that are multiples of 15°, about each of the coordinate axes
        a, b = (pole + 1) % 3, (pole + 2) % 3
        try:
            around = steps_of_15(math.atan2(vector[b], vector[a]))
            above = steps_of_15(math.atan2(vector[pole], math.hypot(vector[a], vector[b])))
        except NotExact:
            continue
        components: list = [cosine(above - 6)] * 3
        components[a], components[b] = cosine(above) * cosine(around), cosine(above) * cosine(around - 6)
        return components
    raise NotExact(f"the axis ({', '.join(f'{x:.6g}' for x in vector)}) is not exact")


def exact_twist(twist: np.ndarray, label: str) -> Matrix:
    """Exact (4, 4) matrix of a joint's twist `[v, w]`, up to scale."""
    try:
        return _twist(np.ascontiguousarray(twist).tobytes())
    except NotExact as obstacle:
        raise NotExact(f"{label}: {obstacle}") from None


@lru_cache(maxsize=1024)
def _twist(data: bytes) -> Matrix:
    v, w = np.frombuffer(data).reshape(2, 3)
    zero = Fraction(0)
    if w.any():
        x, y, z = exact_direction(w)
        pitch = decimal(float(v @ w))
        if v.any() and abs(v - float(pitch) * w).max() > 1e-14:
            raise NotExact("its twist is not a screw about its own axis")
        turning = ((zero, -z, y), (z, zero, -x), (-y, x, zero))
        linear = [pitch * k for k in (x, y, z)]
    else:
        turning = ((zero,) * 3,) * 3
        linear = exact_direction(v)
    return Matrix([(*row, t) for row, t in zip(turning, linear, strict=True)] + [(zero,) * 4])


def exact_gravity(vector: np.ndarray, direction: bool = True) -> list[Any]:
    """Convert gravity to exact numbers: a direction recognised like a joint axis, else the decimals as typed.

    If only the direction matters, the magnitude is dropped.
    """
    if not vector.any():
        return [Fraction(0)] * 3
    try:
        multiple = exact_direction(vector)
    except NotExact:
        return [decimal(float(x)) for x in vector]
    if direction:
        return multiple
    largest = int(np.argmax(abs(vector)))
    size = decimal(float(vector[largest]) / float(multiple[largest]))
    return [size * x for x in multiple]


@cache
def flint() -> Any:
    """Module python-flint, or None if it is not installed."""
    try:
        import flint as module
    except ImportError:
        return None
    return module


def required_flint() -> Any:
    """Return the module python-flint; raise an error with the install command if it is missing."""
    module = flint()
    if module is None:
        raise MissingExtraError("exact proofs need python-flint", remedy="pip install 'zveno[exact]'")
    return module


def as_array(rows: Sequence[Sequence[Any]], width: int) -> np.ndarray:
    """Convert exact rows to a float array (rows, width)."""
    numbers = [[number_as_float(x) if x else 0.0 for x in row] for row in rows]
    return np.array(numbers, dtype=float).reshape(len(rows), width)


def number_as_float(x: Any) -> float:
    """Convert an exact number to a float."""
    if isinstance(x, Surd):
        return sum(number_as_float(part) * root**0.5 for part, root in zip(x.parts, ROOTS, strict=True))
    return int(x.p) / int(x.q) if hasattr(x, "p") else float(x)


def as_texts(rows: Sequence[Sequence[Any]]) -> tuple[tuple[str, ...], ...]:
    """Write exact rows as text: "-1/2", or four rationals if roots occur; see `from_text`."""
    return tuple(tuple(_text(x) if x else "0" for x in row) for row in rows)


def _text(x: Any) -> str:
    if not isinstance(x, Surd):
        return str(x)
    rational = not any(part != 0 for part in x.parts[1:])
    return str(x.parts[0]) if rational else " ".join(str(part) for part in x.parts)


def from_text(text: str) -> Fraction | Surd:
    """Parse a number written by `as_texts`."""
    parts = [Fraction(part) for part in text.split()]
    return parts[0] if len(parts) == 1 else Surd(parts)
