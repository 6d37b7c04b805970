"""Closed loops of a model: dependent joints from the others, and slopes through the implicit function.

The rows φ(q, p) = 0 of the loops determine the dependent coordinates q_d from the independent ones u and the
parameters p. With K = ∂φ/∂q_d, a frame's pose x(u, q_d(u, p), p) has the slopes

    dx/dp = ∂x/∂p − ∂x/∂q_d K⁻¹ ∂φ/∂p,   dx/du = ∂x/∂u − ∂x/∂q_d K⁻¹ ∂φ/∂u.

Rows that follow from others are left out: a parameter whose error they could not close bends links instead.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.spatial import KDTree

from ..algorithms.constraints import Placed, closing, stacked
from ..algorithms.loop_rows import loop_parts, row_names
from ..algorithms.motion import AT_REST
from ..algorithms.projection import CLOSED
from ..closed_robot import ClosedRobot
from ..errors import ZvenoError
from ..kernels.compile import compiled
from ..kernels.kernel import Kernel
from ..loops._close import Follower, solved
from ..loops.branch import closure_kernel, scaled
from ..loops.selection import driven_entries, selection
from ..mechanism import Mechanism
from ..mechanism.units import velocity_names
from ..robot_functions import RobotFunctions
from ._products import product_rates
from .models import Model

STEPS = 20
"""Maximum number of Newton steps; from a state that the nominal geometry closes, three to five are enough."""
FAR = 0.5
"""First Newton step, rad or m, from which a state counts as far from closed: the loops might close on another
branch."""
NEAR = 0.05
"""Newton step, rad or m, up to which a posture counts as closed but for the errors of another geometry."""
ROUNDS = 8
"""Maximum number of attempts to reach a posture, from other postures that were reached."""
DONE = 1e-12
"""Newton step, rad or m, below which the loops are closed."""
REGULAR = 0.03
"""Smallest over largest singular value of the scaled K from which random postures are taken first: beside singular
ones, dependent joints amplify every error."""


def closed_rates(
    model: Model,
    frame: str,
    q: np.ndarray,
    values: np.ndarray,
    tau: np.ndarray | None = None,
    side: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return T (..., 4, 4) of a frame, and its body twists by parameters, (..., 6, P), and by joint velocities,
    (..., 6, n_v), with all loops closed; NaN where they do not close. Arguments as for `frame_motion`, floats."""
    chosen, P = selection(model.mechanism), len(model.terms)
    n_v, dependent = model.mechanism.n_v, chosen.dependent
    loads = [np.zeros(n_v) if x is None else x for x in (tau, side)]
    q, K, slopes = _closed(model, q, values, *loads)
    T, J, Q = _kernel(product_rates, model, ("T", "J", "Q"), frame)(q, values, *loads)
    by_dependent = Q[..., dependent]
    Q = np.array(Q)
    Q[..., dependent] = 0.0
    follow = by_dependent @ np.linalg.solve(K, slopes)
    return T, J - follow[..., :P], Q - follow[..., P:]


def _closed(
    model: Model, q: np.ndarray, values: np.ndarray, tau: np.ndarray, side: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return closed q (..., n_q), K (..., r, r) there, and ∂φ (..., r, P + n_v) by parameters and by independent
    velocities; NaN where the loops do not close."""
    chosen, mechanism = selection(model.mechanism), model.mechanism
    rows, dependent = chosen.rows, chosen.dependent
    kernel, integrate = _kernel(loop_slopes, model, ("value", "J")), _functions(mechanism).integrate
    shape = np.broadcast_shapes(np.shape(q)[:-1], np.shape(values)[:-1])
    q = np.array(np.broadcast_to(q, (*shape, mechanism.n_q)))
    far = done = np.zeros(shape, dtype=bool)
    before = np.full(shape, np.inf)
    for step in range(STEPS):
        value, J = kernel(q, values, tau, side)
        K = J[..., rows, len(model.terms) :][..., dependent]
        change = np.zeros((*shape, mechanism.n_v))
        change[..., dependent] = -solved(K, value[..., rows])
        size = abs(change).max(axis=-1, initial=0.0)
        far = far | (~(size < FAR) if step == 0 else ~np.isfinite(size))
        # Rounding keeps steps from getting smaller where K is badly conditioned.
        done = far | (size < DONE) | ((size < 1e3 * DONE) & (size >= 0.5 * before))
        if done.all():
            break
        q = np.where(done[..., None], q, integrate(q, np.where(done[..., None], 0.0, change)))
        before = size
    far = far | ~done
    slopes = np.array(J[..., rows, :])
    slopes[..., len(model.terms) + dependent] = 0.0
    return np.where(far[..., None], np.nan, q), K, slopes


def loop_slopes(
    model: Model, q: np.ndarray, values: np.ndarray, tau: np.ndarray, side: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return φ (m,) of all loops and its slopes (m, P + n_v) by parameters and joint velocities, traced."""
    width = len(model.terms) + model.mechanism.n_v
    parts = []
    for loop in model.mechanism.loops:
        ends: list[Placed] = []
        for name in (loop.frame, loop.other):
            T, J, Q = product_rates(model, model.mechanism.frame(name).name, q, values, tau, side)
            body = np.concatenate([J, Q], axis=1)
            R = T[:3, :3]
            ends.append(Placed(T, np.concatenate([R @ body[:3], R @ body[3:]]), AT_REST))
        parts.append(closing(ends[0], ends[1], loop.locked, width))
    rows = stacked(parts, width)
    return rows.value, rows.J


@lru_cache(maxsize=64)
def _kernel(function, model: Model, outputs: tuple[str, ...], *constants: str) -> Kernel:
    n_v = model.mechanism.n_v
    inputs = {"q": (model.mechanism.n_q,), "values": (len(model.terms),), "tau": (n_v,), "side": (n_v,)}
    return compiled(function, inputs, constants=(model, *constants), name=function.__name__, outputs=outputs)


@lru_cache(maxsize=16)
def closed_robot(mechanism: Mechanism) -> ClosedRobot:
    """Return the functions of a mechanism with closed loops in its independent velocities."""
    return ClosedRobot(_functions(mechanism))


@lru_cache(maxsize=16)
def _functions(mechanism: Mechanism) -> RobotFunctions:
    return RobotFunctions(mechanism)


def closed_postures(mechanism: Mechanism, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return q (n, n_q) with the loops of the nominal mechanism closed, and for each whether they could be.

    Postures that are nearly closed stay on their branch: they were measured, or planned with a robot that is a
    little different. Of the others the motors count; dependent joints follow from the reference of the model. Trees
    are always closed.
    """
    if not mechanism.loops or not len(q):
        return q, np.ones(len(q), dtype=bool)
    finite = np.asarray(np.isfinite(q).all(axis=1))
    out = np.where(finite[:, None], q, mechanism.home)
    near, closed = _closed_nearby(mechanism, out)
    out = np.where(closed[:, None], near, out)
    if not closed.all():
        _follow(mechanism, out, closed)
    return np.where(finite[:, None], out, q), closed


def _follow(mechanism: Mechanism, q: np.ndarray, closed: np.ndarray) -> None:
    """Close postures (n, n_q) in place, each from the reference, or from a posture near it that was reached before:
    straight lines of the motors between postures may leave the reach of the machine."""
    chosen = selection(mechanism)
    follower, entries = Follower(_functions(mechanism), chosen), driven_entries(chosen)
    in_loops = [source.entry for part in loop_parts(mechanism) for source in part.q]
    reached = chosen.q[None]
    for turn in range(ROUNDS):
        targets = q[~closed][:, entries]
        rank = min(turn, len(reached) - 1) + 1
        source = reached[np.asarray(KDTree(reached[:, entries]).query(targets, k=[rank])[1])[:, 0]]  # pyright: ignore[reportArgumentType]
        result = follower.follow(targets - source[:, entries], source)
        arrived = np.asarray(result.status == "closed")
        rows = np.flatnonzero(~closed)[arrived]
        moved = q[rows]
        moved[:, in_loops] = result.q[arrived][:, in_loops]
        q[rows] = moved
        closed[rows] = True
        if closed.all() or (turn and turn >= len(reached)):
            return
        reached = np.concatenate([reached, result.q[arrived]])


def _closed_nearby(mechanism: Mechanism, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return q (n, n_q) after Newton steps of the dependent joints, and where small ones close the loops."""
    chosen, kernel = selection(mechanism), closure_kernel(mechanism)
    near = np.ones(len(q), dtype=bool)
    for _ in range(5):
        value, J = kernel(q)
        value = value[:, chosen.rows]
        if abs(value).max(initial=0.0) < CLOSED * 1e-6:
            break
        change = np.zeros((len(q), mechanism.n_v))
        K = J[:, chosen.rows][:, :, chosen.dependent]
        change[:, chosen.dependent] = -solved(K, value)
        near &= abs(change).max(axis=1, initial=0.0) < NEAR
        q = np.where(near[:, None], _functions(mechanism).integrate(q, np.where(near[:, None], change, 0.0)), q)
    left = abs(kernel(q)[0][:, chosen.rows]).max(axis=1, initial=0.0)
    return q, near & (left < CLOSED)


def checked_closed(mechanism: Mechanism, q: np.ndarray, name: str = "q") -> np.ndarray:
    """Return q (..., n_q) with the loops closed; raise an error if they do not close."""
    flat, closed = closed_postures(mechanism, q.reshape(-1, mechanism.n_q))
    if not closed.all():
        first = int(np.argmin(closed))
        motors = driven_entries(selection(mechanism))
        raise ZvenoError(
            f"the loops of {mechanism.name} do not close in {np.sum(~closed)} of {len(flat)} postures, first at "
            + ", ".join(f"{mechanism.coordinate_names[k]} = {flat[first, k]:.5g}" for k in motors),
            element=name,
            remedy="Check zero positions, signs and units of the motors, and the reference of the model",
        )
    return flat.reshape(q.shape)


def random_closed(mechanism: Mechanism, n: int, rng: np.random.Generator) -> np.ndarray:
    """Return n random closed postures (n, n_q) on the branch of the reference, away from singular ones."""
    chosen, scale = selection(mechanism), scaled(mechanism)
    q = closed_robot(mechanism).random(4 * n, rng)
    K = scale.rows(closure_kernel(mechanism)(q)[1])[:, chosen.rows][:, :, chosen.dependent]
    s = np.linalg.svd(K, compute_uv=False)
    margin = s[:, -1] / s[:, 0] if s.shape[1] else np.ones(len(q))
    order = np.argsort(-np.minimum(margin, REGULAR), kind="stable")
    return q[np.sort(order[:n])]


NOMINAL = (
    "judged at the nominal geometry of the loops; more parameters act where it is off, in proportion to the errors"
)


def loop_notes(mechanism: Mechanism) -> tuple[str, ...]:
    """Return what an analysis of the geometry of closed loops leaves out; nothing for trees."""
    if not mechanism.loops:
        return ()
    chosen, names = selection(mechanism), row_names(mechanism)
    notes = []
    if len(chosen.checked):
        left_out = ", ".join(names[k] for k in chosen.checked)
        notes.append(f"errors along {left_out} are left out: no joint can close them, so they bend links")
    if len(chosen.idle):
        idle = ", ".join(velocity_names(mechanism)[k] for k in chosen.idle)
        notes.append(f"no motor drives {idle}: they stay as given, or at the reference inside loops")
    return tuple(notes)
