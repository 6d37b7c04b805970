"""Shaded images of facets, hidden surfaces removed, in plain NumPy.

Every facet is covered with points closer together than pixels, and each pixel keeps the point nearest to the
viewer. matplotlib's own 3-D axes sort whole objects instead and show the wrong one in front where they cross.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

_LIGHT = np.array([-0.45, 0.65, 0.8]) / np.linalg.norm([-0.45, 0.65, 0.8])
"""Towards the light, in the camera's axes: right, up, towards the viewer."""
_SPACING = 0.8
"""Pixels between the points that cover a facet."""
_DEPTH_STEPS = 2**30
SUPERSAMPLING = 2
"""Points a pixel side: images are made this much larger and averaged, which smooths edges."""


@dataclass(frozen=True)
class Camera:
    """Where the picture is seen from, and what part of the plane of projection it shows.

    Attributes:
        R: rows are right, up and towards the viewer, (3, 3).
        center: the point looked at, (3,).
        distance: from the viewer to the centre, m; a large one makes the perspective mild.
        low, high: corners of the picture in the plane of projection, (2,), m.
        pixels: width and height of the picture.
    """

    R: np.ndarray
    center: np.ndarray
    distance: float
    low: np.ndarray
    high: np.ndarray
    pixels: tuple[int, int]

    def project(self, points: Any) -> tuple[np.ndarray, np.ndarray]:
        """Place in the plane of projection (..., 2) and nearness to the viewer (...) of points (..., 3)."""
        seen = (points - self.center) @ self.R.T
        return seen[..., :2] * (self.distance / (self.distance - seen[..., 2:])), seen[..., 2]


def shaded(camera: Camera, facets: np.ndarray, colors: np.ndarray, glow: np.ndarray) -> np.ndarray:
    """An image (height, width, 4) of facets (n, 4, 3) with colours (n, 3), transparent where there is none.

    `glow` (n,) is the share of its colour that shading leaves alone.
    """
    flat, near = camera.project(facets)
    front = _turned_to_viewer(flat)
    flat, near, facets, colors, glow = flat[front], near[front], facets[front], colors[front], glow[front]
    lit = _lit(camera, facets, colors, glow)
    width, height = (SUPERSAMPLING * n for n in camera.pixels)
    keys = np.zeros(width * height, dtype=np.int64)
    lowest, highest = near.min(initial=0.0), near.max(initial=1.0)
    depth = (near - lowest) / max(highest - lowest, 1e-12)
    for which, pixel, at_depth in _covering(camera, flat, depth):
        key = ((at_depth * _DEPTH_STEPS).astype(np.int64) << 32) + which + 1
        np.maximum.at(keys, pixel, key)
    covered = np.flatnonzero(keys)
    return _averaged(camera, covered, lit[(keys[covered] & 0xFFFFFFFF) - 1])


def shadow(camera: Camera, facets: np.ndarray, ground: float, softness: float) -> np.ndarray:
    """How dark the ground is, (height, width) from 0 to 1, under light from above and a little from the left."""
    from scipy.ndimage import gaussian_filter

    slant = camera.R.T @ np.array([-0.2, 0.0, 0.0])
    towards_light = np.array([slant[0], slant[1], 1.0])
    thrown = facets - (facets[..., 2:] - ground) * towards_light
    flat, near = camera.project(thrown)
    width, height = (SUPERSAMPLING * n for n in camera.pixels)
    mask = np.zeros(width * height, dtype=bool)
    for _, pixel, _ in _covering(camera, flat, near):
        mask[pixel] = True
    covered = np.flatnonzero(mask)
    dark = _averaged(camera, covered, np.zeros((len(covered), 3)))[..., 3]
    scale = camera.pixels[0] / float(camera.high[0] - camera.low[0])
    return gaussian_filter(dark, softness * scale)


def stacked(images: Sequence[np.ndarray]) -> np.ndarray:
    """Images (height, width, 4) painted one over the other, as bytes."""
    color, cover = np.zeros_like(images[0][..., :3]), np.zeros_like(images[0][..., 3:])
    for image in images:
        above = image[..., 3:]
        color = image[..., :3] * above + color * (1.0 - above)
        cover = above + cover * (1.0 - above)
    plain = color / np.where(cover > 0, cover, 1.0)
    return (255.0 * np.concatenate([plain, cover], axis=-1) + 0.5).clip(0, 255).astype(np.uint8)


def _turned_to_viewer(flat: np.ndarray) -> np.ndarray:
    """Indices of facets whose corners go counter-clockwise in the picture."""
    x, y = flat[..., 0], flat[..., 1]
    following_x, following_y = np.roll(x, -1, axis=1), np.roll(y, -1, axis=1)
    return np.flatnonzero((x * following_y - following_x * y).sum(axis=1) > 0)


def _lit(camera: Camera, facets: np.ndarray, colors: np.ndarray, glow: np.ndarray) -> np.ndarray:
    normals = np.cross(facets[:, 2] - facets[:, 0], facets[:, 3] - facets[:, 1])
    normals = normals / np.maximum(np.linalg.norm(normals, axis=1), 1e-30)[:, None] @ camera.R.T
    halfway = _LIGHT + np.array([0.0, 0.0, 1.0])
    shine = np.clip(normals @ (halfway / np.linalg.norm(halfway)), 0.0, 1.0) ** 30
    shade = glow + (1.0 - glow) * (0.62 + 0.46 * np.clip(normals @ _LIGHT, 0.0, 1.0))
    return np.clip(colors * shade[:, None] + (0.15 * (1.0 - glow) * shine)[:, None], 0.0, 1.0)


def _covering(camera: Camera, flat: np.ndarray, depth: np.ndarray):
    """For groups of facets: facet numbers, pixel numbers and depths of the points that cover them."""
    width, height = (SUPERSAMPLING * n for n in camera.pixels)
    scale = width / (camera.high[0] - camera.low[0])
    corners = np.stack([(flat[..., 0] - camera.low[0]) * scale, (camera.high[1] - flat[..., 1]) * scale], axis=-1)
    corners, depth, counts = _steps(corners, depth)
    # Powers of two keep the number of groups small whatever the sizes are.
    counts = 2 ** np.ceil(np.log2(np.clip(counts / _SPACING, 1.0, 4096.0))).astype(int)
    for n_u, n_v in np.unique(counts, axis=0):
        group = np.flatnonzero((counts == (n_u, n_v)).all(axis=1))
        u, v = (np.arange(n) + 0.5 for n in (n_u, n_v))
        u, v = np.meshgrid(u / n_u, v / n_v, indexing="ij")
        weights = np.stack([(1 - u) * (1 - v), u * (1 - v), u * v, (1 - u) * v], axis=-1).reshape(-1, 4)
        for part in np.array_split(group, max(len(group) * len(weights) // 2_000_000, 1)):
            at = (weights @ corners[part]).astype(int)
            inside = (at[..., 0] >= 0) & (at[..., 0] < width) & (at[..., 1] >= 0) & (at[..., 1] < height)
            which = np.broadcast_to(part[:, None], inside.shape)[inside]
            yield which, at[inside] @ np.array([1, width]), (depth[part] @ weights.T)[inside]


def _steps(corners: np.ndarray, depth: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Corners (n, 4, 2) and depths (n, 4) of facets, and how many pixels they measure both ways, (n, 2).

    A triangle, whose last two corners are one, is turned so that rows of points run along its longest side: their
    number is then its height, and slivers cost what their area costs.
    """
    sides = np.linalg.norm(np.roll(corners, -1, axis=1) - corners, axis=-1)
    counts = np.stack([sides[:, [0, 2]].max(axis=1), sides[:, [1, 3]].max(axis=1)], axis=1)
    three = np.flatnonzero(sides[:, 2] == 0.0)
    first = sides[three][:, [0, 1, 3]].argmax(axis=1)
    order = (first[:, None] + np.array([0, 1, 2, 2])) % 3
    corners, depth = corners.copy(), depth.copy()
    corners[three] = np.take_along_axis(corners[three], order[..., None], axis=1)
    depth[three] = np.take_along_axis(depth[three], order, axis=1)
    a, b, c = (corners[three, k] for k in range(3))
    double_area = np.abs((b - a)[:, 0] * (c - a)[:, 1] - (b - a)[:, 1] * (c - a)[:, 0])
    longest = np.maximum(sides[three].max(axis=1), 1e-12)
    counts[three] = np.stack([longest, double_area / longest], axis=1)
    return corners, depth, counts


def _averaged(camera: Camera, points: np.ndarray, colors: np.ndarray) -> np.ndarray:
    """The image (height, width, 4) of coloured points of the supersampled one; the last channel is the coverage."""
    width, height = camera.pixels
    row, column = np.divmod(points, SUPERSAMPLING * width)
    pixel = (row // SUPERSAMPLING) * width + column // SUPERSAMPLING
    count = np.bincount(pixel, minlength=width * height)
    image = np.zeros((width * height, 4), dtype=np.float32)
    hit = np.flatnonzero(count)
    for k in range(3):
        image[hit, k] = np.bincount(pixel, weights=colors[:, k], minlength=width * height)[hit] / count[hit]
    image[:, 3] = count / SUPERSAMPLING**2
    return image.reshape(height, width, 4)
