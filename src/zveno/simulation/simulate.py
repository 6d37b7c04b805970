"""`simulate`: the motion of a robot over time."""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ModelError, ZvenoError
from ..io.results import hash_of
from ..progress import Progress, ProgressBar
from ..robot_functions import RobotFunctions
from ..scale.fold import On, fold
from ..scale.pieces import cut
from .checks import check_batch, check_times, checked_constraints, checked_events, checked_state
from .constraints import Constraint
from .continuous import continuous_run
from .controllers import Control, as_control
from .drives import DriveModel
from .events import Event
from .integration import Method
from .results import joined
from .time_stepping.run import time_stepped
from .trajectory import Trajectory

PIECE = 64
"""States that a worker is given at a time: eight of the widest vectors."""


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
    drive: DriveModel | None = None,
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
    on: On = None,
    checkpoint: str | os.PathLike[str] | None = None,
) -> Trajectory:
    """The motion of a robot from a state, or from a batch of states.

    Args:
        robot: the robot.
        q0, v0: (n_q,) and (n_v,) (at rest if None), or (..., n_q) and (..., n_v) for a batch: fixed steps only;
            contacts that open and close with time stepping only.
        duration: s.
        control: a controller of `zveno.simulation` (PD, ComputedTorque, Recorded, Traced, …), a function of
            (t, q, v) that returns torques, constant torques (n_v,), or None for none.
        constraints: what holds the robot; see `zveno.simulation.constraints`.
        integrator: "rk4", "midpoint" or "semi-implicit" with fixed steps; "dop853", "lsoda" or "adams" with
            adaptive ones; "time-stepping" with fixed steps through contacts that close, slide and open, for batches
            too. By default dop853 for one state and rk4 for a batch.
        step: s, of fixed-step methods; made a little smaller where it does not divide the time between samples.
        rtol, atol: tolerances of adaptive methods; atol is rtol/1000 if not given.
        sample: s between the samples kept; every step of fixed-step methods, or 1/1000 of the duration. The last
            sample is at the end of the run, whether or not `sample` divides the duration.
        drive: drives between control and joints: ServoDrive, HydraulicDrive.
        tau0: torques of the drives at the start, (n_v,) or a batch; zero if None. A run that goes on from another
            one takes the last of its `tau`.
        friction: whether the drives' friction acts (smoothed around v = 0).
        limits: whether joints stop at their limits.
        events: functions whose zeros are found and reported; terminal ones end the run, of a batch each run at its
            own time. Those of a batch should be traced: others are called for every step of every run.
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
        on: workers that share the states of a batch, as in `zveno.scale.fold`; this process if None.
        checkpoint: file that keeps the runs of a batch that are done; the same call goes on from there.

    Returns:
        The trajectory; its status says whether the run finished, or what stopped it and when.
    """
    mechanism = robot.mechanism
    if mechanism.n_v == 0:
        raise ModelError("it has no joint that moves", element=mechanism.name, remedy="Load a robot with joints")
    q0, v0 = checked_state(robot, q0, v0)
    single = q0.ndim == 1
    method = Method.of(integrator or ("dop853" if single else "rk4"), step, rtol, atol, max_step)
    check_times(duration, step, sample, rtol)
    events = checked_events(events)
    check_batch(single, method.name, constraints, limits, events, projection)
    if on is not None or checkpoint is not None:
        options = {"control": control, "constraints": tuple(constraints), "integrator": method.name, "step": step}
        options |= {"sample": sample, "drive": drive, "friction": friction, "moving_base": moving_base}
        options |= {
            "stabilization": stabilization,
            "max_projection": max_projection,
            "limits": limits,
            "events": events,
        }
        call = _Call(robot, duration, options)
        return _swept(call, q0, v0, tau0, on, checkpoint, progress)
    acting = (
        as_control(control, mechanism),
        None if drive is None else drive.prepared(mechanism),
        friction,
        moving_base,
    )
    # Numbers of a batch are many, and quicker to hash as they lie in memory than one by one.
    states = [x if single else [list(x.shape), sha256(x.tobytes()).hexdigest()] for x in (q0, v0)]
    key = hash_of(mechanism.fingerprint, *states, duration, method.settings)
    with ProgressBar("simulating", progress) as show:
        times = method.times(duration, sample)
        if method.stepped:
            return time_stepped(
                (robot, constraints, limits, *acting),
                (q0, v0, tau0),
                max_projection,
                times,
                step,
                lambda t: show(t, duration),
                method=method.settings,
                inputs_hash=key,
            )
        held = checked_constraints(robot, constraints, limits)
        return continuous_run(
            (robot, held, *acting),
            (q0, v0, tau0),
            method,
            times,
            events,
            projection,
            (stabilization, max_projection),
            lambda t: show(t, duration),
            inputs_hash=key,
        )


@dataclass(frozen=True, eq=False)
class _Call:
    """A call of `simulate` without its states, as a value that travels to workers."""

    robot: RobotFunctions
    duration: float
    options: dict[str, Any]

    def __call__(self, piece: tuple[np.ndarray, np.ndarray, np.ndarray | None]) -> list[Trajectory]:
        """The runs from states (k, n_q), (k, n_v) and torques of drives, as a list that can be added to others."""
        q0, v0, tau0 = piece
        return [simulate(self.robot, q0, v0, self.duration, tau0=tau0, progress=False, **self.options)]


def _swept(
    call: _Call,
    q0: np.ndarray,
    v0: np.ndarray,
    tau0: Any,
    on: On,
    checkpoint: str | os.PathLike[str] | None,
    progress: Progress,
) -> Trajectory:
    """The runs from states (..., n_q) and (..., n_v), checked before, computed by workers."""
    if q0.ndim == 1:
        raise ZvenoError("is for a batch of states", element="on", remedy="Leave out on and checkpoint")
    batch = q0.shape[:-1]
    drives = None if tau0 is None else np.broadcast_to(np.asarray(tau0, float), v0.shape).reshape(-1, v0.shape[-1])
    q0, v0 = q0.reshape(-1, q0.shape[-1]), v0.reshape(-1, v0.shape[-1])
    pieces = [
        (q0[a:b], v0[a:b], None if drives is None else drives[a:b]) for a, b in cut(int(np.prod(batch)), PIECE)
    ]
    return joined(fold(call, pieces, operator.add, "here" if on is None else on, checkpoint, progress), batch)
