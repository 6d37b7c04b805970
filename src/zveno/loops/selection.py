"""Independent coordinates and rows of a mechanism with closed loops.

The rank of the loops' Jacobian is judged at several states along the branch of the reference, by a wide gap: the
rows of an overconstrained loop depend on one another only up to the rounding of the model file, and that rounding
must not make the loop rigid. Independent rows and dependent coordinates are selected once, by pivoted QR
factorisations. The remaining rows are checked, not solved.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import qr

from ..algorithms.linear import pivot_order
from ..algorithms.loop_rows import row_names
from ..errors import ModelError
from ..io.results import hash_of
from ..mechanism import Loop, Mechanism
from ..mechanism.units import velocity_names
from .branch import GAP, OPEN, branch_states, close_near, closure_kernel, scaled

N_STATES = 8
"""Number of states along the branch at which ranks are judged."""


@dataclass(frozen=True, eq=False)
class Selection:
    """Coordinates and rows of a mechanism whose loops are closed; all index arrays are sorted.

    The closed states near `q` are described by the velocities `free` (driven and idle ones). The others follow:
    K v_dependent = −J[rows, free] v_free with K = J[rows, dependent], whose `pivots` are safe along the branch.
    """

    mechanism: Mechanism
    q: np.ndarray
    """closed state (n_q,) on the branch: the reference, or the start that was given, closed"""
    states: np.ndarray
    """closed states along the branch, (k, n_q), `q` first; for choosing pivots and for tests"""
    driven: np.ndarray
    """entries of v that motors move independently of one another"""
    idle: np.ndarray
    """entries of v that remain free with all motors locked"""
    dependent: np.ndarray
    """entries of v that follow from the others; with surplus motors some of them are driven"""
    rows: np.ndarray
    """independent rows of `loop_rows`, as many as dependent velocities"""
    pivots: tuple[tuple[int, int], ...]
    """(row, dependent velocity) in an order of elimination of K with little fill-in and no small pivot"""
    left: np.ndarray
    """residual φ (m,) of all rows at `q`: in `rows` zero to rounding, in others what rounding in the file leaves"""
    rank_at_q: int
    """rank of the loops' Jacobian at `q`; smaller than len(rows) at a singular reference"""
    margin: float
    """smallest kept singular value of the scaled rows at `q`, divided by the largest"""
    gap: float
    """largest dropped singular value divided by the smallest kept one, at the worst state; 0 if none is dropped"""
    chosen: bool
    """True if the model names no motors, so that the driven velocities are a choice of this analysis"""

    @cached_property
    def free(self) -> np.ndarray:
        """Independent velocities: driven and idle ones."""
        return np.sort(np.concatenate([self.driven, self.idle]))

    @cached_property
    def checked(self) -> np.ndarray:
        """Rows that follow from the independent ones, and are only checked."""
        return np.setdiff1d(np.arange(len(self.left)), self.rows)

    @property
    def fingerprint(self) -> str:
        """Hash of everything from which the kernels of this selection are traced."""
        return hash_of(self.mechanism.fingerprint, self.pivots, self.free)


def selection(mechanism: Mechanism, q0: ArrayLike | None = None) -> Selection:
    """Select coordinates and rows of a mechanism with closed loops; raise an error if they cannot be closed.

    Args:
        mechanism: the mechanism; its motors, if named, become the driven velocities.
        q0: a state near the intended branch; the reference of the model if None, or neutral without one.
    """
    return _selection(mechanism, None if q0 is None else tuple(mechanism.checked_q(q0, "q0").tolist()))


def driven_entries(chosen: Selection) -> np.ndarray:
    """Return the entries of q of the driven velocities; raise an error for joints with quaternions."""
    mechanism = chosen.mechanism
    entries = np.full(mechanism.n_v, -1)
    for name in mechanism.joint_names:
        at_q, at_v = mechanism.q_slices[name], mechanism.v_slices[name]
        if at_q.stop - at_q.start == at_v.stop - at_v.start:
            entries[at_v] = range(mechanism.n_q)[at_q]
    for k in chosen.driven:
        if entries[k] < 0:
            raise ModelError(
                "is driven and has a quaternion, so that it has no coordinate to be given",
                element=f"joint {velocity_names(mechanism)[k]}",
                remedy="Split it into single joints, or leave it out of the motors",
            )
    return entries[chosen.driven]


@lru_cache(maxsize=64)
def _selection(mechanism: Mechanism, q0: tuple[float, ...] | None) -> Selection:
    if not mechanism.loops:
        raise ModelError("has no closed loops", element=mechanism.name, remedy="Add them with loops=[Loop(a, b)]")
    q, left = closed_start(mechanism, None if q0 is None else np.array(q0))
    fault = closing_fault(mechanism, left)
    if fault is not None:
        raise ModelError(fault.reason, element=fault.loop, remedy=fault.remedy)
    return _select(mechanism, q)


def following(chosen: Selection, known: np.ndarray, movable: np.ndarray) -> np.ndarray:
    """Choose velocities of `movable` (n_v,), a mask, that follow from those of the mask `known` along the branch.

    Passive ones come first. Motors that do not follow either are left out: they have to be given, too.
    """
    scale = scaled(chosen.mechanism)
    candidates = np.flatnonzero(movable & ~known)
    matrices = scale.rows(closure_kernel(chosen.mechanism)(chosen.states)[1])[:, :, candidates]
    driven = np.isin(candidates, chosen.mechanism.driven_velocities)
    ranks = [int((s > GAP * max(1.0, s[0])).sum()) if s.size else 0 for s in np.linalg.svd(matrices)[1]]
    rank = max(ranks, default=0)
    at_rank = matrices[[r == rank for r in ranks]]
    return candidates[_best([_dependent(A, driven, rank) for A in at_rank], at_rank)] if rank else candidates[:0]


class Fault(NamedTuple):
    """Loop that does not close."""

    status: Literal["not closed", "cannot close"]
    loop: str
    direction: str
    size: float
    """what is left, m or rad"""

    @property
    def reason(self) -> str:
        """Sentence that names direction and size."""
        unit = "rad" if len(self.direction) == 2 else "m"
        if self.status == "cannot close":
            return f"direction {self.direction} is off by {self.size:.3g} {unit}, and no joint moves it"
        return f"the loops were not closed: {self.size:.3g} {unit} are left in direction {self.direction}"

    @property
    def remedy(self) -> str:
        """Remedy for users."""
        if self.status == "cannot close":
            return "Correct the frames of this loop, or leave this direction out of its `locked`"
        return "Give q0=, a configuration near the intended branch, or a reference in the model"


def closed_start(mechanism: Mechanism, q0: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Close the loops from q0, the reference, or the neutral state; without a start, also from random states."""
    lengths = scaled(mechanism).lengths
    given = mechanism.reference if q0 is None else q0
    starts = [mechanism.neutral() if given is None else given]
    if given is None:
        rng = np.random.default_rng(0)
        starts += [mechanism.random(rng) for _ in range(12)]
    closed = []
    for start in starts:
        closed.append(close_near(mechanism, np.array(start, dtype=float)))
        if abs(closed[-1][1] / lengths).max() < OPEN:
            return closed[-1]
    return min(closed, key=lambda state: abs(state[1] / lengths).max())


def closing_fault(mechanism: Mechanism, left: np.ndarray) -> Fault | None:
    """Return the worst direction of a loop that does not close, None if all do."""
    scale = scaled(mechanism)
    values, J = scale.samples
    names = row_names(mechanism)
    share = abs(left) / scale.lengths
    # A row that no joint moves has the same value in every state, up to what its small slopes can change.
    slopes = abs(J / scale.lengths[:, None] * scale.columns).max(axis=(0, 2))
    constant = (slopes < GAP) & (abs(values).min(axis=0) / scale.lengths > 10.0 * slopes + 1e-9)
    constant &= share > OPEN
    if not (share > OPEN).any():
        return None
    k = int(np.argmax(np.where(constant, share, 0.0) if constant.any() else share))
    loop, direction = names[k].rsplit(" ", 1)
    return Fault("cannot close" if constant.any() else "not closed", loop, direction, float(abs(left[k])))


def _select(mechanism: Mechanism, q: np.ndarray) -> Selection:
    scale, kernel = scaled(mechanism), closure_kernel(mechanism)
    states = np.array(list(branch_states(mechanism, q, N_STATES)))
    jacobians = kernel(states)[1]
    singular_values = [scale.decomposed(J)[1] for J in jacobians]
    ranks = np.array([scale.decomposed(J)[3] for J in jacobians])
    rank = int(ranks.max(initial=0))
    # Pivots are chosen where the rank is the generic one: not at a singular reference.
    matrices = np.array([scale.rows(J) for J, r in zip(jacobians, ranks, strict=True) if r == rank])
    driven = np.zeros(mechanism.n_v, dtype=bool)
    driven[list(mechanism.driven_velocities)] = True
    chosen = mechanism.motors is None
    if chosen:
        driven[:] = False
        dependent = _distal(matrices, rank)
    else:
        candidates = [_dependent(A, driven, rank) for A in matrices]
        # Passive velocities are dependent where they are anywhere: at a singular state motors take their places.
        passive = [int((~driven[candidate]).sum()) for candidate in candidates]
        candidates = [c for c, count in zip(candidates, passive, strict=True) if count == max(passive)]
        dependent = _best(candidates, matrices)
    rows = _best_rows(matrices, dependent)
    free = np.setdiff1d(np.arange(mechanism.n_v), dependent)
    order = pivot_order(matrices[:, rows][:, :, dependent])
    pivots = tuple((int(rows[i]), int(dependent[j])) for i, j in order)
    q, left = _polished(mechanism, q, rows, dependent) if ranks[0] == rank else (q, kernel(q)[0])
    s = singular_values[0]
    gaps = [
        s[rank] / s[rank - 1]
        for s, r in zip(singular_values, ranks, strict=True)
        if r == rank and 0 < rank < len(s)
    ]
    return Selection(
        mechanism,
        q,
        states,
        free if chosen else free[driven[free]],
        free[:0] if chosen else free[~driven[free]],
        dependent,
        rows,
        pivots,
        left,
        int(ranks[0]),
        float(s[ranks[0] - 1] / s[0]) if ranks[0] else 1.0,
        max(map(float, gaps), default=0.0),
        chosen,
    )


def _leading(A: np.ndarray) -> np.ndarray:
    """Columns of A (m, n) in the order of a pivoted QR factorisation, as many as its rank by the wide gap."""
    if not A.size:
        return np.zeros(0, dtype=int)
    _, R, order = qr(A, mode="economic", pivoting=True)  # pyright: ignore[reportAssignmentType]
    return order[: int((abs(np.diag(R)) > GAP).sum())]


def _dependent(A: np.ndarray, driven: np.ndarray, rank: int) -> np.ndarray:
    """Choose dependent velocities at one state: passive ones first, then motors that follow from other motors."""
    passive, active = np.flatnonzero(~driven), np.flatnonzero(driven)
    dependent = passive[_leading(A[:, passive])]
    if len(dependent) < rank:
        Q, _ = np.linalg.qr(A[:, dependent])
        rest = A[:, active] - Q @ (Q.T @ A[:, active])
        dependent = np.concatenate([dependent, active[_leading(rest)]])
    return np.sort(dependent[:rank])


def _distal(matrices: np.ndarray, rank: int) -> np.ndarray:
    """Choose dependent velocities where no motors are named: the first joints of the tree stay independent.

    A velocity is independent if the columns left without it still span the rows about as well.
    """
    n = matrices.shape[2]
    columns = list(range(n))
    for share in (0.1, 0.01, 0.0):
        for k in range(n):
            if len(columns) == rank:
                break
            if k not in columns:
                continue
            rest = [c for c in columns if c != k]
            if _least(matrices[:, :, rest], rank) > share * _least(matrices[:, :, columns], rank):
                columns = rest
    return np.array(columns[:rank] if len(columns) == rank else columns[-rank:], dtype=int)


def _least(matrices: np.ndarray, rank: int) -> float:
    """Smallest of the leading `rank` singular values of any of the matrices."""
    if not rank:
        return 1.0
    s = np.linalg.svd(matrices, compute_uv=False)
    return float(s[:, rank - 1].min()) if s.shape[1] >= rank else 0.0


def _best(candidates: list[np.ndarray], matrices: np.ndarray) -> np.ndarray:
    """Return the dependent velocities whose columns are best in their worst state."""
    scores = [_least(matrices[:, :, candidate], len(candidate)) for candidate in candidates]
    most = max(map(len, candidates))
    return candidates[
        int(np.argmax([s if len(c) == most else -1.0 for s, c in zip(scores, candidates, strict=True)]))
    ]


def _best_rows(matrices: np.ndarray, dependent: np.ndarray) -> np.ndarray:
    """Return independent rows, as many as dependent velocities, that are best in their worst state."""
    candidates = []
    for A in matrices:
        _, _, order = qr(A[:, dependent].T, mode="economic", pivoting=True)  # pyright: ignore[reportAssignmentType]
        candidates.append(np.sort(order[: len(dependent)]))
    scores = [_least(matrices[:, rows][:, :, dependent], len(dependent)) for rows in candidates]
    return candidates[int(np.argmax(scores))]


def _polished(
    mechanism: Mechanism, q: np.ndarray, rows: np.ndarray, dependent: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Close the independent rows to rounding by Newton's method on the dependent velocities."""
    kernel = closure_kernel(mechanism)
    value, J = kernel(q)
    for _ in range(4):
        if not rows.size or abs(value[rows]).max() < 1e-15:
            break
        change = np.zeros(mechanism.n_v)
        change[dependent] = -np.linalg.solve(J[np.ix_(rows, dependent)], value[rows])
        onward = mechanism.integrate(q, change)
        after, J = kernel(onward)
        if abs(after[rows]).max() >= abs(value[rows]).max():
            break
        q, value = onward, after
    return q, value


def joints_of(mechanism: Mechanism, loop: Loop) -> set[str]:
    """Return the joints of the tree that move one end of a loop against the other; leaders for mimic joints."""
    links = [mechanism.link_number(mechanism.frame(name).link) for name in (loop.frame, loop.other)]
    paths = [{*mechanism.tree.ancestors(link), link} for link in links]
    joints = [mechanism.joints[i - 1] for i in paths[0] ^ paths[1] if i]
    return {joint.name if joint.mimic is None else joint.mimic.joint for joint in joints if joint.type.n_v}
