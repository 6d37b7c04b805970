"""A machine that falls onto the ground from its posture, for a first look at it: contacts are guessed."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ModelError
from ..mechanism import Mechanism
from ..mechanism.bars import link_bars
from ..robot_functions import RobotFunctions
from .controllers import PD, unactuated
from .simulate import simulate
from .time_stepping.contact import Contact
from .time_stepping.shapes import Sphere
from .trajectory import Trajectory

RADIUS = 0.02
"""Of the spheres that touch the ground, as a share of the length of the longest bar."""
STIFFNESS = 2 * np.pi * 3.0
"""Frequency with which joints hold their posture, rad/s."""


def drop(
    robot: RobotFunctions,
    q: ArrayLike,
    duration: float = 2.0,
    *,
    height: float = 0.2,
    hold: bool = True,
    friction: float = 0.7,
    sample: float = 0.01,
) -> Trajectory:
    """The motion of a floating machine that is let go above the ground, the plane z = 0, by time stepping.

    Spheres at the ends of the links that carry nothing, and at the ends of the body that floats, touch the ground.

    Args:
        robot: a robot with a floating base.
        q: its posture, (n_q,); only its height changes.
        duration: s.
        height: of its lowest sphere above the ground, m.
        hold: whether the joints hold the posture, as springs of 3 Hz; else they are free.
        friction: of the ground.
        sample: s between the samples kept.
    """
    mechanism = robot.mechanism
    root = _floating(mechanism)
    contacts = _contacts(mechanism, root, friction)
    start = np.array(mechanism.checked_q(q), dtype=float)
    control = None
    if hold:
        inertia = np.diagonal(np.asarray(robot.mass_matrix(start)))
        control = PD(start, kp=STIFFNESS**2 * inertia, kd=2.0 * STIFFNESS * inertia, gravity=False)
    start = _raised(robot, start, root, height - _lowest(robot, start, contacts))
    return simulate(
        robot, start, duration=duration, control=control, constraints=contacts,
        integrator="time-stepping", sample=sample, limits=True,
    )  # fmt: skip


def _floating(mechanism: Mechanism) -> int:
    """The link that floats: the first whose six velocities nothing drives."""
    free = unactuated(mechanism)
    if not (mechanism.n_v >= 6 and free[:6].all()):
        raise ModelError("it is fixed to the ground", element=mechanism.name, remedy="Give it a floating base")
    passed = 0
    for i, _, joint in mechanism.outward():
        passed += joint.type.n_v
        if passed >= 6:
            return i
    raise AssertionError("six velocities have passed")


def _contacts(mechanism: Mechanism, root: int, friction: float) -> list[Contact]:
    bars = [bar for bar in link_bars(mechanism) if bar[0] > 0]
    longest = max((float(np.linalg.norm(end - start)) for _, start, end in bars), default=0.5)
    places = [(i, end) for i, _, end in bars if i == root or not mechanism.tree.children(i)]
    places = places or [(root, np.zeros(3))]
    radius = RADIUS * longest
    named = {}
    for i, center in places:
        link = mechanism.link_names[i]
        frame = next(
            (f for f in mechanism.frames if f.link == link and np.allclose(f.T_link_frame[:3, 3], center)), None
        )
        at = (frame.name, np.zeros(3)) if frame is not None else (link, center)
        named[(at[0], *np.round(center, 9).tolist())] = at
    taken: dict[str, int] = {}
    contacts = []
    for frame, center in named.values():
        taken[frame] = taken.get(frame, 0) + 1
        name = None if taken[frame] == 1 else f"Contact({frame}, {taken[frame]})"
        contacts.append(Contact(frame, Sphere(radius, tuple(center)), friction=friction, name=name))
    return contacts


def _lowest(robot: RobotFunctions, q: np.ndarray, contacts: list[Contact]) -> float:
    heights = []
    for contact in contacts:
        assert isinstance(contact.shape, Sphere)
        T = np.asarray(robot.forward_kinematics(q, contact.frame))
        heights.append((T[:3, :3] @ np.asarray(contact.shape.center) + T[:3, 3])[2] - contact.shape.radius)
    return float(min(heights))


def _raised(robot: RobotFunctions, q: np.ndarray, root: int, by: float) -> np.ndarray:
    """The same posture, higher: the floating base's velocities that lift it without turning it."""
    J = np.asarray(robot.jacobian(q, frame=robot.mechanism.link_names[root]))[:, :6]
    step = np.zeros(robot.n_v)
    step[:6] = np.linalg.solve(J, np.array([0.0, 0.0, by, 0.0, 0.0, 0.0]))
    return np.asarray(robot.integrate(q, step))
