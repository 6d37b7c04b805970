"""Torques by one quadratic program: Newton's law, cones, limits, and the same program assembled another way."""

import numpy as np
import pytest

import zveno
from zveno import walking
from zveno.errors import ModelError
from zveno.walking._torques import (
    EDGES,
    FREE,
    SMALL,
    BodyState,
    Gains,
    TorqueProblem,
    Weights,
    WholeBodyTorques,
    accelerations,
    body_state,
)

FRICTION = 0.6
EXACT = 1e-7
"""N and N·m: what conditioning leaves of rounding, beside forces of 100 N."""
SAME = 1e-5
"""N·m, between two ways to the optimum: its Hessian is known to 1e-16 and has a condition of 1e8."""


@pytest.fixture(scope="module")
def dog():
    robot = zveno.load("quadruped")
    return robot, walking.default_stance(robot)


def controller(robot, stance, weights=None):
    torques = WholeBodyTorques(robot.mechanism, stance.feet, FRICTION, weights or Weights(), Gains())
    at = torques.felt(stance.start, np.zeros(robot.n_v))
    torques.hold(at.base[:3, :3], stance.start[7:], at.feet[:, :3, :3])
    return torques


def states(robot, start, n=12):
    """Standing machines that move a little."""
    rng = np.random.default_rng(3)
    for _ in range(n):
        q = robot.integrate(start, 0.05 * rng.normal(size=robot.n_v))
        yield q, 0.1 * rng.normal(size=robot.n_v), 0.5 * rng.normal(size=3)


def test_forces_and_torques_obey_the_equations_of_motion(dog):
    robot, stance = dog
    torques = controller(robot, stance)
    everything = np.ones(4, dtype=bool)
    mass = sum(link.inertia[0] for link in robot.mechanism.links)
    for q, v, center in states(robot, stance.start):
        found = torques.solve(q, v, everything, center, {})
        assert found.solved
        # The feet push at points: their forces and the torques say how the machine accelerates.
        pull = sum(
            robot.jacobian(q, foot.frame)[:3].T @ force
            for foot, force in zip(stance.feet, found.forces, strict=True)
        )
        a = np.linalg.solve(robot.mass_matrix(q), found.tau + pull - robot.bias(q, v))
        moved = robot.center_of_mass_jacobian(q) @ a
        eps = 1e-6
        turned = robot.center_of_mass_jacobian(robot.integrate(q, eps * v))
        bias = (turned - robot.center_of_mass_jacobian(q)) @ v / eps
        newton = found.forces.sum(axis=0) + mass * np.asarray(robot.mechanism.gravity)
        np.testing.assert_allclose(mass * (moved + bias), newton, atol=1e-3)  # a difference of Jacobians
        assert not found.tau[:6].any()


def test_forces_stay_in_their_cones_and_feet_in_the_air_push_nothing(dog):
    robot, stance = dog
    torques = controller(robot, stance)
    for number, (q, v, center) in enumerate(states(robot, stance.start)):
        standing = np.ones(4, dtype=bool)
        standing[number % 4] = number % 3 == 0
        place = robot.forward_kinematics(q, stance.feet[number % 4].frame)[:3, 3] + [0.0, 0.0, 0.05]
        swings = {} if standing.all() else {number % 4: (place, np.zeros(3))}
        found = torques.solve(q, v, standing, 20 * center, swings)  # more than friction gives
        tangent = np.linalg.norm(found.forces[:, :2], axis=1)
        assert (tangent <= FRICTION * found.forces[:, 2] + EXACT).all()
        assert abs(found.forces[~standing]).max(initial=0.0) < EXACT


@pytest.mark.laws
def test_torques_stay_within_limits(dog):
    from dataclasses import replace

    robot, stance = dog
    weak = [
        joint if joint.type.kind == "free" else replace(joint, limits=replace(joint.limits, effort=9.0))
        for joint in robot.mechanism.joints
    ]
    torques = controller(robot, stance)
    free = torques.solve(stance.start, np.zeros(robot.n_v), np.ones(4, dtype=bool), (6.0, 0.0, 0.0), {})
    weaker = zveno.Robot(replace(robot.mechanism, joints=tuple(weak)))
    found = controller(weaker, stance).solve(
        stance.start, np.zeros(robot.n_v), np.ones(4, dtype=bool), (6.0, 0.0, 0.0), {}
    )
    assert abs(free.tau).max() > 9.5
    assert found.solved
    assert abs(found.tau).max() <= 9.0 + EXACT
    assert abs(found.tau).max() > 9.0 - 1e-3


def test_the_answer_is_that_of_the_whole_program_with_the_base_as_unknowns(dog):
    """All accelerations as unknowns, the base's rows as equations, edge by edge; solved by daqp."""
    daqp = pytest.importorskip("daqp")
    robot, stance = dog
    mechanism, n = robot.mechanism, robot.n_v
    torques = controller(robot, stance)
    problem = TorqueProblem(mechanism, stance.feet)
    weights = Weights()
    for q, v, center in states(robot, stance.start, 5):
        found = torques.solve(q, v, np.ones(4, dtype=bool), center, {})
        at = BodyState(*body_state(mechanism, problem.frames, q, v))
        asked = accelerations(problem, at, q, v, torques._wanted)
        edges = np.column_stack([FRICTION * EDGES, np.ones(4)])
        B = np.concatenate([at.foot_rows[k, :3].T @ edges.T for k in range(4)], axis=1)
        rows, values = [at.center_rows, at.base_rows], [asked[24:27] - at.center_bias, asked[27:30] - at.base_bias]
        counts = [weights.center] * 2 + [weights.height] + [weights.attitude] * 3
        for k in range(4):
            rows.append(at.foot_rows[k, :3])
            values.append(asked[6 * k : 6 * k + 3] - at.foot_bias[k, :3])
            counts += [weights.stance] * 3
        rows.append(np.eye(n)[6:])
        values.append(asked[30:])
        counts += [weights.posture] * (n - 6)
        A, b, w = np.concatenate(rows), np.concatenate(values), np.array(counts)
        H = np.zeros((n + 16, n + 16))
        H[:n, :n] = A.T @ (w[:, None] * A)
        H[np.arange(6, n + 16), np.arange(6, n + 16)] += SMALL
        H[np.arange(6), np.arange(6)] += 1e-12  # daqp wants curvature everywhere
        g = np.concatenate([-A.T @ (w * b), np.zeros(16)])
        C = np.concatenate([at.M, -B], axis=1)
        limits = np.concatenate([np.zeros(6), torques._limits[: n - 6]])
        upper = np.concatenate([np.full(n, FREE), np.full(16, FREE), limits - at.H])
        lower = np.concatenate([np.full(n, -FREE), np.zeros(16), -limits - at.H])
        sense = np.zeros(len(upper), dtype=np.int32)
        sense[n + 16 : n + 22] = 5
        x, *_, flag, _ = (*daqp.solve(H, g, np.ascontiguousarray(C), upper, lower, sense), None)[:4]
        assert flag == 1
        np.testing.assert_allclose(found.tau[6:], (C @ x + at.H)[6:], atol=SAME)


def test_a_machine_on_a_fixed_base_is_refused():
    fixed = zveno.load("quadruped").with_base("fixed")
    with pytest.raises(ModelError, match=r"with_base"):
        WholeBodyTorques(fixed.mechanism, walking.default_stance(fixed).feet, FRICTION, Weights(), Gains())
