"""The functions of a mechanism that exist as loops over bodies, and the options they take."""

from __future__ import annotations

from collections.abc import Callable

from . import energy, forward_dynamics, inverse_dynamics, jacobian, kinematics, mass_matrix, regressor

LOOPS: dict[str, Callable[..., None]] = {
    "forward_dynamics": forward_dynamics.forward_dynamics,
    "inverse_dynamics": inverse_dynamics.inverse_dynamics,
    "bias": inverse_dynamics.bias,
    "gravity_torque": inverse_dynamics.gravity_torque,
    "mass_matrix": mass_matrix.mass_matrix,
    "energy": energy.energy,
    "link_poses": kinematics.link_poses,
    "forward_kinematics": kinematics.forward_kinematics,
    "frame_poses": kinematics.frame_poses,
    "jacobian": jacobian.jacobian,
    "regressor": regressor.regressor,
}
"""Functions that exist as loops, by name."""
OPTIONS = {
    "forward_dynamics": ("external", "friction"),
    "inverse_dynamics": ("external", "friction"),
    "bias": ("external",),
    "forward_kinematics": ("frame",),
    "frame_poses": ("frames",),
    "jacobian": ("frame", "reference"),
}
"""Options that the loops take."""
