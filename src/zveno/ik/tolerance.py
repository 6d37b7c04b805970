"""Tolerated deviations from a requested pose: per axis, within a ball or an angle, or a cone about an axis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ShapeError
from ..spatial.vectors import skews

SLACK = 1e-6
"""Share of a bound that a pose may be beyond it; and a thousandth of that in m or rad, where it is zero."""
_TINY = 1e-12


@dataclass(frozen=True, eq=False)
class Tolerance:
    """A region of poses about the target.

    Attributes:
        position: m; one number is the radius of a ball, three are half-widths along the target's axes (0 for
            exactly, infinity for free).
        rotation: rad; one number is the largest angle of turn, three are half-widths of the rotation vector in the
            target's axes. Not used where `axis` is given.
        axis: a direction in the tool's frame, such as (0, 0, 1), that must point within `cone` of where the target
            has it; turns about it are free.
        cone: rad, the half-angle of that cone.
        weights: six numbers for x, y, z and the turns about them, in the target's axes: of all poses inside the
            region, solutions come nearest to the target with errors multiplied by these. By default a radian counts
            as much as the arm's length.
    """

    position: ArrayLike = 0.0
    rotation: ArrayLike = 0.0
    axis: ArrayLike | None = None
    cone: float = 0.0
    weights: ArrayLike | None = None

    def __post_init__(self) -> None:
        for name, sizes in (("position", (1, 3)), ("rotation", (1, 3)), ("weights", (6,)), ("axis", (3,))):
            given = getattr(self, name)
            if given is None:
                continue
            try:
                array = np.array(given, dtype=float)
            except (TypeError, ValueError):
                raise ShapeError("is not an array of numbers", element=name) from None
            if array.size not in sizes or array.ndim > 1 or np.isnan(array).any():
                wanted = " or ".join(map(str, sizes))
                raise ShapeError(f"has shape {array.shape}", element=name, remedy=f"Give {wanted} numbers")
            if name != "axis" and (array < 0).any():
                raise ShapeError("must not be negative", element=name)
            object.__setattr__(self, name, array)
        if self.axis is not None:
            length = float(np.linalg.norm(np.asarray(self.axis)))
            if not (np.isfinite(length) and length > 0):
                raise ShapeError("has no direction", element="axis")
            object.__setattr__(self, "axis", np.asarray(self.axis) / length)
        if not (np.isfinite(self.cone) and self.cone >= 0):
            raise ShapeError("must be a finite angle that is not negative", element="cone")

    def measured(self, p: np.ndarray, R: np.ndarray) -> Measured:
        """Measure deviations of poses from the target, seen in the target's axes: p (s, 3) m and R (s, 3, 3)."""
        s = len(p)
        turn, turn_rate = _rotation_vector(R)
        outside_p, by_p = _excess(p, np.asarray(self.position))
        if self.axis is None:
            outside_turn, by_turn = _excess(turn, np.asarray(self.rotation))
            tilt_rate, bound = turn_rate, np.asarray(self.rotation)
        else:
            tilt, tilt_rate = _tilt(np.asarray(self.axis), R)
            outside_turn, by_turn = _excess(tilt, np.asarray(self.cone))
            bound = np.asarray(self.cone)
        rate, outside_rate = np.zeros((s, 6, 6)), np.zeros((s, 6, 6))
        rate[:, :3, :3], rate[:, 3:, 3:] = np.eye(3), turn_rate
        outside_rate[:, :3, :3], outside_rate[:, 3:, 3:] = by_p, by_turn @ tilt_rate
        inside = _negligible(outside_p, np.asarray(self.position)) & _negligible(outside_turn, bound)
        outside = np.concatenate([outside_p, outside_turn], axis=1)
        return Measured(np.concatenate([p, turn], axis=1), rate, outside, outside_rate, inside)


class Measured(NamedTuple):
    """Deviations of s poses from a target, in its axes.

    Attributes:
        deviation: (s, 6) displacement, m, and rotation vector, rad.
        rate: (s, 6, 6) its derivative by twists [v, w].
        outside: (s, 6) its excess, or that of the tilt of the axis, over the tolerance.
        outside_rate: (s, 6, 6) the derivative of that.
        inside: (s,) True if there is none, but for rounding.
    """

    deviation: np.ndarray
    rate: np.ndarray
    outside: np.ndarray
    outside_rate: np.ndarray
    inside: np.ndarray


def _negligible(outside: np.ndarray, bound: np.ndarray) -> np.ndarray:
    allowed = SLACK * np.where(np.isfinite(bound), bound, 0.0) + 1e-3 * SLACK
    return np.all(abs(outside) <= allowed, axis=1)


def _excess(d: np.ndarray, bound: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the excess of vectors d (s, 3) over a ball (one number) or a box (three), and its derivative by d."""
    if bound.size == 3:
        beyond = np.maximum(abs(d) - bound, 0.0)
        return np.sign(d) * beyond, (beyond > 0)[:, :, None] * np.eye(3)
    size = np.linalg.norm(d, axis=1)
    unit = d / np.maximum(size, _TINY)[:, None]
    beyond = np.maximum(size - float(bound), 0.0)
    along = unit[:, :, None] * unit[:, None]
    ratio = (beyond / np.maximum(size, _TINY))[:, None, None]
    whole = (np.eye(3) - along) * ratio + along
    if float(bound) == 0.0:
        whole = np.broadcast_to(np.eye(3), whole.shape)
    return unit * beyond[:, None], np.where((beyond > 0)[:, None, None], whole, 0.0)


def _rotation_vector(R: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return φ (s, 3) of rotations, and the map (s, 3, 3) from angular velocities in fixed axes to its rate."""
    sine = 0.5 * np.stack([R[:, 2, 1] - R[:, 1, 2], R[:, 0, 2] - R[:, 2, 0], R[:, 1, 0] - R[:, 0, 1]], axis=1)
    cosine = 0.5 * (np.trace(R, axis1=1, axis2=2) - 1.0)
    size = np.linalg.norm(sine, axis=1)
    angle = np.arctan2(size, cosine)
    half_turn = (size < 1e-6) & (cosine < 0)
    factor = np.where(size > 1e-9, angle / np.maximum(size, _TINY), 1.0)
    phi = sine * factor[:, None]
    for k in np.flatnonzero(half_turn):  # the axis is in the symmetric part
        column = np.argmax(np.diagonal(R[k]))
        v = R[k][:, column] + np.eye(3)[column]
        phi[k] = angle[k] * v / np.linalg.norm(v)
    t = np.maximum(angle, 1e-6)
    c = 1.0 / t**2 - (1.0 + np.cos(t)) / np.maximum(2.0 * t * np.sin(t), _TINY)
    c = np.where(angle < 1e-3, 1.0 / 12.0, np.clip(c, 0.0, 1.0))
    S = skews(phi)
    return phi, np.eye(3) - 0.5 * S + c[:, None, None] * (S @ S)


def _tilt(axis: np.ndarray, R: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the least turn (s, 3) from the axis to its image under R (s, 3, 3), and its rate by turning."""
    a = R @ axis
    across = np.cross(axis, a)
    size = np.linalg.norm(across, axis=1)
    angle = np.arctan2(size, a @ axis)
    other = np.cross(axis, np.eye(3)[np.argmin(abs(axis))])
    unit = np.where(size[:, None] > _TINY, across / np.maximum(size, _TINY)[:, None], other / np.linalg.norm(other))
    # Across the plane of the tilt, the turn changes as the direction does: by θ / tan θ, about.
    along = unit[:, :, None] * unit[:, None]
    ratio = np.where(angle > 1e-6, angle / np.tan(np.clip(angle, 1e-6, 1.5)), 1.0)[:, None, None]
    rest = np.eye(3) - axis[:, None] * axis[None]
    return unit * angle[:, None], along + ratio * (rest - along)
