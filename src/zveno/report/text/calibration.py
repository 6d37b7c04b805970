"""Identifiability and calibrations as plain data, and as tables for people."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from ...calibration.advice.next_measurement import Advice
from ...calibration.advice.proposals import SCALE
from ...calibration.identifiability.analysis import Identifiability
from ...calibration.result import Calibration
from ...calibration.use.accuracy_cells import AccuracyCells
from ...io.units import DEGREES, DEVIATIONS, ERRORS
from ...mechanism.units import coordinate_units
from .columns import shown_units

MOST = 12
"""Outliers listed."""


def identifiability_data(structure: Identifiability, by_rules: tuple[bool, str] | None = None) -> dict[str, Any]:
    """What programs want to know."""
    counts = structure.counts
    data = {
        "robot": structure.robot,
        "measurement": structure.measurement,
        "status": structure.status,
        "summary": structure.summary,
        "rank": structure.rank,
        "unknowns": list(structure.unknowns),
        "strategy": structure.strategy,
        "chosen": list(structure.chosen),
        "model": structure.text,
        "classes": dict(zip(structure.names, structure.classes, strict=True)),
        "relations": list(structure.relations),
        "gap": structure.gap if np.isfinite(structure.gap) else None,
        "formula": None
        if counts is None
        else {
            "name": counts.formula,
            "value": counts.value,
            "bound": counts.bound,
            "proved": counts.proved,
            "why": counts.why,
        },
        "certified": structure.certified,
    }
    if by_rules is not None:
        data["rules"] = {"agree": by_rules[0], "text": by_rules[1]}
    return data


def accuracy_data(cells: AccuracyCells) -> dict[str, Any]:
    """What programs want to know of the accuracy over the workspace, m."""
    return {
        "summary": cells.summary,
        "cell": cells.cell,
        "centres": cells.centres.tolist(),
        "postures": cells.number.tolist(),
        "before": cells.before.tolist(),
        "after": cells.after.tolist(),
        "worst_before": cells.worst_before.tolist(),
        "worst_after": cells.worst_after.tolist(),
        "manifest": None if cells.manifest is None else str(cells.manifest),
    }


def calibration_data(calibration: Calibration) -> dict[str, Any]:
    """What programs want to know first, and all of the result as `zveno.load_result` reads it."""
    return {
        "robot": calibration.nominal.name,
        "status": calibration.status,
        "summary": calibration.summary,
        "rows": calibration.rows,
        "parameters": [
            {"name": name, "unit": unit, "value": float(value), "std": float(std)}
            for name, unit, value, std in zip(
                calibration.names, calibration.units, calibration.values, calibration.std, strict=True
            )
        ],
        "errors": [
            {"name": after.name, "unit": after.unit, "nominal": before.rms, "calibrated": after.rms}
            for before, after in calibration.compared
        ],
        "outliers": [
            {"campaign": outlier.campaign, "row": outlier.row, "of": outlier.of} for outlier in calibration.outliers
        ],
        **calibration.to_dict(),
    }


def print_identifiability(
    console: Console, structure: Identifiability, degrees: bool = False, *, by_rules: tuple[bool, str] | None = None
) -> None:
    """Summary, irreducible model, classes and relations."""
    console.print(structure.summary, style="bold", end="\n\n")
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    table.add_row(f"model ({structure.strategy})", (structure.text))
    for word in ("identifiable", "semi-identifiable", "unidentifiable"):
        names = structure.of_class(word)
        table.add_row(word, (f"{len(names)}: {' '.join(names)}" if names else "none"))
    if structure.unknowns:
        table.add_row("found beside them", f"{len(structure.unknowns)} displacements of frames and targets")
    for k, text in enumerate(structure.expressions):
        table.add_row("only together" if not k else "", (text))
    gap = "nothing was dropped" if not np.isfinite(structure.gap) else f"{structure.gap:.1e}"
    table.add_row("gap", gap)
    if structure.counts is not None:
        counts = structure.counts
        agree = "agree" if counts.agree(structure.rank) else "differ"
        bound = "" if counts.bound is None else f", at most {counts.bound} by (21)"
        table.add_row(
            "counts", f"{counts.formula} = {counts.value}{bound}, closure of twists {counts.proved}: they {agree}"
        )
        table.add_row("proof", ("in exact numbers" if counts.certified else f"not exact: {counts.obstacle}"))
    if by_rules is not None:
        table.add_row("rules" if by_rules[0] else "rules refused", (by_rules[1]))
    console.print(table)


def print_calibration(console: Console, calibration: Calibration, degrees: bool = False) -> None:
    """Verdict, errors before and after, parameters with their uncertainty, rows that do not belong, what to measure
    next."""
    console.print(_sentences(calibration.verdict, degrees), style="bold", end="\n\n")
    console.print(_errors(calibration))
    console.print()
    console.print(_parameters(calibration, degrees))
    if calibration.outliers:
        console.print("\nrows that do not belong", style="bold")
        for outlier in calibration.outliers[:MOST]:
            console.print("  " + outlier.text)
        if len(calibration.outliers) > MOST:
            console.print(f"  … {len(calibration.outliers)} in all")
    pairs = calibration.correlated(0.95)
    if pairs:
        text = ", ".join(f"{a}/{b} {r:+.2f}" for a, b, r in pairs[:6])
        console.print(f"\nstrongly correlated: {text}")
    if calibration.advice is not None and calibration.advice.kinds:
        console.print()
        console.print(_next(calibration.advice, degrees))
        _print_first_posture(console, calibration, degrees)
    for note in calibration.notes:
        console.print(f"note: {_sentences(note, degrees)}")


def _sentences(text: str, degrees: bool) -> str:
    """Sentences of a calibration, whose angles are in rad and mrad, as they are or with angles in degrees."""

    def turned(match: re.Match[str]) -> str:
        factor = DEGREES[0] * (1e-3 if match[3] == "mrad" else 1.0)
        low, high = (f"{float(number) * factor:.3g}" if number else "" for number in match.group(1, 2))
        return f"{f'{low} to ' if low else ''}{high}{DEGREES[1]}"

    number = r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?"
    return re.sub(rf"(?:({number}) to )?({number}) (m?rad)(?![/\w])", turned, text) if degrees else text


def _print_first_posture(console: Console, calibration: Calibration, degrees: bool) -> None:
    """The posture to measure first, if more of them help; `advice.q` has all of them."""
    if calibration.advice is not None and calibration.advice.postures_help:
        factors, units = shown_units(coordinate_units(calibration.nominal), degrees)
        names, q = calibration.nominal.coordinate_names, calibration.advice.q[0] * factors
        places = [names.index(name) for name in calibration.advice.coordinates]
        console.print("measure first at " + ", ".join(f"{names[k]} {q[k]:.4g} {units[k]}".rstrip() for k in places))


def _next(advice: Advice, degrees: bool) -> Table:
    """The tool's uncertainty as it is, with more postures, and with postures of other kinds."""
    table = Table(box=None, pad_edge=False)
    table.add_column("measured next", overflow="fold")
    table.add_column("noise", no_wrap=True)
    table.add_column("tool", justify="right", no_wrap=True)
    table.add_column("would show", style="dim", overflow="fold")
    table.add_row("nothing", "", _mm(advice.now), "")
    if len(advice.q):
        more = f"{len(advice.q)} postures of {advice.campaign}"
        table.add_row((f"{more}, best chosen"), "", _mm(advice.chosen), "")
        table.add_row((f"{more}, random"), "", _mm(advice.others), "")
    for kind in advice.kinds:
        noise = _sentences(kind.noise, degrees)
        table.add_row((f"{kind.postures} {kind.text}"), noise, _mm(kind.after), " ".join(kind.shows))
    return table


def _mm(length: float) -> str:
    return f"{1e3 * length:.{_digits(1e3 * length)}f} mm"


def _errors(calibration: Calibration) -> Table:
    """A line a kind of error and noise; campaigns are named where there are several."""
    table = Table(box=None, pad_edge=False)
    single = len({error.name.partition(": ")[0] for error in calibration.baseline}) == 1
    table.add_column("errors", no_wrap=True)
    table.add_column("of")
    for name in ("rms", "mean", "max", "AP", "RP", "rows"):
        table.add_column(name, justify="right", no_wrap=True)
    for title, errors in (
        ("nominal, frames fitted", calibration.baseline),
        ("  those that belong", calibration.baseline_unflagged if calibration.outliers else ()),
        ("calibrated, rows used", calibration.training),
        ("postures not used", calibration.held_out),
        ("  those that belong", calibration.held_out_unflagged if calibration.outliers else ()),
    ):
        for k, error in enumerate(errors):
            factor, unit = ERRORS[error.unit]
            values = (error.rms, error.mean, error.max, error.accuracy, error.repeatability)
            cells = [f"{value * factor:.{_digits(value * factor)}f}" for value in values]
            name = error.name.partition(": ")[2] if single and ": " in error.name else error.name
            table.add_row("" if k else title, f"{name}, {unit}", *cells, str(error.rows))
    return table


def _digits(value: float) -> int:
    """Decimals that leave four figures or more."""
    return 3 if value < 10 else 2 if value < 100 else 1


def _parameters(calibration: Calibration, degrees: bool) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("parameter")
    table.add_column("deviation", justify="right")
    table.add_column("± std", justify="right")
    table.add_column("unit")
    table.add_column("of", style="dim")
    scales = DEVIATIONS | ({"rad": DEGREES} if degrees else {})
    for name, value, std, unit, place in zip(
        calibration.names, calibration.values, calibration.std, calibration.units, calibration.places, strict=True
    ):
        factor, shown = scales[unit]
        digits = 4 if factor < 1e6 else 1
        table.add_row(name, f"{value * factor:.{digits}f}", f"{std * factor:.{digits}f}", shown, place)
    estimated = dict(zip(calibration.unknown_names, calibration.unknown_std, strict=True))
    units, scales = calibration.number_units, scales | {"1": (1.0, "")}
    # Lengths that nothing compares with a known one are as good as the drawing.
    free = calibration.advice is not None and SCALE in calibration.advice.unseen
    for name, value in calibration.numbers.items():
        if name in estimated:
            factor, shown = scales[units[name]]
            cells = (f"{number * factor:.4f}" for number in (value, estimated[name]))
            of = "its value, if the robot has its nominal size" if free and units[name] == "m" else "its value"
            table.add_row(name, *cells, shown, of)
    return table
