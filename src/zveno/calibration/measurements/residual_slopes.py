"""Residual of a kind of measurement with its derivatives by small displacements of the frames it depends on."""

from __future__ import annotations

from functools import cache

import numpy as np

from ...kernels import derivatives
from ...kernels.compile import compiled
from ...kernels.kernel import Kernel
from ...kernels.program import Program
from ...kernels.trace import call, trace
from .base import Measurement

FRAMES = dict.fromkeys("TLRX", (4, 4))
_TWISTS = {f"d{name}": (6,) for name in FRAMES}


def residual_kernel(kind: type[Measurement]) -> Kernel:
    """Build the kernel (T, L, R, X, y) → residual (m,) and its derivatives (m, 6) by body twists of T, L, R and X.

    Kinds whose instrument has constants take them, c (n_numbers,), last, and have derivatives by them, too.

    Args:
        kind: a class of measurement with `residual(P, X, y)` of the product P = L T R. One kernel serves all
            robots.
    """
    outputs = ("r", *(f"by_{name}" for name in FRAMES), *(["by_c"] if kind.n_numbers else []))
    inputs = FRAMES | _read(kind)
    return compiled(
        residual_and_slopes, inputs, constants=(kind,), name=f"residual_{kind.__name__}", outputs=outputs
    )


def residual_and_slopes(
    kind: type[Measurement],
    T: np.ndarray,
    L: np.ndarray,
    R: np.ndarray,
    X: np.ndarray,
    y: np.ndarray,
    c: np.ndarray | None = None,
) -> tuple[np.ndarray, ...]:
    """Compute the outputs of `residual_kernel` for one row."""
    numbers = () if c is None else (c,)
    return call(_displaced(kind), T, L, R, X, y, *numbers, *[np.zeros(6)] * len(_TWISTS))


def _read(kind: type[Measurement]) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the inputs other than frames."""
    return {"y": (kind.n_data,)} | ({"c": (kind.n_numbers,)} if kind.n_numbers else {})


@cache
def _displaced(kind: type[Measurement]) -> Program:
    def residual(T, L, R, X, y, *rest):
        *c, dT, dL, dR, dX = rest
        product = L @ _near_one(dL) @ T @ _near_one(dT) @ R @ _near_one(dR)
        return kind.residual(product, X @ _near_one(dX), y, *c)

    inputs = FRAMES | _read(kind) | _TWISTS
    wrt = (*_TWISTS, "c") if kind.n_numbers else tuple(_TWISTS)
    return derivatives.jacobian(trace(residual, inputs, outputs=("r",)), wrt=wrt, values=True)


def _near_one(d):
    """Return 1 + d^: a displacement by a small body twist, right to first order."""
    one, zero = 1.0, 0.0
    return np.array(
        [
            [one, -d[5], d[4], d[0]],
            [d[5], one, -d[3], d[1]],
            [-d[4], d[3], one, d[2]],
            [zero, zero, zero, one],
        ],
        dtype=object,
    )
