"""A mechanism with its compiled functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from . import programs
from .algorithms.center_of_mass import total_mass
from .algorithms.references import checked_reference
from .algorithms.singular import refuse_singular
from .function_methods import FunctionMethods
from .functions import check_options, check_parameters, function_named, options_of
from .mechanism import Mechanism, base, edit
from .mechanism.loops import refuse_loops
from .mechanism.units import by_name

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
        # Kernels are built from the nominal mechanism. Later changes are bound to them as inputs. So a new payload,
        # tool or gravity needs no rebuild, and all robots derived from one share its kernels.
        self._nominal = mechanism if _nominal is None else _nominal
        self._bound = dict(_bound or {})
        self._calls: dict[tuple, Callable] = {}
        self._kernels: list[Any] = []  # calls are native code, which does not keep the kernel alive

    # --- structure, from the mechanism

    @property
    def name(self) -> str:
        """Name of the robot."""
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
        """Return q from joint values by name; other joints are at `default` or neutral."""
        return self.mechanism.pack(values, default)

    def unpack(self, q: ArrayLike) -> dict[str, np.ndarray | float]:
        """Return joint values by name from q, (..., n_q)."""
        return self.mechanism.unpack(q)

    def neutral(self) -> np.ndarray:
        """Return q with every joint at zero."""
        return self.mechanism.neutral()

    def random(self, size: int | Sequence[int] = (), rng: np.random.Generator | int | None = None) -> np.ndarray:
        """Return random q within limits, of batch shape `size`: (..., n_q)."""
        refuse_loops(self.mechanism, "random")
        return self.mechanism.random(rng, size)

    # --- other robots

    def opened(self) -> Self:
        """Return the tree alone, with its closed loops open; the mechanism's notes say so."""
        return type(self)(edit.opened(self.mechanism))

    def with_payload(
        self,
        mass: float,
        center_of_mass: ArrayLike = (0.0, 0.0, 0.0),
        inertia: ArrayLike | None = None,
        frame: str | None = None,
    ) -> Self:
        """Return the robot with a payload at a frame. Changing it needs no rebuild. See `edit.with_payload`."""
        changed = edit.with_payload(self.mechanism, mass, center_of_mass, inertia, frame)
        link = self.mechanism.frame(frame).link
        i = self.mechanism.link_number(link)
        key = f"payload:{link}"
        load = changed.links[i].inertia - self.mechanism.links[i].inertia + self._bound.get(key, 0.0)
        return self._derived(changed, {key: load})

    def with_tool(self, T_frame_tool: ArrayLike, frame: str | None = None) -> Self:
        """Return the robot with the frame `tool` at `T_frame_tool` in a frame. Changing it needs no rebuild."""
        changed = edit.with_tool(self.mechanism, T_frame_tool, frame)
        tool = changed.frame("tool")
        kept = {key: value for key, value in self._bound.items() if not key.startswith("tool:")}
        return self._derived(changed, {f"tool:{tool.link}": tool.T_link_frame}, kept)

    def with_gravity(self, gravity: ArrayLike) -> Self:
        """Return the robot under another gravitational acceleration (3,), m/s². Changing it needs no rebuild."""
        changed = edit.with_gravity(self.mechanism, gravity)
        return self._derived(changed, {"gravity": changed.gravity})

    def with_inertia(self, parameters: Mapping[str, object]) -> Self:
        """Return the robot with other inertial parameters (10,) of the named links. Changing them needs no
        rebuild."""
        changed = edit.with_inertia(self.mechanism, parameters)
        kept = {key: value for key, value in self._bound.items() if not key.startswith("payload:")}
        return self._derived(changed, {"inertia": np.stack([link.inertia for link in changed.links])}, kept)

    def with_base(self, kind: str) -> Self:
        """Return the robot on another base: "fixed", "free" or "trunk". See `base.with_base`."""
        return type(self)(base.with_base(self.mechanism, kind))

    def kernel(self, name: str, inputs: Sequence[str] = (), engine: str | None = None, **options: Any) -> Kernel:
        """Return the compiled kernel of a function, to call with other constants, to inspect or to export.

        Args:
            name: the function, for example "inverse_dynamics".
            inputs: constants of this robot that become inputs after q, v, a, each with its own batch axes:
                "gravity" (3,), "inertia" (n_links, 10), "geometry" (n_joints, 4, 4: every T_parent_joint), "tool"
                or "tool:LINK" (4, 4), "payload" or "payload:LINK" (10,) in the link's frame, added to the link's
                inertia.
            engine: "straight" for straight-line code, fastest for arms and humanoids; "loop" for a loop over
                bodies, whose code does not grow with the robot; the faster one for this robot if None.
            options: frame, frames, reference, joint_friction, external.
        """
        if not function_named(name).closed:
            refuse_loops(self.mechanism, name)
        check_parameters(self.mechanism, inputs)
        check_options(name, options)
        return programs.kernel(self.mechanism, name, inputs, engine, **options)

    # --- private

    def _derived(self, mechanism: Mechanism, new: Mapping[str, np.ndarray], kept: Mapping | None = None) -> Self:
        bound = dict(self._bound if kept is None else kept) | dict(new)
        return type(self)(mechanism, _nominal=self._nominal, _bound=bound)

    def _run(self, key: tuple, arrays: tuple, out: Any, external: ArrayLike | None = None) -> Any:
        """Call the compiled function of a key: its name and the values of its options, see `options_of`.

        External wrenches, if any, are an input after `arrays`. A call takes half a microsecond, so there are no
        checks.
        """
        if external is not None:
            key, arrays = (*key, True), (*arrays, external)
        try:
            call = self._calls[key]
        except KeyError:
            call = self._calls[key] = self._built(key)
        if type(arrays[0]) is not np.ndarray or type(arrays[-1]) is not np.ndarray:
            arrays = tuple(by_name(self.mechanism, array) for array in arrays)
        return call(*arrays) if out is None else call(*arrays, out=out)

    def _built(self, key: tuple) -> Callable[..., Any]:
        """Build the kernel of the nominal mechanism, and bind later changes as its last inputs."""
        function, options = function_named(key[0]), options_of(key)
        name = function.name
        if not function.closed:
            refuse_loops(self.mechanism, name)
        frames = options.get("frames", (options.get("frame"),) if "frame" in function.options else ())
        for frame in frames:
            self.mechanism.frame(frame)
        if "reference" in options:
            checked_reference(options["reference"])
        looped = programs.loop_kernel(self.mechanism, name, (), None, options)
        composed = programs.composed(self.mechanism, name, options)
        large = looped is not None or composed is not None
        if function.inverts and not (large and programs.is_regular(self.mechanism)):
            refuse_singular(self.mechanism)
        if composed is not None:
            return composed
        if looped is not None:  # its tables hold the changes: no robot of this structure is rebuilt
            self._kernels.append(looped)
            return looped.__call__
        used = function.depends_on
        bound = {key: value for key, value in self._bound.items() if key.partition(":")[0] in used}
        kernel = programs.kernel(self._nominal, name, tuple(bound), **options)
        self._kernels.append(kernel)
        if not bound:
            return kernel.__call__  # looked up faster than through the object
        values = [np.ascontiguousarray(value, dtype=float) for value in bound.values()]
        return lambda *arrays, **out: kernel(*arrays, *values, **out)

    def __getstate__(self) -> dict[str, Any]:
        # Kernels are rebuilt, or loaded from the cache, after unpickling.
        return {"mechanism": self.mechanism, "nominal": self._nominal, "bound": self._bound}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["mechanism"], _nominal=state["nominal"], _bound=state["bound"])  # type: ignore[misc]  (unpickled: nothing is there yet)

    def __repr__(self) -> str:
        joints = ", ".join(self.joint_names) or "none"
        return f"<{type(self).__name__} {self.name}: n_q = {self.n_q}, n_v = {self.n_v}, joints {joints}>"
