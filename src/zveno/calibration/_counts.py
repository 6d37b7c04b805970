"""Numbers of identifiable parameters without a sampled Jacobian: formulas, and the closure of twists."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..base_parameters.exact_field import Field, field_of
from ..io.results import registered
from ..spatial.exact_numbers import Matrix, NotExact, exact_transform, exact_twist, flint
from ..spatial.transforms import adjoint, inverse, transform
from ..spatial.vectors import skew
from .measurements import Measurement
from .models import Model

BOUND = "contacts show no more than the closure says; that they show as much is seen in sampled postures"
"""Explanation of why the closure alone does not prove a count for contacts."""


@registered
@dataclass(frozen=True)
class Counts:
    """Independent counts of the parameters a measurement can find.

    Attributes:
        revolute, prismatic: joints on the way to the frame.
        others: parameters that joints of other types add at most.
        through: s, the last revolute axes that all pass through the measured point (position only).
        formula: its name: "6+4r+2p", "(20)", "(22)" or "(24)", "+others" with joints of other types. "(20)-h" for
            contacts: less the displacements of the base, and the change of size, that leave all known targets in
            their place and so show in no contact.
        value: result of the formula.
        bound: the older upper bound (21), 6+4n−2p−o_n−min(o_{n−1}, t_{n−1}), for position only where one last axis
            passes through the point; None elsewhere.
        proved: rank from the closure of twists, without sampled postures; for contacts it is not more.
        proof_gap: smallest singular value kept over the largest dropped in the closure; inf where it is exact.
        certified: whether the closure ran in exact numbers.
        obstacle: reason why it did not, else empty.
        why: explanation if the counts differ, else empty.
        at_most: whether contacts are counted: they may show less, for example of a robot whose first axis is
            orthogonal to the plane that it touches.
    """

    revolute: int
    prismatic: int
    others: int
    through: int
    formula: str
    value: int
    bound: int | None
    proved: int
    proof_gap: float
    certified: bool
    obstacle: str = ""
    why: str = ""
    at_most: bool = False

    def agree(self, rank: int) -> bool:
        """Return True if formula and closure agree with a rank; for contacts, if it does not exceed the closure."""
        return rank <= self.proved if self.at_most else self.value == self.proved == rank


def counts(
    model: Model, kind: Measurement, moved: np.ndarray | None = None, groups: Iterable[str] = ()
) -> Counts | None:
    """Return counts for poses, positions and contacts of one frame on a chain of joints of any type; None for other
    measurements, and where loops are closed.

    Args:
        model, kind: the model, and the kind of measurement.
        moved: displacement (4, 4) of the frame from its nominal place.
        groups: touched targets.
    """
    countable = kind.countable()
    several = len(model.frames) > (1 if kind.seen_from is None else 2)
    if (
        model.mechanism.loops
        or countable is None
        or several
        or any(move.joint.mimic is not None for move in model.moves)
    ):
        return None
    relative, point = countable.relative, countable.point
    position = point is not None
    if point is not None and moved is not None:
        point = moved[:3, :3] @ point + moved[:3, 3]
    between = {step.label for step in steps_between(model, point, kind.seen_from) if step.T is None}
    moves = [move for move in model.moves if f"joint {move.joint.name}" in between]
    r = sum(move.sigma == 1 for move in moves)
    p = sum(move.sigma == 0 for move in moves)
    s = 0 if point is None else tail_axes_through(model, point)
    proof = prove(model, point, kind.seen_from)
    others = sum(proof.saturated) - 4 * r - 2 * p
    value = (3 if position else 6) + 4 * r + 2 * p + others - 2 * s - (6 if relative else 0)
    formula = {(False, False): "6+4r+2p", (True, False): "(20)", (False, True): "(22)", (True, True): "(24)"}
    name = formula[position, relative] + ("+others" if others else "")
    proved = proof.rank - (proof.base if relative else 0)
    why = ""
    if kind.implicit:
        # The size is one that parameters of links can change: joints that slide, or screws, would show it.
        conditions = kind.shown(groups)
        if conditions is None or proof.base < 6:
            return None
        hidden = conditions[:, : 7 if not p and not others else 6]
        unseen = hidden.shape[1] - int(np.linalg.matrix_rank(hidden, tol=1e-9) if len(hidden) else 0)
        value, proved, name = value - unseen, proved - unseen, f"{name}-{unseen}"
        why = f"{unseen} displacements of the base, its size included, leave all known targets where they are"
    if proved != value:
        why = f"the formula counts {value}, the closure of twists {proved}"
        if relative and proof.base < 6:
            why += f": only {proof.base} of the 6 displacements of the base can be seen at all"
        elif position:
            why += ": axes further in also pass through the measured point, or the chain is too short to tell"
    elif s:
        noun = "axis passes" if s == 1 else "axes pass"
        why = f"the last {s} {noun} through the measured point, which hides {2 * s} parameters"
    bound = None
    if position and not relative and not kind.implicit and s == 1 and len(moves) > 1 and not others:
        # o_n = 3 with the last joint; o_{n−1} and t_{n−1} are 2 and 2 behind a revolute joint, else 1 and 1.
        bound = 6 + 4 * r + 2 * p - 3 - (2 if moves[-2].sigma else 1)
    obstacle = BOUND if kind.implicit else proof.obstacle
    certified = proof.certified and not kind.implicit
    return Counts(r, p, others, s, name, value, bound, proved, proof.gap, certified, obstacle, why, kind.implicit)


@dataclass(frozen=True)
class Proof:
    """Count by closure.

    Attributes:
        rank: number of identifiable parameters.
        base: displacements of the base that are seen: a frame that is not known takes as many away.
        saturated: maximum contribution of every joint, from the tool inwards.
        gap: smallest singular value kept over the largest dropped; inf where numbers are exact.
        certified: whether every number was exact.
        obstacle: reason why not, else empty.
    """

    rank: int
    base: int
    saturated: tuple[int, ...]
    gap: float
    certified: bool
    obstacle: str = ""


@dataclass(frozen=True, eq=False)
class Step:
    """Constant transform or the twists of a joint, from the tool inwards."""

    label: str
    T: np.ndarray | None
    twists: tuple[np.ndarray, ...] = ()

    @property
    def outwards(self) -> Step:
        """Reversed step: inverse transforms, and twists in the opposite order."""
        return replace(self, T=None if self.T is None else inverse(self.T), twists=self.twists[::-1])


def prove(model: Model, point: np.ndarray | None = None, seen_from: str | None = None) -> Proof:
    """Count the parameters that poses of the model's frame determine, or positions of a point (3,) of it; seen from
    the world, or from another frame of the robot."""
    steps = steps_between(model, point, seen_from)
    obstacle = "python-flint is not installed"
    if flint() is not None:
        try:
            return _walked(ExactRows(steps), steps, point is not None)
        except NotExact as reason:
            obstacle = str(reason)
    return _walked(FloatRows(model.scale), steps, point is not None, obstacle)


def _walked(algebra, steps: Sequence[Step], position: bool, obstacle: str = "") -> Proof:
    S = algebra.unit(3 if position else 6)
    rank, saturated = algebra.rank(S), []
    for step in steps:
        if step.T is not None:
            S = algebra.placed(S, step)
            continue
        twists = algebra.brackets(step)
        B = _block(algebra, S, twists)
        saturated.append(algebra.rank(_block(algebra, algebra.unit(6), twists)))
        rank += algebra.rank(B)
        S = algebra.basis(S, B)
    return Proof(rank, algebra.rank(S), tuple(saturated), algebra.gap, not obstacle, obstacle)


def _block(algebra, S, brackets):
    """Return the rows that appear because a joint moves."""
    B = algebra.unit(0)
    for ad in reversed(brackets):
        B = algebra.basis(B, algebra.times(S, ad))
        while 0 < algebra.rank(B) < 6:
            larger = algebra.basis(B, algebra.times(B, ad))
            if algebra.rank(larger) == algebra.rank(B):
                break
            B = larger
    return B


def steps_between(model: Model, point: np.ndarray | None, seen_from: str | None = None) -> list[Step]:
    """Return the steps from a point of the model's frame to the world, or to another frame; common steps cancel."""
    tip = _inwards(model, model.frames[0])
    if point is not None:
        tip.insert(0, Step("the measured point", transform(None, np.asarray(point, dtype=float))))
    if seen_from is None:
        return tip
    other = _inwards(model, seen_from)
    while tip and other and tip[-1].label == other[-1].label and "joint" in tip[-1].label:
        tip.pop()
        other.pop()
    return tip + [step.outwards for step in reversed(other)]


def _inwards(model: Model, name: str) -> list[Step]:
    mechanism = model.mechanism
    frame = mechanism.frame(name)
    tip = [Step(f"frame {frame.name}", frame.T_link_frame)]
    i = mechanism.link_number(frame.link)
    while i:
        joint = mechanism.joint_of(i)
        joint_label = f"joint {joint.name}"
        tip.append(Step(joint_label, joint.T_joint_child))
        if joint.type.n_v:
            columns = joint.type.subspace(joint.type.neutral()).T
            tip.append(Step(joint_label, None, tuple(np.asarray(column, dtype=float) for column in columns)))
        tip.append(Step(joint_label, joint.T_parent_joint))
        i = mechanism.tree.parents[i]
    return tip


def tail_axes_through(model: Model, point: ArrayLike = (0.0, 0.0, 0.0)) -> int:
    """Return s, the number of last joints that are revolute with axes through a point of the frame, (3,)."""
    path = model.paths[model.frames[0]]
    p = np.append(np.asarray(point, dtype=float), 1.0)
    count = 0
    for place in range(len(path) - 2, 0, -2):
        p = model.blocks[path[place + 1]].T @ p
        move = model.moves[path[place]]
        beside = np.delete(p[:3], move.axis)
        if move.sigma != 1 or np.linalg.norm(beside) > 1e-9 * model.scale:
            return count
        count += 1
    return count


TOLERANCE = 1e-10


class FloatRows:
    """Orthonormal bases with ranks by singular values; the smallest gap is recorded.

    Args:
        scale: a length, m, that makes lengths comparable with angles.
    """

    scale: float
    gap: float

    def __init__(self, scale: float):
        self.scale, self.gap = scale, np.inf

    def unit(self, n: int) -> np.ndarray:
        """Return the first n coordinates."""
        return np.eye(6)[:n]

    def rank(self, rows: np.ndarray) -> int:
        """Return the dimension of a basis."""
        return len(rows)

    def times(self, rows: np.ndarray, operator: np.ndarray) -> np.ndarray:
        """Return the images of the rows."""
        return rows @ operator

    def basis(self, *spaces: np.ndarray) -> np.ndarray:
        """Return a basis of all rows of the spaces."""
        rows = np.concatenate(spaces)
        if not len(rows):
            return rows
        _, s, Vt = np.linalg.svd(rows)
        if not s[0] > TOLERANCE:
            self.gap = min(self.gap, 1.0 / max(s[0], 1e-16))
            return np.zeros((0, 6))
        rank = int((s > TOLERANCE * s[0]).sum())
        if rank < len(s):
            self.gap = min(self.gap, float(s[rank - 1] / max(s[rank], 1e-16)))
        return Vt[:rank]

    def placed(self, rows: np.ndarray, step: Step) -> np.ndarray:
        """Return rows on the other side of a constant transform."""
        T = step.T
        assert T is not None
        return rows if len(rows) == 6 else rows @ adjoint(inverse(transform(T[:3, :3], T[:3, 3] / self.scale)))

    def brackets(self, step: Step) -> list[np.ndarray]:
        """Return ad_s = [[w×, v×], [0, w×]] of every twist s = [v, w]."""
        out = []
        for s in step.twists:
            v, w = skew(s[:3] / (self.scale if s[3:].any() else 1.0)), skew(s[3:])
            out.append(np.block([[w, v], [np.zeros((3, 3)), w]]))
        return out


class ExactRows:
    """Row echelon bases over ℚ or ℚ(√2, √3); `NotExact` if a constant has no exact value."""

    gap: float = np.inf

    def __init__(self, steps: Sequence[Step]):
        self._T = {id(step): exact_transform(step.T, step.label) for step in steps if step.T is not None}
        self._s = {id(step): [exact_twist(s, step.label) for s in step.twists] for step in steps if step.T is None}
        every = [*self._T.values(), *(s for twists in self._s.values() for s in twists)]
        self.field: Field = field_of(frozenset().union(*(A.roots for A in every)))

    def unit(self, n: int) -> Any:
        """Return the first n coordinates."""
        return _unit(self.field, n)

    def rank(self, rows: Any) -> int:
        """Return the dimension of a basis."""
        return self.field.rank(rows)

    def times(self, rows: Any, operator: Any) -> Any:
        """Return the images of the rows."""
        return rows * operator

    def basis(self, *spaces: Any) -> Any:
        """Return a basis of all rows of the spaces."""
        return self.field.basis(*spaces)

    def placed(self, rows: Any, step: Step) -> Any:
        """Return rows on the other side of a constant transform."""
        T = self._T[id(step)]
        return rows if T.identity or self.rank(rows) == 6 else rows * _carried(self.field, T)

    def brackets(self, step: Step) -> list[Any]:
        """Return ad_s of every twist."""
        return [_bracket(self.field, s) for s in self._s[id(step)]]


@lru_cache(maxsize=32)
def _unit(field: Field, n: int):
    return field.matrix([[field.number(int(i == j)) for j in range(6)] for i in range(n)], 6)


@lru_cache(maxsize=256)
def _carried(field: Field, T: Matrix):
    """Return Ad(T⁻¹) = [[Rᵀ, −Rᵀ p×], [0, Rᵀ]]."""
    R, p = [row[:3] for row in T.rows[:3]], [row[3] for row in T.rows[:3]]
    Rt = [list(column) for column in zip(*R, strict=True)]
    across = _cross_matrix(p)
    lever = [[-sum((a * across[k][j] for k, a in enumerate(row)), 0 * p[0]) for j in range(3)] for row in Rt]
    return _six_by_six(field, Rt, lever)


@lru_cache(maxsize=256)
def _bracket(field: Field, D: Matrix):
    """Return ad_s from the (4, 4) matrix of a twist."""
    w = [row[:3] for row in D.rows[:3]]
    return _six_by_six(field, w, _cross_matrix([row[3] for row in D.rows[:3]]))


def _cross_matrix(p):
    x, y, z = p
    zero = 0 * x
    return [[zero, -z, y], [z, zero, -x], [-y, x, zero]]


def _six_by_six(field: Field, diagonal, upper):
    """Return [[diagonal, upper], [0, diagonal]]."""
    rows = [[*d, *u] for d, u in zip(diagonal, upper, strict=True)] + [[0, 0, 0, *d] for d in diagonal]
    return field.matrix([[field.number(x) for x in row] for row in rows], 6)
