"""Models that are open in other libraries: a `pinocchio.Model` or a `mujoco.MjModel` as a mechanism."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import ModelError
from ..mechanism import (
    Continuous,
    Drive,
    Frame,
    Free,
    Helical,
    Joint,
    JointType,
    Limits,
    Link,
    Mechanism,
    Planar,
    Prismatic,
    Revolute,
    Spherical,
    assemble,
)
from ..spatial.rotations import to_quaternion
from .near_exact import AngleKeeper, tidy_vector

LIBRARIES = ("pinocchio", "mujoco")
"""Libraries whose open models are accepted instead of a name or path."""
_ENDLESS = 1e20
"""Value beyond which limits count as missing."""
_OF_SEVERAL: dict[str, type[JointType]] = {
    "JointModelFreeFlyer": Free,
    "JointModelSpherical": Spherical,
    "JointModelPlanar": Planar,
}


def is_open_model(model: object) -> bool:
    """Return True if an object is a model of a supported library."""
    return type(model).__module__.partition(".")[0] in LIBRARIES and type(model).__name__ in ("Model", "MjModel")


def open_model(model: Any, snap: bool | None = None) -> Mechanism:
    """Return the mechanism of an open model. Coordinates keep their names; quaternions are wxyz here."""
    if type(model).__name__ == "MjModel":
        from .mjcf import mechanism_of_model

        return mechanism_of_model(model, bool(snap))
    return _from_pinocchio(model, bool(snap))


def _from_pinocchio(model: Any, snap: bool) -> Mechanism:
    """Convert a Pinocchio model. Joints keep their names; a link is named after its body, or else its joint."""
    angles, names = AngleKeeper(snap), _link_names(model)
    links, joints = [Link(names[0])], []
    for k in range(1, model.njoints):
        name, placed = str(model.names[k]), model.jointPlacements[k]
        links.append(Link(names[k], np.array(model.inertias[k].toDynamicParameters())))
        joints.append(
            Joint(
                name,
                names[model.parents[k]],
                names[k],
                _joint_type(model, k, name, angles),
                angles.placement(placed.translation, to_quaternion(np.array(placed.rotation)), f"joint {name}"),
                limits=_limits(model, k),
                drive=_drive(model, k),
            )
        )
    frames = [
        Frame(str(frame.name), names[frame.parentJoint], np.array(frame.placement.homogeneous))
        for frame in model.frames
        if str(frame.name) not in {*names, *map(str, model.names)}
    ]
    unique = {frame.name: frame for frame in frames}
    return assemble(
        str(model.name) or "pinocchio model",
        links,
        joints,
        unique.values(),
        gravity=np.array(model.gravity.linear),
        source="an open pinocchio.Model",
        notes=angles.notes(),
    )


def _link_names(model: Any) -> list[str]:
    names: list[str] = []
    for k in range(model.njoints):
        bodies = [
            str(frame.name)
            for frame in model.frames
            if frame.parentJoint == k and "BODY" in str(frame.type) and frame.placement.isIdentity()
        ]
        wanted = next((name for name in bodies if name not in names), f"{model.names[k]}_link")
        names.append(wanted if wanted not in names else f"{wanted}_{k}")
    return names


def _joint_type(model: Any, k: int, name: str, angles: AngleKeeper) -> JointType:
    joint = model.joints[k]
    kind = joint.shortname()
    if kind in _OF_SEVERAL:
        return _OF_SEVERAL[kind]()
    if joint.nv != 1 or "Mimic" in kind or "Composite" in kind:
        raise ModelError(
            f"is a {kind}, which has no counterpart here",
            element=f"joint {name}",
            remedy="Load the robot from its URDF or MJCF file instead",
        )
    data = joint.createData()
    neutral = np.zeros(model.nq)
    if joint.nq == 2:  # cosine and sine
        neutral[joint.idx_q] = 1.0
    joint.calc(data, neutral)
    along, about = np.asarray(data.S).reshape(6)[:3], np.asarray(data.S).reshape(6)[3:]
    if not about.any():
        return Prismatic(angles.axis(along, f"joint {name}"))
    axis = angles.axis(about, f"joint {name}")
    if along.any():
        return Helical(axis, float(along @ axis))
    bounded = joint.nq == 1 and np.isfinite(_limits(model, k).lower).all()
    return Revolute(axis) if bounded else Continuous(axis)


def _limits(model: Any, k: int) -> Limits:
    joint = model.joints[k]
    if joint.nv != 1:
        return Limits()
    q, v = joint.idx_q, joint.idx_v
    lower, upper = (-np.inf, np.inf)
    if joint.nq == 1:
        lower, upper = float(model.lowerPositionLimit[q]), float(model.upperPositionLimit[q])
    return Limits(
        lower if abs(lower) < _ENDLESS else -np.inf,
        upper if abs(upper) < _ENDLESS else np.inf,
        *(_bound(limit[v]) for limit in (model.velocityLimit, model.effortLimit)),
    )


def _bound(value: float) -> float:
    return float(value) if 0.0 < value < _ENDLESS else np.inf


def _drive(model: Any, k: int) -> Drive | None:
    joint = model.joints[k]
    rows = slice(joint.idx_v, joint.idx_v + joint.nv)
    dry = "upperDryFrictionLimit" if hasattr(model, "upperDryFrictionLimit") else "friction"  # before Pinocchio 4
    rotor, viscous, coulomb = (
        tidy_vector(np.array(getattr(model, name))[rows]) for name in ("armature", "damping", dry)
    )
    if not (rotor.any() or viscous.any() or coulomb.any()):
        return None
    return Drive(rotor_inertia=rotor, viscous=viscous, coulomb=coulomb)
