"""Motion of a link."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..spatial.vectors import cross


class Motion(NamedTuple):
    """Motion of a link and of one point on it, all (3,) in the same axes."""

    v: Any
    """velocity of the point, m/s"""
    w: Any
    """angular velocity ω, rad/s"""
    a: Any
    """acceleration of the point, m/s²"""
    e: Any
    """angular acceleration ε, rad/s²"""

    def at(self, r: np.ndarray) -> Motion:
        """Return the motion of another point of the same link, at r from this one: v + ω×r, a + Ω r."""
        return Motion(self.v + cross(self.w, r), self.w, self.a + self.rates @ r, self.e)

    @property
    def twist(self) -> np.ndarray:
        """`[v, w]`, (6,)."""
        return np.concatenate([self.v, self.w])

    @property
    def acceleration(self) -> np.ndarray:
        """`[a, e]`, (6,)."""
        return np.concatenate([self.a, self.e])

    @property
    def rates(self) -> np.ndarray:
        """Ω = [ε]× + [ω]×[ω]×, (3, 3): the acceleration of a point of the link at r from another is Ω r.

        Its entries are shared by all points of the link and by its inertial forces.
        """
        (wx, wy, wz), (ex, ey, ez) = self.w, self.e
        xx, yy, zz, xy, xz, yz = wx * wx, wy * wy, wz * wz, wx * wy, wx * wz, wy * wz
        return np.array(
            [[-(yy + zz), xy - ez, xz + ey], [xy + ez, -(xx + zz), yz - ex], [xz - ey, yz + ex, -(xx + yy)]]
        )


AT_REST = Motion(np.zeros(3), np.zeros(3), np.zeros(3), np.zeros(3))
