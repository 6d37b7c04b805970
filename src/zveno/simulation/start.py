"""The start of a run: which contacts act, and a state that satisfies the constraints."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .contacts import JointLimit
from .dynamics import batch_settings
from .equations import Equations
from .inputs import Inputs
from .modes import OPEN, Modes
from .projection import project_start
from .rates import refuse_infinite

TOUCHING = 1e-8
"""A gap, m or rad, below which a contact counts as closed at the start."""


class Start(NamedTuple):
    """Where a run starts."""

    y: np.ndarray
    """(..., n_y)"""
    c: np.ndarray | None
    """settings of the constraints, (..., n_c); None without any"""
    modes: Modes
    moved: float
    """how far the state was moved onto the constraints, rad or m"""
    notes: tuple[str, ...] = ()


def initial_state(equations: Equations, q0: np.ndarray, v0: np.ndarray, tau0: ArrayLike | None) -> np.ndarray:
    """y (..., n_y) at q0 and v0, with drives that exert the torques tau0 (..., n_v), zero if None."""
    y0 = equations.state(q0, v0)
    if equations.drive is not None:
        torques = np.zeros(equations.mechanism.n_v)
        if tau0 is not None:
            torques = equations.mechanism.checked_v(tau0, "tau0")
            refuse_infinite(torques, "tau0")
        y0[..., equations.z] = equations.drive.initial(equations.mechanism, q0, torques)
    return y0


def start_of_run(equations: Equations, y0: np.ndarray, rate: float, step: float, far: float) -> Start:
    """The state, settings and modes at t = 0.

    Args:
        equations: of the run.
        y0: given state, (n_y,) or a batch (..., n_y).
        rate: of the stabilisation, 1/s.
        step: of a method with fixed steps, s; 0 for others.
        far: how far, rad or m, the state may be moved onto the constraints.
    """
    q0 = y0[..., equations.q]
    modes = Modes(equations, _initially_active(equations, q0), step)
    if not equations.constraints:
        return Start(y0, None, modes, 0.0)
    if y0.ndim > 1:
        c = batch_settings(equations, q0, rate)
    else:
        c = equations.settings(q0, rate)
        _set_modes(modes, c, y0)
    notes: list[str] = []
    y0, modes.c, moved = _onto_constraints(equations, y0, c, far, notes)
    return Start(y0, modes.c, modes, moved, tuple(notes))


def _initially_active(equations: Equations, q0) -> list[bool]:
    """Which constraints act at the start: all but contacts that do not touch."""
    active = []
    for i, constraint in enumerate(equations.constraints):
        if not constraint.unilateral:
            active.append(True)
            continue
        if isinstance(constraint, JointLimit):
            at = equations.mechanism.q_slices[constraint.joint].start
            gap = min(q0[at] - equations.mechanism.lower[at], equations.mechanism.upper[at] - q0[at])
        else:
            c = equations.settings(q0)
            report = equations.report(
                0.0, equations.state(q0, np.zeros(equations.mechanism.n_v)), *_idle(equations, c)
            )
            gap = report[3][equations.row_slices[i].start]
        active.append(bool(gap <= TOUCHING))
    return active


def _set_modes(modes: Modes, c: np.ndarray, y0):
    """Settings of contacts that do not touch, and of those that slide along the ground as they start."""
    modes.c = c
    for i, mode in enumerate(modes.mode):
        if mode == OPEN:
            modes.open(i)
    if modes.closed():
        rate = modes.equations.report(0.0, y0, *_idle(modes.equations, c))[4]
        modes.slide_where_moving(modes.closed(), rate)


def _idle(equations: Equations, c) -> tuple:
    """Inputs of a kernel where the command does not matter."""
    return Inputs(np.zeros(equations.mechanism.n_v) if equations.commanded else None, c).arrays()


def _onto_constraints(equations: Equations, y0, c, far: float, notes: list[str]):
    """The start projected, with how far it moved."""
    flat_y, flat_c = y0.reshape(-1, y0.shape[-1]).copy(), np.broadcast_to(c, (*y0.shape[:-1], c.shape[-1]))
    flat_c = flat_c.reshape(-1, c.shape[-1]).copy()
    moved, changed = 0.0, 0.0
    u = np.zeros(equations.mechanism.n_v) if equations.commanded else None
    for i in range(len(flat_y)):
        before = flat_y[i].copy()
        projection = project_start(equations, 0.0, flat_y[i], Inputs(u, flat_c[i]), far)
        moved = max(moved, projection.moved)
        flat_y[i] = projection.y
        changed = max(changed, float(abs(projection.y[equations.v] - before[equations.v]).max(initial=0.0)))
    if changed > 1e-9:
        notes.append(f"initial velocities changed by up to {changed:.3g} to satisfy the constraints")
    return flat_y.reshape(y0.shape), flat_c.reshape(*y0.shape[:-1], -1), moved if moved > 1e-9 else 0.0
