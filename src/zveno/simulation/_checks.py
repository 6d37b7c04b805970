"""Checks of the arguments of a run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ModelError, ShapeError, ZvenoError
from ..mechanism import Loop
from ..mechanism.unit_quaternions import refuse_unnormalized
from ..robot_functions import RobotFunctions
from ._equations import Equations
from ._rates import refuse_infinite
from .constraints import Constraint, LoopClosure, as_constraint
from .contact import Contact
from .events import Event
from .integrators import DOP853, Integrator, TimeStepping


def checked_state(robot: RobotFunctions, q0: ArrayLike, v0: ArrayLike | None) -> tuple[np.ndarray, np.ndarray]:
    """Return q and v as finite arrays of one batch shape, with quaternions normalized; v is zero if None."""
    mechanism = robot.mechanism
    q0 = mechanism.checked_q(q0, "q0")
    v0 = np.zeros(robot.n_v) if v0 is None else mechanism.checked_v(v0, "v0")
    refuse_infinite(q0, "q0")
    refuse_infinite(v0, "v0")
    try:
        shape = np.broadcast_shapes(q0.shape[:-1], v0.shape[:-1])
    except ValueError:
        raise ShapeError(
            f"batches {q0.shape[:-1]} of q0 and {v0.shape[:-1]} of v0 do not fit together",
            remedy="Give one v0 for all, or one per q0",
        ) from None
    if 0 in shape:
        raise ShapeError(f"the batch {shape} has no state", element="q0", remedy="Give at least one")
    q0, v0 = np.broadcast_to(q0, (*shape, robot.n_q)), np.broadcast_to(v0, (*shape, robot.n_v))
    refuse_unnormalized(mechanism, q0, "q0")
    return np.array(robot.integrate(q0, np.zeros(robot.n_v))), np.array(v0)


def checked_events(events: Iterable[Event]) -> tuple[Event, ...]:
    """Return the events as a tuple; raise an error unless all are `Event`."""
    if isinstance(events, Event) or not isinstance(events, Iterable):
        raise ZvenoError(
            "is not a list", element="events", remedy="Give events=[zveno.simulation.Event(function), …]"
        )
    events = tuple(events)
    for event in events:
        if not isinstance(event, Event):
            raise ZvenoError(
                f"{event!r:.80} is not an event", element="events", remedy="Give zveno.simulation.Event(function)"
            )
    return events


def check_mass(equations: Equations, y0: np.ndarray) -> None:
    """Raise an error if the mass matrix is singular: a body without inertia can move."""
    robot = equations.robot
    if robot.mechanism.loops:
        robot = RobotFunctions(replace(robot.mechanism, loops=()))
    M = robot.mass_matrix(y0[..., equations.q])
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


MOST_NUMBERS = 2**30
"""Largest number of values in the samples of one call, 8 GB."""


def check_times(duration: float, sample: float | None, n_states: int) -> None:
    """Refuse invalid times, and samples beyond `MOST_NUMBERS`; a sample holds `n_states` numbers."""
    if not (np.isfinite(duration) and duration >= 0):
        raise ZvenoError(f"is {duration}", element="duration", remedy="Give seconds, 0 or more")
    if sample is not None and not (np.isfinite(sample) and sample > 0):
        raise ZvenoError(f"is {sample}", element="sample_time", remedy="Give seconds, more than 0")
    if sample is not None and duration / sample * n_states > MOST_NUMBERS:
        raise ZvenoError(
            f"{duration / sample:.3g} samples of every state are more than memory holds",
            element="sample_time",
            remedy="Give a larger sample_time=, or fewer states at a time",
        )


def check_method(
    integrator: Integrator,
    single: bool,
    constraints: Sequence[Any],
    limits: bool,
    *,
    events: bool,
    projection: bool,
    moving_base: bool,
) -> None:
    """Refuse options that the integrator, or a batch, does not support."""
    contacts = [each for each in constraints if isinstance(each, Contact)]
    if isinstance(integrator, TimeStepping):
        needed = "contacts" if contacts else "joint limits" if limits else "time stepping"
        for option, given in {"events": events, "projection": projection, "base_motion": moving_base}.items():
            if given:
                raise ZvenoError(
                    f"{needed} cannot be combined with {option}: time stepping has no {option}",
                    element=option,
                    remedy=f"Leave out {option}, or leave out {needed} and use RK4 or DOP853",
                )
        return
    if contacts:
        refuse_contact(contacts[0], f"{integrator.name} has no contacts")
    if limits:
        raise ZvenoError(
            f"{integrator.name} does not stop joints at the ends of their ranges",
            element="joint_limits",
            remedy="Use integrator=TimeStepping(), or joint_limits=False",
        )
    if not single and isinstance(integrator, DOP853):
        raise ZvenoError(
            f"q0 is a batch, and {integrator.name} takes the steps of one state",
            element="integrator",
            remedy="Use RK4, or simulate one state at a time",
        )
    if not single and projection:
        raise ZvenoError(
            "q0 is a batch, and only single states are projected onto constraints",
            element="projection",
            remedy="Simulate one state at a time, or rely on stabilization",
        )


def checked_constraints(
    robot: RobotFunctions, constraints: Sequence[Constraint | Contact | Loop]
) -> tuple[Constraint | Contact, ...]:
    """Return the robot's loop closures and the constraints.

    A closure that is given for the frames of a loop stands for it. Constraints are refused if they do not fit the
    robot or share a name.
    """
    constraints = [as_constraint(constraint) for constraint in constraints]
    for constraint in constraints:
        if not isinstance(constraint, Constraint | Contact):
            raise ModelError(
                f"{constraint!r} is not a constraint",
                element="constraints",
                remedy="Give Weld, Hinge, BallJoint, Distance, Contact, … of zveno.simulation",
            )
        constraint.check(robot.mechanism)
    labels = [constraint.label for constraint in constraints]
    closures = [LoopClosure.of(loop) for loop in robot.mechanism.loops]
    constraints = (*(constraint for constraint in closures if constraint.label not in labels), *constraints)
    for label in labels:
        if labels.count(label) > 1:
            raise ModelError(
                f"two constraints are called {label}", element="constraints", remedy="Give them different names"
            )
    return tuple(constraints)


def bilateral_constraints(
    robot: RobotFunctions, constraints: Sequence[Constraint | Contact | Loop]
) -> tuple[Constraint, ...]:
    """Return the bilateral constraints of `checked_constraints`; refuse contacts."""
    held: list[Constraint] = []
    for constraint in checked_constraints(robot, constraints):
        if isinstance(constraint, Contact):
            refuse_contact(constraint, "a contact may open, and its rows hold only in time stepping")
        held.append(constraint)
    return tuple(held)


def refuse_contact(contact: Contact, problem: str) -> NoReturn:
    """Raise an error that names a contact and the alternatives."""
    raise ModelError(
        problem,
        element=f"contact {contact.label}",
        remedy="Use simulate(integrator=TimeStepping()), or BallJoint for a foot that stays",
    )
