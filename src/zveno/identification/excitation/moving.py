"""Part of a robot that moves while it is recorded."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence

import numpy as np

from ...errors import ModelError, ZvenoWarning, unknown_name
from ...mechanism.base import with_base
from ...mechanism.edit import fix_joints
from ...robot_functions import RobotFunctions


def moving_part(
    robot: RobotFunctions, hold: Mapping[str, float] | Sequence[str]
) -> tuple[RobotFunctions, dict[str, float], tuple[str, ...]]:
    """Return the robot with everything that stands still fixed, the fixed coordinates by name, and notes about
    them.

    Coordinates must be plain (q̇ = v): a floating base, and other joints with quaternions, are held.
    """
    mechanism, notes = with_base(robot.mechanism, "fixed"), []
    if mechanism is not robot.mechanism:
        notes.append("the base is held while the robot is recorded")
    held: dict[str, float] = dict(hold) if isinstance(hold, Mapping) else dict.fromkeys(_names(hold), 0.0)
    for name in held:
        if name not in mechanism.joint_names:
            raise unknown_name("joint", name, mechanism.joint_names)
    turning = [
        name for name in mechanism.joint_names if name not in held and not _plain(mechanism.joint(name).type)
    ]
    if turning:
        notes.append(
            f"{', '.join(turning)}: held at the neutral posture, as motions of quaternions are not planned"
        )
    positions: dict[str, object] = dict(held)
    positions |= {name: mechanism.joint(name).type.neutral() for name in turning}
    if positions:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ZvenoWarning)
            mechanism = fix_joints(mechanism, positions)
    if mechanism.n_v == 0:
        raise ModelError(f"no joint of {robot.name} is left to move", remedy="Hold fewer joints")
    return RobotFunctions(mechanism), held, tuple(notes)


def _names(hold: Sequence[str]) -> list[str]:
    return [hold] if isinstance(hold, str) else list(hold)


def _plain(kind) -> bool:
    """Return True if velocities are the rates of the coordinates."""
    if kind.n_q != kind.n_v:
        return False
    q = np.full(kind.n_q, 0.3)
    return bool(np.array_equal(np.asarray(kind.tangent(q), dtype=float), np.eye(kind.n_q)))
