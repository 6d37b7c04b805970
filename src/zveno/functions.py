"""The functions a robot offers: which algorithm, which inputs, and how parameters become inputs.

One table (`FUNCTIONS`) serves the compiled batch functions, their parametric variants and the C export.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from .algorithms import center_of_mass as com
from .algorithms import (
    coriolis,
    drives,
    energy,
    forward_dynamics,
    forward_kinematics,
    inverse_dynamics,
    linear,
    mass_matrix,
)
from .algorithms import inverse_dynamics_derivatives as slopes
from .algorithms import jacobian as jac
from .algorithms import regressor as reg
from .algorithms import velocities as vel
from .algorithms.drives import FRICTION_SMOOTHING
from .errors import unknown_name
from .mechanism import Frame, Mechanism
from .mechanism.reduce import Reduced, reduced
from .spatial import inertia as inertial
from .spatial.transforms import move_wrench


@dataclass(frozen=True)
class Function:
    """An algorithm with its inputs in order.

    Attributes:
        name: the public name.
        inputs: among q, v, a, tau, q0, q1.
        compute: called with the mechanism, one array an input, and the options by keyword.
        outputs: names of what it returns.
        depends_on: kinds of `PARAMETERS` that the result depends on.
        frame_free: whether the result does not depend on where link frames sit, so that it may be computed on the
            reduced mechanism.
    """

    name: str
    inputs: tuple[str, ...]
    compute: Callable[..., Any]
    outputs: tuple[str, ...]
    depends_on: frozenset[str] = frozenset()
    frame_free: bool = False


def _inverse_dynamics(mechanism, q, v, a, external=None, friction=False):
    tau = inverse_dynamics.inverse_dynamics(mechanism, q, v, a, external)
    return tau + drives.friction_torque(mechanism, v) if friction else tau


def _forward_dynamics(mechanism, q, v, tau, external=None, friction=False):
    if friction:
        tau = tau - drives.friction_torque(mechanism, v, FRICTION_SMOOTHING)
    return forward_dynamics.forward_dynamics(mechanism, q, v, tau, external)


def _inverse_dynamics_derivatives(mechanism, q, v, a, external=None, friction=False):
    by_q, by_v, M = slopes.inverse_dynamics_derivatives(mechanism, q, v, a, external)
    return by_q, by_v + np.diag(drives.friction_slope(mechanism, v)) if friction else by_v, M


def _forward_dynamics_derivatives(mechanism, q, v, tau, external=None, friction=False):
    """∂a/∂x = −M⁻¹ ∂τ/∂x at the acceleration found, and ∂a/∂τ = M⁻¹ (Carpentier and Mansard 2018)."""
    a = _forward_dynamics(mechanism, q, v, tau, external, friction)
    by_q, by_v, M = slopes.inverse_dynamics_derivatives(mechanism, q, v, a, external)
    if friction:
        by_v = by_v + np.diag(drives.friction_slope(mechanism, v, FRICTION_SMOOTHING))
    M_inverse = linear.inverse(M)
    return -(M_inverse @ by_q), -(M_inverse @ by_v), M_inverse


def _bias(mechanism, q, v, external=None):
    return inverse_dynamics.bias(mechanism, q, v, external)


def _twist(mechanism, q, v, frame=None, reference="aligned"):
    return vel.frame_motion(mechanism, q, v, np.zeros(mechanism.n_v), frame, reference)[0]


def _acceleration(mechanism, q, v, a, frame=None, reference="aligned"):
    return vel.frame_motion(mechanism, q, v, a, frame, reference)[1]


def _link_poses(mechanism, q):
    return np.stack(forward_kinematics.link_poses(mechanism, q))


def _link_velocities(mechanism, q, v):
    motions = vel.body_motions(mechanism, q, v, np.zeros(mechanism.n_v))
    return np.stack([np.concatenate([motion.v, motion.w]) for motion in motions])


def _link_accelerations(mechanism, q, v, a):
    return np.stack([np.concatenate([motion.a, motion.e]) for motion in vel.body_motions(mechanism, q, v, a)])


def _joint_wrenches(mechanism, q, v, a, external=None):
    return np.stack(inverse_dynamics.joint_wrenches(mechanism, q, v, a, external))


def _energy(mechanism, q, v):
    return energy.kinetic_energy(mechanism, q, v), energy.potential_energy(mechanism, q)


_POSE = frozenset({"geometry", "tool"})
_WEIGHT = frozenset({"geometry", "inertia", "payload"})
_FORCE = _WEIGHT | {"gravity"}


def _table(*functions: Function) -> dict[str, Function]:
    return {function.name: function for function in functions}


FUNCTIONS: dict[str, Function] = _table(
    Function("integrate", ("q", "v"), Mechanism.integrate, ("q",)),
    Function("difference", ("q0", "q1"), Mechanism.difference, ("v",)),
    Function("forward_kinematics", ("q",), forward_kinematics.frame_pose, ("T_world_frame",), _POSE),
    Function("frame_poses", ("q",), forward_kinematics.frame_poses, ("T_world_frames",), _POSE),
    Function("link_poses", ("q",), _link_poses, ("T_world_links",), _POSE),
    Function("jacobian", ("q",), jac.jacobian, ("J",), _POSE),
    Function("jacobian_derivative", ("q", "v"), jac.jacobian_derivative, ("J_rate",), _POSE),
    Function("velocity", ("q", "v"), _twist, ("twist",), _POSE),
    Function("acceleration", ("q", "v", "a"), _acceleration, ("acceleration",), _POSE),
    Function("link_velocities", ("q", "v"), _link_velocities, ("twists",), _POSE),
    Function("link_accelerations", ("q", "v", "a"), _link_accelerations, ("accelerations",), _POSE),
    Function("center_of_mass", ("q",), com.center_of_mass, ("center",), _WEIGHT, frame_free=True),
    Function("center_of_mass_jacobian", ("q",), com.center_of_mass_jacobian, ("J",), _WEIGHT, frame_free=True),
    Function("inverse_dynamics", ("q", "v", "a"), _inverse_dynamics, ("tau",), _FORCE, frame_free=True),
    Function("joint_wrenches", ("q", "v", "a"), _joint_wrenches, ("wrenches",), _FORCE),
    Function("bias", ("q", "v"), _bias, ("tau",), _FORCE, frame_free=True),
    Function("gravity_torque", ("q",), inverse_dynamics.gravity_torque, ("tau",), _FORCE, frame_free=True),
    Function("forward_dynamics", ("q", "v", "tau"), _forward_dynamics, ("a",), _FORCE, frame_free=True),
    Function("mass_matrix", ("q",), mass_matrix.mass_matrix, ("M",), _WEIGHT, frame_free=True),
    Function(
        "inverse_mass_matrix", ("q",), mass_matrix.inverse_mass_matrix, ("M_inverse",), _WEIGHT, frame_free=True
    ),
    Function("coriolis_matrix", ("q", "v"), coriolis.coriolis_matrix, ("C",), _WEIGHT, frame_free=True),
    Function("centroidal_matrix", ("q",), mass_matrix.centroidal_matrix, ("A",), _WEIGHT, frame_free=True),
    Function("momentum", ("q", "v"), energy.total_momentum, ("momentum",), _WEIGHT, frame_free=True),
    Function("energy", ("q", "v"), _energy, ("kinetic", "potential"), _FORCE, frame_free=True),
    Function("regressor", ("q", "v", "a"), reg.regressor, ("W",), frozenset({"geometry", "gravity"})),
    Function("drive_regressor", ("v", "a"), reg.drive_regressor, ("W",)),
    Function(
        "inverse_dynamics_derivatives",
        ("q", "v", "a"),
        _inverse_dynamics_derivatives,
        ("dtau_dq", "dtau_dv", "dtau_da"),
        _FORCE,
        frame_free=True,
    ),
    Function(
        "forward_dynamics_derivatives",
        ("q", "v", "tau"),
        _forward_dynamics_derivatives,
        ("da_dq", "da_dv", "da_dtau"),
        _FORCE,
        frame_free=True,
    ),
)
"""Every function a robot offers, by name."""


def function_named(name: str) -> Function:
    """The function of that name, or an error that lists them."""
    try:
        return FUNCTIONS[name]
    except KeyError:
        raise unknown_name("function", name, FUNCTIONS) from None


def shapes(mechanism: Mechanism, names: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """Core shapes of inputs and parameters by name."""
    known = {
        "q": (mechanism.n_q,),
        "q0": (mechanism.n_q,),
        "q1": (mechanism.n_q,),
        "v": (mechanism.n_v,),
        "a": (mechanism.n_v,),
        "tau": (mechanism.n_v,),
        "external": (mechanism.n_links, 6),
        "gravity": (3,),
        "inertia": (mechanism.n_links, inertial.N_PARAMETERS),
        "geometry": (len(mechanism.joints), 4, 4),
        "tool": (4, 4),
        "payload": (inertial.N_PARAMETERS,),
    }
    return {name: known[name.partition(":")[0]] for name in names}


PARAMETERS = ("gravity", "inertia", "geometry", "tool", "payload")
"""What may become an input of a kernel. `tool:LINK` and `payload:LINK` say on which link; alone, on the default
frame's. A tool is T_link_tool; a payload is ten inertial parameters in the link's frame, added to the link's."""


def input_shapes(
    mechanism: Mechanism, name: str, parameters: Sequence[str] = (), external: bool = False
) -> dict[str, tuple[int, ...]]:
    """Shapes of all inputs of `evaluated`: the function's own, external wrenches, then the parameters."""
    return shapes(mechanism, (*function_named(name).inputs, *(("external",) if external else ()), *parameters))


def evaluated(
    mechanism: Mechanism, name: str, parameters: Sequence[str], options: Sequence[tuple[str, Any]], *arrays: Any
) -> Any:
    """A function of a robot as a function of arrays: what the tape traces.

    Args:
        mechanism: the mechanism.
        name: one of `FUNCTIONS`.
        parameters: names of `PARAMETERS` that come after the function's own inputs instead of being constants.
        options: (name, value) of frame, frames, reference, friction; `("external", True)` adds external wrenches
            as an input.
        arrays: as `input_shapes` lists them.
    """
    function = function_named(name)
    keywords = dict(options)
    n_own = len(function.inputs)
    inputs, rest = arrays[:n_own], arrays[n_own:]
    wrenches = None
    if keywords.pop("external", False):
        wrenches, rest = rest[0], rest[1:]
    given = dict(zip(parameters, rest, strict=True))
    if function.frame_free and "geometry" not in parameters:
        smaller = _reduced(mechanism)
        model = _reduced_with(mechanism, smaller, given)
        wrenches = None if wrenches is None else _carried(smaller, wrenches)
    else:
        model = substituted(mechanism, given)
    if wrenches is not None:
        keywords["external"] = wrenches
    return function.compute(model, *inputs, **keywords)


def substituted(mechanism: Mechanism, values: Mapping[str, Any]) -> Mechanism:
    """The mechanism with parameters replaced by numbers or traced arrays, unchecked."""
    changes: dict[str, Any] = {}
    links, joints = list(mechanism.links), mechanism.joints
    frames = list(mechanism.frames)
    for name in sorted(values, key=lambda name: name.startswith("payload")):  # loads are added to the inertia given
        kind, _, link = name.partition(":")
        value = values[name]
        if kind in ("tool", "payload"):
            link = link or mechanism.default_frame.link
        match kind:
            case "gravity":
                changes["gravity"] = value
            case "geometry":
                joints = tuple(replace(joint, T_parent_joint=value[i]) for i, joint in enumerate(joints))
            case "inertia":
                links = [replace(body, inertia=value[i]) for i, body in enumerate(links)]
            case "tool":
                frames = [frame for frame in frames if frame.name != "tool"] + [Frame("tool", link, value)]
            case "payload":
                i = mechanism.link_number(link)
                links[i] = replace(links[i], inertia=links[i].inertia + value)
            case _:
                raise unknown_name("parameter", name, PARAMETERS)
    return replace(mechanism, links=tuple(links), joints=joints, frames=tuple(frames), **changes)


@cache
def _reduced(mechanism: Mechanism) -> Reduced:
    return reduced(mechanism)


def _reduced_with(mechanism: Mechanism, smaller: Reduced, values: Mapping[str, Any]) -> Mechanism:
    """The reduced mechanism with parameters of the original replaced."""
    model = smaller.mechanism
    links = list(model.links)
    for name in sorted(values, key=lambda name: name.startswith("payload")):
        kind, _, link = name.partition(":")
        value = values[name]
        if kind == "inertia":
            totals: list[Any] = [np.zeros(inertial.N_PARAMETERS)] * model.n_links
            for i, (k, T) in enumerate(smaller.carriers):
                totals[k] = totals[k] + inertial.moved(value[i], T)
            links = [replace(body, inertia=total) for body, total in zip(links, totals, strict=True)]
        elif kind == "payload":
            i = mechanism.link_number(link or mechanism.default_frame.link)
            k, T = smaller.carriers[i]
            links[k] = replace(links[k], inertia=links[k].inertia + inertial.moved(value, T))
    others = {name: value for name, value in values.items() if name == "gravity"}
    return substituted(replace(model, links=tuple(links)), others)


def _carried(smaller: Reduced, external):
    """External wrenches on the links of the original, as wrenches on the reduced links."""
    totals: list[Any] = [np.zeros(6)] * smaller.mechanism.n_links
    for i, (k, T) in enumerate(smaller.carriers):
        totals[k] = totals[k] + move_wrench(T, external[i])
    return totals


INVERTING = ("forward_dynamics", "inverse_mass_matrix", "forward_dynamics_derivatives")
"""Functions that need a mass matrix with an inverse."""
