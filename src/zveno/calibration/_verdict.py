"""Conclusion of a calibration in words: its improvement, and what is determined well or poorly."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..fit.covariance import correlations
from ..io.expressions import DEVIATIONS, ERRORS
from ._joint_terms import IN_WORDS

if TYPE_CHECKING:
    from ._fit.errors import Error
    from .result import Calibration

WORKSHOP = 0.01
"""Length, m, that exceeds any manufacturing error of links."""
LARGER = 1.2
"""Ratio of standard deviations from which predictions are reported as less certain than the noise suggests."""
RUN = 5
"""Number of consecutive rows that suggest that something was moved."""


def verdict(result: Calibration) -> str:
    """Return a few sentences for the user, one topic per line."""
    words = [_improvement(result), _moved_tool(result), _outliers(result)]
    words += [_shared_errors(result), _joint_terms(result), _knowledge(result), _sizes(result)]
    words += [_strange(result), *_doubts(result), _predictions(result)]
    return "\n".join(word for word in words if word)


def _improvement(result: Calibration) -> str:
    """Report errors before and after on the same rows, and whether they improved."""
    word = "on postures not used" if result.held_out_unflagged else "on the postures used"
    if result.outliers and result.held_out:
        whole = zip(result.baseline, result.held_out, strict=False)
        rest = zip(result.baseline_unflagged, result.held_out_unflagged, strict=False)
        text = f"Errors {_before_and_after(whole)} on postures not used, all rows; "
        text += f"{_before_and_after(rest)} without the rows that do not belong."
    else:
        text = f"Errors {_before_and_after(result.compared)} {word}."
    if not result.names:
        errors = result.held_out_unflagged or result.training
        text = f"Frames alone were fitted; errors {_sizes_of(errors)} {word}."
    if not result.converged:
        text += " The fit did not converge."
    if result.doubt:
        text += f" The data seem not to belong to this robot: {result.doubt}. Do not use the result."
    if result.status == "worse":
        text += " The calibrated robot is worse than the nominal one: do not use it."
    elif result.names and any(after.rms > 0.95 * before.rms for before, after in result.compared):
        text += " Calibration hardly helps: the nominal geometry was as good, or the data do not reveal more."
    return text


def _sizes_of(errors: Iterable[Error]) -> str:
    scaled = [(error.rms * ERRORS[error.unit][0], ERRORS[error.unit][1]) for error in errors]
    return ", ".join(f"{rms:.3g} {unit} rms" for rms, unit in scaled)


def _before_and_after(pairs: Iterable[tuple[Error, Error]]) -> str:
    parts = []
    for before, after in pairs:
        factor, unit = ERRORS[before.unit]
        parts.append(f"{before.rms * factor:.3g} → {after.rms * factor:.3g} {unit} rms")
    return ", ".join(parts)


def _outliers(result: Calibration) -> str:
    """Report the number of outliers, and what their number and order suggest."""
    flagged = len(result.outliers)
    if not flagged:
        return ""
    share = f"{flagged} of {result.rows} rows ({100.0 * flagged / result.rows:.1f} %)"
    if result.outliers_in_doubt:
        text = f"{share} are far from the fit that was made without them: so many mean that the model is wrong "
        text += "(which joint is which, coupled joints, the frame) or that something moved, rather than the rows."
    else:
        text = f"{share} {'do not belong and were' if flagged > 1 else 'does not belong and was'} left out."
    runs = []
    for campaign in result.data:
        rows = {outlier.row for outlier in result.outliers if outlier.campaign == campaign.name}
        where = f"lines {{}} of {Path(campaign.file).name}" if campaign.file else f"rows {{}} of {campaign.name}"
        runs += [(where.format(f"{first}–{last}"), campaign.measurement) for first, last in _runs(rows)]
    if runs and result.tool_moved is None:
        places = ", ".join(where for where, _ in runs)
        apart = "a group of their own" if all(kind.implicit for _, kind in runs) else "a reference of its own"
        how = f"give them {apart}" if apart.startswith("a group") else f"give them as a campaign with {apart}"
        text += f" In {places} such rows follow each other: if something was moved there, {how}."
    return text


def _moved_tool(result: Calibration) -> str:
    """Report when the tool moved, and the remedy."""
    if result.tool_moved is None:
        return ""
    return (
        f"{result.tool_moved.text}, or the measuring system or the zero of a joint is: leave out the rows on one "
        "side of it, or measure them again."
    )


def _runs(rows: set[int]) -> list[tuple[int, int]]:
    """Return the first and last of at least `RUN` consecutive rows."""
    starts = sorted(row for row in rows if row - 1 not in rows)
    ends = sorted(row for row in rows if row + 1 not in rows)
    return [(first, last) for first, last in zip(starts, ends, strict=True) if last - first + 1 >= RUN]


def _shared_errors(result: Calibration) -> str:
    """Report the dependence between readings of one posture, or of one group."""
    words = []
    if result.shared_error_factor:
        factor = max(result.shared_error_factor.values())
        words.append(
            f"Readings of one posture share an error: {factor:.1f} of them count as one independent reading."
        )
    if result.group_sigma:
        units = {error.name.rpartition(": ")[2]: error.unit for error in result.training}
        sizes = [_size(value, units[name.rpartition(": ")[2]]) for name, value in result.group_sigma.items()]
        words.append(f"Rows of one group share an error of {', '.join(sizes)} rms: groups count, not rows.")
    return " ".join(words)


def _joint_terms(result: Calibration) -> str:
    """Report the joint terms that the data show, and their evidence."""
    if result.evidence is None:
        return ""
    fitted = ", ".join(IN_WORDS[word] for word in result.joint_terms)
    return (
        f"The data show joint terms (evidence e^{result.evidence:.0f} for all together), and they were fitted: "
        f"{fitted}. A URDF cannot hold them, `compensate` does."
    )


def _knowledge(result: Calibration) -> str:
    std = result.std
    if not len(std):
        return ""
    weak = [k for k in range(len(std)) if std[k] > _tolerable(result.units[k])]
    firm = len(std) - len(weak)
    text = f"{firm} of {len(std)} parameters are known to better than 0.5 mm or 1 mrad"
    if weak:
        weak.sort(key=lambda k: -std[k] / _tolerable(result.units[k]))
        shown = ", ".join(f"{result.names[k]} (±{_size(std[k], result.units[k])})" for k in weak[:4])
        text += f"; least known: {shown}"
    return text + "."


def _strange(result: Calibration) -> str:
    """Report links with deviations beyond any manufacturing error, unless base or tool may be the cause."""
    model = result.model
    by_hand = {
        name
        for relation in result.identifiability.relations
        if any(other in model.numbers and model.term(other).role in ("base", "tool") for other in relation)
        for name in relation
    }
    far = [
        (abs(value), f"{name} by {_size(value, unit)}")
        for name, value, std, unit in zip(result.names, result.values, result.std, result.units, strict=True)
        if unit == "m" and model.term(name).role == "link" and abs(value) > max(WORKSHOP, 5.0 * std)
        if name not in by_hand
    ]
    if not far:
        return ""
    shown = ", ".join(text for _, text in sorted(far, reverse=True)[:3])
    touched = all(campaign.measurement.implicit for campaign in result.data)
    check = "which target each row touches" if touched else "the units"
    return f"Link lengths differ much from the model ({shown}): check {check}, and whether it is the right model."


def _sizes(result: Calibration) -> str:
    """Report the assumed size of the deviations of each kind of term."""
    sizes: dict[str, list[str]] = {}
    for word, size in result.prior_std.items():
        label, _, unit = word.rstrip(")").partition(" (")
        sizes.setdefault(label, []).append(_size(size, unit))
    shown = ", ".join(f"{label} {' and '.join(values)}" for label, values in sizes.items())
    return f"Weakly determined parameters were held near nominal (prior scales: {shown})." if shown else ""


def _doubts(result: Calibration) -> list[str]:
    """Report quantities that the fit does not determine well."""
    words = []
    if result.at_bounds:
        held = ", ".join(f"{name} ({side})" for name, side in result.at_bounds.items())
        words.append(f"Bounds hold back {held}: the data ask for more, and their uncertainty is not counted.")
    r = correlations(result.covariance) - np.eye(len(result.names)) if len(result.names) else np.zeros((0, 0))
    pairs = [(i, j) for i, j in np.argwhere(abs(np.triu(r)) > 0.98)]
    if pairs:
        pairs.sort(key=lambda pair: -abs(r[pair]))
        shown = ", ".join(f"{result.names[i]} and {result.names[j]}" for i, j in pairs[:3])
        words.append(f"Hard to tell apart: {shown}.")
    inside = result.scalar_rows / max(len(result.names) + len(result.unknown_names), 1)
    if inside < 3.0:
        words.append(
            f"There are only {inside:.1f} equations an unknown; twice as many postures would reduce every "
            "uncertainty by about a third."
        )
    for seen, unseen in zip(result.training, result.held_out_unflagged, strict=False):
        if unseen.rms > 2.0 * seen.rms:
            words.append(
                "Held-out errors are more than twice those of the fit: measure more, and more varied, postures."
            )
            break
    if result.identifiability.gap < 1e3:
        words.append("The geometry is nearly degenerate: some parameters can hardly be seen.")
    return words


def _predictions(result: Calibration) -> str:
    """Report the factor by which held-out errors exceed those expected from parameters and noise."""
    larger = np.sqrt(result.covariance_factor)
    if larger < LARGER:
        return ""
    return (
        f"Errors of postures not used are up to {larger:.1f} times as large as noise and parameters say: standard "
        "deviations of predictions are so much larger."
    )


def _tolerable(unit: str) -> float:
    return {"m": 0.5e-3, "rad": 1e-3, "1": 1e-3}.get(unit, np.inf)


def _size(value: float, unit: str) -> str:
    factor, shown = DEVIATIONS[unit]
    if unit == "m" and abs(value) >= 1.0:
        factor, shown = 1.0, "m"
    size = f"{value * factor:.2g}"
    return f"{size if 'e' not in size else f'{value * factor:.0f}'} {shown}"
