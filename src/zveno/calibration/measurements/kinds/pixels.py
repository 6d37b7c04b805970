"""Camera pixels: corners of a board, or one marker, in the image, with a lens that is known or estimated."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from ....errors import ShapeError, ZvenoError, unknown_name
from ....kernels.ops import abs as absolute
from ....kernels.ops import where
from ....spatial.transforms import inverse, transform
from .. import options
from .._start_values import StartData, frames_of_boards, frames_of_marker
from ..base import (
    ALL_SIX,
    POINT,
    Measurement,
    Mistake,
    Noise,
    Number,
    Remark,
    Slot,
    Spelling,
    frame_slot,
    point_frame,
)

IMAGINED = (600.0, 600.0, 320.0, 240.0)
"""Focal lengths and centre, px, of an imagined camera."""
LENS = ("fx", "fy", "cx", "cy", "k1", "k2", "p1", "p2", "k3")
VIEW = 0.8
"""Tangent of half the angle of view, for imagined postures."""
NEAREST = 1e-9
"""Distance, m, from the plane of the lens below which a point has no image."""


@dataclass(frozen=True, eq=False)
class Pixels(Measurement):
    """Image coordinates of points of a board, or of one marker. Readings: (n, 2) or (n, points, 2), px.

    The camera looks along its z axis, x to the right and y down in the image; distortion is that of Brown and
    Conrady in the order of OpenCV.

    Attributes:
        mount: "hand" if the camera is on the robot (eye in hand), "world" if it stands beside it (eye to hand).
        points: of the board in its frame, (k, 3), m, in the order of the readings; one marker if None.
        grid: of a chessboard: points in a line, lines, and their spacing, m, instead of `points`.
        intrinsics: fx fy cx cy, px: as known, or first values.
        distortion: k1 k2 p1 p2 k3, or the first of them.
        unknown_intrinsics, unknown_distortion: whether they are estimated.
        board, camera: names, or a (4, 4) pose where known: of what stands in the world as the world seen from it,
            of what is on the robot as its pose in the frame.
    """

    mount: Literal["hand", "world"] = field(default="hand", metadata=options.one_of("hand", "world"))
    points: ArrayLike | None = field(default=None, metadata=options.POINTS)
    grid: ArrayLike | None = field(default=None, metadata=options.numbers(3, lengths=slice(2, 3)))
    intrinsics: ArrayLike | None = field(default=None, metadata=options.numbers(4))
    distortion: ArrayLike = field(default=(), metadata=options.numbers())
    unknown_intrinsics: bool = field(default=False, metadata=options.FLAG)
    unknown_distortion: bool = field(default=False, metadata=options.FLAG)
    board: str | ArrayLike = field(default="board", metadata=options.WORD)
    camera: str | ArrayLike = field(default="camera", metadata=options.WORD)

    kind = "pixels"
    n_data = 2
    n_numbers = 10
    noises: ClassVar[tuple[Noise, ...]] = (Noise("pixel", slice(0, 2), "px", 0.3),)
    columns: ClassVar[tuple[str, ...]] = ("u", "v")
    spellings: ClassVar[tuple[Spelling, ...]] = (
        (r"(?:corner|pixel|px|image|img)?_?([uv])_?(\d*)", lambda m: f"{m[1]}{m[2]}"),
        (r"(?:corner|pixel|px|image|img)_?(\d+)_?([uv])", lambda m: f"{m[2]}{m[1]}"),
    )
    looks_like = "pixels of a camera: # kind = pixels"

    def __post_init__(self) -> None:
        if self.mount not in ("hand", "world"):
            raise unknown_name("mount", self.mount, ("hand", "world"))
        if np.size(self.distortion) > 5:
            raise ShapeError("has more than five numbers", element="distortion", remedy="Give k1 k2 p1 p2 k3")
        if self.intrinsics is not None and (np.shape(self.intrinsics) != (4,) or np.min(self.intrinsics[:2]) <= 0):  # type: ignore[index]
            raise ShapeError("is not fx fy cx cy", element="intrinsics", remedy="Give four numbers, px")

    @property
    def numbers_label(self) -> str:
        """Name of the camera."""
        return self.camera if isinstance(self.camera, str) else "camera"

    @property
    def places(self) -> np.ndarray:
        """Points of the board, (k, 3)."""
        if self.grid is not None:
            nx, ny, spacing = np.asarray(self.grid, dtype=float)
            if not (nx >= 1 and ny >= 1 and spacing > 0 and nx * ny < 10_000):
                raise ShapeError("is not a grid", element="grid", remedy="Give points in a line, lines, spacing")
            x, y = np.meshgrid(np.arange(int(nx)), np.arange(int(ny)))
            return spacing * np.column_stack([x.ravel(), y.ravel(), np.zeros(x.size)])
        if self.points is None:
            return np.zeros((1, 3))
        points = np.atleast_2d(np.asarray(self.points, dtype=float))
        if points.ndim != 2 or points.shape[1] != 3:
            raise ShapeError(f"has shape {points.shape}", element="points", remedy="Give (k, 3) metres")
        return points

    @property
    def left(self) -> Slot:
        """Frame that is fixed in the world: the board or the camera."""
        return self._slot("board" if self.mount == "hand" else "camera")

    @property
    def right(self) -> tuple[Slot, ...]:
        """Frame that is on the robot: the camera or the board."""
        return (self._slot("camera" if self.mount == "hand" else "board"),)

    @property
    def targets(self) -> tuple[Slot, ...]:
        """Points of the board."""
        return tuple(Slot(f"corner{k}", (), point_frame(p)) for k, p in enumerate(self.places, start=1))

    def _slot(self, which: str) -> Slot:
        given = getattr(self, which)
        if not isinstance(given, str):
            return frame_slot(given, which)
        # The orientation of a single marker is not observable.
        return Slot(given, POINT if which == "board" and len(self.places) == 1 else ALL_SIX, None, True)

    @property
    def numbers(self) -> tuple[Number, ...]:
        """Mount of the camera (1: on the hand), then its intrinsics and distortion."""
        known = self.intrinsics is not None
        f = np.asarray(self.intrinsics, dtype=float) if known else np.array(IMAGINED)
        k = np.concatenate([np.ravel(self.distortion).astype(float), np.zeros(5)])[:5]
        free = [self.unknown_intrinsics] * 4 + [self.unknown_distortion] * 5
        lens = zip(LENS, [*f, *k], ["px"] * 4 + ["1"] * 5, free, strict=True)
        on_hand = Number("in_hand", 1.0 if self.mount == "hand" else 0.0, "1")
        return (on_hand, *(Number(name, float(value), unit, unknown) for name, value, unit, unknown in lens))

    @property
    def shows_scale(self) -> bool:
        """True if two points of the board are known."""
        return len(self.places) > 1

    @staticmethod
    def residual(P: np.ndarray, X: np.ndarray, y: np.ndarray, *c: np.ndarray) -> np.ndarray:
        """Return predicted less read, px."""
        R, t, x = P[:3, :3], P[:3, 3], X[:3, 3]
        ahead, back = R.T @ (x - t), R @ x + t
        p = [where(c[0][0] > 0.5, a, b) for a, b in zip(ahead, back, strict=True)]
        p[2] = where(absolute(p[2]) < NEAREST, NEAREST, p[2])
        return np.array(_image(p, c[0][1:])) - y

    @staticmethod
    def reading(P: np.ndarray, X: np.ndarray, *c: np.ndarray) -> np.ndarray:
        """Return the image of the point, px."""
        if P.ndim == 2:  # one row, whose numbers may be traced
            return Pixels.residual(P, X, np.zeros(2), *c)
        numbers = np.moveaxis(c[0], -1, 0)
        p = _in_camera(P, X, numbers[0] > 0.5)
        p[..., 2] = np.where(abs(p[..., 2]) < NEAREST, NEAREST, p[..., 2])
        return np.stack(_image(np.moveaxis(p, -1, 0), numbers[1:]), axis=-1)

    def data(self, y: ArrayLike | None, n: int) -> tuple[np.ndarray, list[Remark]]:
        """Return the readings; the intrinsics must be given, at least approximately."""
        if self.intrinsics is None:
            raise ZvenoError(
                "pixels mean nothing without the focal length of the camera",
                element="intrinsics",
                remedy="Give fx fy cx cy, px; unknown_intrinsics estimates them from there",
            )
        return super().data(y, n)

    def visible(self, P: np.ndarray, X: np.ndarray) -> np.ndarray:
        """Return True for points in front of the camera and near the centre of the image."""
        p = _in_camera(P, X, np.full(len(P), self.mount == "hand"))
        return (p[:, 2] > 0.05) & (abs(p[:, :2]).max(axis=1) < VIEW * p[:, 2])

    def imagined_left(self, T: np.ndarray, scale: float) -> np.ndarray:
        """Return a board in front of the camera in some posture, or a camera that sees the robot's workspace."""
        if self.mount == "hand":
            return inverse(T[0] @ transform(None, [0.0, 0.0, 0.7 * scale]))
        middle = T[:, :3, 3].mean(axis=0)
        look = np.array([[0.0, 0.0, -1.0], [1.0, 0.0, 0.0], [0.0, -1.0, 0.0]])  # from in front, level
        return inverse(transform(look, middle + [2.5 * scale, 0.0, 0.0]))

    def with_several(self, count: int) -> Self | None:
        """Return the measurement if the board has several points, else None."""
        return self if len(self.places) > 1 else None

    def mistakes(self) -> Iterator[Mistake]:
        """Generate the error of swapped rows and columns of the image."""
        yield "rows and columns of the image were swapped", lambda y: y[:, ::-1]

    def first_frames(self, rows: StartData) -> dict[int, np.ndarray]:
        """Find camera and board from the pose of the board in every image, or from all images of one marker."""
        if rows.find_left is None and not rows.find_right:
            return {}
        in_hand = self.mount == "hand"
        return (frames_of_boards if len(self.places) > 3 else frames_of_marker)(rows, in_hand)


def _in_camera(P: np.ndarray, X: np.ndarray, in_hand: np.ndarray) -> np.ndarray:
    """Return points (..., 3) in the camera's frame."""
    R, t, x = P[..., :3, :3], P[..., :3, 3], X[..., :3, 3]
    ahead = np.einsum("...ji,...j->...i", R, x - t)
    return np.where(in_hand[..., None], ahead, np.einsum("...ij,...j->...i", R, x) + t)


def _image(p, lens):
    """Return u and v of a point (x, y, z) in the camera's frame: pinhole with Brown–Conrady distortion."""
    fx, fy, cx, cy, k1, k2, p1, p2, k3 = (lens[k] for k in range(9))
    x, y = p[0] / p[2], p[1] / p[2]
    r = x * x + y * y
    radial = 1.0 + r * (k1 + r * (k2 + r * k3))
    a = x * radial + 2.0 * p1 * x * y + p2 * (r + 2.0 * x * x)
    b = y * radial + p1 * (r + 2.0 * y * y) + 2.0 * p2 * x * y
    return fx * a + cx, fy * b + cy
