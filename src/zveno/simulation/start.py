"""Start of a run: a state that satisfies the constraints."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .dynamics import batch_settings
from .equations import Equations
from .inputs import Inputs
from .projection import project_start
from .rates import refuse_infinite


class Start(NamedTuple):
    """Initial state and settings of a run."""

    y: np.ndarray
    """(..., n_y)"""
    c: np.ndarray | None
    """settings of the constraints, (..., n_c); None without any"""
    moved: float
    """distance by which the state was moved onto the constraints, rad or m"""
    notes: tuple[str, ...] = ()


def initial_state(equations: Equations, q0: np.ndarray, v0: np.ndarray, tau0: ArrayLike | None) -> np.ndarray:
    """Return y (..., n_y) at q0 and v0, with drives that exert the torques tau0 (..., n_v), zero if None."""
    y0 = equations.state(q0, v0)
    if equations.drive is not None:
        torques = np.zeros(equations.mechanism.n_v)
        if tau0 is not None:
            torques = equations.mechanism.checked_v(tau0, "tau0")
            refuse_infinite(torques, "tau0")
        y0[..., equations.z] = equations.drive.initial(equations.mechanism, q0, torques)
    return y0


def start_of_run(equations: Equations, y0: np.ndarray, rate: float) -> Start:
    """Return the state and settings at t = 0.

    Args:
        equations: of the run.
        y0: given state, (n_y,) or a batch (..., n_y).
        rate: of the stabilisation, 1/s.
    """
    if not equations.constraints:
        return Start(y0, None, 0.0)
    q0 = y0[..., equations.q]
    c = batch_settings(equations, q0, rate) if y0.ndim > 1 else equations.settings(q0, rate)
    notes: list[str] = []
    y0, c, moved = _onto_constraints(equations, y0, c, notes)
    return Start(y0, c, moved, tuple(notes))


def _onto_constraints(equations: Equations, y0, c, notes: list[str]):
    """Return the projected start, and the distance moved."""
    flat_y, flat_c = y0.reshape(-1, y0.shape[-1]).copy(), np.broadcast_to(c, (*y0.shape[:-1], c.shape[-1]))
    flat_c = flat_c.reshape(-1, c.shape[-1]).copy()
    moved, changed = 0.0, 0.0
    u = np.zeros(equations.mechanism.n_v) if equations.commanded else None
    for i in range(len(flat_y)):
        before = flat_y[i].copy()
        projection = project_start(equations, 0.0, flat_y[i], Inputs(u, flat_c[i]))
        moved = max(moved, projection.moved)
        flat_y[i] = projection.y
        changed = max(changed, float(abs(projection.y[equations.v] - before[equations.v]).max(initial=0.0)))
    if changed > 1e-9:
        notes.append(f"initial velocities changed by up to {changed:.3g} to satisfy the constraints")
    return flat_y.reshape(y0.shape), flat_c.reshape(*y0.shape[:-1], -1), moved if moved > 1e-9 else 0.0
