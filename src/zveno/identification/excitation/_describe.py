"""Description of an exciting trajectory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...report.description import PAGE, Bars, Block, Column, Curves, Description, Field, Scene, Series, Table, Text

if TYPE_CHECKING:
    from .result import Excitation

SAMPLES = 1000


def describe_excitation(result: Excitation) -> Description:
    """Describe an exciting trajectory: the motion, its share of every limit, and the predicted accuracy."""
    t, *states = result.sample(SAMPLES / result.duration)
    low, high = result.extent
    joints = [
        Column("joint", result.joint_names),
        Column("from", low.tolist(), format=".3f"),
        Column("to", high.tolist(), result.units, ".3f"),
    ]
    for name, share in result.peaks.items():
        joints.append(Column(name, (100 * share).tolist(), "% of limit", ".0f"))
    blocks: list[Block] = [Table("Joints", joints)]
    if result.mechanism is not None:
        labels = [f"{at:.2f} s" for at in t]
        scene = Scene("Motion", result.mechanism, states[0], labels, seconds=result.duration, media=PAGE)
        blocks.append(scene)
    titles = ("Positions", "Velocities", "Accelerations")
    units = ("rad or m", "rad/s or m/s", "rad/s² or m/s²")
    for title, unit, values in zip(titles, units, states, strict=True):
        series = [Series(name, values[:, k], t) for k, name in enumerate(result.joint_names)]
        blocks.append(Curves(title, series, "t, s", unit, span=4))
    before = result.sigma_before
    groups = {"with this motion": result.sigma}
    if before is not None:
        groups["before"] = np.where(np.isfinite(before), before, np.nan)
    noise = result.torque_sigma
    said = f"{noise[0]:.3g}" if np.ptp(noise) == 0.0 else f"{noise.min():.3g} to {noise.max():.3g}"
    note = f"For torques known to {said} N·m or N, {result.rate:g} samples per second, one period."
    order = np.argsort(-result.sigma)
    columns = [
        Column("parameter", [result.names[k] for k in order]),
        Column("expression", [result.expressions[k] for k in order]),
        Column("σ", result.sigma[order].tolist(), "SI", ".3g"),
    ]
    if before is not None:
        columns.append(
            Column("σ before", np.where(np.isfinite(before), before, np.nan)[order].tolist(), "SI", ".3g")
        )
    blocks += [
        Bars("Predicted standard deviations", result.names, groups, "σ, SI units", log_x=True, note=note, span=4),
        Table("Parameters, the least known first", columns, shown=12, note=note),
        Text("Notes", result.notes),
    ]
    parameters = [
        {
            "name": name,
            "expression": expression,
            "sigma": result.sigma[k],
            "sigma_before": None if before is None else before[k],
        }
        for k, (name, expression) in enumerate(zip(result.names, result.expressions, strict=True))
    ]
    tightest = max((float(share.max(initial=0.0)) for share in result.peaks.values()), default=0.0)
    fields = [
        Field("robot", result.robot_name),
        Field("status", result.status),
        Field("summary", result.summary),
        Field("duration", result.duration, "s", f"Fourier series, {len(result.joint_names)} joints", ".3g"),
        Field("joints", result.joint_names),
        Field("held", result.held),
        Field("coefficients", result.curve.coefficients),
        Field("log_det", result.log_det),
        Field("condition", result.condition, "", "condition number of the scaled regressor", ".3g"),
        Field("over_random", result.over_random, "×", "σ better than the best random motion", ".2f"),
        Field("", tightest, "", "of the tightest limit used", ".0%"),
        Field("peaks", result.peaks),
        Field("parameters", parameters),
        Field("notes", result.notes),
    ]
    tone = "warn" if result.interrupted else "good"
    return Description(f"{result.robot_name}, exciting trajectory", result.summary, tone, fields, blocks)
