"""The robot users hold: its compiled functions, and every task as a method beside the function of `zveno`.

This is the one module that may use every task. Each is imported where it is called: a robot is loaded quickly.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from .robot_functions import RobotFunctions

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    # isort: off
    # fmt: off
    from . import (  # the public names, as type checkers read them
        BaseParameters, Calibration, Campaign, Clearance, Constrained, Constraint, Control, DriveModel, Event,
        Excitation, Export, Identifiability, Identification, JointPath, Log, Loop, Measurement, Plan, PoseCurve,
        Result, Solutions, Studio, Tolerance, Trajectory, VelocityIk, Visibility,
    )
    # fmt: on
    # isort: on
    from .design.excitation.limits import Bound
    from .identification.model import TorqueFunction
    from .ik.whole_body.tasks import Task
    from .progress import Progress
    from .scale.fold import On


def load(name_or_path: str | PathLike[str] | Any, *, snap: bool | None = None, format: str | None = None) -> Robot:
    """A robot from a built-in name, a file, a product of elementary transforms, or a model of another library.

    Args:
        name_or_path: a built-in such as "puma560"; a path to a .urdf, .xacro, .xml (MJCF or URDF), .toml (DH table)
            or .ets (elementary transforms) file; elementary transforms as text, "Rz(q1) Tx(0.3) Rz(q2)"; a name of
            the package robot_descriptions, "panda_description"; or an open `pinocchio.Model` or `mujoco.MjModel`.
        snap: whether angles that were meant to be exact (1.5708) are made so; by default only tables typed by hand
            are, and others are reported in the mechanism's notes.
        format: "urdf", "xacro", "mjcf", "dh" or "elementary" where the suffix does not say.
    """
    from .io.load import load_mechanism

    return Robot(load_mechanism(name_or_path, snap=snap, format=format))


_ik_solve: Any = cache(lambda: import_module("zveno.ik.solve"))
"""An `import` in a method takes half as long as solving one pose."""


class Robot(RobotFunctions):
    """A mechanism with its compiled functions and the tasks that can be done with it.

    Every compiled function takes arrays with any leading batch axes, (..., n_q), and `out=`; one state is a batch
    (). Tasks are thin methods: `robot.ik(T)` is `zveno.solve_ik(robot, T)`. A robot is immutable; `with_…` methods
    return another one.
    """

    # The arguments are those of the functions, where they are described.
    # fmt: off
    def ik(
        self, T_world_tool: ArrayLike | Mapping[str, Any], frame: str | None = None, relative_to: str | None = None,
        limits: Any = True, task: Any = "pose", method: str = "auto", *, windings: bool = False,
        start: ArrayLike | None = None, slices: int | None = None, redundant: str | Sequence[str] | None = None,
        objective: str = "squares",
        tolerance: Tolerance | tuple[float, float] | Mapping[str, tuple[float, float]] | None = None,
        percent: float | None = None, held: ArrayLike | None = None, center_of_mass: ArrayLike | None = None,
        accept: Callable[[np.ndarray], np.ndarray] | Clearance | None = None, seconds: float | None = None,
        on: On = None, checkpoint: str | PathLike[str] | None = None, progress: Progress = None
    ) -> Solutions:
        """All configurations that put a frame where it is asked for; see `zveno.solve_ik`."""
        plain = method == "auto" and not windings and objective == "squares" and (start is slices is redundant
            is tolerance is percent is held is center_of_mass is accept is seconds is on is checkpoint is None)
        asked = self, T_world_tool, frame, relative_to, limits, task  # to hand on all takes a sixth of the time
        answer = _ik_solve().one_natively(*asked) if plain else None
        return answer if answer is not None else _ik_solve().solve_ik(
            *asked, method, windings=windings, start=start, slices=slices, redundant=redundant, objective=objective,
            tolerance=tolerance, percent=percent, held=held, center_of_mass=center_of_mass, accept=accept,
            seconds=seconds, on=on, checkpoint=checkpoint, progress=progress
        )

    def ik_path(
        self, poses: ArrayLike | PoseCurve | Callable[[float], np.ndarray], times: ArrayLike | None = None,
        frame: str | None = None, relative_to: str | None = None, limits: Any = True, task: Any = "pose",
        method: str = "auto", *, start: ArrayLike | None = None, slices: int | None = None,
        accept: Callable[[np.ndarray], np.ndarray] | Clearance | None = None,
        velocity: ArrayLike | bool | None = None, acceleration: ArrayLike | None = None,
        progress: Progress = None
    ) -> JointPath:
        """Joint motion along a path of poses; see `zveno.solve_path`."""
        from .ik.paths.solve_path import solve_path

        return solve_path(
            self, poses, times, frame, relative_to, limits, task, method, start=start, slices=slices,
            accept=accept, velocity=velocity, acceleration=acceleration, progress=progress
        )

    def velocity_ik(
        self, tasks: Sequence[Task], dt: float, *, limits: Any = True, velocity: ArrayLike | bool = True,
        acceleration: ArrayLike | None = None, limit_gain: float = 0.5, clearance: Clearance | None = None,
        margin: float = 0.0, clearance_gain: float = 0.2, support: ArrayLike | None = None, damping: float = 1e-6
    ) -> VelocityIk:
        """Joint velocities that serve several tasks within limits; see `zveno.velocity_ik`."""
        from .ik.whole_body.velocity_ik import velocity_ik

        return velocity_ik(
            self, tasks, dt, limits=limits, velocity=velocity, acceleration=acceleration, limit_gain=limit_gain,
            clearance=clearance, margin=margin, clearance_gain=clearance_gain, support=support, damping=damping
        )

    def simulate(
        self, q0: ArrayLike, v0: ArrayLike | None = None, duration: float = 1.0, *,
        control: Control | Callable[..., ArrayLike] | ArrayLike | None = None,
        constraints: Sequence[Constraint] = (), integrator: str | None = None, step: float = 1e-3,
        rtol: float = 1e-6, atol: float | None = None, sample: float | None = None,
        drive: DriveModel | None = None, tau0: ArrayLike | None = None, friction: bool = False,
        limits: bool = False, events: Sequence[Event] = (),
        moving_base: Callable[[float], np.ndarray] | None = None, stabilization: float = 20.0,
        projection: bool = False, max_projection: float = 0.1, max_step: float = np.inf,
        progress: Progress = None, on: On = None, checkpoint: str | PathLike[str] | None = None
    ) -> Trajectory:
        """The motion from a state, or from a batch of states; see `zveno.simulate`."""
        from .simulation.simulate import simulate

        return simulate(
            self, q0, v0, duration, control=control, constraints=constraints, integrator=integrator, step=step,
            rtol=rtol, atol=atol, sample=sample, drive=drive, tau0=tau0, friction=friction, limits=limits,
            events=events, moving_base=moving_base, stabilization=stabilization, projection=projection,
            max_projection=max_projection, max_step=max_step, progress=progress, on=on, checkpoint=checkpoint
        )

    def constrained_dynamics(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, constraints: Sequence[Constraint], *, t: float = 0.0,
        stabilization: float = 0.0, friction: bool = False
    ) -> Constrained:
        """Accelerations and reactions under constraints that all act; see `zveno.constrained_dynamics`."""
        from .simulation.dynamics import constrained_dynamics

        return constrained_dynamics(
            self, q, v, tau, constraints, t=t, stabilization=stabilization, friction=friction
        )

    def base_parameters(
        self, gravity: ArrayLike | None = None, drives: bool | Sequence[str] | None = False, *,
        view: str = "inertia", massless: Sequence[str] | None = None, loops: Sequence[Loop] | None = None,
        start: ArrayLike | None = None, exact: bool | None = None
    ) -> BaseParameters:
        """The smallest set of parameters that decides the dynamics; see `zveno.base_parameters`."""
        from .base_parameters.analyse import base_parameters

        return base_parameters(
            self, gravity, drives, view=view, massless=massless, loops=loops, start=start, exact=exact
        )

    def identifiability(
        self, measurement: Measurement | str = "pose", *, strategy: str = "JL",
        parameters: str | Sequence[str] = "all", joint_terms: Sequence[str] = (), postures: int | None = None,
        rng: np.random.Generator | int | None = 0
    ) -> Identifiability:
        """Geometric parameters that a kind of measurement can find; see `zveno.identifiability`."""
        from .calibration.identifiability.analysis import identifiability

        return identifiability(
            self, measurement, strategy=strategy, parameters=parameters, joint_terms=joint_terms, postures=postures,
            rng=rng
        )

    def calibrate(
        self, data: Campaign | Sequence[Campaign], *, parameters: str | Sequence[str] = "all",
        joint_terms: str | Sequence[str] = "auto", strategy: str | None = None, fixed: Sequence[str] = (),
        priors: Mapping[str, float] | None = None, bounds: Mapping[str, tuple[float, float]] | None = None,
        plausible: tuple[float, float] | str | None = "estimated", loss: str = "auto", linear: bool = False,
        events: str = "named", folds: int = 10, rng: np.random.Generator | int | None = 0, progress: Progress = None
    ) -> Calibration:
        """The geometry that explains measurements; see `zveno.calibrate`."""
        from .calibration.estimate import calibrate

        return calibrate(
            self, data, parameters=parameters, joint_terms=joint_terms, strategy=strategy, fixed=fixed,
            priors=priors, bounds=bounds, plausible=plausible, loss=loss, linear=linear, events=events,
            folds=folds, rng=rng, progress=progress
        )

    def identify(
        self, logs: Log | Sequence[Log], *, validation: Log | Sequence[Log] | None = None,
        friction: str | Sequence[str] = "auto", torques: Mapping[str, TorqueFunction] | None = None,
        prior: str = "cad", band: float | None = None, delay: float | None = None, velocity: str = "auto",
        rest: float | None = None, blocks: int = 6, on: On = None,
        checkpoint: str | PathLike[str] | None = None, progress: Progress = None
    ) -> Identification:
        """The dynamics that explain recorded torques; see `zveno.identify`."""
        from .identification.identify import identify

        return identify(
            self, logs, validation=validation, friction=friction, torques=torques, prior=prior, band=band,
            delay=delay, velocity=velocity, rest=rest, blocks=blocks, on=on, checkpoint=checkpoint,
            progress=progress
        )

    def plan_poses(
        self, measurement: Measurement | str = "pose", n: int = 30, criterion: str = "D", *, have: Any = None,
        candidates: int | np.ndarray = 5000, parameters: str | Sequence[str] = "all", strategy: str = "JL",
        joint_terms: Sequence[str] = (), limits: Mapping[str, tuple[float, float]] | None = None,
        margin: float = 0.0, box: ArrayLike | None = None,
        visibility: Visibility | Sequence[Visibility] | None = None,
        clearance: Clearance | str | None = "standard", places: int | None = None, repeats: bool = True,
        refine: bool = True, order: bool = True, start: ArrayLike | None = None,
        workspace: ArrayLike | None = None, rng: np.random.Generator | int | None = 0, starts: int = 1,
        on: On = None, checkpoint: str | PathLike[str] | None = None, progress: Progress = None
    ) -> Plan:
        """The postures whose measurements determine the geometry best; see `zveno.plan_poses`."""
        from .design.poses import plan_poses

        return plan_poses(
            self, measurement, n, criterion, have=have, candidates=candidates, parameters=parameters,
            strategy=strategy, joint_terms=joint_terms, limits=limits, margin=margin, box=box,
            visibility=visibility, clearance=clearance, places=places, repeats=repeats, refine=refine,
            order=order, start=start, workspace=workspace, rng=rng, starts=starts, on=on, checkpoint=checkpoint,
            progress=progress
        )

    def plan_excitation(
        self, duration: float = 10.0, *, basis: str = "fourier", harmonics: int | None = None,
        points: int | None = None, ends: str = "rest", start: ArrayLike | None = None, criterion: str = "D",
        drives: bool | Sequence[str] = True, payload: str | None = None, have: Any = None,
        hold: Mapping[str, float] | Sequence[str] = (), limits: Mapping[str, tuple[float, float]] | None = None,
        margin: float = 0.02, velocity: Bound = None, acceleration: Bound = None, jerk: Bound = None,
        torque: Bound = None, torque_margin: float = 0.1, clearance: Clearance | None = None,
        torque_sigma: ArrayLike = 1.0, rate: float = 100.0, starts: int = 6, draws: int = 256,
        seconds: float | None = None, rng: np.random.Generator | int | None = 0, progress: Progress = None
    ) -> Excitation:
        """The motion whose torques determine the dynamic parameters best; see `zveno.plan_excitation`."""
        from .design.excitation.plan_excitation import plan_excitation

        return plan_excitation(
            self, duration, basis=basis, harmonics=harmonics, points=points, ends=ends, start=start,
            criterion=criterion, drives=drives, payload=payload, have=have, hold=hold, limits=limits,
            margin=margin, velocity=velocity, acceleration=acceleration, jerk=jerk, torque=torque,
            torque_margin=torque_margin, clearance=clearance, torque_sigma=torque_sigma, rate=rate,
            starts=starts, draws=draws, seconds=seconds, rng=rng, progress=progress
        )

    def joint_path(
        self, q0: ArrayLike, q1: ArrayLike, *, velocity: Bound = None, acceleration: Bound = None,
        jerk: Bound = None, straight: bool = False, rate: float = 1000.0
    ) -> Trajectory:
        """The quickest motion from rest at q0 to rest at q1 within limits; see `zveno.joint_path`."""
        from .design.joint_path import joint_path

        return joint_path(
            self, q0, q1, velocity=velocity, acceleration=acceleration, jerk=jerk, straight=straight, rate=rate
        )

    def export_c(
        self, functions: Sequence[str] | None = None, directory: str | PathLike[str] = ".", *,
        single: bool = False, frame: str | None = None, parameters: Sequence[str] = (),
        redundant: str | None = None, timed: bool = True, force: bool = False
    ) -> Export:
        """C sources of the compiled functions; see `zveno.export_c`."""
        from .export import export_c

        return export_c(
            self, functions, directory, single=single, frame=frame, parameters=parameters, redundant=redundant,
            timed=timed, force=force
        )
    def base_regressor(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, *, drives: bool | Sequence[str] | None = None,
        out: np.ndarray | None = None
    ) -> np.ndarray:
        """W (..., n_v, r) with one column for each base parameter p̃ of the tree; W p̃ are joint torques.

        Args:
            q, v, a: (..., n_q), (..., n_v), (..., n_v).
            drives: which drive parameters have columns beside the links', as in `base_parameters`, whose `values`
                and `project` give the p̃ for the same `drives`. None: torques of `inverse_dynamics`, rotors
                included; True: those with friction and offsets, all columns that identification asks for; False:
                the links alone.
            out: where the result is written.

        Loops are open, as in `inverse_dynamics`.
        """
        from .base_parameters.regressor import tree_kernel

        kinds = drives if drives is None or isinstance(drives, bool) else tuple(drives)
        return tree_kernel(self.mechanism, kinds)(q, v, a, out=out)

    def with_deviations(
        self, values: Mapping[str, float], frame: str | None = None, *, frames: Sequence[str | None] = ()
    ) -> Robot:
        """The robot whose geometric parameters deviate from nominal, m and rad: a true robot to simulate.

        Args:
            values: deviations by the names that `identifiability` and `calibrate` use, "Tx1" or "Rzq2".
            frame: the frame up to which the chain is described; the default frame if not given.
            frames: several instead, those of a measurement that looks at more than one.
        """
        from .calibration.model.models import redundant_model
        from .calibration.use.output import calibrated_mechanism
        model = redundant_model(self.mechanism, tuple(frames) or frame)
        deviations = np.zeros(len(model.terms))
        for name, value in values.items():
            model.term(name)  # an unknown one is refused with the nearest
            deviations[model.numbers[name]] = value
        return Robot(calibrated_mechanism(model, deviations))

    def studio(
        self, results: Result | Sequence[Result] = (), *, frame: str | None = None, host: str = "127.0.0.1",
        port: int = 0
    ) -> Studio:
        """The robot, and results about it, in the browser; see `zveno.open_studio`."""
        from .studio.studio import open_studio

        return open_studio(self, results, frame=frame, host=host, port=port)

    def write(self, path: str | PathLike[str]) -> Path:
        """Write the model as .urdf, .toml (Denavit–Hartenberg table) or .ets (elementary transforms)."""
        from .io.write import write_model

        return write_model(self.mechanism, path)

    def plot(
        self, path: str | PathLike[str], q: ArrayLike | None = None, *, frames: Sequence[str] = (),
        caption: str | None = None
    ) -> Path:
        """Draw the robot at q (neutral if not given) as .png or .svg, the picture `path`.

        Args:
            q: (n_q,), or (k, n_q) for a motion: the last posture, pale ones before it, and the way of the frame.
            frames: frames shown as red, green and blue axes; of a motion, the first is the one whose way is drawn.
            caption: a line of text; the robot's name if not given.
        """
        from .report.pictures.mechanism import draw_mechanism
        from .report.pictures.motion import draw_motion

        if q is not None and np.ndim(q) == 2:
            way_of = frames[0] if frames else None
            return draw_motion(self.mechanism, np.asarray(q, dtype=float), path, frame=way_of, caption=caption)
        return draw_mechanism(self.mechanism, path, q, frames=frames, caption=caption)
    # fmt: on
