"""Tests for faults of recordings: cheap ones always, the others if errors are large."""

from __future__ import annotations

import numpy as np

from ..fitting import Fit
from ..problem import Problem
from ..survey import Choices, Survey
from ..validation import Validation
from .explanations import best_explanation
from .fault import Fault
from .recorded import recorded_faults

SUSPICIOUS = 0.12
"""Held-out error of a joint from which mix-ups are tested: they leave more."""
LITTLE = 0.1
"""Range of motion, rad or m, below which a joint is hardly excited."""


def find_faults(problem: Problem, found: Survey, fit: Fit, validation: Validation) -> tuple[Fault, ...]:
    """Find the faults of the recordings that were fitted."""
    names = problem.logs[0].joint_names
    recorded = recorded_faults(problem.logs)
    faults = [*recorded, *_timing(found.choices, problem, names), *_motion(problem, found, names)]
    if any(fault.kind == "saturation" for fault in recorded):
        return tuple(faults)  # torques that are cut off look like wrong scales
    errors = validation.errors["identified"][found.choices.moving > 0]
    best = best_explanation(found, fit, names, mixups=bool((errors > SUSPICIOUS).any()))
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


def _motion(problem: Problem, found: Survey, names: tuple[str, ...]) -> list[Fault]:
    motions = [motion.q for motion in found.preparation.thinned.motions()]
    span = np.max([q.max(axis=0) for q in motions], axis=0) - np.min([q.min(axis=0) for q in motions], axis=0)
    faults = []
    for j, name in enumerate(names):
        if found.choices.moving[j] == 0 or span[j] < LITTLE:
            unit = problem.mechanism.joint(name).type.units[0]
            text = f"{name} moves through {span[j]:.2g} {unit} only: its friction and what it carries hardly show"
            faults.append(Fault("little motion", (name,), float(span[j]), f"{text}. Record a larger motion"))
    return faults
