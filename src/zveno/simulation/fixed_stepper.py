"""Fixed steps of one state while something is watched: as many in one call of a kernel as can be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .inputs import QUALITY
from .integrators import EVALUATIONS, staged_step
from .rates import Rates, steps_in
from .stops import SAME_TIME

BLOCKS = (1, 8, 64, 512)
"""Steps in one call: the first is alone after each restart, and every call takes more than the last one."""


class FixedStep:
    """A fixed-step method, with the face of `integrators.Adaptive`.

    `step` may take several steps at once. They are looked at afterwards, at the `nodes` between them; where
    something happened the run restarts from there, and what lies beyond is forgotten.
    """

    waits: bool
    rates: Rates
    method: str
    h: float
    t: float
    t_old: float
    y_old: Any
    nodes: np.ndarray
    """(k + 1,) times from the beginning of the first to the end of the last of k steps"""

    def __init__(self, rates: Rates, method: str, t: float, y: Any, h: float):
        self.rates, self.method, self.h = rates, method, h
        self.t = self.t_old = t
        self.y: Any = np.array(y)
        self.message: str = ""
        self.waits = False
        self.nodes = np.array([t])
        self._states = self.y[None]
        self._block = 0

    @classmethod
    def through(cls, rates: Rates, method: str, nodes: np.ndarray, states: np.ndarray, h: float) -> FixedStep:
        """A stepper that has come through nodes (n,) with states (n, n_y)."""
        stepper = cls(rates, method, float(nodes[-1]), states[-1], h)
        stepper.nodes, stepper._states = nodes, states
        return stepper

    def restart(self, y: Any) -> None:
        """Go on from another state at the same time."""
        self.y = np.array(y)
        self._block = 0

    @property
    def n_last(self) -> int:
        """How many steps the last call of `step` took."""
        return len(self.nodes) - 1

    def step(self, ahead: np.ndarray, alone: bool = True) -> bool:
        """Steps towards the times `ahead` (n,): equal ones, each at most h, that lead from one to the next.

        `alone` if the state may change after every step.
        """
        self.t_old, self.y_old = self.t, self.y
        alone = alone or self.rates.equations.commanded or self.rates.robust
        count = 1 if alone else BLOCKS[min(self._block, len(BLOCKS) - 1)]
        self._block += 1
        starts, sizes = _plan(self.t, ahead, self.h, count)
        count = max(block for block in BLOCKS if block <= len(starts))
        starts, sizes = starts[:count], sizes[:count]
        states = None if alone else self._moved_together(starts, sizes)
        if states is None:
            starts, sizes = starts[:1], sizes[:1]
            states = self._moved(float(starts[0]), self.y, float(sizes[0]))[None]
        finite: np.ndarray = np.asarray(np.isfinite(states).all(axis=-1))
        if not finite[0]:
            self.message = "the motion explodes, the step is too large for it,"
            return False
        n = len(finite) if finite.all() else int(np.argmin(finite))
        ends = np.append(starts[1:], _end(float(starts[-1]), float(sizes[-1]), ahead))[:n]
        self.nodes = np.append(self.t_old, ends)
        self._states = np.concatenate([self.y_old[None], states[:n]])
        self.t, self.y = float(ends[-1]), states[n - 1]
        return True

    def _moved_together(self, starts: np.ndarray, sizes: np.ndarray) -> np.ndarray | None:
        """States (n, n_y) after steps of the given sizes (n,); None where constraints became redundant."""
        rates = self.rates
        kernel = rates.equations.steps(self.method, len(starts))
        rates.n += EVALUATIONS[self.method] * len(starts)
        if not rates.equations.constraints:
            return kernel(starts, sizes, self.y)
        states, quality = kernel(starts, sizes, self.y, rates.c)
        return states if quality > QUALITY else None

    def _moved(self, t: float, y: np.ndarray, h: float) -> np.ndarray:
        rates = self.rates
        if not rates.equations.commanded and not rates.robust:
            kernel = rates.equations.steps(self.method)
            rates.n += EVALUATIONS[self.method]
            if not rates.equations.constraints:
                return kernel(np.array([t]), np.array([h]), y)[0]
            after, quality = kernel(np.array([t]), np.array([h]), y, rates.c)
            if quality > QUALITY:
                return after[0]
        return staged_step(rates.equations, self.method, rates, t, y, h)

    def node_states(self, states: Callable[..., Any]) -> np.ndarray:
        """y (k + 1, n_y) at the nodes."""
        return self._states

    def interpolate(self) -> Callable[..., Any]:
        """y (n, n_y) at times (n,) of the last steps, each by a shorter step from the node before it."""
        return between_nodes(self.nodes, self._states, self._moved)


def between_nodes(nodes: np.ndarray, kept: np.ndarray, moved: Callable[..., Any]) -> Callable[..., Any]:
    """y (n, n_y) at times (n,) from states `kept` at the nodes, each `moved` (t, y, h) from the node before it."""

    def states(times: np.ndarray) -> np.ndarray:
        last = np.searchsorted(nodes, times + SAME_TIME, side="right") - 1
        out = kept[last]
        for k in np.flatnonzero(times - nodes[last] > SAME_TIME):
            start = float(nodes[last[k]])
            out[k] = moved(start, kept[last[k]], float(times[k]) - start)
        return out

    return states


def _end(start: float, size: float, ahead: np.ndarray) -> float:
    """Where a step ends: exactly at one of the times ahead if it leads there."""
    end = start + size
    k = int(np.searchsorted(ahead, end - 1e-6 * size))
    return float(ahead[k]) if k < len(ahead) and ahead[k] - end < 1e-6 * size else end


def _plan(t: float, ahead: np.ndarray, h: float, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Beginnings and sizes of the next steps, at most `count`, on the way through the times `ahead`."""
    if count == 1:
        left = float(ahead[0]) - t
        return np.array([t]), np.array([left / steps_in(left, h)])
    begins = np.append(t, ahead[: count - 1])[: len(ahead)]
    left = ahead[: len(begins)] - begins
    n = np.maximum(1, np.ceil(left / h - 1e-6)).astype(int)
    sizes = np.repeat(left / n, n)[:count]
    number = np.arange(len(sizes)) - np.repeat(np.cumsum(n) - n, n)[:count]
    return np.repeat(begins, n)[:count] + number * sizes, sizes
