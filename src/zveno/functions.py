"""Table of the robot functions: algorithms, inputs, and parameters that become inputs.

One table (`FUNCTIONS`) serves the compiled batch functions and the C export.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from .algorithms import center_of_mass as com
from .algorithms import coriolis, energy, forward_kinematics, inverse_dynamics, linear, mass_matrix
from .algorithms import forward_dynamics as forward
from .algorithms import inverse_dynamics_derivatives as slopes
from .algorithms import jacobian as jac
from .algorithms import regressor as reg
from .algorithms import velocities as vel
from .algorithms.drives import FRICTION_SMOOTHING
from .errors import ShapeError, unknown_name
from .mechanism import Frame, Mechanism
from .mechanism.reduce import Reduced, reduced
from .spatial import inertia as inertial
from .spatial.transforms import move_wrench


class Loop(NamedTuple):
    """Data for running a function as loops over a tree.

    Attributes:
        over: "bodies" that move, "links", or "frames" and the bodies that carry them.
        per_body: operations of straight-line code per revolute body in a general placement.
        per_pair: operations per pair of a body and a body that carries it.
    """

    over: str
    per_body: int
    per_pair: int = 0


class Composed(NamedTuple):
    """Data for computing a function of a large tree from functions that run as loops.

    Attributes:
        per_entry: operations of straight-line code per velocity and pair of velocities on one path to the root.
        parts: names of the functions it needs beside M⁻¹ B, each with further options.
        join: called with a function (q, B) → M⁻¹ B, one kernel per part, and the inputs.
    """

    per_entry: int
    parts: tuple[tuple[str, Mapping[str, Any]], ...]
    join: Callable[..., Any]


@dataclass(frozen=True)
class Function:
    """A function of a robot: the algorithm, its inputs and outputs, and its docstring.

    Attributes:
        name: the public name.
        inputs: among q, v, a, tau, q0, q1.
        compute: called with the mechanism, one array per input, and the options by keyword.
        outputs: shape of each output without batch axes. A size is a number or a key of `sizes`.
        doc: first line of the method's docstring.
        options: names of `OPTIONS`, in the order in which the method takes them.
        depends_on: the `PARAMETERS` that the result depends on.
        frame_free: True if the result does not depend on the placement of link frames, so that it may be computed
            on the reduced mechanism.
        inverts: True if it needs a regular mass matrix.
        closed: True if kinematic loops of the mechanism do not change the result.
        loop: data for running as loops; None for functions that cannot.
        composed: data for computing it from functions that run as loops; None for functions that need not.
        method: True if it is a method of `Robot`; other functions are called through `Robot.kernel`.
    """

    name: str
    inputs: tuple[str, ...]
    compute: Callable[..., Any]
    outputs: Mapping[str, tuple[str | int, ...]]
    doc: str
    options: tuple[str, ...] = ()
    depends_on: frozenset[str] = frozenset()
    frame_free: bool = False
    inverts: bool = False
    closed: bool = False
    loop: Loop | None = None
    composed: Composed | None = None
    method: bool = True


def _forward_dynamics(mechanism, q, v, tau, external=None, joint_friction=False):
    return forward.forward_dynamics(
        mechanism, q, v, tau, external, joint_friction=joint_friction, smoothing=FRICTION_SMOOTHING
    )


def _forward_dynamics_derivatives(mechanism, q, v, tau, external=None, joint_friction=False):
    """Return ∂a/∂x = −M⁻¹ ∂τ/∂x at the acceleration a, and ∂a/∂τ = M⁻¹ (Carpentier and Mansard 2018)."""
    a = _forward_dynamics(mechanism, q, v, tau, external, joint_friction)
    by_q, by_v, M = slopes.inverse_dynamics_derivatives(
        mechanism, q, v, a, external, joint_friction=joint_friction, smoothing=FRICTION_SMOOTHING
    )
    M_inverse = linear.inverse(M)
    return -(M_inverse @ by_q), -(M_inverse @ by_v), M_inverse


def _inverse_mass_matrix_from(solve: Callable[..., Any], q: Any) -> np.ndarray:
    """Return M⁻¹, column by column: the accelerations due to unit torques."""
    X = solve(q)
    return 0.5 * (X + np.swapaxes(X, -1, -2))


def _forward_dynamics_derivatives_from(
    solve: Callable[..., Any], dynamics: Callable[..., Any], derivatives: Callable[..., Any], *arrays: Any
) -> tuple[Any, Any, Any]:
    """Compute `_forward_dynamics_derivatives` from the dynamics and the derivatives of the inverse dynamics."""
    q, v, _, *external = arrays
    by_q, by_v, _ = derivatives(q, v, dynamics(*arrays), *external)
    return solve(q, -by_q), solve(q, -by_v), np.broadcast_to(_inverse_mass_matrix_from(solve, q), by_q.shape)


_POSE = frozenset({"geometry", "tool"})
_WEIGHT = frozenset({"geometry", "inertia", "payload"})
_FORCE = _WEIGHT | {"gravity"}
OPTIONS = {
    "frame": "name of the frame; None for the default frame.",
    "frames": "names of frames.",
    "reference": 'axes and point of the twist: "aligned" (world axes, origin of the frame), "local" or "world".',
    "joint_friction": "True to include the friction of drives.",
    "external": "wrenches `[f, n]` on links in their own axes, (..., n_links, 6).",
}
"""Arguments of functions that are not arrays of the state, as their docstrings describe them."""
_FRAME = ("frame", "reference")
_FORCES = ("joint_friction", "external")


def _table(*functions: Function) -> dict[str, Function]:
    return {function.name: function for function in functions}


FUNCTIONS: dict[str, Function] = _table(
    Function(
        "integrate",
        ("q", "v"),
        Mechanism.integrate,
        {"q": ("n_q",)},
        "Move from q with constant velocity v for unit time.",
        closed=True,
    ),
    Function(
        "difference",
        ("q0", "q1"),
        Mechanism.difference,
        {"v": ("n_v",)},
        "Return the constant velocity that takes q0 to q1 in unit time.",
        closed=True,
    ),
    Function(
        "forward_kinematics",
        ("q",),
        forward_kinematics.frame_pose,
        {"T_world_frame": (4, 4)},
        "Compute the pose of a frame; of the default frame if none is named.",
        options=("frame",),
        depends_on=_POSE,
        closed=True,
        loop=Loop("frames", 100),
    ),
    Function(
        "frame_poses",
        ("q",),
        forward_kinematics.frame_poses,
        {"T_world_frames": ("n_frames", 4, 4)},
        "Compute the poses of several frames.",
        options=("frames",),
        depends_on=_POSE,
        closed=True,
        loop=Loop("frames", 148),
    ),
    Function(
        "link_poses",
        ("q",),
        forward_kinematics.link_poses,
        {"T_world_links": ("n_links", 4, 4)},
        "Compute the poses of all links.",
        depends_on=_POSE,
        closed=True,
        loop=Loop("bodies", 148),
    ),
    Function(
        "jacobian",
        ("q",),
        jac.jacobian,
        {"J": (6, "n_v")},
        "Compute the Jacobian of a frame's twist `[v, w]`.",
        options=_FRAME,
        depends_on=_POSE,
        loop=Loop("frames", 140),
    ),
    Function(
        "jacobian_derivative",
        ("q", "v"),
        jac.jacobian_derivative,
        {"J_rate": (6, "n_v")},
        "Compute the time derivative of `jacobian`: `frame_acceleration` is J a + J̇ v (not in local axes).",
        options=_FRAME,
        depends_on=_POSE,
        loop=Loop("frames", 139),
    ),
    Function(
        "frame_velocity",
        ("q", "v"),
        vel.frame_velocity,
        {"twist": (6,)},
        "Compute the twist `[v, w]` of a frame.",
        options=_FRAME,
        depends_on=_POSE,
        closed=True,
        loop=Loop("frames", 107),
    ),
    Function(
        "frame_acceleration",
        ("q", "v", "a"),
        vel.frame_acceleration,
        {"acceleration": (6,)},
        "Compute the true linear and angular acceleration of a frame.",
        options=_FRAME,
        depends_on=_POSE,
        closed=True,
        loop=Loop("frames", 190),
    ),
    Function(
        "link_velocities",
        ("q", "v"),
        vel.link_velocities,
        {"twists": ("n_links", 6)},
        "Compute the twists of all links in their own axes at their origins.",
        depends_on=_POSE,
        closed=True,
        loop=Loop("links", 110),
        method=False,
    ),
    Function(
        "link_accelerations",
        ("q", "v", "a"),
        vel.link_accelerations,
        {"accelerations": ("n_links", 6)},
        "Compute the true linear and angular accelerations of all links in their own axes.",
        depends_on=_POSE,
        closed=True,
        loop=Loop("links", 190),
        method=False,
    ),
    Function(
        "center_of_mass",
        ("q",),
        com.center_of_mass,
        {"center": (3,)},
        "Compute the centre of mass in world axes.",
        depends_on=_WEIGHT,
        frame_free=True,
        closed=True,
        loop=Loop("bodies", 100),
    ),
    Function(
        "center_of_mass_jacobian",
        ("q",),
        com.center_of_mass_jacobian,
        {"J": (3, "n_v")},
        "Compute the Jacobian of the centre of mass.",
        depends_on=_WEIGHT,
        frame_free=True,
        loop=Loop("bodies", 126),
    ),
    Function(
        "inverse_dynamics",
        ("q", "v", "a"),
        inverse_dynamics.inverse_dynamics,
        {"tau": ("n_v",)},
        "Compute the joint torques for accelerations a.",
        options=_FORCES,
        depends_on=_FORCE,
        frame_free=True,
        loop=Loop("bodies", 232),
    ),
    Function(
        "forward_dynamics",
        ("q", "v", "tau"),
        _forward_dynamics,
        {"a": ("n_v",)},
        "Compute the accelerations under joint torques tau.",
        options=_FORCES,
        depends_on=_FORCE,
        frame_free=True,
        inverts=True,
        loop=Loop("bodies", 700),
    ),
    Function(
        "joint_wrenches",
        ("q", "v", "a"),
        inverse_dynamics.joint_wrenches,
        {"wrenches": ("n_links", 6)},
        "Compute the wrench `[f, n]` that each link receives through its joint, in its own axes.",
        options=("external",),
        depends_on=_FORCE,
        loop=Loop("links", 240),
    ),
    Function(
        "bias",
        ("q", "v"),
        inverse_dynamics.bias,
        {"tau": ("n_v",)},
        "Compute the torques at zero acceleration: Coriolis, centrifugal, gravity and external ones.",
        options=("external",),
        depends_on=_FORCE,
        frame_free=True,
        loop=Loop("bodies", 231),
    ),
    Function(
        "gravity_torque",
        ("q",),
        inverse_dynamics.gravity_torque,
        {"tau": ("n_v",)},
        "Compute the torques that hold the robot at rest.",
        depends_on=_FORCE,
        frame_free=True,
        loop=Loop("bodies", 94),
    ),
    Function(
        "mass_matrix",
        ("q",),
        mass_matrix.mass_matrix,
        {"M": ("n_v", "n_v")},
        "Compute the mass matrix, rotors included.",
        depends_on=_WEIGHT,
        frame_free=True,
        loop=Loop("bodies", 150, 42),
    ),
    Function(
        "inverse_mass_matrix",
        ("q",),
        mass_matrix.inverse_mass_matrix,
        {"M_inverse": ("n_v", "n_v")},
        "Compute the inverse of the mass matrix.",
        depends_on=_WEIGHT,
        frame_free=True,
        inverts=True,
        composed=Composed(2, (), _inverse_mass_matrix_from),
    ),
    Function(
        "coriolis_matrix",
        ("q", "v"),
        coriolis.coriolis_matrix,
        {"C": ("n_v", "n_v")},
        "Compute C with C v = bias − gravity torque and Ṁ − 2C skew-symmetric.",
        depends_on=_WEIGHT,
        frame_free=True,
        loop=Loop("bodies", 429, 120),
    ),
    Function(
        "centroidal_matrix",
        ("q",),
        mass_matrix.centroidal_matrix,
        {"A": (6, "n_v")},
        "Compute A with momentum `[p, L]` about the centre of mass = A v.",
        depends_on=_WEIGHT,
        frame_free=True,
        loop=Loop("bodies", 298),
    ),
    Function(
        "momentum",
        ("q", "v"),
        energy.total_momentum,
        {"momentum": (6,)},
        "Compute the momentum `[p, L]` about the origin of the world.",
        depends_on=_WEIGHT,
        frame_free=True,
        closed=True,
        loop=Loop("bodies", 215),
    ),
    Function(
        "energy",
        ("q", "v"),
        energy.energy,
        {"kinetic": (), "potential": ()},
        "Compute the kinetic and potential energy, J.",
        depends_on=_FORCE,
        frame_free=True,
        closed=True,
        loop=Loop("bodies", 145),
    ),
    Function(
        "regressor",
        ("q", "v", "a"),
        reg.regressor,
        {"W": ("n_v", "10 N")},
        "Compute W: torques are W p, p the inertial parameters of links 1 … N.",
        depends_on=frozenset({"geometry", "gravity"}),
        loop=Loop("links", 412, 420),
    ),
    Function(
        "drive_regressor",
        ("v", "a"),
        reg.drive_regressor,
        {"W": ("n_v", "4 n_v")},
        "Compute W of rotor inertia, viscous and Coulomb friction, and offset.",
        method=False,
    ),
    Function(
        "inverse_dynamics_derivatives",
        ("q", "v", "a"),
        slopes.inverse_dynamics_derivatives,
        {"dtau_dq": ("n_v", "n_v"), "dtau_dv": ("n_v", "n_v"), "dtau_da": ("n_v", "n_v")},
        "Compute ∂τ/∂q in the tangent of q, ∂τ/∂v and ∂τ/∂a; external wrenches turn with the links.",
        options=_FORCES,
        depends_on=_FORCE,
        frame_free=True,
        loop=Loop("bodies", 711, 174),
    ),
    Function(
        "forward_dynamics_derivatives",
        ("q", "v", "tau"),
        _forward_dynamics_derivatives,
        {"da_dq": ("n_v", "n_v"), "da_dv": ("n_v", "n_v"), "da_dtau": ("n_v", "n_v")},
        "Compute ∂a/∂q in the tangent of q, ∂a/∂v and ∂a/∂τ; external wrenches turn with the links.",
        options=_FORCES,
        depends_on=_FORCE,
        frame_free=True,
        inverts=True,
        composed=Composed(
            10,
            (
                ("forward_dynamics", {}),
                ("inverse_dynamics_derivatives", {"smoothing": FRICTION_SMOOTHING}),
            ),
            _forward_dynamics_derivatives_from,
        ),
    ),
)
"""Every function of a robot, by name. Its methods are written from this table by tools/write_methods.py."""


def function_named(name: str) -> Function:
    """Return the function of that name, or raise an error that lists all names."""
    try:
        return FUNCTIONS[name]
    except KeyError:
        raise unknown_name("function", name, FUNCTIONS) from None


def shapes(mechanism: Mechanism, names: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """Return the core shapes of inputs and parameters by name."""
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


def sizes(mechanism: Mechanism, frames: Sequence[str] = ()) -> dict[str, int]:
    """Return the sizes that stand in the shapes of outputs."""
    n_v, n_links = mechanism.n_v, mechanism.n_links
    return {
        "n_q": mechanism.n_q,
        "n_v": n_v,
        "4 n_v": 4 * n_v,
        "n_links": n_links,
        "n_frames": len(frames),
        "10 N": inertial.N_PARAMETERS * (n_links - 1),
    }


PARAMETERS = ("gravity", "inertia", "geometry", "tool", "payload")
"""Constants that may become inputs of a kernel. `tool:LINK` and `payload:LINK` name the link, which is that of the
default frame otherwise. A tool is T_link_tool. A payload is ten inertial parameters in the link's frame, added to
the link's."""


def check_options(name: str, options: Mapping[str, Any]) -> None:
    """Raise an error for options that a function does not take."""
    known = function_named(name).options
    for option in options:
        if option not in known:
            raise unknown_name(f"option of {name}", option, known)


def check_parameters(mechanism: Mechanism, names: Sequence[str]) -> None:
    """Check the names of constants that become inputs of a kernel: known, on a known link, each once."""
    seen: set[str] = set()
    for name in names:
        kind, colon, link = name.partition(":")
        on_a_link = kind in ("tool", "payload")
        if kind not in PARAMETERS or (colon and not on_a_link):
            raise unknown_name("input", name, PARAMETERS)
        if on_a_link:
            link = link or mechanism.default_frame.link
            mechanism.link_number(link)
        full = f"payload:{link}" if kind == "payload" else kind
        if full in seen:
            raise ShapeError("must not be given twice", element=f"input {name}", remedy="Name each constant once")
        seen.add(full)


def input_shapes(
    mechanism: Mechanism, name: str, parameters: Sequence[str] = (), external: bool = False
) -> dict[str, tuple[int, ...]]:
    """Return the shapes of all inputs of `evaluated`: the function's own, external wrenches, then parameters."""
    return shapes(mechanism, (*function_named(name).inputs, *(("external",) if external else ()), *parameters))


def evaluated(
    mechanism: Mechanism, name: str, parameters: Sequence[str], options: Sequence[tuple[str, Any]], *arrays: Any
) -> Any:
    """Evaluate a robot function on arrays. This function is traced.

    Args:
        mechanism: the mechanism.
        name: one of `FUNCTIONS`.
        parameters: names of `PARAMETERS` that are inputs, after the function's own, instead of constants.
        options: (name, value) of frame, frames, reference, joint_friction. `("external", True)` adds external
            wrenches as an input.
        arrays: the inputs listed by `input_shapes`.
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
    """Return the mechanism with parameters replaced by numbers or traced arrays, unchecked."""
    changes: dict[str, Any] = {}
    links, joints = list(mechanism.links), mechanism.joints
    frames = list(mechanism.frames)
    # Payloads come last, because they are added to the given inertia.
    for name in sorted(values, key=lambda name: name.startswith("payload")):
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
    """Return the reduced mechanism with parameters of the original replaced."""
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
    """Return external wrenches on the original links as wrenches on the reduced links."""
    totals: list[Any] = [np.zeros(6)] * smaller.mechanism.n_links
    for i, (k, T) in enumerate(smaller.carriers):
        totals[k] = totals[k] + move_wrench(T, external[i])
    return totals


def options_of(key: tuple[Any, ...]) -> dict[str, Any]:
    """Return the options of a call by name, without those that are None or False.

    Args:
        key: the name of a function and the values of its options in order.
    """
    name, *values = key
    names = function_named(name).options
    return {option: value for option, value in zip(names, values, strict=False) if value}
