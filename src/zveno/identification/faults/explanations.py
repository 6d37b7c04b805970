"""Of all that could be wrong with a recording, what explains its torques best."""

from __future__ import annotations

from collections.abc import Sequence

from ..fitting import Fit
from ..survey import Survey
from .fault import Fault
from .gains import gain_faults, torque_gains
from .geometry import geometry_faults, worth_on
from .gravity import gravity_faults
from .mixups import mixup_faults
from .samples import samples_of
from .zeros import zero_faults

SAMPLED = ("gravity", "position sign", "swapped")
"""Faults whose worth is that on samples, not on filtered rows."""
ALIKE = 0.8
"""A fault of one number that explains this share of what another geometry explains is told in its place."""


def best_explanation(found: Survey, fit: Fit, names: Sequence[str], mixups: bool) -> list[Fault]:
    """The fault that explains most, if there is one: one of these shows as the others too.

    Args:
        found, fit: what was found in the recordings.
        names: joints.
        mixups: whether joints may be mixed up.
    """
    mechanism, parameters = found.model.mechanism, fit.whole.consistent.p
    parts = [part.columns(fit.whole.places) for part in fit.parts]
    explanations = gain_faults(torque_gains(parts, fit.whole.estimate.sigma), names)
    samples = samples_of(found)
    explanations += gravity_faults(samples, mechanism, parameters)
    if mixups:
        explanations += mixup_faults(samples, names)
    best = sorted(explanations, key=lambda fault: -fault.worth)[:1]
    for fault in geometry_faults(found, fit, names):
        sampled = worth_on(samples, mechanism, parameters)
        rivals = [(each.worth, sampled if each.kind in SAMPLED else fault.worth) for each in best]
        if all(rival < ALIKE * worth for rival, worth in rivals):
            zeros = [zero for zero in zero_faults(found, fit, names) if zero.worth >= ALIKE * fault.worth]
            best = zeros or [fault]
    return best
