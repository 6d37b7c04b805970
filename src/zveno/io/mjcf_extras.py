"""Limits, drive and mimic relation of an MJCF joint, and notes on omitted parts."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import ModelError, first_of
from ..mechanism import Drive, Limits, Mimic, Spring
from ..mechanism.assemble import MAX_MAGNITUDE
from .mjcf_compile import mujoco_module

_OF_BODIES = ("body_pos", "body_quat", "body_ipos", "body_iquat", "body_mass", "body_inertia")
_OF_JOINTS = ("jnt_pos", "jnt_axis", "jnt_range", "jnt_actfrcrange", "jnt_stiffness")
_OF_OTHERS = (
    *("actuator_gear", "actuator_forcerange", "actuator_gainprm", "actuator_ctrlrange"),
    *("actuator_armature", "actuator_damping", "eq_data"),
)
_OF_DOFS = ("dof_armature", "dof_damping", "dof_frictionloss")


def check_numbers(model: Any, link_names: list[str], joint_names: list[str]) -> None:
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
    kinds = mujoco_module().mjtTrn
    on_joints = np.isin(model.actuator_trntype, [int(kinds.mjTRN_JOINT), int(kinds.mjTRN_JOINTINPARENT)])
    actuators: dict[int, list[int]] = {}
    for k in np.flatnonzero(on_joints).tolist():
        actuators.setdefault(int(model.actuator_trnid[k, 0]), []).append(k)
    return actuators


def limits_of(model: Any, j: int, actuators: list[int]) -> Limits:
    """Return position limits of joint j, and its effort limit if its actuator or the joint bounds the force."""
    mujoco = mujoco_module()
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


def drive_of(model: Any, j: int, actuators: list[int]) -> Drive | None:
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


def spring_of(model: Any, j: int) -> Spring | None:
    """Return the linear spring of joint j; that of a free joint is left out (`notes_on_omissions`)."""
    joints = mujoco_module().mjtJoint
    if not model.jnt_stiffness[j] or joints(model.jnt_type[j]) == joints.mjJNT_FREE:
        return None
    first = model.jnt_qposadr[j]
    size = 4 if joints(model.jnt_type[j]) == joints.mjJNT_BALL else 1
    return Spring(float(model.jnt_stiffness[j]), np.array(model.qpos_spring[first : first + size]))


def mimics_of(model: Any, joint_names: list[str], notes: list[str]) -> dict[int, Mimic]:
    """Return mimic relations by joint number, from equality constraints of that form; the others become notes.

    MuJoCo's relation is q1 − ref1 = c0 + c1 (q2 − ref2) + c2 (q2 − ref2)² + …
    """
    mujoco = mujoco_module()
    followers: dict[int, Mimic] = {}
    leaders: dict[int, int] = {}
    for e in range(model.neq):
        kind = mujoco.mjtEq(model.eq_type[e])
        word = kind.name.removeprefix("mjEQ_").lower()
        what = f"equality constraint {model.equality(e).name or e} ({word})"
        if not model.eq_active0[e]:
            notes.append(f"{what}: not active, left out")
            continue
        if kind in (mujoco.mjtEq.mjEQ_CONNECT, mujoco.mjtEq.mjEQ_WELD):
            continue  # a closed loop, see `mjcf_loops`
        if kind != mujoco.mjtEq.mjEQ_JOINT:
            notes.append(f"{what}: couplings of this kind are not represented, left out")
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
            notes.append(f"{what}: {reason}, left out")
            continue
        ref1, ref2 = (model.qpos0[model.jnt_qposadr[j]] for j in (follower, leader))
        leaders[follower] = leader
        followers[follower] = Mimic(joint_names[leader], float(c1), float(ref1 + c0 - c1 * ref2))
    return followers


def notes_on_omissions(model: Any, link_names: list[str], joint_names: list[str]) -> list[str]:
    """List the parts of the model that a mechanism cannot represent."""
    mujoco = mujoco_module()
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
