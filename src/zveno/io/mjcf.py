"""MJCF reader through MuJoCo, whose compiler resolves defaults, includes, angle conventions and inertias.

Bodies become links, with link 0 the world. A body with several joints gets a massless link after each joint but
the last, called `body/joint`. With no mimic relations, q is MuJoCo's qpos. Velocities are MuJoCo's too, except
those of a free joint, which are `[v, w]` in the body's own axes here and have v in world axes there.

Equality constraints `connect` and `weld` between two bodies or sites are closed loops. Joints with an actuator are
the motors of a model with loops, and its first keyframe is the closed reference.

MuJoCo runs in this process and opens the files that a model includes. A model that crashes its compiler, such as
one that attaches itself, ends the process; see the threat model in `files`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import MissingExtraError, ModelError, ZvenoError, first_of
from ..mechanism import (
    Continuous,
    Drive,
    Fixed,
    Frame,
    Free,
    Joint,
    Limits,
    Link,
    Loop,
    Mechanism,
    Mimic,
    Prismatic,
    Revolute,
    Spherical,
    Spring,
    assemble,
)
from ..mechanism.assemble import MAX_MAGNITUDE
from ..spatial import inertia, rotations
from ..spatial.rotations import from_quaternion
from ..spatial.transforms import transform
from ._xml import parse_xml
from .files import read_bytes
from .near_exact import AngleKeeper, tidy_rotation, tidy_vector

# --- compilation

_OLDEST_MUJOCO = (3, 3)

_PLACEHOLDER_VERTICES = [0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1]
_MISSING_FILE = re.compile(r"Error opening file '([^']*)'")
_PLACES = (
    re.compile(r"Element name '(?P<name>[^']*)', id (?P<id>\d+)(, line (?P<line>\d+))?"),
    re.compile(r"Element '(?P<name>[^']*)'(, line (?P<line>\d+))?"),
)
_REMEDIES = {
    "mass and inertia of moving bodies": "Give the body an <inertial>, or a geom that has mass",
    "inertia must satisfy": "Correct the inertia, or set balanceinertia in <compiler>",
    "unrecognized attribute": "Correct its name; MuJoCo lists the attributes in its XML reference",
    "unrecognized element": "Correct its name; MuJoCo lists the elements in its XML reference",
    "plugin": "Plugins are not loaded; take them out of the model",
    "allocate memory": "Lower the sizes it asks for: nkey, nuser_…, height fields, textures, copies",
    "ELEMENT_DEPTH": "MuJoCo's reader stops at 500 nested elements; use another format for longer chains",
}


def _mujoco_module() -> Any:
    """Return the mujoco package, or raise an error that says how to get it."""
    try:
        import mujoco
    except ImportError as error:
        raise MissingExtraError(
            "reading MJCF needs the mujoco package", remedy="pip install 'zveno[mjcf]'"
        ) from error
    if tuple(int(part) for part in mujoco.__version__.split(".")[:2]) < _OLDEST_MUJOCO:
        raise MissingExtraError(
            f"mujoco {mujoco.__version__} is too old to read MJCF with", remedy="pip install -U 'zveno[mjcf]'"
        )
    return mujoco


def _compiled_file(path: str | Path) -> tuple[Any, list[str]]:
    """Return (MjModel, notes) of an MJCF file; includes and assets are found relative to it."""
    _check_root(read_bytes(path), path)
    mujoco = _mujoco_module()
    return _compiled(mujoco, mujoco.MjModel.from_xml_path, mujoco.MjSpec.from_file, str(path), path)


def _compiled_text(text: str, file: object | None = None) -> tuple[Any, list[str]]:
    """Return (MjModel, notes) of MJCF text; `file` only names it in errors."""
    if not isinstance(text, str):
        raise ModelError(f"{type(text).__name__} was given where text is needed", remedy="Give a str", file=file)
    _check_root(text, file)
    mujoco = _mujoco_module()
    return _compiled(mujoco, mujoco.MjModel.from_xml_string, mujoco.MjSpec.from_string, text, file)


def _check_root(data: bytes | str, file: object | None) -> None:
    """Check that the text is safe XML and a whole MJCF model."""
    try:
        tag = parse_xml(data).tag
    except ModelError as error:
        raise error.located(file=file) from None
    if tag != "mujoco":
        remedy = {
            "robot": "This is URDF: read it with read_urdf",
            "mujocoinclude": "This is a part of a model: read the file that includes it",
        }.get(tag, "An MJCF model is <mujoco> … </mujoco>")
        raise ModelError(f"its root element is <{tag}>, not <mujoco>", file=file, remedy=remedy)


def _compiled(
    mujoco: Any, read_model: Callable[[str], Any], read_spec: Callable[[str], Any], source: str, file: object | None
) -> tuple[Any, list[str]]:
    """Return (MjModel, notes) of a path or text; asset files that no inertia depends on may be missing."""
    handler = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(lambda text: None)  # without a handler MuJoCo writes MUJOCO_LOG.TXT
    try:
        try:
            return read_model(source), []
        except ValueError as error:
            if not _MISSING_FILE.search(str(error)) or "Element 'include'" in str(error):
                raise
        spec = read_spec(source)
        notes = _replace_assets(mujoco, spec)
        return spec.compile(), notes
    except (ValueError, RuntimeError, MemoryError, mujoco.FatalError, mujoco.UnexpectedError) as error:
        raise _translated(error, file) from None
    finally:
        mujoco.set_mju_user_warning(handler)


def _replace_assets(mujoco: Any, spec: Any) -> list[str]:
    """Replace pictures and shapes that no inertia depends on by placeholders; return a note that names them.

    Placeholders instead of deletion: other elements may refer to the assets.
    """
    needed = {geom.meshname for geom in spec.geoms if geom.meshname and _has_mass(mujoco, spec, geom)}
    replaced = []
    for mesh in spec.meshes:
        # A mesh without a name is called by its file's.
        name = mesh.name or Path(mesh.file).stem
        if mesh.file and name not in needed:
            replaced.append(mesh.file)
            mesh.name, mesh.file, mesh.uservert = name, "", _PLACEHOLDER_VERTICES
    for field in spec.hfields:
        if field.file:
            replaced.append(field.file)
            field.name = field.name or Path(field.file).stem
            field.file, field.nrow, field.ncol, field.userdata = "", 2, 2, [0.0] * 4
    for texture in spec.textures:
        files = [file for file in (texture.file, *texture.cubefiles) if file]
        if files:
            replaced.extend(files)
            texture.name = texture.name or Path(files[0]).stem
            texture.file, texture.builtin = "", mujoco.mjtBuiltin.mjBUILTIN_FLAT
            for k in range(len(texture.cubefiles)):
                texture.cubefiles[k] = ""
            flat = texture.type == mujoco.mjtTexture.mjTEXTURE_2D
            texture.width, texture.height = 1, 1 if flat else 6
    shown = ", ".join(replaced[:5]) + (f", … ({len(replaced)} in all)" if len(replaced) > 5 else "")
    return [f"asset files are missing; meshes and pictures were ignored: {shown}"] if replaced else []


def _has_mass(mujoco: Any, spec: Any, geom: Any) -> bool:
    """Return True if the inertia of the geom's body is inferred from it."""
    rule, rules = spec.compiler.inertiafromgeom, mujoco.mjtInertiaFromGeom
    if geom.parent.name == "world" or rule == rules.mjINERTIAFROMGEOM_FALSE:
        return False
    if rule == rules.mjINERTIAFROMGEOM_AUTO and geom.parent.explicitinertial:
        return False
    first, last = spec.compiler.inertiagrouprange
    return first <= geom.group <= last and geom.mass != 0 and geom.density != 0


def _translated(error: Exception, file: object | None) -> ModelError:
    """Convert MuJoCo's error to ours: its text, the element it names, and a remedy."""
    words = re.sub(r"^(\s*(XML )?Error: ?)+", "", str(error)).strip()
    element = None
    for pattern in _PLACES:
        if match := pattern.search(words):
            line = f" (line {match['line']})" if match["line"] else ""
            name = match["name"] or (f"number {match['id']}" if "id" in match.groupdict() else "")
            element = f"element {name}{line}"
            words = words[: match.start()] + words[match.end() :]
            break
    words = " ".join(words.split()).rstrip(".")
    if missing := _MISSING_FILE.search(words):
        included = element is not None and element.startswith("element include")
        return ModelError(
            f"the file {missing[1]!r} it refers to cannot be opened",
            file=file,
            element=element,
            remedy="Included files must exist beside the file that includes them"
            if included
            else "Put it there, or give every body it shapes an <inertial>: then meshes are not needed",
        )
    remedy = next((remedy for hint, remedy in _REMEDIES.items() if hint in words), None)
    return ModelError(f"MuJoCo refuses it: {words}", file=file, element=element, remedy=remedy)


# --- joints and notes

_OF_BODIES = ("body_pos", "body_quat", "body_ipos", "body_iquat", "body_mass", "body_inertia")
_OF_JOINTS = ("jnt_pos", "jnt_axis", "jnt_range", "jnt_actfrcrange", "jnt_stiffness")
_OF_OTHERS = (
    *("actuator_gear", "actuator_forcerange", "actuator_gainprm", "actuator_ctrlrange"),
    *("actuator_armature", "actuator_damping", "eq_data"),
)
_OF_DOFS = ("dof_armature", "dof_damping", "dof_frictionloss")


def _check_numbers(model: Any, link_names: list[str], joint_names: list[str]) -> None:
    """Refuse numbers that are not finite or absurdly large, which MuJoCo accepts."""
    dof_names = [joint_names[j] for j in model.dof_jntid]
    owners = np.searchsorted(model.jnt_qposadr, np.arange(model.nq), side="right") - 1
    coordinate_names = [joint_names[j] for j in owners]
    groups = (
        ("body", link_names, _OF_BODIES),
        ("joint", joint_names, _OF_JOINTS),
        ("joint", dof_names, _OF_DOFS),
        ("joint", coordinate_names, ("qpos0", "qpos_spring")),
        ("site", [model.site(k).name or str(k) for k in range(model.nsite)], ("site_pos", "site_quat")),
        ("camera", [model.camera(k).name or str(k) for k in range(model.ncam)], ("cam_pos", "cam_quat")),
    )
    for kind, names, arrays in groups:
        for array in arrays:
            for name, values in zip(names, getattr(model, array), strict=True):
                # Written so that NaN is refused too.
                if not np.all(abs(values) <= MAX_MAGNITUDE):
                    raise ModelError(
                        f"a number is not finite or out of range ({array}: {np.ravel(values).tolist()})",
                        element=f"{kind} {name}",
                        remedy="Use SI units, and leave a limit out where there is none",
                    )

    for array in _OF_OTHERS:
        values = getattr(model, array, np.zeros(0))  # some are of newer versions of MuJoCo only
        for k in [k for k, row in enumerate(values) if not np.all(abs(row) <= MAX_MAGNITUDE)]:
            raise ModelError(
                f"a number is not finite or out of range ({array}: {np.ravel(values[k]).tolist()})",
                element=f"{array.partition('_')[0].replace('eq', 'equality')} {k}",
                remedy="Use SI units",
            )


def actuators_by_joint(model: Any) -> dict[int, list[int]]:
    """Return the numbers of the actuators of each joint, by its number; joints without one are left out."""
    kinds = _mujoco_module().mjtTrn
    on_joints = np.isin(model.actuator_trntype, [int(kinds.mjTRN_JOINT), int(kinds.mjTRN_JOINTINPARENT)])
    actuators: dict[int, list[int]] = {}
    for k in np.flatnonzero(on_joints).tolist():
        actuators.setdefault(int(model.actuator_trnid[k, 0]), []).append(k)
    return actuators


def limits_of(model: Any, j: int, actuators: list[int]) -> Limits:
    """Return position limits of joint j, and its effort limit if its actuator or the joint bounds the force."""
    mujoco = _mujoco_module()
    kind, kinds = mujoco.mjtJoint(model.jnt_type[j]), mujoco.mjtJoint
    if kind == kinds.mjJNT_BALL and model.jnt_limited[j]:
        return Limits(angle=float(model.jnt_range[j, 1]))
    if kind not in (kinds.mjJNT_HINGE, kinds.mjJNT_SLIDE):
        return Limits()
    lower, upper = model.jnt_range[j] if model.jnt_limited[j] else (-np.inf, np.inf)
    effort = abs(model.jnt_actfrcrange[j]).max() if model.jnt_actfrclimited[j] else np.inf
    if len(actuators) == 1:
        effort = min(effort, _largest_force(mujoco, model, actuators[0]))
    return Limits(lower, upper, effort=effort)


def _drive_of(model: Any, j: int, actuators: list[int]) -> Drive | None:
    """Return armature, damping and friction loss of joint j; an armature acts at the joint: gear ratio 1."""
    ends = [*model.jnt_dofadr[j + 1 : j + 2], model.nv]
    dofs = np.arange(model.jnt_dofadr[j], ends[0])
    rotor, viscous = model.dof_armature[dofs], model.dof_damping[dofs]
    for k in actuators if len(dofs) == 1 else ():
        squared_gear = _gear(model, k) ** 2
        # Actuators have an armature and damping of their own in newer versions of MuJoCo.
        rotor += squared_gear * _entry(model, "actuator_armature", k)
        viscous += squared_gear * _entry(model, "actuator_damping", k)
    coulomb = model.dof_frictionloss[dofs]
    if not (rotor.any() or viscous.any() or coulomb.any()):
        return None
    return Drive(rotor_inertia=rotor, viscous=viscous, coulomb=coulomb)


def _spring_of(model: Any, j: int) -> Spring | None:
    """Return the linear spring of joint j; that of a free joint is left out (`_notes_on_omissions`)."""
    joints = _mujoco_module().mjtJoint
    if not model.jnt_stiffness[j] or joints(model.jnt_type[j]) == joints.mjJNT_FREE:
        return None
    first = model.jnt_qposadr[j]
    size = 4 if joints(model.jnt_type[j]) == joints.mjJNT_BALL else 1
    return Spring(float(model.jnt_stiffness[j]), np.array(model.qpos_spring[first : first + size]))


def _mimics_of(model: Any, joint_names: list[str], notes: list[str]) -> dict[int, Mimic]:
    """Return mimic relations by joint number, from equality constraints of that form; the others become notes.

    MuJoCo's relation is q1 − ref1 = c0 + c1 (q2 − ref2) + c2 (q2 − ref2)² + …
    """
    mujoco = _mujoco_module()
    followers: dict[int, Mimic] = {}
    leaders: dict[int, int] = {}
    for e in range(model.neq):
        kind = mujoco.mjtEq(model.eq_type[e])
        word = kind.name.removeprefix("mjEQ_").lower()
        label = f"equality constraint {model.equality(e).name or e} ({word})"
        if not model.eq_active0[e]:
            notes.append(f"{label}: not active, left out")
            continue
        if kind in (mujoco.mjtEq.mjEQ_CONNECT, mujoco.mjtEq.mjEQ_WELD):
            continue  # a closed loop
        if kind != mujoco.mjtEq.mjEQ_JOINT:
            notes.append(f"{label}: couplings of this kind are not represented, left out")
            continue
        follower, leader = int(model.eq_obj1id[e]), int(model.eq_obj2id[e])
        c0, c1, *higher = model.eq_data[e, :5]
        reason = None
        if leader < 0:
            reason = f"it holds joint {joint_names[follower]} still"
        elif np.any(higher):
            reason = "its polynomial is not linear"
        elif follower in followers:
            reason = f"joint {joint_names[follower]} follows another joint already"
        elif _leads_to(leaders, leader, follower):
            reason = "the joints would follow each other in a circle"
        if reason is not None:
            notes.append(f"{label}: {reason}, left out")
            continue
        ref1, ref2 = (model.qpos0[model.jnt_qposadr[j]] for j in (follower, leader))
        leaders[follower] = leader
        followers[follower] = Mimic(joint_names[leader], float(c1), float(ref1 + c0 - c1 * ref2))
    return followers


def _notes_on_omissions(model: Any, link_names: list[str], joint_names: list[str]) -> list[str]:
    """List the parts of the model that a mechanism cannot represent."""
    mujoco = _mujoco_module()
    lost = []

    def tell(flags, names: list[str], words: str):
        chosen = [name for name, flag in zip(names, flags, strict=True) if flag]
        if chosen:
            lost.append(f"{first_of(chosen, 8)}: {words}")

    def any_nonzero(name: str, rows: int) -> np.ndarray:
        # Polynomial springs and dampers exist in newer versions of MuJoCo only.
        return np.any(getattr(model, name, np.zeros((rows, 1))) != 0, axis=1)

    free = model.jnt_type == int(mujoco.mjtJoint.mjJNT_FREE)
    springs = any_nonzero("jnt_stiffnesspoly", model.njnt)
    curved = np.zeros(model.njnt, dtype=bool)
    curved[model.dof_jntid[any_nonzero("dof_dampingpoly", model.nv)]] = True
    tell(free & (model.jnt_stiffness != 0), joint_names, "the spring of a free joint is not represented, left out")
    tell(springs, joint_names, "the stiffness of a spring beyond the linear term is not represented, left out")
    tell(curved, joint_names, "damping beyond the linear term is not represented, left out")
    moved = np.zeros(model.njnt, dtype=bool)
    for dof in np.flatnonzero(model.dof_frictionloss):
        # The first three velocities of a free joint are those of its translation.
        moved[model.dof_jntid[dof]] |= dof - model.jnt_dofadr[model.dof_jntid[dof]] < 3
    tell(
        free & moved,
        joint_names,
        "friction loss acts along the body's own axes here, in MuJoCo along those of the world",
    )
    tell(free, joint_names, "velocity is [v, w] in the body's own axes here; MuJoCo has v in world axes")
    tell(model.body_gravcomp != 0, link_names, "gravity compensation is not represented, left out")
    tell(model.body_mocapid >= 0, link_names, "a mocap body, read as fixed at its initial pose")
    if model.ntendon:
        lost.append(f"tendons are not represented, {model.ntendon} left out")
    if model.nflex:
        lost.append(f"the elasticity of flexes is not represented, {model.nflex} left out")
    return lost


def _largest_force(mujoco, model, k: int) -> float:
    """Return the largest force that actuator k can exert on its joint."""
    force = np.inf
    if model.actuator_forcelimited[k]:
        force = abs(model.actuator_forcerange[k]).max()
    plain = (
        mujoco.mjtGain(model.actuator_gaintype[k]) == mujoco.mjtGain.mjGAIN_FIXED
        and mujoco.mjtBias(model.actuator_biastype[k]) == mujoco.mjtBias.mjBIAS_NONE
    )
    control = int(_entry(model, "actuator_ctrladr", k, k))
    if plain and model.actuator_ctrllimited[control]:
        force = min(force, abs(model.actuator_gainprm[k, 0] * model.actuator_ctrlrange[control]).max())
    return float(abs(_gear(model, k)) * force) if np.isfinite(force) else np.inf


def _gear(model, k: int) -> float:
    return model.actuator_gear[int(_entry(model, "actuator_outadr", k, k)), 0]


def _entry(model, name: str, k: int, default: float = 0.0) -> float:
    """Return entry k of an array that older versions of MuJoCo do not have."""
    array = getattr(model, name, None)
    return default if array is None else array[k]


def _leads_to(leaders: dict[int, int], start: int, goal: int) -> bool:
    while start != goal and start in leaders:
        start = leaders[start]
    return start == goal


# --- closed loops


def _loops_of(
    model: Any, link_names: list[str], fresh: Callable[[str], str], notes: list[str]
) -> tuple[list[Frame], list[Loop]]:
    """Return frames at both ends of every active `connect` and `weld`, and the loops that connect them.

    Args:
        model: the compiled model.
        link_names: by body number.
        fresh: a free name of a frame from the one wanted.
        notes: receive a line for a constraint without effect.
    """
    mujoco = _mujoco_module()
    kinds = {mujoco.mjtEq.mjEQ_CONNECT: "point", mujoco.mjtEq.mjEQ_WELD: "weld"}
    frames: list[Frame] = []
    loops: list[Loop] = []
    for e in range(model.neq):
        joint = kinds.get(mujoco.mjtEq(model.eq_type[e]))
        if joint is None or not model.eq_active0[e]:
            continue
        name = model.equality(e).name or f"{'connect' if joint == 'point' else joint}{e}"
        bodies, ends = _sites(model, e) if _between_sites(mujoco, model, e) else _bodies(model, e, joint)
        if bodies[0] == bodies[1] or any(model.body_mocapid[body] >= 0 for body in bodies):
            reason = "both ends are on one body" if bodies[0] == bodies[1] else "it follows a mocap body"
            notes.append(f"equality constraint {name}: {reason}, left out")
            continue
        ends = [
            Frame(fresh(f"{name}_{side}"), link_names[body], T)
            for side, body, T in zip(("first", "second"), bodies, ends, strict=True)
        ]
        frames += ends
        loops.append(Loop(ends[0].name, ends[1].name, joint))
    return frames, loops


def _motors_of(model: Any, joints: dict[str, int], notes: list[str]) -> list[str] | None:
    """Return the joints that actuators drive, from joint numbers by name; None if the model has no actuator."""
    if not model.nu:
        return None
    driven = actuators_by_joint(model)
    others = model.nu - sum(map(len, driven.values()))
    if others:
        notes.append(f"{others} actuator(s) act on tendons or sites: the joints they move do not count as driven")
    return [name for name, j in joints.items() if j in driven]


def _reference_of(model: Any, joints: dict[str, int], notes: list[str]) -> dict[str, np.ndarray]:
    """Return the coordinates by joint name that the model means to be closed: its first keyframe, or qpos0."""
    if model.nkey:
        notes.append(f"keyframe {model.key(0).name or 0}: the reference configuration of the loops")
    qpos = model.key_qpos[0] if model.nkey else model.qpos0
    ends = [*model.jnt_qposadr[1:], model.nq]
    return {name: np.array(qpos[model.jnt_qposadr[j] : ends[j]]) for name, j in joints.items()}


def _between_sites(mujoco, model, e: int) -> bool:
    return model.eq_objtype[e] == int(mujoco.mjtObj.mjOBJ_SITE)


def _sites(model, e: int):
    sites = [int(model.eq_obj1id[e]), int(model.eq_obj2id[e])]
    return [int(model.site_bodyid[k]) for k in sites], [_pose(model.site_pos[k], model.site_quat[k]) for k in sites]


def _bodies(model, e: int, joint: str):
    """Return bodies and frames: `connect` has two anchors; `weld` a pose in the first, an anchor in the second."""
    data = np.array(model.eq_data[e])
    bodies = [int(model.eq_obj1id[e]), int(model.eq_obj2id[e])]
    if joint == "point":
        return bodies, [transform(None, data[:3]), transform(None, data[3:6])]
    return bodies, [_pose(data[3:6], data[6:10]), transform(None, data[:3])]


def _pose(position, quaternion) -> np.ndarray:
    return transform(from_quaternion(quaternion), np.array(position))


# --- the mechanism

_UNNAMED_MODEL = "MuJoCo Model"


def read_mjcf(path: str | Path, *, snap: bool | None = None) -> Mechanism:
    """Read the mechanism of an MJCF file.

    Args:
        path: the .xml file; includes and assets are looked for where MuJoCo does, relative to it. Mesh, texture and
            height field files may be missing where no inertia is inferred from them.
        snap: True to make rotations within 1e-4 rad of multiples of 15° exact; otherwise they are only listed in
            `Mechanism.notes`, with everything a mechanism cannot represent.
    """
    model, notes = _compiled_file(path)
    return _located(lambda: _mechanism(model, Path(path).stem, str(path), bool(snap), notes), path)


def parse_mjcf(text: str, file: object | None = None, *, snap: bool = False) -> Mechanism:
    """Return the mechanism of MJCF text; `file` is its name in errors. For the rest see `read_mjcf`."""
    model, notes = _compiled_text(text, file)
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
    mujoco = _mujoco_module()
    own_name = bytes(model.names).split(b"\0", 1)[0].decode(errors="replace")
    taken = _Names()
    link_names = _names(model.nbody, model.body, "body", taken)
    joint_names = _names(model.njnt, model.joint, "joint", _Names())
    _check_numbers(model, link_names, joint_names)
    angles = AngleKeeper(snap)
    mimics = _mimics_of(model, joint_names, notes)
    links, joints = _tree(model, link_names, joint_names, taken, angles, mimics)
    frames = _frames(model, link_names, taken, angles, notes)
    ends, loops = _loops_of(model, link_names, taken.unique, notes)
    driving: dict[str, Any] = {}
    if loops:
        movable = {name: j for j, name in enumerate(joint_names) if j not in mimics}
        driving = {"motors": _motors_of(model, movable, notes), "reference": _reference_of(model, movable, notes)}
    notes = [*notes, *_notes_on_omissions(model, link_names, joint_names), *angles.notes()]
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


class _Names:
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


def _names(count: int, accessor, kind: str, taken: _Names) -> list[str]:
    """Return MuJoCo's names by number; unnamed ones become `body3`, after all names from the file."""
    given = [accessor(k).name for k in range(count)]
    for name in filter(None, given):
        taken.unique(name)
    return [name or taken.unique(f"{kind}{k}") for k, name in enumerate(given)]


def _tree(model, link_names: list[str], joint_names: list[str], taken: _Names, angles: AngleKeeper, mimics):
    kinds = _mujoco_module().mjtJoint
    taken_joints = _Names(tuple(joint_names))
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
                    drive=_drive_of(model, j, actuators.get(j, [])),
                    mimic=mimics.get(j),
                    spring=_spring_of(model, j),
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
    kinds = _mujoco_module().mjtJoint
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


def _frames(model, link_names: list[str], taken: _Names, angles: AngleKeeper, notes: list[str]) -> list[Frame]:
    """Return named sites, and named cameras that are fixed on their body."""
    fixed = int(_mujoco_module().mjtCamLight.mjCAMLIGHT_FIXED)
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
