"""Inverse dynamics with contacts as one program: quadratic program, its solution, and torques.

Unknowns are x = [a_j, f]: accelerations of the driven joints and the forces f ≥ 0 along the edges of a friction
pyramid at every point of every sole. The six rows of the base hold exactly, since its acceleration is eliminated:

    M_bb a_b + M_bj a_j + H_b = B_b f   →   a_b = M_bb⁻¹ (B_b f − H_b − M_bj a_j)
    τ = M_jb a_b + M_jj a_j + H_j − B_j f,   |τ| ≤ limits        rows of the program
    lower ≤ a_j ≤ upper                                           joint limits
    minimise Σ weight |J a + bias − wanted|² + ε |x|²             feet, centre of mass, attitude, posture

A foot that does not stand has forces bounded by zero, so one program serves every set of contacts.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ..algorithms import linear
from ..fit.quadratic.given_and_found import General
from ..fit.quadratic.program import QuadraticProgram
from ..fit.quadratic.steps import Sizes
from ..kernels.builder import Builder
from ..kernels.ops import maximum, minimum
from ..mechanism import Mechanism
from ..spatial.vectors import cross
from .body_state import BodyState, body_state
from .feet import Foot

EDGES = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]]) / np.sqrt(2.0)
"""Directions ahead and left of a pyramid's edges, inside the disc of friction."""
SMALL = 1e-5
"""ε: curvature for directions without a task, beside weights of 0.05 and more."""
LIMIT_RATE = 15.0
"""Rate, 1/s, at which joints may approach their limits: a ≤ k² (q_max − q) − 2 k v."""
SPEED_TIME = 0.02
"""Time, s, in which a joint's speed may approach its limit."""
FOOT_NUMBERS = 22
"""Targets of a foot: position (3), velocity (3), attitude (9), gains of both (4), acceleration (3)."""
SETTINGS = ("ahead x", "ahead y", "center", "height", "attitude", "posture")
"""Heading of friction pyramids, as long as the coefficient of friction, and weights."""


@dataclass(frozen=True)
class TorqueProblem:
    """Structure that the code depends on: a robot on a free base, and its feet."""

    mechanism: Mechanism
    feet: tuple[Foot, ...]

    @property
    def fingerprint(self) -> str:
        """Cache key of the robot and its soles."""
        soles = [(foot.frame, foot.points.tolist()) for foot in self.feet]
        return f"{self.mechanism.fingerprint} {soles}"

    @property
    def frames(self) -> tuple[str, ...]:
        """Names of the feet."""
        return tuple(foot.frame for foot in self.feet)

    @property
    def n_j(self) -> int:
        """Number of driven joints."""
        return self.mechanism.n_v - 6

    @property
    def n_points(self) -> tuple[int, ...]:
        """Number of points of every sole."""
        return tuple(len(foot.points) for foot in self.feet)

    @property
    def n(self) -> int:
        """Number of unknowns."""
        return self.n_j + 4 * sum(self.n_points)

    @property
    def n_wanted(self) -> int:
        """Number of target values: feet, centre of mass, attitude, posture."""
        return FOOT_NUMBERS * len(self.feet) + 3 + 11 + self.n_j + 2


def torque_program(program: Builder, problem: TorqueProblem) -> None:
    """Build (q, v, wanted, weights, carried, limits, settings, warm) → (τ, foot forces, sides, status, steps).

    wanted: of every foot (`FOOT_NUMBERS`), acceleration of the centre of mass (3), attitude of the body (9) with
    two gains, joints (n_j) with two gains, see `accelerations`; weights of the feet (f); carried: largest force of
    an edge of a foot, N, zero in the air (f); limits: effort, lower, upper and speed of the joints (4, n_j);
    warm: sides of the last solution (n).
    """
    mechanism, n, m, n_feet = problem.mechanism, problem.n, problem.n_j, len(problem.feet)
    sizes = {
        "q": mechanism.n_q,
        "v": mechanism.n_v,
        "wanted": problem.n_wanted,
        "weights": n_feet,
        "carried": n_feet,
        "limits": 4 * m,
        "settings": len(SETTINGS),
    }
    given = [program.input(name, (size,), size) for name, size in sizes.items()]
    warm = program.input("warm", (n,))
    tau, forces = program.output("tau", (m,)), program.output("forces", (3 * n_feet,), 3 * n_feet)
    side, status, steps = program.output("side", (n,)), program.output("status", ()), program.output("steps", ())
    H, g = program.scratch("H", n, n), program.scratch("g", n, 1, zero=True)
    lower, upper = program.scratch("lower", n, 1, zero=True), program.scratch("upper", n, 1, zero=True)
    C, rest = program.scratch("C", m, n, zero=True), program.scratch("rest", m, 1, zero=True)
    low, high = program.scratch("low", m, 1, zero=True), program.scratch("high", m, 1, zero=True)
    terms = program.step(partial(torque_terms, problem), *(rows[0] for rows in given))
    H[0, n], g[0, n], lower[0, n], upper[0, n], C[0, m], low[0, m], high[0, m], rest[0, m] = terms
    answer = QuadraticProgram(program, Sizes(n, m)).write(H, g, lower, upper, warm, General(C, low, high))
    with program.each(m) as i:
        tau[i] = program.step(_torque, C[i], answer.x[0, n], rest[i])
    forces[0] = program.step(partial(_forces, problem), answer.x[0, n], given[-1][0])
    side[0, n] = program.step(_same, answer.side[0, n])
    status[0] = program.step(_same, answer.status[0])
    steps[0] = program.step(_same, answer.steps[0])


def torque_terms(
    problem: TorqueProblem, q: Any, v: Any, wanted: Any, weights: Any, carried: Any, limits: Any, settings: Any
) -> tuple[Any, ...]:
    """Return (H, g, lower, upper, C, low, high, torques at x = 0) of the quadratic program of `torque_program`."""
    m, n_feet = problem.n_j, len(problem.feet)
    at = BodyState(*body_state(problem.mechanism, problem.frames, q, v))
    ahead, task_weights = settings[:2], settings[2:]
    maps = [_edge_map(foot, at.feet[k], ahead) for k, foot in enumerate(problem.feet)]
    J = np.concatenate([at.foot_rows[k, : len(maps[k])] for k in range(n_feet)])
    # The base's acceleration for unit accelerations of the joints, and for unit wrenches of the feet.
    factors = linear.factor([[at.M[i, j] for j in range(6)] for i in range(6)])
    base = np.stack(
        [linear.solve_factored(factors, column) for column in (*(-at.M[:6, 6:]).T, *J[:, :6], -at.H[:6])], axis=1
    )
    start, base = base[:, -1], base[:, :-1]
    n_w = base.shape[1]
    joints = np.concatenate([np.eye(m), np.zeros((m, n_w - m))], axis=1)
    reduced = np.concatenate([base, joints])  # a = [start, 0] + reduced [a_j, wrenches]
    asked = accelerations(problem, at, q, v, wanted)
    A, b, w = _tasks(problem, at, asked, weights, task_weights)
    b = b - A[:, :6] @ start
    A = A @ reduced
    weighted = A * w[:, None]
    H_w = weighted.T @ A
    g_w = -(weighted.T @ b)
    C_w = at.M[6:] @ reduced - np.concatenate([np.zeros((m, m)), J[:, 6:].T], axis=1)
    rest = at.M[6:, :6] @ start + at.H[6:]
    expand = _expansion(m, maps)
    H = expand.T @ H_w @ expand
    g, C = g_w @ expand, C_w @ expand
    posture = task_weights[-1]
    small = np.concatenate([np.full(m, posture + SMALL), np.full(problem.n - m, SMALL)])
    H = H + np.diag(small)
    g = g - np.concatenate([posture * asked[-m:], np.zeros(problem.n - m)])
    effort, *bounds = limits.reshape(4, m)
    lower, upper = _acceleration_bounds(q[7:], v[6:], *bounds)
    most = np.concatenate([np.array([carried[k]] * (4 * n)) for k, n in enumerate(problem.n_points)])
    lower, upper = np.concatenate([lower, np.zeros(len(most))]), np.concatenate([upper, most])
    return H.ravel(), g, lower, upper, C.ravel(), -effort - rest, effort - rest, rest


def accelerations(problem: TorqueProblem, at: BodyState, q: Any, v: Any, wanted: Any) -> Any:
    """Return desired accelerations from errors: feet (f, 6), centre of mass (3), body (3), joints (n_j)."""
    parts = []
    for k in range(len(problem.feet)):
        own = wanted[FOOT_NUMBERS * k : FOOT_NUMBERS * (k + 1)]
        kp, kd, turn_kp, turn_kd = own[15:19]
        T, twist = at.feet[k], at.foot_rows[k] @ v
        turn = small_turn(own[6:15].reshape(3, 3) @ T[:3, :3].T)
        parts.append(own[19:22] + kp * (own[:3] - T[:3, 3]) + kd * (own[3:6] - twist[:3]))
        parts.append(turn_kp * turn - turn_kd * twist[3:])
    rest = wanted[FOOT_NUMBERS * len(problem.feet) :]
    turn = small_turn(rest[3:12].reshape(3, 3) @ at.base[:3, :3].T)
    m = problem.n_j
    joints, (kp, kd) = rest[14 : 14 + m], rest[14 + m :]
    parts += [rest[:3], rest[12] * turn - rest[13] * (at.base_rows @ v), kp * (joints - q[7:]) - kd * v[6:]]
    return np.concatenate(parts)


def small_turn(R: Any) -> Any:
    """Return axis times sine of the angle of a rotation, (3,): the rotation vector of a small one."""
    return 0.5 * np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])


def _edge_force(edge: Any, ahead: Any) -> Any:
    """Return the force along an edge with unit load, (3,); `ahead` is as long as the coefficient of friction."""
    x, y = edge
    return np.array([ahead[0] * x - ahead[1] * y, ahead[1] * x + ahead[0] * y, 1.0])


def _edge_map(foot: Foot, T: Any, ahead: Any) -> Any:
    """Return the wrench at the foot's origin of unit forces along the edges at all its points, (3 or 6, 4 k)."""
    columns = []
    for point in foot.points:
        arm = T[:3, :3] @ point
        for edge in EDGES:
            force = _edge_force(edge, ahead)
            columns.append(
                force if foot.is_point and not point.any() else np.concatenate([force, cross(arm, force)])
            )
    return np.stack(columns, axis=1)


def _expansion(m: int, maps: list[Any]) -> Any:
    """Return the map from [a_j, f] to [a_j, wrenches]."""
    heights, widths = [len(one) for one in maps], [one.shape[1] for one in maps]
    expand = np.zeros((m + sum(heights), m + sum(widths)), dtype=object)
    expand[:m, :m] = np.eye(m)
    row, column = m, m
    for one in maps:
        expand[row : row + len(one), column : column + one.shape[1]] = one
        row, column = row + len(one), column + one.shape[1]
    return expand


def _tasks(problem: TorqueProblem, at: BodyState, wanted: Any, weights: Any, task_weights: Any) -> tuple[Any, ...]:
    """Return (rows on a, their targets, weights) of feet, centre of mass and attitude."""
    n_feet, (of_center, of_height, of_attitude, _) = len(problem.feet), task_weights
    rows, values, w = [], [], []
    for k, foot in enumerate(problem.feet):
        size = 3 if foot.is_point else 6
        rows.append(at.foot_rows[k, :size])
        values.append(wanted[6 * k : 6 * k + size] - at.foot_bias[k, :size])
        w += [weights[k]] * size
    first = 6 * n_feet
    rows += [at.center_rows, at.base_rows]
    values += [wanted[first : first + 3] - at.center_bias, wanted[first + 3 : first + 6] - at.base_bias]
    return (
        np.concatenate(rows),
        np.concatenate(values),
        np.array([*w, of_center, of_center, of_height, *[of_attitude] * 3]),
    )


def _acceleration_bounds(q: Any, v: Any, lower: Any, upper: Any, speeds: Any) -> tuple[Any, Any]:
    """Return bounds of accelerations that keep joints and speeds within their limits."""
    k = LIMIT_RATE
    low = maximum(k * k * (lower - q) - 2 * k * v, (-speeds - v) / SPEED_TIME)
    high = minimum(k * k * (upper - q) - 2 * k * v, (speeds - v) / SPEED_TIME)
    middle = 0.5 * (low + high)
    return minimum(low, middle), maximum(high, middle)


def _torque(row: Any, x: Any, rest: Any) -> Any:
    return np.array([(row * x).sum()]) + rest


def _forces(problem: TorqueProblem, x: Any, settings: Any) -> Any:
    """Return the force on every foot, world axes."""
    at, forces = problem.n_j, []
    for n in problem.n_points:
        total: Any = np.zeros(3)
        for _ in range(n):
            for edge in EDGES:
                total = total + x[at] * _edge_force(edge, settings[:2])
                at += 1
        forces.append(total)
    return np.concatenate(forces)


def _same(x: Any) -> Any:
    return x
