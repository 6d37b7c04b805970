"""Constraints: rows against derivatives of their values, the solution against the full KKT matrix and Pinocchio."""

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest

import zveno
from mechanisms import directional_derivative, random_mechanism, random_state, relative_error
from pinocchio_oracle import Oracle
from tiers import few
from zveno.algorithms import constraints as algebra
from zveno.algorithms.drives import couples_joints
from zveno.algorithms.factors import BodyFactors, MassFactors
from zveno.algorithms.forward_dynamics import forward_dynamics
from zveno.algorithms.forward_kinematics import frame_pose
from zveno.algorithms.inverse_dynamics import bias, inverse_dynamics
from zveno.algorithms.mass_matrix import mass_matrix
from zveno.algorithms.motion import Motion
from zveno.mechanism.base import with_base
from zveno.robot import Robot
from zveno.simulation import (
    BallJoint,
    Distance,
    Hinge,
    JointMotion,
    PointOnPlane,
    Weld,
    constrained_dynamics,
)
from zveno.simulation._equations import Equations, cheaper_factors, operations
from zveno.simulation.constraints import LoopClosure

KINDS = ("revolute", "prismatic", "spherical", "free", "helical", "universal", "planar")


@pytest.fixture(scope="module")
def mechanism():
    return random_mechanism(21, n=8, kinds=KINDS, mimic=0.3)


def every_kind(mechanism):
    far = [joint.child for joint in mechanism.joints][-1]
    other = mechanism.joints[2].child
    single = next(j.name for j in mechanism.joints if j.type.n_q == 1 and j.mimic is None)
    return [
        BallJoint("tool"),
        BallJoint("tool", other=other, point=(0.1, 0.2, 0.3)),
        Weld("tool"),
        Weld(far, other=other),
        Hinge("tool", axis=(1.0, 2.0, 0.5)),
        Hinge("tool", other=other, axis=(0.0, 1.0, 0.0), other_axis=(1.0, 0.0, 1.0)),
        Distance("tool", other=other, length=0.3),
        Distance("mark", point=(1.0, 0.0, 0.0)),
        PointOnPlane("tool", normal=(1.0, 1.0, 0.0)),
        PointOnPlane("tool", other=other, normal=(0.0, 0.5, 1.0), height=0.2),
        LoopClosure("tool", other=other),
        LoopClosure("tool", other=other, locked=("x", "z", "rx", "rz")),
        LoopClosure("tool", other=other, locked=("y", "ry")),
        JointMotion(single, lambda t: 0.3 * np.sin(2.0 * t)),
        JointMotion(single, 0.2),
    ]


@pytest.mark.parametrize("seed", range(3))
def test_joints_that_carry_both_frames_have_no_column_even_where_constraints_are_violated(seed):
    mechanism = random_mechanism(seed, n=6, kinds=KINDS, mimic=0.0)
    first, *others = mechanism.links[1:]
    joints = {joint.child: joint for joint in mechanism.joints}

    def carriers(link):
        return set() if link not in joints else {joints[link].name} | carriers(joints[link].parent)

    q, v, _ = random_state(mechanism, seed)
    state = algebra.Kinematics(mechanism, q, v)
    for other in others:
        for make in (BallJoint, Weld, Hinge, lambda A, B: Distance(A, B, length=0.3), PointOnPlane, LoopClosure):
            constraint = make(first.name, other.name)
            J = constraint.rows(state, 0.0, constraint.anchor(mechanism, q)).J
            for joint in carriers(first.name) & carriers(other.name):
                assert abs(J[:, mechanism.v_slices[joint]]).max(initial=0.0) < 1e-14, (constraint.label, joint)


@pytest.mark.parametrize("k", range(15))
def test_rows_are_derivatives_of_values(mechanism, k):
    constraint = every_kind(mechanism)[k]
    constraint.check(mechanism)
    q, v, _ = random_state(mechanism, 5)
    anchor = constraint.anchor(mechanism, q)
    if isinstance(constraint, BallJoint | Weld | Hinge) or constraint.size == 6:
        # The Jacobian of a point and of an attitude is the derivative of the value where the value is zero.
        T = np.linalg.inv(frame_pose(mechanism, q, constraint.other or "link0")) @ frame_pose(
            mechanism, q, constraint.frame
        )
        anchor = np.array([*T[:3, 3], *anchor[3:]]) if len(anchor) in (3, 6) else T[:3].ravel()
    t = 0.4

    def rows(q, v, t=t):
        return constraint.rows(algebra.Kinematics(mechanism, q, v), t, anchor)

    here = rows(q, v)
    slope = directional_derivative(mechanism, lambda x: rows(x, v).value, q, v)
    assert relative_error(here.J @ v, slope) < 1e-12
    h = 1e-6
    by_time = (rows(q, v, t + h).value - rows(q, v, t - h).value) / (2 * h)
    assert relative_error(here.rate, by_time) < 1e-8
    change = directional_derivative(mechanism, lambda x: rows(x, v).J @ v, q, v)
    second = (rows(q, v, t + h).rate - rows(q, v, t - h).rate) / (2 * h)
    assert relative_error(here.bias, change + second) < 1e-8
    assert here.value.shape == (constraint.size,) == here.bias.shape
    assert here.J.shape == (constraint.size, mechanism.n_v)


def test_half_turn_is_no_solution(mechanism):
    q, v, _ = random_state(mechanism, 6)
    weld = Weld("tool")
    for axis in range(3):
        flipped = frame_pose(mechanism, q, "tool").copy()
        flipped[:3, :3] = flipped[:3, :3] @ (2 * np.outer(np.eye(3)[axis], np.eye(3)[axis]) - np.eye(3))
        value = weld.rows(algebra.Kinematics(mechanism, q, v), 0.0, flipped[:3].ravel()).value
        assert np.linalg.norm(value[3:]) == pytest.approx(np.pi, abs=1e-6)


def kkt(M, H, tau, J, P):
    """Document 003's matrix equation, solved as it stands."""
    m, n = J.shape
    K = np.block([[M, -J.T], [J, np.zeros((m, m))]])
    x = np.linalg.solve(K, np.concatenate([tau - H, -P]))
    return x[:n], x[n:]


@pytest.mark.parametrize("seed", few(range(6)))
def test_schur_form_equals_the_full_matrix(seed):
    mechanism = random_mechanism(100 + seed, n=9, kinds=KINDS, mimic=0.2)
    q, v, tau = random_state(mechanism, seed)
    chosen = [every_kind(mechanism)[k] for k in ((0,), (6, 8), (5,), (12, 14), (9, 13), (10,))[seed]]
    parts = [c.rows(algebra.Kinematics(mechanism, q, v), 0.0, c.anchor(mechanism, q)) for c in chosen]
    rows = algebra.stacked(parts, mechanism.n_v)
    M, H = mass_matrix(mechanism, q), bias(mechanism, q, v)
    a, R = kkt(M, H, tau, rows.J, rows.bias)
    factors = MassFactors(mechanism, q)
    solution = algebra.solve(factors, factors.force(v, tau), rows.J, -rows.bias)
    assert solution.quality > 1e-9
    scale = 1e-11 / min(1.0, float(solution.quality))
    assert relative_error(solution.a, a) < scale
    assert relative_error(solution.reactions, R) < scale
    # The equations of motion themselves say the same, and so does the compiled kernel.
    assert (
        relative_error(inverse_dynamics(mechanism, q, v, solution.a), tau + rows.J.T @ solution.reactions) < scale
    )
    if seed % 2:
        return  # it takes seconds to build
    found = constrained_dynamics(Robot(mechanism), q, v, tau, chosen)
    assert found.status in ("solved", "open")
    assert found.status == "solved" or "the state violates" in found.reason
    assert relative_error(found.violation, rows.value) < 1e-11
    assert relative_error(found.a, a) < scale
    assert relative_error(found.reactions, R) < scale


@pytest.mark.parametrize("seed", few(range(6)))
def test_separate_bodies_equal_the_factors_of_the_mass_matrix(seed):
    """Through the entries of M and through the bodies: the same accelerations, reactions and Schur complement."""
    mechanism = random_mechanism(300 + seed, n=9, kinds=KINDS, mimic=0.0, drives=True)
    assert not couples_joints(mechanism)
    q, v, tau = random_state(mechanism, seed)
    chosen = [every_kind(mechanism)[k] for k in ((0,), (6, 8), (5,), (3, 14), (9, 13), (10,))[seed]]
    parts = [c.rows(algebra.Kinematics(mechanism, q, v), 0.0, c.anchor(mechanism, q)) for c in chosen]
    rows = algebra.stacked(parts, mechanism.n_v)
    rng = np.random.default_rng(seed)
    base = Motion(*rng.normal(size=(4, 3)))
    solutions = []
    for kind in (MassFactors, BodyFactors):
        factors = kind(mechanism, q)
        force = factors.force(v, tau, base=base)
        free, W, A = algebra.schur(factors, force, rows.J)
        assert relative_error(mass_matrix(mechanism, q) @ W, rows.J.T) < 1e-11
        assert relative_error(free, forward_dynamics(mechanism, q, v, tau, None, base)) < 1e-11
        assert relative_error(A, rows.J @ W) < 1e-11
        solutions.append(algebra.solve(factors, force, rows.J, -rows.bias))
    ours, other = solutions
    scale = 1e-11 / min(1.0, float(ours.quality))
    assert relative_error(other.a, ours.a) < scale
    assert relative_error(other.reactions, ours.reactions) < scale


@pytest.mark.laws
def test_deep_trees_go_through_separate_bodies():
    """What the operations say: an arm through the entries of M, a long chain through its bodies, and both agree."""
    arm, chain = zveno.load("ur5"), zveno.load("chain(16)")
    held = (BallJoint("tool", point=(0.0, 0.0, 0.0)),)
    assert cheaper_factors(Equations(arm, held)) is MassFactors
    loop = (LoopClosure("tool", locked=("x", "y"), placement=np.eye(4)),)
    equations = Equations(chain, loop)
    assert operations(equations, BodyFactors) < operations(equations, MassFactors)
    assert cheaper_factors(equations) is BodyFactors
    q = np.linspace(-1.0, 0.5, 16)
    y, c = equations.state(q, np.linspace(1.0, -1.0, 16)), equations.settings(q)
    through = [replace(equations, factors=kind).rhs(0.0, y, c)[0] for kind in (MassFactors, BodyFactors)]
    assert relative_error(*through) < 1e-9


@pytest.mark.parametrize("seed", few(range(5)))
def test_against_pinocchio(seed):
    kinds = ("revolute", "prismatic", "spherical", "revolute")
    mechanism = with_base(random_mechanism(200 + seed, n=5, kinds=kinds, mimic=0.0, branching=0.0), "free")
    robot, oracle = Robot(mechanism), Oracle(mechanism)
    q, v, tau = random_state(mechanism, seed)
    contacts = [BallJoint("tool") if seed % 2 else Weld("tool"), BallJoint("link0")]
    # Six-dimensional contacts of Pinocchio hold spatial accelerations: the same where the frame is at rest.
    state = algebra.Kinematics(mechanism, q, v)
    rows = algebra.stacked([c.rows(state, 0.0, c.anchor(mechanism, q)) for c in contacts], mechanism.n_v)
    v = v - np.linalg.pinv(rows.J) @ (rows.J @ v)
    ours = constrained_dynamics(robot, q, v, tau, contacts)
    models, data = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    for contact in contacts:
        frame = oracle.model.frames[oracle.frames[contact.frame]]
        kind = pin.ContactType.CONTACT_6D if contact.size == 6 else pin.ContactType.CONTACT_3D
        reference = pin.LOCAL if contact.size == 6 else pin.LOCAL_WORLD_ALIGNED
        models.append(pin.RigidConstraintModel(kind, oracle.model, frame.parentJoint, frame.placement, reference))
        data.append(models[-1].createData())
    pin.initConstraintDynamics(oracle.model, oracle.data, models, data)
    settings = pin.ProximalSettings(1e-12, 1e-12, 20)
    theirs = pin.constraintDynamics(
        oracle.model, oracle.data, oracle.q(q), oracle.v(q, v), tau, models, data, settings
    )
    assert ours.status == "solved"
    assert relative_error(oracle.a(q, v, ours.a), theirs) < 1e-7


def test_ideal_reactions_do_no_work(mechanism):
    q, v, tau = random_state(mechanism, 9)
    contacts = [every_kind(mechanism)[k] for k in (0, 8)]
    state = algebra.Kinematics(mechanism, q, v)
    rows = algebra.stacked([c.rows(state, 0.0, c.anchor(mechanism, q)) for c in contacts], mechanism.n_v)
    v = v - np.linalg.pinv(rows.J) @ (rows.J @ v)
    factors = MassFactors(mechanism, q)
    found = algebra.solve(factors, factors.force(v, tau), rows.J, -rows.bias)
    assert abs(found.reactions @ (rows.J @ v)) < 1e-9 * (1 + abs(found.reactions).max())
