"""MJCF reader through MuJoCo, whose compiler resolves defaults, includes, angle conventions and inertias.

Bodies become links, with link 0 the world. A body with several joints gets a massless link after each joint but
the last, called `body/joint`. With no mimic relations, q is MuJoCo's qpos. Velocities are MuJoCo's too, except
those of a free joint, which are `[v, w]` in the body's own axes here and have v in world axes there.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import ZvenoError
from ..mechanism import (
    Continuous,
    Fixed,
    Frame,
    Free,
    Joint,
    Link,
    Mechanism,
    Prismatic,
    Revolute,
    Spherical,
    assemble,
)
from ..spatial import inertia, rotations
from ..spatial.transforms import transform
from .mjcf_compile import compiled_file, compiled_text, mujoco_module
from .mjcf_extras import (
    actuators_by_joint,
    check_numbers,
    drive_of,
    limits_of,
    mimics_of,
    notes_on_omissions,
    spring_of,
)
from .mjcf_loops import loops_of, motors_of, reference_of
from .near_exact import AngleKeeper, tidy_rotation, tidy_vector

_UNNAMED_MODEL = "MuJoCo Model"


def read_mjcf(path: str | Path, *, snap: bool | None = None) -> Mechanism:
    """Read the mechanism of an MJCF file.

    Args:
        path: the .xml file; includes and assets are looked for where MuJoCo does, relative to it. Mesh, texture and
            height field files may be missing where no inertia is inferred from them.
        snap: True to make rotations within 1e-4 rad of multiples of 15° exact; otherwise they are only listed in
            `Mechanism.notes`, with everything a mechanism cannot represent.
    """
    model, notes = compiled_file(path)
    return _located(lambda: _mechanism(model, Path(path).stem, str(path), bool(snap), notes), path)


def parse_mjcf(text: str, file: object | None = None, *, snap: bool = False) -> Mechanism:
    """Return the mechanism of MJCF text; `file` is its name in errors. For the rest see `read_mjcf`."""
    model, notes = compiled_text(text, file)
    name = "mechanism" if file is None else Path(str(file)).stem
    return _located(lambda: _mechanism(model, name, "" if file is None else str(file), snap, notes), file)


def mechanism_of_model(model: Any, snap: bool = False) -> Mechanism:
    """Return the mechanism of an open `mujoco.MjModel`."""
    return _mechanism(model, "mechanism", "an open mujoco.MjModel", snap, [])


def _located(read: Callable[[], Mechanism], file: object | None) -> Mechanism:
    try:
        return read()
    except ZvenoError as error:
        raise error.located(file=file) from None


def _mechanism(model, name: str, source: str, snap: bool, notes: list[str]) -> Mechanism:
    mujoco = mujoco_module()
    own_name = bytes(model.names).split(b"\0", 1)[0].decode(errors="replace")
    taken = Names()
    link_names = _names(model.nbody, model.body, "body", taken)
    joint_names = _names(model.njnt, model.joint, "joint", Names())
    check_numbers(model, link_names, joint_names)
    angles = AngleKeeper(snap)
    mimics = mimics_of(model, joint_names, notes)
    links, joints = _tree(model, link_names, joint_names, taken, angles, mimics)
    frames = _frames(model, link_names, taken, angles, notes)
    ends, loops = loops_of(model, link_names, taken.unique, notes)
    driving: dict[str, Any] = {}
    if loops:
        own = {name: j for j, name in enumerate(joint_names) if j not in mimics}
        driving = {"motors": motors_of(model, own, notes), "reference": reference_of(model, own, notes)}
    notes = [*notes, *notes_on_omissions(model, link_names, joint_names), *angles.notes()]
    no_gravity = model.opt.disableflags & int(mujoco.mjtDisableBit.mjDSBL_GRAVITY)
    return assemble(
        name if own_name in ("", _UNNAMED_MODEL) else own_name,
        links,
        joints,
        frames + ends,
        loops=loops,
        gravity=np.zeros(3) if no_gravity else model.opt.gravity,
        source=source,
        notes=notes,
        **driving,
    )


class Names:
    """Names in use; a new name that is taken gets a suffix."""

    def __init__(self, taken: tuple[str, ...] = ()):
        self._taken = set(taken)

    def unique(self, wanted: str, suffix: str = "") -> str:
        """Reserve and return `wanted` if it is free, else with `suffix`, else with a number too."""
        name, k = wanted, 1
        if name in self._taken:
            name = wanted = wanted + suffix
        while name in self._taken:
            k += 1
            name = f"{wanted}_{k}"
        self._taken.add(name)
        return name


def _names(count: int, accessor, kind: str, taken: Names) -> list[str]:
    """Return MuJoCo's names by number; unnamed ones become `body3`, after all names from the file."""
    given = [accessor(k).name for k in range(count)]
    for name in filter(None, given):
        taken.unique(name)
    return [name or taken.unique(f"{kind}{k}") for k, name in enumerate(given)]


def _tree(model, link_names: list[str], joint_names: list[str], taken: Names, angles: AngleKeeper, mimics):
    kinds = mujoco_module().mjtJoint
    taken_joints = Names(tuple(joint_names))
    actuators = actuators_by_joint(model)
    links, joints = [Link(link_names[0])], []
    for b in range(1, model.nbody):
        name, parent = link_names[b], link_names[model.body_parentid[b]]
        first, count = model.body_jntadr[b], model.body_jntnum[b]
        # The coordinates of a free joint are the pose itself; the file's placement is only their initial value.
        free = count > 0 and model.jnt_type[first] == int(kinds.mjJNT_FREE)
        placed = angles.placement(model.body_pos[b], model.body_quat[b], f"body {name}") if not free else np.eye(4)
        for j in range(first, first + count):
            last = j == first + count - 1
            child = name if last else taken.unique(f"{name}/{joint_names[j]}")
            links.append(_link(model, b, name) if last else Link(child))
            joints.append(
                Joint(
                    joint_names[j],
                    parent,
                    child,
                    *_motion(model, j, placed, joint_names[j], angles),
                    limits=limits_of(model, j, actuators.get(j, [])),
                    drive=drive_of(model, j, actuators.get(j, [])),
                    mimic=mimics.get(j),
                    spring=spring_of(model, j),
                )
            )
            parent, placed = child, np.eye(4)
        if not count:
            links.append(_link(model, b, name))
            joints.append(Joint(taken_joints.unique(f"{name}_fixed"), parent, name, Fixed(), placed))
    return links, joints


def _motion(model, j: int, T_parent_body, name: str, angles: AngleKeeper):
    """Return (joint type, T_parent_joint, T_joint_child) of joint j of a body at T_parent_body before it moves.

    A hinge or ball turns the body about its anchor point: T = T_parent_body · Trans(anchor) · R · Trans(−anchor).
    The motion of hinges and slides is q − ref, and the constant part −ref goes into T_parent_joint.
    """
    kinds = mujoco_module().mjtJoint
    kind = kinds(model.jnt_type[j])
    anchor = tidy_vector(model.jnt_pos[j])
    back = transform(None, -anchor + 0.0)
    if kind == kinds.mjJNT_FREE:
        return Free(), T_parent_body, np.eye(4)
    if kind == kinds.mjJNT_BALL:
        return Spherical(), T_parent_body @ transform(None, anchor), back
    axis = angles.axis(model.jnt_axis[j], f"joint {name}")
    ref = float(model.qpos0[model.jnt_qposadr[j]])
    if kind == kinds.mjJNT_SLIDE:
        return Prismatic(axis), T_parent_body @ transform(None, -ref * axis + 0.0), np.eye(4)
    turned = rotations.about_axis(axis, *rotations.cos_sin(-angles.angle(ref, f"joint {name}, ref")))
    moving = Revolute(axis) if model.jnt_limited[j] else Continuous(axis)
    return moving, T_parent_body @ transform(tidy_rotation(turned), anchor), back


def _link(model, b: int, name: str) -> Link:
    R = tidy_rotation(rotations.from_quaternion(model.body_iquat[b]))
    tensor = R @ np.diag(model.body_inertia[b]) @ R.T
    return Link(name, inertia.parameters(model.body_mass[b], model.body_ipos[b], tensor))


def _frames(model, link_names: list[str], taken: Names, angles: AngleKeeper, notes: list[str]) -> list[Frame]:
    """Return named sites, and named cameras that are fixed on their body."""
    fixed = int(mujoco_module().mjtCamLight.mjCAMLIGHT_FIXED)
    places = [
        ("site", model.site(k).name, model.site_bodyid[k], model.site_pos[k], model.site_quat[k])
        for k in range(model.nsite)
    ]
    places += [
        ("camera", model.camera(k).name, model.cam_bodyid[k], model.cam_pos[k], model.cam_quat[k])
        for k in range(model.ncam)
        if model.cam_mode[k] == fixed
    ]
    frames = []
    for kind, name, body, position, quaternion in places:
        if not name:
            continue
        unique = taken.unique(name, f"_{kind}")
        if unique != name:
            notes.append(f"{kind} {name}: the name is taken, its frame is called {unique}")
        T_link_frame = angles.placement(position, quaternion, f"{kind} {name}")
        frames.append(Frame(unique, link_names[body], T_link_frame))
    return frames
