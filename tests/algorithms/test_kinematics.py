"""Laws of kinematics on random trees of all joint types, and Pinocchio as the oracle."""

import numpy as np
import pinocchio as pin
import pytest

from mechanisms import KINDS, directional_derivative, random_mechanism, random_state, relative_error
from pinocchio_oracle import Oracle
from tiers import few
from zveno.algorithms.center_of_mass import center_of_mass, center_of_mass_jacobian, total_mass
from zveno.algorithms.forward_kinematics import frame_pose, frame_poses, link_poses
from zveno.algorithms.jacobian import jacobian
from zveno.algorithms.motion import Motion
from zveno.algorithms.references import REFERENCES
from zveno.algorithms.velocities import (
    body_motions,
    center_of_mass_motion,
    child_frame_motion,
    frame_acceleration,
    frame_velocity,
    world_motions,
)
from zveno.errors import ModelError, UnknownNameError
from zveno.mechanism import Fixed, Frame, Joint, Link, Revolute, assemble
from zveno.spatial import inertia
from zveno.spatial.transforms import inverse, is_transform

ROUNDING = 1e-13
"""Ten joints at lengths of about a metre: some hundred roundings of 1e-16."""
FRAMES = ("tool", "mark", "link3", "link0")
PIN_REFERENCE = {
    "aligned": pin.ReferenceFrame.LOCAL_WORLD_ALIGNED,
    "local": pin.ReferenceFrame.LOCAL,
    "world": pin.ReferenceFrame.WORLD,
}

mechanisms = pytest.mark.parametrize("seed", few(range(12), 3))


def case(seed):
    mechanism = random_mechanism(seed, n=10)
    return mechanism, *random_state(mechanism, 100 + seed)


def vee(W):
    return np.array([W[2, 1], W[0, 2], W[1, 0]])


@mechanisms
def test_poses_are_rigid_and_compose(seed):
    mechanism, q, *_ = case(seed)
    T = link_poses(mechanism, q)
    own = mechanism.joint_positions(q)
    for i, f, joint in mechanism.outward():
        assert is_transform(T[i], ROUNDING)
        k = mechanism.tree.sibling_rank(i)
        A = joint.motion(own[i])
        assert relative_error(inverse(T[f]) @ T[i], mechanism.auxiliary_transform(f, k) @ A) < ROUNDING
    several = frame_poses(mechanism, q, FRAMES)
    for name, pose in zip(FRAMES, several, strict=True):
        assert relative_error(frame_pose(mechanism, q, name), pose) < ROUNDING


@mechanisms
@pytest.mark.parametrize("frame", FRAMES)
def test_jacobian_is_the_derivative_of_the_pose(seed, frame):
    mechanism, q, v, _ = case(seed)
    T = frame_pose(mechanism, q, frame)
    rate = directional_derivative(mechanism, lambda x: frame_pose(mechanism, x, frame), q, v)
    spin = rate[:3, :3] @ T[:3, :3].T
    assert relative_error(spin, -spin.T) < ROUNDING
    twist = np.concatenate([rate[:3, 3], vee(spin)])
    R, p = T[:3, :3], T[:3, 3]
    expected = {
        "aligned": twist,
        "local": np.concatenate([R.T @ twist[:3], R.T @ twist[3:]]),
        "world": np.concatenate([twist[:3] + np.cross(p, twist[3:]), twist[3:]]),
    }
    for reference in REFERENCES:
        assert relative_error(jacobian(mechanism, q, frame, reference) @ v, expected[reference]) < ROUNDING


@mechanisms
def test_velocities_are_derivatives_of_poses(seed):
    mechanism, q, v, a = case(seed)
    T = link_poses(mechanism, q)
    motions = world_motions(mechanism, q, v, a)
    for i in range(mechanism.n_links):
        rate = directional_derivative(mechanism, lambda x, i=i: link_poses(mechanism, x)[i], q, v)
        assert relative_error(motions[i].v, rate[:3, 3]) < ROUNDING
        assert relative_error(motions[i].w, vee(rate[:3, :3] @ T[i][:3, :3].T)) < ROUNDING


@mechanisms
def test_accelerations_are_derivatives_of_velocities(seed):
    mechanism, q, v, a = case(seed)
    h = 1e-30
    moved = mechanism.integrate(q.astype(complex), 1j * h * v)
    ahead = world_motions(mechanism, moved, v + 1j * h * a, a)
    now = world_motions(mechanism, q, v, a)
    for i in range(mechanism.n_links):
        assert relative_error(now[i].a, np.imag(ahead[i].v) / h) < ROUNDING
        assert relative_error(now[i].e, np.imag(ahead[i].w) / h) < ROUNDING


@mechanisms
def test_body_form_equals_world_form(seed):
    mechanism, q, v, a = case(seed)
    rng = np.random.default_rng(seed)
    base = Motion(*rng.normal(size=(4, 3)))
    T = link_poses(mechanism, q)
    body, world = (f(mechanism, q, v, a, base) for f in (body_motions, world_motions))
    for i in range(mechanism.n_links):
        for in_body, in_world in zip(body[i], world[i], strict=True):
            assert relative_error(T[i][:3, :3] @ in_body, in_world) < ROUNDING


@mechanisms
def test_child_frames_and_centres_of_mass_move_with_their_link(seed):
    mechanism, q, v, a = case(seed)
    body = body_motions(mechanism, q, v, a)
    h = 1e-30
    moved = mechanism.integrate(q.astype(complex), 1j * h * v)
    T, T_ahead = link_poses(mechanism, q), link_poses(mechanism, moved)
    ahead = body_motions(mechanism, moved, v + 1j * h * a, a)
    for i in range(mechanism.n_links):
        points = [(center_of_mass_motion, (i,), inertia.center_of_mass(mechanism.links[i].inertia))]
        for k in range(1, mechanism.tree.out_degree(i) + 1):
            points.append((child_frame_motion, (i, k), mechanism.auxiliary_transform(i, k)[:3, 3]))
        for function, args, r in points:
            motion, motion_ahead = function(mechanism, body, *args), function(mechanism, ahead, *args)
            assert (
                relative_error(T[i][:3, :3] @ motion.v, np.imag(T_ahead[i][:3, :3] @ r + T_ahead[i][:3, 3]) / h)
                < ROUNDING
            )
            world_v = T_ahead[i][:3, :3] @ motion_ahead.v
            assert relative_error(T[i][:3, :3] @ motion.a, np.imag(world_v) / h) < ROUNDING


@mechanisms
def test_frame_motion_in_every_reference(seed):
    mechanism, q, v, a = case(seed)
    for frame in FRAMES:
        for reference in REFERENCES:
            twist = frame_velocity(mechanism, q, v, frame, reference)
            assert relative_error(twist, jacobian(mechanism, q, frame, reference) @ v) < ROUNDING
        rate = frame_acceleration(mechanism, q, v, a, frame)
        h = 1e-30
        moved = mechanism.integrate(q.astype(complex), 1j * h * v)
        ahead = jacobian(mechanism, moved, frame) @ (v + 1j * h * a)
        assert relative_error(rate, np.imag(ahead) / h) < ROUNDING


@mechanisms
def test_centre_of_mass_and_its_jacobian(seed):
    mechanism, q, v, _ = case(seed)
    T = link_poses(mechanism, q)
    masses = np.array([link.inertia[0] for link in mechanism.links])
    centers = [
        T[i][:3, :3] @ inertia.center_of_mass(link.inertia) + T[i][:3, 3] for i, link in enumerate(mechanism.links)
    ]
    assert relative_error(center_of_mass(mechanism, q), masses @ np.array(centers) / masses.sum()) < ROUNDING
    assert total_mass(mechanism) == pytest.approx(masses.sum())
    rate = directional_derivative(mechanism, lambda x: center_of_mass(mechanism, x), q, v)
    assert relative_error(center_of_mass_jacobian(mechanism, q) @ v, rate) < ROUNDING


@mechanisms
def test_against_pinocchio(seed):
    mechanism, q, v, a = case(seed)
    oracle = Oracle(mechanism).forward(q, v, a)
    for frame in mechanism.frame_names:
        assert relative_error(frame_pose(mechanism, q, frame), oracle.pose(frame)) < ROUNDING
    twist, rate = frame_velocity(mechanism, q, v, "tool"), frame_acceleration(mechanism, q, v, a, "tool")
    frame, reference = oracle.frames["tool"], PIN_REFERENCE["aligned"]
    theirs = pin.getFrameVelocity(oracle.model, oracle.data, frame, reference)
    assert relative_error(twist, theirs.vector) < ROUNDING
    acceleration = pin.getFrameClassicalAcceleration(oracle.model, oracle.data, frame, reference)
    assert relative_error(rate, acceleration.vector) < ROUNDING
    for reference, theirs in PIN_REFERENCE.items():
        J = pin.computeFrameJacobian(oracle.model, oracle.data, oracle.q(q), frame, theirs) @ oracle.G(q)
        assert relative_error(jacobian(mechanism, q, "tool", reference), J) < ROUNDING


def test_every_joint_type_is_met():
    met = {joint.type.kind for seed in range(12) for joint in random_mechanism(seed, n=10).joints}
    assert met == set(KINDS)
    assert any(joint.mimic for seed in range(12) for joint in random_mechanism(seed, n=10).joints)


def test_unknown_frame_and_reference():
    mechanism = random_mechanism(0)
    with pytest.raises(UnknownNameError, match=r"no frame named 'tol'.*tool"):
        jacobian(mechanism, mechanism.neutral(), "tol")
    with pytest.raises(UnknownNameError, match=r"no reference named 'body'.*aligned, local, world"):
        jacobian(mechanism, mechanism.neutral(), "tool", "body")


def test_no_joints_and_no_mass():
    alone = assemble("stone", [Link("stone")], [])
    assert jacobian(alone, np.zeros(0)).shape == (6, 0)
    assert np.array_equal(frame_pose(alone, np.zeros(0)), np.eye(4))
    massless = assemble("wire", [Link("a"), Link("b")], [Joint("j", "a", "b", Revolute())])
    with pytest.raises(ModelError, match=r"wire.*no mass"):
        center_of_mass(massless, np.zeros(1))


def test_the_default_frame():
    links = [Link("base"), Link("tool0"), Link("camera")]
    fixed = [Joint(name, "base", name, Fixed(), np.eye(4)) for name in ("tool0", "camera")]
    assert assemble("two ends", links, fixed).default_frame.name == "tool0"
    assert assemble("one end", links[:2], fixed[:1]).default_frame.name == "tool0"
    chain = [fixed[0], Joint("camera", "tool0", "camera", Fixed(), np.eye(4))]
    assert assemble("an end beyond", links, chain).default_frame.name == "camera"
    tool = Frame("tool", "camera", np.eye(4))
    assert assemble("named", links, fixed, [tool]).default_frame.name == "tool"
    others = [Link("base"), Link("left"), Link("right")]
    arms = [Joint(name, "base", name, Fixed(), np.eye(4)) for name in ("left", "right")]
    with pytest.raises(UnknownNameError, match=r"2 end links.*must be named.*Frames: base, left, right"):
        _ = assemble("two arms", others, arms).default_frame
