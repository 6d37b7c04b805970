"""Description of an identification, with curves of friction and of the spectrum of residuals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..report.description import (
    PAGE,
    TEXT,
    Bars,
    Block,
    Column,
    Curves,
    Description,
    Field,
    Series,
    Table,
    Text,
    Tone,
)

if TYPE_CHECKING:
    from ._validation import TorqueSeries
    from .result import Identification

MODELS = ("identified", "least squares", "nominal", "gravity only", "friction only")
LEVEL = 0.95
"""Probability of the band around predicted torques."""
MOST_ROWS, MOST_DOTS = 1500, 500
FEW = 12
"""Maximum number of listed names."""
LEAST_POWER = 1e-12
"""Share of the power below which a spectrum is not drawn."""


def describe_identification(result: Identification) -> Description:
    """Describe an identification: errors by joint, torques with their band, friction, spectra, parameters."""
    blocks: list[Block] = [
        Text("Faults of the recordings", [f"{fault.kind}: {fault.text}" for fault in result.faults]),
        _errors(result),
        Text("Preparation", _preparation(result), media=TEXT),
    ]
    spectrum = residual_spectrum(result.validation.series)
    for j in range(len(result.joint_names)):
        blocks += [_torque(result, j), _friction(result, j), *_spectrum(result, spectrum, j)]
    blocks += [_band(result), _sizes(result), _parameters(result), *_names(result), _notes(result)]
    tone: Tone = "good" if result.judgement.usable else "warn" if any(result.judgement.joints) else "bad"
    return Description(f"{result.nominal.name}, identified", result.summary, tone, _fields(result), blocks)


def _fields(result: Identification) -> list[Field]:
    validation, choices, judgement = result.validation, result.choices, result.judgement
    joints = {
        name: {
            "usable": judgement.joints[j],
            "reason": judgement.reasons.get(name),
            "errors": {model: validation.errors[model][j] for model in MODELS},
            "rms": validation.rms[j],
            "torque_rms": validation.torque_rms[j],
        }
        for j, name in enumerate(result.joint_names)
    }
    parameters = {
        name: {
            "value": result.values[k],
            "std": result.std[k],
            "least_squares": result.base_values[k],
            "least_squares_std": result.base_std[k],
        }
        for k, name in enumerate(result.names)
    }
    faults = [
        {"kind": fault.kind, "joints": fault.joints, "size": fault.size, "text": fault.text}
        for fault in result.faults
    ]
    overall = validation.overall
    usable = sum(judgement.joints)
    return [
        Field("robot", result.nominal.name),
        Field("status", result.status),
        Field("summary", result.summary),
        Field("joints", joints),
        Field("", overall["identified"], "", f"error on held-out {validation.held_out}", ".2%"),
        Field("", overall["nominal"], "", "error of the nominal model", ".1%"),
        Field("", f"{usable} of {len(judgement.joints)}", meaning="joints usable"),
        Field("", len(result.names), meaning=f"parameters, {len(result.not_identified)} not shown by the motion"),
        Field("overall", {model: overall[model] for model in MODELS}),
        Field("held_out", validation.held_out),
        Field("band", choices.band, "Hz", f"band, from {choices.samples} samples", ".3g"),
        Field("delay", choices.delay),
        Field("velocity_lag", choices.velocity_lag),
        Field("parameters", parameters),
        Field("covariance", result.covariance),
        Field("essential", result.essential),
        Field("not_identified", result.not_identified),
        Field("only_prior", result.only_prior),
        Field("repaired", result.repaired),
        Field("left_out", result.left_out),
        Field("faults", faults),
        Field("notes", [*result.notes, result.unseen]),
    ]


def _errors(result: Identification) -> Block:
    validation, judgement = result.validation, result.judgement
    heads = {"identified": "identified", "least squares": "l. squares", "gravity only": "gravity"}
    heads["friction only"] = "friction"
    columns = [Column("joint", [*result.joint_names, "all"])]
    for model in MODELS:
        shares = [*(100 * validation.errors[model]), 100 * validation.overall[model]]
        columns.append(Column(heads.get(model, model), [float(x) for x in shares], "%", ".3g"))
    columns.append(Column("rms", [*map(float, validation.rms), np.nan], "N·m, N", ".3g"))
    if not all(judgement.joints):
        usable = ["yes" if judgement.joints[j] else "no" for j in range(len(result.joint_names))]
        columns.append(Column("usable", [*usable, ""]))
    note = "Root mean square over that of the torque; gravity and friction: models with these terms only."
    return Table("Held-out errors", columns, note=note)


def _preparation(result: Identification) -> list[str]:
    choices = result.choices
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


def _torque(result: Identification, j: int) -> Block:
    validation, series = result.validation, result.validation.series
    half = float(np.interp(LEVEL, validation.levels, validation.quantiles[:, j])) * validation.rms[j]
    rows = slice(0, MOST_ROWS)
    moving = series.moving[rows, j]
    measured, predicted = (np.where(moving, each[rows, j], np.nan) for each in (series.measured, series.predicted))
    t = np.arange(len(measured)) * series.interval
    shown = [
        Series("measured", measured, t, muted=True),
        Series("predicted", predicted, t, low=predicted - half, high=predicted + half),
    ]
    error = validation.errors["identified"][j]
    note = f"Error {error:.1%}, band of 95 % ± {half:.2g}."
    title = f"{result.joint_names[j]}: held-out torque with its 95 % band"
    return Curves(title, shown, "s of motion", "N·m or N", note=note, span=2)


def _friction(result: Identification, j: int) -> Block:
    series = result.validation.series
    moving = np.flatnonzero(series.moving[:, j])
    some = moving[:: max(1, len(moving) // MOST_DOTS)]
    shown = [Series("measured", series.friction[some, j], series.v[some, j], style="dots", muted=True)]
    if not result.torque_names or result.torques:  # results from files hold no functions of torque columns
        v, torque = friction_curve(result, j)
        shown.append(Series("identified", torque, v))
    return Curves(f"{result.joint_names[j]}: friction", shown, "velocity", "N·m or N", span=1)


def _spectrum(result: Identification, spectrum: tuple[np.ndarray, ...], j: int) -> list[Block]:
    f, residual, torque = spectrum
    kept = f <= 2 * result.choices.band
    if not kept.any():
        return []
    shown = [
        Series("torque", np.maximum(torque[kept, j], 1e-30), f[kept], muted=True),
        Series("residual", np.maximum(residual[kept, j], 1e-30), f[kept]),
    ]
    marks = [result.choices.band]
    return [Curves(f"{result.joint_names[j]}: spectrum", shown, "Hz", "power", log_y=True, marks=marks, span=1)]


def _band(result: Identification) -> Block:
    choices = result.choices
    power = np.asarray(choices.power).reshape(len(choices.frequencies), -1)
    kept = choices.frequencies <= 4.0 * choices.band
    shown = np.maximum(power[kept], LEAST_POWER)
    names = result.joint_names if shown.shape[1] == len(result.joint_names) else ("all",)
    series = [Series(name, shown[:, j], choices.frequencies[kept]) for j, name in enumerate(names)]
    note = f"The dotted line is the band, {choices.band:.3g} Hz ({choices.band_from})."
    title = "Spectrum of the velocities"
    return Curves(
        title, series, "Hz", "share of power", log_y=True, marks=[choices.band], note=note, media=PAGE, span=4
    )


def _sizes(result: Identification) -> Block:
    """Return every parameter over its own size, or its standard deviation if that is larger."""
    std = np.where(np.isfinite(result.std), result.std, 0.0)
    prior = np.full(len(result.values), np.nan)
    prior[: len(result.kept)] = result.base.values[result.kept]
    size = np.fmax(np.fmax(abs(result.values), abs(prior)), std)
    size = np.where(size > 0, size, 1.0)
    note = "Each over the largest of its value, its nominal value and its standard deviation. Lines: ± std."
    groups = {"identified": result.values / size, "nominal": prior / size}
    title = "Parameters and how well they are known"
    return Bars(title, result.names, groups, "share", std=std / size, note=note, span=4)


def _parameters(result: Identification) -> Block:
    seen = np.isfinite(result.base_std)
    columns = [
        Column("parameter", result.names),
        Column("value", result.values.tolist(), "SI"),
        Column("std", result.std.tolist(), "SI", ".2g"),
        Column("least squares", np.where(seen, result.base_values, np.nan).tolist(), "SI"),
        Column("std of it", np.where(seen, result.base_std, np.nan).tolist(), "SI", ".2g"),
    ]
    mechanism = result.mechanism
    moved = {joint.name: i for i, joint in enumerate(mechanism.joints, start=1)}
    pairs = ", ".join(f"{moved[name]} {name}" for name in result.joint_names)
    note = f"Numbers in names are those of links, each with the joint that moves it: {pairs}."
    return Table("Parameters", columns, shown=100, note=note)


def _names(result: Identification) -> list[Block]:
    lists = (
        ("Not shown by the motion", result.not_identified),
        ("Only prior", result.only_prior),
        ("Not in the model file", result.left_out),
    )
    return [Text(title, _listed(names)) for title, names in lists]


def _listed(names: Sequence[Any]) -> list[str]:
    more = f" and {len(names) - FEW} more" if len(names) > FEW else ""
    return [", ".join(names[:FEW]) + more] if names else []


def _notes(result: Identification) -> Block:
    repaired = [f"prior of {link} repaired: {repair}" for link, repair in result.repaired.items()]
    return Text("Notes", [*repaired, *result.notes, result.unseen])


POINTS = 201
"""Number of points of a friction curve."""
WINDOWS = 8
"""Number of parts of a recording whose spectra are averaged."""


def friction_curve(result: Identification, joint: int) -> tuple[np.ndarray, np.ndarray]:
    """Return (velocities (k,), torques (k,)) of a joint's identified friction, at the usual load of the recording.

    Other joints rest, so that friction of motors that two joints turn is that of this joint alone.
    """
    series = result.validation.series
    n = len(result.joint_names)
    largest = float(result.choices.large_velocities[joint]) or 1.0
    v = np.zeros((POINTS, n))
    v[:, joint] = np.linspace(-1.1 * largest, 1.1 * largest, POINTS)
    usual = np.zeros(n)
    if len(series.t):
        usual = np.median(abs(series.measured - series.friction), axis=0)
    load = np.broadcast_to(usual[None, :, None], (POINTS, n, 1))
    model = result.model
    first = model.n_inertial
    values = model.friction_values(v[:, None], load)
    along = np.array([model.elements[column.element].direction[joint] for column in model.friction])
    return v[:, joint], values @ (along * result.values[first : first + len(model.friction)])


def residual_spectrum(series: TorqueSeries) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (Hz (k,), power of residuals (k, n), of torques (k, n)), by Welch's method over the rows kept."""
    n = series.measured.shape[1]
    length = 2 * (len(series.t) // (WINDOWS + 1))
    if length < 16:
        return np.zeros(0), np.zeros((0, n)), np.zeros((0, n))
    window = np.hanning(length)[:, None]
    powers = [np.zeros((length // 2 + 1, n)), np.zeros((length // 2 + 1, n))]
    for first in range(0, len(series.t) - length + 1, length // 2):
        part = slice(first, first + length)
        for power, x in zip(powers, (series.measured - series.predicted, series.measured), strict=True):
            power += abs(np.fft.rfft((x[part] - x[part].mean(axis=0)) * window, axis=0)) ** 2
    return np.fft.rfftfreq(length, series.interval)[1:], powers[0][1:], powers[1][1:]
