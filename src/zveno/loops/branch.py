"""Closed states of a mechanism: closing near a state by least squares, and a walk along the branch it lies on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from ..algorithms.loop_rows import loop_rows
from ..kernels.compile import compiled
from ..kernels.kernel import Kernel
from ..mechanism import Mechanism
from ..mechanism.units import velocity_units

GAP = 1e-3
"""Share of the largest singular value of the scaled rows below which others count as zero. Axes of a file that are
rounded to four digits make singular values up to 1e-4 that are none of the mechanism."""
STEP = 0.15
"""Length of a step along the branch, rad or share of the loops' size."""
OPEN = 5e-3
"""Largest residual of dependent rows, as a share of the size of their loop, that rounding in a file, or errors of a
calibrated geometry, explain."""


def closure(mechanism: Mechanism, q: Any) -> tuple[Any, Any]:
    """Return φ (m,) and J (m, n_v) of all loops: the traced function of `closure_kernel`."""
    rows = loop_rows(mechanism, q, np.zeros(mechanism.n_v))
    return rows.value, rows.J


@lru_cache(maxsize=64)
def closure_kernel(mechanism: Mechanism) -> Kernel:
    """Return the kernel q → φ, J for batches."""
    return compiled(closure, {"q": (mechanism.n_q,)}, constants=(mechanism,), name="loop_closure")


@dataclass(frozen=True, eq=False)
class Scaled:
    """Rows and columns of the closure in comparable sizes: lengths as shares of the size of their loop."""

    mechanism: Mechanism

    @cached_property
    def samples(self) -> tuple[np.ndarray, np.ndarray]:
        """Values φ (k, m) and J (k, m, n_v) at random states, closed or not."""
        mechanism, rng = self.mechanism, np.random.default_rng(0)
        start = mechanism.neutral() if mechanism.reference is None else mechanism.reference
        q = np.array([mechanism.integrate(start, rng.uniform(-1, 1, size=mechanism.n_v)) for _ in range(12)])
        return tuple(closure_kernel(mechanism)(q))

    @cached_property
    def lengths(self) -> np.ndarray:
        """Size of the loop of every row in m, 1 for rotations, (m,)."""
        _, J = self.samples
        turning = self.turning
        sizes, at = [], 0
        for loop in self.mechanism.loops:
            translations = [k for k, name in enumerate(loop.locked) if len(name) == 1]
            part = abs(J[:, [at + k for k in translations]][:, :, turning])
            size = float(part.max(initial=0.0)) or 1.0
            sizes += [size if k in translations else 1.0 for k in range(len(loop.locked))]
            at += len(loop.locked)
        return np.array(sizes)

    @cached_property
    def turning(self) -> np.ndarray:
        """Mask of the velocities in rad/s, (n_v,)."""
        return np.array([unit.startswith("rad") for unit in velocity_units(self.mechanism)], dtype=bool)

    @cached_property
    def columns(self) -> np.ndarray:
        """Scale of every velocity, (n_v,), that moves its rows by about one; 1 for those that move none."""
        _, J = self.samples
        size = (abs(J) / self.lengths[:, None]).max(axis=(0, 1))
        return 1.0 / np.where(size > GAP, size, 1.0)

    def rows(self, J: np.ndarray) -> np.ndarray:
        """Return J with scaled rows and columns."""
        return J / self.lengths[:, None] * self.columns

    def decomposed(self, J: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
        """Return U, s and Vᵀ of the scaled J, and its rank by the wide gap."""
        U, s, Vt = np.linalg.svd(self.rows(J))
        rank = int((s > GAP * s[0]).sum()) if s.size and s[0] > 0 else 0
        return U, s, Vt, rank


@lru_cache(maxsize=64)
def scaled(mechanism: Mechanism) -> Scaled:
    """Return the scales of a mechanism's loops."""
    return Scaled(mechanism)


def close_near(
    mechanism: Mechanism, q: np.ndarray, movable: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Close the loops by damped Gauss–Newton steps of least norm; return q and the residual φ (m,) that is left.

    Directions below the wide gap are left alone: they are rounding of the file, or singular. Only if much is left
    without them do small singular values count.

    Args:
        mechanism: the mechanism.
        q: start, (n_q,).
        movable: mask (n_v,) of the velocities that may move; all if None.
    """
    scale, kernel = scaled(mechanism), closure_kernel(mechanism)
    weights = scale.columns if movable is None else scale.columns * movable
    for gap in (GAP, 1e-7):
        for _ in range(100):
            value, J = kernel(q)
            b = value / scale.lengths
            size = abs(b).max(initial=0.0)
            if not np.isfinite(size) or size < 1e-15:
                break
            U, s, Vt = np.linalg.svd(J / scale.lengths[:, None] * weights, full_matrices=False)
            keep = s > gap * s[0]
            filtered = np.where(keep, s, 0.0) / (s * s + 1e-10 * s[0] ** 2 * min(1.0, size) + 1e-300)
            change = -weights * (Vt.T @ (filtered * (U.T @ b)))
            length = abs(change).max(initial=0.0)
            q = mechanism.integrate(q, change * min(1.0, 0.5 / max(length, 1e-300)))
            if length < 1e-14:
                break
        value, _ = kernel(q)
        if abs(value / scale.lengths).max(initial=0.0) < OPEN:
            break
    return q, value


def branch_states(mechanism: Mechanism, q: np.ndarray, count: int, seed: int = 0) -> Iterator[np.ndarray]:
    """Walk along the branch of a closed state: yield it and others, each a few short steps from the one before."""
    scale, rng = scaled(mechanism), np.random.default_rng(seed)
    yield q
    _, remains = close_near(mechanism, q)
    tolerance = max(10 * abs(remains / scale.lengths).max(initial=0.0), 1e-9)
    tries = 20 * count
    for _ in range(count - 1):
        direction = rng.normal(size=mechanism.n_v)
        steps = 0
        while steps < 3 and tries:
            tries -= 1
            _, _, Vt, rank = scale.decomposed(closure_kernel(mechanism)(q)[1])
            free = Vt[rank:]
            move = free.T @ (free @ direction)
            norm = np.linalg.norm(move)
            if norm < 1e-6:
                return
            onward, left = close_near(mechanism, mechanism.integrate(q, scale.columns * move * (STEP / norm)))
            moved = np.linalg.norm(mechanism.difference(q, onward) / scale.columns)
            if abs(left / scale.lengths).max(initial=0.0) < tolerance and moved < 2 * STEP:
                q, steps = onward, steps + 1
            else:
                direction = rng.normal(size=mechanism.n_v)  # the branch ends in this direction
        if steps:
            yield q
