"""Laws of dynamics on random trees of all joint types, and Pinocchio as the oracle."""

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest

from mechanisms import SINGLE, directional_derivative, random_mechanism, random_state, relative_error
from pinocchio_oracle import Oracle
from tiers import few
from zveno.algorithms import linear
from zveno.algorithms.center_of_mass import center_of_mass, total_mass
from zveno.algorithms.drives import couples_joints, friction_torque, rotor_matrix, rotor_torque
from zveno.algorithms.energy import kinetic_energy, potential_energy, total_energy, total_momentum
from zveno.algorithms.forward_dynamics import forward_dynamics
from zveno.algorithms.forward_kinematics import link_poses
from zveno.algorithms.inverse_dynamics import bias, gravity_torque, inverse_dynamics, joint_wrenches
from zveno.algorithms.jacobian import jacobian
from zveno.algorithms.mass_matrix import centroidal_matrix, inverse_mass_matrix, mass_matrix
from zveno.algorithms.motion import Motion
from zveno.algorithms.regressor import drive_regressor, parameter_names, regressor
from zveno.algorithms.velocities import body_motions, world_motions
from zveno.mechanism import Drive, Joint, Link, Revolute, assemble
from zveno.mechanism.base import with_base
from zveno.spatial import inertia
from zveno.spatial.rotations import to_quaternion

ROUNDING = 1e-12
"""Relative to the largest entry: ten bodies of a kilogram, forces of some tens of newtons, 1e-15 a rounding."""
CONDITIONED = 1e-10
"""The same times the condition of mass matrices of random trees, up to 1e4 here; skewed ones lose two digits."""

mechanisms = pytest.mark.parametrize("seed", few(range(10), 3))


def case(seed, **options):
    mechanism = random_mechanism(seed, n=10, drives=seed % 2 == 1, **options)
    return mechanism, *random_state(mechanism, 100 + seed)


def absolute_form(mechanism, q, v, a):
    """Torques by the absolute form of document 003: forces and moments in world axes, about centres of mass.

    Written from the document and independently of the recursion in body axes.
    """
    T = link_poses(mechanism, q)
    motions = world_motions(mechanism, q, v, a)
    own = mechanism.joint_positions(q)
    f, M = [np.zeros(3)] * mechanism.n_links, [np.zeros(3)] * mechanism.n_links
    tau = [np.zeros(0)] * mechanism.n_links
    for i, parent, joint in mechanism.inward():
        R, p, parameters = T[i][:3, :3], T[i][:3, 3], mechanism.links[i].inertia
        c, J = R @ inertia.center_of_mass(parameters), R @ inertia.tensor_at_center(parameters) @ R.T
        w, e = motions[i].w, motions[i].e
        a_c = motions[i].at(c).a
        own_force = parameters[0] * (mechanism.gravity - a_c)
        # f_i and M_i act from link i on its parent; M_i is taken about the origin of link i's frame.
        f[i] = f[i] + own_force
        M[i] = M[i] - J @ e - np.cross(w, J @ w) + np.cross(c, own_force)
        S = joint.subspace(own[i])
        tau[i] = -(S.T @ np.concatenate([R.T @ f[i], R.T @ M[i]]))
        f[parent] = f[parent] + f[i]
        M[parent] = M[parent] + M[i] + np.cross(p - T[parent][:3, 3], f[i])
    return mechanism.gather_velocities(tau) + rotor_torque(mechanism, a)


@mechanisms
def test_body_form_equals_the_absolute_form(seed):
    mechanism, q, v, a = case(seed)
    assert relative_error(inverse_dynamics(mechanism, q, v, a), absolute_form(mechanism, q, v, a)) < ROUNDING


@mechanisms
def test_forward_dynamics_undoes_inverse_dynamics(seed):
    mechanism, q, v, a = case(seed)
    rng = np.random.default_rng(seed)
    external = rng.normal(size=(mechanism.n_links, 6))
    base = Motion(*rng.normal(size=(4, 3)))
    for options in ({}, {"external": external}, {"base": base}):
        tau = inverse_dynamics(mechanism, q, v, a, **options)
        assert relative_error(forward_dynamics(mechanism, q, v, tau, **options), a) < CONDITIONED


@mechanisms
def test_separate_bodies_equal_the_mass_matrix_solution(seed):
    mechanism, q, v, tau = case(seed, mimic=0.0)
    assert not couples_joints(mechanism)
    expected = np.linalg.solve(mass_matrix(mechanism, q), tau - bias(mechanism, q, v))
    assert relative_error(forward_dynamics(mechanism, q, v, tau), expected) < CONDITIONED


@mechanisms
def test_inverse_dynamics_is_affine_in_acceleration(seed):
    mechanism, q, v, a = case(seed)
    M, h = mass_matrix(mechanism, q), bias(mechanism, q, v)
    assert relative_error(M @ a + h, inverse_dynamics(mechanism, q, v, a)) < ROUNDING
    # The document's way: a column is the torque of a unit acceleration at rest without gravity.
    rest = replace(mechanism, gravity=np.zeros(3))
    zero = np.zeros(mechanism.n_v)
    columns = [inverse_dynamics(rest, q, zero, unit) for unit in np.eye(mechanism.n_v)]
    assert relative_error(M, np.stack(columns, axis=1)) < ROUNDING


@mechanisms
def test_mass_matrix_is_symmetric_positive_and_sparse_as_the_tree(seed):
    mechanism, q, *_ = case(seed, mimic=0.0)
    M = mass_matrix(mechanism, q)
    assert np.array_equal(M, M.T)
    assert np.linalg.eigvalsh(M)[0] > 0
    D = mechanism.tree.reachability
    for i, _, one in mechanism.outward():
        for j, _, other in mechanism.outward():
            block = M[mechanism.v_slices[one.name], mechanism.v_slices[other.name]]
            assert D[i, j] or D[j, i] or not block.any()
    assert relative_error(inverse_mass_matrix(mechanism, q) @ M, np.eye(mechanism.n_v)) < CONDITIONED


@mechanisms
def test_regressor_times_parameters_is_inverse_dynamics(seed):
    mechanism, q, v, a = case(seed)
    torque = regressor(mechanism, q, v, a) @ mechanism.inertial_parameters
    assert relative_error(torque + rotor_torque(mechanism, a), inverse_dynamics(mechanism, q, v, a)) < ROUNDING
    assert len(parameter_names(mechanism)) == 10 * len(mechanism.joints)


@mechanisms
def test_drive_regressor_times_parameters_is_friction_and_rotor_torque(seed):
    mechanism, _, v, a = case(seed, mimic=0.0)
    drives = [joint.drive or Drive() for joint in mechanism.joints]
    shaped = [drive.shaped(joint.type.n_v) for drive, joint in zip(drives, mechanism.joints, strict=True)]
    p = [
        np.concatenate([getattr(d, name) for d in shaped])
        for name in ("rotor_inertia", "viscous", "coulomb", "offset")
    ]
    torque = drive_regressor(mechanism, v, a) @ np.concatenate(p)
    assert relative_error(torque, rotor_torque(mechanism, a) + friction_torque(mechanism, v)) < ROUNDING


@mechanisms
def test_energy_changes_by_the_power_of_the_joints(seed):
    mechanism, q, v, a = case(seed)
    tau = inverse_dynamics(mechanism, q, v, a)
    h = 1e-30
    ahead = total_energy(mechanism, mechanism.integrate(q.astype(complex), 1j * h * v), v + 1j * h * a)
    assert np.imag(ahead) / h == pytest.approx(tau @ v, rel=1e-11, abs=1e-11)
    assert kinetic_energy(mechanism, q, v) == pytest.approx(0.5 * v @ mass_matrix(mechanism, q) @ v)
    slope = directional_derivative(mechanism, lambda x: potential_energy(mechanism, x), q, v)
    assert slope == pytest.approx(gravity_torque(mechanism, q) @ v, rel=1e-11, abs=1e-11)


@mechanisms
def test_rate_of_the_mass_matrix_less_twice_coriolis_is_skew(seed):
    """v·(Ṁ − 2C)·v = 0 for every v, where C v is the bias without gravity."""
    mechanism, q, v, _ = case(seed)
    rest = replace(mechanism, gravity=np.zeros(3))
    rate = directional_derivative(mechanism, lambda x: mass_matrix(mechanism, x), q, v)
    assert 0.5 * v @ rate @ v == pytest.approx(v @ bias(rest, q, v), rel=1e-10, abs=1e-10)


@mechanisms
def test_free_bodies_conserve_momentum(seed):
    mechanism = with_base(replace(random_mechanism(seed, n=6), gravity=np.zeros(3)), "free")
    q, v, _ = random_state(mechanism, seed)
    rng = np.random.default_rng(seed)
    tau = np.concatenate([np.zeros(6), rng.normal(size=mechanism.n_v - 6)])
    a = forward_dynamics(mechanism, q, v, tau)
    h = 1e-30
    ahead = total_momentum(mechanism, mechanism.integrate(q.astype(complex), 1j * h * v), v + 1j * h * a)
    now = total_momentum(mechanism, q, v)
    assert abs(np.imag(ahead) / h).max() < CONDITIONED * max(1, abs(now).max()) * 10
    A = centroidal_matrix(mechanism, q) @ v
    assert relative_error(A[:3], now[:3]) < ROUNDING


@mechanisms
def test_trunk_equals_the_free_joint(seed):
    body = random_mechanism(seed, n=6, kinds=SINGLE, drives=True)
    rng = np.random.default_rng(seed)
    trunk, free = with_base(body, "trunk"), with_base(body, "free")
    q, v = trunk.random(rng), rng.normal(size=trunk.n_v)
    tau = np.concatenate([np.zeros(6), rng.normal(size=body.n_v)])
    a = forward_dynamics(trunk, q, v, tau)
    # The same state for the free joint: pose, twist and acceleration of the body that the trunk carries.
    link = trunk.link_number(body.links[0].name)
    T = link_poses(trunk, q)[link]

    motion = body_motions(trunk, q, v, a)[link]
    q_free = np.concatenate([T[:3, 3], to_quaternion(T[:3, :3]), q[6:]])
    v_free = np.concatenate([motion.v, motion.w, v[6:]])
    a_free = forward_dynamics(free, q_free, v_free, tau)
    assert relative_error(a_free[6:], a[6:]) < CONDITIONED
    assert relative_error(a_free[3:6], motion.e) < CONDITIONED
    assert relative_error(a_free[:3] + np.cross(motion.w, motion.v), motion.a) < CONDITIONED


@mechanisms
def test_the_ground_gives_what_changes_the_momentum(seed):
    """Wrench on link 0 = rate of the total momentum about the world's origin − the moment of the weight."""
    mechanism, q, v, a = case(seed)
    h = 1e-30
    ahead = total_momentum(mechanism, mechanism.integrate(q.astype(complex), 1j * h * v), v + 1j * h * a)
    weight = total_mass(mechanism) * mechanism.gravity
    pull = np.concatenate([weight, np.cross(center_of_mass(mechanism, q), weight)])
    assert relative_error(joint_wrenches(mechanism, q, v, a)[0], np.imag(ahead) / h - pull) < ROUNDING


@mechanisms
def test_external_wrench_equals_its_reaction_through_the_jacobian(seed):

    mechanism, q, v, a = case(seed)
    rng = np.random.default_rng(seed)
    external = rng.normal(size=(mechanism.n_links, 6))
    change = inverse_dynamics(mechanism, q, v, a) - inverse_dynamics(mechanism, q, v, a, external)
    expected = sum(
        jacobian(mechanism, q, name, "local").T @ external[i] for i, name in enumerate(mechanism.link_names)
    )
    assert relative_error(change, expected) < ROUNDING


@mechanisms
def test_moving_base_equals_a_moving_link_above_it(seed):
    """A free joint that is made to move as the base does."""
    body = random_mechanism(seed, n=6)
    free = with_base(body, "free")
    q, v, a = random_state(free, seed)
    body_q, body_v, body_a = q[7:], v[6:], a[6:]
    T = link_poses(free, q)[1]
    still = replace(body, gravity=T[:3, :3].T @ body.gravity)
    w, lin = v[3:6], v[:3]
    base = Motion(lin, w, a[:3] + np.cross(w, lin), a[3:6])
    tau = inverse_dynamics(still, body_q, body_v, body_a, base=base)
    assert relative_error(tau, inverse_dynamics(free, q, v, a)[6:]) < ROUNDING


@mechanisms
def test_against_pinocchio(seed):
    mechanism, q, v, a = case(seed)
    oracle = Oracle(mechanism)
    model, data, G = oracle.model, oracle.data, oracle.G(q)
    rng = np.random.default_rng(seed)
    tau = G.T @ pin.rnea(model, data, oracle.q(q), oracle.v(q, v), oracle.a(q, v, a)) + rotor_torque(mechanism, a)
    assert relative_error(inverse_dynamics(mechanism, q, v, a), tau) < ROUNDING
    M = pin.crba(model, data, oracle.q(q))
    M = np.triu(M) + np.triu(M, 1).T
    assert relative_error(mass_matrix(mechanism, q), G.T @ M @ G + rotor_matrix(mechanism)) < ROUNDING
    g = G.T @ pin.computeGeneralizedGravity(model, data, oracle.q(q))
    assert relative_error(gravity_torque(mechanism, q), g) < ROUNDING
    kinetic = pin.computeKineticEnergy(model, data, oracle.q(q), oracle.v(q, v))
    assert kinetic_energy(mechanism, q, v) - 0.5 * v @ rotor_torque(mechanism, v) == pytest.approx(kinetic)
    if not couples_joints(mechanism) and mechanism.n_v == model.nv and not rotor_matrix(mechanism).any():
        torque = rng.normal(size=mechanism.n_v)
        # Pinocchio's planar velocity is in body axes, so compare what both accelerations do: the torque they need.
        theirs = pin.aba(model, data, oracle.q(q), oracle.v(q, v), np.linalg.solve(G.T, torque))
        ours = forward_dynamics(mechanism, q, v, torque)
        assert relative_error(oracle.a(q, v, ours), theirs) < CONDITIONED


def test_coupled_rotors():
    """TX40's wrist: motor 6 turns with joints 5 and 6, so the reflected inertia couples them."""
    links = [Link("base", np.zeros(10))] + [
        Link(f"l{k}", inertia.parameters(1, np.ones(3) * 0.1, np.eye(3))) for k in (1, 2)
    ]
    joints = [
        Joint("j1", "base", "l1", Revolute((0, 0, 1)), drive=Drive(1e-3, 45)),
        Joint("j2", "l1", "l2", Revolute((0, 1, 0)), drive=Drive(2e-3, 32)),
    ]
    N = np.array([[45.0, 0.0], [32.0, 32.0]])
    arm = assemble("wrist", links, joints, transmission=N)
    assert couples_joints(arm)
    assert np.allclose(rotor_matrix(arm), N.T @ np.diag([1e-3, 2e-3]) @ N)
    q, v, a = random_state(arm, 0)
    assert relative_error(forward_dynamics(arm, q, v, inverse_dynamics(arm, q, v, a)), a) < ROUNDING
    assert np.allclose(drive_regressor(arm, v, a)[:, :2] @ [1e-3, 2e-3], rotor_torque(arm, a))


def test_friction_has_no_sign_at_rest_and_smooths():
    mechanism = random_mechanism(1, n=6, kinds=("revolute",), drives=True, mimic=0)
    rest = np.zeros(mechanism.n_v)
    offsets = np.concatenate([joint.drive.offset for joint in mechanism.joints])
    assert np.allclose(friction_torque(mechanism, rest), offsets)
    v = np.ones(mechanism.n_v)
    assert np.allclose(friction_torque(mechanism, v, smoothing=1e-3), friction_torque(mechanism, v))


def test_factorisation_without_fill_in():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(6, 6))
    A = A @ A.T + np.eye(6)
    A[:3, 3:5] = A[3:5, :3] = 0
    assert np.allclose(linear.solve(A, np.eye(6)), np.linalg.inv(A))
    L, _ = linear.factor(np.array([[4.0, 0, 1], [0, 3, 1], [1, 1, 5]]))
    assert L[1][0] != 0  # joints 0 and 1 meet in 2, so this matrix is no tree's; in a tree's order:
    L, _ = linear.factor(np.array([[5.0, 1, 1], [1, 4, 0], [1, 0, 3]]))
    assert L[2][1] == 0
