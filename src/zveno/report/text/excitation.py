"""Exciting trajectories as plain data, and as tables for people."""

from __future__ import annotations

from typing import Any

import numpy as np
from rich.console import Console

from ...design.excitation.result import Excitation
from .columns import Column, number, print_columns, shown_units

SHOWN = 12
"""Parameters listed, those known worst; all are in the result."""


def excitation_data(motion: Excitation) -> dict[str, Any]:
    """What programs want to know."""
    before = motion.sigma_before
    return {
        "robot": motion.robot,
        "status": motion.status,
        "summary": motion.summary,
        "duration": motion.duration,
        "basis": motion.basis,
        "criterion": motion.criterion,
        "joints": list(motion.joint_names),
        "held": motion.held,
        "coefficients": motion.curve.coefficients.tolist(),
        "log_det": motion.log_det,
        "condition": motion.condition,
        "over_random": motion.over_random,
        "peaks": {name: share.tolist() for name, share in motion.peaks.items()},
        "parameters": [
            {
                "name": name,
                "expression": expression,
                "sigma": float(motion.sigma[k]),
                "sigma_before": None if before is None or not np.isfinite(before[k]) else float(before[k]),
            }
            for k, (name, expression) in enumerate(zip(motion.names, motion.expressions, strict=True))
        ],
        "notes": list(motion.notes),
    }


def print_excitation(console: Console, motion: Excitation, degrees: bool = False) -> None:
    """How far every joint goes, what of its limits it uses, and how well parameters will be known."""
    console.print(motion.summary, style="bold", end="\n\n")
    _print_joints(console, motion, degrees)
    console.print()
    _print_parameters(console, motion)
    for note in motion.notes:
        console.print(f"note: {note}")


def _print_joints(console: Console, motion: Excitation, degrees: bool) -> None:
    factors, units = shown_units(motion.units, degrees)
    low, high = motion.extent
    digits = 1 if degrees else 3
    columns = [
        Column("joint", list(motion.joint_names)),
        Column("from", [number(x, digits) for x in low * factors], "" if len(set(units)) > 1 else units[0]),
        Column("to", [number(x, digits) for x in high * factors], "" if len(set(units)) > 1 else units[0]),
    ]
    for name, share in motion.peaks.items():
        if name != "position":
            columns.append(Column(name, [f"{100 * x:.0f}" for x in share], "% of limit"))
    print_columns(console, columns)


def _print_parameters(console: Console, motion: Excitation) -> None:
    order = np.argsort(-motion.sigma)[:SHOWN]
    noise = motion.torque_sigma
    said = f"{noise[0]:.3g}" if np.ptp(noise) == 0.0 else f"{noise.min():.3g} to {noise.max():.3g}"
    console.print(f"σ for torques known to {said} N·m or N, {motion.rate:g} samples a second, one period:")
    columns = [Column("parameter", [motion.names[k] for k in order])]
    if motion.sigma_before is not None:
        before = motion.sigma_before
        columns.append(Column("before", [f"{before[k]:.3g}" if np.isfinite(before[k]) else "?" for k in order]))
    columns.append(Column("σ", [f"{motion.sigma[k]:.3g}" for k in order]))
    print_columns(console, columns)
    if len(motion.names) > SHOWN:
        console.print(f"{len(motion.names) - SHOWN} more are known better")
