"""Machines for tests of time stepping."""

import numpy as np

import zveno
from zveno import simulation
from zveno.mechanism import Free, Joint, Link, assemble
from zveno.simulation import TimeStepping
from zveno.spatial import inertia

SIZE = np.array([0.4, 0.3, 0.2])
"""Edges of the box, m."""
RADIUS = 0.1
"""Of the sphere, m."""
G = 9.81


def free_body(moments, mass=1.0, center=(0.0, 0.0, 0.0), gravity=(0.0, 0.0, -G)) -> zveno.Robot:
    """A body b with moments of inertia (3,) about the axes through its centre of mass."""
    own = inertia.parameters(mass, np.array(center, dtype=float), np.diag(np.asarray(moments, dtype=float)))
    joint = Joint("f", "base", "b", Free())
    return zveno.Robot(assemble("body", [Link("base"), Link("b", own)], [joint], gravity=np.array(gravity)))


def box() -> zveno.Robot:
    x, y, z = SIZE**2
    return free_body(np.array([y + z, x + z, x + y]) / 12)


def sphere() -> zveno.Robot:
    return free_body(np.full(3, 0.4 * RADIUS**2))


def slope(tangent: float) -> tuple[np.ndarray, np.ndarray]:
    """(normal of a plane that falls towards −x, quaternion that turns z onto it)."""
    angle = np.arctan(tangent)
    return np.array([-np.sin(angle), 0.0, np.cos(angle)]), np.array([np.cos(angle / 2), 0, -np.sin(angle / 2), 0])


def stepped(robot, q, v=None, duration=1.0, step=1e-3, **options):
    """A run by time stepping that finished."""
    run = robot.simulate(q, v, duration, integrator=TimeStepping(step), **options)
    assert run.finished, run.reason
    return run


def standing_quadruped(height: float = 0.0, radius: float = 0.02):
    """(quadruped, q with bent legs, its feet that high above the ground, contacts of the feet)."""
    robot = zveno.load("quadruped")
    feet = [name for name in robot.frame_names if name.endswith("foot")]
    bent = {"knee": -1.2, "hip_pitch": 0.6, "hip_roll": 0.0}
    joints = {name: bent[end] for name in robot.joint_names for end in bent if name.endswith(end)}
    q = robot.pack(joints)
    q[2] = radius + height - robot.frame_poses(q, frames=feet)[:, 2, 3].min()
    contacts = [simulation.Contact(foot, simulation.Sphere(radius), friction=0.6) for foot in feet]
    return robot, q, contacts


def stack(masses, size: float = 0.2):
    """(cubes on top of each other, q of the stack at rest, contacts of each with what is below it)."""
    cube = simulation.Box((size, size, size))
    owns = [inertia.parameters(mass, np.zeros(3), np.eye(3) * mass * size**2 / 6) for mass in masses]
    links = [Link("base"), *(Link(f"b{k}", own) for k, own in enumerate(owns))]
    joints = [Joint(f"f{k}", "base", f"b{k}", Free()) for k in range(len(masses))]
    contacts = [simulation.Contact("b0", cube, friction=0.5)]
    contacts += [
        simulation.Contact(f"b{k}", cube, other=f"b{k - 1}", other_shape=cube, friction=0.5)
        for k in range(1, len(masses))
    ]
    q = np.concatenate([[0, 0, size * (k + 0.5), 1, 0, 0, 0] for k in range(len(masses))]).astype(float)
    return zveno.Robot(assemble("stack", links, joints)), q, contacts
