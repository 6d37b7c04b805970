"""Document 002: the program of separate bodies, against a pendulum, the library and its own laws."""

from __future__ import annotations

import numpy as np
import pytest
from reproduction.separate_bodies import MOVING, MOVING_A, START, START_A, STATES

import zveno
from mechanisms import random_mechanism, random_state
from tiers import few
from zveno.algorithms.forward_dynamics import forward_dynamics
from zveno.algorithms.forward_kinematics import link_poses
from zveno.algorithms.motion import AT_REST
from zveno.algorithms.velocities import world_motions
from zveno.documents import separate_bodies as program
from zveno.errors import ZvenoError
from zveno.spatial import inertia


def test_numbers_of_the_program():
    """The port of the program gives the numbers noted, so that they are the document's and not the library's."""
    np.testing.assert_allclose(program.accelerations(*START)[:3], START_A, rtol=1e-11)
    np.testing.assert_allclose(program.accelerations(*MOVING), MOVING_A, rtol=1e-10)


def test_one_rod_is_a_pendulum():
    """q̈ = −3/2 g cos q for a length of 1, whatever its mass."""
    for mass in (10.0, 0.3):
        one = program.accelerations([0.3], [2.0], mass=mass)
        assert one[0] == pytest.approx(-1.5 * 9.81 * np.cos(0.3), rel=1e-14)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_chains_of_any_length_move_as_the_librarys(n):
    robot, rng = zveno.load(f"chain({n})"), np.random.default_rng(n)
    q, dq = rng.uniform(-1.0, 1.0, (2, n))
    expected = robot.forward_dynamics(q, dq, np.zeros(n))
    np.testing.assert_allclose(program.accelerations(q, dq), expected, rtol=1e-9, atol=1e-9)


def test_reactions_do_no_work_and_balance_every_rod():
    q, dq = MOVING
    parts, ddq = program.bodies(q, dq), program.accelerations(q, dq)
    R = program.reactions(parts, ddq)
    assert max(abs(body.S @ reaction) for body, reaction in zip(parts, R, strict=True)) < 1e-10 * abs(R).max()
    # The hinge of the first rod carries what accelerates the centre of mass of all.
    a = program.body_accelerations(parts, ddq)[:, :2]
    whole = program.MASS * (a.mean(axis=0) + [0.0, program.GRAVITY])
    np.testing.assert_allclose(R[0, :2], whole, rtol=1e-10)


@pytest.mark.laws
def test_the_falling_chain_by_an_adams_method():
    q0 = START[0]
    found = program.falling_chain(q0, [0.0, 1.0])
    np.testing.assert_array_equal(found[0], q0)
    np.testing.assert_allclose(found[1, [0, 1, 9]], STATES[1.0], atol=1e-7)


@pytest.mark.parametrize("seed", few(range(16), kept=3))
def test_quantities_of_any_tree(seed):
    """q̈ of the articulated-body algorithm, accelerations by (21), and the equation of every body by itself."""
    mechanism = random_mechanism(seed, n=7, mimic=0.0)
    q, v, _ = random_state(mechanism, seed)
    rng = np.random.default_rng(seed)
    tau, a0 = rng.normal(size=mechanism.n_v), rng.normal(size=6)
    base = AT_REST._replace(a=a0[:3], e=a0[3:])
    external = rng.normal(size=(mechanism.n_links, 6))
    bodies = program.separate_bodies(mechanism, q, v, tau, external=external, a0=a0)
    poses = link_poses(mechanism, q)
    wrenches = np.zeros_like(external)  # the same in link axes about the origins
    for i, (T, link) in enumerate(zip(poses, mechanism.links, strict=True)):
        f, m = T[:3, :3].T @ external[i, :3], T[:3, :3].T @ external[i, 3:]
        wrenches[i] = *f, *(m + np.cross(inertia.center_of_mass(link.inertia), f))
    expected = forward_dynamics(mechanism, q, v, tau, wrenches, base)
    ddq = np.concatenate([body.ddq for body in bodies])
    np.testing.assert_allclose(ddq, expected, atol=1e-9 * abs(expected).max())
    alone = program.separate_bodies(mechanism, q, v, tau, a0=a0)
    needed = program.required_torques(mechanism, q, v, np.concatenate([body.ddq for body in alone]), a0)
    np.testing.assert_allclose(needed, tau, atol=1e-8)
    motions = world_motions(mechanism, q, v, ddq, base)
    for i, body in enumerate(bodies, start=1):
        R, link = poses[i][:3, :3], mechanism.links[i]
        center = motions[i].at(R @ inertia.center_of_mass(link.inertia))
        np.testing.assert_allclose(body.a, center.acceleration, atol=1e-9 * abs(center.acceleration).max())
        J = R @ inertia.tensor_at_center(link.inertia) @ R.T
        force = link.inertia[0] * (center.a - mechanism.gravity)
        moment = J @ center.e + np.cross(center.w, J @ center.w)
        passed = sum((bodies[k - 1].C.T @ bodies[k - 1].R for k in mechanism.tree.children(i)), np.zeros(6))
        own = np.concatenate([force, moment])
        np.testing.assert_allclose(own, external[i] + body.R - passed, atol=1e-9 * (1 + abs(body.R).max()))
    np.testing.assert_allclose(np.concatenate([body.S.T @ body.R for body in bodies]), tau, atol=1e-8)


def test_the_plane_is_a_special_case():
    """C, S, a', M*, Q* and U* of the program are those of the method in space, in the plane of the rods."""
    q, dq = MOVING
    plane = [0, 1, 5]
    parts = program.bodies(q, dq)
    M, Q, U = program.inward(parts)
    for k, body in enumerate(program.separate_bodies(zveno.load("chain(10)"), q, dq)):
        np.testing.assert_allclose(body.S[plane, 0], parts[k].S, atol=1e-12)
        np.testing.assert_allclose(body.a_prime[plane], parts[k].a, atol=1e-12)
        np.testing.assert_allclose(body.M[np.ix_(plane, plane)], M[k], atol=1e-10)
        np.testing.assert_allclose(body.Q[plane], Q[k], atol=1e-9)
        assert body.U[0, 0] == pytest.approx(U[k], rel=1e-10)
        if k:
            np.testing.assert_allclose(body.C[np.ix_(plane, plane)], parts[k].C, atol=1e-12)


def test_dependent_joints_are_refused():
    mechanism = random_mechanism(0, mimic=0.9)
    assert any(joint.mimic for joint in mechanism.joints)
    state = random_state(mechanism, 0)[:2]
    with pytest.raises(ZvenoError, match="independent joints"):
        program.separate_bodies(mechanism, *state)
    with pytest.raises(ZvenoError, match="must have shapes"):
        program.separate_bodies(zveno.load("chain(3)"), np.zeros(2), np.zeros(3))
