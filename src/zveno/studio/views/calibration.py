"""View of a calibration: measured configurations, residuals as magnified arrows, outliers, accuracy map."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ...calibration.result import Calibration
from ..playback import Playback
from ..stage import Stage
from .postures import add_points, steps

NOMINAL, CALIBRATED, OUTLIER = (150, 160, 172), (29, 95, 209), (214, 40, 40)
MAGNIFICATIONS = ("1", "10", "100", "300", "1000", "3000")
SLICES = 8
MAP_POSTURES = 1500
MAP_SEED = 0


class ResidualArrows(NamedTuple):
    """Predicted positions and residuals in the robot's world."""

    points: np.ndarray
    """Positions predicted by the calibrated robot, (n, 3), m."""
    nominal: np.ndarray
    """Measurement minus prediction of the nominal robot, (n, 3)."""
    calibrated: np.ndarray
    """Measurement minus prediction of the calibrated robot, (n, 3)."""
    used: np.ndarray
    """True for rows that were used, (n,)."""


def show_calibration(stage: Stage, gui: Any, result: Calibration) -> Playback | None:
    """Show configurations on a time bar, residuals as arrows, and slices of the accuracy map."""
    gui.add_markdown(result.verdict)
    arrows = residual_arrows(result)
    if len(arrows.points):
        _add_arrows(stage, gui, arrows)
    if result.outliers:
        gui.add_markdown("Rows that do not belong, red: " + "; ".join(outlier.text for outlier in result.outliers))
    _add_map(stage, gui, result)
    q = np.concatenate([campaign.q for campaign in result.data])
    return steps(stage, gui, q, "posture") if len(q) else None


def residual_arrows(result: Calibration) -> ResidualArrows:
    """Build arrows for measurements of one position with all three coordinates, from all data sets.

    Stored residuals are prediction minus measurement; arrows point from the prediction to the measurement.
    Readings in an estimated instrument frame are transformed to the robot's world. Measurements of other types
    have no arrows.
    """
    empty = np.zeros((0, 3))
    points, nominal, calibrated, used = [empty], [empty], [empty], [np.zeros(0, dtype=bool)]
    for campaign, residuals, turn in _of_positions(result):
        q = campaign.q[_places(campaign, residuals.row)]
        predicted = result.predict(q).T_world_frame[:, :3, 3]
        whole = np.isfinite(residuals.nominal).all(axis=1) & np.isfinite(residuals.calibrated).all(axis=1)
        points.append(predicted[whole])
        nominal.append(-residuals.nominal[whole] @ turn)
        calibrated.append(-residuals.calibrated[whole] @ turn)
        used.append(residuals.used[whole])
    return ResidualArrows(*(np.concatenate(each) for each in (points, nominal, calibrated, used)))


def _of_positions(result: Calibration):
    """Iterate over data sets that measure one point, with residuals in metres and the rotation from world axes."""
    for campaign in result.data:
        kind = campaign.measurement
        if not getattr(kind, "of_point", False) or getattr(kind, "points", None) is not None:
            continue
        reference = getattr(kind, "reference", "world")
        seen_from = result.unknowns.get(reference) if isinstance(reference, str) else None
        if seen_from is None and not kind.in_robot_world:
            continue
        turn = np.eye(3) if seen_from is None else np.asarray(seen_from)[:3, :3]
        named = [each for each in result.residuals if each.unit == "m" and each.nominal.shape[1] == 3]
        outliers = [each for each in named if not campaign.name or each.name.startswith(campaign.name)]
        if len(outliers) == 1:
            yield campaign, outliers[0], turn


def _places(campaign: Any, rows: np.ndarray) -> np.ndarray:
    """Indices in the arrays of a data set of input rows, which are counted from 1."""
    lines = np.asarray(campaign.lines)
    if not len(lines):
        return rows - 1
    where = {int(line): k for k, line in enumerate(lines)}
    return np.array([where.get(int(row), int(row) - 1) for row in rows], dtype=int)


def _add_arrows(stage: Stage, gui: Any, arrows: ResidualArrows) -> None:
    """Add arrows with a dropdown of magnifications; the first one makes the largest arrow a tenth of the robot."""
    largest = float(np.linalg.norm(arrows.nominal, axis=1).max(initial=0.0)) or 1e-9
    wanted = 0.1 * stage.size / largest
    nearest = min(MAGNIFICATIONS, key=lambda word: abs(np.log(float(word) / wanted)))
    which = gui.add_dropdown("residuals", ("calibrated", "nominal", "both"), initial_value="both")
    times = gui.add_dropdown("magnified by", MAGNIFICATIONS, initial_value=nearest)
    colors = np.where(arrows.used[:, None], np.array(CALIBRATED), np.array(OUTLIER)).astype(np.uint8)
    add_points(stage, "read", arrows.points + arrows.calibrated, colors, 0.01)
    handles: dict[str, Any] = {}

    def draw() -> None:
        factor = float(times.value) if times.value in MAGNIFICATIONS else 1.0
        for name, ways, tint in (
            ("nominal", arrows.nominal, np.array(NOMINAL, dtype=np.uint8)),
            ("calibrated", arrows.calibrated, colors),
        ):
            if name in handles:
                handles.pop(name).remove()
            if which.value not in (name, "both"):
                continue
            ends = np.stack([arrows.points, arrows.points + factor * ways], axis=1).astype(np.float32)
            size = stage.size
            handles[name] = stage.server.scene.add_arrows(
                f"{stage.node}/residuals/{name}", ends, tint,
                shaft_radius=0.0025 * size, head_radius=0.007 * size, head_length=0.016 * size,
            )  # fmt: skip

    for handle in (which, times):
        handle.on_update(lambda _: stage.worker.mark((stage.node, "residuals"), draw))
    draw()


def _add_map(stage: Stage, gui: Any, result: Calibration) -> None:
    """Add the accuracy over the workspace as slices by height, the worst in red."""
    slices = gui.add_slider("slice of the map", min=0, max=SLICES, step=1, initial_value=0)
    words = gui.add_markdown("Accuracy map: move the slider to compute it.")
    kept: list[Any] = []
    shown: list[Any] = []

    def ready(finished: Any) -> None:
        kept[:] = [finished]
        draw()

    def draw() -> None:
        for handle in shown:
            handle.remove()
        shown.clear()
        number = int(np.clip(slices.value, 0, SLICES))
        if number == 0:
            return
        if not kept:
            words.content = "computing the map …"
            work = partial(result.accuracy_map, MAP_POSTURES, rng=MAP_SEED)
            stage.worker.aside((stage.node, "map"), work, ready)
            return
        accuracy = kept[0]
        inside, low, high = map_slice(accuracy.points, number)
        sigma = accuracy.sigma_position
        words.content = (
            f"{low:.2f} to {high:.2f} m high: σ {1e3 * sigma[inside].min(initial=np.inf):.3g} to "
            f"{1e3 * sigma[inside].max(initial=0.0):.3g} mm, worst red; {accuracy.summary}"
        )
        share = (sigma - sigma.min()) / max(float(np.ptp(sigma)), 1e-12)
        colors = np.stack([255 * share, 90 + 0 * share, 255 * (1 - share)], axis=1).astype(np.uint8)
        if inside.any():
            shown.append(add_points(stage, "map", accuracy.points[inside], colors[inside], 0.025))

    slices.on_update(lambda _: stage.worker.mark((stage.node, "slice"), draw))


def map_slice(points: np.ndarray, number: int) -> tuple[np.ndarray, float, float]:
    """Mask of the points (n, 3) in a slice by height, from 1 to `SLICES`, and its lower and upper height, m."""
    edges = np.linspace(points[:, 2].min(), points[:, 2].max(), SLICES + 1)
    low, high = float(edges[number - 1]), float(edges[number])
    last = number == SLICES
    return (points[:, 2] >= low) & ((points[:, 2] <= high) if last else (points[:, 2] < high)), low, high
