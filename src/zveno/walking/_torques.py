"""Torques for desired task accelerations: state, quadratic program with contacts, and its solution."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..algorithms import linear
from ..algorithms.center_of_mass import center_of_mass, center_of_mass_jacobian, total_mass
from ..algorithms.constraints import Kinematics
from ..algorithms.forward_kinematics import link_poses
from ..algorithms.inverse_dynamics import bias
from ..algorithms.mass_matrix import mass_matrix
from ..algorithms.springs import spring_torque
from ..errors import ModelError
from ..fit.quadratic.given_and_found import General
from ..fit.quadratic.program import QuadraticProgram
from ..fit.quadratic.steps import SOLVED, Sizes
from ..kernels.builder import Builder
from ..kernels.compile import compiled, compiled_structured
from ..kernels.ops import maximum, minimum
from ..mechanism import Mechanism
from ..simulation.control import effort_limits
from ..spatial.inertia import center_of_mass as own_center
from ..spatial.vectors import cross
from .feet import Foot, heading

FREE = 1e6
"""Value of missing bounds, m/s², rad/s², N or N·m."""


@dataclass(frozen=True)
class Weights:
    """Task weights, per (m/s²)² or (rad/s²)².

    Attributes:
        stance, swing: feet that stand, at rest, and feet in the air.
        center: of mass, horizontally. Its motion is unstable: a constant acceleration error during a step moves ξ
            a hundred times further than it moves a swinging foot, which its own gains bring back. Only the standing
            feet have a larger weight.
        height: of the centre of mass; it yields if a foot would not reach the ground.
        attitude: of the body.
        posture: of every joint.
    """

    stance: float = 1000.0
    swing: float = 200.0
    center: float = 200.0
    height: float = 20.0
    attitude: float = 10.0
    posture: float = 0.05


@dataclass(frozen=True)
class Gains:
    """Gains of the errors, 1/s², and of their rates, 1/s.

    Attributes:
        attitude: of the body.
        posture: of the joints.
        height: of the centre of mass.
        swing, swing_turn: place and attitude of a foot in the air.
        rest: rate at which a standing foot that moves is slowed down.
    """

    attitude: tuple[float, float] = (150.0, 25.0)
    posture: tuple[float, float] = (40.0, 10.0)
    height: tuple[float, float] = (60.0, 14.0)
    swing: tuple[float, float] = (600.0, 50.0)
    swing_turn: tuple[float, float] = (400.0, 40.0)
    rest: float = 20.0


class Torques(NamedTuple):
    """Solution of the program."""

    tau: np.ndarray
    """(n_v,), zero at the base"""
    forces: np.ndarray
    """expected on every foot, N in world axes, (f, 3)"""
    solved: bool


class WholeBodyTorques:
    """Quadratic program of one robot, solved at every control step, warm-started from the last active bounds."""

    def __init__(
        self,
        mechanism: Mechanism,
        feet: Sequence[Foot],
        friction: float,
        weights: Weights,
        gains: Gains,
    ):
        if mechanism.joints[0].type.kind != "free" or mechanism.n_v <= 6:
            raise ModelError(
                "it does not walk: its first joint is not a free one, or nothing else moves",
                element=mechanism.name,
                remedy='Use robot.with_base("free")',
            )
        self.problem: TorqueProblem = TorqueProblem(mechanism, tuple(feet))
        shapes = {"q": (mechanism.n_q,), "v": (mechanism.n_v,)}
        self._felt = compiled(felt, shapes, constants=(mechanism, self.problem.frames))
        self._kernel = compiled_structured(torque_program, self.problem, state_by_state=True)
        self.weights = weights
        speeds = [
            np.broadcast_to(joint.limits.velocity, joint.type.n_v)
            for joint in mechanism.joints[1:]
            if joint.mimic is None
        ]
        limits = [effort_limits(mechanism)[6:], mechanism.lower[7:], mechanism.upper[7:], np.concatenate(speeds)]
        self._limits = np.clip(np.concatenate(limits), -FREE, FREE)
        self._friction = friction
        task_weights = weights.center, weights.height, weights.attitude, weights.posture
        self._settings = np.array([friction, 0.0, *task_weights])
        self._sides = np.zeros(self.problem.n)
        self._last = np.zeros(mechanism.n_v)
        self._contacts: tuple[Any, ...] = ()
        """standing feet and swinging feet of the last step"""
        self._foot_weights, self._carried = np.zeros(len(feet)), np.zeros(len(feet))
        self._wanted = np.zeros(self.problem.n_wanted)
        self._feet: np.ndarray = self._wanted[: FOOT_NUMBERS * len(feet)].reshape(-1, FOOT_NUMBERS)
        self._rest: np.ndarray = self._wanted[FOOT_NUMBERS * len(feet) :]
        self._rest[12:14], self._rest[-2:] = gains.attitude, gains.posture
        self.gains = gains
        self.failures: int = 0
        """steps whose program was not solved; the last torques were kept"""

    def felt(self, q: np.ndarray, v: np.ndarray) -> Felt:
        """Return feet and centre of mass at a state."""
        return Felt(*self._felt(q, v))

    def hold(self, attitude: np.ndarray, joints: np.ndarray, feet: np.ndarray) -> None:
        """Set the attitudes of the body (3, 3) and of swinging feet (f, 3, 3), and the posture (n_j,)."""
        self._rest[3:12] = attitude.ravel()
        self._settings[:2] = self._friction * heading(attitude)[:, 0]
        self._rest[14:-2] = joints
        self._feet[:, 6:15] = feet.reshape(-1, 9)

    def solve(
        self,
        q: np.ndarray,
        v: np.ndarray,
        standing: np.ndarray,
        center: Sequence[float],
        swings: dict[int, tuple[np.ndarray, np.ndarray]],
    ) -> Torques:
        """Compute the torques, and the expected forces on the feet.

        Args:
            q, v: state, as estimated.
            standing: mask of the feet that may carry load, (f,).
            center: acceleration of the centre of mass, (3,).
            swings: desired position and velocity, (3,) each, of swinging feet.
        """
        contacts = (standing.tobytes(), *swings)
        if contacts != self._contacts:
            self._contacts = contacts
            self._switch(standing, swings)
        for k, (place, speed) in swings.items():
            self._feet[k, :3], self._feet[k, 3:6] = place, speed
        self._rest[:3] = center
        tau, forces, sides, status, _ = self._kernel(
            q, v, self._wanted, self._foot_weights, self._carried, self._limits, self._settings, self._sides
        )
        if status != SOLVED:
            self.failures += 1
            self._sides = np.zeros(self.problem.n)
            return Torques(self._last, np.zeros((len(standing), 3)), False)
        self._sides = sides
        self._last = np.zeros(len(v))
        self._last[6:] = tau
        return Torques(self._last, forces.reshape(-1, 3), True)

    def _switch(self, standing: np.ndarray, swings: Iterable[int]) -> None:
        """Set weights, bounds and gains for changed sets of standing and swinging feet."""
        self._feet[:, :6] = 0.0
        self._feet[:, 15:19] = (0.0, self.gains.rest, 0.0, self.gains.rest)
        for k in swings:
            self._feet[k, 15:19] = (*self.gains.swing, *self.gains.swing_turn)
        self._foot_weights = np.where(standing, self.weights.stance, self.weights.swing)
        self._carried = np.where(standing, FREE, 0.0)


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
        wanted_of_foot = wanted[FOOT_NUMBERS * k : FOOT_NUMBERS * (k + 1)]
        kp, kd, turn_kp, turn_kd = wanted_of_foot[15:19]
        T, twist = at.feet[k], at.foot_rows[k] @ v
        turn = small_turn(wanted_of_foot[6:15].reshape(3, 3) @ T[:3, :3].T)
        parts.append(
            wanted_of_foot[19:22] + kp * (wanted_of_foot[:3] - T[:3, 3]) + kd * (wanted_of_foot[3:6] - twist[:3])
        )
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
    heights, widths = [len(task_map) for task_map in maps], [task_map.shape[1] for task_map in maps]
    expand = np.zeros((m + sum(heights), m + sum(widths)), dtype=object)
    expand[:m, :m] = np.eye(m)
    row, column = m, m
    for task_map in maps:
        expand[row : row + len(task_map), column : column + task_map.shape[1]] = task_map
        row, column = row + len(task_map), column + task_map.shape[1]
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


class BodyState(NamedTuple):
    """Dynamics of a robot with f feet at one state, in world axes."""

    M: Any
    """mass matrix, (n_v, n_v)"""
    H: Any
    """bias forces less those of springs, (n_v,)"""
    base: Any
    """T_world_base, (4, 4)"""
    base_rows: Any
    """Jacobian of the base's angular velocity, (3, n_v)"""
    base_bias: Any
    """its angular acceleration at a = 0, (3,)"""
    center: Any
    """centre of mass, (3,)"""
    center_rows: Any
    """its Jacobian, (3, n_v)"""
    center_bias: Any
    """its acceleration at a = 0, (3,)"""
    feet: Any
    """T_world_foot, (f, 4, 4)"""
    foot_rows: Any
    """Jacobians of `[v, w]` of the feet's origins, (f, 6, n_v)"""
    foot_bias: Any
    """their accelerations at a = 0, (f, 6)"""


def body_state(mechanism: Mechanism, frames: tuple[str, ...], q: Any, v: Any) -> tuple[Any, ...]:
    """Return the parts of `BodyState`; traced."""
    state = Kinematics(mechanism, q, v)
    base = state.frame(mechanism.joints[0].child)
    feet = [state.frame(name) for name in frames]
    moved: Any = np.zeros(3)
    for i, link in enumerate(mechanism.links):
        if i and link.inertia[0]:
            arm = state.poses[i][:3, :3] @ own_center(link.inertia)
            moved = moved + link.inertia[0] * state.motions[i].at(arm).a
    return (
        mass_matrix(mechanism, q),
        bias(mechanism, q, v) - spring_torque(mechanism, q),
        base.T,
        base.J[3:],
        base.motion.e,
        center_of_mass(mechanism, q),
        center_of_mass_jacobian(mechanism, q),
        moved / total_mass(mechanism),
        np.stack([foot.T for foot in feet]),
        np.stack([foot.J for foot in feet]),
        np.stack([np.concatenate([foot.motion.a, foot.motion.e]) for foot in feet]),
    )


class Felt(NamedTuple):
    """State quantities for gaits, in world axes."""

    base: Any
    """T_world_base, (4, 4)"""
    center: Any
    """centre of mass, (3,)"""
    rate: Any
    """its velocity, (3,)"""
    feet: Any
    """T_world_foot, (f, 4, 4)"""


def felt(mechanism: Mechanism, frames: tuple[str, ...], q: Any, v: Any) -> tuple[Any, ...]:
    """Return the parts of `Felt`."""
    poses = link_poses(mechanism, q)
    feet = [mechanism.frame(name) for name in frames]
    return (
        poses[mechanism.link_number(mechanism.joints[0].child)],
        center_of_mass(mechanism, q),
        center_of_mass_jacobian(mechanism, q) @ v,
        np.stack([poses[mechanism.link_number(foot.link)] @ foot.T_link_frame for foot in feet]),
    )
