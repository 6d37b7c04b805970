"""Inverse dynamics in base parameters: what is left when all that has no effect of its own is zero."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..algorithms.inverse_dynamics import along_axes, falling, passed_down
from ..algorithms.regressor import DRIVE_PARAMETER_NAMES, drive_regressor
from ..algorithms.velocities import AT_REST, Motion, body_motions
from ..errors import ModelError, ZvenoWarning
from ..kernels.door import compiled
from ..kernels.kernel import Kernel
from ..kernels.operations import Operations, count_operations
from ..kernels.program import Program
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
"""Multiplications and additions of OpenSYMORO's customised model of the PUMA 560 in base parameters (published)."""


def base_inverse_dynamics(mechanism: Mechanism, places: Sequence[int], q: Any, v: Any, a: Any, values: Any) -> Any:
    """Torques, (n_v,), from base parameters in the pseudo-inertia view; all other parameters are zero.

    f = m a + Ω S and n = vee(ΩΣ) + S × a with Σ = ∫ r rᵀ dm: the entries of Ω serve forces and moments alike.
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
    """The wrench `[f, n]` that gives a body of pseudo-inertia h (xx yy zz xy xz yz Sx Sy Sz m) its motion."""
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
    """A robot's inverse dynamics in base parameters, compiled, with the parameters as inputs.

    The base parameters are those of the robot with frames in its joints and fixed links merged, which needs the
    fewest operations; `values` are the robot's own.

    Args:
        robot: the robot.
        massless: names of links without inertia, as in `base_parameters`.
        drives: kinds of drive parameters that count as well, such as ("rotor",); True for all four. By default
            rotors count where the robot has them, so that torques are those of `robot.inverse_dynamics`.
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
        """(rank,) base parameters of the robot."""
        return self.base.values

    @cached_property
    def program(self) -> Program:
        """(q, v, a, values) → torques, for counting operations and for `export_c`."""
        return _program(self.mechanism, self.base.columns.tolist())

    @cached_property
    def kernel(self) -> Kernel:
        """The compiled function."""
        return compiled(base_inverse_dynamics, **_recipe(self.mechanism, self.base.columns.tolist()))

    def inverse_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        values: ArrayLike | None = None,
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """Torques, (..., n_v), of the links' inertia and of the kinds of drive parameters that count."""
        return self.kernel(q, v, a, self.values if values is None else values, out=out)

    @property
    def operations(self) -> Operations:
        """Operations of one evaluation."""
        return count_operations(self.program)


def _program(mechanism: Mechanism, places: Sequence[int]) -> Program:
    """(q, v, a, values) → torques, where values are the parameters at these places and all others are zero."""
    return trace(base_inverse_dynamics, **_recipe(mechanism, places))


def _recipe(mechanism: Mechanism, places: Sequence[int]) -> dict[str, Any]:
    return {
        "inputs": states_of(mechanism) | {"values": (len(places),)},
        "constants": (mechanism, tuple(places)),
        "name": NAME,
        "outputs": ("tau",),
    }


def compared_operations(robot: RobotFunctions) -> tuple[int, int]:
    """Multiplications and additions of inverse dynamics in base parameters, and with all ten of every link.

    Both with the pseudo-inertias as inputs and without drives, in the frames that need the fewest.
    """
    joints = tuple(replace(joint, drive=None) for joint in robot.mechanism.joints)
    bare = reduced(replace(robot.mechanism, joints=joints, transmission=None)).mechanism
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ZvenoWarning)  # about geometry: the count does not need them
        model = BaseModel(RobotFunctions(bare))
    counts = model.operations, count_operations(_program(bare, range(10 * len(bare.joints))))
    return counts[0].multiplies + counts[0].adds, counts[1].multiplies + counts[1].adds


def operations_sentence(robot: RobotFunctions) -> str:
    """How many operations inverse dynamics takes, in words."""
    base, whole = compared_operations(robot)
    text = f"Inverse dynamics in base parameters: {base} multiplications and additions, {whole} with all parameters"
    if robot.name == "puma560":
        text += f" (OpenSYMORO's customised model in base parameters, as published: {OPENSYMORO_PUMA})"
    return text + "."


def values_header(model: BaseModel, stem: str, scalar: str) -> str:
    """C: the robot's own base parameters as an array, each with what it stands for."""
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
