"""Options of a kind of measurement as a file or the command line writes them: `# mount = world`, `distance=50`.

Every field of a kind that people may set declares how its text is read:
`field(default="world", metadata=options.WORD)`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from ...errors import ModelError

Reader = Callable[[str, float], Any]
"""(text, metres in the file's unit of length) → value, or ValueError with what is expected."""
NO = ("no", "false", "0")


def _word(text: str, length: float) -> str:
    """A word as it stands."""
    return text


def _flag(text: str, length: float) -> bool:
    """Yes or no."""
    return text.lower() not in NO


def _metres(text: str, length: float) -> float:
    """A length."""
    return float(_numbers(text, "a number")[0] * length)


def _direction(text: str, length: float) -> np.ndarray:
    """Three numbers without a unit."""
    return _triples(text).ravel()


def _point(text: str, length: float) -> np.ndarray:
    """Three lengths."""
    return _triples(text).ravel() * length


def _points(text: str, length: float) -> np.ndarray:
    """Three lengths for every point, (k, 3)."""
    return _triples(text) * length


WORD = {"read": _word}
FLAG = {"read": _flag}
METRES = {"read": _metres}
DIRECTION = {"read": _direction}
POINT = {"read": _point}
POINTS = {"read": _points}


def read_options(cls: type, settings: Mapping[str, str], length: float, file: str) -> dict[str, Any]:
    """Values of the options of a kind that are among the settings of a file."""
    values = {}
    for one in fields(cls):
        if one.name in settings and "read" in one.metadata:
            text = settings[one.name]
            try:
                values[one.name] = one.metadata["read"](text, length)
            except ValueError as expected:
                raise ModelError(f"{text!r} is not {expected}", file=file, element=one.name) from None
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
