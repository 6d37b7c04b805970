"""A robot with closed loops in its independent velocities: `ClosedRobot`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy import ndarray
from numpy.typing import ArrayLike

from .algorithms.loop_rows import loop_parts
from .algorithms.projection import CLOSED, Division
from .algorithms.references import checked_reference
from .errors import ModelError, ZvenoError, unknown_name
from .function_methods import FunctionMethods
from .functions import check_options, check_parameters, function_named, options_of
from .kernels.compile import compiled
from .kernels.kernel import Kernel
from .kernels.program import Program
from .kernels.trace import trace
from .loops.functions import (
    STEPS,
    closed_evaluated,
    closed_outputs,
    closed_shapes,
    lifted,
    refuse_unknown,
    sound,
    with_closure,
)
from .loops.selection import Selection, selection
from .mechanism import Mechanism
from .mechanism.units import by_name, velocity_names
from .robot_functions import RobotFunctions
from .spatial.transforms import inverse

if TYPE_CHECKING:
    from .export import Export

Idle = Literal["locked", "free"]
EXPORTED_BY_DEFAULT = ("inverse_dynamics", "forward_dynamics", "gravity_torque")
WALK, STEP = 40, 0.15
"""Number of steps of a random walk along the branch, and their length in independent coordinates, rad or m."""
BEND = 0.3
"""Share of a step that its correction onto the loops may have, see contraction in Newton's method."""
ON_THE_SPOT = 1e-9
"""Speed of a point, m/s at 1 rad/s, below which it stays where it is."""


class ClosedRobot(FunctionMethods):
    """A robot with closed loops, its functions in independent velocities, compiled for batches.

    Functions take a closed configuration q (..., n_q) of the whole mechanism, and velocities v and accelerations a
    of the independent joints alone, (..., n_v). Torques `tau` are those of `torque_names`: all motors, then
    independent joints without a motor. With more motors than freedoms, `inverse_dynamics` returns the torques of
    least norm. All other forces, such as `gravity_torque`, `bias` and rows of `regressor`, are those along v. A
    state that is open or singular raises an error; `kernel` gives NaN for it.

    Attributes:
        robot: the robot with its loops.
        q: a closed configuration on the branch, (n_q,): the model's reference, or the one near `q0`.
        n_q: number of coordinates; n_v: number of independent velocities.
        velocity_names: names of the independent velocities.
        torque_names: names of the velocities on which a torque of `tau` acts.
        notes: what was chosen or locked.
    """

    def __init__(self, robot: RobotFunctions, q0: ArrayLike | None = None, *, idle: Idle = "locked"):
        """Choose independent velocities on the branch of a configuration.

        Args:
            robot: a robot with closed loops; its `mechanism.motors` are the driven joints.
            q0: a configuration near the intended branch; the model's reference if None, else neutral.
            idle: "locked": bodies that would only spin about the line of their two ends do not; "free": they do.
        """
        if idle not in ("locked", "free"):
            raise unknown_name("idle", idle, ("locked", "free"))
        mechanism = robot.mechanism
        self.robot: RobotFunctions = robot
        chosen = selection(mechanism, None if q0 is None else mechanism.checked_q(q0, "q0"))
        spinning = _spinning(robot, chosen) if idle == "locked" else ()
        self.division: Division = _division(chosen, spinning)
        if not self.division.independent:
            raise ModelError(
                "the loops leave no motion", element=robot.name, remedy="See zveno.loops.mobility(robot)"
            )
        self.q: np.ndarray = chosen.q
        names = velocity_names(mechanism)
        self.velocity_names: tuple[str, ...] = tuple(names[k] for k in self.division.independent)
        self.torque_names: tuple[str, ...] = tuple(names[k] for k in self.division.torques)
        notes = []
        if chosen.chosen:
            notes.append(f"the model names no motors; torques act on {', '.join(self.torque_names)}")
        if spinning:
            notes.append(f"idle, locked: {', '.join(names[k] for k in spinning)}")
        passive = [names[k] for k in self.division.independent if k not in self.division.driven]
        if passive:
            notes.append(
                f"no motor drives {', '.join(passive)}; their entries of tau must be zero in a free motion"
            )
        if self.division.surplus:
            notes.append("more motors than freedoms: torques of inverse_dynamics are those of least norm")
        self.notes: tuple[str, ...] = tuple(notes)
        self._calls: dict[tuple, Callable[..., Any]] = {}
        self._kernels: list[Kernel] = []

    @property
    def mechanism(self) -> Mechanism:
        """Mechanism with its loops."""
        return self.robot.mechanism

    @property
    def name(self) -> str:
        """Name of the robot."""
        return self.robot.name

    @property
    def n_q(self) -> int:
        """Number of coordinates."""
        return self.mechanism.n_q

    @property
    def n_v(self) -> int:
        """Number of independent velocities."""
        return len(self.division.independent)

    def neutral(self) -> np.ndarray:
        """Return the closed configuration `q`."""
        return np.array(self.q)

    def independent(self, v: ArrayLike) -> np.ndarray:
        """Return the independent ones (..., n_v) of all velocities or accelerations of the mechanism."""
        return np.asarray(v)[..., list(self.division.independent)]

    def velocities(self, q: ArrayLike, v: ArrayLike) -> np.ndarray:
        """Return the velocities of all joints for independent ones, as `robot.simulate` takes them."""
        result = self._lift(q, v)
        if not np.isfinite(result).all():
            self._explain((q, v), "velocities")
        return result

    def random(self, size: int | Sequence[int] = (), rng: np.random.Generator | int | None = None) -> np.ndarray:
        """Return random closed configurations on the branch of `q`, within limits: (..., n_q).

        Each ends a random walk of the independent joints, whose steps close the loops again. Steps that leave the
        limits, or that the loops bend too much to stay surely on the branch, are not taken. The distribution is not
        uniform.
        """
        rng = np.random.default_rng(rng)
        shape = tuple(np.atleast_1d(size)) if np.size(size) else ()
        states = np.tile(self.q, (int(np.prod(shape)), 1))
        lower, upper = np.minimum(self.mechanism.lower, self.q), np.maximum(self.mechanism.upper, self.q)
        move, branch = self.kernel("integrate"), self._sound(self.q)[2]
        for _ in range(WALK):
            v = STEP * rng.normal(size=(len(states), self.n_v))
            along, moved = self._lift(states, v), move(states, v)
            bend = self.robot.difference(self.robot.integrate(states, along), moved)
            straight = abs(bend).max(axis=-1) < BEND * abs(along).max(axis=-1)
            taken = (
                straight & (self._sound(moved)[2] == branch) & ((moved >= lower) & (moved <= upper)).all(axis=-1)
            )
            states = np.where(taken[:, None], moved, states)
        return states.reshape(*shape, self.n_q)

    def kernel(self, name: str, inputs: Sequence[str] = (), **options: Any) -> Kernel:
        """Return the compiled kernel of a function; see `Robot.kernel`. Its results are NaN at unsound states.

        Args:
            name: the function, for example "forward_dynamics".
            inputs: constants that become inputs: "gravity", "inertia", "payload".
            options: frame, frames, reference, joint_friction, external.
        """
        check_options(name, options)
        self._check_inputs(inputs)
        return self._kernel(self.mechanism, name, tuple(inputs), options)

    def export_c(
        self,
        functions: Sequence[str] | None = None,
        directory: str | PathLike[str] = ".",
        *,
        single: bool = False,
        frame: str | None = None,
        inputs: Sequence[str] = (),
        steps: int = STEPS,
        timed: bool = True,
        overwrite: bool = False,
    ) -> Export:
        """Export C sources of functions that close the loops themselves, by a fixed number of Newton steps.

        A function takes q near a closed configuration: the last one, with the measured motors put in. Besides its
        results it returns that configuration `q_closed`, and `left`: the largest |φ|, m or rad, which is infinite
        at a singular configuration. Results must not be used where `left` is too large.

        Args:
            functions: names of functions, by default inverse_dynamics, forward_dynamics and gravity_torque.
            directory, single, frame, inputs, timed, overwrite: as in `Robot.export_c`.
            steps: number of Newton steps; two are enough from 1 mrad away.
        """
        from .export import export_programs
        from .mechanism.plausibility import warn_without_masses

        names = EXPORTED_BY_DEFAULT if functions is None else functions
        if not names or steps < 0:
            raise ModelError(
                "needs functions to export, and steps of zero or more",
                element=self.name,
                remedy="Name functions, or give n_steps = 0 or more",
            )
        self._check_inputs(inputs)
        programs = [self._exported(name, frame, inputs, steps) for name in dict.fromkeys(names)]
        if any("inertia" in function_named(name).depends_on for name in names):
            warn_without_masses(self.mechanism, f"{', '.join(names)} in C gives")
        page = EXPORT_PAGE.format(
            velocities=", ".join(self.velocity_names), torques=", ".join(self.torque_names), steps=steps
        )
        pages = [Page(program, {"q": self.q}, page if k == 0 else "") for k, program in enumerate(programs)]
        return export_programs(self, programs, directory, None, pages, single=single, timed=timed, force=overwrite)

    def __repr__(self) -> str:
        return f"<ClosedRobot {self.name}: n_q = {self.n_q}, independent {', '.join(self.velocity_names)}>"

    # --- private

    def _exported(self, name: str, frame: str | None, inputs: Sequence[str], steps: int) -> Program:
        refuse_unknown(self.mechanism, self.division, name)
        function = function_named(name)
        options = {"frame": self.mechanism.frame(frame).name} if "frame" in function.options else {}
        used = tuple(key for key in inputs if key.partition(":")[0] in function.depends_on)
        shapes = closed_shapes(self.mechanism, self.division, name, used)
        constants = self.mechanism, self.division, name, used, tuple(options.items()), steps
        return trace(with_closure, shapes, name=name, constants=constants)

    def _check_inputs(self, inputs: Sequence[str]) -> None:
        check_parameters(self.mechanism, inputs)
        if "geometry" in inputs:
            raise ModelError(
                "geometry cannot be an input of a mechanism with closed loops",
                element="inputs",
                remedy="Other lengths close the loops at other angles: make another mechanism",
            )

    def _kernel(
        self, mechanism: Mechanism, name: str, inputs: tuple[str, ...], options: Mapping[str, Any]
    ) -> Kernel:
        refuse_unknown(mechanism, self.division, name)
        given = tuple(sorted((key, value) for key, value in options.items() if value not in (None, False)))
        return compiled(
            closed_evaluated,
            closed_shapes(mechanism, self.division, name, inputs, dict(given).get("external", False)),
            constants=(mechanism, self.division, name, inputs, given),
            name=name,
            outputs=closed_outputs(name),
        )

    def _run(self, key: tuple, arrays: tuple, out: Any, external: ArrayLike | None = None) -> Any:
        if external is not None:
            key, arrays = (*key, True), (*arrays, external)
        try:
            call = self._calls[key]
        except KeyError:
            call = self._calls[key] = self._built(key)
        q = arrays[0]
        if type(q) is not ndarray:
            q = np.asarray(by_name(self.mechanism, q), dtype=float)
            arrays = (q, *arrays[1:])
        result = call(*arrays) if out is None else call(*arrays, out=out)
        # All results of an unsound state are NaN, so that one number tells; sums are quicker than `isfinite`.
        first = result[0] if type(result) is tuple else result
        number = first.item(0) if q.ndim == 1 else np.add.reduce(first, axis=None)
        if number - number:
            self._explain(arrays, key[0])
        return result

    def _built(self, key: tuple) -> Callable[..., Any]:
        """Build the kernel of the nominal mechanism, with later changes of the robot as its last inputs."""
        name, options = key[0], options_of(key)
        refuse_unknown(self.mechanism, self.division, name)
        function = function_named(name)
        for frame in options.get("frames", (options.get("frame"),) if "frame" in function.options else ()):
            self.mechanism.frame(frame)
        if "reference" in options:
            checked_reference(options["reference"])
        kernel = self._kernel(self.mechanism, name, (), options)
        self._kernels.append(kernel)
        return kernel.__call__

    def _explain(self, arrays: Sequence[Any], name: str) -> None:
        """Raise an error that says why a result is not finite; return if an argument is not."""
        q, *others = (np.asarray(x, dtype=float) for x in arrays)
        regular, left, _ = self._sound(q)
        finite = np.isfinite(q).all(axis=-1)
        for fault, problem, remedy in (
            (
                ~(left < CLOSED),
                "the configuration is not closed: {left:.3g} m or rad are left",
                "Close it with zveno.loops.close(robot, motors)",
            ),
            (
                ~(regular > 0),
                "the configuration is singular: the motors do not determine the dependent joints",
                "Leave it, or use simulation.constrained_dynamics",
            ),
        ):
            states = np.argwhere(finite & fault)
            if len(states):
                index = tuple(int(k) for k in states[0])
                element = f"{name} of {self.name}" + (f", state {list(index)}" if index else "")
                raise ZvenoError(problem.format(left=float(left[index])), element=element, remedy=remedy)
        if finite.all() and all(np.isfinite(x).all() for x in others):
            problem = "the result is not finite: the mass matrix is singular, or numbers are too large"
            if name == "integrate":
                problem = "the loops do not close at the end of the motion: it is too long, or passes a singularity"
            raise ZvenoError(problem, element=f"{name} of {self.name}", remedy="Take smaller steps or other states")

    @cached_property
    def _sound(self) -> Kernel:
        return self._small(sound, {"q": (self.n_q,)})

    @cached_property
    def _lift(self) -> Kernel:
        return self._small(lifted, {"q": (self.n_q,), "v": (self.n_v,)})

    def _small(self, function: Callable[..., Any], inputs: dict[str, tuple[int, ...]]) -> Kernel:
        return compiled(function, inputs, constants=(self.mechanism, self.division))

    def __getstate__(self) -> dict[str, Any]:
        hidden = ("_calls", "_kernels", "_sound", "_lift")  # kernels are rebuilt, or loaded from the cache
        return {key: value for key, value in vars(self).items() if key not in hidden}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _calls={}, _kernels=[])


class Page(NamedTuple):
    """Text for the README of an exported program, and values of its inputs with which it is tried."""

    program: Program
    given: dict[str, Any]
    page: str


EXPORT_PAGE = """
The mechanism has closed loops. `q` is near a closed configuration, `q_closed` is that configuration after {steps}
Newton steps of the dependent joints, and `left` the largest remaining error of the loops in m or rad, infinite if
the configuration is singular. Do not use results where `left` is too large. `v` and `a` are those of {velocities};
`tau` acts on {torques}.
"""


def _division(chosen: Selection, locked: Sequence[int]) -> Division:
    motors = chosen.driven if chosen.chosen else chosen.mechanism.driven_velocities
    return Division(
        chosen.pivots,
        tuple(int(k) for k in chosen.free if k not in locked),
        tuple(int(k) for k in motors),
    )


def _spinning(robot: RobotFunctions, chosen: Selection) -> tuple[int, ...]:
    """Return idle velocities of loops that only turn bodies about the line of their two ends.

    The joints and the ends of loops on the bodies that move then stay where they are.
    """
    mechanism = robot.mechanism
    in_loops = {source.entry for part in loop_parts(mechanism) for source in part.v}
    spinning = []
    whole = _division(chosen, ())
    lift = compiled(
        lifted, {"q": (mechanism.n_q,), "v": (len(whole.independent),)}, constants=(mechanism, whole), name="lifted"
    )
    for k in chosen.idle:
        if int(k) not in in_loops:
            continue
        unit = np.zeros(len(whole.independent))
        unit[whole.independent.index(int(k))] = 1.0
        v = lift(chosen.states, unit)
        v = v[np.isfinite(v).all(axis=-1)]
        twists = robot.kernel("link_velocities")(chosen.states[: len(v)], v)
        speeds = [np.zeros(1)]
        for i, _, joint in mechanism.outward():
            speeds.append(_speed(twists[:, i], inverse(joint.T_joint_child)[:3, 3]))
        for loop in mechanism.loops:
            for frame in map(mechanism.frame, (loop.frame, loop.other)):
                speeds.append(_speed(twists[:, mechanism.link_number(frame.link)], frame.T_link_frame[:3, 3]))
        if np.concatenate(speeds).max() < ON_THE_SPOT * max(1.0, abs(v).max(initial=0.0)):
            spinning.append(int(k))
    return tuple(spinning)


def _speed(twist: np.ndarray, point: np.ndarray) -> np.ndarray:
    """Return the speed of a point of a link for twists (k, 6) in the link's axes."""
    return np.linalg.norm(twist[:, :3] + np.cross(twist[:, 3:], point), axis=-1)
