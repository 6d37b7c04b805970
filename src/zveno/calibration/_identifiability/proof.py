"""Number of identifiable parameters by closure, without sampling.

Errors of the links are twists ξ_k, fixed in the body that carries them. Seen at the measured frame, in its own
axes, the error of the pose is Σ_k Ad(T_kn⁻¹(q)) ξ_k, where T_kn leads from body k to the frame. Going from
the tool inwards, let S be the rows through which the twist of a body is seen whatever the joints further out
do: S = 1 (6×6) at the tool for poses, S = [1 0] for positions of a point. A joint moves by exp(s_1 q_1)
exp(s_2 q_2) … with constant twists s_i: one for a revolute, prismatic or helical joint, several for others.
Crossing it, rows that appear only because it moves are the coefficients of all powers of its coordinates but the
zeroth. For one twist they are the smallest space B that contains S ad_s and that ad_s maps into itself, the
closure cl(S ad_s). For several, the outermost first, B ← cl(B, S ad_s),
and the functions they stand for vanish for no error further out. So the blocks are independent, S grows by B, and

    rank = rank S_tool + Σ rank B_k.

Once S is the whole space, B has 4 rows for a revolute and 2 for a prismatic joint. Where lengths are decimals and
angles multiples of 15° all of this is done in exact numbers, and the count is proved; else in floating point, with
the gap of the decisions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from ...spatial.exact_numbers import NotExact, flint
from ...spatial.transforms import inverse, transform
from ..model.models import Model
from .row_spaces import ExactRows, FloatRows


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

    what: str
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
    while tip and other and tip[-1].what == other[-1].what and "joint" in tip[-1].what:
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
        what = f"joint {joint.name}"
        tip.append(Step(what, joint.T_joint_child))
        if joint.type.n_v:
            columns = joint.type.subspace(joint.type.neutral()).T
            tip.append(Step(what, None, tuple(np.asarray(column, dtype=float) for column in columns)))
        tip.append(Step(what, joint.T_parent_joint))
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
