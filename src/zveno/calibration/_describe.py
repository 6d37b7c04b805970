"""Descriptions of calibrations, identifiability and accuracy over the workspace."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..fit.covariance import correlations
from ..io.expressions import DEVIATIONS, ERRORS
from ..report.description import (
    PAGE,
    PICTURE,
    TEXT,
    Bars,
    Block,
    Column,
    Curves,
    Description,
    Field,
    Map,
    Matrix,
    Medium,
    Panel,
    Scene,
    Series,
    Table,
    Text,
)
from ..spatial.rotations import to_rpy
from ..spatial.transforms import inverse

if TYPE_CHECKING:
    from ._identifiability import Identifiability
    from .accuracy import AccuracyCells, AccuracyMap
    from .axes import IdentifiedAxes, JointAxis
    from .result import Calibration

MOST_CORRELATED = 40
"""Maximum number of parameters of a legible correlation matrix."""
MOST_OUTLIERS = 12
CLASSES = ("identifiable", "semi-identifiable", "unidentifiable")


def describe_calibration(result: Calibration) -> Description:
    """Describe a calibration: errors before and after, residuals, deviations, outliers, accuracy, correlations."""
    blocks: list[Block] = [_errors(result), *_error_bars(result), *_residuals(result), *_deviations(result)]
    blocks += [*_frames(result), _parameters(result), *_postures(result)]
    blocks.append(_accuracy(result.accuracy_map(), PAGE))
    names = result.names
    if 1 < len(names) <= MOST_CORRELATED:
        matrix = correlations(result.covariance)
        blocks.append(Matrix("Correlation of parameters", names, names, matrix, media=PAGE))
    texts = [outlier.text for outlier in result.outliers]
    more = f"{len(texts)} in all." if len(texts) > MOST_OUTLIERS else ""
    blocks.append(Text("Outliers", texts[:MOST_OUTLIERS], note=more))
    pairs = [f"{a}/{b} {r:+.2f}" for a, b, r in result.correlated(0.95)[:6]]
    blocks.append(Text("Strongly correlated", [", ".join(pairs)] if pairs else []))
    blocks.append(Text("Notes", result.notes))
    tone = "good" if result.status == "calibrated" else "bad"
    return Description(f"{result.nominal.name}: {result.status}", result.verdict, tone, _fields(result), blocks)


def _fields(result: Calibration) -> list[Field]:
    parameters = [
        {"name": name, "unit": unit, "value": value, "std": std}
        for name, unit, value, std in zip(result.names, result.units, result.values, result.std, strict=True)
    ]
    fields = [
        Field("robot", result.nominal.name),
        Field("status", result.status),
        Field("summary", result.summary),
        Field("rows", result.rows),
        Field("parameters", parameters),
        Field(
            "errors",
            [
                {"name": after.name, "unit": after.unit, "nominal": before.rms, "calibrated": after.rms}
                for before, after in result.compared
            ],
        ),
        Field(
            "outliers",
            [{"campaign": outlier.campaign, "row": outlier.row, "of": outlier.of} for outlier in result.outliers],
        ),
    ]
    for before, after in result.compared:
        factor, unit = ERRORS[after.unit]
        name = after.name.partition(": ")[2] or after.name
        change = f"{before.rms * factor:.3g} → {after.rms * factor:.3g}"
        fields.append(Field("", change, unit, f"{name}, rms of the same rows"))
    fields.append(Field("", len(result.names), meaning="parameters estimated"))
    fields.append(Field("", f"{len(result.outliers)} of {result.rows}", meaning="rows are outliers"))
    return fields


def _errors(result: Calibration) -> Block:
    """Return a table of errors, one row per stage and type of error."""
    single = len({error.name.partition(": ")[0] for error in result.baseline}) == 1
    stages = (
        ("nominal, frames fitted", result.baseline),
        ("  without outliers", result.baseline_unflagged if result.outliers else ()),
        ("calibrated, rows used", result.training),
        ("held-out configurations", result.held_out),
        ("  without outliers", result.held_out_unflagged if result.outliers else ()),
    )
    rows = [(stage if not k else "", error) for stage, errors in stages for k, error in enumerate(errors)]
    names = [error.name.partition(": ")[2] if single and ": " in error.name else error.name for _, error in rows]
    scales = [ERRORS[error.unit] for _, error in rows]
    columns = [
        Column("errors", [stage for stage, _ in rows]),
        Column("of", [f"{name}, {unit}" for name, (_, unit) in zip(names, scales, strict=True)]),
    ]
    for head, attribute in (
        ("rms", "rms"),
        ("mean", "mean"),
        ("max", "max"),
        ("AP", "accuracy"),
        ("RP", "repeatability"),
    ):
        values = [
            float(getattr(error, attribute)) * factor for (_, error), (factor, _) in zip(rows, scales, strict=True)
        ]
        columns.append(Column(head, values, "", ".3g"))
    columns.append(Column("rows", [int(error.rows) for _, error in rows]))
    return Table("Errors", columns)


def _error_bars(result: Calibration) -> list[Block]:
    before, after = result.baseline, result.held_out
    if result.outliers:
        before, after = result.baseline_unflagged, result.held_out_unflagged
    stages = {"nominal": before, "calibrated": result.training, "held out": after}
    labels = list(
        dict.fromkeys(f"{error.name}, {ERRORS[error.unit][1]}" for errors in stages.values() for error in errors)
    )
    groups = {}
    for stage, errors in stages.items():
        sizes = {f"{error.name}, {ERRORS[error.unit][1]}": error.rms * ERRORS[error.unit][0] for error in errors}
        groups[stage] = [sizes.get(label, np.nan) for label in labels]
    note = "Without outliers." if result.outliers else ""
    return [Bars("Errors, root mean square", labels, groups, "unit of each error", log_x=True, note=note)]


def _residuals(result: Calibration) -> list[Block]:
    blocks: list[Block] = []
    for residuals in result.residuals:
        factor, unit = ERRORS[residuals.unit]
        held_out = np.isfinite(residuals.held_out).any(axis=1, keepdims=True)
        after = np.where(held_out, residuals.held_out, residuals.calibrated)
        before, left = (factor * np.sqrt(np.nansum(each**2, axis=1)) for each in (residuals.nominal, after))
        used = residuals.used
        series = [
            Series("nominal", before, residuals.row, style="dots", muted=True),
            Series("calibrated", left[used], residuals.row[used], style="dots"),
        ]
        if not used.all():
            series.append(Series("outlier", left[~used], residuals.row[~used], style="crosses"))
        note = "Calibrated: from a fit without the configuration, if there is one."
        blocks.append(Curves(f"Residuals: {residuals.name}", series, "row", unit, log_y=True, note=note))
    return blocks


def _deviations(result: Calibration) -> list[Block]:
    blocks: list[Block] = []
    for unit in dict.fromkeys(result.units):
        some = [k for k, each in enumerate(result.units) if each == unit]
        factor, shown = DEVIATIONS[unit]
        groups = {"deviation": factor * result.values[some]}
        title = f"Deviations from nominal ± std, {shown}"
        names = [result.names[k] for k in some]
        blocks.append(Bars(title, names, groups, shown, std=factor * result.std[some]))
    return blocks


def _frames(result: Calibration) -> list[Block]:
    """Return the poses of cameras, boards, trackers and markers that the fit has placed."""
    rows: dict[str, tuple[str, np.ndarray]] = {}
    for dataset in result.data:
        kind = dataset.measurement
        if kind.left.label in result.unknowns and len(kind.left.free) == 6:
            rows[kind.left.label] = (kind.seen_from or "the world", inverse(result.unknowns[kind.left.label]))
        for slot in kind.right:
            if slot.label in result.unknowns and len(slot.free) == 6:
                rows[slot.label] = (kind.frame or result.frames[0], result.unknowns[slot.label])
    if not rows:
        return []
    poses = np.array([T for _, T in rows.values()])
    angles = np.degrees([to_rpy(T[:3, :3]) for T in poses])
    columns = [Column("frame", list(rows)), Column("seen from", [place for place, _ in rows.values()])]
    columns += [Column(axis, (1e3 * poses[:, k, 3]).tolist(), "mm", ".2f") for k, axis in enumerate("xyz")]
    columns += [Column(name, angles[:, k].tolist(), "°", ".3f") for k, name in enumerate(("roll", "pitch", "yaw"))]
    return [Table("Frames", columns)]


def _parameters(result: Calibration) -> Block:
    """Return estimated deviations, and the other numbers that were estimated beside them."""
    rows = [
        (name, value, std, DEVIATIONS[unit], place)
        for name, value, std, unit, place in zip(
            result.names, result.values, result.std, result.units, result.places, strict=True
        )
    ]
    estimated = dict(zip(result.unknown_names, result.unknown_std, strict=True))
    scales = DEVIATIONS | {"1": (1.0, "")}
    rows += [
        (name, value, estimated[name], scales[result.number_units[name]], "its value")
        for name, value in result.numbers.items()
        if name in estimated
    ]
    units = [unit for _, _, _, (_, unit), _ in rows]
    columns = [
        Column("parameter", [name for name, _, _, _, _ in rows]),
        Column("deviation", [float(value) * factor for _, value, _, (factor, _), _ in rows], "", ".4f"),
        Column("± std", [float(std) * factor for _, _, std, (factor, _), _ in rows], units, ".4f"),
        Column("of", [place for _, _, _, _, place in rows]),
    ]
    return Table("Parameters", columns, shown=200)


def _postures(result: Calibration) -> list[Block]:
    labels = [
        f"{campaign.name or campaign.measurement.kind}, row {k + 1}"
        for campaign in result.data
        for k in range(len(campaign.q))
    ]
    if not labels:
        return []
    q = np.concatenate([campaign.q for campaign in result.data])
    return [Scene("Measured configurations", result.mechanism, q, labels, media=PAGE)]


def describe_identifiability(result: Identifiability) -> Description:
    """Describe identifiability by a measurement: the irreducible model, classes of parameters, the proof."""
    largest = max(float(result.singular_values.max(initial=0.0)), 1e-300)
    values = np.maximum(result.singular_values / largest, 1e-18)
    kept, number = result.rank, np.arange(1, len(values) + 1)
    series = [
        Series(f"{kept} independent", values[:kept], number[:kept], style="dots"),
        Series(f"{len(values) - kept} dropped", values[kept:], number[kept:], style="dots", muted=True),
    ]
    lists = {word: result.of_class(word) for word in CLASSES}
    classes = [
        f"{word}, {len(names)}: {' '.join(names)}" if names else f"{word}: none" for word, names in lists.items()
    ]
    if result.unknowns:
        classes.append(f"found beside them: {len(result.unknowns)} displacements of frames and targets")
    counts, proof = result.counts, []
    if counts is not None:
        agree = "agree" if counts.agree(result.rank) else "differ"
        bound = "" if counts.bound is None else f", at most {counts.bound} by (21)"
        proof.append(f"{counts.formula} = {counts.value}{bound}, closure of twists {counts.proved}: they {agree}")
        proof.append("in exact numbers" if counts.certified else f"not exact: {counts.obstacle}")
    in_model = set(result.chosen)
    table = [
        Column("parameter", result.names),
        Column("class", result.classes),
        Column("in the model", ["yes" if name in in_model else "" for name in result.names]),
    ]
    note = "The wider apart kept and dropped values are, the clearer the rank."
    blocks: list[Block] = [
        Text(f"Irreducible model ({result.strategy})", [result.text]),
        Text("Classes", classes, media=TEXT),
        Text("Identified only together", result.expressions),
        Text("Counts and proof", proof),
        Text("Notes", result.notes),
        Curves("Singular values, largest 1", series, "number", "size", log_y=True, note=note),
        Table("Parameters", table, media=PAGE),
    ]
    formula = None
    if counts is not None:
        formula = {
            "name": counts.formula,
            "value": counts.value,
            "bound": counts.bound,
            "proved": counts.proved,
            "why": counts.why,
        }
    fields = [
        Field("robot", result.robot_name),
        Field("measurement", result.measurement),
        Field("status", result.status, meaning="rank"),
        Field("summary", result.summary),
        Field("rank", result.rank),
        Field("", f"{result.rank} of {len(result.names)}", meaning="parameters can be identified"),
        Field("unknowns", result.unknowns),
        Field("strategy", result.strategy),
        Field("chosen", result.chosen),
        Field("model", result.text),
        Field("classes", dict(zip(result.names, result.classes, strict=True))),
        Field("relations", list(result.relations)),
        Field("gap", result.gap if np.isfinite(result.gap) else None),
        Field(
            "",
            f"{result.gap:.1e}" if np.isfinite(result.gap) else "nothing dropped",
            meaning="gap of the singular values",
        ),
        Field("formula", formula),
        Field("certified", result.certified),
    ]
    tone = "warn" if result.status == "uncertain" else "good"
    title = f"{result.robot_name}, identifiable by {result.measurement} measurements"
    return Description(title, result.summary, tone, fields, blocks)


def describe_axes(result: IdentifiedAxes) -> Description:
    """Describe identified axes: how well each is determined, its direction and place, and all residuals."""
    axes, names = result.axes, [joint.name for joint in result.mechanism.joints]
    turns = [np.degrees(np.sqrt(np.trace(axis.covariance[:3, :3]))) for axis in axes]
    columns = [
        Column("joint", names),
        Column("type", [axis.kind for axis in axes]),
        Column("points", [len(axis.q) for axis in axes], format="d"),
        Column("radius", [1e3 * axis.radius if axis.kind == "revolute" else np.nan for axis in axes], "mm", ".3f"),
        Column("residual", [1e3 * axis.residual for axis in axes], "mm", ".4f"),
        Column("direction to", turns, "°", ".4f"),
    ]
    places = [Column("joint", names)]
    for k, letter in enumerate("xyz"):
        places.append(Column(f"direction {letter}", [axis.direction[k] for axis in axes], format=".6f"))
    for k, letter in enumerate("xyz"):
        places.append(Column(f"point {letter}", [axis.t[k] for axis in axes], "m", ".6f"))
    series = [
        Series(name, 1e3 * axis.distances, axis.q, style="dots") for name, axis in zip(names, axes, strict=True)
    ]
    at = [axis.t for axis in axes]
    blocks: list[Block] = [
        Table("Axes", columns),
        Table("Directions and points", places, note="In the measuring frame; of a circle, its centre.", media=PAGE),
        Curves("Distances from circles and lines", series, "joint value, rad or m", "mm", span=4),
        Scene("Robot found", result.mechanism, result.q_rest[None], ["at rest"], points=np.array(at), media=PAGE),
    ]
    fields = [
        Field("axes", [describe_axis(name, axis) for name, axis in zip(names, axes, strict=True)]),
        Field("q_rest", dict(zip(names, result.q_rest.tolist(), strict=True))),
    ]
    return Description("Axes from motions of one joint at a time", result.summary, "good", fields, blocks)


def describe_axis(joint: str, axis: JointAxis) -> dict[str, Any]:
    """Return an axis as plain values."""
    return {
        "joint": joint,
        "type": axis.kind,
        "direction": axis.direction.tolist(),
        "point": axis.t.tolist(),
        "radius": axis.radius,
        "residual": axis.residual,
        "covariance": axis.covariance.tolist(),
    }


def describe_accuracy_map(result: AccuracyMap) -> Description:
    """Describe accuracy over the workspace in slices between heights."""
    sigma, before = 1e3 * result.sigma_position, 1e3 * result.nominal_error
    fields = [
        Field("", float(np.sqrt(np.mean(before**2))), "mm", "error before, rms", ".3g"),
        Field("", float(np.median(sigma)), "mm", "σ after, median", ".3g"),
        Field("", float(sigma.max()), "mm", "σ after, worst", ".3g"),
        Field("", len(sigma), meaning="configurations"),
    ]
    blocks = [_accuracy(result)]
    return Description("Accuracy over the workspace", result.summary, "good", fields, blocks)


def describe_accuracy_cells(result: AccuracyCells) -> Description:
    """Describe accuracy over the workspace, summed up in cells."""
    before = float(np.sqrt(np.average(result.before**2, weights=result.number)))
    fields = [
        Field("summary", result.summary),
        Field("cell", result.cell),
        Field("centres", result.centres),
        Field("postures", result.number),
        Field("before", result.before),
        Field("after", result.after),
        Field("worst_before", result.worst_before),
        Field("worst_after", result.worst_after),
        Field("", 1e3 * before, "mm", "error before, rms", ".3g"),
        Field("", 1e3 * float(np.median(result.after)), "mm", "σ after, median of the cells", ".3g"),
        Field("", 1e3 * float(result.worst_after.max()), "mm", "σ after, worst", ".3g"),
        Field("", int(result.number.sum()), meaning=f"configurations in {len(result.number)} cells"),
    ]
    blocks = [_accuracy(result)]
    return Description("Accuracy over the workspace", result.summary, "good", fields, blocks)


def _accuracy(result: AccuracyMap | AccuracyCells, media: tuple[Medium, ...] = PICTURE) -> Block:
    """Return slices of the workspace, before and after; dots mark cells that are not certainly better."""
    cuts = [cut for cut in result.slices() if len(cut.centres)]
    rows = []
    for word, attribute in (("before", "before"), ("after", "after")):
        rows.append(
            [
                Panel(
                    f"{word}, z {cut.low:.2f} to {cut.high:.2f} m",
                    cut.centres[:, 0],
                    cut.centres[:, 1],
                    1e3 * getattr(cut, attribute),
                    cut.centres[~cut.sure] if word == "after" else (),
                )
                for cut in cuts
            ]
        )
    note = (
        "Before: error of the nominal robot. After: standard deviation due to the parameters. "
        "Dots: cells that are not better beyond doubt."
    )
    size = cuts[0].size if cuts else 0.0
    title = "Accuracy over the workspace"
    return Map(title, rows, ("x, m", "y, m", "mm"), size=size, log=True, note=note, media=media, span=4)
