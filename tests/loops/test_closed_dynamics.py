"""Dynamics in independent velocities: against KKT in 60 digits, Lagrange's equations, and laws."""

import pickle
from dataclasses import replace
from functools import partial

import flint
import numpy as np
import pytest
from closed_machines import ankle, five_bar, four_bar, palletiser, random_machine

import zveno
from mechanisms import relative_error
from tiers import few
from zveno.closed_robot import ClosedRobot
from zveno.errors import ModelError
from zveno.loops.functions import CLOSED_FUNCTIONS, NOT_COVARIANT
from zveno.simulation import evaluate_constraints

MACHINES = {"four-bar": four_bar, "five-bar": five_bar, "palletiser": palletiser, "ankle": ankle}
KKT = 1e-13
"""Relative: accelerations of mechanisms without idle freedoms."""
RANDOM_KKT = 1e-10
"""Relative: random trees are worse conditioned, and may have freedoms that hardly any inertia resists."""


def tree_of(robot):
    return zveno.Robot(replace(robot.mechanism, loops=(), motors=None, reference=None))


def state(closed, seed=0):
    """A closed configuration beside the reference, independent velocities, and torques."""
    rng = np.random.default_rng(seed)
    q = closed.integrate(closed.q, 0.01 * rng.normal(size=closed.n_v))
    return q, rng.normal(size=closed.n_v), rng.normal(size=len(closed.torque_names))


def whole_torques(closed, tau):
    whole = np.zeros(closed.mechanism.n_v)
    whole[list(closed.division.torques)] = tau
    return whole


def exact_accelerations(closed, q, v, tau):
    """KKT of the independent rows in 60 digits: all accelerations of the mechanism."""
    tree, whole = tree_of(closed.robot), closed.velocities(q, v)
    rows = evaluate_constraints(closed.robot, q, whole, [])
    chosen = [row for row, _ in closed.division.pivots]
    locked = sorted(
        set(range(len(whole))) - {k for _, k in closed.division.pivots} - set(closed.division.independent)
    )
    J = np.vstack([rows.J[chosen], np.eye(len(whole))[locked]])
    P = np.concatenate([rows.bias[chosen], np.zeros(len(locked))])
    K = np.block([[tree.mass_matrix(q), -J.T], [J, np.zeros((len(J), len(J)))]])
    right = np.concatenate([whole_torques(closed, tau) - tree.bias(q, whole), -P])
    with flint.ctx.workprec(200):
        exact = [
            flint.arb_mat(len(A), len(A[0]), [x for row in A for x in row])
            for A in (K.tolist(), right[:, None].tolist())
        ]
        solved = exact[0].solve(exact[1])
    return np.array([float(solved[k, 0].mid()) for k in range(len(whole))])


@pytest.mark.parametrize("name", MACHINES)
def test_accelerations_are_those_of_kkt(name):
    closed = ClosedRobot(MACHINES[name]())
    for seed in range(3):
        q, v, tau = state(closed, seed)
        a = exact_accelerations(closed, q, v, tau)
        assert relative_error(closed.forward_dynamics(q, v, tau), closed.independent(a)) < KKT


@pytest.mark.laws
@pytest.mark.parametrize("seed", few(range(20), 4))
def test_accelerations_of_random_machines_are_those_of_kkt(seed):
    closed = ClosedRobot(random_machine(seed))
    q, v, tau = state(closed, seed)
    a = exact_accelerations(closed, q, v, tau)
    assert relative_error(closed.forward_dynamics(q, v, tau), closed.independent(a)) < RANDOM_KKT


LAGRANGE = {
    "four-bar": [  # crank at 0.4, rate 1.7, torque 0.6
        ({"crank": 0.4}, [1.7], [0.6], [-31.455444694489834]),
        (
            {"crank": -2.0, "coupler": 2.9982269902327814, "rocker": 2.492342708425623},
            [1.7],
            [0.6],
            [19.083270877924193],
        ),
    ],
    "five-bar": [({"left": 2.2}, [0.8, -1.1], [0.5, -0.2], [30.822379652658068, -27.98158213231293])],
}
"""Plane rods, by Lagrange's equations in independent angles, differentiated in 40 digits."""


@pytest.mark.parametrize("name", LAGRANGE)
def test_lagrange(name):
    closed = ClosedRobot(MACHINES[name]())
    for values, v, tau, a in LAGRANGE[name]:
        q = closed.mechanism.pack(values, closed.q)
        assert np.allclose(closed.forward_dynamics(q, v, tau), a, rtol=1e-12)


@pytest.mark.laws
@pytest.mark.parametrize("make", [*MACHINES.values(), *(partial(random_machine, k) for k in range(12))])
def test_laws(make):
    closed = ClosedRobot(make())
    tree = tree_of(closed.robot)
    q, v, tau = state(closed)
    a = closed.forward_dynamics(q, v, tau)
    scale = max(1.0, abs(closed.bias(q, v)).max(), abs(tau).max())
    assert abs(closed.inverse_dynamics(q, v, a) - tau).max() < 1e-9 * scale, "inverse and forward dynamics"
    M, zero = closed.mass_matrix(q), np.zeros(closed.n_v)
    assert np.array_equal(M, M.T)
    columns = [
        closed.inverse_dynamics(q, zero, e) - closed.inverse_dynamics(q, zero, zero) for e in np.eye(closed.n_v)
    ]
    assert relative_error(np.stack(columns, axis=1), M) < 1e-9, "M from inverse dynamics"
    assert relative_error(closed.inverse_mass_matrix(q) @ M, np.eye(closed.n_v)) < 1e-8
    assert relative_error(M @ a + closed.bias(q, v), tau) < 1e-9 * scale, "equations of motion"
    assert relative_error(closed.bias(q, zero), closed.gravity_torque(q)) < 1e-12
    # what keeps the loops closed: the torque that the tree needs beyond the motors' does no work
    whole = closed.velocities(q, v)
    rows = evaluate_constraints(closed.robot, q, whole, [])
    chosen = [row for row, _ in closed.division.pivots]
    dependent, independent = [k for _, k in closed.division.pivots], list(closed.division.independent)
    accelerations = np.zeros(len(whole))
    accelerations[independent] = a
    right = rows.J[np.ix_(chosen, independent)] @ a + rows.bias[chosen]
    accelerations[dependent] = -np.linalg.solve(rows.J[np.ix_(chosen, dependent)], right)
    reaction = tree.inverse_dynamics(q, whole, accelerations) - whole_torques(closed, tau)
    assert abs(reaction @ whole) < 1e-9 * scale * max(1.0, abs(whole).max()), "reactions do no work"
    assert abs(rows.J[chosen] @ whole).max() < 1e-9 * max(1.0, abs(whole).max())
    p = closed.mechanism.inertial_parameters
    if not any(joint.drive for joint in closed.mechanism.joints):
        assert relative_error(closed.regressor(q, v, a) @ p, closed.inverse_dynamics(q, v, a)) < 1e-9 * scale
    assert np.isclose(sum(np.atleast_1d(closed.energy(q, v)[0])), 0.5 * v @ M @ v)


@pytest.mark.laws
@pytest.mark.parametrize("make", [*MACHINES.values(), *(partial(random_machine, k) for k in range(6))])
def test_derivatives_and_power(make):
    closed = ClosedRobot(make())
    q, v, tau = state(closed)
    a, n, h = closed.forward_dynamics(q, v, tau), closed.n_v, 1e-5

    def slope(function, m):
        """Central differences in independent directions; along q, by moving on the loops."""
        return np.stack([(function(h * e) - function(-h * e)) / (2 * h) for e in np.eye(m)], axis=-1)

    def move(step):
        return closed.integrate(q, step)

    pairs = list(zip(closed.inverse_dynamics_derivatives(q, v, a), [
        slope(lambda e: closed.inverse_dynamics(move(e), v, a), n),
        slope(lambda e: closed.inverse_dynamics(q, v + e, a), n),
        slope(lambda e: closed.inverse_dynamics(q, v, a + e), n),
    ], strict=True))  # fmt: skip
    pairs += zip(closed.forward_dynamics_derivatives(q, v, tau), [
        slope(lambda e: closed.forward_dynamics(move(e), v, tau), n),
        slope(lambda e: closed.forward_dynamics(q, v + e, tau), n),
        slope(lambda e: closed.forward_dynamics(q, v, tau + e), len(tau)),
    ], strict=True)  # fmt: skip
    for k, (given, differences) in enumerate(pairs):
        assert relative_error(given, differences) < 1e-5, k
    frame = closed.mechanism.link_names[-1]
    poses = slope(lambda e: closed.forward_kinematics(move(e), frame)[:3, 3], n)
    assert relative_error(closed.jacobian(q, frame)[:3], poses) < 1e-7
    assert relative_error(closed.frame_velocity(q, v, frame), closed.jacobian(q, frame) @ v) < 1e-9

    def energy(t):
        return np.sum(closed.energy(closed.integrate(q, t * v), v + t * a))

    power = (energy(h) - energy(-h)) / (2 * h)
    motors = closed.velocities(q, v)[list(closed.division.torques)]
    assert abs(power - motors @ tau) < 1e-5 * max(1.0, abs(power), abs(a).max()), "power of the motors"


@pytest.mark.laws
def test_a_loop_cut_elsewhere_is_the_same_machine():
    here, elsewhere = ClosedRobot(four_bar()), ClosedRobot(four_bar(cut="crank"))
    for name, arrays in (
        ("mass_matrix", ()),
        ("gravity_torque", ()),
        ("inverse_dynamics", ([1.3], [0.4])),
        ("forward_dynamics", ([1.3], [0.4])),
    ):
        given = [getattr(robot, name)(robot.q, *arrays) for robot in (here, elsewhere)]
        assert np.allclose(*given, rtol=1e-12), name
    spelt = ClosedRobot(four_bar(("x", "z")))
    assert np.allclose(spelt.inverse_dynamics(here.q, [1.3], [0.4]), here.inverse_dynamics(here.q, [1.3], [0.4]))


@pytest.mark.parametrize("motors", [("crank", "rocker"), ("crank", "coupler", "rocker")])
def test_surplus_motors_share_by_least_norm(motors):
    one, several = ClosedRobot(four_bar()), ClosedRobot(four_bar(motors=motors))
    q, v, a = one.q, np.array([1.3]), np.array([0.4])
    k = [several.mechanism.joint_names.index(name) for name in several.torque_names]
    assert several.n_v == 1
    assert len(k) == len(motors)
    own = several.velocity_names[0]
    # the same motion in whichever joint is independent there
    whole = one.velocities(q, v)
    speed = several.independent(whole)
    assert np.allclose(several.velocities(q, speed), whole)
    M = ClosedRobot(four_bar(motors=(own,)))
    rate = several.forward_dynamics(q, speed, np.zeros(len(k)))
    assert np.allclose(several.inverse_dynamics(q, speed, rate), 0, atol=1e-12)
    tau = several.inverse_dynamics(q, speed, rate + a)
    assert np.allclose(several.forward_dynamics(q, speed, tau), rate + a)
    force = M.inverse_dynamics(q, speed, rate + a)
    G = several.velocities(q, np.ones(1))[k]
    assert np.allclose(tau, np.linalg.pinv(G[None]) @ force), "least norm"
    assert np.linalg.norm(tau) < np.linalg.norm(force)
    assert "least norm" in several.notes[0]
    with pytest.raises(ModelError, match="more motors than"):
        several.inverse_dynamics_derivatives(q, speed, a)
    h = 1e-6
    by_v = (several.forward_dynamics(q, speed + h, tau) - several.forward_dynamics(q, speed - h, tau)) / (2 * h)
    assert np.allclose(several.forward_dynamics_derivatives(q, speed, tau)[1][:, 0], by_v, rtol=1e-6)


def test_missing_motors_are_said():
    closed = ClosedRobot(five_bar(motors=("left",)))
    assert closed.n_v == 2
    assert closed.torque_names[0] == "left"
    assert "no motor drives" in closed.notes[0]


@pytest.mark.laws
def test_rods_that_only_spin_are_locked_by_default():
    robot = ankle(ball=True)
    locked, free = ClosedRobot(robot), ClosedRobot(robot, idle="free")
    assert locked.n_v == 2
    assert free.n_v == 4
    assert "idle, locked" in locked.notes[0]
    moved = [free.velocity_names.index(name) for name in locked.velocity_names]
    v, tau = np.zeros(4), np.zeros(4)
    v[moved], tau[[free.torque_names.index(name) for name in locked.torque_names]] = [0.7, -0.4], [1.0, 2.0]
    a = exact_accelerations(free, free.q, v, tau)
    assert relative_error(free.forward_dynamics(free.q, v, tau), free.independent(a)) < RANDOM_KKT
    a = exact_accelerations(locked, locked.q, v[moved], [1.0, 2.0])
    assert relative_error(locked.forward_dynamics(locked.q, v[moved], [1.0, 2.0]), locked.independent(a)) < KKT


def test_states_that_are_open_or_singular_are_refused():
    closed = ClosedRobot(five_bar())
    with pytest.raises(zveno.ZvenoError, match=r"not closed: 0\.\d+ m or rad are left"):
        closed.mass_matrix(closed.q + 0.1)
    with pytest.raises(zveno.ZvenoError, match=r"state \[1\]"):
        closed.forward_dynamics(np.stack([closed.q, closed.q + 0.1]), np.zeros(2), np.zeros(2))
    flat = _stretched()
    with pytest.raises(zveno.ZvenoError, match="singular"):
        closed.gravity_torque(flat)
    assert np.isnan(closed.kernel("gravity_torque")(flat)).all()


def _stretched():
    """Five-bar with both distal links in line: left proximal up, the right one where the line of 0.7 ends."""
    left = 2.0
    start = np.array([-0.15 + 0.25 * np.cos(left), 0.25 * np.sin(left)])
    base = np.array([0.15, 0.0])
    # |start + 0.7 (cos, sin) − base| = 0.25
    angles = np.linspace(-np.pi, np.pi, 200001)
    off = np.hypot(*(start[:, None] + 0.7 * np.array([np.cos(angles), np.sin(angles)]) - base[:, None])) - 0.25
    k = int(np.flatnonzero(np.sign(off[1:]) != np.sign(off[:-1]))[0])
    low, high = angles[k], angles[k + 1]
    for _ in range(60):
        middle = (low + high) / 2
        value = np.hypot(*(start + 0.7 * np.array([np.cos(middle), np.sin(middle)]) - base)) - 0.25
        low, high = (middle, high) if np.sign(value) == np.sign(off[k]) else (low, middle)
    elbow = start + 0.7 * np.array([np.cos(low), np.sin(low)]) - base
    right = np.arctan2(elbow[1], elbow[0])
    return np.array([left, low - left, right, low + np.pi - right])


@pytest.mark.laws
@pytest.mark.parametrize(("make", "rank"), [(four_bar, 8), (five_bar, 11), (palletiser, 25)])
def test_the_regressor_of_motor_torques_has_the_rank_of_base_parameters(make, rank):
    closed = ClosedRobot(make())
    q = closed.random(60, 0)
    rng = np.random.default_rng(1)
    W = closed.regressor(q, *rng.normal(size=(2, 60, closed.n_v)))
    columns = W.reshape(-1, W.shape[-1])
    size = abs(columns).max(axis=0)
    s = np.linalg.svd(columns / np.where(size > 1e-9, size, np.inf), compute_uv=False)
    assert int((s > 1e-7 * s[0]).sum()) == rank
    assert closed.robot.base_parameters(q0=closed.q).rank == rank


def test_random_configurations_are_closed_within_limits_and_on_the_branch():
    closed = ClosedRobot(five_bar())
    q = closed.random((4, 25), 3)
    assert q.shape == (4, 25, 4)
    assert np.array_equal(q, closed.random((4, 25), 3))
    closed.mass_matrix(q)  # raises if one is open
    assert np.ptp(q[..., 0]) > 1.0
    side = np.sign(np.sin(q[..., 1] + q[..., 0] - q[..., 3] - q[..., 2]))
    assert (side == side[0, 0]).all(), "the distal links never pass one another's line"
    reached = 0
    for step in (0.3, 1.2, 2.0, -1.5):  # Newton's method alone closes some of these on the other branch
        for way in ((step, 0), (0, step), (step, -step)):
            try:
                there = closed.integrate(closed.q, way)
            except zveno.ZvenoError:
                continue
            reached += 1
            assert np.sign(np.sin(there[1] + there[0] - there[3] - there[2])) == side[0, 0], way
    assert 0 < reached < 12


def test_functions_without_a_counterpart_are_refused():
    closed = ClosedRobot(four_bar())
    for name in NOT_COVARIANT:
        with pytest.raises(ModelError, match=f"{name} does not exist in independent"):
            closed.kernel(name)
    with pytest.raises(ModelError, match="geometry"):
        closed.kernel("mass_matrix", ["geometry"])
    with pytest.raises(ModelError, match="no closed loops"):
        ClosedRobot(zveno.load("ur5"))
    with pytest.raises(zveno.errors.UnknownNameError, match="idle"):
        ClosedRobot(four_bar(), idle="stuck")  # type: ignore[arg-type]


@pytest.mark.laws
def test_every_function_of_a_batch_is_that_of_its_states():
    closed = ClosedRobot(five_bar())
    rng = np.random.default_rng(1)
    q = closed.integrate(closed.q, 0.05 * rng.normal(size=(3, 2)))
    given = {"q": q, "v": rng.normal(size=(3, 2)), "a": rng.normal(size=(3, 2)), "tau": rng.normal(size=(3, 2))}
    for name in CLOSED_FUNCTIONS:
        function = zveno.functions.FUNCTIONS[name]
        frame = {"frame": {"frame": "tool"}, "frames": {"frames": ("tool",)}}
        options = {k: v for key in function.options for k, v in frame.get(key, {}).items()}
        kernel = closed.kernel(name, **options)
        batch = kernel(*(given[key] for key in function.inputs))
        for k in range(3):
            single = kernel(*(given[key][k] for key in function.inputs))
            for whole, part in zip(*(x if isinstance(x, tuple) else (x,) for x in (batch, single)), strict=True):
                assert np.array_equal(np.asarray(whole)[k], part), name


def test_payloads_are_inputs_and_closed_robots_travel():
    closed = ClosedRobot(four_bar())
    load = np.array([0.5, 0, 0, 0, 0, 0, 0, 0, 0, 0])
    with_input = closed.kernel("gravity_torque", ["payload:coupler"])(closed.q, load)
    loaded = ClosedRobot(closed.robot.with_payload(0.5, frame="coupler"))
    assert np.allclose(with_input, loaded.gravity_torque(closed.q))
    again = pickle.loads(pickle.dumps(closed))
    assert np.array_equal(again.mass_matrix(closed.q), closed.mass_matrix(closed.q))
    wrench = np.zeros((4, 6))
    wrench[2] = [0, 0, -0.5 * 9.81, 0, 0, 0]
    R = closed.robot.link_poses(closed.q)[2][:3, :3]
    wrench[2, :3] = R.T @ wrench[2, :3]
    pulled = closed.inverse_dynamics(closed.q, [0.0], [0.0], external=wrench)
    assert np.allclose(pulled, with_input)
