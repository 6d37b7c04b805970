"""Identifications as plain data, and as tables for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from ...identification.result import Identification
from ...io.logs.log import Log

MODELS = ("identified", "least squares", "nominal", "gravity only", "friction only")
HEADS = {
    "identified": "identi-\nfied",
    "least squares": "least\nsquares",
    "gravity only": "gravity\nonly",
    "friction only": "friction\nonly",
}
FEW = 12
"""Names that are listed."""


def identification_data(identification: Identification, logs: Sequence[Log] = ()) -> dict[str, Any]:
    """What programs want to know: verdict, errors, choices, parameters with their covariance."""
    validation, choices = identification.validation, identification.choices
    return {
        "robot": identification.nominal.name,
        "status": identification.status,
        "summary": identification.summary,
        "logs": [{"source": log.source, "rows": len(log), "account": list(log.account)} for log in logs],
        "joints": {
            name: {
                "usable": identification.judgement.joints[j],
                "reason": identification.judgement.reasons.get(name),
                "errors": {model: _plain(validation.errors[model][j]) for model in MODELS},
                "rms": _plain(validation.rms[j]),
                "torque_rms": _plain(validation.torque_rms[j]),
            }
            for j, name in enumerate(identification.joint_names)
        },
        "overall": {model: _plain(validation.overall[model]) for model in MODELS},
        "held_out": validation.held_out,
        "band": choices.band,
        "delay": choices.delay,
        "velocity_lag": [_plain(x) for x in choices.velocity_lag],
        "parameters": {
            name: {
                "value": _plain(identification.values[k]),
                "std": _plain(identification.std[k]),
                "least_squares": _plain(identification.base_values[k]),
                "least_squares_std": _plain(identification.base_std[k]),
            }
            for k, name in enumerate(identification.names)
        },
        "covariance": [[_plain(x) for x in row] for row in identification.covariance],
        "essential": list(identification.essential),
        "not_identified": list(identification.not_identified),
        "only_prior": list(identification.only_prior),
        "repaired": identification.repaired,
        "left_out": list(identification.left_out),
        "faults": [
            {"kind": fault.kind, "joints": list(fault.joints), "size": _plain(fault.size), "text": fault.text}
            for fault in identification.faults
        ],
        "notes": [*identification.notes, identification.unseen],
    }


def _plain(x: Any) -> float | None:
    return float(x) if np.isfinite(x) else None


def print_identification(
    console: Console, identification: Identification, degrees: bool = False, *, logs: Sequence[Log] = ()
) -> None:
    """Verdict, what the recordings were taken for, errors by joint, choices, and parameters."""
    console.print(identification.summary, style="bold", end="\n\n")
    for log in logs:
        console.print(log.source, style="bold")
        for line in log.account:
            console.print(f"  {line}")
    if logs:
        console.print()
    for fault in identification.faults:
        console.print(f"fault ({fault.kind}): {fault.text}", style="bold red")
    if identification.faults:
        console.print()
    console.print(_errors(identification))
    console.print()
    for line in _choices(identification):
        console.print(line)
    console.print()
    console.print(_parameters(identification))
    console.print(_numbers(identification))
    for word, names in (
        ("not shown by the motion", identification.not_identified),
        ("only prior", identification.only_prior),
        ("not in the model file", identification.left_out),
    ):
        if names:
            more = f" and {len(names) - FEW} more" if len(names) > FEW else ""
            console.print(f"{word}: {', '.join(names[:FEW])}{more}")
    for link, what in identification.repaired.items():
        console.print(f"prior of {link} repaired: {what}")
    for note in (*identification.notes, identification.unseen):
        console.print(f"note: {note}")


def _errors(identification: Identification) -> Table:
    validation = identification.validation
    table = Table(box=None, pad_edge=False, collapse_padding=True)
    table.add_column("held-out error", no_wrap=True)
    for model in MODELS:
        # Two short words a head, so that 80 columns hold all of them.
        table.add_column(HEADS.get(model, model), justify="right", no_wrap=True)
    table.add_column("rms", justify="right", no_wrap=True)
    table.add_column("of\ntorque", justify="right", no_wrap=True)
    if not all(identification.judgement.joints):
        table.add_column("", no_wrap=True)
    for j, name in enumerate(identification.joint_names):
        cells = [f"{validation.errors[model][j]:.1%}" for model in MODELS]
        usable = [] if identification.judgement.joints[j] else ["not usable"]
        table.add_row(name, *cells, f"{validation.rms[j]:.3g}", f"{validation.torque_rms[j]:.3g}", *usable)
    table.add_row("all", *(f"{validation.overall[model]:.1%}" for model in MODELS), style="bold")
    return table


def _choices(identification: Identification) -> list[str]:
    choices = identification.choices
    lines = [
        f"band {choices.band:.3g} Hz ({choices.band_from}), {choices.samples} samples, {choices.rows} rows; "
        f"{choices.margin:.2g} s lost at every end",
        f"delay of the torques {1e3 * choices.delay:.3g} ms taken back (least residual at "
        f"{1e3 * choices.delay_found:.3g} ms)",
    ]
    if np.isfinite(choices.velocity_lag).any():
        late = ", ".join(f"{1e3 * lag:.3g}" for lag in choices.velocity_lag)
        used = "used" if choices.recorded_velocity.all() else "used where they are not late"
        used = used if choices.recorded_velocity.any() else "not used"
        lines.append(f"recorded velocities come {late} ms late; {used}")
    return lines


def _numbers(identification: Identification) -> str:
    """Which link and joint a number in the name of a parameter is."""
    mechanism = identification.mechanism
    moved = {joint.name: i for i, joint in enumerate(mechanism.joints, start=1)}
    pairs = [f"{moved[name]} {name}" for name in identification.joint_names]
    return f"numbers in names are those of links, each with the joint that moves it: {', '.join(pairs)}"


def _parameters(identification: Identification) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("parameter", no_wrap=True)
    for head in ("value", "std", "least squares", "std"):
        table.add_column(head, justify="right")
    for k, name in enumerate(identification.names):
        spread = identification.base_std[k]
        table.add_row(
            name,
            f"{identification.values[k]:.5g}",
            f"{identification.std[k]:.2g}",
            f"{identification.base_values[k]:.5g}" if np.isfinite(spread) else "-",
            f"{spread:.2g}" if np.isfinite(spread) else "not shown",
        )
    return table
