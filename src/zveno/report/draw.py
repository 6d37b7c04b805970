"""Pictures of mechanisms: a shaded static view, saved as PNG or SVG.

The solids are projected, shaded and painted from back to front by ourselves; matplotlib only fills polygons and
writes files, because its own 3-D axes sort whole objects and would show the wrong one in front.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..algorithms.forward_kinematics import frame_pose
from ..errors import MissingExtraError, ZvenoError
from ..mechanism import Mechanism
from ..spatial.rotations import elementary, z_to
from . import solids
from .skeleton import Skeleton, skeleton

LINK, SLIDER, FOOT, TRAIL = "#b9c4d0", "#8794a3", "#5b6673", "#d6336c"
KIND_COLORS = {
    "revolute": "#e8803a",
    "continuous": "#e3b23c",
    "prismatic": "#2a9d8f",
    "helical": "#8e5cc2",
    "universal": "#3d7dca",
    "spherical": "#c2527f",
    "planar": "#6a994e",
    "free": "#9aa5b1",
}
AXIS_COLORS = ("#d62828", "#2b9348", "#1d5fd1")
INK, FAINT, GRID, SHADOW, PAPER = "#26303b", "#66717e", "#dde3e9", "#e9edf1", "#ffffff"
FORMATS = (".png", ".svg")
_ELEVATION = np.radians(20.0)
_FRONT = np.radians(-50.0)
"""The preferred viewpoint: in front of the robot, to its right, a little above."""
_LIGHT = np.array([-0.35, 0.85, 0.75]) / np.linalg.norm([-0.35, 0.85, 0.75])
"""Towards the light, in the camera's axes: right, up, towards the viewer."""


def draw_mechanism(
    mechanism: Mechanism,
    file,
    q=None,
    *,
    frames: Sequence[str] = (),
    ghosts: Sequence = (),
    trail=None,
    caption: str | None = None,
    size: tuple[float, float] = (8.0, 6.0),
    dpi: int = 150,
) -> Path:
    """Draw a mechanism and save the picture.

    Args:
        mechanism: the mechanism.
        file: a .png or .svg file to write.
        q: coordinates, (n_q,); the neutral configuration if not given.
        frames: names of frames to show as red, green and blue axes.
        ghosts: other configurations to show pale, behind the main one.
        trail: points of the world, (k, 3), to join by a line, for example where the tool went.
        caption: a line of text; the name and what joints there are if not given, none if empty.
        size: inches.
        dpi: dots an inch of a PNG.
    """
    file = Path(file)
    if file.suffix.lower() not in FORMATS:
        raise ZvenoError(f"a picture cannot be saved as {file.suffix!r}", file=file, remedy="Use .png or .svg")
    q = mechanism.neutral() if q is None else mechanism.checked_q(q)
    main = skeleton(mechanism, q)
    pale = [skeleton(mechanism, ghost) for ghost in ghosts]
    scene = _Scene(_upright(mechanism))
    ground = _ground_height(scene, [main, *pale])
    for k, ghost in enumerate(pale):
        _add_skeleton(scene, ghost, paleness=0.8 - 0.3 * k / max(len(pale), 1), layer=k)
    layer = len(pale)
    if trail is not None:
        scene.add(solids.trail(np.asarray(trail, dtype=float), 0.005 * main.size), TRAIL, layer=layer, glow=0.5)
    _add_skeleton(scene, main, layer=layer)
    _add_foot(scene, main, ground, layer)
    labels = _add_frames(scene, mechanism, q, frames, 0.13 * main.size, layer)
    kinds = [kind for kind in KIND_COLORS if any(one.kind == kind for one in (*main.axes, *main.balls))]
    view = _view(np.concatenate([one.points for one in (main, *pale)]) @ scene.upright.T, main.size)
    words = _caption(mechanism) if caption is None else caption
    return _save(scene, view, ground, main.size, labels, kinds, words, file, size, dpi)


class _Scene:
    """Coloured facets in axes whose z points up, in layers painted one over the other."""

    def __init__(self, upright: np.ndarray):
        self.upright = upright
        self.facets: list[np.ndarray] = []
        self.colors: list[np.ndarray] = []
        self.glow: list[np.ndarray] = []
        self.layers: list[np.ndarray] = []

    def add(self, facets: np.ndarray, color: str, *, paleness: float = 0.0, layer: int = 0, glow: float = 0.0):
        """Add a solid given in world coordinates; `glow` is the share of its colour that shading leaves alone."""
        n = len(facets)
        rgb = (1.0 - paleness) * _rgb(color) + paleness * _rgb(PAPER)
        self.facets.append(facets @ self.upright.T)
        self.colors.append(np.tile(rgb, (n, 1)))
        self.glow.append(np.full(n, max(glow, paleness)))
        self.layers.append(np.full(n, layer))


@dataclass(frozen=True)
class _View:
    """A camera: rows of R are right, up and towards the viewer."""

    R: np.ndarray
    center: np.ndarray
    distance: float

    def __call__(self, points) -> tuple[np.ndarray, np.ndarray]:
        """Picture coordinates (..., 2) and nearness (...) of points (..., 3): a mild perspective."""
        seen = (points - self.center) @ self.R.T
        return seen[..., :2] * (self.distance / (self.distance - seen[..., 2:])), seen[..., 2]


def _rgb(color: str) -> np.ndarray:
    return np.array([int(color[k : k + 2], 16) for k in (1, 3, 5)]) / 255.0


def _upright(mechanism: Mechanism) -> np.ndarray:
    """The rotation that makes 'against gravity' the picture's up."""
    strength = float(np.linalg.norm(mechanism.gravity))
    return np.eye(3) if strength < 1e-9 else z_to(-mechanism.gravity / strength).T


def _view(points: np.ndarray, size: float) -> _View:
    """The camera from which the mechanism is spread out most, with a preference for the front."""
    center = (points.min(axis=0) + points.max(axis=0)) / 2
    best, best_score = np.eye(3), -1.0
    for azimuth in np.radians(np.arange(-180, 180, 10)):
        towards = np.array(
            [
                np.cos(azimuth) * np.cos(_ELEVATION),
                np.sin(azimuth) * np.cos(_ELEVATION),
                np.sin(_ELEVATION),
            ]
        )
        right = elementary("z", azimuth) @ np.array([0.0, 1.0, 0.0])
        R = np.stack([right, np.cross(towards, right), towards])
        flat = (points - center) @ R[:2].T
        spread = np.linalg.eigvalsh(flat.T @ flat / len(flat) + 1e-4 * size**2 * np.eye(2))
        score = np.sqrt(spread.prod()) * (1.0 + 0.5 * np.cos(azimuth - _FRONT))
        if score > best_score:
            best, best_score = R, float(score)
    return _View(best, center, 6.0 * size)


def _ground_height(scene: _Scene, skeletons: Sequence[Skeleton]) -> float:
    main = skeletons[0]
    lowest = min(
        min((p @ scene.upright.T)[2] - bar.radius for bar in one.bars for p in (bar.start, bar.end))
        if one.bars
        else 0.0
        for one in skeletons
    )
    return float(lowest if main.foot is None else min(lowest, (scene.upright @ main.foot)[2] - 0.12 * main.size))


def _add_skeleton(scene: _Scene, drawn: Skeleton, paleness: float = 0.0, layer: int = 0):
    for bar in drawn.bars:
        color = SLIDER if bar.sliding else LINK
        scene.add(
            solids.capsule(bar.start, bar.end, bar.radius, 0.03 * drawn.size), color, paleness=paleness, layer=layer
        )
    for axis in drawn.axes:
        shape = solids.drum if axis.turns else solids.prism
        wide, half = (1.22, 1.5) if axis.turns else (1.9, 2.2)
        solid = shape(axis.center, axis.direction, wide * axis.radius, half * axis.radius)
        scene.add(solid, KIND_COLORS[axis.kind], paleness=paleness, layer=layer)
    for ball in drawn.balls:
        scene.add(solids.ball(ball.center, ball.radius), KIND_COLORS[ball.kind], paleness=paleness, layer=layer)


def _add_foot(scene: _Scene, drawn: Skeleton, ground: float, layer: int):
    """A pedestal from the ground to the root, drawn where the mechanism is bolted down."""
    if drawn.foot is None:
        return
    up = scene.upright.T @ np.array([0.0, 0.0, 1.0])
    height = float((scene.upright @ drawn.foot)[2] - ground)
    wide, narrow, plate = 0.085 * drawn.size, 0.05 * drawn.size, 0.016 * drawn.size
    rims = [(0.0, 0.0), (0.0, wide), (plate, wide), (plate, narrow)]
    shaft = [(s, narrow) for s in np.linspace(plate, height, 8)[1:]]
    profile = [*rims, *shaft, (height, 0.0)]
    scene.add(solids.revolved(drawn.foot - height * up, up, profile, sides=32), FOOT, layer=layer)


def _add_frames(scene: _Scene, mechanism: Mechanism, q, names: Sequence[str], length: float, layer: int):
    """Triads of the named frames, and where their labels go."""
    labels = []
    for name in names:
        T = frame_pose(mechanism, q, name)
        for k, color in enumerate(AXIS_COLORS):
            tip = T[:3, 3] + length * T[:3, k]
            scene.add(solids.arrow(T[:3, 3], tip, 0.05 * length), color, layer=layer, glow=0.35)
        labels.append((name, scene.upright @ T[:3, 3]))
    return labels


def _caption(mechanism: Mechanism) -> str:
    kinds = [joint.type.kind for joint in mechanism.joints if joint.type.n_v]
    counts = [f"{kinds.count(kind)} {kind}" for kind in KIND_COLORS if kind in kinds]
    return f"{mechanism.name}: {', '.join(counts)}" if counts else mechanism.name


def _shaded(facets: np.ndarray, colors: np.ndarray, glow: np.ndarray, view: _View):
    """Facets that face the viewer, as picture polygons with their colour, from back to front; and which they are."""
    normals = np.cross(facets[:, 2] - facets[:, 0], facets[:, 3] - facets[:, 1])
    lengths = np.linalg.norm(normals, axis=1)
    normals = normals / np.where(lengths > 0, lengths, 1.0)[:, None] @ view.R.T
    flat, near = view(facets)
    x, y = flat[..., 0], flat[..., 1]
    area = sum(x[:, k] * y[:, (k + 1) % 4] - x[:, (k + 1) % 4] * y[:, k] for k in range(4))
    kept = np.flatnonzero((area > 0) & (lengths > 0))
    diffuse = np.clip(normals @ _LIGHT, 0.0, 1.0)
    halfway = _LIGHT + np.array([0.0, 0.0, 1.0])
    shine = np.clip(normals @ (halfway / np.linalg.norm(halfway)), 0.0, 1.0) ** 24
    shade = 0.58 + 0.48 * diffuse
    shade = glow + (1.0 - glow) * shade
    lit = np.clip(colors * shade[:, None] + (0.16 * (1.0 - glow) * shine)[:, None], 0.0, 1.0)
    return flat, near.mean(axis=1), lit, kept


def _save(scene: _Scene, view: _View, ground, length, labels, kinds, words, file: Path, size, dpi) -> Path:
    try:
        from matplotlib import rc_context
        from matplotlib.collections import LineCollection, PolyCollection
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError(
            "pictures need matplotlib, which is not installed", remedy="pip install 'zveno[plot]'"
        ) from None

    facets, colors, glow, layers = (
        np.concatenate(part) if part else np.zeros((0, 4, 3))
        for part in (scene.facets, scene.colors, scene.glow, scene.layers)
    )
    flat, near, lit, kept = _shaded(facets, colors, glow, view)
    order = kept[np.lexsort((near[kept], layers[kept]))]
    lines, line_colors = _grid(view, facets, ground, length)
    with rc_context({"svg.hashsalt": "zveno", "svg.fonttype": "none", "font.family": "DejaVu Sans"}):
        figure = Figure(figsize=size, dpi=dpi, facecolor=PAPER)
        axes = figure.add_axes((0.02, 0.08, 0.96, 0.9))
        axes.set_axis_off()
        axes.set_aspect("equal")
        axes.add_collection(PolyCollection(_shadow(view, facets, ground, kept), facecolors=SHADOW, edgecolors=SHADOW))
        axes.add_collection(LineCollection(lines, colors=line_colors, linewidths=0.8))
        axes.add_collection(
            PolyCollection(flat[order], facecolors=lit[order], edgecolors=lit[order], linewidths=0.35)
        )
        for name, point in labels:
            place = view(point)[0]
            axes.annotate(
                name, place, xytext=(9, -13), textcoords="offset points", fontsize=10, color=INK, zorder=10
            )
        _set_limits(axes, flat.reshape(-1, 2), 0.05 * length, size)
        _add_words(figure, words, kinds)
        metadata = {"Date": None} if file.suffix.lower() == ".svg" else {}
        try:
            figure.savefig(file, metadata=metadata)
        except OSError as problem:
            raise ZvenoError(f"the picture cannot be written: {problem.strerror or problem}", file=file) from None
    return file


def _shadow(view: _View, facets: np.ndarray, ground: float, kept: np.ndarray) -> np.ndarray:
    """Every facet thrown on the ground by light from above and a little from the viewer's left."""
    light = view.R.T @ np.array([-0.22, 0.0, 0.0])
    fall = facets[kept, :, 2:] - ground
    thrown = facets[kept] - fall * (np.array([0.0, 0.0, 1.0]) + np.array([light[0], light[1], 0.0]))
    return view(thrown)[0]


def _grid(view: _View, facets: np.ndarray, ground: float, length: float):
    """Lines on the ground, a round number of metres apart, that fade out away from the mechanism."""
    points = facets.reshape(-1, 3)[:, :2]
    low, high = points.min(axis=0), points.max(axis=0)
    center, half = (low + high) / 2, 0.5 * float(max(high - low)) + 0.35 * length
    exponent = np.floor(np.log10(half / 3))
    step = 10.0**exponent * max(m for m in (1.0, 2.0, 5.0) if m * 10.0**exponent <= half / 3 * 1.0001)
    lines, colors = [], []
    ink, paper = _rgb(GRID), _rgb(PAPER)
    for k in (0, 1):
        for at in np.arange(np.ceil((center[k] - half) / step), np.floor((center[k] + half) / step) + 1) * step:
            along = np.linspace(-half, half, 41)
            line = np.empty((41, 3))
            line[:, k], line[:, 1 - k], line[:, 2] = at, center[1 - k] + along, ground
            away = np.hypot(line[:, 0] - center[0], line[:, 1] - center[1]) / half
            seen = view(line)[0]
            fade = np.clip(1.15 - away, 0.0, 1.0) ** 0.7
            lines.extend(np.stack([seen[:-1], seen[1:]], axis=1))
            colors.extend(ink * f + paper * (1 - f) for f in np.minimum(fade[:-1], fade[1:]))
    return np.array(lines), np.array(colors)


def _set_limits(axes, points: np.ndarray, margin: float, size: tuple[float, float]):
    low, high = points.min(axis=0) - margin, points.max(axis=0) + margin
    center, half = (low + high) / 2, (high - low) / 2
    aspect = 0.96 * size[0] / (0.9 * size[1])
    half = np.array([max(half[0], half[1] * aspect), max(half[1], half[0] / aspect)])
    axes.set_xlim(center[0] - half[0], center[0] + half[0])
    axes.set_ylim(center[1] - half[1], center[1] + half[1])


def _add_words(figure, words: str, kinds: Sequence[str]):
    figure.text(0.03, 0.035, words, fontsize=10.5, color=INK, va="center")
    x = 0.97
    for kind in reversed(kinds):
        text = figure.text(x, 0.035, kind, fontsize=9, color=FAINT, va="center", ha="right")
        width = 0.0113 * len(kind)
        x -= width
        figure.text(x - 0.006, 0.036, "●", fontsize=9, color=KIND_COLORS[kind], va="center", ha="right")
        x -= 0.035
        del text
