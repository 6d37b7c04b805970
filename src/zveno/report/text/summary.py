"""What there is to know about a mechanism, as plain data: the same for people, JSON and tests."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...algorithms.center_of_mass import total_mass
from ...errors import UnknownNameError
from ...mechanism import JOINT_TYPES, Joint, Mechanism
from ...mechanism.plausibility import impossible_loads, links_without_inertia


def summary(mechanism: Mechanism) -> dict[str, Any]:
    """Links, joints, frames, totals and remarks of a mechanism; SI units and radians, infinite limits as None."""
    kinds = [joint.type.kind for joint in mechanism.joints]
    return {
        "name": mechanism.name,
        "source": mechanism.source,
        "n_q": mechanism.n_q,
        "n_v": mechanism.n_v,
        "n_links": mechanism.n_links,
        "joint_counts": {kind: kinds.count(kind) for kind in JOINT_TYPES if kind in kinds},
        "mass": float(total_mass(mechanism)),
        "gravity": mechanism.gravity.tolist(),
        "default_frame": default_frame_name(mechanism),
        "links": [
            {"name": link.name, "mass": float(link.inertia[0]), "inertia_given": link.inertia_given}
            for link in mechanism.links
        ],
        "joints": [joint_summary(mechanism, joint) for joint in mechanism.joints],
        "frames": [{"name": frame.name, "link": frame.link} for frame in mechanism.frames],
        "coupled_drives": mechanism.transmission is not None,
        "notes": list(mechanism.notes),
        "links_without_inertia": list(links_without_inertia(mechanism)),
        "impossible_inertias": impossible_loads(mechanism),
        "fingerprint": mechanism.fingerprint,
    }


def joint_summary(mechanism: Mechanism, joint: Joint) -> dict[str, Any]:
    """One joint as plain data; `q` is where its coordinates stand, [first, last + 1], or None."""
    coordinates = mechanism.q_slices[joint.name]
    names = ("rotor_inertia", "gear_ratio", "viscous", "coulomb", "offset")
    return {
        "name": joint.name,
        "kind": joint.type.kind,
        "parent": joint.parent,
        "child": joint.child,
        "q": [coordinates.start, coordinates.stop]
        if joint.mimic is None and coordinates.stop > coordinates.start
        else None,
        "parameters": {name: np.asarray(value).tolist() for name, value in joint.type.parameters().items()},
        "lower": _finite(joint.limits.lower),
        "upper": _finite(joint.limits.upper),
        "velocity": _finite(joint.limits.velocity),
        "effort": _finite(joint.limits.effort),
        "mimic": None
        if joint.mimic is None
        else {"joint": joint.mimic.joint, "multiplier": joint.mimic.multiplier, "offset": joint.mimic.offset},
        "drive": None if joint.drive is None else {name: getattr(joint.drive, name).tolist() for name in names},
    }


def default_frame_name(mechanism: Mechanism) -> str | None:
    """The frame meant where none is named; None if the mechanism has several ends and no `tool`."""
    try:
        return mechanism.default_frame.name
    except UnknownNameError:
        return None


def _finite(values) -> list[float | None]:
    return [float(value) if np.isfinite(value) else None for value in np.atleast_1d(values)]
