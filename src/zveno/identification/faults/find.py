"""All tests for faults of recordings, the cheap ones always, the others where something is amiss."""

from __future__ import annotations

import numpy as np

from ...mechanism import Mechanism
from ..fitting import Fit
from ..problem import Problem
from ..survey import Choices, Survey
from ..validation import Validation
from .fault import Fault
from .gains import gain_faults, torque_gains
from .gravity import gravity_faults
from .mixups import mixup_faults
from .recorded import recorded_faults
from .samples import samples_of

SUSPICIOUS = 0.12
"""Held-out error of a joint from which mix-ups and the direction of gravity are tried."""
LITTLE = 0.1
"""rad or m; a joint that moves less is hardly excited."""


def find_faults(
    problem: Problem, found: Survey, fit: Fit, validation: Validation, identified: Mechanism
) -> tuple[Fault, ...]:
    """What is wrong with the recordings.

    Args:
        problem, found, fit, validation: the identification so far.
        identified: the recorded mechanism with the parameters found.
    """
    names = problem.logs[0].joint_names
    faults = [*recorded_faults(problem.logs, problem.mechanism), *_timing(found.choices, problem, names)]
    faults += _motion(problem, found.choices, names)
    parts = [part.columns(fit.whole.places) for part in fit.parts]
    scales = gain_faults(torque_gains(parts, fit.whole.estimate.sigma), names)
    errors = validation.errors["identified"][found.choices.moving > 0]
    if (errors > SUSPICIOUS).any():
        samples = samples_of(found)
        askew = gravity_faults(samples, identified)
        mixed = [] if any(fault.kind == "torque sign" for fault in scales) else mixup_faults(samples, names)
        # A mix-up shows as wrong scales and as a tilt too; the larger explanation is the one that is told.
        scales, askew = ([], []) if mixed else (scales, askew)
        faults += [*mixed, *askew]
    return (*faults, *scales)


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


def _motion(problem: Problem, choices: Choices, names: tuple[str, ...]) -> list[Fault]:
    low, high = np.full(len(names), np.inf), np.full(len(names), -np.inf)
    for log in problem.logs:
        for block in log.blocks():
            low, high = np.minimum(low, block.q.min(axis=0)), np.maximum(high, block.q.max(axis=0))
    faults = []
    for j, name in enumerate(names):
        span = float(high[j] - low[j])
        if choices.moving[j] == 0 or span < LITTLE:
            unit = problem.mechanism.joint(name).type.units[0]
            text = f"{name} moves through {span:.2g} {unit} only: its friction and what it carries are hardly shown"
            faults.append(Fault("little motion", (name,), span, f"{text}. Record a larger motion"))
    return faults
