"""Class `Robot`: compiled functions, and one method per task function of `zveno`.

This is the only module that may depend on every task. Tasks are imported on first use, so that loading is fast.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from .robot_functions import RobotFunctions

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from concurrent.futures import Executor
    from pathlib import Path

    from .base_parameters import BaseParameters
    from .calibration import Calibration, CalibrationModel, Dataset
    from .clearance import Clearance
    from .export import Export
    from .identification import Identification, Log
    from .identification.model import TorqueFunction
    from .ik import JointPath, PosePath, Solutions, Tolerance
    from .ik.solve import Method
    from .ik.task import PoseTask
    from .mechanism import Loop
    from .progress import Progress
    from .simulation import DOP853, RK4, Constraint, Contact, Control, DriveModel, Event, TimeStepping, Trajectory


def load(name_or_path: str | PathLike[str] | Any, *, snap: bool | None = None, format: str | None = None) -> Robot:
    """Load a robot from a built-in name, a file, elementary transforms, or a model of another library.

    Args:
        name_or_path: a built-in such as "puma560"; a path to a .urdf, .xacro, .xml (MJCF or URDF), .toml (DH table)
            or .ets (elementary transforms) file, or .yaml (loops and motors of the URDF beside it); elementary
            transforms as text, "Rz(q1) Tx(0.3) Rz(q2)"; a name in the package robot_descriptions,
            "panda_description"; or a `pinocchio.Model` or `mujoco.MjModel`.
        snap: if True, replace rounded angles such as 1.5708 by the exact multiple of 15°. By default only
            hand-typed tables are snapped; for other files such angles are listed in the mechanism's notes.
        format: "urdf", "xacro", "mjcf", "dh", "elementary" or "gepetto"; needed only if the suffix is ambiguous.
    """
    from .io.load import load_mechanism

    return Robot(load_mechanism(name_or_path, snap=snap, format=format))


_ik_solve: Any = cache(lambda: import_module("zveno.ik.solve"))
"""Cached import: an `import` statement in the method would take half as long as solving one pose."""


class Robot(RobotFunctions):
    """A mechanism with its compiled functions and task methods.

    Every compiled function takes arrays with any leading batch axes, (..., n_q), and `out=`; a single state has
    the batch shape (). A robot is immutable; `with_…` methods return a modified copy.
    """

    # fmt: off
    def ik(
        self, target: ArrayLike, frame: str | None = None, *, relative_to: str | None = None, limits: Any = True,
        task: PoseTask | ArrayLike = "pose", fixed: ArrayLike | Mapping[str, float] | None = None,
        samples: int | None = None, redundant_joint: str | None = None, tolerance: Tolerance | None = None,
        method: Method = "auto", timeout: float | None = None, executor: Executor | None = None,
        progress: Progress = None
    ) -> Solutions:
        """Find all configurations that reach a target pose.

        One solution near a configuration is found by `zveno.ik.local`, and configurations that serve several frames
        by `zveno.ik.whole_body`. `Solutions` have `where`, `windings`, `within`, `nearest_to` and `sorted_by`.

        Args:
            target: poses (..., 4, 4) of the frame; points (..., 3) for task "position".
            frame: the frame to be placed; the default one if not given.
            relative_to: the frame in which the poses are given; the world if not given.
            limits: True for the model's, False for none; {joint: (lower, upper)} or (lower, upper) narrow the
                model's.
            task: "pose", "position", "position+axis" (the frame's z axis), "rotation", or six zeros and ones: x, y,
                z and rotation about x, y, z in the target's axes.
            fixed: joints outside the chain, as {joint: value} or q; neutral, or as in closed loops' reference, if
                not given.
            samples: for redundant robots, number of values of the redundant joint at which to solve; number of
                random seeds where several joints are redundant. If not given, self-motions of seven revolute joints
                are followed to their ends, and other robots are sampled at 16.
            redundant_joint: name of that joint, where one is redundant. If not given, the one that moves most in
                self-motions, or the one whose slices have a closed form.
            tolerance: list every local nearest configuration inside this region about the pose.
            method: "auto"; a solver by name, see `METHODS`; or "certified": all with a proof, pose by pose, for six
                revolute joints (seven with one held by its limits, five for "position+axis"); poses may then be
                texts of elementary transforms, "Tx(0.4) Ry(90deg)".
            timeout: time after which the answer is what is known by then: what is not finished, or not looked at,
                is undecided and says so. Steps are short, but kernels that must first be compiled are waited for.
            executor: workers that share the poses of a batch: any `concurrent.futures.Executor`. This process if
                None.
            progress: for executors, large batches, and self-motions of many poses: whether a bar is shown, by
                default on a terminal after a second; or a function of (done, total).

        Solutions of a pose are ordered by their first coordinate, then by a fixed function of all, whatever batch
        they were solved in. Solutions that differ by whole turns count as one. Large batches are solved in parts.
        An argument that the method does not use is refused.

        Closed loops that the frame's chain moves are closed in every solution, with all their modes, and limits of
        all their joints count. What the pose does not determine stays as in `fixed`, else at the closed reference.
        """
        plain = method == "auto" and (
            samples is redundant_joint is tolerance is fixed is timeout is executor is None)
        # Passing every argument on would take a sixth of the total time.
        answer = _ik_solve().one_natively(self, target, frame, relative_to, limits, task) if plain else None
        return answer if answer is not None else _ik_solve().solve_ik(
            self, target, frame, relative_to=relative_to, limits=limits, task=task, fixed=fixed, samples=samples,
            redundant_joint=redundant_joint, tolerance=tolerance, method=method, timeout=timeout, executor=executor,
            progress=progress
        )

    def ik_path(
        self, poses: ArrayLike | PosePath | Callable[[float], np.ndarray], times: ArrayLike | None = None,
        frame: str | None = None, relative_to: str | None = None, limits: Any = True, task: Any = "pose",
        method: str = "auto", *, q0: ArrayLike | None = None, samples: int | None = None,
        where: Callable[[np.ndarray], np.ndarray] | Clearance | None = None,
        velocity: ArrayLike | bool | None = None, acceleration: ArrayLike | None = None,
        progress: Progress = None
    ) -> JointPath:
        """Find a joint motion along a path of poses.

        All solutions of all poses are followed to the next pose by integrating q̇ = J⁻¹V with correction; those
        that such a motion joins form strands. Of all ways through the strands, the one with the fewest jumps is
        chosen, then the one with the smallest, then the one with the least sum of squared joint steps. Redundant
        arms choose among slices of their self-motions first and are then made smooth between the slices.

        Args:
            poses: (N, 4, 4); a curve of `PosePath`; or a function of time T(t), then `times` (N,) says where it is
                evaluated.
            times: for a function.
            frame, relative_to, limits, task, method: as for `Robot.ik`.
            q0: q (n_q,) the sequence should begin near. Without it, joints that may turn more than once begin
                nearest to the middle of their limits.
            samples: for redundant robots, at how many values of the redundant joint to solve, as in `Robot.ik`.
            where: (s, n_q) → (s,) booleans: which configurations may be used, for example those free of collisions;
                or a `Clearance` that they must keep at the poses.
            velocity: largest joint velocities, (n_q,) or one number; True for the model's. With this or
                `acceleration`, `JointPath.times` says when each pose can be passed; a jump takes the time from rest
                to rest.
            acceleration: largest joint accelerations, (n_q,) or one number.
            progress: whether a bar is shown, by default on a terminal; or a function of (done, total).
        """
        from .ik.paths.solve_path import solve_path

        return solve_path(
            self, poses, times, frame, relative_to, limits, task, method, q0=q0, samples=samples,
            where=where, velocity=velocity, acceleration=acceleration, progress=progress
        )

    def simulate(
        self, q0: ArrayLike, v0: ArrayLike | None = None, duration: float = 1.0, *,
        control: Control | Callable[..., ArrayLike] | ArrayLike | None = None,
        constraints: Sequence[Constraint | Contact | Loop] = (),
        integrator: RK4 | DOP853 | TimeStepping | None = None, sample_time: float | None = None,
        drive: DriveModel | None = None, tau0: ArrayLike | None = None, joint_friction: bool = False,
        joint_limits: bool = False, events: Sequence[Event] = (),
        base_motion: Callable[[float], np.ndarray] | None = None, stabilization: float = 20.0,
        projection: bool = False, executor: Executor | None = None, progress: Progress = None
    ) -> Trajectory:
        """Simulate the motion from one initial state or a batch of them.

        Args:
            q0, v0: (n_q,) and (n_v,) (at rest if None), or (..., n_q) and (..., n_v) for a batch: RK4 and
                TimeStepping only.
            duration: s.
            control: a controller of `zveno.simulation` (PD, ComputedTorque, Recorded, Traced, …), a function of
                (t, q, v) that returns torques, constant torques (n_v,), or None for none.
            constraints: constraints and contacts of `zveno.simulation`; a `Loop` closes one more loop.
            integrator: `DOP853(rtol)` with adaptive steps, `RK4(step)` with fixed ones, or `TimeStepping(step)`
                through contacts that close, slide and open. By default TimeStepping if there are contacts or
                limits, else DOP853 for one state and RK4 for a batch.
            sample_time: s between the samples kept; every fixed step, or 1/1000 of the duration with DOP853. The
                last sample is at the end of the run, whether or not `sample_time` divides the duration.
            drive: drives between control and joints: ServoDrive, HydraulicDrive.
            tau0: torques of the drives at the start, (n_v,) or a batch; zero if None. A run that goes on from
                another one takes the last of its `tau`.
            joint_friction: whether the drives' friction acts (smoothed around v = 0).
            joint_limits: whether joints stop at their limits; with time stepping only.
            events: functions whose zeros are found and reported; terminal ones end the run, of a batch each run at
                its own time. Those of a batch should be traced: others are called for every step of every run. Time
                stepping finds none.
            base_motion: T_world_base (4, 4) as a function of time that can be traced: link 0 moves so. Constraints
                and energies are then those seen from the base. Not with time stepping.
            stabilization: rate k, 1/s, at which a violation dies out: φ̈ + 2k φ̇ + k² φ = 0 (Baumgarte 1972). At
                most half of 1/step is used. 0 for none.
            projection: whether the state of a single run is also put back onto the constraints after every step
                (RK4 and DOP853).
            executor: workers that share the states of a batch: any `concurrent.futures.Executor`. This process if
                None.
            progress: whether a bar is shown, by default on a terminal for runs of more than a second; or a function
                of (done, total).

        Returns:
            The trajectory; its status says whether the run finished, or what stopped it and when.
        """
        from .simulation.simulate import simulate

        return simulate(
            self, q0, v0, duration, control=control, constraints=constraints, integrator=integrator,
            sample_time=sample_time, drive=drive, tau0=tau0,
            joint_friction=joint_friction, joint_limits=joint_limits, events=events, base_motion=base_motion,
            stabilization=stabilization, projection=projection, executor=executor, progress=progress
        )

    def base_parameters(
        self, gravity: ArrayLike | None = None, drives: bool | Sequence[str] | None = False, *,
        view: str = "inertia", massless: Sequence[str] | None = None, loops: Sequence[Loop] | None = None,
        q0: ArrayLike | None = None, exact: bool | None = None
    ) -> BaseParameters:
        """Find the minimal set of parameters that determines the dynamics.

        Args:
            gravity: (3,) acceleration of free fall, the robot's own if not given; zeros for none.
            drives: drive parameters that are counted. False: none, as in the literature. True: rotor inertia,
                viscous and Coulomb friction and offset of every joint with one coordinate, and of joints with
                several if the model gives them a drive. A sequence: some of "rotor", "viscous", "coulomb",
                "offset", and "coupling" for motors that move two joints. None: those of
                `robot.inverse_dynamics`, which are the rotor inertias of the model.
            view: choice of the link parameters: "inertia", "pseudo" (document 000) or "center".
            massless: names of links without inertia; by default those whose inertia is explicitly zero.
            loops: closed loops, by default those of the mechanism; () leaves them open.
            q0: a state on the intended branch of the loops; neutral if not given.
            exact: True requires exact arithmetic, False avoids it. By default it is used if the constants have
                exact values (angles that are multiples of 15°) and python-flint is installed.
        """
        from .base_parameters.analyse import base_parameters

        return base_parameters(
            self, gravity, drives, view=view, massless=massless, loops=loops, q0=q0, exact=exact
        )

    def calibrate(
        self, data: Dataset | Sequence[Dataset], *, model: CalibrationModel | None = None,
        prior: Literal["estimated"] | Mapping[str, float] | None = "estimated",
        bounds: Mapping[str, tuple[float, float]] | None = None, loss: str = "auto", folds: int = 10,
        rng: np.random.Generator | int | None = 0, progress: Progress = None
    ) -> Calibration:
        """Fit the geometric parameters to measurements.

        The complete irreducible model is fitted by Levenberg–Marquardt with all unknown frames and targets.
        Standard deviations that a measurement does not give are estimated, each kind by its own.

        Args:
            data: one or several data sets, all explained by the same robot.
            model: `zveno.calibration.CalibrationModel` with the parameters that may deviate; all of them if None.
            prior: standard deviation of the parameters about nominal before anything is measured. It matters for
                those that the data hardly determine. "estimated": links, joint offsets and joint terms each by what
                the data suggest. A mapping of names or patterns to m or rad replaces that of some parameters. None
                for no prior, and for no joint terms but those requested by name.
            bounds: name or pattern → (lower, upper) deviation from nominal; −inf and inf for none. The fit is the
                best inside them; `at_bounds` says which hold.
            loss: "auto" fits least squares to all rows but those that clearly do not belong, which are named;
                "none" to all rows.
            folds: into how many parts postures are dealt for held-out errors, and for the factor by which they make
                the covariance of predictions larger; 0 for neither.
            rng: generator or seed of the dealing.
            progress: whether a bar is shown, by default on a terminal; or a function of (done, total).
        """
        from .calibration.calibrate import calibrate

        return calibrate(
            self, data, model=model, prior=prior, bounds=bounds, loss=loss, folds=folds, rng=rng,
            progress=progress
        )

    def identify(
        self, logs: Log | Sequence[Log], *, validation: Log | Sequence[Log] | None = None,
        friction_terms: str | Sequence[str] = "auto", extra_columns: Mapping[str, TorqueFunction] | None = None,
        prior: str = "cad", band: float | None = None, delay: float | None = None, velocity: str = "auto",
        rest_speed: float | None = None, folds: int = 6, executor: Executor | None = None,
        progress: Progress = None
    ) -> Identification:
        """Fit the dynamic parameters to recorded torques.

        Torques and all columns of the linear model pass the same symmetric low-pass filter and are decimated; rows
        in which a joint rests are left out for it. Least squares weigh every joint by its own residual; the result
        is the physically consistent estimate near it. Everything that is chosen is judged by contiguous blocks of
        time, or logs, that were not fitted.

        Args:
            logs: one or several recordings of the same joints (`zveno.identification.read_log`).
            validation: logs that are only predicted; without them, blocks of `logs` are held out in turn.
            friction_terms: "auto": viscous, Coulomb, |v|^⅓ and load-dependent friction of every joint, and more
                where held-out blocks gain more than 5 % by it; "default": without more; "basic": viscous and
                Coulomb; "none"; or terms.
            extra_columns: further columns by name, such as a spring: functions of (q, v, a), each (m, n), that
                return the torques (m, n) of a parameter of 1.
            prior: bodies that links are drawn toward where data say nothing: "cad" (the model's), "geometry" (solid
                bars along the links), "none".
            band: Hz; torques are fitted up to there. From the spectrum of the motion by default.
            delay: s by which torques are recorded after positions; found by default.
            velocity: "auto" takes recorded velocities where they are not late; "positions" differentiates
                positions; "recorded".
            rest_speed: rad/s or m/s; slower rows of a joint are left out. 2 % of its large velocities by default.
            folds: number of contiguous blocks.
            executor: workers that share the logs, one log at a time: any `concurrent.futures.Executor`; this
                process if None. The result has the same bits for any.
            progress: whether a bar is shown, or a function of (done, total).
        """
        from .identification.identify import identify

        return identify(
            self, logs, validation=validation, friction_terms=friction_terms, extra_columns=extra_columns,
            prior=prior, band=band, delay=delay, velocity=velocity, rest_speed=rest_speed, folds=folds,
            executor=executor, progress=progress
        )

    def export_c(
        self, functions: Sequence[str] | None = None, directory: str | PathLike[str] = ".", *,
        single: bool = False, frame: str | None = None, inputs: Sequence[str] = (),
        redundant_joint: str | None = None, timed: bool = True, overwrite: bool = False
    ) -> Export:
        """Export C sources of the compiled functions.

        Args:
            functions: names of robot functions ("inverse_dynamics", "jacobian", …); by default those that
                controllers usually need. "base_inverse_dynamics" takes the base parameters as an argument; those of
                the robot are written to a separate header. "inverse_kinematics" returns all solutions within limits
                for arms with six revolute joints, with a closed form, or with seven joints of which one is an
                argument. For other arms it returns one solution from a seed. "tracker" is the step of `ik.Tracker`.
            directory: output directory, created if it does not exist.
            single: True for `float` instead of `double`.
            frame: the frame of kinematic functions; the default frame if not given.
            inputs: constants that become arguments, as `inputs` in `Robot.kernel`.
            redundant_joint: the joint of seven that is an argument of inverse kinematics; by default one that
                leaves a closed form.
            timed: True to time each function if a C compiler is found.
            overwrite: True to replace files that zveno did not write.
        """
        from .export import export_c

        return export_c(
            self, functions, directory, single=single, frame=frame, inputs=inputs, redundant_joint=redundant_joint,
            timed=timed, overwrite=overwrite
        )
    def write(self, path: str | PathLike[str]) -> Path:
        """Write the model as .urdf, .xml (MJCF), .toml (Denavit–Hartenberg) or .ets (elementary transforms)."""
        from .io.write import write_model

        return write_model(self.mechanism, path)

    def plot(self, q: ArrayLike | None = None, *, frames: Sequence[str] = (), ax: Any = None) -> Any:
        """Draw the robot with matplotlib and return the figure.

        Args:
            q: (n_q,), neutral if not given. For a motion (k, n_q), the last configuration is drawn, the earlier
                ones in pale colours, and the path of the frame.
            frames: frames shown as red, green and blue axes. The path of a motion is that of the first one.
            ax: matplotlib axes to draw into.
        """
        from .report.figure import robot_figure

        return robot_figure(self.mechanism, q, frames=frames, ax=ax)
    # fmt: on
