"""Legged robots in the sense of document 003: trees on a floating base. All parameters are nominal."""

from __future__ import annotations

import numpy as np

from ..mechanism import Frame, Joint, Limits, Link, Mechanism, Revolute, assemble
from ..mechanism.base import with_base
from ..spatial import inertia
from ..spatial.transforms import transform

_NOMINAL = (
    "Document 003 gives the structure (a tree of links on a floating base), not the numbers: "
    "all dimensions, masses and limits are nominal"
)
_X, _Y, _Z = np.eye(3)


def biped(base: str = "free") -> Mechanism:
    """Build a biped of 1.5 m and 46 kg with pelvis, trunk and two legs of six joints. All parameters are nominal.

    Hips turn about z, x and y in this order, knees about y, ankles about y and x. x is forward, y to the left, z
    up; at q = 0 the legs are straight. Frames `left_foot` and `right_foot` are in the middle of the soles.

    Args:
        base: "free" (a free joint, coordinates with a quaternion), "trunk" (document 003's six joints) or "fixed".
    """
    links = [Link("pelvis", _box(8.0, (0.15, 0.25, 0.15), (0.0, 0.0, 0.05)))]
    joints = [
        Joint("waist", "pelvis", "trunk", Revolute(_Z), _at(0.0, 0.0, 0.15), limits=Limits(-0.8, 0.8, 3.0, 100.0))
    ]
    links.append(Link("trunk", _box(18.0, (0.2, 0.35, 0.5), (0.0, 0.0, 0.25))))
    frames = []
    for side, sign in (("left", 1.0), ("right", -1.0)):
        steps = (
            # joint, axis, place on the link before, link, mass, box, centre, limits
            ("hip_yaw", _Z, (0.0, 0.1 * sign, 0.0), "hip", 0.5, (0.08, 0.08, 0.06), (0.0, 0.0, 0.0), 0.8),
            ("hip_roll", _X, (0.0, 0.0, 0.0), "hip_fork", 0.5, (0.08, 0.06, 0.08), (0.0, 0.0, 0.0), 0.6),
            ("hip_pitch", _Y, (0.0, 0.0, 0.0), "thigh", 5.0, (0.12, 0.12, 0.4), (0.0, 0.0, -0.18), 1.8),
            ("knee", _Y, (0.0, 0.0, -0.4), "shin", 3.0, (0.1, 0.1, 0.38), (0.0, 0.0, -0.18), (0.0, 2.4)),
            ("ankle_pitch", _Y, (0.0, 0.0, -0.4), "ankle", 0.3, (0.05, 0.05, 0.05), (0.0, 0.0, 0.0), 1.0),
            ("ankle_roll", _X, (0.0, 0.0, 0.0), "foot", 0.7, (0.24, 0.1, 0.05), (0.03, 0.0, -0.055), 0.5),
        )
        _add_leg(links, joints, side, "pelvis", steps)
        frames.append(Frame(f"{side}_foot", f"{side}_foot_link", _at(0.03, 0.0, -0.08)))
    return with_base(assemble("biped", links, joints, frames, source=_NOMINAL), base)


def quadruped(base: str = "free") -> Mechanism:
    """Build a quadruped of 13.6 kg with a body and four legs of three joints. All parameters are nominal.

    Every hip turns about x and y, every knee about y. x is forward, y to the left, z up; at q = 0 the legs are
    straight. Frames `front_left_foot` and so on are at the tips of the shins.

    Args:
        base: "free", "trunk" or "fixed", as for `biped`.
    """
    links = [Link("body", _box(6.0, (0.45, 0.2, 0.12), (0.0, 0.0, 0.0)))]
    joints: list[Joint] = []
    frames = []
    for end, x in (("front", 0.2), ("rear", -0.2)):
        for side, sign in (("left", 1.0), ("right", -1.0)):
            leg = f"{end}_{side}"
            out = 0.06 * sign
            steps = (
                ("hip_roll", _X, (x, 0.08 * sign, 0.0), "hip", 0.7, (0.08, 0.08, 0.08), (0.0, 0.0, 0.0), 0.9),
                ("hip_pitch", _Y, (0.0, out, 0.0), "thigh", 1.0, (0.05, 0.04, 0.22), (0.0, 0.0, -0.08), 2.5),
                ("knee", _Y, (0.0, 0.0, -0.21), "shin", 0.2, (0.02, 0.02, 0.21), (0.0, 0.0, -0.1), (-2.7, 0.0)),
            )
            _add_leg(links, joints, leg, "body", steps)
            frames.append(Frame(f"{leg}_foot", f"{leg}_shin_link", _at(0.0, 0.0, -0.22)))
    return with_base(assemble("quadruped", links, joints, frames, source=_NOMINAL), base)


def _add_leg(links: list[Link], joints: list[Joint], leg: str, parent: str, steps):
    for joint, axis, place, link, mass, size, center, limit in steps:
        low, high = limit if isinstance(limit, tuple) else (-limit, limit)
        name = f"{leg}_{link}_link"
        links.append(Link(name, _box(mass, size, center)))
        joints.append(
            Joint(
                f"{leg}_{joint}", parent, name, Revolute(axis), _at(*place), limits=Limits(low, high, 10.0, 150.0)
            )
        )
        parent = name


def _at(x: float, y: float, z: float) -> np.ndarray:
    return transform(None, np.array([x, y, z]))


def _box(mass: float, size: tuple[float, float, float], center: tuple[float, float, float]) -> np.ndarray:
    """Return inertial parameters (10,) of a homogeneous box with edges `size` along the link's axes."""
    x, y, z = (edge**2 for edge in size)
    return inertia.parameters(mass, np.array(center), mass / 12.0 * np.diag([y + z, x + z, x + y]))
