"""Numbers and grid points: the mixed-radix code of document 004, formulas (1) and (2).

i = θ_1 + Θ_1 (θ_2 − 1) + Θ_1 Θ_2 (θ_3 − 1) + …, with θ_j = 1 … Θ_j and i = 1 … I = Θ_1 Θ_2 … Θ_J. The first
parameter changes fastest.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...errors import ShapeError

_LARGEST = 2**62


def checked_radices(radices: Sequence[int]) -> tuple[int, ...]:
    """Θ_1 … Θ_J as whole numbers from 1."""
    try:
        whole = tuple(int(radix) for radix in radices)
        same = all(a == b for a, b in zip(whole, radices, strict=True))
    except (TypeError, ValueError, OverflowError):
        same, whole = False, ()
    if not same or not whole or min(whole) < 1:
        raise ShapeError(f"{radices!r} are not numbers of grid values", remedy="Give whole numbers from 1")
    return whole


def encode(theta: Any, radices: Sequence[int]) -> Any:
    """Numbers i (...) of local numbers θ (..., J): formula (1).

    int64 while I fits it, Python integers in an object array (or a plain integer) beyond.
    """
    radices = checked_radices(radices)
    small = math.prod(radices) <= _LARGEST
    theta = np.asarray(theta, dtype=np.int64 if small else object)
    if theta.ndim == 0 or theta.shape[-1] != len(radices):
        raise ShapeError(f"has shape {theta.shape}, and there are {len(radices)} parameters", element="theta")
    limits = np.array(radices, dtype=theta.dtype)
    if theta.size and (np.any(theta < 1) or np.any(theta > limits)):
        raise ShapeError("a local number is outside its range", element="theta", remedy="θ_j runs from 1 to Θ_j")
    number = theta[..., -1] - 1
    for j in range(len(radices) - 2, -1, -1):
        number = number * radices[j] + (theta[..., j] - 1)
    return number + 1


def decode(numbers: Any, radices: Sequence[int]) -> np.ndarray:
    """Local numbers θ (..., J) of numbers i (...): formula (2).

    θ_j = K_{j−1} − Θ_j floor((K_{j−1} − 1)/Θ_j), K_j = 1 + floor((K_{j−1} − 1)/Θ_j), K_0 = i.
    """
    radices = checked_radices(radices)
    total = math.prod(radices)
    K = np.asarray(numbers, dtype=np.int64 if total <= _LARGEST else object)
    if K.size and (np.any(K < 1) or np.any(total < K)):
        raise ShapeError(f"a number is outside 1 … {total}", element="numbers")
    theta = np.empty((*K.shape, len(radices)), dtype=np.int64 if max(radices) <= _LARGEST else object)
    K = K - 1
    for j, radix in enumerate(radices):
        rest = K // radix
        theta[..., j] = K - rest * radix + 1
        K = rest
    return theta
