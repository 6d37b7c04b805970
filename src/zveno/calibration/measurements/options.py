"""Options of a kind of measurement in a file or on the command line: `# mount = world`, `distance=50`.

Every field of a kind that users may set declares a reader for its text:
`field(default="world", metadata=options.WORD)`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from ...errors import ModelError

Reader = Callable[[str, float], Any]
"""Reader (text, metres in the file's unit of length) → value; raises ValueError with the expected format."""
NO = ("no", "false", "0")


WORD: dict[str, Reader] = {"read": lambda text, length: text}


def one_of(*words: str) -> dict[str, Any]:
    """Return the reader of an option that has one of a few words; empty files list them."""
    return {"read": lambda text, length: text, "words": words}


FLAG: dict[str, Reader] = {"read": lambda text, length: text.lower() not in NO}
METRES: dict[str, Reader] = {"read": lambda text, length: float(_numbers(text, "a number")[0] * length)}
DIRECTION: dict[str, Reader] = {"read": lambda text, length: _triples(text).ravel()}
POINT: dict[str, Reader] = {"read": lambda text, length: _triples(text).ravel() * length}
POINTS: dict[str, Reader] = {"read": lambda text, length: _triples(text) * length}
"""Readers: a word, yes or no, a length, three numbers without a unit, three lengths, three lengths per point."""


def numbers(count: int | None = None, lengths: slice = slice(0)) -> dict[str, Reader]:
    """Return a reader of `count` numbers, or of any; those of `lengths` are lengths."""

    def read(text: str, length: float) -> np.ndarray:
        expected = "numbers" if count is None else f"{count} numbers"
        values = _numbers(text, expected)
        if count is not None and len(values) != count:
            raise ValueError(expected)
        values[lengths] *= length
        return values

    return {"read": read}


def by_name(count: int, lengths: slice) -> dict[str, Reader]:
    """Return a reader of `front 0 0 1 120; left 0 1 0 300`: names with `count` numbers, lengths at `lengths`."""

    def read(text: str, length: float) -> dict[str, np.ndarray]:
        expected = f"names with {count} numbers each, parted by semicolons"
        values = {}
        for part in filter(None, (part.strip() for part in text.split(";"))):
            name, _, rest = part.replace(":", " ").replace("=", " ").partition(" ")
            numbers = _numbers(rest, expected)
            if len(numbers) != count:
                raise ValueError(expected)
            numbers[lengths] *= length
            values[name] = numbers
        return values

    return {"read": read}


def option_names(cls: type) -> list[str]:
    """Return the names of the options that a file may give to a kind."""
    return [option.name for option in fields(cls) if "read" in option.metadata]


def read_options(cls: type, settings: Mapping[str, str], length: float, file: str) -> dict[str, Any]:
    """Read the options of a kind from the settings of a file."""
    values = {}
    for option in fields(cls):
        if option.name in settings and "read" in option.metadata:
            text = settings[option.name]
            try:
                values[option.name] = option.metadata["read"](text, length)
            except ValueError as expected:
                raise ModelError(
                    f"{text!r} is not {expected}", file=file, element=option.name, remedy="Correct this setting"
                ) from None
    return values


def _numbers(text: str, expected: str) -> np.ndarray:
    try:
        numbers = np.array([float(part) for part in text.replace(",", " ").replace(";", " ").split()])
    except ValueError:
        numbers = np.zeros(0)
    if not numbers.size:
        raise ValueError(expected)
    return numbers


def _triples(text: str) -> np.ndarray:
    expected = "three numbers, or three for every point"
    numbers = _numbers(text, expected)
    if numbers.size % 3:
        raise ValueError(expected)
    return numbers.reshape(-1, 3)
