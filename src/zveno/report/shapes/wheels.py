"""Wheels among the bodies of a mechanism: they turn without end about a level axis on which their mass lies."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...mechanism import Mechanism
from ...spatial import inertia
from .bodies import Body

_LEVEL = np.sin(np.radians(20.0))
"""How far an axle may be from level."""
_THIN = 0.25
"""Half width over radius of wheels whose inertia does not tell."""


@dataclass(frozen=True)
class Wheel:
    """A wheel about the axis of its joint."""

    POINTS: ClassVar[tuple[str, ...]] = ("center",)
    DIRECTIONS: ClassVar[tuple[str, ...]] = ("direction",)
    link: int
    center: np.ndarray
    direction: np.ndarray
    radius: float
    half_width: float


def wheels(mechanism: Mechanism, bodies: list[Body], T: list, shown: list[int], size: float) -> dict[int, Wheel]:
    """The bodies that are wheels, by their number.

    A body that carries nothing and turns without limits about a level axis through its centre of mass is one if it
    is called so, or if its carrier has another: the last joint of an arm may turn without end too.
    """
    up = -mechanism.gravity / max(float(np.linalg.norm(mechanism.gravity)), 1e-30)
    like = {k: wheel for k in shown if (wheel := _wheel(mechanism, bodies, T, k, up, size)) is not None}
    siblings = Counter(bodies[k].parent for k in like)
    return {
        k: wheel for k, wheel in like.items() if siblings[bodies[k].parent] > 1 or _called_so(mechanism, bodies[k])
    }


def _called_so(mechanism: Mechanism, body: Body) -> bool:
    names = [mechanism.links[i].name for i in body.links] + [body.joint.name if body.joint is not None else ""]
    return any("wheel" in name.lower() for name in names)


def _wheel(mechanism: Mechanism, bodies: list[Body], T: list, k: int, up: np.ndarray, size: float) -> Wheel | None:
    body, directions = bodies[k], bodies[k].columns()
    if body.joint is None or len(directions) != 1 or not directions[0][1]:
        return None
    carries = any(other.parent == k for other in bodies)
    if carries or np.isfinite([*np.ravel(body.joint.limits.lower), *np.ravel(body.joint.limits.upper)]).any():
        return None
    axis = directions[0][0] / np.linalg.norm(directions[0][0])
    held = {mechanism.links[i].name for i in body.links}
    if abs(axis @ up) > _LEVEL or any(frame.link in held for frame in mechanism.frames):
        return None
    whole = sum(
        (inertia.moved(mechanism.links[i].inertia, np.asarray(T[i])) for i in body.links),
        np.zeros(inertia.N_PARAMETERS),
    )
    radius, half = 0.06 * size, 0.06 * size * _THIN
    center = body.anchor
    if whole[0] > 0:
        center = inertia.center_of_mass(whole)
        off = center - body.anchor
        if np.linalg.norm(off - (off @ axis) * axis) > 0.02 * size:
            return None
        radius, half = _cylinder(whole, axis, size) or (radius, half)
    return Wheel(body.links[0], center, axis, radius, half)


def _cylinder(p: np.ndarray, axis: np.ndarray, size: float) -> tuple[float, float] | None:
    """Radius and half width of the solid cylinder with the same moments: I = mr²/2 and I⊥ = m(3r² + w²)/12."""
    moments = inertia.tensor_at_center(p) / p[0]
    along = float(axis @ moments @ axis)
    across = 0.5 * (float(np.trace(moments)) - along)
    radius = float(np.sqrt(max(2.0 * along, 0.0)))
    if not 0.005 * size < radius < size:
        return None
    half = 0.5 * float(np.sqrt(max(12.0 * across - 3.0 * radius**2, 0.0)))
    return radius, float(np.clip(half, 0.1 * radius, radius))
