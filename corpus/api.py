"""Public names that will be renamed or moved: the one place that changes with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import zveno
from zveno.simulation import DOP853, RK4, TimeStepping

joints: Any
"""Where joint types are."""
ops: Any
"""Elementary functions for floats and traced scalars."""
BaseModel: Any
"""Inverse dynamics from base parameters."""
compile_function: Any
evaluate: Any
"""Of scanning: a compiled function, and values on a range of cells."""

PLACES = {
    "joints": lambda: zveno.joints,
    "ops": lambda: zveno.ops,
    "BaseModel": lambda: zveno.base_parameters.BaseModel,
    "compile_function": lambda: zveno.scanning.compile_function,
    "evaluate": lambda: zveno.scanning.evaluate,
}


def __getattr__(name: str) -> Any:
    """Names that are not functions are looked for when they are used: one that is missing fails its cases alone."""
    if name not in PLACES:
        raise AttributeError(name)
    return PLACES[name]()


def frame_poses(robot: zveno.Robot, q: np.ndarray, frames: Sequence[str]) -> np.ndarray:
    """Poses of several frames."""
    return robot.frame_poses(q, frames=frames)


def frame_velocity(robot: zveno.Robot, q: np.ndarray, v: np.ndarray, frame: str, reference: str) -> np.ndarray:
    """Twist of a frame."""
    return robot.frame_velocity(q, v, frame, reference=reference)


def frame_acceleration(
    robot: zveno.Robot, q: np.ndarray, v: np.ndarray, a: np.ndarray, frame: str, reference: str
) -> np.ndarray:
    """Acceleration of a frame."""
    return robot.frame_acceleration(q, v, a, frame, reference=reference)


def with_friction(robot: zveno.Robot, name: str, *arrays: np.ndarray) -> Any:
    """A function of dynamics with the friction of the joints."""
    return getattr(robot, name)(*arrays, joint_friction=True)


def parameter_vector(robot: zveno.Robot) -> np.ndarray:
    """p (10 N,) that multiplies the regressor."""
    return robot.mechanism.inertial_parameters


def random_postures(robot: zveno.Robot, n: int, seed: int) -> np.ndarray:
    """(n, n_q)."""
    return robot.random(n, seed)


def kernel_with_inputs(robot: zveno.Robot, name: str, inputs: Sequence[str]) -> Any:
    """A kernel that takes constants of the robot as inputs."""
    return robot.kernel(name, inputs=inputs)


def operations(robot: zveno.Robot, name: str, **options: Any) -> int:
    """Scalar operations of a compiled function."""
    now = {"velocity": "frame_velocity", "acceleration": "frame_acceleration"}
    return robot.kernel(now.get(name, name), **options).operations.total


def from_axis_angle(axis: np.ndarray, angle: float) -> np.ndarray:
    """Rotation about an axis."""
    return zveno.rotations.about_axis_by(axis, angle)


def moved_inertia(p: np.ndarray, T: np.ndarray) -> np.ndarray:
    """Ten parameters in another frame."""
    return zveno.inertia.moved(p, T)


@dataclass(frozen=True)
class Answer:
    """Solutions of a batch of poses, by the names used here."""

    q: np.ndarray
    count: np.ndarray
    status: np.ndarray
    condition: np.ndarray
    nearest_error: np.ndarray
    limit_excess: np.ndarray
    families: dict[int, Any]


STATUSES = {"self-motion": "family", "rejected": "not accepted"}
"""Words of later versions, as they were when the corpus was recorded."""


def ik(robot: zveno.Robot, target: np.ndarray, **options: Any) -> Answer:
    """Inverse kinematics of a batch (k, ...) of poses."""
    found = robot.ik(target, **options)
    status = np.array([STATUSES.get(word, word) for word in found.status], dtype=object)
    return Answer(
        found.q, found.count, status, found.condition, found.distance, found.limit_excess, dict(found.self_motions)
    )


def base_parameters(robot: zveno.Robot, *, q0: np.ndarray | None = None, **options: Any) -> Any:
    """Base parameters; `q0` is a state on the branch of the loops."""
    return robot.base_parameters(q0=q0, **options)


def base_regressor(robot: zveno.Robot, base: Any, *arrays: np.ndarray, drives: Any = None) -> np.ndarray:
    """Regressor of the base parameters."""
    return robot.base_parameters(drives=drives, loops=()).regressor(*arrays)


def in_view(base: Any, view: str) -> Any:
    """The same parameters counted in another way."""
    return base.viewed(view)


def relative_position(**options: Any) -> Any:
    """Positions seen from an unknown frame."""
    return zveno.calibration.RelativePosition(**options)


def relative_pose(**options: Any) -> Any:
    """Poses seen from an unknown frame."""
    return zveno.calibration.RelativePose(**options)


def dataset(measurement: Any, q: np.ndarray, y: np.ndarray | None, groups: Sequence[str]) -> Any:
    """Measurements with their configurations."""
    return zveno.calibration.Dataset(measurement, q, y, groups=tuple(groups))


def simulate_dataset(robot: zveno.Robot, measurement: Any, q: np.ndarray, **options: Any) -> Any:
    """Readings of a known robot."""
    return zveno.calibration.simulate_dataset(robot, measurement, q, **options)


def apply_deviations(robot: zveno.Robot, values: dict[str, float], frame: str | None = None) -> zveno.Robot:
    """The robot with geometric errors."""
    return zveno.calibration.apply_deviations(robot, values, frame)


def identifiability(robot: zveno.Robot, measurement: Any, **model: Any) -> Any:
    """Parameters that a measurement can find; `model` holds parameters, joint_terms, strategy."""
    return zveno.calibration.identifiability(robot, measurement, model=_model(model), **model)


def plan_poses(robot: zveno.Robot, measurement: Any, n: int, *, existing: Any = None, q0: Any = None, **rest: Any):
    """Configurations that determine the parameters best."""
    return zveno.calibration.plan_poses(robot, measurement, n, existing=existing, q0=q0, model=_model(rest), **rest)


def evaluate_poses(robot: zveno.Robot, measurement: Any, q: np.ndarray, **options: Any) -> Any:
    """Accuracy that given configurations will yield."""
    return zveno.calibration.evaluate_poses(robot, measurement, q, model=_model(options), **options)


def _model(options: dict[str, Any]) -> Any:
    """The choice of parameters, taken out of the options."""
    names = ("parameters", "joint_terms", "strategy", "fixed")
    return zveno.calibration.CalibrationModel(**{name: options.pop(name) for name in names if name in options})


def calibrate(robot: zveno.Robot, data: Any, *, prior: Any = "estimated", **options: Any) -> Any:
    """Calibration; the prior is "estimated", None, or standard deviations by name."""
    return robot.calibrate(data, prior=prior, model=_model(options), **options)


def calibration_errors(found: Any) -> dict[str, Any]:
    """Numbers of `nominal`, `training` and `held out` errors, root mean square by kind of reading."""
    sets = {"nominal": found.baseline, "training": found.training, "held out": found.held_out}
    return {f"{words}: {error.name}": error.rms for words, errors in sets.items() for error in errors}


def calibration_unknowns(found: Any) -> dict[str, np.ndarray]:
    """Frames, points and planes estimated beside the parameters, (4, 4) by name."""
    return dict(found.unknowns)


def controller_parameters(found: Any, form: str) -> Any:
    """The calibration in a controller's form."""
    return found.controller(form)


PLAN_STATUSES = {"good": "determined"}
IDENTIFIABILITY_STATUSES = {"look closer": "uncertain"}
EXCITATION_STATUSES = {"good": "planned"}


def simulate(
    robot: zveno.Robot,
    q0: Any,
    v0: Any = None,
    duration: float = 1.0,
    *,
    rk4: float | None = None,
    dop853: float | None = None,
    time_stepping: float | None = None,
    sample_time: float | None = None,
    joint_friction: bool = False,
    joint_limits: bool = False,
    base_motion: Any = None,
    **options: Any,
) -> Any:
    """A run by one of three integrators: rk4 and time_stepping take a step, dop853 a relative tolerance."""
    chosen: dict[str, Any] = {}
    if rk4 is not None:
        chosen = {"integrator": RK4(rk4)}
    if dop853 is not None:
        chosen = {"integrator": DOP853(dop853)}
    if time_stepping is not None:
        chosen = {"integrator": TimeStepping(time_stepping)}
    return robot.simulate(
        q0,
        v0,
        duration,
        sample_time=sample_time,
        joint_friction=joint_friction,
        joint_limits=joint_limits,
        base_motion=base_motion,
        **chosen,
        **options,
    )


def run_status(run: Any) -> str:
    """One word for how a run ended."""
    return {"undecided": "finished"}.get(run.status, run.status)


def constrained_dynamics(robot: zveno.Robot, q: Any, v: Any, tau: Any, constraints: Any, **options: Any) -> Any:
    """Accelerations and reactions."""
    return zveno.simulation.constrained_dynamics(robot, q, v, tau, constraints, **options)


def constrained_dynamics_derivatives(robot: zveno.Robot, q: Any, v: Any, tau: Any, constraints: Any) -> Any:
    """Derivatives of them."""
    return zveno.simulation.constrained_dynamics_derivatives(robot, q, v, tau, constraints)


def evaluate_constraints(robot: zveno.Robot, q: Any, v: Any, constraints: Any) -> Any:
    """Values, Jacobian and bias."""
    return zveno.simulation.evaluate_constraints(robot, q, v, constraints)


def ball_joint(frame: str, **options: Any) -> Any:
    """Two points coincide."""
    return zveno.simulation.BallJoint(frame, **options)


def distance_constraint(frame: str, **options: Any) -> Any:
    """Two points keep their distance."""
    return zveno.simulation.Distance(frame, **options)


def loop_constraint(loop: zveno.Loop) -> Any:
    """A loop of a mechanism as a constraint."""
    return loop


def constant_torque(tau: Any) -> Any:
    """Constant torques."""
    return tau


def contact(frame: str, shape: Any, *, against: Any = None, **options: Any) -> Any:
    """A contact with a ground, or with (frame, shape) of another link."""
    if isinstance(against, tuple):
        return zveno.simulation.Contact(frame, shape, other=against[0], other_shape=against[1], **options)
    return zveno.simulation.Contact(frame, shape, ground=against, **options)


MOTION = ("velocity", "acceleration", "jerk", "torque")


def point_to_point(robot: zveno.Robot, q0: Any, q1: Any, **options: Any) -> Any:
    """The quickest motion from rest to rest; `velocity`, `acceleration`, `jerk` are limits."""
    motion = zveno.MotionLimits(**{name: options.pop(name) for name in MOTION if name in options})
    return zveno.simulation.point_to_point(robot, q0, q1, motion, **options)


def simulation_names() -> Any:
    """Where constraints, controls, drives, shapes and grounds are."""
    return zveno.simulation


def walking_names() -> Any:
    """Where gaits, feet and pushes are."""
    return zveno.walking


def default_stance(robot: zveno.Robot) -> Any:
    """Feet and q0 of a built-in machine."""
    return zveno.walking.default_stance(robot)


def walk_status(walk: Any) -> str:
    """One word for how a walk ended."""
    return {"unfinished": "is"}.get(walk.status, walk.status)


def scanning_names() -> Any:
    """Where operators П1–П8 are."""
    return zveno.scanning


def pose_path() -> Any:
    """Curves of poses."""
    return zveno.ik.PosePath


def ik_path(robot: zveno.Robot, poses: Any, *, q0: Any = None, samples: int | None = None, **options: Any) -> Any:
    """Joint motion along poses; `velocity` and `acceleration` are limits of the motion, `where` a test."""
    return robot.ik_path(poses, q0=q0, samples=samples, **options)


def path_status(path: Any) -> str:
    """One word for how a path came out."""
    if len(path.unsolved):
        return "incomplete"
    return "with jumps" if len(path.jumps) else "continuous"


def whole_body(robot: zveno.Robot, targets: Any, *, center_of_mass: Any = None, q0: Any = None, n: int = 1) -> Any:
    """Configurations that serve several frames and the centre of mass."""
    return zveno.ik.whole_body(robot, targets, center_of_mass=center_of_mass, q0=q0, n=n)


def differential_ik(robot: zveno.Robot, tasks: Any, dt: float, **options: Any) -> Any:
    """A function (q, targets, previous) → step."""
    step_for = zveno.ik.DifferentialIK(robot, tasks, dt, **options)
    return lambda q, targets, previous=None: step_for(q, targets, previous=previous)


def tasks() -> Any:
    """Where tasks of differential inverse kinematics are."""
    return zveno.ik


def workspace_map(robot: zveno.Robot, **options: Any) -> Any:
    """Reachable positions on a grid."""
    return zveno.ik.workspace_map(robot, **options)


def manipulability(robot: zveno.Robot, q: np.ndarray) -> np.ndarray:
    """Yoshikawa's measure."""
    return zveno.ik.manipulability(robot, q)


def nearest_solutions(robot: zveno.Robot, T: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Of all solutions of poses, the nearest to q each."""
    return robot.ik(T).nearest_to(q)


def best_conditioned(robot: zveno.Robot, T: np.ndarray) -> np.ndarray:
    """Of all solutions of poses, those with the least condition number."""
    return robot.ik(T).sorted_by("condition").q[:, 0]


def windings(robot: zveno.Robot, T: np.ndarray) -> Answer:
    """Solutions that differ by whole turns listed, too."""
    return ik(robot, T).windings()


def accepted(robot: zveno.Robot, T: np.ndarray, test: Any) -> Answer:
    """Solutions that pass a test."""
    return ik(robot, T).where(test)


def local(robot: zveno.Robot, T: np.ndarray, q0: np.ndarray) -> np.ndarray:
    """One solution near a seed for every pose."""
    return zveno.ik.local(robot, T, q0).q


def proof(robot: zveno.Robot, T: np.ndarray) -> tuple[list[str], np.ndarray]:
    """Words of a proof, and how many solutions it has, for poses one by one."""
    verdicts = [robot.ik(pose).prove() for pose in T]
    return [verdict.status for verdict in verdicts], np.array([len(verdict.proof.q) for verdict in verdicts])


def export_c(robot: zveno.Robot, functions: list[str], directory: Any, redundant: str | None = None) -> Any:
    """C sources in a directory."""
    return robot.export_c(functions, directory, redundant_joint=redundant, timed=False)


def plan_excitation(robot: zveno.Robot, duration: float, *, motion: dict[str, Any], **options: Any) -> Any:
    """The motion whose torques determine the dynamics best."""
    return zveno.identification.plan_excitation(robot, duration, motion=zveno.MotionLimits(**motion), **options)


def excitation_value(plan: Any) -> float:
    """log det of its information."""
    return plan.log_det


def simulate_log(robot: zveno.Robot, motion: Any, **options: Any) -> Any:
    """Recording of a known robot that follows a motion."""
    return zveno.identification.simulate_log(robot, motion, **options)


def log_of(robot: zveno.Robot, t: Any, q: Any, tau: Any, v: Any = None, joint_names: Any = None) -> Any:
    """A recording from arrays."""
    names = {} if joint_names is None else {"joint_names": joint_names}
    return zveno.identification.Log.of(robot, t, q, tau, v, **names)


def identify(robot: zveno.Robot, log: Any, **options: Any) -> Any:
    """Identification; `friction_terms` and `folds` by the names of API.md."""
    return robot.identify(log, **options)


def held_out_error(found: Any) -> Any:
    """Errors of the identified model on rows that were not fitted, by joint and over all."""
    return [*found.validation.errors["identified"], found.validation.overall["identified"]]


def identify_payload(arm: Any, log: Any) -> Any:
    """Ten parameters of a load."""
    return zveno.identification.identify_payload(arm, log)


def identify_drive_gains(robot: zveno.Robot, logs: Any, loaded: Any, payload: Any) -> Any:
    """Gains of drives from a known load."""
    return zveno.identification.identify_drive_gains(robot, logs, loaded, payload)


def recursive_least_squares(found: Any, **options: Any) -> Any:
    """Online estimate."""
    return zveno.identification.RecursiveLeastSquares(found, **options)


def read_log(path: Any, robot: zveno.Robot, **options: Any) -> Any:
    """Recording from a file."""
    return zveno.identification.read_log(path, robot, **options)


def read_dataset(path: Any, robot: zveno.Robot, measurement: Any) -> Any:
    """Measurements from a file."""
    return zveno.calibration.read_dataset(path, robot, measurement)


def nested_errors(robot: zveno.Robot, data: Any, parts: np.ndarray) -> dict[str, float]:
    """Mean errors, by kind of reading, of rows judged by fits to the others."""
    sums: dict[str, list[float]] = {}
    for part in np.unique(parts):
        found = robot.calibrate(data.only(parts != part), folds=0)
        for error in found.score(data.only(parts == part)):
            total = sums.setdefault(error.name, [0.0, 0.0])
            total[0] += error.rows * error.mean
            total[1] += error.rows
    return {name: total / rows for name, (total, rows) in sums.items()}
