"""Inverse dynamics in base parameters, with all other parameters set to zero."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..algorithms.inverse_dynamics import along_axes, falling, passed_down
from ..algorithms.motion import AT_REST, Motion
from ..algorithms.regressor import DRIVE_PARAMETER_NAMES, drive_regressor
from ..algorithms.velocities import body_motions
from ..errors import ModelError, ZvenoWarning
from ..kernels.compile import compiled
from ..kernels.kernel import Kernel
from ..kernels.program import Operations, Program, count_operations
from ..kernels.trace import trace
from ..mechanism import Mechanism
from ..mechanism.reduce import reduced
from ..robot_functions import RobotFunctions
from ..spatial.vectors import cross
from .analyse import base_parameters
from .regressor import states_of
from .result import BaseParameters

NAME = "base_inverse_dynamics"
OPENSYMORO_PUMA = 629
"""Published operation count of OpenSYMORO's customised model of the PUMA 560 in base parameters."""


def base_inverse_dynamics(mechanism: Mechanism, places: Sequence[int], q: Any, v: Any, a: Any, values: Any) -> Any:
    """Compute torques (n_v,) from base parameters in the pseudo-inertia view; all other parameters are zero.

    f = m a + Ω S and n = vee(ΩΣ) + S × a with Σ = ∫ r rᵀ dm: forces and moments share the entries of Ω.
    """
    numbers: list[list[Any]] = [[0.0] * 10 for _ in mechanism.links]
    n_link = 10 * len(mechanism.joints)
    of_drives = []
    for place, value in zip(places, values, strict=True):
        if place < n_link:
            numbers[place // 10 + 1][place % 10] = value
        else:
            of_drives.append((place - n_link, value))
    motions = body_motions(mechanism, q, v, a, falling(AT_REST, mechanism.gravity))
    wrenches = passed_down(mechanism, q, [_wrench(h, motion) for h, motion in zip(numbers, motions, strict=True)])
    torques = along_axes(mechanism, q, wrenches)
    if of_drives:
        D = drive_regressor(mechanism, v, a)
        for column, value in of_drives:
            torques = torques + D[:, column] * value
    return torques


def _wrench(h: Sequence, motion: Motion):
    """Wrench `[f, n]` that gives a body of pseudo-inertia h (xx yy zz xy xz yz Sx Sy Sz m) its motion."""
    xx, yy, zz, xy, xz, yz = h[:6]
    S, m = np.array(h[6:9]), h[9]
    O = motion.rates
    wx, wy, wz = motion.w
    turning = np.array(
        [
            O[2, 0] * xy + O[2, 1] * yy - O[1, 2] * zz - O[1, 0] * xz + (wz * wz - wy * wy) * yz,
            O[0, 2] * zz + O[0, 1] * yz - O[2, 0] * xx - O[2, 1] * xy + (wx * wx - wz * wz) * xz,
            O[1, 0] * xx + O[1, 2] * xz - O[0, 1] * yy - O[0, 2] * yz + (wy * wy - wx * wx) * xy,
        ]
    )
    return np.concatenate([m * motion.a + O @ S, cross(S, motion.a) + turning])


class BaseModel:
    """Compiled inverse dynamics of a robot in base parameters, with the parameters as inputs.

    The base parameters are those of the robot with frames in its joints and fixed links merged, which needs the
    fewest operations. `values` are those of the robot.

    Args:
        robot: the robot.
        massless: names of links without inertia, as in `base_parameters`.
        drives: types of drive parameters that are counted, such as ("rotor",); True for all four. By default
            the rotor inertias of the model count, so that torques equal those of `robot.inverse_dynamics`.
    """

    def __init__(
        self,
        robot: RobotFunctions,
        massless: Sequence[str] | None = None,
        drives: bool | Sequence[str] | None = None,
    ):
        self.mechanism: Mechanism = reduced(robot.mechanism).mechanism
        self.base: BaseParameters = base_parameters(self.mechanism, drives=drives, view="pseudo", massless=massless)
        if not set(self.base.kinds) <= set(DRIVE_PARAMETER_NAMES):
            raise ModelError(
                "parameters of couplings are not part of this model",
                remedy=f"Count some of {', '.join(DRIVE_PARAMETER_NAMES)}",
            )

    def __repr__(self) -> str:
        return f"<BaseModel {self.mechanism.name}: {self.base.rank} base parameters>"

    @cached_property
    def values(self) -> np.ndarray:
        """Base parameters of the robot, (rank,)."""
        return self.base.values

    @cached_property
    def program(self) -> Program:
        """Program (q, v, a, values) → torques, for counting operations and for `export_c`."""
        return _program(self.mechanism, self.base.columns.tolist())

    @cached_property
    def kernel(self) -> Kernel:
        """Compiled function."""
        return compiled(base_inverse_dynamics, **_recipe(self.mechanism, self.base.columns.tolist()))

    def inverse_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        values: ArrayLike | None = None,
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """Compute torques (..., n_v) of the links' inertia and of the counted drive parameters."""
        return self.kernel(q, v, a, self.values if values is None else values, out=out)

    @property
    def operations(self) -> Operations:
        """Operation counts of one evaluation."""
        return count_operations(self.program)


def _program(mechanism: Mechanism, places: Sequence[int]) -> Program:
    """Program (q, v, a, values) → torques; values are the parameters at the given indices, others are zero."""
    return trace(base_inverse_dynamics, **_recipe(mechanism, places))


def _recipe(mechanism: Mechanism, places: Sequence[int]) -> dict[str, Any]:
    return {
        "inputs": states_of(mechanism) | {"values": (len(places),)},
        "constants": (mechanism, tuple(places)),
        "name": NAME,
        "outputs": ("tau",),
    }


def compared_operations(robot: RobotFunctions) -> tuple[int, int]:
    """Count multiplications and additions of inverse dynamics with base parameters and with all parameters.

    Both counts are for pseudo-inertias as inputs, without drives, in the frames that need the fewest operations.
    """
    joints = tuple(replace(joint, drive=None) for joint in robot.mechanism.joints)
    bare = reduced(replace(robot.mechanism, joints=joints, transmission=None)).mechanism
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ZvenoWarning)  # warnings about geometry do not matter for the count
        model = BaseModel(RobotFunctions(bare))
    counts = model.operations, count_operations(_program(bare, range(10 * len(bare.joints))))
    return counts[0].multiplies + counts[0].adds, counts[1].multiplies + counts[1].adds


def operations_sentence(robot: RobotFunctions) -> str:
    """Describe the number of operations of inverse dynamics."""
    base, whole = compared_operations(robot)
    text = f"Inverse dynamics in base parameters: {base} multiplications and additions, {whole} with all parameters"
    if robot.name == "puma560":
        text += f" (OpenSYMORO's customised model in base parameters, as published: {OPENSYMORO_PUMA})"
    return text + "."


def values_header(model: BaseModel, stem: str, scalar: str) -> str:
    """C header with the robot's base parameters as an array, each with its expression as a comment."""
    lines = [
        f"    {value:.17g}, /* {expression.replace('√', 'sqrt ')} */"
        for value, expression in zip(model.values, model.base.expressions, strict=True)
    ]
    guard = f"{stem.upper()}_BASE_PARAMETERS_H"
    numbers = "\n".join(lines) or "    0 /* none */"
    return f"""/* Base parameters of {stem}, written by zveno: the argument `values` of {stem}_{NAME}.
   The number in a symbol is the link's; frames are in the joints. I: integrals of products of coordinates
   (Ixx = integral of x x dm), S: first moments, m: mass; Ia: rotor inertia at the motor. */
#ifndef {guard}
#define {guard}

static const {scalar} {stem}_base_parameters[{max(1, model.base.rank)}] = {{
{numbers}
}};

#endif
"""
