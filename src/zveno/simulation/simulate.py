"""`simulate`: the motion of a robot over time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ModelError
from ..io.results import hash_of
from ..progress import Progress, ProgressBar
from ..robot_functions import RobotFunctions
from .checks import check_batch, check_mass, check_times, checked_constraints, checked_state
from .constraints import Constraint
from .contacts import joint_limits
from .controllers import Control, as_control
from .drives import ServoDrive
from .equations import Equations
from .events import Event
from .integrators import FIXED, Adaptive, checked_method
from .rates import FixedStep, Rates, refuse_infinite, steps_in
from .results import final_status, sane_samples, trajectory
from .rollout import rollout
from .single import Run
from .start import start_of_run
from .trajectory import FINISHED, Trajectory


@np.errstate(all="ignore")  # what is not finite is found, and named in the status
def simulate(
    robot: RobotFunctions,
    q0: ArrayLike,
    v0: ArrayLike | None = None,
    duration: float = 1.0,
    *,
    control: Control | Callable[..., ArrayLike] | ArrayLike | None = None,
    constraints: Sequence[Constraint] = (),
    integrator: str | None = None,
    step: float = 1e-3,
    rtol: float = 1e-6,
    atol: float | None = None,
    sample: float | None = None,
    drive: ServoDrive | None = None,
    tau0: ArrayLike | None = None,
    friction: bool = False,
    limits: bool = False,
    events: Sequence[Event] = (),
    moving_base: Callable[..., Any] | None = None,
    stabilization: float = 20.0,
    projection: bool = False,
    max_projection: float = 0.1,
    max_step: float = np.inf,
    progress: Progress = None,
) -> Trajectory:
    """The motion of a robot from a state, or from a batch of states.

    Args:
        robot: the robot.
        q0, v0: (n_q,) and (n_v,) (at rest if None), or (..., n_q) and (..., n_v) for a batch: fixed steps only,
            without events and contacts that open and close.
        duration: s.
        control: a controller of `zveno.simulation` (PD, ComputedTorque, Recorded, Traced, …), a function of
            (t, q, v) that returns torques, constant torques (n_v,), or None for none.
        constraints: what holds the robot; see `zveno.simulation.constraints`.
        integrator: "rk4", "midpoint" or "semi-implicit" with fixed steps; "dop853", "lsoda" or "adams" with
            adaptive ones.
            By default dop853 for one state and rk4 for a batch.
        step: s, of fixed-step methods; made a little smaller where it does not divide the time between samples.
        rtol, atol: tolerances of adaptive methods; atol is rtol/1000 if not given.
        sample: s between the samples kept; every step of fixed-step methods, or 1/1000 of the duration. The last
            sample is at the end of the run, whether or not `sample` divides the duration.
        drive: servo drives between control and joints.
        tau0: torques of drives with lag at the start, (n_v,) or a batch; zero if None. A run that goes on from
            another one takes the last of its `tau`.
        friction: whether the drives' friction acts (smoothed around v = 0).
        limits: whether joints stop at their limits.
        events: functions whose zeros are found and reported.
        moving_base: T_world_base (4, 4) as a function of time that can be traced: link 0 moves so. Constraints
            and energies are then those seen from the base.
        stabilization: rate k, 1/s, at which a violation dies out: φ̈ + 2k φ̇ + k² φ = 0 (Baumgarte 1972). At most
            half of 1/step is used. 0 for none.
        projection: whether the state is also put back onto the constraints after every step (rk4, semi-implicit
            and dop853).
        max_projection: how far, rad or m, the initial state may be moved onto the constraints.
        max_step: s, for adaptive methods.
        progress: whether a bar is shown, by default on a terminal for runs of more than a second; or a function of
            (done, total).

    Returns:
        The trajectory; its status says whether the run finished, or what stopped it and when.
    """
    mechanism = robot.mechanism
    if mechanism.n_v == 0:
        raise ModelError("it has no joint that moves", element=mechanism.name, remedy="Load a robot with joints")
    q0, v0 = checked_state(robot, q0, v0)
    single = q0.ndim == 1
    method = checked_method(integrator or ("dop853" if single else "rk4"))
    check_times(duration, step, sample, rtol)
    check_batch(single, method, constraints, limits, events, projection)
    if limits:
        constraints = (*constraints, *joint_limits(mechanism))
    equations = Equations(
        robot,
        checked_constraints(robot, constraints),
        as_control(control, mechanism),
        None if drive is None else drive.prepared(mechanism),
        friction,
        moving_base,
    )
    k = min(stabilization, 0.5 / step) if method in FIXED else stabilization
    y0 = equations.state(q0, v0)
    if equations.drive is not None and tau0 is not None:
        tau0 = mechanism.checked_v(tau0, "tau0")
        refuse_infinite(tau0, "tau0")
        y0[..., equations.z] = tau0[..., equations.drive.lag > 0]
    start = start_of_run(equations, y0, k, step if method in FIXED else 0.0, max_projection)
    y0, c, notes = start.y, start.c, list(start.notes)
    check_mass(equations, y0)
    atol = rtol * 1e-3 if atol is None else atol
    rates = Rates(equations, c)
    times = _sample_times(duration, step, sample, method)
    with ProgressBar("simulating", progress) as show:

        def bar(t: float) -> None:
            show(t, duration)

        if method in FIXED and (not single or not (equations.constraints or equations.commanded or events)):
            Y, status, n_steps = _rolled_out(equations, rates, method, y0, times, step, bar)
            C = None if c is None else np.broadcast_to(c[..., None, :], (*Y.shape[:-1], c.shape[-1]))
            run = None
        else:
            tolerances = (rtol, atol, max_step)
            stepper = (
                FixedStep(rates, method, 0.0, y0, step)
                if method in FIXED
                else Adaptive(method, rates, 0.0, y0, max(duration, 1e-300), *tolerances)
            )
            run = Run(equations, rates, stepper, events, start.modes, projection, bar)
            run.go(times)
            Y, C = np.array(run.y), None if c is None else np.array(run.c)
            times, status, n_steps = np.array(run.t), run.status, run.n_steps
    settings = f"{method}, step {step:.3g} s" if method in FIXED else f"{method}, rtol {rtol:g}, atol {atol:.3g}"
    if run is not None and run.changes.chatter is not None:
        since, speed = run.changes.chatter
        notes.append(
            f"chattering contacts brought to rest from t = {since:.6g} s on, from up to {speed:.2g} m/s or rad/s"
        )
    if rates.redundant:
        notes.append(f"redundant constraints solved in least squares: {', '.join(sorted(rates.redundant))}")
    return trajectory(
        equations,
        times[: Y.shape[-2]],
        Y,
        C,
        status=final_status(status, times, sane_samples(equations, Y, step if method in FIXED else 0.0)),
        moved=start.moved,
        notes=tuple(notes),
        method=settings,
        events=() if run is None else tuple(run.records),
        n_steps=n_steps,
        n_evaluations=rates.n,
        inputs_hash=hash_of(mechanism.fingerprint, q0, v0, duration, settings),
    )


# --- times and steps


def _sample_times(duration: float, step: float, sample: float | None, method: str) -> np.ndarray:
    """Times of the samples: multiples of `sample`, and the end of the run."""
    if duration == 0:
        return np.zeros(1)
    if sample is None:
        return np.linspace(0.0, duration, 1 + (steps_in(duration, step) if method in FIXED else 1000))
    times = sample * np.arange(1 + int(duration / sample * (1 + 1e-12)))
    if len(times) > 1 and duration - times[-1] < 1e-9 * sample:
        times[-1] = duration
        return times
    return np.append(times, duration)


def _rolled_out(equations: Equations, rates: Rates, method: str, y0, times, step: float, progress):
    """(states at the times, status, number of steps); the last interval may be shorter than the others."""
    Y, status, n_steps = y0[..., None, :], FINISHED, 0
    same = np.diff(times) > (times[1] - times[0]) * (1 - 1e-9) if len(times) > 1 else np.zeros(0, dtype=bool)
    for first, n in ((0, int(same.sum())), (int(same.sum()), int((~same).sum()))):
        if n and status == FINISHED:
            between = float(times[first + n] - times[first]) / n
            every = steps_in(between, step)
            rest, status = rollout(
                equations, rates, method, Y[..., -1, :], float(times[first]), between / every, n, every, progress
            )
            Y = np.concatenate([Y, rest[..., 1:, :]], axis=-2) if first else rest
            n_steps += every * (rest.shape[-2] - 1)
    return Y, status, n_steps
