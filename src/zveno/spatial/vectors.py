"""Arrays of real numbers; cross product and its matrix for (3,) vectors with float, complex or traced entries."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

X_AXIS, Y_AXIS, Z_AXIS = np.eye(3)


def real_array(value: Any) -> np.ndarray:
    """Return an array of floats; raise a TypeError for what NumPy would drop: imaginary parts and masks."""
    if np.iscomplexobj(value):
        raise TypeError("complex numbers")
    if is_masked(value):
        raise TypeError("masked entries")
    return np.array(value, dtype=float)


def is_masked(value: Any) -> bool:
    """Return True if a value has masked entries, without importing the module of masked arrays (5 ms)."""
    return "numpy.ma" in sys.modules and bool(np.ma.is_masked(value))


def cross(a: Any, b: Any) -> np.ndarray:
    """Cross product a × b of two (3,) vectors; `np.cross` is ten times slower on traced entries."""
    return np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def skew(a: Any) -> np.ndarray:
    """Skew-symmetric (3, 3) matrix [a]× with [a]× b = a × b."""
    return np.array([[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]])


_SKEW = np.array([[0, 0, 0, 0, 0, -1, 0, 1, 0], [0, 0, 1, 0, 0, 0, -1, 0, 0], [0, -1, 0, 1, 0, 0, 0, 0, 0.0]])
"""Matrix that maps a to the entries of [a]×."""


def skews(a: np.ndarray) -> np.ndarray:
    """Skew-symmetric matrices (..., 3, 3) of vectors (..., 3) of floats."""
    return (a @ _SKEW).reshape(*a.shape, 3)
