"""Scalar operations of every compiled function: they may fall, not rise."""

from __future__ import annotations

from collections.abc import Iterator

from .. import api
from ..cases import Case, not_more
from ..robots import ROBOTS
from ..store import Archive

FUNCTIONS = (
    "integrate",
    "difference",
    "forward_kinematics",
    "link_poses",
    "jacobian",
    "jacobian_derivative",
    "velocity",
    "acceleration",
    "link_velocities",
    "link_accelerations",
    "center_of_mass",
    "center_of_mass_jacobian",
    "inverse_dynamics",
    "joint_wrenches",
    "bias",
    "gravity_torque",
    "forward_dynamics",
    "mass_matrix",
    "inverse_mass_matrix",
    "coriolis_matrix",
    "centroidal_matrix",
    "momentum",
    "energy",
    "regressor",
    "drive_regressor",
    "inverse_dynamics_derivatives",
    "forward_dynamics_derivatives",
)
WITH_FORCES = ("inverse_dynamics", "forward_dynamics")


def cases(archive: Archive) -> Iterator[Case]:
    """One case for each robot and function."""
    for name in ("ur5", "panda", "talos", "quadruped"):
        robot = ROBOTS[name]()
        if robot is None:
            continue
        frame = robot.frame_names[-1]
        for function in FUNCTIONS:
            framed = function in (
                "forward_kinematics",
                "jacobian",
                "jacobian_derivative",
                "velocity",
                "acceleration",
            )
            options = {"frame": frame} if framed else {}
            yield Case(
                f"{name}/{function}",
                lambda robot=robot, function=function, options=options: {
                    "total": api.operations(robot, function, **options)
                },
                rule=not_more,
            )
        for function in WITH_FORCES:
            yield Case(
                f"{name}/{function} external",
                lambda robot=robot, function=function: {"total": api.operations(robot, function, external=True)},
                rule=not_more,
            )
