"""What pictures and animations of mechanisms have in common: coloured solids, the ground, and the camera."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..shapes.mesh import Mesh
from ..shapes.parts import Part, RobotParts, foot, ground_below, rgb
from ..shapes.solids import Solid
from . import raster

GRID, PAPER, SHADE = "#d5dce4", "#ffffff", "#3b4a5c"
_ELEVATION = np.radians(20.0)
_FRONT = np.radians(-50.0)
"""The preferred viewpoint: in front of the robot, to its right, a little above."""
_BAR_SHARE = 0.16
"""About how long the scale bar is, as a share of the picture's width."""


class FacetTable:
    """The facets of parts, made once: poses of the links carry them to any configuration."""

    def __init__(self, parts: Sequence[Part]):
        facets = [part.shape.facets() for part in parts]
        counts = [len(each) for each in facets]
        self.facets = np.concatenate([np.zeros((0, 4, 3)), *facets])
        self.links = np.repeat(np.array([part.link for part in parts], dtype=int), counts)
        self.colors = np.repeat(np.array([rgb(part.color) for part in parts]).reshape(-1, 3), counts, axis=0)

    def placed(self, T: Any) -> np.ndarray:
        """Facets in the world, (n, 4, 3), for poses of all links, (n_links, 4, 4)."""
        of_facet = np.asarray(T)[self.links]
        return self.facets @ np.swapaxes(of_facet[:, :3, :3], 1, 2) + of_facet[:, None, :3, 3]


@dataclass
class Layer:
    """Coloured facets in axes whose z points up, painted over the layers before."""

    upright: np.ndarray
    opacity: float
    parts: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = field(default_factory=list)

    def add(self, shape: Solid | Mesh, color: str, glow: float = 0.0):
        """Add a shape given in world coordinates; `glow` is the share of its colour that shading leaves alone."""
        self.add_facets(shape.facets(), np.tile(rgb(color), (len(shape.facets()), 1)), glow)

    def add_facets(self, facets: np.ndarray, colors: np.ndarray, glow: float = 0.0):
        """Add facets (n, 4, 3) of the world with their colours (n, 3)."""
        self.parts.append((facets @ self.upright.T, colors, np.full(len(facets), glow)))

    def arrays(self) -> list[np.ndarray]:
        """All facets (n, 4, 3), their colours (n, 3) and their glow (n,)."""
        empty = (np.zeros((0, 4, 3)), np.zeros((0, 3)), np.zeros(0))
        return [np.concatenate(part) for part in zip(empty, *self.parts, strict=True)]


def ground_height(robot: RobotParts, layers: Sequence[Layer]) -> float:
    """Just below everything, and far enough below the root of a bolted mechanism for its pedestal."""
    heights = [layer.arrays()[0][..., 2].min(initial=np.inf) for layer in layers]
    lowest = min(heights, default=np.inf)
    return ground_below(
        robot, min(float(lowest), 0.0) if robot.bolted or not np.isfinite(lowest) else float(lowest)
    )


def add_foot(layer: Layer, robot: RobotParts, ground: float):
    """A pedestal from the ground to the root, where the mechanism is bolted down."""
    for part in foot(robot, layer.upright, ground):
        layer.add(part.shape, part.color)


def best_camera(points: np.ndarray, layers: Sequence[Layer], length: float, size, dpi: int) -> raster.Camera:
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


def ground_grid(camera: raster.Camera, center: np.ndarray, half: float, ground: float):
    """Lines on the ground, a round number of metres apart, and their colours, which fade with the distance."""
    step = round_length(half / 3)
    lines, colors = [], []
    ink, paper = rgb(GRID), rgb(PAPER)
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


def round_length(most: float) -> float:
    """The largest of 1, 2 and 5 times a power of ten that is not longer, m."""
    exponent = np.floor(np.log10(most))
    return float(10.0**exponent * max(m for m in (1.0, 2.0, 5.0) if m == 1.0 or m * 10.0**exponent <= most))


def scale_bar(camera: raster.Camera) -> tuple[float, str]:
    """A round length, m, and how it is written, for a bar that is true in the middle of the picture."""
    length = round_length(_BAR_SHARE * float(camera.high[0] - camera.low[0]))
    return length, f"{length:g} m" if length >= 1.0 else f"{1e3 * length:g} mm"


def ground_area(layers: Sequence[Layer], length: float) -> tuple[np.ndarray, float]:
    """Centre (2,) and half width of the ground that is drawn under the layers."""
    corners = np.concatenate([layer.arrays()[0] for layer in layers]).reshape(-1, 3)[:, :2]
    corners = corners if len(corners) else np.zeros((1, 2))
    low, high = corners.min(axis=0), corners.max(axis=0)
    return (low + high) / 2, 0.5 * float(max(high - low)) + 0.5 * length


def image_of(camera: raster.Camera, layers: Sequence[Layer], ground: float, length: float) -> np.ndarray:
    """(height, width, 4) bytes: the layers one over the other, and the shadow of the last."""
    dark = raster.shadow(camera, layers[-1].arrays()[0], ground, 0.008 * length)
    shade = np.empty((*dark.shape, 4), dtype=np.float32)
    shade[..., :3], shade[..., 3] = rgb(SHADE), 0.2 * dark
    images = [shade]
    for layer in layers:
        image = raster.shaded(camera, *layer.arrays())
        image[..., 3] *= layer.opacity
        images.append(image)
    return raster.stacked(images)
