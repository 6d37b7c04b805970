"""Strict reading of a TOML table: known keys, values of the right type, and errors with their place."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..errors import ModelError
from ..mechanism.assemble import MAX_MAGNITUDE
from .expressions import Place, Units, nearest_of, quantity

_MISSING = object()


@dataclass(frozen=True)
class Table:
    """TOML table, its place, and the units of its bare numbers."""

    values: Mapping[str, Any]
    file: object
    element: str
    """Name in errors, for example "joint 3"; empty for the top of the file."""
    units: Units = field(default_factory=Units)

    def only(self, *known: str) -> Table:
        """Return the table itself; refuse other keys."""
        for key in self.values:
            if key not in known:
                raise self.error(f"{key!r} is not a key here", None, nearest_of(key, known))
        return self

    def __contains__(self, key: str) -> bool:
        return key in self.values

    def error(self, problem: str, key: str | None, remedy: str | None = None) -> ModelError:
        """Return the error for a key of this table, or for the table as a whole."""
        element = ", ".join(part for part in (self.element, key) if part)
        return ModelError(problem, file=self.file, element=element or None, remedy=remedy)

    def place(self, key: str) -> Place:
        """Return the place of the text of a key."""
        return Place(self.file, ", ".join(part for part in (self.element, key) if part))

    def _get(self, key: str, default):
        value = self.values.get(key, default)
        if value is _MISSING:
            raise self.error(f"{key!r} is missing", None, f"Add {key} = …")
        return value

    def text(self, key: str, default: Any = _MISSING) -> str:
        """Return a non-empty string."""
        value = self._get(key, default)
        if value is default:
            return value
        if not isinstance(value, str) or not value.strip():
            raise self.error(f"{shown(value)} is not a text", key, 'Write it in quotes, for example "elbow"')
        return value

    def choice(self, key: str, known: Iterable[str], default: Any = _MISSING) -> str:
        """Return one of the known words."""
        value = self._get(key, default)
        if not isinstance(value, str) or value not in known:
            raise self.error(f"{shown(value)} is not known", key, nearest_of(value, known))
        return value

    def flag(self, key: str, default: bool) -> bool:
        """Return true or false."""
        value = self._get(key, default)
        if not isinstance(value, bool):
            raise self.error(f"{shown(value)} is neither true nor false", key)
        return value

    def number(self, key: str, default: Any = _MISSING) -> float:
        """Return a finite number in SI units."""
        return self._number(self._get(key, default), key)

    def quantity(self, key: str, dimension: str, default: Any = _MISSING) -> float:
        """Return a length or angle, a number in the file's unit or text such as "90deg", in metres or radians."""
        return self._quantity(self._get(key, default), dimension, key)

    def quantities(
        self, key: str, dimension: str, length: int, default: Any = _MISSING, infinite: bool = False
    ) -> np.ndarray:
        """Return a list of `length` lengths or angles, (length,); ±inf only if `infinite`."""
        values = self._get(key, default)
        self._check_list(values, (length,), key)
        return np.array(
            [
                value if infinite and value in (math.inf, -math.inf) else self._quantity(value, dimension, key)
                for value in values
            ]
        )

    def numbers(self, key: str, lengths: tuple[int, ...], default: Any = _MISSING) -> np.ndarray:
        """Return a list of finite numbers in SI units, of one of the lengths allowed."""
        values = self._get(key, default)
        self._check_list(values, lengths, key)
        return np.array([self._number(value, key) for value in values])

    def texts(self, key: str) -> list[str]:
        """Return a list of texts; an empty one if it is missing."""
        values = self.values.get(key, [])
        if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
            raise self.error("it is not a list of texts", key)
        return values

    def matrix(self, key: str, n: int) -> np.ndarray:
        """Return (n, n) finite numbers from a list of rows."""
        rows = self._get(key, _MISSING)
        self._check_list(rows, (n,), key)
        for row in rows:
            self._check_list(row, (n,), key)
        return np.array([[self._number(value, key) for value in row] for row in rows]).reshape(n, n)

    def table(self, key: str) -> Table:
        """Return a sub-table; an empty one if it is missing."""
        return self._table(self._get(key, {}), ", ".join(part for part in (self.element, key) if part), key)

    def tables(self, key: str, word: str) -> list[Table]:
        """Return the entries of an array of tables, named by `word` and their number from 1."""
        values = self._get(key, [])
        if not isinstance(values, list):
            raise self.error("it is not an array of tables", key, f"Start each entry with [[{key}]]")
        return [self._table(value, f"{word} {k}", key) for k, value in enumerate(values, start=1)]

    def _table(self, value, element: str, key: str) -> Table:
        if not isinstance(value, Mapping):
            raise self.error(f"{shown(value)} is not a table", key)
        return Table(value, self.file, element, self.units)

    def _number(self, value, key: str) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.error(f"{shown(value)} is not a number", key)
        if isinstance(value, float) and not math.isfinite(value):
            raise self.error(f"{shown(value)} is not finite", key, "Give a finite number")
        if abs(value) > MAX_MAGNITUDE:
            raise self.error("the number is too large", key)
        return float(value)

    def _quantity(self, value, dimension: str, key: str) -> float:
        if isinstance(value, str):
            return quantity(value, dimension, self.units, self.place(key))
        return self.units.si(self._number(value, key), dimension)

    def _check_list(self, value, lengths: tuple[int, ...], key: str):
        if not isinstance(value, list) or len(value) not in lengths:
            needed = " or ".join(str(length) for length in lengths)
            size = f"has {len(value)} entries" if isinstance(value, list) else "is not a list"
            raise self.error(f"it {size} where {needed} are needed", key, f"Give a list of {needed}")


def shown(value: object) -> str:
    """Return a value as errors show it."""
    try:
        return repr(value)
    except (ValueError, RecursionError):  # integers of more than 4300 digits are not written in decimals
        return "it"
