"""What pictures and animations of mechanisms have in common: coloured solids, the ground, and the camera."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from . import raster, solids
from .pieces import solid_pieces
from .skeleton import Skeleton

FOOT, GRID, PAPER, SHADE = "#66727f", "#d5dce4", "#ffffff", "#3b4a5c"
_ELEVATION = np.radians(20.0)
_FRONT = np.radians(-50.0)
"""The preferred viewpoint: in front of the robot, to its right, a little above."""


@dataclass
class Layer:
    """Coloured solids in axes whose z points up, painted over the layers before."""

    upright: np.ndarray
    opacity: float
    parts: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = field(default_factory=list)

    def add(self, solid: solids.Solid, color: str, glow: float = 0.0):
        """Add a solid given in world coordinates; `glow` is the share of its colour that shading leaves alone."""
        facets = solid.facets()
        n = len(facets)
        self.parts.append((facets @ self.upright.T, np.tile(rgb(color), (n, 1)), np.full(n, glow)))

    def arrays(self) -> list[np.ndarray]:
        """All facets (n, 4, 3), their colours (n, 3) and their glow (n,)."""
        empty = (np.zeros((0, 4, 3)), np.zeros((0, 3)), np.zeros(0))
        return [np.concatenate(part) for part in zip(empty, *self.parts, strict=True)]


def rgb(color: str) -> np.ndarray:
    """(3,) from 0 to 1 of a colour such as #26303b."""
    return np.array([int(color[k : k + 2], 16) for k in (1, 3, 5)]) / 255.0


def ground_height(skeletons: Sequence[Skeleton], upright: np.ndarray) -> float:
    """Just below everything, and far enough below the root of a bolted mechanism for its pedestal."""
    main = skeletons[0]
    heights = [0.0] if main.foot is not None or not main.bars else []
    for drawn in skeletons:
        for bar in drawn.bars:
            heights.append((upright @ bar.start)[2] - bar.radius)
            heights.append((upright @ bar.end)[2] - bar.end_radius)
    foot = [] if main.foot is None else [(upright @ main.foot)[2] - 0.15 * main.size]
    return float(min(heights + foot))


def add_skeleton(layer: Layer, drawn: Skeleton):
    """Links and joints of a skeleton."""
    for piece in solid_pieces(drawn):
        layer.add(piece.solid, piece.color)


def add_foot(layer: Layer, drawn: Skeleton, ground: float):
    """A pedestal from the ground to the root, where the mechanism is bolted down."""
    if drawn.foot is None:
        return
    up = layer.upright.T @ np.array([0.0, 0.0, 1.0])
    top = drawn.foot - 0.04 * drawn.size * up  # leaves the joint that usually sits on the root in sight
    height = float((layer.upright @ top)[2] - ground)
    wide, narrow, plate = (share * drawn.size for share in (0.085, 0.052, 0.016))
    profile = [(0.0, 0.0), (0.0, wide), (plate, wide), (plate, narrow), (height, narrow), (height, 0.0)]
    layer.add(solids.revolved(top - height * up, up, profile, sides=48), FOOT)


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
    exponent = np.floor(np.log10(half / 3))
    step = 10.0**exponent * max(m for m in (1.0, 2.0, 5.0) if m == 1.0 or m * 10.0**exponent <= half / 3)
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
