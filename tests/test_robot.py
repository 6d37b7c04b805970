"""Compiled functions take any batch, and parameters need no rebuilding."""

import pickle
import runpy
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

import zoo
import zveno
from mechanisms import random_inertia, random_mechanism, random_state, relative_error
from pinocchio_oracle import Oracle
from tiers import few
from zveno import calibration, ik
from zveno.errors import ShapeError, UnknownNameError
from zveno.kernels import compile as door
from zveno.mechanism import edit
from zveno.spatial.rotations import exp
from zveno.spatial.transforms import transform

SAME = 1e-12
"""Kernels fuse products and sums, so they differ from NumPy by some roundings."""


@pytest.fixture(scope="module")
def robots():
    """A tree of every joint type, with drives and a mimic joint, and states for a batch of it."""
    return zoo.robot("every joint type"), zoo.states("every joint type", 6)


@pytest.mark.parametrize("shape", [(), (0,), (1,), (3, 1, 2)])
def test_any_batch_shape_and_out(robots, shape):
    robot, (q, *_) = robots
    batch = np.broadcast_to(q[0], (*shape, robot.n_q))
    T = robot.forward_kinematics(batch)
    assert T.shape == (*shape, 4, 4)
    out = np.empty((*shape, 6, robot.n_v))
    assert robot.jacobian(batch, out=out) is out
    assert np.array_equal(out, np.broadcast_to(robot.jacobian(q[0]), out.shape))
    assert robot.random(shape, rng=0).shape == (*shape, robot.n_q)


@pytest.mark.parametrize("seed", few(range(3), 1))
def test_derivatives_against_differences_in_the_tangent(seed):
    mechanism = random_mechanism(
        seed, n=6, kinds=("revolute", "spherical", "prismatic", "free", "universal"), mimic=0.3
    )
    robot = zveno.Robot(mechanism)
    q, v, a = random_state(mechanism, seed)
    tau = robot.inverse_dynamics(q, v, a)
    h = 1e-6
    for name, last in (("inverse_dynamics", a), ("forward_dynamics", tau)):
        function = getattr(robot, name)
        by_q, by_v, by_last = getattr(robot, f"{name}_derivatives")(q, v, last)
        for k, unit in enumerate(np.eye(robot.n_v)):
            ahead, behind = robot.integrate(q, h * unit), robot.integrate(q, -h * unit)
            slopes = (
                (by_q, function(ahead, v, last) - function(behind, v, last)),
                (by_v, function(q, v + h * unit, last) - function(q, v - h * unit, last)),
                (by_last, function(q, v, last + h * unit) - function(q, v, last - h * unit)),
            )
            for exact, difference in slopes:
                assert relative_error(exact[:, k], difference / (2 * h)) < 2e-6


@pytest.mark.parametrize("seed", few(range(3), 1))
def test_derivatives_against_pinocchio(seed):
    mechanism = random_mechanism(seed, n=8, kinds=("revolute", "prismatic", "spherical", "free"), mimic=0.0)
    robot, oracle = zveno.Robot(mechanism), Oracle(mechanism)
    q, v, a = random_state(mechanism, seed)
    theirs = pin.computeRNEADerivatives(oracle.model, oracle.data, oracle.q(q), v, a)
    ours = robot.inverse_dynamics_derivatives(q, v, a)
    assert relative_error(ours[0], theirs[0]) < SAME
    assert relative_error(ours[1], theirs[1]) < SAME
    tau = robot.inverse_dynamics(q, v, a)
    theirs = pin.computeABADerivatives(oracle.model, oracle.data, oracle.q(q), v, tau)
    for got, want in zip(robot.forward_dynamics_derivatives(q, v, tau), theirs, strict=True):
        assert relative_error(got, want) < 1e-9


def test_changed_payload_tool_and_gravity_share_kernels(robots):
    robot, (q, v, a) = robots
    T = transform(exp(np.array([0.1, 0.2, 0.3])), [0.1, 0, 0.2])
    for mass in (1.0, 2.5):
        changed = (
            robot.with_gravity((1.0, 2.0, 3.0 * mass)).with_tool(T).with_payload(mass, (0.1, 0.2, 0.3), np.eye(3))
        )
        fresh = zveno.Robot(changed.mechanism)
        assert relative_error(changed.inverse_dynamics(q, v, a), fresh.inverse_dynamics(q, v, a)) < SAME
        assert relative_error(changed.forward_kinematics(q), fresh.forward_kinematics(q)) < SAME
        assert relative_error(changed.mass_matrix(q), fresh.mass_matrix(q)) < SAME
        kernels = [changed.kernel("inverse_dynamics", tuple(changed._bound)) for _ in range(2)]
        assert kernels[0] is kernels[1]
    robot.with_payload(1.0).inverse_dynamics(q, v, a)
    built = door._kernel.cache_info().misses
    robot.with_payload(2.0).inverse_dynamics(q, v, a)
    assert door._kernel.cache_info().misses == built
    twice = robot.with_payload(1.0).with_payload(2.0)
    assert relative_error(twice.gravity_torque(q), robot.with_payload(3.0).gravity_torque(q)) < SAME


def test_with_inertia_replaces_and_keeps_later_payloads(robots):
    robot, (q, v, a) = robots
    p = random_inertia(np.random.default_rng(1))
    changed = robot.with_payload(5.0).with_inertia({"link3": p}).with_payload(1.0)
    fresh = zveno.Robot(changed.mechanism)
    assert relative_error(changed.inverse_dynamics(q, v, a), fresh.inverse_dynamics(q, v, a)) < SAME


def test_constants_as_inputs(robots):
    robot, (q, v, a) = robots
    rng = np.random.default_rng(2)
    mechanism = robot.mechanism
    P = np.stack([random_inertia(rng) for _ in mechanism.links])
    g = rng.normal(size=3)
    heavy = edit.with_gravity(edit.with_inertia(mechanism, dict(zip(mechanism.link_names, P, strict=True))), g)
    expected = zveno.Robot(heavy).inverse_dynamics(q, v, a)
    got = robot.kernel("inverse_dynamics", inputs=["inertia", "gravity"])(q, v, a, P, g)
    assert relative_error(got, expected) < SAME
    placements = np.stack([joint.T_parent_joint for joint in mechanism.joints])
    shifted = placements.copy()
    shifted[2] = shifted[2] @ transform(exp(np.array([0.0, 0.01, 0.0])), [0.001, 0, 0])
    pose, mass = (robot.kernel(name, inputs=["geometry"]) for name in ("forward_kinematics", "mass_matrix"))
    assert relative_error(pose(q, placements), robot.forward_kinematics(q)) < SAME
    joints = [
        joint if k != 2 else type(joint)(**{**vars_of(joint), "T_parent_joint": shifted[2]})
        for k, joint in enumerate(mechanism.joints)
    ]
    fresh = zveno.Robot(edit.rebuilt(mechanism, joints=joints))
    assert relative_error(pose(q, shifted), fresh.forward_kinematics(q)) < SAME
    assert relative_error(mass(q, shifted), fresh.mass_matrix(q)) < SAME
    # One gravity for every state of the batch.
    several = robot.kernel("gravity_torque", inputs=["gravity"])(q, rng.normal(size=(len(q), 3)))
    assert several.shape == (len(q), robot.n_v)


def vars_of(joint):
    return {name: getattr(joint, name) for name in joint.__dataclass_fields__}


def test_inputs_missing_or_unknown(robots):
    robot, (q, *_) = robots
    with pytest.raises(UnknownNameError, match="gravty"):
        robot.kernel("gravity_torque", inputs=["gravty"])
    with pytest.raises(ShapeError, match="gravity"):
        robot.kernel("gravity_torque", inputs=["gravity"])(q)
    with pytest.raises(TypeError, match="gravity"):
        robot.gravity_torque(q, gravity=np.zeros(3))


def test_bad_arguments_are_named(robots):
    robot, (q, v, _) = robots
    with pytest.raises(ShapeError, match=rf"q.*{robot.n_q}"):
        robot.forward_kinematics(np.zeros(robot.n_q + 1))
    with pytest.raises(ShapeError, match="v"):
        robot.frame_velocity(q, v[:, :-1])
    with pytest.raises(ShapeError, match="complex"):
        robot.forward_kinematics(q.astype(complex))
    with pytest.raises(ShapeError, match="object"):
        robot.forward_kinematics(np.array([None] * robot.n_q))
    with pytest.raises(UnknownNameError, match=r"no frame named 'tol'.*tool"):
        robot.forward_kinematics(q, frame="tol")
    with pytest.raises(UnknownNameError, match="reference"):
        robot.jacobian(q, reference="body")
    with pytest.raises(UnknownNameError, match="function"):
        robot.kernel("inverse_dinamics")


def test_nan_and_inf_propagate(robots):
    robot, (q, v, a) = robots
    broken = q.copy()
    broken[2, 0] = np.nan
    T = robot.forward_kinematics(broken)
    assert np.isnan(T[2]).any()
    assert np.isfinite(np.delete(T, 2, axis=0)).all()
    assert np.isnan(robot.inverse_dynamics(broken, v, a)[2]).any()


def test_robot_pickles_with_its_changes(robots):
    robot, (q, v, a) = robots
    changed = robot.with_payload(2.0).with_gravity((0, 0, -1))
    back = pickle.loads(pickle.dumps(changed))
    assert np.array_equal(back.inverse_dynamics(q, v, a), changed.inverse_dynamics(q, v, a))
    assert repr(back) == repr(changed)


def test_pack_unpack_and_limits(robots):
    robot, (q, *_) = robots
    again = robot.pack({name: robot.unpack(q[0])[name] for name in robot.joint_names})
    assert np.array_equal(again, q[0])
    sample = robot.random(200, rng=1)
    assert np.all((sample >= robot.lower) & (sample <= robot.upper))
    assert robot.neutral().shape == (robot.n_q,)


def test_integrate_and_difference(robots):
    robot, (q, v, _) = robots
    moved = robot.integrate(q, 0.1 * v)
    assert np.allclose(robot.difference(q, moved), 0.1 * v, atol=1e-12)


def test_free_base(robots):
    """Held still, the floating robot needs at its joints what the fixed one does, and its weight at the base."""
    robot, (q, *_) = robots
    free = robot.with_base("free")
    assert free.n_q == robot.n_q + 7
    standing = np.concatenate([free.neutral()[:7], q[0]])
    torque = free.gravity_torque(standing)
    assert relative_error(torque[6:], robot.gravity_torque(q[0])) < SAME
    weight = sum(link.inertia[0] for link in robot.mechanism.links) * robot.mechanism.gravity
    assert relative_error(torque[:3], -weight) < SAME


def test_methods_of_later_layers():
    from zveno.simulation import Weld

    robot = zveno.load("ur5")
    q, v, a = np.random.default_rng(0).normal(size=(3, 5, 6))
    for one in (robot, robot.with_gravity((1.0, 0.0, -9.0))):
        base = one.base_parameters()
        torque = base.regressor(q, v, a) @ base.project(one.mechanism.inertial_parameters)
        assert relative_error(torque, one.inverse_dynamics(q, v, a)) < 1e-9
    held = zveno.simulation.constrained_dynamics(robot, q[0], v[0], a[0], [Weld("wrist_3_link")])
    assert np.allclose(robot.frame_acceleration(q[0], v[0], held.a), 0, atol=1e-6)


def test_what_users_hold_in_their_hands_prints_on_one_line():
    robot = zveno.load("puma560")
    pose = robot.forward_kinematics(robot.neutral())
    mechanism = robot.mechanism
    things = [
        robot,
        mechanism,
        mechanism.links[1],
        mechanism.joints[0],
        mechanism.default_frame,
        zveno.Frame("camera", "link6"),
        calibration.Dataset(calibration.Position(), robot.random(30, 1), np.zeros((30, 3))),
        zveno.base_parameters.BaseModel(robot),
        ik.PosePath.line(pose, pose),
        ik.Tolerance(position=1e-3),
        calibration.Position(),
    ]
    for thing in things:
        text = repr(thing)
        assert "\n" not in text
        assert " at 0x" not in text
        assert len(text) < 120, text


def test_methods_are_those_of_the_table():
    tool = runpy.run_path(str(Path(__file__).parents[1] / "tools" / "write_methods.py"))
    assert tool["TARGET"].read_text() == tool["module"](), "run tools/write_methods.py"


def test_options_that_a_function_does_not_take_are_refused():
    with pytest.raises(zveno.ZvenoError, match="option of mass_matrix"):
        zveno.load("puma560").kernel("mass_matrix", joint_friction=True)
