"""The report of an identification."""

from __future__ import annotations

import numpy as np

from ...identification.curves import friction_curve, residual_spectrum
from ...identification.result import Identification
from ..pictures.identification import LEVEL
from ..text.identification import MODELS
from .blocks import Block, Series, bars, lines, points, record, table, words
from .page import Chapter

MOST_ROWS, MOST_DOTS = 3000, 500
CURVE = 60
"""Dots of a friction curve, few enough for the measured ones to be seen."""
LEAST_POWER = 1e-12
"""Share of the power below which a spectrum is not followed."""
SEEN = 4.0
"""Frequencies shown, in bands."""


def identification_chapter(result: Identification) -> Chapter:
    """Errors by joint, measured against predicted torque with its band, friction, spectra, parameters."""
    blocks = [_errors(result)]
    spectrum = residual_spectrum(result.validation.series)
    for j in range(len(result.joint_names)):
        blocks += [_torque(result, j), _friction(result, j)]
        if len(spectrum[0]):
            blocks.append(_spectrum(result, spectrum, j))
    blocks += [_band(result), _sizes(result), _parameters(result)]
    told = [f"{fault.kind}: {fault.text}" for fault in result.faults]
    told += [f"prior of {link} repaired: {what}" for link, what in result.repaired.items()]
    blocks.append(words("Notes", [*told, *result.notes, result.unseen]))
    tone = "good" if result.judgement.usable else "warn" if any(result.judgement.joints) else "bad"
    return Chapter(f"{result.nominal.name}, identified", result.verdict, tone, _tiles(result), tuple(blocks))


def _tiles(result: Identification) -> tuple[tuple[str, str], ...]:
    overall, usable = result.validation.overall, result.judgement.joints
    return (
        (f"{overall['identified']:.2%}", f"error on held-out {result.validation.held_out}"),
        (f"{overall['nominal']:.1%}", "error of the nominal model"),
        (f"{sum(usable)} of {len(usable)}", "joints usable"),
        (f"{len(result.names)}", f"parameters, {len(result.not_identified)} not shown by the motion"),
        (f"{result.choices.band:.3g} Hz", f"band, from {result.choices.samples} samples"),
    )


def _errors(result: Identification) -> Block:
    validation = result.validation
    rows = [
        [
            name,
            *(f"{100 * validation.errors[model][j]:.3g}" for model in MODELS),
            validation.rms[j],
            "yes" if result.judgement.joints[j] else result.judgement.reasons.get(name, "no"),
        ]
        for j, name in enumerate(result.joint_names)
    ]
    rows.append(["all", *(f"{100 * validation.overall[model]:.3g}" for model in MODELS), "", ""])
    head = ("joint", *(f"{model}, %" for model in MODELS), "rms, N·m", "usable")
    return table("Held-out errors, share of the torque", head, rows, wide=True)


def _band(result: Identification) -> Block:
    choices = result.choices
    power = np.asarray(choices.power)
    power = power if power.ndim == 2 else power[:, None]
    kept = choices.frequencies <= SEEN * choices.band
    shown = np.maximum(power[kept], LEAST_POWER)
    series = [Series(name, shown[:, j], choices.frequencies[kept]) for j, name in enumerate(result.joint_names)]
    note = f"The dashed line is the chosen band, {choices.band:.3g} Hz ({choices.band_from})."
    title = "Spectrum of the velocities"
    return lines(title, series, "Hz", "share of power", log_y=True, marks=[choices.band], note=note)


def _torque(result: Identification, j: int) -> Block:
    validation, series = result.validation, result.validation.series
    rows = slice(0, MOST_ROWS)
    half = float(np.interp(LEVEL, validation.levels, validation.quantiles[:, j])) * validation.rms[j]
    moving = series.moving[rows, j]
    measured, predicted = (np.where(moving, each[rows, j], np.nan) for each in (series.measured, series.predicted))
    t = np.arange(len(measured)) * series.interval
    shown = [
        Series("measured", measured, color="muted"),
        Series("predicted", predicted, low=predicted - half, high=predicted + half, color="accent"),
    ]
    title = f"{result.joint_names[j]}: torque, held out, with its 95 % band"
    return record(title, t, shown, "s of motion", "N·m or N")


def _friction(result: Identification, j: int) -> Block:
    series = result.validation.series
    moving = np.flatnonzero(series.moving[:, j])
    some = moving[:: max(1, len(moving) // MOST_DOTS)]
    shown = [
        Series("measured less inertia and gravity", series.friction[some, j], series.v[some, j], color="muted")
    ]
    if not result.torque_names or result.torques:
        v, torque = friction_curve(result, j)
        some = slice(None, None, max(1, len(v) // CURVE))
        shown.append(Series("identified", torque[some], v[some], color="accent"))
    return points(f"{result.joint_names[j]}: friction", shown, "velocity, rad/s or m/s", "N·m or N")


def _spectrum(result: Identification, spectrum: tuple[np.ndarray, ...], j: int) -> Block:
    f, residual, torque = spectrum
    kept = f <= 2 * result.choices.band
    shown = [
        Series("torque", np.maximum(torque[kept, j], 1e-30), f[kept], color="muted"),
        Series("not explained", np.maximum(residual[kept, j], 1e-30), f[kept], color="bad"),
    ]
    title = f"{result.joint_names[j]}: spectrum"
    return lines(title, shown, "Hz", "power", log_y=True, marks=[result.choices.band])


def _sizes(result: Identification) -> Block:
    """Every parameter over the largest of its value and standard deviation, so that all fit one axis."""
    std = np.where(np.isfinite(result.std), result.std, 0.0)
    size = np.maximum(np.maximum(abs(result.values), std), 1e-300)
    note = "Each over its own size, or its standard deviation where that is larger. Lines: ± 2 standard deviations."
    title = "Parameters and how well they are known"
    return bars(title, result.names, result.values / size, "share", std=std / size, note=note)


def _parameters(result: Identification) -> Block:
    rows = []
    for k, name in enumerate(result.names):
        seen = np.isfinite(result.base_std[k])
        least = (f"{result.base_values[k]:.5g}", f"{result.base_std[k]:.2g}") if seen else ("–", "not shown")
        rows.append([name, result.values[k], f"{result.std[k]:.2g}", *least])
    return table("Parameters", ("parameter", "consistent", "std", "least squares", "std of it"), rows, wide=True)
