"""States of closed loops on one branch of their closure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..algorithms.constraints import Kinematics, Rows, closing, stacked
from ..errors import ModelError, ZvenoError
from ..mechanism import Loop, Mechanism
from ..mechanism.loops import checked_loops

CLOSED = 1e-12
"""A state is closed when its largest residual, m or rad, is below this."""
STEP, STEPS = 0.15, 3
"""Length of a step along the branch, and steps between two states."""
SINGULAR = 0.02
"""The walk stays where the closure's smallest singular value is at least this fraction of the largest."""


def loops_of(mechanism: Mechanism, loops: Sequence[Loop] | None) -> tuple[Loop, ...]:
    """The loops that are given, refused where they do not fit the mechanism, or else its own."""
    if loops is None:
        return mechanism.loops
    return checked_loops(loops, {name: mechanism.frame(name).link for name in mechanism.frame_names})


def closure(mechanism: Mechanism, loops: Sequence[Loop], q: np.ndarray) -> Rows:
    """φ(q), zero where every loop is closed, m and rad, and its Jacobian ∂φ/∂v, exact where they are closed."""
    state = Kinematics(mechanism, q, np.zeros(mechanism.n_v))
    parts = [
        closing(state.frame(loop.frame), state.frame(loop.other), loop.locked, mechanism.n_v) for loop in loops
    ]
    return stacked(parts, mechanism.n_v)


def closed_states(
    mechanism: Mechanism,
    loops: Sequence[Loop],
    q0: np.ndarray | None,
    count: int,
    rng: np.random.Generator,
    movable: Any,
) -> tuple[np.ndarray, np.ndarray]:
    """States that close the loops, on the branch that q0 is on, and bases of their free velocities.

    The first is q0 itself, closed by Newton's method if it is near; each other one follows from a random walk along
    the branch in short steps, each closed again. Only the velocities in the mask `movable` (n_v,) move.

    Returns:
        q (count, n_q) and G (count, n_v, m) with v = G u̇.
    """
    walk = _Walk(mechanism, loops, np.asarray(movable))
    q = walk.closed(q0)
    if q is None:
        raise ModelError(
            "the loops cannot be closed near the given state",
            remedy="Give start=, a state on the branch that is meant",
        )
    G, rank, margin = walk.free_velocities(q)
    states, bases = [q], [G]
    direction = rng.normal(size=mechanism.n_v)
    tries = 0
    while len(states) < count:
        for _ in range(STEPS):
            while (onward := walk.step(q, G, direction, rank, margin)) is None:
                direction = rng.normal(size=mechanism.n_v)  # the loop goes no further this way
                tries += 1
                if tries > 100 * count:
                    raise ZvenoError("the branch of the loops could not be followed", remedy="Give another start=")
            q, G, margin = onward
        states.append(q)
        bases.append(G)
    return np.array(states), np.array(bases)


class _Walk:
    """Steps along the closure of some loops, moving only some of the velocities."""

    def __init__(self, mechanism: Mechanism, loops: Sequence[Loop], movable: np.ndarray):
        self.mechanism, self.loops, self.movable = mechanism, loops, movable

    def step(self, q, G, direction, rank: int, margin: float):
        """A short step along the branch: the state, its free velocities and its margin; None where there is none.

        Where the closure loses rank branches meet, so the walk turns back before that.
        """
        move = G @ (G.T @ direction)
        size = np.linalg.norm(move)
        if size < 1e-3:
            return None
        onward = self.closed(self.mechanism.integrate(q, STEP * move / size))
        if onward is None or np.linalg.norm(self.mechanism.difference(q, onward)) > 2 * STEP:
            return None
        G, new_rank, new_margin = self.free_velocities(onward)
        return (onward, G, new_margin) if new_rank == rank and new_margin >= min(SINGULAR, margin) else None

    def closed(self, q) -> np.ndarray | None:
        """The closed state that Newton's method reaches from q, or None."""
        for _ in range(20):
            rows = closure(self.mechanism, self.loops, q)
            if abs(rows.value).max() < CLOSED:
                return q
            change = np.zeros(self.mechanism.n_v)
            change[self.movable] = np.linalg.lstsq(rows.J[:, self.movable], rows.value, rcond=1e-9)[0]
            q = self.mechanism.integrate(q, -change)
        return q if abs(closure(self.mechanism, self.loops, q).value).max() < 100 * CLOSED else None

    def free_velocities(self, q) -> tuple[np.ndarray, int, float]:
        """Basis (n_v, m) of the velocities that keep loops closed; the closure's rank, and its margin."""
        _, s, Vt = np.linalg.svd(closure(self.mechanism, self.loops, q).J[:, self.movable])
        rank = int((s > 1e-7 * s[0]).sum()) if s.size and s[0] > 0 else 0
        G = np.zeros((self.mechanism.n_v, len(Vt) - rank))
        G[self.movable] = Vt[rank:].T
        return G, rank, float(s[rank - 1] / s[0]) if rank else 1.0
