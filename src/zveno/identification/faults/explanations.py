"""Choice of the fault that explains the torques of a recording best."""

from __future__ import annotations

from collections.abc import Sequence

from ..fitting import Fit
from ..survey import Survey
from .fault import Fault
from .gains import gain_faults, torque_gains
from .geometry import geometry_faults, worth_on
from .mixups import mixup_faults
from .samples import samples_of

SAMPLED = ("position sign", "swapped")
"""Faults whose worth is that on samples, not on filtered rows."""
ALIKE = 0.8
"""Share of what another geometry explains, from which a fault with one parameter is reported in its place."""


def best_explanation(found: Survey, fit: Fit, names: Sequence[str], mixups: bool) -> list[Fault]:
    """Return the fault that explains most, if there is one: each of these faults resembles the others.

    Args:
        found, fit: survey and fit of the recordings.
        names: joints.
        mixups: whether joints may be mixed up.
    """
    mechanism, parameters = found.model.mechanism, fit.whole.consistent.p
    parts = [part.columns(fit.whole.places) for part in fit.parts]
    explanations = gain_faults(torque_gains(parts, fit.whole.estimate.sigma), names)
    samples = samples_of(found)
    if mixups:
        explanations += mixup_faults(samples, names)
    best = sorted(explanations, key=lambda fault: -fault.worth)[:1]
    for fault in geometry_faults(found, fit, names):
        sampled = worth_on(samples, mechanism, parameters)
        rivals = [(each.worth, sampled if each.kind in SAMPLED else fault.worth) for each in best]
        if all(rival < ALIKE * worth for rival, worth in rivals):
            best = [fault]
    return best
