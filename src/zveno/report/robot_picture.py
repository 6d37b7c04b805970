"""Picture of a robot by matplotlib: shaded facets, sorted by depth, with ground, shadow, frames and a scale bar."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..algorithms.forward_kinematics import frame_pose, link_poses
from ..errors import ShapeError
from ..mechanism import Mechanism
from . import solids
from .robot_parts import (
    KIND_COLORS,
    Part,
    RobotParts,
    foot,
    ground_below,
    kind_color,
    rgb,
    robot_parts,
    upright_axes,
)
from .style import AXIS_COLORS, FAINT, GRID, INK, PAPER, TRAIL

ELEVATION, FRONT = np.radians(20.0), np.radians(-50.0)
"""Preferred viewpoint: in front of the robot, to its right, a little above."""
DISTANCE = 6.0
"""Distance from the viewer in sizes of the robot, for a mild perspective."""
LIGHT = np.array([-0.45, 0.65, 0.8]) / np.linalg.norm([-0.45, 0.65, 0.8])
"""Direction towards the light in camera axes: right, up, towards the viewer."""
GHOSTS = 4
"""Number of earlier configurations of a motion that are shown pale."""
LARGEST = 0.03
"""Maximum side of a facet relative to the robot's size; longer facets are divided for correct depth sorting."""


class FacetTable:
    """Facets of parts, computed once and placed by the link poses of any configuration."""

    def __init__(self, parts: Sequence[Part], longest: float = np.inf):
        facets = [_divide_facets(part.shape.facets(), longest) for part in parts]
        counts = [len(each) for each in facets]
        self.facets: np.ndarray = np.concatenate([np.zeros((0, 4, 3)), *facets])
        self.links: np.ndarray = np.repeat(np.array([part.link for part in parts], dtype=int), counts)
        self.colors: np.ndarray = np.repeat(
            np.array([rgb(part.color) for part in parts]).reshape(-1, 3), counts, axis=0
        )

    def placed(self, T: Any) -> np.ndarray:
        """Return the facets in the world, (n, 4, 3), for poses of all links, (n_links, 4, 4)."""
        of_facet = np.asarray(T)[self.links]
        return self.facets @ np.swapaxes(of_facet[:, :3, :3], 1, 2) + of_facet[:, None, :3, 3]


class Camera:
    """Projection onto the picture plane, from where the robot is widest, preferably from its front."""

    def __init__(self, points: np.ndarray, size: float):
        self.center: np.ndarray = 0.5 * (points.min(axis=0) + points.max(axis=0))
        self.distance: float = DISTANCE * size
        azimuths = np.radians(np.arange(-180, 180, 10))
        views = np.stack([_axes_of_view(azimuth) for azimuth in azimuths])
        flat = (points - self.center) @ np.swapaxes(views[:, :2], 1, 2)
        spread = np.swapaxes(flat, 1, 2) @ flat / len(points) + 1e-4 * size**2 * np.eye(2)
        score = np.sqrt(np.linalg.det(spread)) * (1.0 + 0.5 * np.cos(azimuths - FRONT))
        self.R = views[np.argmax(score)]

    def project(self, points: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return picture coordinates (..., 2) and nearness to the viewer (...) of points (..., 3)."""
        seen = (points - self.center) @ self.R.T
        return seen[..., :2] * (self.distance / (self.distance - seen[..., 2:])), seen[..., 2]


def draw_motion(axes: Any, mechanism: Mechanism, q: Any, *, frame: str | None = None) -> None:
    """Draw a motion: the last configuration, earlier ones in pale colours, and the path of a frame.

    Args:
        axes: matplotlib axes.
        mechanism: the robot.
        q: configurations in order, (k, n_q), k ≥ 2.
        frame: the frame whose path is drawn; the default frame if not given.
    """
    q = mechanism.checked_q(q)
    if q.ndim != 2 or len(q) < 2:
        raise ShapeError(f"must have shape (k, {mechanism.n_q}) with k ≥ 2, got {q.shape}", element="q")
    name = mechanism.frame(frame).name
    way = np.stack([frame_pose(mechanism, configuration, name)[:3, 3] for configuration in q])
    before = q[np.linspace(0, len(q) - 1, GHOSTS + 1).round().astype(int)[:-1]]
    draw_robot(axes, mechanism, q[-1], ghosts=before, trail=way, frames=[name])


def draw_robot(
    axes: Any,
    mechanism: Mechanism,
    q: Any = None,
    *,
    ghosts: Any = (),
    trail: Any = None,
    points: Any = None,
    frames: Sequence[str] = (),
) -> None:
    """Draw a robot into matplotlib axes.

    Args:
        axes: matplotlib axes; their frame and ticks are hidden.
        mechanism: the robot.
        q: coordinates, (n_q,); the neutral configuration if not given.
        ghosts: configurations shown pale behind the robot, the palest first.
        trail: points of the world joined by a line, (k, 3).
        points: points of the world shown as dots, (k, 3).
        frames: names of frames shown as red, green and blue axes.
    """
    q = mechanism.home if q is None else mechanism.checked_q(q)
    if q.ndim != 1:
        raise ShapeError(f"must have shape ({mechanism.n_q},), got {q.shape}", element="q")
    robot, upright = robot_parts(mechanism), upright_axes(mechanism)
    table = FacetTable(robot.parts, LARGEST * robot.size)
    pale = [
        table.placed(link_poses(mechanism, mechanism.checked_q(ghost))) @ upright.T for ghost in np.asarray(ghosts)
    ]
    solid = table.placed(link_poses(mechanism, q)) @ upright.T
    corners = np.concatenate([*pale, solid]).reshape(-1, 3)
    corners = corners if len(corners) else np.zeros((1, 3))
    ground = ground_below(robot, float(min(corners[:, 2].min(), 0.0 if robot.bolted else np.inf)))
    camera = Camera(corners, robot.size)
    _draw_ground(axes, camera, corners, ground, robot.size)
    _draw_shadow(axes, camera, solid, ground)
    for k, facets in enumerate(pale):
        _draw_facets(axes, camera, facets, table.colors, 0.28 + 0.27 * (k + 1) / len(pale), 3 + k)
    foremost, colors = _with_extras(mechanism, robot, q, upright, ground, frames)
    top = 4 + len(pale)
    _draw_facets(axes, camera, np.concatenate([solid, foremost]), np.concatenate([table.colors, colors]), 1.0, top)
    if trail is not None:
        way = camera.project(np.asarray(trail, dtype=float) @ upright.T)[0]
        axes.plot(*way.T, color=TRAIL, linewidth=1.8, zorder=top + 1, solid_capstyle="round")
    if points is not None and len(points):
        places = camera.project(np.asarray(points, dtype=float) @ upright.T)[0]
        axes.plot(*places.T, "o", color=AXIS_COLORS[2], markersize=4, zorder=top + 1)
    for name in frames:
        _label_frame(axes, camera, upright @ frame_pose(mechanism, q, name)[:3], name, 0.12 * robot.size, top + 2)
    axes.set_aspect("equal", adjustable="datalim")
    axes.set_axis_off()
    seen = camera.project(np.concatenate([corners, foremost.reshape(-1, 3)]))[0]
    _frame_picture(axes, seen, robot.size)
    _draw_legend(axes, mechanism, robot)


def _axes_of_view(azimuth: float) -> np.ndarray:
    """Camera axes as rows: right, up and towards the viewer."""
    c, s = np.cos(azimuth), np.sin(azimuth)
    towards = np.array([c * np.cos(ELEVATION), s * np.cos(ELEVATION), np.sin(ELEVATION)])
    right = np.array([-s, c, 0.0])
    return np.stack([right, np.cross(towards, right), towards])


def _divide_facets(facets: np.ndarray, longest: float) -> np.ndarray:
    """Divide quadrilaterals along their longer side until no side is longer than `longest`."""
    while True:
        sides = np.linalg.norm(np.roll(facets, -1, axis=1) - facets, axis=-1)
        u, v = sides[:, [0, 2]].max(axis=1, initial=0.0), sides[:, [1, 3]].max(axis=1, initial=0.0)
        large = np.maximum(u, v) > longest
        if not large.any():
            return facets
        turned = np.where((u >= v)[:, None, None], facets, np.roll(facets, -1, axis=1))[large]
        a, b, c, d = np.moveaxis(turned, 1, 0)
        ab, cd = 0.5 * (a + b), 0.5 * (c + d)
        halves = [np.stack([a, ab, cd, d], axis=1), np.stack([ab, b, c, cd], axis=1)]
        facets = np.concatenate([facets[~large], *halves])


def _draw_facets(axes: Any, camera: Camera, facets: np.ndarray, colors: np.ndarray, strength: float, order: int):
    """Draw shaded facets, the farthest first; a strength below one mixes the colours with the background."""
    from matplotlib.collections import PolyCollection

    flat, near = camera.project(facets)
    x, y = flat[..., 0], flat[..., 1]
    front = (x * np.roll(y, -1, axis=1) - np.roll(x, -1, axis=1) * y).sum(axis=1) > 0
    order_of = np.flatnonzero(front)[np.argsort(near[front].mean(axis=1), kind="stable")]
    normals = np.cross(facets[:, 2] - facets[:, 0], facets[:, 3] - facets[:, 1])[order_of] @ camera.R.T
    normals /= np.maximum(np.linalg.norm(normals, axis=1), 1e-30)[:, None]
    halfway = LIGHT + np.array([0.0, 0.0, 1.0])
    shine = np.clip(normals @ (halfway / np.linalg.norm(halfway)), 0.0, 1.0) ** 30
    lit = colors[order_of] * (0.62 + 0.46 * np.clip(normals @ LIGHT, 0.0, 1.0))[:, None] + 0.15 * shine[:, None]
    lit = strength * np.clip(lit, 0.0, 1.0) + (1.0 - strength) * rgb(PAPER)
    drawn = PolyCollection(list(flat[order_of]), facecolors=lit, edgecolors=lit, linewidths=0.4, zorder=order)
    drawn.set_rasterized(True)
    axes.add_collection(drawn, autolim=False)


def _draw_shadow(axes: Any, camera: Camera, facets: np.ndarray, ground: float) -> None:
    from matplotlib.collections import PolyCollection

    slant = camera.R.T @ np.array([-0.2, 0.0, 0.0])
    thrown = facets - (facets[..., 2:] - ground) * np.array([slant[0], slant[1], 1.0])
    shade = PolyCollection(list(camera.project(thrown)[0]), color="#e3e7ec", linewidths=0.4, zorder=2)
    shade.set_rasterized(True)
    axes.add_collection(shade, autolim=False)


def _draw_ground(axes: Any, camera: Camera, corners: np.ndarray, ground: float, size: float) -> None:
    """Draw grid lines on the ground, a round number of metres apart, that fade with distance."""
    from matplotlib.collections import LineCollection

    low, high = corners[:, :2].min(axis=0), corners[:, :2].max(axis=0)
    center, half = 0.5 * (low + high), 0.5 * float(max(high - low)) + 0.5 * size
    step = round_length(half / 3)
    lines, colors = [], []
    for k in (0, 1):
        for at in np.arange(np.ceil((center[k] - half) / step), np.floor((center[k] + half) / step) + 1) * step:
            line = np.full((61, 3), ground)
            line[:, k], line[:, 1 - k] = at, center[1 - k] + np.linspace(-half, half, 61)
            away = np.hypot(line[:-1, 0] - center[0], line[:-1, 1] - center[1]) / half
            strength = np.clip(1.0 - away**2, 0.0, 1.0)[:, None]
            seen = camera.project(line)[0]
            lines.append(np.stack([seen[:-1], seen[1:]], axis=1))
            colors.append(rgb(GRID) * strength + rgb(PAPER) * (1.0 - strength))
    grid = LineCollection(list(np.concatenate(lines)), colors=np.concatenate(colors), linewidths=0.8, zorder=1)
    axes.add_collection(grid, autolim=False)


def _with_extras(
    mechanism: Mechanism, robot: RobotParts, q: Any, upright: np.ndarray, ground: float, frames: Sequence[str]
) -> tuple[np.ndarray, np.ndarray]:
    """Return facets and colours of the pedestal and of the axes of frames."""
    length = 0.12 * robot.size
    shapes = [(part.shape, part.color) for part in foot(robot, upright, ground)]
    for name in frames:
        T = frame_pose(mechanism, q, name)
        for k, color in enumerate(AXIS_COLORS):
            shapes.append((solids.arrow(T[:3, 3], T[:3, 3] + length * T[:3, k], 0.038 * length), color))
    table = FacetTable([Part(0, color, shape) for shape, color in shapes], LARGEST * robot.size)
    return table.facets @ upright.T, table.colors


def _label_frame(axes: Any, camera: Camera, T: np.ndarray, name: str, length: float, order: int) -> None:
    """Write the name of a frame beside its origin, on the side away from its axes."""
    from matplotlib.patheffects import withStroke

    place = camera.project(T[:, 3])[0]
    away = -(camera.project(T[:, 3] + length * T[:, :3].T)[0] - place).sum(axis=0)
    away = away / np.linalg.norm(away) if np.linalg.norm(away) > 1e-9 else np.array([0.0, -1.0])
    horizontal = "center" if abs(away[0]) < 0.35 else ("left" if away[0] > 0 else "right")
    vertical = "center" if abs(away[1]) < 0.35 else ("bottom" if away[1] > 0 else "top")
    axes.annotate(
        name,
        place,
        xytext=tuple(13 * away),
        textcoords="offset points",
        ha=horizontal,
        va=vertical,
        fontsize=10,
        color=INK,
        zorder=order,
        path_effects=[withStroke(linewidth=3, foreground=PAPER)],
    )


def _frame_picture(axes: Any, seen: np.ndarray, size: float) -> None:
    """Set the limits of the axes around the robot, and draw a bar of a round length below it."""
    low, high = seen.min(axis=0), seen.max(axis=0)
    margin = 0.06 * float(max(*(high - low), 0.2 * size))
    low, high = low - margin, high + margin
    length = round_length(0.16 * float(high[0] - low[0]))
    y, tick = low[1] - 0.3 * margin, 0.12 * margin
    x = np.array([0.0, 0.0, 0.0, length, length, length]) + low[0]
    axes.plot(x, y + tick * np.array([1, -1, 0, 0, -1, 1]), color=FAINT, linewidth=1.1)
    text = f"{length:g} m" if length >= 1.0 else f"{1e3 * length:g} mm"
    axes.text(x[-1] + 0.3 * margin, y, text, fontsize=8.5, color=FAINT, va="center")
    axes.update_datalim([(low[0], low[1] - 0.6 * margin), tuple(high)])
    axes.margins(0.0)


def _draw_legend(axes: Any, mechanism: Mechanism, robot: RobotParts) -> None:
    """Draw a legend of the joint types with their numbers."""
    from matplotlib.lines import Line2D

    colors = {part.color for part in robot.parts}
    kinds = [joint.type.kind for joint in mechanism.joints if joint.type.n_v]
    seen = [kind for kind in dict.fromkeys((*KIND_COLORS, *kinds)) if kind in kinds and kind_color(kind) in colors]
    marks = [
        Line2D([], [], linestyle="none", marker="o", color=kind_color(kind), label=f"{kinds.count(kind)} {kind}")
        for kind in seen
    ]
    if marks:
        style: dict[str, Any] = {"frameon": False, "fontsize": 8, "labelcolor": FAINT, "handletextpad": 0.1}
        axes.legend(handles=marks, loc="lower right", ncols=min(len(marks), 4), columnspacing=1.0, **style)


def round_length(most: float) -> float:
    """Return the largest of 1, 2 and 5 times a power of ten up to `most`, m."""
    exponent = np.floor(np.log10(most))
    return float(10.0**exponent * max(m for m in (1.0, 2.0, 5.0) if m == 1.0 or m * 10.0**exponent <= most))
