"""Laws every joint type obeys."""

import numpy as np
import pytest

from mechanisms import KINDS, random_joint_type
from zveno.errors import ModelError
from zveno.mechanism import (
    JOINT_TYPES,
    Continuous,
    Free,
    Helical,
    Planar,
    Prismatic,
    Revolute,
    Spherical,
    Universal,
)
from zveno.spatial.rotations import about_axis_by, to_rpy
from zveno.spatial.transforms import inverse, is_transform, transform

STEP = 1e-30
N_CASES = 6
every_kind = pytest.mark.parametrize("kind", KINDS)


def cases(kind):
    """Joints of a kind, each with coordinates and two velocities."""
    for seed in range(N_CASES):
        rng = np.random.default_rng(seed)
        joint = random_joint_type(rng, kind)
        unlimited = np.full(joint.n_q, np.inf)
        yield joint, joint.random(rng, -unlimited, unlimited), *rng.normal(size=(2, joint.n_v))


def test_the_generator_knows_every_type():
    assert set(KINDS) == set(JOINT_TYPES)


@every_kind
def test_motion_is_rigid_and_neutral_is_identity(kind):
    for joint, q, *_ in cases(kind):
        assert is_transform(joint.motion(q), 1e-14)
        assert np.array_equal(joint.motion(joint.neutral()), np.eye(4))
        assert len(joint.neutral()) == joint.n_q == len(joint.suffixes)
        assert len(joint.units) == joint.n_v


@every_kind
def test_subspace_is_the_derivative_of_motion(kind):
    for joint, q, v, _ in cases(kind):
        T = joint.motion(q)
        rate = np.imag(joint.motion(joint.integrate(q.astype(complex), 1j * STEP * v))) / STEP
        body = inverse(T) @ rate
        twist = np.concatenate([body[:3, 3], [body[2, 1], body[0, 2], body[1, 0]]])
        assert np.allclose(joint.subspace(q) @ v, twist, atol=1e-14)


@every_kind
def test_steps_in_sequence_are_the_motion(kind):
    for joint, q, *_ in cases(kind):
        T = np.eye(4)
        x = q
        if joint.n_q != joint.n_v:  # angles about z, y and x for the quaternion
            roll, pitch, yaw = to_rpy(joint.motion(q)[:3, :3])
            x = np.concatenate([q[:-4], [yaw, pitch, roll]])
        for step in joint.steps():
            angle, slide = {"R": (1.0, 0.0), "P": (0.0, 1.0), "H": (1.0, step.pitch)}[step.kind]
            value = x[step.coordinate]
            T = T @ transform(about_axis_by(step.axis, angle * value), slide * value * step.axis)
        assert np.allclose(T, joint.motion(q), atol=1e-14)


@every_kind
def test_the_rate_of_the_subspace_is_its_derivative(kind):
    for joint, q, v, _ in cases(kind):
        moved = joint.integrate(q.astype(complex), 1j * STEP * v)
        assert np.allclose(joint.subspace_rate(q, v), np.imag(joint.subspace(moved)) / STEP, atol=1e-14)


@every_kind
def test_integrate_and_difference_are_inverse(kind):
    for seed, (joint, q, v, _) in enumerate(cases(kind)):
        v /= max(1.0, np.linalg.norm(v) / 3.0)  # a turn of more than π would come back the shorter way
        assert np.allclose(joint.difference(q, joint.integrate(q, v)), v, atol=1e-13)
        unlimited = np.full(joint.n_q, np.inf)
        other = joint.random(np.random.default_rng(seed + 50), -unlimited, unlimited)
        reached = joint.integrate(q, joint.difference(q, other))
        assert np.allclose(joint.motion(reached), joint.motion(other), atol=1e-13)


@every_kind
def test_tangent_is_the_derivative_of_integrate(kind):
    for joint, q, v, _ in cases(kind):
        rate = np.imag(joint.integrate(q.astype(complex), 1j * STEP * v)) / STEP
        assert np.allclose(joint.tangent(q) @ v, rate, atol=1e-14)


@every_kind
def test_a_joint_with_an_axis_can_have_another(kind):
    """Readers and reductions turn joints: what has a parameter `axis` has the same motion about any other."""
    for joint, q, *_ in cases(kind):
        if "axis" in joint.parameters():
            other = joint.about([0.0, 0.6, 0.8])
            assert type(other) is type(joint)
            np.testing.assert_allclose(other.parameters()["axis"], [0.0, 0.6, 0.8])
            assert {k: v for k, v in other.parameters().items() if k != "axis"} == {
                k: v for k, v in joint.parameters().items() if k != "axis"
            }
            np.testing.assert_allclose(np.trace(other.motion(q)), np.trace(joint.motion(q)), atol=1e-12)


@every_kind
def test_random_respects_limits(kind):
    for seed, (joint, *_) in enumerate(cases(kind)):
        rng = np.random.default_rng(seed)
        for lower, upper in [(-0.2, 0.1), (-np.inf, -4.0), (7.0, np.inf), (-np.inf, np.inf)]:
            q = joint.random(rng, np.full(joint.n_q, lower), np.full(joint.n_q, upper))
            bounded = q[: joint.n_q - 4] if kind in ("spherical", "free") else q
            assert np.all((bounded >= lower) & (bounded <= upper))
            assert joint.quaternion_error(q) < 1e-12


@pytest.mark.parametrize("joint", [Revolute((1, 2, 3)), Prismatic((0, 1, 0)), Helical((1, 0, 1), 0.2)])
def test_reversed_joint_moves_the_other_way(joint):
    q = np.array([0.7])
    assert np.allclose(joint.about(-joint.axis).motion(-q), joint.motion(q))


def test_coordinate_axes_stay_exact():
    for axis in np.eye(3):
        assert np.array_equal(Revolute(-7.3 * axis).axis, -axis)
    assert np.array_equal(Planar((0, 0, 2)).in_plane, np.eye(3)[:, :2])
    assert np.array_equal(Planar((1, 0, 0)).in_plane, np.eye(3)[:, 1:])


@pytest.mark.parametrize("quaternion_joint", [Spherical(), Free()])
def test_normalized(quaternion_joint):
    q = quaternion_joint.neutral() * 2.0
    assert quaternion_joint.quaternion_error(q) == 1.0
    assert quaternion_joint.quaternion_error(quaternion_joint.normalized(q)) == 0.0
    assert quaternion_joint.quaternion_error(np.stack([q, q])).shape == (2,)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Revolute((0, 0, 0)), "axis is zero"),
        (lambda: Revolute((0, 0, np.nan)), "not finite"),
        (lambda: Continuous((0, 1)), "shape"),
        (lambda: Helical((0, 0, 1), np.inf), "pitch"),
        (lambda: Universal((1, 0, 0), (-2, 0, 0)), "parallel"),
        (lambda: Planar((0, 0, 0)), "normal is zero"),
    ],
)
def test_bad_axes_are_refused(make, words):
    with pytest.raises(ModelError, match=words):
        make()
