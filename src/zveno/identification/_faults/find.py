"""Tests for faults of recordings: cheap ones always, others if errors are large; the best one is reported."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .._estimate import Normal, normals
from .._fitting import Fit
from .._problem import Problem
from .._rows import accumulate, rows_of
from .._selection import with_sliding
from .._survey import Choices, Survey
from .._validation import Validation
from ..model import TorqueModel
from .fault import Fault
from .gains import gain_faults, torque_gains
from .geometry import geometry_faults, worth_on
from .mixups import mixup_faults
from .recorded import recorded_faults
from .samples import samples_of

SUSPICIOUS = 0.12
"""Held-out error of a joint from which mix-ups are tested: they leave more."""
LITTLE = 0.1
"""Range of motion, rad or m, below which a joint is hardly excited."""


def find_faults(problem: Problem, surveyed: Survey, fit: Fit, validation: Validation) -> tuple[Fault, ...]:
    """Find the faults of the recordings that were fitted."""
    names = problem.logs[0].joint_names
    recorded = recorded_faults(problem.logs)
    faults = [*recorded, *_timing(surveyed.choices, problem, names), *_motion(problem, surveyed, names)]
    if any(fault.kind == "saturation" for fault in recorded):
        return tuple(faults)  # torques that are cut off look like wrong scales
    errors = validation.errors["identified"][surveyed.choices.moving > 0]
    best = best_explanation(surveyed, fit, names, mixups=bool((errors > SUSPICIOUS).any()))
    faults = [fault for fault in faults if fault.kind != "delay" or not best]  # it shows as a delay too
    return (*faults, *best)


def _timing(choices: Choices, problem: Problem, names: tuple[str, ...]) -> list[Fault]:
    faults = []
    if choices.delay and problem.delay is None:
        text = f"torques come {1e3 * choices.delay:.2g} ms after positions; this was taken back"
        faults.append(Fault("delay", names, choices.delay, f"{text}. Record both by one clock if you can"))
    step = min(log.step for log in problem.logs)
    late = [j for j in range(len(names)) if choices.velocity_lag[j] >= step]
    if late:
        lags = ", ".join(f"{names[j]} {1e3 * choices.velocity_lag[j]:.0f} ms" for j in late)
        worst = float(max(choices.velocity_lag[j] for j in late))
        text = f"recorded velocities come late ({lags}) and were not used"
        faults.append(Fault("late velocity", tuple(names[j] for j in late), worst, f"{text}. They are filtered"))
    return faults


def _motion(problem: Problem, surveyed: Survey, names: tuple[str, ...]) -> list[Fault]:
    entries = [problem.mechanism.q_slices[name].start for name in names]
    motions = [motion.q[:, entries] for motion in surveyed.preparation.thinned.motions()]
    span = np.max([q.max(axis=0) for q in motions], axis=0) - np.min([q.min(axis=0) for q in motions], axis=0)
    faults = []
    for j, name in enumerate(names):
        if surveyed.choices.moving[j] == 0 or span[j] < LITTLE:
            unit = problem.mechanism.joint(name).type.units[0]
            text = f"{name} moves through {span[j]:.2g} {unit} only: its friction and what it carries hardly show"
            faults.append(Fault("little motion", (name,), float(span[j]), f"{text}. Record a larger motion"))
    return faults


SAMPLED = ("position sign", "swapped")
"""Faults whose worth is that on samples, not on filtered rows."""
ALIKE = 0.8
"""Share of what another geometry explains, from which a fault with one parameter is reported in its place."""


def best_explanation(surveyed: Survey, fit: Fit, names: Sequence[str], mixups: bool) -> list[Fault]:
    """Return the fault that explains most, if there is one: each of these faults resembles the others.

    Friction that the model lacks resembles them too, so the fault must also explain something beside all friction.

    Args:
        surveyed, fit: survey and fit of the recordings.
        names: joints.
        mixups: whether joints may be mixed up.
    """
    chosen = surveyed.model.with_friction(fit.whole.friction)
    best = _best(surveyed, chosen, [part.columns(fit.whole.places) for part in fit.parts], fit, names, mixups)
    if best:
        chosen = with_sliding(chosen)
        rows = rows_of(surveyed.preparation.thinned, chosen, surveyed.rest, surveyed.loads[:, :1])
        best = _best(surveyed, chosen, normals(accumulate(chosen, rows, surveyed.edges)), fit, names, mixups)
    return best


def _best(
    surveyed: Survey, chosen: TorqueModel, parts: Sequence[Normal], fit: Fit, names: Sequence[str], mixups: bool
) -> list[Fault]:
    """Return `best_explanation` beside a model with its normal equations by block."""
    mechanism, parameters = surveyed.model.mechanism, fit.whole.consistent.p
    explanations = gain_faults(torque_gains(parts, fit.whole.estimate.sigma), names)
    if surveyed.model.closed is not None:  # other signs and axes close the loops at other angles
        return sorted(explanations, key=lambda fault: -fault.worth)[:1]
    samples = samples_of(surveyed)
    if mixups:
        explanations += mixup_faults(samples, names)
    best = sorted(explanations, key=lambda fault: -fault.worth)[:1]
    for fault in geometry_faults(surveyed, chosen, fit, names):
        sampled = worth_on(samples, mechanism, parameters)
        rivals = [(each.worth, sampled if each.kind in SAMPLED else fault.worth) for each in best]
        if all(rival < ALIKE * worth for rival, worth in rivals):
            best = [fault]
    return best
