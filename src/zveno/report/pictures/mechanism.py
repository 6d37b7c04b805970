"""Pictures of mechanisms: a shaded static view, saved as PNG or SVG (which has the shaded part as an image)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ...algorithms.forward_kinematics import frame_pose
from ...errors import ZvenoError
from ...mechanism import Mechanism
from . import raster, solids
from .files import figure_class, saved
from .pieces import KIND_COLORS, kind_color, solid_pieces, upright_axes
from .skeleton import Skeleton, skeleton

FOOT, TRAIL = "#66727f", "#d6336c"
AXIS_COLORS = ("#d62828", "#2b9348", "#1d5fd1")
INK, FAINT, GRID, PAPER, SHADE = "#26303b", "#66717e", "#d5dce4", "#ffffff", "#3b4a5c"
FORMATS = (".png", ".svg")
_ELEVATION = np.radians(20.0)
_FRONT = np.radians(-50.0)
"""The preferred viewpoint: in front of the robot, to its right, a little above."""


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
    main = skeleton(mechanism, q)
    pale = [skeleton(mechanism, mechanism.checked_q(ghost)) for ghost in ghosts]
    upright = upright_axes(mechanism)
    ground = _ground_height([main, *pale], upright)
    layers = []
    for k, ghost in enumerate(pale):
        layers.append(_Layer(upright, 0.18 + 0.3 * (k + 1) / (len(pale) + 1)))
        _add_skeleton(layers[-1], ghost)
    front = _Layer(upright, 1.0)
    layers.append(front)
    _add_skeleton(front, main)
    _add_foot(front, main, ground)
    if trail is not None:
        for bar in solids.trail(np.asarray(trail, dtype=float), 0.0045 * main.size):
            front.add(bar, TRAIL, glow=0.5)
    labels = _add_frames(front, mechanism, q, frames, 0.12 * main.size)
    drawn = {part.kind for part in (*main.axes, *main.balls)}
    kinds = [joint.type.kind for joint in mechanism.joints if joint.type.kind in drawn]
    counts = {kind: kinds.count(kind) for kind in dict.fromkeys((*KIND_COLORS, *kinds)) if kind in drawn}
    points = np.concatenate([part.points for part in (main, *pale)]) @ upright.T
    camera = _camera(points, layers, main.size, size, dpi)
    words = mechanism.name if caption is None else caption
    return _save(camera, layers, ground, main.size, labels, counts, words, file, size, dpi)


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


@dataclass
class _Layer:
    """Coloured solids in axes whose z points up, painted over the layers before."""

    upright: np.ndarray
    opacity: float
    parts: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = field(default_factory=list)

    def add(self, solid: solids.Solid, color: str, glow: float = 0.0):
        """Add a solid given in world coordinates; `glow` is the share of its colour that shading leaves alone."""
        facets = solid.facets()
        n = len(facets)
        self.parts.append((facets @ self.upright.T, np.tile(_rgb(color), (n, 1)), np.full(n, glow)))

    def arrays(self) -> list[np.ndarray]:
        """All facets (n, 4, 3), their colours (n, 3) and their glow (n,)."""
        empty = (np.zeros((0, 4, 3)), np.zeros((0, 3)), np.zeros(0))
        return [np.concatenate(part) for part in zip(empty, *self.parts, strict=True)]


def _rgb(color: str) -> np.ndarray:
    return np.array([int(color[k : k + 2], 16) for k in (1, 3, 5)]) / 255.0


def _ground_height(skeletons: Sequence[Skeleton], upright: np.ndarray) -> float:
    """Just below everything, and far enough below the root of a bolted mechanism for its pedestal."""
    main = skeletons[0]
    heights = [0.0] if main.foot is not None or not main.bars else []
    for drawn in skeletons:
        for bar in drawn.bars:
            heights.append((upright @ bar.start)[2] - bar.radius)
            heights.append((upright @ bar.end)[2] - bar.end_radius)
    foot = [] if main.foot is None else [(upright @ main.foot)[2] - 0.15 * main.size]
    return float(min(heights + foot))


def _add_skeleton(layer: _Layer, drawn: Skeleton):
    for piece in solid_pieces(drawn):
        layer.add(piece.solid, piece.color)


def _add_foot(layer: _Layer, drawn: Skeleton, ground: float):
    """A pedestal from the ground to the root, where the mechanism is bolted down."""
    if drawn.foot is None:
        return
    up = layer.upright.T @ np.array([0.0, 0.0, 1.0])
    top = drawn.foot - 0.04 * drawn.size * up  # leaves the joint that usually sits on the root in sight
    height = float((layer.upright @ top)[2] - ground)
    wide, narrow, plate = (share * drawn.size for share in (0.085, 0.052, 0.016))
    profile = [(0.0, 0.0), (0.0, wide), (plate, wide), (plate, narrow), (height, narrow), (height, 0.0)]
    layer.add(solids.revolved(top - height * up, up, profile, sides=48), FOOT)


def _add_frames(layer: _Layer, mechanism: Mechanism, q, names: Sequence[str], length: float):
    """Triads of the named frames; returns for every label its text, its place and the arms of its triad."""
    labels = []
    for name in names:
        T = frame_pose(mechanism, q, name)
        for k, color in enumerate(AXIS_COLORS):
            tip = T[:3, 3] + length * T[:3, k]
            layer.add(solids.arrow(T[:3, 3], tip, 0.038 * length), color, glow=0.4)
        labels.append((name, layer.upright @ T[:3, 3], layer.upright @ (length * T[:3, :3])))
    return labels


def _camera(points: np.ndarray, layers: Sequence[_Layer], length: float, size, dpi: int) -> raster.Camera:
    """The camera from which the mechanism is spread out most, with a preference for the front."""
    center = (points.min(axis=0) + points.max(axis=0)) / 2
    best, best_score = np.eye(3), -1.0
    for azimuth in np.radians(np.arange(-180, 180, 10)):
        c, s = np.cos(azimuth), np.sin(azimuth)
        towards = np.array([c * np.cos(_ELEVATION), s * np.cos(_ELEVATION), np.sin(_ELEVATION)])
        right = np.array([-s, c, 0.0])
        R = np.stack([right, np.cross(towards, right), towards])
        flat = (points - center) @ R[:2].T
        spread = np.linalg.eigvalsh(flat.T @ flat / len(flat) + 1e-4 * length**2 * np.eye(2))
        score = np.sqrt(spread.prod()) * (1.0 + 0.5 * np.cos(azimuth - _FRONT))
        if score > best_score:
            best, best_score = R, float(score)
    pixels = (round(size[0] * dpi), round(size[1] * dpi))
    camera = raster.Camera(best, center, 6.0 * length, np.zeros(2), np.ones(2), pixels)
    flat = np.concatenate([camera.project(layer.arrays()[0])[0].reshape(-1, 2) for layer in layers])
    if not len(flat):
        flat = np.array([[-0.5, -0.5], [0.5, 0.5]])
    return _framed(camera, flat.min(axis=0), flat.max(axis=0))


def _framed(camera: raster.Camera, low: np.ndarray, high: np.ndarray) -> raster.Camera:
    """The camera with its picture fitted around the rectangle, leaving margins and a strip for the caption."""
    margin = 0.06 * float(max(high - low))
    low, high = low - margin, high + margin
    low = low - np.array([0.0, 0.09 * (high[1] - low[1])])
    aspect = camera.pixels[0] / camera.pixels[1]
    width, height = high - low
    half = np.array([max(width, height * aspect), max(height, width / aspect)]) / 2
    middle = (low + high) / 2
    return raster.Camera(camera.R, camera.center, camera.distance, middle - half, middle + half, camera.pixels)


def _grid(camera: raster.Camera, center: np.ndarray, half: float, ground: float):
    """Lines on the ground, a round number of metres apart, and their colours, which fade with the distance."""
    exponent = np.floor(np.log10(half / 3))
    step = 10.0**exponent * max(m for m in (1.0, 2.0, 5.0) if m == 1.0 or m * 10.0**exponent <= half / 3)
    lines, colors = [], []
    ink, paper = _rgb(GRID), _rgb(PAPER)
    for k in (0, 1):
        for at in np.arange(np.ceil((center[k] - half) / step), np.floor((center[k] + half) / step) + 1) * step:
            line = np.full((61, 3), ground)
            line[:, k], line[:, 1 - k] = at, center[1 - k] + np.linspace(-half, half, 61)
            away = np.hypot(line[:, 0] - center[0], line[:, 1] - center[1]) / half
            strength = np.clip(1.0 - away**2, 0.0, 1.0)[:-1, None]
            seen = camera.project(line)[0]
            lines.append(np.stack([seen[:-1], seen[1:]], axis=1))
            colors.append(ink * strength + paper * (1 - strength))
    return np.concatenate(lines), np.concatenate(colors)


def _save(camera: raster.Camera, layers, ground, length, labels, counts, words, file: Path, size, dpi) -> Path:
    Figure = figure_class()
    from matplotlib import rc_context
    from matplotlib.collections import LineCollection

    facets = layers[-1].arrays()[0]
    corners = np.concatenate([layer.arrays()[0] for layer in layers]).reshape(-1, 3)[:, :2]
    corners = corners if len(corners) else np.zeros((1, 2))
    low, high = corners.min(axis=0), corners.max(axis=0)
    lines, colors = _grid(camera, (low + high) / 2, 0.5 * float(max(high - low)) + 0.5 * length, ground)
    with rc_context({"svg.hashsalt": "zveno", "font.family": "DejaVu Sans"}):
        figure = Figure(figsize=size, dpi=dpi, facecolor=PAPER)
        axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
        axes.set_axis_off()
        dark = raster.shadow(camera, facets, ground, 0.008 * length)
        shade = np.empty((*dark.shape, 4), dtype=np.float32)
        shade[..., :3], shade[..., 3] = _rgb(SHADE), 0.2 * dark
        images = [shade]
        for layer in layers:
            image = raster.shaded(camera, *layer.arrays())
            image[..., 3] *= layer.opacity
            images.append(image)
        extent = (camera.low[0], camera.high[0], camera.low[1], camera.high[1])
        axes.add_collection(LineCollection(list(lines), colors=colors, linewidths=0.8, zorder=1))
        axes.imshow(raster.stacked(images), extent=extent, aspect="auto", interpolation="none", zorder=2)
        axes.set_xlim(extent[:2])
        axes.set_ylim(extent[2:])
        for label in labels:
            _add_label(axes, camera, *label)
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
