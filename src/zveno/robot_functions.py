"""A mechanism with its compiled functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from . import programs
from .algorithms.center_of_mass import total_mass
from .algorithms.references import checked_reference
from .algorithms.regressor import parameter_vector
from .algorithms.singular import refuse_singular
from .function_methods import FunctionMethods, options_of, takes_frame
from .functions import INVERTING, function_named
from .kernel_inputs import KernelInputs, explicit_parameters, given_value, kernel_inputs
from .mechanism import Mechanism, base, edit
from .over_bodies.engine import is_regular, loop_kernel
from .parametric import ParametricRobot

if TYPE_CHECKING:
    from .kernels.kernel import Kernel


class RobotFunctions(FunctionMethods):
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
    ):
        self.mechanism = mechanism
        # Kernels are built from the nominal mechanism; what was changed since is bound to them as inputs. So a new
        # payload, tool or gravity rebuilds nothing, and all robots made from one share its kernels.
        self._nominal = mechanism if _nominal is None else _nominal
        self._bound = dict(_bound or {})
        self._calls: dict[tuple, Callable] = {}
        self._kernels: dict[tuple, tuple[Kernel, KernelInputs]] = {}

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

    @property
    def mass(self) -> float:
        """Mass of all links, the fixed one included, kg."""
        return float(total_mass(self.mechanism))

    def pack(self, values: Mapping[str, object], default: ArrayLike | None = None) -> np.ndarray:
        """q from joint values by name; the others at `default` or neutral."""
        return self.mechanism.pack(values, default)

    def unpack(self, q: ArrayLike) -> dict[str, np.ndarray | float]:
        """Joint values by name from q, (..., n_q)."""
        return self.mechanism.unpack(q)

    def neutral(self) -> np.ndarray:
        """q with every joint at zero."""
        return self.mechanism.neutral()

    def random(self, shape: int | Sequence[int] = (), rng: np.random.Generator | int | None = None) -> np.ndarray:
        """Random q within limits, of batch shape `shape`: (..., n_q)."""
        return self.mechanism.random(rng, shape)

    def parameter_vector(self) -> np.ndarray:
        """p (10 N,): the inertial parameters of links 1 … N in the order of the regressor's columns."""
        return parameter_vector(self.mechanism)

    # --- other robots

    def with_payload(
        self,
        mass: float,
        center_of_mass: ArrayLike = (0.0, 0.0, 0.0),
        inertia: ArrayLike | None = None,
        frame: str | None = None,
    ) -> Self:
        """The robot holding a load at a frame; another load later rebuilds nothing. See `edit.with_payload`."""
        changed = edit.with_payload(self.mechanism, mass, center_of_mass, inertia, frame)
        link = self.mechanism.frame(frame).link
        i = self.mechanism.link_number(link)
        key = f"payload:{link}"
        load = changed.links[i].inertia - self.mechanism.links[i].inertia + self._bound.get(key, 0.0)
        return self._derived(changed, {key: load})

    def with_tool(self, T_frame_tool: ArrayLike, frame: str | None = None) -> Self:
        """The robot with the frame `tool` at `T_frame_tool` in a frame; another tool later rebuilds nothing."""
        changed = edit.with_tool(self.mechanism, T_frame_tool, frame)
        tool = changed.frame("tool")
        kept = {key: value for key, value in self._bound.items() if not key.startswith("tool:")}
        return self._derived(changed, {f"tool:{tool.link}": tool.T_link_frame}, kept)

    def with_gravity(self, gravity: ArrayLike) -> Self:
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
        """The same functions with some constants as inputs, which every call must give by keyword.

        Args:
            parameters: "gravity" (3,), "inertia" (n_links, 10), "geometry" (n_joints, 4, 4: every T_parent_joint),
                "tool" or "tool:LINK" (4, 4), "payload" or "payload:LINK" (10,) in the link's frame, which is added
                to what the link has.
        """
        explicit_parameters(self.mechanism, parameters)
        return ParametricRobot(self, parameters)

    def kernel(
        self, name: str, parameters: Sequence[str] = (), engine: str | None = None, **options: Any
    ) -> Kernel:
        """The compiled kernel of a function, for those who want to call, inspect or export it.

        Args:
            name: the function, for example "inverse_dynamics".
            parameters: constants that become inputs, as in `parametric`; all others are this robot's.
            engine: "straight" for straight-line code, fastest for arms and humanoids; "loop" for a loop over
                bodies, whose code does not grow with the robot; what is better for this robot if None.
            options: frame, frames, reference, friction, external.
        """
        return programs.kernel(self.mechanism, name, parameters, engine, **options)

    # --- private

    def _derived(self, mechanism: Mechanism, new: Mapping[str, np.ndarray], kept: Mapping | None = None) -> Self:
        bound = dict(self._bound if kept is None else kept) | dict(new)
        return type(self)(mechanism, _nominal=self._nominal, _bound=bound)

    def _run(
        self, key: tuple, arrays: tuple, out: Any, constants: Mapping[str, Any], external: ArrayLike | None = None
    ) -> Any:
        """See `FunctionMethods._run`. A call takes half a microsecond, so nothing is looked at on its way."""
        if external is not None:
            key, arrays = (*key, True), (*arrays, external)
        if constants:
            call = self._call_given(key, constants)
        else:
            try:
                call = self._calls[key]
            except KeyError:
                call = self._calls[key] = self._call_bound(key)
        return call(*arrays) if out is None else call(*arrays, out=out)

    def _call_bound(self, key: tuple) -> Callable[..., Any]:
        """The kernel of a key with the values of what is bound as its last inputs."""
        kernel, inputs = self._built(key)
        return _with_inputs(kernel, [np.ascontiguousarray(value, dtype=float) for _, value in inputs])

    def _call_given(self, key: tuple, constants: Mapping[str, Any]) -> Callable[..., Any]:
        """The same with the constants that one call gives."""
        kernel, inputs = self._built(key, tuple(constants))
        return _with_inputs(kernel, [given_value(constants, *pair) for pair in inputs])

    def _built(self, key: tuple, given: tuple[str, ...] = ()) -> tuple[Kernel, KernelInputs]:
        """The kernel of the nominal mechanism with what is bound and what is given as inputs, and these inputs."""
        if (key, given) not in self._kernels:
            name, options = key[0], options_of(key)
            frames = options.get("frames", (options.get("frame"),) if takes_frame(name) else ())
            for frame in frames:
                self.mechanism.frame(frame)
            if "reference" in options:
                checked_reference(options["reference"])
            looped = None if given else loop_kernel(self.mechanism, name, (), None, options)
            if name in INVERTING and not (looped is not None and is_regular(self.mechanism)):
                refuse_singular(self.mechanism)
            if looped is not None:  # what is bound is in its tables: another robot of this kind builds nothing
                self._kernels[key, given] = looped, ()
                return looped, ()
            used = function_named(name).depends_on
            bound = {key: value for key, value in self._bound.items() if key.partition(":")[0] in used}
            inputs = kernel_inputs(bound, explicit_parameters(self.mechanism, given))
            kernel = programs.kernel(self._nominal, name, tuple(inputs), **options)
            self._kernels[key, given] = kernel, tuple(inputs.values())
        return self._kernels[key, given]

    def __getstate__(self) -> dict[str, Any]:
        # Kernels are rebuilt, or loaded from the cache, where the robot arrives.
        return {"mechanism": self.mechanism, "nominal": self._nominal, "bound": self._bound}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["mechanism"], _nominal=state["nominal"], _bound=state["bound"])  # type: ignore[misc]  (unpickled: nothing is there yet)

    def __repr__(self) -> str:
        joints = ", ".join(self.joint_names) or "none"
        return f"<{type(self).__name__} {self.name}: n_q = {self.n_q}, n_v = {self.n_v}, joints {joints}>"


def _with_inputs(kernel: Kernel, values: Sequence[Any]) -> Callable[..., Any]:
    """A kernel with values for its last inputs."""
    if not values:
        return kernel.__call__  # found sooner than through the object
    return lambda *arrays, **out: kernel(*arrays, *values, **out)
