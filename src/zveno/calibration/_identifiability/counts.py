"""Numbers of identifiable parameters without a sampled Jacobian: formulas, and the closure of twists."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ...io.results import registered
from ..measurements import Measurement
from ..model.models import Model
from .proof import prove, steps_between, tail_axes_through

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
    measurements.

    Args:
        model, kind: the model, and the kind of measurement.
        moved: displacement (4, 4) of the frame from its nominal place.
        groups: touched targets.
    """
    countable = kind.countable()
    several = len(model.frames) > (1 if kind.seen_from is None else 2)
    if countable is None or several or any(move.joint.mimic is not None for move in model.moves):
        return None
    relative, point = countable.relative, countable.point
    position = point is not None
    if point is not None and moved is not None:
        point = moved[:3, :3] @ point + moved[:3, 3]
    between = {step.what for step in steps_between(model, point, kind.seen_from) if step.T is None}
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
