"""Numbers of identifiable parameters without a sampled Jacobian: formulas, and the closure of twists."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...io.results import registered
from ..measurements import Measurement
from ..model.models import Model
from .proof import prove, tail_axes_through


@registered
@dataclass(frozen=True)
class Counts:
    """Independent counts of the parameters a measurement can find.

    Attributes:
        revolute, prismatic: joints on the way to the frame.
        others: parameters that joints of other types add at most.
        through: s, the last revolute axes that all pass through the measured point (position only).
        formula: which one: "6+4r+2p", "(20)", "(22)" or "(24)", "+others" with joints of other types.
        value: what it gives.
        bound: the older upper bound (21), 6+4n−2p−o_n−min(o_{n−1}, t_{n−1}), for position only where one last axis
            passes through the point; None elsewhere.
        proved: rank from the closure of twists, without sampled postures.
        proof_gap: smallest singular value kept over the largest dropped in the closure; inf where it is exact.
        certified: whether the closure ran in exact numbers.
        obstacle: why it did not, else empty.
        why: what people should know where the counts differ, else empty.
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

    def agree(self, rank: int) -> bool:
        """Whether formula and closure say the same as a rank."""
        return self.value == self.proved == rank


def counts(model: Model, kind: Measurement, moved: np.ndarray | None = None) -> Counts | None:
    """Counts for poses and positions of one frame on a chain of joints of any type; None for other measurements.

    Args:
        model, kind: what is measured.
        moved: displacement (4, 4) of the frame from where it is drawn.
    """
    countable = kind.countable()
    if countable is None or any(move.joint.mimic is not None for move in model.moves) or len(model.frames) > 1:
        return None
    relative, point = countable.relative, countable.point
    position = point is not None
    if point is not None and moved is not None:
        point = moved[:3, :3] @ point + moved[:3, 3]
    r = sum(move.sigma == 1 for move in model.moves)
    p = sum(move.sigma == 0 for move in model.moves)
    s = 0 if point is None else tail_axes_through(model, point)
    proof = prove(model, point)
    others = sum(proof.saturated) - 4 * r - 2 * p
    value = (3 if position else 6) + 4 * r + 2 * p + others - 2 * s - (6 if relative else 0)
    formula = {(False, False): "6+4r+2p", (True, False): "(20)", (False, True): "(22)", (True, True): "(24)"}
    proved = proof.rank - (proof.base if relative else 0)
    why = ""
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
    if position and not relative and s == 1 and len(model.moves) > 1 and not others:
        # o_n = 3 with the last joint; o_{n−1} and t_{n−1} are 2 and 2 behind a revolute joint, else 1 and 1.
        bound = 6 + 4 * r + 2 * p - 3 - (2 if model.moves[-2].sigma else 1)
    name = formula[position, relative] + ("+others" if others else "")
    return Counts(r, p, others, s, name, value, bound, proved, proof.gap, proof.certified, proof.obstacle, why)
