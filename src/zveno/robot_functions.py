"""A mechanism with its compiled functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

import numpy as np

from .algorithms import floating
from .algorithms.references import checked_reference
from .algorithms.singular import refuse_singular
from .errors import unknown_name
from .functions import PARAMETERS, function_named
from .mechanism import Mechanism, base, edit
from .parametric import ParametricRobot


class RobotFunctions:
    """A mechanism with its functions, each compiled for batches on first use.

    Every function takes arrays with any leading batch axes, (..., n_q), and `out=`; one state is a batch ().
    Conventions are those of docs/conventions.md. A robot is immutable; `with_…` methods return another one.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        *,
        _nominal: Mechanism | None = None,
        _bound: Mapping[str, np.ndarray] | None = None,
        _kernels: dict | None = None,
    ):
        self.mechanism = mechanism
        # Kernels are built from the nominal mechanism; what was changed since is bound to them as inputs. So a new
        # payload, tool or gravity rebuilds nothing, and all robots made from one share its kernels.
        self._nominal = mechanism if _nominal is None else _nominal
        self._bound = dict(_bound or {})
        self._calls: dict[tuple, Callable] = {}
        self._shared: dict[tuple, Any] = {} if _kernels is None else _kernels

    # --- structure, from the mechanism

    @property
    def name(self) -> str:
        """What the robot is called."""
        return self.mechanism.name

    @property
    def n_q(self) -> int:
        """Number of coordinates."""
        return self.mechanism.n_q

    @property
    def n_v(self) -> int:
        """Number of velocities."""
        return self.mechanism.n_v

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the joints that have coordinates, in the order of q."""
        return self.mechanism.joint_names

    @property
    def link_names(self) -> tuple[str, ...]:
        """Names of all links, the fixed one first."""
        return self.mechanism.link_names

    @property
    def frame_names(self) -> tuple[str, ...]:
        """Names usable as a frame."""
        return self.mechanism.frame_names

    @property
    def lower(self) -> np.ndarray:
        """Lower limits of q, (n_q,)."""
        return self.mechanism.lower

    @property
    def upper(self) -> np.ndarray:
        """Upper limits of q, (n_q,)."""
        return self.mechanism.upper

    def pack(self, values: Mapping[str, object], default=None) -> np.ndarray:
        """q from joint values by name; the others at `default` or neutral."""
        return self.mechanism.pack(values, default)

    def unpack(self, q) -> dict[str, np.ndarray | float]:
        """Joint values by name from q, (..., n_q)."""
        return self.mechanism.unpack(q)

    def neutral(self) -> np.ndarray:
        """q with every joint at zero."""
        return self.mechanism.neutral()

    def random(self, shape: int | tuple[int, ...] = (), rng: np.random.Generator | int | None = None) -> np.ndarray:
        """Random q within limits, of batch shape `shape`: (..., n_q)."""
        rng = np.random.default_rng(rng)
        shape = (shape,) if isinstance(shape, int) else tuple(shape)
        states = [self.mechanism.random(rng) for _ in range(int(np.prod(shape)))]
        return np.reshape(np.array(states), (*shape, self.n_q))

    def integrate(self, q, v, out=None) -> np.ndarray:
        """q after moving with constant velocity v for unit time, (..., n_q)."""
        return self._run(("integrate",), (q, v), out)

    def difference(self, q0, q1, out=None) -> np.ndarray:
        """The constant velocity (..., n_v) that takes q0 to q1 in unit time."""
        return self._run(("difference",), (q0, q1), out)

    # --- kinematics

    def forward_kinematics(self, q, frame: str | None = None, frames: Sequence[str] | None = None, out=None):
        """Pose of a frame (the default one if none is named), (..., 4, 4), or of several, (..., k, 4, 4)."""
        if frames is not None:
            return self._run(("frame_poses", tuple(frames)), (q,), out)
        return self._run(("forward_kinematics", frame), (q,), out)

    def link_poses(self, q, out=None):
        """Poses of all links, (..., n_links, 4, 4)."""
        return self._run(("link_poses",), (q,), out)

    def jacobian(self, q, frame: str | None = None, reference: str = "aligned", out=None):
        """Jacobian of a frame's twist `[v, w]`, (..., 6, n_v); `reference` "aligned", "local" or "world"."""
        return self._run(("jacobian", frame, reference), (q,), out)

    def velocity(self, q, v, frame: str | None = None, reference: str = "aligned", out=None):
        """Twist `[v, w]` of a frame, (..., 6)."""
        return self._run(("velocity", frame, reference), (q, v), out)

    def acceleration(self, q, v, a, frame: str | None = None, reference: str = "aligned", out=None):
        """True linear and angular acceleration of a frame, (..., 6)."""
        return self._run(("acceleration", frame, reference), (q, v, a), out)

    def link_velocities(self, q, v, out=None):
        """Twists of all links in their own axes at their origins, (..., n_links, 6)."""
        return self._run(("link_velocities",), (q, v), out)

    def link_accelerations(self, q, v, a, out=None):
        """True linear and angular accelerations of all links in their own axes, (..., n_links, 6)."""
        return self._run(("link_accelerations",), (q, v, a), out)

    def center_of_mass(self, q, out=None):
        """Centre of mass in world axes, (..., 3)."""
        return self._run(("center_of_mass",), (q,), out)

    def center_of_mass_jacobian(self, q, out=None):
        """Jacobian of the centre of mass, (..., 3, n_v)."""
        return self._run(("center_of_mass_jacobian",), (q,), out)

    # --- dynamics

    def inverse_dynamics(self, q, v, a, external=None, friction: bool = False, out=None):
        """Joint torques, (..., n_v), for accelerations a; `external` wrenches on links are (..., n_links, 6)."""
        return self._dynamics("inverse_dynamics", (q, v, a), external, friction, out)

    def forward_dynamics(self, q, v, tau, external=None, friction: bool = False, out=None):
        """Accelerations, (..., n_v), under joint torques tau."""
        return self._dynamics("forward_dynamics", (q, v, tau), external, friction, out)

    def joint_wrenches(self, q, v, a, external=None, out=None):
        """Wrench `[f, n]` each link receives through its joint, in its own axes, (..., n_links, 6)."""
        return self._dynamics("joint_wrenches", (q, v, a), external, False, out)

    def mass_matrix(self, q, out=None):
        """Mass matrix, (..., n_v, n_v), rotors included."""
        return self._run(("mass_matrix",), (q,), out)

    def inverse_mass_matrix(self, q, out=None):
        """Inverse of the mass matrix, (..., n_v, n_v)."""
        return self._run(("inverse_mass_matrix",), (q,), out)

    def bias(self, q, v, external=None, out=None):
        """Torques at zero acceleration, (..., n_v): Coriolis, centrifugal and gravity, less external ones."""
        return self._dynamics("bias", (q, v), external, False, out)

    def gravity_torque(self, q, out=None):
        """Torques that hold the robot at rest, (..., n_v)."""
        return self._run(("gravity_torque",), (q,), out)

    def energy(self, q, v, out=None):
        """(kinetic, potential) energy, J, (...) each."""
        return self._run(("energy",), (q, v), out)

    def momentum(self, q, v, out=None):
        """`[p, L]` about the world's origin, (..., 6)."""
        return self._run(("momentum",), (q, v), out)

    def centroidal_matrix(self, q, out=None):
        """A (..., 6, n_v): `[p, L]` about the centre of mass is A v."""
        return self._run(("centroidal_matrix",), (q,), out)

    def regressor(self, q, v, a, out=None):
        """W (..., n_v, 10 N): torques are W p, p the inertial parameters of links 1 … N."""
        return self._run(("regressor",), (q, v, a), out)

    def drive_regressor(self, v, a, out=None):
        """W (..., n_v, 4 n_v) of rotor inertia, viscous and Coulomb friction, and offset."""
        return self._run(("drive_regressor",), (v, a), out)

    def partitioned(self, q, v) -> floating.Partitioned:
        """I_II, I_IR, I_RR, H_I, H_R of document 003's last equation; the base must float."""
        n = floating.base_velocities(self.mechanism)
        floating.warn_near_trunk_singularity(self.mechanism, q)
        return floating.partitioned(self.mass_matrix(q), self.bias(q, v), n)

    def inverse_dynamics_derivatives(self, q, v, a, friction: bool = False, out=None):
        """(∂τ/∂q, ∂τ/∂v, ∂τ/∂a), (..., n_v, n_v) each, by q in its tangent."""
        return self._dynamics("inverse_dynamics_derivatives", (q, v, a), None, friction, out)

    def forward_dynamics_derivatives(self, q, v, tau, friction: bool = False, out=None):
        """(∂a/∂q, ∂a/∂v, ∂a/∂τ), (..., n_v, n_v) each, by q in its tangent."""
        return self._dynamics("forward_dynamics_derivatives", (q, v, tau), None, friction, out)

    # --- other robots

    def with_payload(
        self, mass: float, center_of_mass=(0.0, 0.0, 0.0), inertia=None, frame: str | None = None
    ) -> Self:
        """The robot holding a load at a frame; another load later rebuilds nothing. See `edit.with_payload`."""
        changed = edit.with_payload(self.mechanism, mass, center_of_mass, inertia, frame)
        link = self.mechanism.frame(frame).link
        i = self.mechanism.link_number(link)
        key = f"payload:{link}"
        load = changed.links[i].inertia - self.mechanism.links[i].inertia + self._bound.get(key, 0.0)
        return self._derived(changed, {key: load})

    def with_tool(self, T_frame_tool, frame: str | None = None) -> Self:
        """The robot with the frame `tool` at `T_frame_tool` in a frame; another tool later rebuilds nothing."""
        changed = edit.with_tool(self.mechanism, T_frame_tool, frame)
        tool = changed.frame("tool")
        kept = {key: value for key, value in self._bound.items() if not key.startswith("tool:")}
        return self._derived(changed, {f"tool:{tool.link}": tool.T_link_frame}, kept)

    def with_gravity(self, gravity) -> Self:
        """The robot under another acceleration of free fall (3,), m/s²; another one later rebuilds nothing."""
        changed = edit.with_gravity(self.mechanism, gravity)
        return self._derived(changed, {"gravity": changed.gravity})

    def with_inertia(self, parameters: Mapping[str, object]) -> Self:
        """The robot with other inertial parameters (10,) on the links named; other ones later rebuild nothing."""
        changed = edit.with_inertia(self.mechanism, parameters)
        kept = {key: value for key, value in self._bound.items() if not key.startswith("payload:")}
        return self._derived(changed, {"inertia": np.stack([link.inertia for link in changed.links])}, kept)

    def with_base(self, kind: str) -> Self:
        """The robot on another base: "fixed", "free" or "trunk". See `base.with_base`."""
        return type(self)(base.with_base(self.mechanism, kind))

    def parametric(self, *parameters: str) -> ParametricRobot:
        """The same functions with some constants as inputs, given by keyword in every call.

        Args:
            parameters: "gravity" (3,), "inertia" (n_links, 10), "geometry" (n_joints, 4, 4: every T_parent_joint),
                "tool" or "tool:LINK" (4, 4), "payload" or "payload:LINK" (10,) in the link's frame.
        """
        for name in parameters:
            if name.partition(":")[0] not in PARAMETERS:
                raise unknown_name("parameter", name, PARAMETERS)
        return ParametricRobot(self, parameters)

    # --- private

    def _derived(self, mechanism: Mechanism, new: Mapping[str, np.ndarray], kept: Mapping | None = None) -> Self:
        bound = dict(self._bound if kept is None else kept) | dict(new)
        return type(self)(mechanism, _nominal=self._nominal, _bound=bound, _kernels=self._shared)

    def _dynamics(self, name: str, arrays: tuple, external, friction: bool, out):
        if external is None:
            return self._run((name, friction), arrays, out)
        return self._run((name, friction, True), (*arrays, external), out)

    def _run(self, key: tuple, arrays: tuple, out):
        """Call the compiled function of a key: its name and the values of its options, in the order of `_OPTIONS`.

        A single call takes about a microsecond, so nothing is checked on the way; what NumPy refuses is called
        again through the kernel, which explains it.
        """
        try:
            call = self._calls[key]
            return call(*arrays) if out is None else call(*arrays, out=out)
        except (KeyError, ValueError, TypeError):
            kernel, bound = self._built(key)
            return kernel(*arrays, *bound, out=out)

    def _built(self, key: tuple):
        """The kernel of a key and the values bound to it; built, or loaded, on first use."""
        name, *values = key
        options = {
            option: value for option, value in zip(_OPTIONS.get(name, _FORCES), values, strict=False) if value
        }
        for frame in options.get("frames", (options.get("frame"),) if name in _OPTIONS else ()):
            self.mechanism.frame(frame)
        if "reference" in options:
            checked_reference(options["reference"])
        if name in _INVERTING:
            refuse_singular(self.mechanism)
        used = function_named(name).depends_on
        bound = {key: value for key, value in self._bound.items() if key.partition(":")[0] in used}
        kernel, given = self.kernel(name, tuple(bound), **options), tuple(bound.values())
        call = kernel._call
        self._calls[key] = (lambda *arrays, **out: call(*arrays, *given, **out)) if given else call
        return kernel, given

    def kernel(self, name: str, parameters: Sequence[str] = (), **options):
        """The compiled kernel of a function, for those who want to call, inspect or export it.

        Args:
            name: the function, for example "inverse_dynamics".
            parameters: constants that become inputs, as in `parametric`.
            options: frame, frames, reference, friction, external.
        """
        key = (name, tuple(parameters), tuple(sorted(options.items())))
        if key not in self._shared:
            from .programs import kernel

            self._shared[key] = kernel(self._nominal, name, parameters, **options)
        return self._shared[key]

    def __getstate__(self):
        # Kernels are rebuilt, or loaded from the cache, where the robot arrives.
        return {"mechanism": self.mechanism, "nominal": self._nominal, "bound": self._bound}

    def __setstate__(self, state):
        self.__init__(state["mechanism"], _nominal=state["nominal"], _bound=state["bound"])  # type: ignore[misc]  (unpickled: nothing is there yet)

    def __repr__(self):
        joints = ", ".join(self.joint_names) or "none"
        return f"<{type(self).__name__} {self.name}: n_q = {self.n_q}, n_v = {self.n_v}, joints {joints}>"


_INVERTING = ("forward_dynamics", "inverse_mass_matrix", "forward_dynamics_derivatives")
"""Functions that need a mass matrix with an inverse."""
_FRAME = ("frame", "reference")
_FORCES = ("friction", "external")
_OPTIONS = {
    "forward_kinematics": ("frame",),
    "frame_poses": ("frames",),
    "jacobian": _FRAME,
    "velocity": _FRAME,
    "acceleration": _FRAME,
}
"""Options of the functions that take a frame; those of dynamics take `_FORCES`."""
