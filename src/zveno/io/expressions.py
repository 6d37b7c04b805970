"""Numbers with units and joint variables in text.

An expression is a sum of numbers, quantities and multiples of one joint variable: `90deg`, `-pi/2`, `2*(3+1)mm`,
`q1 - 90deg`, `-elbow`, `0.5*q3`. It is parsed by recursive descent, never evaluated as code.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ..errors import ModelError
from ..mechanism.assemble import MAX_MAGNITUDE

# --- units

# Dividing by 1000 gives the double nearest to the decimal meant (431.8 mm); multiplying by 0.001 does not.
_LENGTHS: dict[str, Callable[[float], float]] = {
    "m": float,
    "mm": lambda value: value / 1000.0,
    "cm": lambda value: value / 100.0,
}
_ANGLES: dict[str, Callable[[float], float]] = {"rad": float, "deg": math.radians}
_DIMENSIONS = {"length": _LENGTHS, "angle": _ANGLES}


@dataclass(frozen=True)
class Units:
    """Units of numbers without a unit of their own."""

    length: str = "m"
    angle: str = "rad"

    def si(self, value: float, dimension: str) -> float:
        """Return a number in the file's unit of `dimension` ("length" or "angle") in metres or radians."""
        return _DIMENSIONS[dimension][getattr(self, dimension)](value)


def nearest_of(word: object, known: Iterable[str]) -> str:
    """Return a remedy that names the nearest and all the known words."""
    known = list(known)
    near = difflib.get_close_matches(str(word)[:60], known, n=1, cutoff=0.5)
    return (f"Did you mean {near[0]!r}? " if near else "") + "Known: " + ", ".join(known)


def checked_unit(value: object, dimension: str, *, file: object | None = None, element: str | None = None) -> str:
    """Return the name of a unit of `dimension`, or raise an error that lists the known ones."""
    table = _DIMENSIONS[dimension]
    if not isinstance(value, str) or value not in table:
        raise ModelError(
            f"{str(value)[:60]!r} is not a unit of {dimension}",
            file=file,
            element=element,
            remedy=nearest_of(value, table),
        )
    return value


_DEGREES = (180.0 / math.pi, "°")
ERRORS: dict[str, tuple[float, str]] = {"m": (1e3, "mm"), "rad": _DEGREES, "px": (1.0, "px")}
"""Display of measurement errors by unit: factor and suffix."""
DEVIATIONS = {
    "m": (1e3, "mm"),
    "rad": (1e3, "mrad"),
    "1": (1e3, "‰"),
    "rad/Nm": (1e6, "µrad/Nm"),
    "m/N": (1e6, "µm/N"),
    "px": (1.0, "px"),
}
"""Display of parameter deviations by unit: factor and suffix."""

# --- expressions

_MAX_DEPTH = 40
_PI_NAMES = ("pi", "π")
_UNIT_ALIASES = {"°": "deg"}
_TOKEN = re.compile(
    r"(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|(?P<word>[^\W\d]\w*|°)|(?P<mark>[-+*/()·−])|(?P<space>\s+)"
)


@dataclass(frozen=True)
class Place:
    """Place of a text, for error messages."""

    file: object = None
    element: str | None = None
    """Element that the text belongs to; without one, places are lines of the file."""

    def error(self, problem: str, text: str, offset: int, remedy: str | None = None) -> ModelError:
        """Return the error for `problem` at a character of `text`."""
        line = text.count("\n", 0, offset) + 1
        column = offset - (text.rfind("\n", 0, offset) + 1) + 1
        spot = f"line {line}, column {column}" if line > 1 or self.element is None else f"column {column}"
        return ModelError(
            problem, file=self.file, element=f"{self.element}, {spot}" if self.element else spot, remedy=remedy
        )


@dataclass(frozen=True)
class _Token:
    """Number, word or mark with its start."""

    kind: str
    text: str
    offset: int


def tokens(text: str, place: Place) -> list[_Token]:
    """Return numbers, words and marks of a text, and an end token; spaces are dropped."""
    read, offset = [], 0
    while offset < len(text):
        match = _TOKEN.match(text, offset)
        if match is None:
            remedy = "Use a decimal point, not a comma" if text[offset] == "," else None
            raise place.error(f"character {text[offset]!r} is not understood", text, offset, remedy)
        if match.lastgroup != "space":
            mark = {"−": "-", "·": "*"}.get(match.group(), match.group())
            read.append(_Token(str(match.lastgroup), mark, offset))
        offset = match.end()
    return [*read, _Token("end", "the end", len(text))]


@dataclass(frozen=True)
class Linear:
    """Linear form constant + coefficient · joint. Without a dimension it is a plain number, still unitless."""

    constant: float
    coefficient: float = 0.0
    joint: str | None = None
    has_dimension: bool = False


class Expression:
    """Recursive descent over tokens, for one dimension ("length" or "angle"), results in metres or radians."""

    text: str
    items: list[_Token]
    place: Place
    units: Units
    dimension: str

    def __init__(self, text: str, items: list[_Token], place: Place, units: Units, dimension: str, start: int = 0):
        self.text, self.items, self.place, self.units, self.dimension = text, items, place, units, dimension
        self.next: int = start
        self.depth: int = 0

    def value(self) -> Linear:
        """Return the sum that starts at the current token, in SI units."""
        start = self.peek()
        value = self._with_dimension(self._sum())
        self._check_finite(value, start)
        return value

    def peek(self) -> _Token:
        """Return the current token."""
        return self.items[self.next]

    def expect(self, mark: str) -> _Token:
        """Step over `mark`, which must come next."""
        token = self.peek()
        if token.text != mark or token.kind != "mark":
            raise self._error(f"{mark!r} was expected, not {token.text!r}", token)
        self.next += 1
        return token

    def _error(self, problem: str, token: _Token, remedy: str | None = None) -> ModelError:
        return self.place.error(problem, self.text, token.offset, remedy)

    def _takes(self, *marks: str) -> _Token | None:
        token = self.peek()
        if token.kind == "mark" and token.text in marks:
            self.next += 1
            return token
        return None

    def _with_dimension(self, value: Linear) -> Linear:
        if value.has_dimension:
            return value
        return Linear(self.units.si(value.constant, self.dimension), has_dimension=True)

    def _sum(self) -> Linear:
        total = self._product()
        while mark := self._takes("+", "-"):
            other = self._product()
            sign = 1.0 if mark.text == "+" else -1.0
            if total.joint and other.joint:
                raise self._error(
                    "two joint variables stand in one transform", mark, "Write one transform for each, in a row"
                )
            if total.has_dimension or other.has_dimension:
                total, other = self._with_dimension(total), self._with_dimension(other)
            total = Linear(
                total.constant + sign * other.constant,
                total.coefficient + sign * other.coefficient,
                total.joint or other.joint,
                total.has_dimension,
            )
        return total

    def _product(self) -> Linear:
        total = self._signed()
        while mark := self._takes("*", "/"):
            other = self._signed()
            if mark.text == "/":
                if other.has_dimension:
                    raise self._error("only a plain number can divide", mark)
                if other.constant == 0.0:
                    raise self._error("it divides by zero", mark)
                # Dividing, not multiplying by the reciprocal: pi/3 must be the double nearest to a third of pi.
                total = Linear(
                    total.constant / other.constant,
                    total.coefficient / other.constant,
                    total.joint,
                    total.has_dimension,
                )
            elif total.has_dimension and other.has_dimension:
                raise self._error("a product of two quantities is neither a length nor an angle", mark)
            else:
                number, quantity = (other, total) if total.has_dimension else (total, other)
                total = Linear(
                    number.constant * quantity.constant,
                    number.constant * quantity.coefficient,
                    quantity.joint,
                    quantity.has_dimension,
                )
            self._check_finite(total, mark)
        return total

    def _signed(self) -> Linear:
        signs = 1.0
        while mark := self._takes("+", "-"):
            signs = -signs if mark.text == "-" else signs
        value = self._primary()
        return Linear(signs * value.constant, signs * value.coefficient, value.joint, value.has_dimension)

    def _primary(self) -> Linear:
        token = self.peek()
        self.next += 1
        if token.kind == "number":
            value = Linear(float(token.text))
            self._check_finite(value, token)
            return self._in_unit(value)
        if token.text == "(" and token.kind == "mark":
            self.depth += 1
            if self.depth > _MAX_DEPTH:
                raise self._error("the parentheses are nested too deeply", token)
            value = self._sum()
            self.expect(")")
            self.depth -= 1
            return self._in_unit(value)
        if token.kind == "word" and token.text in _PI_NAMES:
            return self._in_unit(self._pi())
        if token.kind == "word":
            if token.text.lower() in ("nan", "inf", "infinity"):
                raise self._error(
                    f"{token.text} is not a finite number", token, "Write a number, or name the joint"
                )
            if is_reserved(token.text):
                raise self._error(
                    f"{token.text!r} cannot stand here", token, "A unit follows a number, as in 90deg"
                )
            return Linear(0.0, 1.0, token.text, has_dimension=True)
        raise self._error(f"a number or a joint was expected, not {token.text!r}", token)

    def _pi(self) -> Linear:
        if self.dimension == "angle" and self.units.angle != "rad":
            # pi/2 in a file of degrees can only be meant in radians.
            return Linear(math.pi, has_dimension=True)
        return Linear(math.pi)

    def _in_unit(self, value: Linear) -> Linear:
        token = self.peek()
        unit = _UNIT_ALIASES.get(token.text, token.text)
        if token.kind != "word":
            return value
        for dimension, table in _DIMENSIONS.items():
            if unit not in table:
                continue
            if dimension != self.dimension:
                raise self._error(
                    f"{token.text!r} is a unit of {dimension}, and a unit of {self.dimension} is needed", token
                )
            if value.has_dimension:
                raise self._error(f"unit {token.text!r} follows something that has a unit", token)
            self.next += 1
            return Linear(table[unit](value.constant), has_dimension=True)
        raise self._error(
            f"{token.text!r} is not a unit", token, nearest_of(token.text, _DIMENSIONS[self.dimension])
        )

    def _check_finite(self, value: Linear, token: _Token):
        if not (abs(value.constant) <= MAX_MAGNITUDE and abs(value.coefficient) <= MAX_MAGNITUDE):
            raise self._error("the number is too large", token)


def is_reserved(word: str) -> bool:
    """Return True if a word cannot name a joint: units, pi, and the transforms themselves."""
    return (
        word in _PI_NAMES
        or word in _UNIT_ALIASES
        or any(word in table for table in _DIMENSIONS.values())
        or re.fullmatch("[TR][xyz]", word) is not None
    )


def quantity(text: str, dimension: str, units: Units, place: Place) -> float:
    """Return a constant expression such as `"90deg"` or `"pi/2"` in metres or radians."""
    reader = Expression(text, tokens(text, place), place, units, dimension)
    value = reader.value()
    if reader.peek().kind != "end":
        raise place.error(f"{reader.peek().text!r} is left over", text, reader.peek().offset)
    if value.joint is not None:
        raise place.error(
            f"{value.joint!r} is not a number", text, 0, "Only numbers, pi and units are allowed here"
        )
    return value.constant
