"""The forward recursion in floating point: the functions of the coordinates that a link's inertia is seen through.

The pose of link k is T_k = T_parent M exp(D q) E with a constant twist D, so every function of the motion is a sum
of exp(Dᵀq) X exp(Dq), and the span of its values over all q is the span of X, dX, d²X, … with dX = DᵀX + XD: no
table of functions is needed, whatever the joint. Four small row spaces are carried outward (document 000's Û and Â
without their 5^N indices):

    a: TᵀT (symmetric, at most 5 dimensions)     b: T,iᵀT for every coordinate i before (at most 10)
    c: T,iᵀT,j (symmetric, at most 10)           p: [gᵀ 0] T (4)

What link k adds that is not constant in its own coordinate is the block B_k. Parameters of link k and of all that
it carries affect the motion through B_k alone, so each block is a problem of its own and the whole is O(N).

With drives, a state also carries how much of each row is the constant function: that is all that rotors (through a
and b) and offsets (through p) can look like.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack

from ..errors import ZvenoError
from ..mechanism import Mechanism
from ..spatial.vectors import skew
from .motors import Motors, offset_alone, offset_columns, rotor_columns
from .nodes import Node
from .views import DOUBLE, SYMMETRIC, WEIGHTS

FULL = (10, 10, 5, 4)
"""Largest dimensions of c, b, a and p."""
CLEAR_KEPT, CLEAR_DROPPED = 1e-3, 1e-12
"""A state is condensed only where its singular values leave no doubt; a near-degenerate one stays as it is."""
GROWN, ROUNDING = 4e-15, 1e-12
"""Rounding in a state that is worth removing, and how far an entry of its echelon form may be from a whole one."""


class States(NamedTuple):
    """Row spaces of one body: orthonormal rows where the dimension is clear, otherwise an R factor."""

    c: np.ndarray
    """(rows, 10)"""
    b: np.ndarray
    """(rows, 16 + n_e): constant part of the row of each driven coordinate."""
    a: np.ndarray
    """(rows, 10 + 1), or 10 without drives."""
    p: np.ndarray
    """(rows, 4 + 1), or 4 without drives."""
    full: tuple[bool, bool, bool, bool] = (False, False, False, False)
    """Which of them have their largest dimension: these are the same in every frame and never change again."""


class Twist(NamedTuple):
    """Operators of one twist on rows of the states."""

    powers10: np.ndarray
    """(10, K·10): x → x, dx, d²x, … side by side, on symmetric rows."""
    powers16: np.ndarray
    powers4: np.ndarray
    """(4, K·4): p → pD, pD², …"""
    b_to_c: np.ndarray
    a_to_c: np.ndarray
    a_to_b: np.ndarray
    rotation: bool
    """Whether the motion is periodic, so that an offset is like nothing else."""


class Step(NamedTuple):
    """A link on one joint: constant transforms before and after, and the twists between."""

    before: tuple[np.ndarray, ...]
    """10×10, 16×16 and 4×4 operators of X → MᵀXM on rows."""
    twists: tuple[Twist, ...]
    after: tuple[np.ndarray, ...] | None


def root_states(gravity: np.ndarray, drives: bool, n_driven: int) -> States:
    """The ground: a = 1 and p = gravity's direction."""
    size = np.linalg.norm(gravity)
    extra = [1.0] if drives else []
    a = np.array([[1.0, 1, 1, 0, 0, 0, 0, 0, 0, 1, *extra]])
    direction = gravity / size if size > 0 else np.zeros(3)
    # Without gravity only the constant function is left, which offsets look like.
    p = np.array([[*direction, 0.0, *extra]]) if size > 0 or drives else np.zeros((0, 4))
    return States(np.zeros((0, 10)), np.zeros((0, 16 + n_driven)), a, p)


def steps_of(mechanism: Mechanism, nodes: list[Node], scale: float) -> dict[int, Step]:
    """Operators of every simple node, by link number, with lengths divided by `scale`."""
    links = [node.bodies[0] for node in nodes if node.simple]
    if not links:
        return {}
    joints = [mechanism.joints[i - 1] for i in links]
    before = congruences(_scaled(np.array([joint.T_parent_joint for joint in joints]), scale))
    after = congruences(_scaled(np.array([joint.T_joint_child for joint in joints]), scale))
    plain = [bool((joint.T_joint_child == np.eye(4)).all()) for joint in joints]
    columns = [joint.type.subspace(joint.type.neutral()).T for joint in joints]
    twists = _twists(np.concatenate([np.zeros((0, 6)), *columns]), scale)
    found, start = {}, 0
    for n, i in enumerate(links):
        own = twists[start : start + len(columns[n])]
        start += len(own)
        found[i] = Step(tuple(x[n] for x in before), tuple(own), None if plain[n] else tuple(x[n] for x in after))
    return found


def twist_matrices(twists: np.ndarray, scale: float) -> np.ndarray:
    """(n, 4, 4) matrices of twists `[v, w]`; a translation keeps unit speed, its coordinate is scaled instead."""
    D = np.zeros((len(twists), 4, 4))
    for matrix, twist in zip(D, twists, strict=True):
        matrix[:3, :3] = skew(twist[3:])
        matrix[:3, 3] = twist[:3] / (scale if twist[3:].any() else 1.0)
    return D


def _twists(twists: np.ndarray, scale: float) -> list[Twist]:
    if not len(twists):
        return []
    D = twist_matrices(twists, scale)
    one = np.eye(4)
    left = np.einsum("nki,lj->nklij", D, one).reshape(-1, 16, 16)
    right = np.einsum("ki,nlj->nklij", one, D).reshape(-1, 16, 16)
    # Half of d, so that the powers of a rotation (frequencies up to 2) stay of size 1.
    d16 = 0.5 * (left + right)
    d10 = DOUBLE @ d16 @ SYMMETRIC
    b_to_c = right @ SYMMETRIC
    a_to_c = DOUBLE @ np.einsum("nki,nlj->nklij", D, D).reshape(-1, 16, 16) @ SYMMETRIC
    a_to_b = DOUBLE @ left
    turning = np.any(twists[:, 3:], axis=1)
    screw = turning & (abs((twists[:, :3] * twists[:, 3:]).sum(axis=1)) > 1e-14)
    quadratic = np.where(screw, 8, np.where(turning, 4, 2))
    linear = np.where(screw, 3, np.where(turning, 2, 1))
    most = int(quadratic.max())
    p10, p16, p4 = _powers(d10, most), _powers(d16, most), _powers(D, int(linear.max()))
    return [
        Twist(
            p10[n, :, : 10 * (quadratic[n] + 1)],
            p16[n, :, : 16 * (quadratic[n] + 1)],
            p4[n, :, 4 : 4 * (linear[n] + 1)],
            b_to_c[n],
            a_to_c[n],
            a_to_b[n],
            bool(turning[n] and not screw[n]),
        )
        for n in range(len(twists))
    ]


def _powers(d: np.ndarray, most: int) -> np.ndarray:
    """(n, w, (most + 1)·w): 1, d, d², … side by side."""
    found = [np.broadcast_to(np.eye(d.shape[-1]), d.shape)]
    for _ in range(most):
        found.append(found[-1] @ d)
    return np.concatenate(found, axis=2)


def congruences(A: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Operators of X → AᵀXA on rows of ten, of sixteen, and of x → xA on rows of four, (n, w, w) each."""
    square = np.einsum("nki,nlj->nklij", A, A).reshape(-1, 16, 16)
    return DOUBLE @ square @ SYMMETRIC, square, A


def _scaled(A: np.ndarray, scale: float) -> np.ndarray:
    A = A.copy()
    A[..., :3, 3] /= scale
    return A


def r_factor(*rows: np.ndarray) -> np.ndarray:
    """The R factor of stacked rows: the same row space and the same sizes in at most as many rows as columns."""
    M = rows[0] if len(rows) == 1 else np.concatenate(rows)
    if len(M) <= M.shape[1]:
        return M
    n = M.shape[1]
    return lapack.dgeqrf(M)[0][:n] * _upper(n)  # type: ignore[attr-defined]  (made at import)


@cache
def _upper(n: int) -> np.ndarray:
    return np.triu(np.ones((n, n)))


def condensed(*rows: np.ndarray) -> np.ndarray:
    """A state from rows that span it: orthonormal where its dimension is clear, else of size about 1.

    Without this, the rows of a long chain would differ by powers of its reach. Blocks are never scaled, nor is
    anything small cut off unless it is rounding: that would hide what is nearly degenerate.
    """
    R = r_factor(*rows)
    if not len(R):
        return R
    # LAPACK itself: the wrappers around it cost as much as these small problems.
    _, s, Vt, failed = lapack.dgesdd(R, full_matrices=0)  # type: ignore[attr-defined]  (made at import)
    if failed:
        raise ZvenoError("the singular values of a state could not be computed", remedy="Check the geometry")
    if s[0] == 0.0:
        return R[:0]
    s /= s[0]
    rank = int((s > CLEAR_KEPT).sum())
    if rank == len(s) or s[rank] < CLEAR_DROPPED:
        # Left alone, rounding that leads out of the space grows by a tenth with every joint.
        return _straightened(Vt[:rank]) if rank < len(s) and s[rank] > GROWN else Vt[:rank]
    return R / np.sqrt(np.einsum("ij,ij->", R, R) / len(R))


def _straightened(basis: np.ndarray) -> np.ndarray:
    """An orthonormal basis of the same space without rounding: its echelon form is mostly zeros and ones."""
    order = lapack.dgeqp3(basis)[1] - 1  # type: ignore[attr-defined]  (made at import)
    echelon = np.linalg.solve(basis[:, order[: len(basis)]], basis)
    whole = np.rint(echelon)
    echelon = np.where(abs(echelon - whole) < ROUNDING, whole, echelon)
    return np.linalg.qr(echelon.T)[0].T


def states_of(c: np.ndarray, b: np.ndarray, a: np.ndarray, p: np.ndarray) -> States:
    """States with the mark of those that are full; with drives only c can be."""
    sizes = (10, 16, 10, 4)
    full = tuple(
        len(x) == most and x.shape[1] == size and _orthonormal(x)
        for x, most, size in zip((c, b, a, p), FULL, sizes, strict=True)
    )
    return States(c, b, a, p, full)  # type: ignore[arg-type]  (filled above)


def _orthonormal(rows: np.ndarray) -> bool:
    return bool(abs(np.einsum("ij,ij->i", rows, rows) - 1.0).max() < 1e-9 and abs(rows[0] @ rows[1]) < 1e-9)


def moved(states: States, operators: tuple[np.ndarray, ...]) -> States:
    """The states in another frame of the same body."""
    c, b, a, p, full = states
    return States(
        c if full[0] else c @ operators[0],
        b if full[1] else _on(b, operators[1], 16),
        a if full[2] else _on(a, operators[0], 10),
        p if full[3] else _on(p, operators[2], 4),
        full,
    )


def _on(rows: np.ndarray, operator: np.ndarray, width: int) -> np.ndarray:
    """An operator on the first `width` columns; the constant parts behind them stay."""
    if rows.shape[1] == width:
        return rows @ operator
    return np.concatenate([rows[:, :width] @ operator, rows[:, width:]], axis=1)


def _spread(rows: np.ndarray, powers: np.ndarray, width: int) -> np.ndarray:
    """Rows under all powers of an operator; only the zeroth keeps the constant part behind the first `width`."""
    found = (rows[:, :width] @ powers).reshape(-1, width)
    extra = rows.shape[1] - width
    if not extra:
        return found
    count = powers.shape[1] // width
    constant = np.zeros((len(rows), count, extra))
    constant[:, 0] = rows[:, width:]
    return np.concatenate([found, constant.reshape(-1, extra)], axis=1)


def advance(
    states: States, step: Step, motors: Motors | None, coordinates: Sequence[int | None]
) -> tuple[States, np.ndarray]:
    """The states of a link from its parent's, and its block B_k (rows, 10 + drive columns).

    Args:
        states: of the parent.
        step: the joint's operators.
        motors: what drives add, or None.
        coordinates: of every twist, the driven velocity coordinate it is, or None.
    """
    n_drive = 0 if motors is None else motors.n_columns
    states = moved(states, step.before)
    kinetic, potential = [], []
    for twist, coordinate in zip(step.twists, coordinates, strict=True):
        c, b, a, p, _ = states
        new = np.concatenate([b[:, :16] @ twist.b_to_c, a[:, :10] @ twist.a_to_c])
        if motors is not None:
            new = np.concatenate([new, rotor_columns(motors, b[:, 16:], a[:, 10], coordinate)], axis=1)
        grown = (c @ twist.powers10[:, 10:]).reshape(-1, 10)
        if n_drive:
            grown = np.concatenate([grown, np.zeros((len(grown), n_drive))], axis=1)
        B = r_factor(_spread(new, twist.powers10, 10), grown)
        kinetic.append(B)
        if len(p):
            P = (p[:, :4] @ twist.powers4).reshape(-1, 4)
            if motors is not None:
                powers = twist.powers4.shape[1] // 4
                P = np.concatenate([P, offset_columns(motors, p[:, 4], powers, twist.rotation, coordinate)], axis=1)
            potential.append(P)
        if motors is not None and motors.offsets and coordinate is not None and twist.rotation:
            potential.append(np.concatenate([np.zeros((1, 4)), offset_alone(motors, coordinate)], axis=1))
        states = _grown(states, twist, B[:, :10], motors, coordinate)
    return placed(states, kinetic, potential, step, n_drive)


def placed(
    states: States, kinetic: list[np.ndarray], potential: list[np.ndarray], step: Step, n_drive: int
) -> tuple[States, np.ndarray]:
    """States and block in the link's own frame, behind the joint."""
    block = np.concatenate([np.zeros((0, 10 + n_drive)), *kinetic])
    rows = np.concatenate([np.zeros((0, 4 + n_drive)), *potential])
    if step.after is not None:
        states = moved(states, step.after)
        block, rows = _on(block, step.after[0], 10), _on(rows, step.after[2], 4)
    block[:, :10] *= WEIGHTS
    whole = np.zeros((len(block) + len(rows), 10 + n_drive))
    whole[: len(block)] = block
    whole[len(block) :, 6:] = rows
    return states, r_factor(whole)


def _grown(states: States, twist: Twist, B: np.ndarray, motors: Motors | None, coordinate: int | None) -> States:
    """The states after a twist; those that are full stay."""
    c, b, a, p, full = states
    if not full[0]:
        c = condensed(c, B)
    if not full[1]:
        new = a[:, :10] @ twist.a_to_b
        if motors is not None:
            constant = np.zeros((len(a), len(motors.place)))
            if coordinate is not None:
                constant[:, motors.place[coordinate]] = a[:, 10]
            new = np.concatenate([new, constant], axis=1)
        b = condensed(_spread(np.concatenate([b, new]), twist.powers16, 16))
    if not full[2]:
        a = condensed(_spread(a, twist.powers10, 10))
    if not full[3] and len(p):
        p = condensed(p, _padded((p[:, :4] @ twist.powers4).reshape(-1, 4), p))
    return states_of(c, b, a, p)


def _padded(rows: np.ndarray, like: np.ndarray) -> np.ndarray:
    """Rows with zeros for the constant parts that `like` has behind its first columns."""
    extra = like.shape[1] - rows.shape[1]
    return np.concatenate([rows, np.zeros((len(rows), extra))], axis=1) if extra else rows
