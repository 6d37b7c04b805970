"""Pictures of mechanisms: a shaded static view, saved as PNG or SVG (which has the shaded part as an image)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...algorithms.forward_kinematics import frame_pose, link_poses
from ...errors import ZvenoError
from ...mechanism import Mechanism
from ..shapes import solids
from ..shapes.parts import KIND_COLORS, RobotParts, kind_color, robot_parts, upright_axes
from . import raster
from .files import figure_class, saved
from .view import (
    PAPER,
    FacetTable,
    Layer,
    add_foot,
    best_camera,
    ground_area,
    ground_grid,
    ground_height,
    image_of,
    scale_bar,
)

TRAIL = "#d6336c"
AXIS_COLORS = ("#d62828", "#2b9348", "#1d5fd1")
INK, FAINT = "#26303b", "#66717e"
FORMATS = (".png", ".svg")


def draw_mechanism(
    mechanism: Mechanism,
    file: Any,
    q: Any = None,
    *,
    frames: Sequence[str] = (),
    ghosts: Sequence[Any] = (),
    trail: Any = None,
    caption: str | None = None,
    size: tuple[float, float] = (8.0, 6.0),
    dpi: int = 150,
) -> Path:
    """Draw a mechanism and save the picture; returns the file.

    Args:
        mechanism: the mechanism.
        file: a .png or .svg file to write.
        q: coordinates, (n_q,); the neutral configuration if not given.
        frames: names of frames to show as red, green and blue axes.
        ghosts: other configurations to show pale behind the main one, the palest first.
        trail: points of the world, (k, 3), to join by a line, for example where the tool went.
        caption: a line of text; the mechanism's name if not given, none if empty.
        size: inches.
        dpi: dots an inch.
    """
    file = checked_picture(file)
    q = mechanism.neutral() if q is None else mechanism.checked_q(q)
    robot = robot_parts(mechanism)
    table = FacetTable(robot.parts)
    upright = upright_axes(mechanism)
    layers = []
    shown = [*(mechanism.checked_q(ghost) for ghost in ghosts), q]
    for k, configuration in enumerate(shown):
        opacity = 1.0 if k == len(shown) - 1 else 0.18 + 0.3 * (k + 1) / len(shown)
        layers.append(Layer(upright, opacity))
        layers[-1].add_facets(table.placed(link_poses(mechanism, configuration)), table.colors)
    points = np.concatenate([layer.arrays()[0].reshape(-1, 3) for layer in layers])
    points = points if len(points) else np.zeros((1, 3))
    ground = ground_height(robot, layers)
    front = layers[-1]
    add_foot(front, robot, ground)
    if trail is not None:
        for bar in solids.trail(np.asarray(trail, dtype=float), 0.0045 * robot.size):
            front.add(bar, TRAIL, glow=0.5)
    labels = _add_frames(front, mechanism, q, frames, 0.12 * robot.size)
    counts = _counts(mechanism, robot)
    camera = best_camera(points, layers, robot.size, size, dpi)
    words = mechanism.name if caption is None else caption
    return _save(camera, layers, ground, robot.size, labels, counts, words, file, size, dpi)


def _counts(mechanism: Mechanism, robot: RobotParts) -> dict[str, int]:
    """How many joints there are of every kind whose colour is seen."""
    colors = {part.color for part in robot.parts}
    kinds = [joint.type.kind for joint in mechanism.joints if joint.type.n_v]
    return {
        kind: kinds.count(kind)
        for kind in dict.fromkeys((*KIND_COLORS, *kinds))
        if kind in kinds and kind_color(kind) in colors
    }


def checked_picture(file: Any) -> Path:
    """The path of a picture, refused if its suffix is not one that pictures are saved with."""
    file = Path(file)
    if file.suffix.lower() not in FORMATS:
        raise ZvenoError(
            f"a picture cannot be saved as {file.suffix!r}" if file.suffix else "the picture has no suffix",
            file=file,
            remedy="Use .png or .svg",
        )
    return file


def _add_frames(layer: Layer, mechanism: Mechanism, q, names: Sequence[str], length: float):
    """Triads of the named frames; returns for every label its text, its place and the arms of its triad."""
    labels = []
    for name in names:
        T = frame_pose(mechanism, q, name)
        for k, color in enumerate(AXIS_COLORS):
            tip = T[:3, 3] + length * T[:3, k]
            layer.add(solids.arrow(T[:3, 3], tip, 0.038 * length), color, glow=0.4)
        labels.append((name, layer.upright @ T[:3, 3], layer.upright @ (length * T[:3, :3])))
    return labels


def _save(camera: raster.Camera, layers, ground, length, labels, counts, words, file: Path, size, dpi) -> Path:
    Figure = figure_class()
    from matplotlib import rc_context
    from matplotlib.collections import LineCollection

    center, half = ground_area(layers, length)
    lines, colors = ground_grid(camera, center, half, ground)
    with rc_context({"svg.hashsalt": "zveno", "font.family": "DejaVu Sans"}):
        figure = Figure(figsize=size, dpi=dpi, facecolor=PAPER)
        axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
        axes.set_axis_off()
        extent = (camera.low[0], camera.high[0], camera.low[1], camera.high[1])
        axes.add_collection(LineCollection(list(lines), colors=colors, linewidths=0.8, zorder=1))
        image = image_of(camera, layers, ground, length)
        axes.imshow(image, extent=extent, aspect="auto", interpolation="none", zorder=2)
        axes.set_xlim(extent[:2])
        axes.set_ylim(extent[2:])
        for label in labels:
            _add_label(axes, camera, *label)
        _add_scale(axes, camera)
        _add_words(figure, words, counts)
        return saved(figure, file, None)


def _add_label(axes, camera: raster.Camera, text: str, origin: np.ndarray, arms: np.ndarray):
    """The name of a frame beside its origin, on the side away from its axes."""
    from matplotlib.patheffects import withStroke

    place = camera.project(origin)[0]
    tips = camera.project(origin + arms.T)[0] - place
    away = -tips.sum(axis=0)
    away = away / np.linalg.norm(away) if np.linalg.norm(away) > 1e-9 else np.array([0.0, -1.0])
    horizontal = "center" if abs(away[0]) < 0.35 else ("left" if away[0] > 0 else "right")
    vertical = "center" if abs(away[1]) < 0.35 else ("bottom" if away[1] > 0 else "top")
    axes.annotate(
        text,
        place,
        xytext=tuple(13 * away),
        textcoords="offset points",
        ha=horizontal,
        va=vertical,
        fontsize=10,
        color=INK,
        zorder=100,
        path_effects=[withStroke(linewidth=3, foreground=PAPER)],
    )


def _add_scale(axes, camera: raster.Camera):
    """A bar of a round length above the caption."""
    length, text = scale_bar(camera)
    width, height = camera.high - camera.low
    x, y = camera.low[0] + 0.03 * width, camera.low[1] + 0.085 * height
    tick = 0.008 * height
    axes.plot([x, x, x, x + length, x + length, x + length], [y + tick, y - tick, y, y, y - tick, y + tick],
              color=FAINT, linewidth=1.1, zorder=90)  # fmt: skip
    axes.text(x + length + 0.01 * width, y, text, fontsize=8.5, color=FAINT, va="center", zorder=90)


def _add_words(figure, words: str, counts: Mapping[str, int]):
    """The caption on the left, and what the colours mean on the right."""
    from matplotlib.lines import Line2D

    figure.text(0.03, 0.04, words, fontsize=10.5, color=INK, va="center")
    style: dict[str, Any] = {"linestyle": "none", "marker": "o", "markersize": 7}
    marks = [
        Line2D([], [], color=kind_color(kind), label=f"{count} {kind}", **style) for kind, count in counts.items()
    ]
    if marks:
        figure.legend(
            handles=marks,
            loc="center right",
            bbox_to_anchor=(0.99, 0.04),
            ncols=min(len(marks), 4),
            frameon=False,
            fontsize=9,
            labelcolor=FAINT,
            handletextpad=0.1,
            columnspacing=1.0,
        )
