"""Closed loops of an MJCF model: its equality constraints `connect` and `weld` between two bodies or sites.

Joints with an actuator are the motors of a model with loops, and its first keyframe is the closed reference.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..mechanism import Frame, Loop
from ..spatial.rotations import from_quaternion
from ..spatial.transforms import transform
from .mjcf_compile import mujoco_module
from .mjcf_extras import actuators_by_joint


def loops_of(
    model: Any, link_names: list[str], fresh: Callable[[str], str], notes: list[str]
) -> tuple[list[Frame], list[Loop]]:
    """Return frames at both ends of every active `connect` and `weld`, and the loops that connect them.

    Args:
        model: the compiled model.
        link_names: by body number.
        fresh: a free name of a frame from the one wanted.
        notes: receive a line for a constraint without effect.
    """
    mujoco = mujoco_module()
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


def motors_of(model: Any, joints: dict[str, int], notes: list[str]) -> list[str] | None:
    """Return the joints that actuators drive, from joint numbers by name; None if the model has no actuator."""
    if not model.nu:
        return None
    driven = actuators_by_joint(model)
    others = model.nu - sum(map(len, driven.values()))
    if others:
        notes.append(f"{others} actuator(s) act on tendons or sites: the joints they move do not count as driven")
    return [name for name, j in joints.items() if j in driven]


def reference_of(model: Any, joints: dict[str, int], notes: list[str]) -> dict[str, np.ndarray]:
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
