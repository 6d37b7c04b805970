"""Derivatives of constrained dynamics and of dynamics under external wrenches: complex steps, loops, Pinocchio."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

import zveno
from mechanisms import KINDS, random_mechanism, random_state, relative_error
from pinocchio_oracle import Oracle
from tiers import few
from zveno.errors import ZvenoError
from zveno.functions import evaluated
from zveno.mechanism.base import with_base
from zveno.simulation import (
    BallJoint,
    Distance,
    Hinge,
    JointMotion,
    PointOnPlane,
    Weld,
)
from zveno.simulation.constraints import LoopClosure
from zveno.simulation.dynamics import constrained_dynamics_derivatives, derivatives_and_inputs, equations_of

TIGHT = 1e-9
"""Two ways to the same numbers through a linear system, whose condition takes some digits."""
STEP = 1e-30


def stepped(function, mechanism, q, v, tau):
    """Complex steps of function(q, v, τ): (size, n_v) by q in its tangent, by v and by τ, output by output."""
    n = mechanism.n_v
    columns = []
    for k in range(3 * n):
        moved = [np.zeros(n, complex) for _ in range(3)]
        moved[k // n][k % n] = STEP * 1j
        values = function(mechanism.integrate(q, moved[0]), v + moved[1], tau + moved[2])
        columns.append([np.imag(value) / STEP for value in values])
    outputs = [np.stack(column, axis=-1) for column in zip(*columns, strict=True)]
    return [output[:, part * n : (part + 1) * n] for output in outputs for part in range(3)]


def same_as_complex_steps(mechanism, constraints, seed, friction=False, **options) -> bool:
    q, v, tau = random_state(mechanism, seed)
    robot = zveno.Robot(mechanism)
    equations, _ = equations_of(robot, tuple(constraints), friction)
    c = equations.settings(q, options.get("stabilization", 0.0))
    t = options.get("t", 0.0)

    def solved(q, v, tau):
        _, acting, _ = equations.forces(t, q, v, None, tau)
        return equations.solved(t, q, v, acting, c)[:2]

    run, _ = derivatives_and_inputs(equations)  # as plain NumPy: compiling each takes seconds
    with np.errstate(all="ignore"):  # both sides of a select are computed
        *ours, _, quality = run(t, options.get("stabilization", 0.0), q, v, tau, c[1:])
        theirs = stepped(solved, mechanism, q, v, tau)
    assert quality > 1e-6
    return all(relative_error(a, b) < TIGHT for a, b in zip(ours, theirs, strict=True))


@pytest.mark.laws(after=2)
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "fixed"])
def test_same_as_complex_steps_for_every_joint(kind):
    mechanism = random_mechanism(7, n=5, kinds=("revolute", kind), mimic=0.2, drives=True)
    assert same_as_complex_steps(mechanism, [PointOnPlane("tool", normal=(1.0, 1.0, 0.2))], 4)


@pytest.mark.laws
@pytest.mark.parametrize("k", range(9))
def test_same_as_complex_steps_for_every_constraint(k):
    kinds = ("revolute", "prismatic", "spherical", "universal", "planar")
    mechanism = with_base(random_mechanism(30 + k, n=5, kinds=kinds), "free")
    single = next(j.name for j in mechanism.joints if j.type.n_q == 1 and j.mimic is None)
    other = mechanism.joints[0].child
    constraints = [
        [BallJoint("tool")],
        [BallJoint("tool", other=other, point=(0.1, 0.2, 0.3))],
        [Weld("tool")],
        [Hinge("tool", axis=(1.0, 2.0, 0.5))],
        [Distance("tool", point=(1.0, 0.0, 0.0))],
        [LoopClosure("tool", locked=("x", "z", "rx", "rz"))],
        [LoopClosure("tool", locked=("y", "ry"))],
        [JointMotion(single, lambda t: 0.3 * zveno.ops.sin(2.0 * t)), BallJoint("tool")],
        [PointOnPlane("tool", normal=(0.2, 0.1, 1.0)), Distance("tool", other=other)],
    ][k]
    assert same_as_complex_steps(mechanism, constraints, k, friction=k % 2 == 1, t=0.7, stabilization=3.0 * (k % 3))


@pytest.mark.laws
def test_loops_of_the_robot_and_no_constraints():
    robot = zveno.load("quadruped")
    assert same_as_complex_steps(robot.mechanism, [], 1)
    looped = random_mechanism(8, n=6, kinds=("revolute", "spherical"))
    loop = zveno.Loop("tool", looped.links[0].name, ("x", "y"))
    closed = zveno.assemble("closed", looped.links, looped.joints, looped.frames, looped.gravity, loops=[loop])
    assert same_as_complex_steps(closed, [], 2)


def test_batches_and_the_law_of_constraints():
    """J ∂a/∂τ = 0, ∂a/∂τ is symmetric, and what the reactions take is what the motion lacks."""
    robot = zveno.load("ur5")
    held = [BallJoint("wrist_3_link")]
    states = [random_state(robot.mechanism, seed) for seed in range(3)]
    q, v, tau = (np.array(column) for column in zip(*states, strict=True))
    slopes = constrained_dynamics_derivatives(robot, q, v, tau, held)
    assert slopes.dreactions_dq.shape == (3, 3, robot.n_v)
    for k in range(3):
        J = zveno.simulation.evaluate_constraints(robot, q[k], v[k], held).J
        single = constrained_dynamics_derivatives(robot, q[k], v[k], tau[k], held)
        assert relative_error(slopes.da_dq[k], single.da_dq) < TIGHT
        assert abs(J @ slopes.da_dtau[k]).max() < 1e-10 * abs(slopes.da_dtau[k]).max()
        M = robot.mass_matrix(q[k])
        assert relative_error(M @ slopes.da_dtau[k] - J.T @ slopes.dreactions_dtau[k], np.eye(robot.n_v)) < TIGHT
        assert relative_error(slopes.da_dtau[k], slopes.da_dtau[k].T) < TIGHT


def test_redundant_rows_have_no_derivatives():
    robot = zveno.load("ur5")
    twice = [BallJoint("wrist_3_link", name=name) for name in ("held", "held_again")]
    q, v, tau = random_state(robot.mechanism, 1)
    with pytest.raises(ZvenoError, match=r"follow from others .*held_again"):
        constrained_dynamics_derivatives(robot, q, v, tau, twice)


@pytest.mark.parametrize("seed", few(range(4)))
def test_against_pinocchio(seed):
    """Fixed-base trees of turning and sliding joints, whose coordinates are the same in both."""
    mechanism = random_mechanism(50 + seed, n=6, kinds=("revolute", "prismatic"), mimic=0.0)
    oracle = Oracle(mechanism)
    q, v, tau = random_state(mechanism, seed)
    frame = oracle.model.frames[oracle.frames["tool"]]
    models, data = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    models.append(
        pin.RigidConstraintModel(
            pin.ContactType.CONTACT_3D, oracle.model, frame.parentJoint, frame.placement, pin.LOCAL_WORLD_ALIGNED
        )
    )
    data.append(models[-1].createData())
    pin.initConstraintDynamics(oracle.model, oracle.data, models, data)
    settings = pin.ProximalSettings(1e-14, 0.0, 20)
    pin.constraintDynamics(oracle.model, oracle.data, oracle.q(q), oracle.v(q, v), tau, models, data, settings)
    pin.computeConstraintDynamicsDerivatives(oracle.model, oracle.data, models, data, settings)
    theirs = oracle.data
    equations, _ = equations_of(zveno.Robot(mechanism), (BallJoint("tool"),), False)
    run, _ = derivatives_and_inputs(equations)
    anchors = equations.settings(q)[1:]
    da_dq, da_dv, da_dtau, dR_dq, dR_dv, dR_dtau, _, quality = run(0.0, 0.0, q, v, tau, anchors)
    assert quality > 1e-6
    for ours, other in ((da_dq, theirs.ddq_dq), (da_dv, theirs.ddq_dv), (da_dtau, theirs.ddq_dtau)):
        assert relative_error(ours, other) < 1e-7
    for ours, other in ((dR_dq, theirs.dlambda_dq), (dR_dv, theirs.dlambda_dv), (dR_dtau, theirs.dlambda_dtau)):
        assert relative_error(ours, other) < 1e-7


@pytest.mark.parametrize("seed", range(2))
def test_external_wrenches_against_complex_steps(seed):
    mechanism = random_mechanism(seed, n=6, mimic=0.2, drives=True)
    q, v, a = random_state(mechanism, seed)
    rng = np.random.default_rng(seed)
    robot, wrenches = zveno.Robot(mechanism), rng.normal(size=(mechanism.n_links, 6))

    def torque(q, v, a):
        return (evaluated(mechanism, "inverse_dynamics", (), (("external", True),), q, v, a, wrenches),)

    def acceleration(q, v, tau):
        return (evaluated(mechanism, "forward_dynamics", (), (("external", True),), q, v, tau, wrenches),)

    ours = robot.inverse_dynamics_derivatives(q, v, a, external=wrenches)
    without = robot.inverse_dynamics_derivatives(q, v, a)
    for mine, theirs in zip(ours, stepped(torque, mechanism, q, v, a), strict=True):
        assert relative_error(mine, theirs) < TIGHT
    assert relative_error(ours[0], without[0]) > 1e-3
    ours = robot.forward_dynamics_derivatives(q, v, a, external=wrenches)
    for mine, theirs in zip(ours, stepped(acceleration, mechanism, q, v, a), strict=True):
        assert relative_error(mine, theirs) < TIGHT
