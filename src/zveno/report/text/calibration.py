"""Identifiability and calibrations as plain data, and as tables for people."""

from __future__ import annotations

from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from ...calibration.advice.next_measurement import Advice
from ...calibration.identifiability.analysis import Identifiability
from ...calibration.result import Calibration
from ...io.units import DEGREES, DEVIATIONS, ERRORS
from ...mechanism.units import coordinate_units
from .columns import shown_units

MOST = 12
"""Outliers listed."""


def identifiability_data(found: Identifiability, by_rules: tuple[bool, str] | None = None) -> dict[str, Any]:
    """What programs want to know."""
    counts = found.counts
    data = {
        "robot": found.robot,
        "measurement": found.measurement,
        "status": found.status,
        "summary": found.summary,
        "rank": found.rank,
        "unknowns": list(found.unknowns),
        "strategy": found.strategy,
        "chosen": list(found.chosen),
        "model": found.text,
        "classes": dict(zip(found.names, found.classes, strict=True)),
        "relations": list(found.relations),
        "gap": found.gap if np.isfinite(found.gap) else None,
        "formula": None
        if counts is None
        else {
            "name": counts.formula,
            "value": counts.value,
            "bound": counts.bound,
            "proved": counts.proved,
            "why": counts.why,
        },
        "certified": found.certified,
    }
    if by_rules is not None:
        data["rules"] = {"agree": by_rules[0], "text": by_rules[1]}
    return data


def print_identifiability(
    console: Console, found: Identifiability, degrees: bool = False, *, by_rules: tuple[bool, str] | None = None
) -> None:
    """Summary, irreducible model, classes and relations."""
    console.print(found.summary, style="bold", end="\n\n")
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    table.add_row(f"model ({found.strategy})", (found.text))
    for word in ("identifiable", "semi-identifiable", "unidentifiable"):
        names = found.of_class(word)
        table.add_row(word, (f"{len(names)}: {' '.join(names)}" if names else "none"))
    if found.unknowns:
        table.add_row("found beside them", f"{len(found.unknowns)} displacements of frames and targets")
    for k, text in enumerate(found.expressions):
        table.add_row("only together" if not k else "", (text))
    gap = "nothing was dropped" if not np.isfinite(found.gap) else f"{found.gap:.1e}"
    table.add_row("gap", gap)
    if found.counts is not None:
        counts = found.counts
        agree = "agree" if counts.agree(found.rank) else "differ"
        bound = "" if counts.bound is None else f", at most {counts.bound} by (21)"
        table.add_row(
            "counts", f"{counts.formula} = {counts.value}{bound}, closure of twists {counts.proved}: they {agree}"
        )
        table.add_row("proof", ("in exact numbers" if counts.certified else f"not exact: {counts.obstacle}"))
    if by_rules is not None:
        table.add_row("rules" if by_rules[0] else "rules refused", (by_rules[1]))
    console.print(table)


def print_calibration(console: Console, found: Calibration, degrees: bool = False) -> None:
    """Verdict, errors before and after, parameters with their uncertainty, rows that do not belong, what to measure
    next."""
    console.print(found.verdict, style="bold", end="\n\n")
    console.print(_errors(found))
    console.print()
    console.print(_parameters(found, degrees))
    if found.outliers:
        console.print("\nrows that do not belong", style="bold")
        for one in found.outliers[:MOST]:
            console.print("  " + one.text)
        if len(found.outliers) > MOST:
            console.print(f"  … {len(found.outliers)} in all")
    pairs = found.correlated(0.95)
    if pairs:
        text = ", ".join(f"{a}/{b} {r:+.2f}" for a, b, r in pairs[:6])
        console.print(f"\nstrongly correlated: {text}")
    if found.advice is not None and found.advice.kinds:
        console.print()
        console.print(_next(found.advice))
        _print_first_posture(console, found, degrees)
    for note in found.notes:
        console.print(f"note: {note}")


def _print_first_posture(console: Console, found: Calibration, degrees: bool) -> None:
    """The posture to measure first; `advice.q` has all of them."""
    if found.advice is not None and len(found.advice.q):
        factors, units = shown_units(coordinate_units(found.nominal), degrees)
        names, q = found.nominal.coordinate_names, found.advice.q[0] * factors
        places = [names.index(name) for name in found.advice.coordinates]
        console.print("measure first at " + ", ".join(f"{names[k]} {q[k]:.4g} {units[k]}".rstrip() for k in places))


def _next(advice: Advice) -> Table:
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
    for one in advice.kinds:
        table.add_row((f"{one.postures} {one.text}"), one.noise, _mm(one.after), " ".join(one.shows))
    return table


def _mm(length: float) -> str:
    return f"{1e3 * length:.{_digits(1e3 * length)}f} mm"


def _errors(found: Calibration) -> Table:
    """A line a kind of error and noise; campaigns are named where there are several."""
    table = Table(box=None, pad_edge=False)
    single = len({error.name.partition(": ")[0] for error in found.baseline}) == 1
    table.add_column("errors", no_wrap=True)
    table.add_column("of")
    for name in ("rms", "mean", "max", "AP", "RP", "rows"):
        table.add_column(name, justify="right", no_wrap=True)
    for title, errors in (
        ("nominal, frames fitted", found.baseline),
        ("  those that belong", found.baseline_unflagged if found.outliers else ()),
        ("calibrated, rows used", found.training),
        ("postures not used", found.held_out),
        ("  those that belong", found.held_out_unflagged if found.outliers else ()),
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


def _parameters(found: Calibration, degrees: bool) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("parameter")
    table.add_column("deviation", justify="right")
    table.add_column("± std", justify="right")
    table.add_column("unit")
    table.add_column("of", style="dim")
    scales = DEVIATIONS | ({"rad": DEGREES} if degrees else {})
    for name, value, std, unit, place in zip(
        found.names, found.values, found.std, found.units, found.places, strict=True
    ):
        factor, shown = scales[unit]
        digits = 4 if factor < 1e6 else 1
        table.add_row(name, f"{value * factor:.{digits}f}", f"{std * factor:.{digits}f}", shown, place)
    return table
