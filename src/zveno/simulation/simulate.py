"""`simulate`: the motion of a robot over time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._executor import cut, map_pieces
from ..errors import ModelError, ZvenoError
from ..io.results import hash_of
from ..mechanism import Loop
from ..progress import Progress, ProgressBar
from ..robot_functions import RobotFunctions
from ._checks import bilateral_constraints, check_method, check_times, checked_events, checked_state
from ._results import joined
from ._run import continuous_run
from .constraints import Constraint
from .contact import Contact
from .control import Control, as_control
from .drives import DriveModel
from .events import Event
from .integrators import DOP853, RK4, Integrator, TimeStepping
from .time_stepping.run import time_stepped
from .trajectory import Trajectory

PIECE = 64
"""Number of states per worker task: eight of the widest vectors."""


@np.errstate(all="ignore")  # values that are not finite are found, and named in the status
def simulate(
    robot: RobotFunctions,
    q0: ArrayLike,
    v0: ArrayLike | None = None,
    duration: float = 1.0,
    *,
    control: Control | Callable[..., ArrayLike] | ArrayLike | None = None,
    constraints: Sequence[Constraint | Contact | Loop] = (),
    integrator: RK4 | DOP853 | TimeStepping | None = None,
    sample_time: float | None = None,
    drive: DriveModel | None = None,
    tau0: ArrayLike | None = None,
    joint_friction: bool = False,
    joint_limits: bool = False,
    events: Sequence[Event] = (),
    base_motion: Callable[..., Any] | None = None,
    stabilization: float = 20.0,
    projection: bool = False,
    executor: Executor | None = None,
    progress: Progress = None,
) -> Trajectory:
    """Simulate as documented in `Robot.simulate`."""
    mechanism = robot.mechanism
    if mechanism.n_v == 0:
        raise ModelError("it has no joint that moves", element=mechanism.name, remedy="Load a robot with joints")
    q0, v0 = checked_state(robot, q0, v0)
    single = q0.ndim == 1
    constraints = tuple(constraints)
    if integrator is None:
        stepped = joint_limits or any(isinstance(constraint, Contact) for constraint in constraints)
        integrator = TimeStepping() if stepped else DOP853() if single else RK4()
    if not isinstance(integrator, Integrator):
        raise ZvenoError(
            f"{integrator!r} is not an integrator",
            element="integrator",
            remedy="Use RK4(step), DOP853(rtol) or TimeStepping(step) of zveno.simulation",
        )
    spacing = integrator.step if sample_time is None and integrator.step else sample_time
    check_times(duration, spacing, q0.size + 4 * v0.size)
    events = checked_events(events)
    check_method(
        integrator,
        single,
        constraints,
        joint_limits,
        events=bool(events),
        projection=projection,
        moving_base=base_motion is not None,
    )
    if executor is not None:
        options = {"control": control, "constraints": constraints, "integrator": integrator}
        options |= {"sample_time": sample_time, "drive": drive, "joint_friction": joint_friction}
        options |= {"stabilization": stabilization, "base_motion": base_motion}
        options |= {"joint_limits": joint_limits, "events": events}
        call = _Call(robot, duration, options)
        return _swept(call, q0, v0, tau0, executor, progress)
    acting = as_control(control, mechanism), None if drive is None else drive.prepared(mechanism), joint_friction
    # The bytes of a large batch are faster to hash than its numbers one by one.
    states = [x if single else [list(x.shape), sha256(x.tobytes()).hexdigest()] for x in (q0, v0)]
    key = hash_of(mechanism.fingerprint, *states, duration, integrator.settings)
    with ProgressBar("simulating", progress) as show:
        times = integrator.times(duration, sample_time)
        if isinstance(integrator, TimeStepping):
            return time_stepped(
                (robot, constraints, joint_limits, *acting),
                (q0, v0, tau0),
                times,
                integrator.step,
                lambda t: show(t, duration),
                method=integrator.settings,
                inputs_hash=key,
            )
        return continuous_run(
            (robot, bilateral_constraints(robot, constraints), *acting, base_motion),
            (q0, v0, tau0),
            integrator,
            times,
            events,
            projection,
            stabilization,
            lambda t: show(t, duration),
            inputs_hash=key,
        )


@dataclass(frozen=True, eq=False)
class _Call:
    """Call of `simulate` without its states, as a value that can be sent to workers."""

    robot: RobotFunctions
    duration: float
    options: dict[str, Any]

    def __call__(self, piece: tuple[np.ndarray, np.ndarray, np.ndarray | None]) -> Trajectory:
        """Simulate from states (k, n_q), (k, n_v) and torques of drives."""
        q0, v0, tau0 = piece
        return simulate(self.robot, q0, v0, self.duration, tau0=tau0, progress=False, **self.options)


def _swept(
    call: _Call,
    q0: np.ndarray,
    v0: np.ndarray,
    tau0: Any,
    executor: Executor,
    progress: Progress,
) -> Trajectory:
    """Simulate from checked states (..., n_q) and (..., n_v) by workers."""
    if q0.ndim == 1:
        raise ZvenoError("is for a batch of states", element="executor", remedy="Leave executor out")
    batch = q0.shape[:-1]
    drives = None if tau0 is None else np.broadcast_to(np.asarray(tau0, float), v0.shape).reshape(-1, v0.shape[-1])
    q0, v0 = q0.reshape(-1, q0.shape[-1]), v0.reshape(-1, v0.shape[-1])
    pieces = [
        (q0[a:b], v0[a:b], None if drives is None else drives[a:b]) for a, b in cut(int(np.prod(batch)), PIECE)
    ]
    return joined(list(map_pieces(call, pieces, executor=executor, progress=progress)), batch)
