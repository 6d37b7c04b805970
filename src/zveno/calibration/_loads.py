"""Gravity torques of a robot at rest, including robots with unknown masses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache

import numpy as np

from ..mechanism import Mechanism
from ..mechanism.edit import rebuilt
from ..mechanism.plausibility import impossible_loads
from ..robot_functions import RobotFunctions
from ..spatial.inertia import from_pseudo_inertia
from ._closing import closed_robot
from .models import Model

DENSITY = 10.0
"""Assumed density, kg/m, of links with unknown mass: that of arms for payloads of some kilograms."""


MODEL, RODS = "model", "rods"
"""Loads under which joints may yield: masses of the model, or of uniform rods."""


@lru_cache(maxsize=8)
def gravity(mechanism: Mechanism, loads: str = MODEL) -> Callable[[np.ndarray], np.ndarray]:
    """Return the function q → torques (..., n_v) that hold the robot at rest, with its `loaded` links."""
    return RobotFunctions(loaded(mechanism, loads)).gravity_torque


def holding_torques(model: Model, q: np.ndarray) -> np.ndarray:
    """Return torques (..., n_v) under which joints of a model yield at rest; zeros if it has no compliance."""
    if model.yields and model.mechanism.loops:
        closed, tau = (
            closed_robot(loaded(model.mechanism, model.loads)),
            np.zeros((*q.shape[:-1], model.mechanism.n_v)),
        )
        rest = np.zeros(closed.n_v)
        tau[..., list(closed.division.torques)] = closed.inverse_dynamics(q, rest, rest)
        return tau
    if model.yields:
        return gravity(model.mechanism, model.loads)(q)
    return np.zeros((*q.shape[:-1], model.mechanism.n_v))


def has_masses(mechanism: Mechanism) -> bool:
    """Return True if any moving link has a physically valid mass."""
    impossible = impossible_loads(mechanism)
    return any(
        link.inertia_given and link.inertia[0] and link.name not in impossible for link in mechanism.links[1:]
    )


def loads_to_try(mechanism: Mechanism) -> tuple[str, ...]:
    """Return the loads that joints may yield under, the likelier first."""
    return (MODEL, RODS) if has_masses(mechanism) else (RODS,)


def loaded(mechanism: Mechanism, loads: str = MODEL) -> Mechanism:
    """Return the mechanism with the physically valid masses of its model; or, if there are none or `loads` says so,
    with uniform rods from every joint to the next ones and to frames.

    How stiff joints are is then known only up to how heavy the links really are; where they yield is not affected,
    as only the product of both counts.
    """
    impossible = impossible_loads(mechanism)
    if loads == MODEL and has_masses(mechanism):
        if not impossible:
            return mechanism
        bare = [_without_mass(link) if link.name in impossible else link for link in mechanism.links]
        return rebuilt(mechanism, links=bare)
    links = [_without_mass(link) for link in mechanism.links]
    for i, f, joint in mechanism.outward():
        if f:
            links[f] = _with_rod(links[f], joint.T_parent_joint[:3, 3])
        links[i] = _with_rod(links[i], joint.T_joint_child[:3, 3])
    for frame in mechanism.frames:
        number = mechanism.link_number(frame.link)
        if number:
            links[number] = _with_rod(links[number], frame.T_link_frame[:3, 3])
    return rebuilt(mechanism, links=links)


def _without_mass(link):
    return replace(link, inertia=np.zeros_like(link.inertia))


def _with_rod(link, end: np.ndarray):
    """Return a link with a rod from its origin to a point; its pseudo-inertia is ∫ (s e, 1)(s e, 1)ᵀ dm."""
    mass = DENSITY * float(np.linalg.norm(end))
    P = np.block([[np.outer(end, end) / 3.0, end[:, None] / 2.0], [end[None] / 2.0, np.ones((1, 1))]])
    return replace(link, inertia=link.inertia + from_pseudo_inertia(mass * P), inertia_given=True)
