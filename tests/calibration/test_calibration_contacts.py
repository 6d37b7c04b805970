"""Postures brought into contact: by joints of every type, or not at all and then said."""

import numpy as np
import pytest

import zveno
from tiers import every
from zveno.calibration._identifiability import identifiability
from zveno.calibration._kinematics import frame_motion
from zveno.calibration._postures import imagined, random_postures
from zveno.calibration.measurements import FixedPoint, Plane, Sockets
from zveno.calibration.models import redundant_model
from zveno.mechanism import (
    Frame,
    Helical,
    Joint,
    Limits,
    Link,
    Planar,
    Prismatic,
    Revolute,
    Spherical,
    Universal,
    assemble,
)
from zveno.spatial.rotations import exp
from zveno.spatial.transforms import inverse, transform

TYPES = {
    "universal": Universal(),
    "planar": Planar(),
    "spherical": Spherical(),
    "helical": Helical(pitch=0.1),
    "revolute": Revolute(),
    "prismatic": Prismatic(),
}


def chain(name: str, seed: int = 0):
    """Two joints of a type between revolute ones, with a tool beside the last axis."""
    rng = np.random.default_rng(seed)
    kinds = [Revolute(), TYPES[name], Revolute(), TYPES[name], Revolute()]
    links, joints = [Link("base")], []
    for k, kind in enumerate(kinds, start=1):
        place = transform(exp(rng.normal(size=3)), rng.uniform(-0.3, 0.3, 3))
        limits = Limits(-2.5, 2.5) if kind.n_q == 1 else Limits()
        joints.append(Joint(f"j{k}", links[-1].name, f"l{k}", kind, place, limits=limits))
        links.append(Link(f"l{k}"))
    tool = Frame("tool", links[-1].name, transform(None, [0.1, 0.05, 0.2]))
    return assemble(name, links, joints, [tool])


@pytest.mark.parametrize("name", TYPES)
def test_velocities_of_every_joint_move_the_frame_as_said(name):
    mechanism, rng = chain(name), np.random.default_rng(1)
    model = redundant_model(mechanism)
    problem = imagined(model, FixedPoint(), 6)
    part = problem.parts[0]
    values = 1e-2 * rng.normal(size=len(model.terms))
    T, _ = problem.poses(part, values, part.q, compiled=False)
    rates = problem.by_joints(part, values, part.q)
    step = 1e-6
    for k, q in enumerate(part.q):
        for v in range(mechanism.n_v):
            ends = [
                frame_motion(
                    model, part.frame, mechanism.integrate(q, s * step * np.eye(mechanism.n_v)[v]), values
                )[0]
                for s in (-1.0, 1.0)
            ]
            d = inverse(T[k]) @ (ends[1] - ends[0]) / (2.0 * step)
            twist = [*d[:3, 3], d[2, 1], d[0, 2], d[1, 0]]
            assert rates[k, :, v] == pytest.approx(twist, abs=1e-8)


@pytest.mark.parametrize(
    ("name", "kind"), every([(name, kind) for kind in (Sockets(), FixedPoint(), Plane()) for name in TYPES], 4)
)
def test_joints_of_every_type_reach_contact(name, kind):
    mechanism = chain(name)
    problem = imagined(redundant_model(mechanism), kind, 20)
    residual, _ = problem.evaluate(problem.nominal, problem.frames, ())
    assert abs(residual).max() < 1e-9
    assert problem.n_postures >= 15


@pytest.mark.parametrize("kind", ["point", "sockets"])
@pytest.mark.parametrize("name", ["universal", "planar"])
def test_contacts_tell_something_of_robots_with_other_joints(name, kind):
    """Joints without offsets of their own did not move: no posture touched, and rank 0 was certain."""
    bare = [
        Joint("j1", "base", "l1", TYPES[name], transform(exp(np.array([0.3, 0.1, 0.2])), [0.1, 0.0, 0.4])),
        Joint("j2", "l1", "l2", TYPES[name], transform(exp(np.array([0.1, 1.2, 0.3])), [0.3, 0.1, 0.0])),
    ]
    tool = Frame("tool", "l2", transform(None, [0.1, 0.05, 0.2]))
    robot = zveno.Robot(assemble(name, [Link("base"), Link("l1"), Link("l2")], bare, [tool]))
    assert identifiability(robot, kind).rank > 4


def test_targets_out_of_reach_are_an_error():
    robot = zveno.load("puma560")
    with pytest.raises(zveno.ZvenoError, match="brought into contact"):
        identifiability(robot, Plane(normal=(0.0, 0.0, 1.0), offset=5.0))


def test_random_postures_of_quaternion_joints_are_unit():
    q = random_postures(chain("spherical"), 5, np.random.default_rng(0))
    assert np.linalg.norm(q[:, 1:5], axis=1) == pytest.approx(1.0)
