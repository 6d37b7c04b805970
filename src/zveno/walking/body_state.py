"""State quantities for the controller of a legged robot: dynamics, feet and centre of mass; traced."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..algorithms.center_of_mass import center_of_mass, center_of_mass_jacobian, total_mass
from ..algorithms.constraints import Kinematics
from ..algorithms.forward_kinematics import link_poses
from ..algorithms.inverse_dynamics import bias
from ..algorithms.mass_matrix import mass_matrix
from ..algorithms.springs import spring_torque
from ..mechanism import Mechanism
from ..spatial.inertia import center_of_mass as own_center


class BodyState(NamedTuple):
    """Dynamics of a robot with f feet at one state, in world axes."""

    M: Any
    """mass matrix, (n_v, n_v)"""
    H: Any
    """bias forces less those of springs, (n_v,)"""
    base: Any
    """T_world_base, (4, 4)"""
    base_rows: Any
    """Jacobian of the base's angular velocity, (3, n_v)"""
    base_bias: Any
    """its angular acceleration at a = 0, (3,)"""
    center: Any
    """centre of mass, (3,)"""
    center_rows: Any
    """its Jacobian, (3, n_v)"""
    center_bias: Any
    """its acceleration at a = 0, (3,)"""
    feet: Any
    """T_world_foot, (f, 4, 4)"""
    foot_rows: Any
    """Jacobians of `[v, w]` of the feet's origins, (f, 6, n_v)"""
    foot_bias: Any
    """their accelerations at a = 0, (f, 6)"""


def body_state(mechanism: Mechanism, frames: tuple[str, ...], q: Any, v: Any) -> tuple[Any, ...]:
    """Return the parts of `BodyState`; traced."""
    state = Kinematics(mechanism, q, v)
    base = state.frame(mechanism.joints[0].child)
    feet = [state.frame(name) for name in frames]
    moved: Any = np.zeros(3)
    for i, link in enumerate(mechanism.links):
        if i and link.inertia[0]:
            arm = state.poses[i][:3, :3] @ own_center(link.inertia)
            moved = moved + link.inertia[0] * state.motions[i].at(arm).a
    return (
        mass_matrix(mechanism, q),
        bias(mechanism, q, v) - spring_torque(mechanism, q),
        base.T,
        base.J[3:],
        base.motion.e,
        center_of_mass(mechanism, q),
        center_of_mass_jacobian(mechanism, q),
        moved / total_mass(mechanism),
        np.stack([foot.T for foot in feet]),
        np.stack([foot.J for foot in feet]),
        np.stack([np.concatenate([foot.motion.a, foot.motion.e]) for foot in feet]),
    )


class Felt(NamedTuple):
    """State quantities for gaits, in world axes."""

    base: Any
    """T_world_base, (4, 4)"""
    center: Any
    """centre of mass, (3,)"""
    rate: Any
    """its velocity, (3,)"""
    feet: Any
    """T_world_foot, (f, 4, 4)"""


def felt(mechanism: Mechanism, frames: tuple[str, ...], q: Any, v: Any) -> tuple[Any, ...]:
    """Return the parts of `Felt`."""
    poses = link_poses(mechanism, q)
    feet = [mechanism.frame(name) for name in frames]
    return (
        poses[mechanism.link_number(mechanism.joints[0].child)],
        center_of_mass(mechanism, q),
        center_of_mass_jacobian(mechanism, q) @ v,
        np.stack([poses[mechanism.link_number(foot.link)] @ foot.T_link_frame for foot in feet]),
    )
