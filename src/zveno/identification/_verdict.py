"""Conclusion in words: joints the model may be used for, and reasons against the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..io.results import registered
from ._faults.fault import Fault
from ._survey import Choices
from ._validation import Validation

LARGEST_ERROR = 0.3
"""Held-out error from which predictions of a joint's torques are not useful: 9 % of their power is left."""
BETTER = 0.9
"""Share of the error of models without a recording that the error must be below, or nothing was learnt; and overall
share of the error of friction alone, or nothing was learnt about inertia."""
FOREIGN = {
    "geometry": "other joint axes. Is it a recording of this robot?",
    "joint zero": "another zero of a joint. Are positions counted from the model's zeros?",
}
"""Faults by which the chain is not the model's, with a question to the user."""
COARSE = 0.25
"""Error of a joint that is usable with care."""


@registered
@dataclass(frozen=True)
class Verdict:
    """Usability of the identified model.

    Attributes:
        usable: whether all joints are usable.
        joints: (n,) whether each joint is usable.
        reasons: joint → reason why it is not usable.
        text: conclusion in words.
    """

    usable: bool
    joints: tuple[bool, ...]
    reasons: dict[str, str]
    text: str


def judged(
    names: Sequence[str],
    validation: Validation,
    choices: Choices,
    unseen: Sequence[str],
    faults: Sequence[Fault],
) -> Verdict:
    """Return the conclusion about an identification.

    Args:
        names: joints.
        validation: errors on data not fitted.
        choices: preparation of the rows.
        unseen: parameters that the motion does not show.
        faults: of the recordings.
    """
    errors = validation.errors["identified"]
    reasons = {}
    for j, name in enumerate(names):
        known = {word: float(validation.errors[word][j]) for word in ("nominal", "gravity only")}
        best = min(known, key=lambda word: known[word])
        if choices.moving[j] == 0:
            reasons[name] = "it does not move"
        elif errors[j] > LARGEST_ERROR:
            reasons[name] = f"{errors[j]:.0%} of its torque is not explained"
        elif errors[j] > BETTER * known[best] and known[best] < LARGEST_ERROR:
            reasons[name] = (
                f"the {best} model predicts its torque as well ({known[best]:.1%} against {errors[j]:.1%})"
            )
    overall, friction = (validation.overall[word] for word in ("identified", "friction only"))
    strange = overall > BETTER * friction
    if strange:  # joints without gravity may be all friction; a whole robot is not
        reasons = {name: reasons.get(name, "friction alone predicts as well") for name in names}
    foreign = [fault for fault in faults if fault.kind in FOREIGN]
    if foreign:  # torques may be predicted, but bodies and wrenches would be those of another chain
        reasons = {name: reasons.get(name, "its torques do not fit the robot's geometry") for name in names}
    joints = tuple(name not in reasons for name in names)
    where = "logs that were not fitted" if validation.held_out == "logs" else "blocks that were not fitted"
    figure = f"torques up to {choices.band:.3g} Hz are predicted to {overall:.1%} on {where}"
    if all(joints):
        text = f"Usable: {figure} (nominal model {validation.overall['nominal']:.0%})."
        careful = [name for j, name in enumerate(names) if errors[j] > COARSE]
        text += f" With care: {', '.join(careful)}." if careful else ""
    elif any(joints):
        text = f"Usable for {', '.join(name for name in names if name not in reasons)}: {figure}. "
        text += "Not usable: " + "; ".join(f"{name}, {why}" for name, why in reasons.items()) + "."
    elif strange:
        text = f"Not usable: {figure}, and by friction alone to {friction:.1%}: nothing was learnt about inertia. "
        text += "Is it a recording of this robot, and does it move fast enough?"
    elif foreign:
        text = f"Not usable: {figure}, and better with {FOREIGN[foreign[0].kind]}"
    else:
        text = f"Not usable: {figure}; " + "; ".join(f"{name}: {why}" for name, why in reasons.items()) + "."
    if unseen:
        shown = ", ".join(unseen[:8]) + (f" and {len(unseen) - 8} more" if len(unseen) > 8 else "")
        text += f" The motion does not show {shown}."
    late = np.isfinite(choices.velocity_lag) & ~choices.recorded_velocity
    if late.any():
        worst = abs(choices.velocity_lag[late]).max()
        text += f" Recorded velocities come up to {1e3 * worst:.0f} ms late and were not used."
    return Verdict(all(joints), joints, reasons, text)
