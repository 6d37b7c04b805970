"""What a run is asked for, refused where it makes no sense."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ModelError, ShapeError, ZvenoError
from ..mechanism.unit_quaternions import refuse_unnormalized
from ..robot_functions import RobotFunctions
from .constraints import Constraint, LoopClosure
from .contacts import ball_limits, joint_limits
from .equations import Equations
from .events import Event
from .integrators import FIXED, TIME_STEPPING
from .rates import refuse_infinite


def checked_state(robot: RobotFunctions, q0: ArrayLike, v0: ArrayLike | None) -> tuple[np.ndarray, np.ndarray]:
    """q and v as finite arrays of one batch shape, quaternions scaled; v is zero if None."""
    mechanism = robot.mechanism
    q0 = mechanism.checked_q(q0, "q0")
    v0 = np.zeros(robot.n_v) if v0 is None else mechanism.checked_v(v0, "v0")
    refuse_infinite(q0, "q0")
    refuse_infinite(v0, "v0")
    try:
        shape = np.broadcast_shapes(q0.shape[:-1], v0.shape[:-1])
    except ValueError:
        raise ShapeError(f"batches {q0.shape[:-1]} of q0 and {v0.shape[:-1]} of v0 do not fit together") from None
    if 0 in shape:
        raise ShapeError(f"the batch {shape} has no state", element="q0", remedy="Give at least one")
    q0, v0 = np.broadcast_to(q0, (*shape, robot.n_q)), np.broadcast_to(v0, (*shape, robot.n_v))
    refuse_unnormalized(mechanism, q0, "q0")
    return np.array(robot.integrate(q0, np.zeros(robot.n_v))), np.array(v0)


def checked_events(events: Iterable[Event]) -> tuple[Event, ...]:
    """The events, refused unless they are."""
    if isinstance(events, Event) or not isinstance(events, Iterable):
        raise ZvenoError("is no list", element="events", remedy="Give events=[zveno.Event(function), …]")
    events = tuple(events)
    for one in events:
        if not isinstance(one, Event):
            raise ZvenoError(f"{one!r:.80} is no event", element="events", remedy="Give zveno.Event(function)")
    return events


def check_mass(equations: Equations, y0: np.ndarray) -> None:
    """An error where a body without inertia could be moved by nothing."""
    M = equations.robot.mass_matrix(y0[..., equations.q])
    size = np.sqrt(np.diagonal(M, axis1=-2, axis2=-1))
    light = ~(size > 1e-12 * size.max(axis=-1, keepdims=True))
    scaled = M / np.where(light, 1.0, size)[..., :, None] / np.where(light, 1.0, size)[..., None, :]
    if light.any() or (M.shape[-1] and np.linalg.eigvalsh(scaled).min() < 1e-13):
        mechanism = equations.mechanism
        empty = [link.name for link in mechanism.links[1:] if not link.inertia[0]]
        raise ModelError(
            "the mass matrix is singular: something can move that has no inertia",
            element=mechanism.name,
            remedy=f"Give inertia to {', '.join(empty)}" if empty else None,
        )


def check_times(duration: float, step: float, sample: float | None, rtol: float) -> None:
    """Refuse times and tolerances that make no sense."""
    if not (np.isfinite(duration) and duration >= 0):
        raise ZvenoError(f"is {duration}", element="duration", remedy="Give seconds, 0 or more")
    if not (np.isfinite(step) and step > 0):
        raise ZvenoError(f"is {step}", element="step", remedy="Give seconds, more than 0")
    if sample is not None and not (np.isfinite(sample) and sample > 0):
        raise ZvenoError(f"is {sample}", element="sample", remedy="Give seconds, more than 0")
    if not 1e-14 < rtol < 1:
        raise ZvenoError(f"is {rtol}", element="rtol", remedy="Give a relative tolerance, for example 1e-6")


def check_batch(single: Any, method: Any, constraints: Any, limits: Any, events: Any, projection: Any) -> None:
    """Refuse what an integrator, or a batch, cannot do."""
    if method == TIME_STEPPING:
        if events or projection:
            raise ZvenoError(
                "time stepping finds no events and projects nothing",
                element="integrator",
                remedy="Use another integrator, or look at the samples of the run",
            )
        return
    if not single and method not in FIXED:
        raise ZvenoError(
            f"a batch cannot run with the adaptive {method}",
            element="integrator",
            remedy=f"Use {' or '.join(FIXED)}",
        )
    if not single and (limits or projection or any(one.unilateral for one in constraints)):
        raise ZvenoError(
            "a batch has no limits, projection, nor contacts that open and close",
            element="simulate",
            remedy="Simulate one state at a time, use constraints that always act, or time stepping",
        )
    if projection and method in ("lsoda", "adams"):
        raise ZvenoError(
            f"{method} remembers past steps, which a projection would break",
            element="projection",
            remedy="Use dop853 or a method with fixed steps, or stabilization alone",
        )


def checked_constraints(
    robot: RobotFunctions, constraints: Sequence[Constraint], limits: bool = False
) -> tuple[Constraint, ...]:
    """The robot's loops, the constraints, and those of its limits if asked for.

    A closure that is given for the frames of a loop stands for it. Constraints are refused if they do not fit the
    robot or share a name.
    """
    if limits:
        if balls := ball_limits(robot.mechanism):
            raise ModelError(
                f"ball joint {balls[0]} has a limit, which time stepping knows alone",
                element="limits",
                remedy='Use integrator="time-stepping", or limits=False',
            )
        constraints = (*constraints, *joint_limits(robot.mechanism))
    for one in constraints:
        if not isinstance(one, Constraint):
            raise ModelError(f"{one!r} is no constraint", element="constraints")
        one.check(robot.mechanism)
    labels = [one.label for one in constraints]
    closures = [LoopClosure.of(loop) for loop in robot.mechanism.loops]
    constraints = (*(one for one in closures if one.label not in labels), *constraints)
    for label in labels:
        if labels.count(label) > 1:
            raise ModelError(
                f"two constraints are called {label}", element="constraints", remedy="Give them different names"
            )
    return tuple(constraints)
