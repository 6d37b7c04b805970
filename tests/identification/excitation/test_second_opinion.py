"""IPOPT (through casadi) as a second opinion on the optimum: another algorithm with other derivatives."""

import casadi
import numpy as np
import pytest

import zveno
from casadi_oracle import in_casadi
from zveno.algorithms.inverse_dynamics import inverse_dynamics
from zveno.base_parameters.regressor import regressor_columns, states_of
from zveno.fit.threads import one_thread
from zveno.identification.excitation._curves import FourierBasis
from zveno.identification.excitation._optimise import ascended, random_motions, settled
from zveno.identification.excitation.plan_excitation import excitation_problem
from zveno.kernels.trace import trace
from zveno.motion_limits import MotionLimits, motion_bounds

GAIN = 0.01
"""Share of σ that IPOPT may still gain: the barrier ends at a weight that keeps about this much."""


@pytest.fixture(scope="module")
def task():
    with one_thread():
        yield two_links()


def two_links():
    robot = zveno.load("planar2").with_gravity((0.0, -9.81, 0.0))
    inertia = np.array([2.0, 0.3, 0.02, 0.0, 0.02, 0.0, 0.08, 0.0, 0.0, 0.09])
    robot = robot.with_inertia(dict.fromkeys(robot.link_names[1:], inertia))
    limits, _ = motion_bounds(robot, None, MotionLimits(2.0, 8.0, None, [20.0, 8.0]))
    return excitation_problem(
        robot, limits, FourierBasis(5.0, 4), drives=("viscous",), payload=None, have=None, clearance=None,
        torque_sigma=1.0,
    )  # fmt: skip


def in_states(task, function, constants, states):
    """A function of one state, traced, as casadi rows of all states."""
    program = trace(function, states_of(task.wanted.mechanism), outputs=("y",), constants=constants)
    inputs, (output,) = in_casadi(program)
    return casadi.Function("y", inputs, [casadi.densify(output)]).map(task.n_samples)(*(x.T for x in states))


def second_opinion(task, x):
    """A local optimum by IPOPT from x (f, n), inside limits on the grid, with derivatives of casadi."""
    mechanism, n = task.wanted.mechanism, task.n
    unknown = casadi.MX.sym("x", x.size)
    X = casadi.reshape(unknown, n, -1).T
    states = [casadi.mtimes(casadi.DM(matrix), X) for matrix in task.states(np.eye(len(x)))]
    rows = in_states(task, regressor_columns, (mechanism, task.wanted.columns), states)  # (n r, samples)
    rows = casadi.reshape(rows, task.wanted.n, -1)
    torque = in_states(task, inverse_dynamics, (mechanism,), states)
    shares = [torque / casadi.repmat(casadi.DM(task.torque_limit), 1, task.n_samples)]
    for order, bound in task.bounds:
        moved = X - casadi.DM(task.middle) if order == 0 else X
        size = casadi.repmat(casadi.DM(task.limits.sizes(order)).T, len(bound), 1)
        shares.append(casadi.mtimes(casadi.DM(bound), moved) / size)
    used = casadi.vertcat(*(casadi.vec(share) for share in shares))
    M = casadi.SX.sym("M", task.wanted.n, task.wanted.n)
    log_det = casadi.Function("d", [M], [2.0 * casadi.sum1(casadi.log(casadi.diag(casadi.chol(M))))])
    value = log_det(task.samples * casadi.mtimes(rows, rows.T))
    options = {"print_time": False, "ipopt.print_level": 0, "ipopt.sb": "yes", "ipopt.max_iter": 300,
               "ipopt.hessian_approximation": "limited-memory", "ipopt.tol": 1e-6}  # fmt: skip
    solver = casadi.nlpsol("s", "ipopt", {"x": unknown, "f": -value, "g": used}, options)
    return np.array(solver(x0=x.ravel(), lbg=-1.0, ubg=1.0)["x"]).reshape(x.shape)


def test_ipopt_gains_nothing_on_the_optimum(task):
    start = random_motions(task, 20, np.random.default_rng(0))[0]
    ours = settled(task, ascended(task, start, lambda: False))
    theirs = second_opinion(task, ours)
    assert task.linear_use(theirs).max() < 1.0 + 1e-6
    worth = [task.value(x) / (2 * task.wanted.n) for x in (start, ours, theirs)]
    assert worth[1] - worth[0] > 10 * GAIN
    assert worth[2] - worth[1] < GAIN


@pytest.mark.laws
def test_ipopt_finds_no_better_optimum_from_the_same_starts(task):
    """Single starts end in different local optima; the best of several is compared."""
    starts = random_motions(task, 6, np.random.default_rng(1))
    ours = max(task.value(settled(task, ascended(task, start, lambda: False))) for start in starts)
    theirs = max(task.value(second_opinion(task, start)) for start in starts)
    assert (theirs - ours) / (2 * task.wanted.n) < GAIN
