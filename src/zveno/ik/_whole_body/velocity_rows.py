"""The quadratic program of one velocity step: one function of the state and the targets, traced for one robot.

    minimise Σ w² |J δ − gain e|² + w_p² |δ − gain Δq|² + damping |δ|²   over the step δ = v dt

with the limits of position, velocity and acceleration as one box, and rows for clearance and the support polygon.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ...algorithms.center_of_mass import center_of_mass, center_of_mass_jacobian
from ...algorithms.loop_rows import loop_rows
from ...algorithms.projection import Division
from ...clearance.distances import Layout, distances_and_slopes
from ...kernels.ops import greater, less, maximum, minimum, sqrt, where
from ...mechanism import Mechanism
from ...mechanism.unit_quaternions import limited_balls
from ...spatial.rotations import quaternion_exp, quaternion_log
from .task_rows import NO_TURN, TaskRows, all_rows
from .tasks import Task, is_strict, plain_velocities, zones_of

SETTINGS = ("dt", "limit_gain", "clearance_gain", "margin", "damping")
STRICT_DAMPING = 1e-8
"""Damping of strict tasks, by which they are solved first; what it leaves of an error shrinks by it each step."""


@dataclass(frozen=True)
class VelocityProblem:
    """Parameters that determine the code of a velocity step.

    Attributes:
        mechanism: of the robot.
        tasks: the tasks; their weights and gains are inputs.
        layout: capsules that keep clear, or None.
        n_corners: corners of the support polygon; 0 for none.
        limited: True if ball joints stay within their angles.
        division: independent and dependent velocities of a mechanism with closed loops, which every step keeps
            closed.
    """

    mechanism: Mechanism
    tasks: tuple[Task, ...]
    layout: Layout | None = None
    n_corners: int = 0
    limited: bool = True
    division: Division | None = None

    @cached_property
    def balls(self) -> tuple[tuple[slice, float], ...]:
        """See `limited_balls`."""
        return limited_balls(self.mechanism) if self.limited else ()

    @cached_property
    def strict(self) -> tuple[int, ...]:
        """Numbers of the strict tasks."""
        return tuple(k for k, task in enumerate(self.tasks) if is_strict(task))

    @property
    def n_targets(self) -> int:
        """Numbers of all targets."""
        return sum(task.target_size(self.mechanism) for task in self.tasks)

    @cached_property
    def zoned(self) -> bool:
        """True if some task has a dead zone."""
        return any(max(zones_of(task)) > 0.0 for task in self.tasks)

    @property
    def n_weights(self) -> int:
        """Numbers per task: two weights, the gain, and two dead zones if any task has one."""
        return 5 if self.zoned else 3

    @property
    def n_rows(self) -> int:
        """Rows of clearance, support and ball joints, then of closed loops."""
        return self.n_told + self.n_closed

    @property
    def n_told(self) -> int:
        """Rows of clearance, support and ball joints."""
        return (0 if self.layout is None else self.layout.n) + self.n_corners + len(self.balls)

    @property
    def n_closed(self) -> int:
        """Independent rows of closed loops."""
        return 0 if self.division is None else len(self.division.pivots)

    @property
    def n_strict(self) -> int:
        """Equations of strict tasks."""
        return sum(self.tasks[k].n_rows for k in self.strict)


def velocity_terms(
    problem: VelocityProblem,
    q: Any,
    v_before: Any,
    targets: Any,
    weights: Any,
    limits: Any,
    corners: Any,
    settings: Any,
) -> tuple[Any, ...]:
    """Return (H, g, lower, upper, errors) of a step; with strict tasks (H₁, g₁, J₁); with rows (C, low, high).

    Args:
        problem: the problem.
        q, v_before: (n_q,), and the velocity before (n_v,), for limits of acceleration.
        targets: numbers of all targets.
        weights: (tasks, n_weights): of the first and of other equations, gain, and dead zones of both if any.
        limits: lower and upper of position, of velocity and of acceleration, (4, n_v), infinite where none.
        corners: of the support polygon, counter-clockwise, (n_corners, 2).
        settings: see `SETTINGS`.
    """
    mechanism, n = problem.mechanism, problem.mechanism.n_v
    dt, limit_gain, clearance_gain, margin, damping = settings
    weights, limits = weights.reshape(-1, problem.n_weights), limits.reshape(4, n)
    rows = all_rows(mechanism, problem.tasks, q, targets, dt)
    errors = np.array([sqrt((row.e * row.e).sum()) if len(row.e) else 0.0 for row in rows])
    if problem.zoned:
        rows = [
            _outside_zone(task, row, *weights[k][3:])
            for k, (task, row) in enumerate(zip(problem.tasks, rows, strict=True))
        ]
    H, g = _squares(problem, rows, weights, [k for k in range(len(rows)) if k not in problem.strict])
    for i in range(n):
        H[i][i] = H[i][i] + damping
    loops = None
    if problem.division is not None:
        loops = _closing_rows(problem, q)
        _add_squares(H, g, loops)
    lower, upper = box(mechanism, q, v_before, limits, dt, limit_gain)
    terms: tuple[Any, ...] = (np.array(H), np.array(g), lower, upper, errors)
    if problem.strict:
        H_first, g_first = _squares(problem, rows, weights, problem.strict, strict=True)
        for i in range(n):
            H_first[i][i] = H_first[i][i] + STRICT_DAMPING
        J_first = np.concatenate([rows[k].J for k in problem.strict])
        terms += (np.array(H_first), np.array(g_first), J_first)
    if problem.n_rows:
        C, low = _inequalities(problem, q, corners, clearance_gain, margin, limit_gain)
        high = [np.inf] * len(low)
        if loops is not None:
            C, low, high = [*C, *loops.J], [*low, *loops.e], [*high, *loops.e]
        terms += (np.array(C), np.array(low), np.array(high))
    return terms


def _squares(
    problem: VelocityProblem, rows: list[TaskRows], weights: Any, chosen: Any, strict: bool = False
) -> tuple[list[list[Any]], list[Any]]:
    """Return H = Σ w² JᵀJ and g = −Σ w² gain Jᵀe."""
    n = problem.mechanism.n_v
    H: list[list[Any]] = [[0.0] * n for _ in range(n)]
    g: list[Any] = [0.0] * n
    for k in chosen:
        e, J = rows[k]
        for r in range(len(e)):
            w = 1.0 if strict else weights[k][0 if r < problem.tasks[k].n_first else 1]
            scaled, error = w * J[r], w * weights[k][2] * e[r]
            used = [i for i in range(n) if not _is_zero(J[r][i])]
            for i in used:
                g[i] = g[i] - scaled[i] * error
                for j in used:
                    if j <= i:
                        H[i][j] = H[i][j] + scaled[i] * scaled[j]
    for i in range(n):
        for j in range(i):
            H[j][i] = H[i][j]
    return H, g


def _closing_rows(problem: VelocityProblem, q: Any) -> TaskRows:
    """Return −φ and J of the independent rows of closed loops."""
    assert problem.division is not None
    loops = loop_rows(problem.mechanism, q, np.zeros(problem.mechanism.n_v))
    chosen = [row for row, _ in problem.division.pivots]
    return TaskRows(-loops.value[chosen], loops.J[chosen])


def _add_squares(H: list[list[Any]], g: list[Any], rows: TaskRows) -> None:
    """Add the squares of equations that are constraints, too, to H and g, in place.

    They have the same optimum, and curvature where damping alone would leave it to rounding.
    """
    n = len(g)
    share = sum(H[i][i] for i in range(n)) / n
    for e, row in zip(rows.e, rows.J, strict=True):
        used = [i for i in range(n) if not _is_zero(row[i])]
        for i in used:
            g[i] = g[i] - share * row[i] * e
            for j in used:
                H[i][j] = H[i][j] + share * row[i] * row[j]


def _outside_zone(task: Task, row: TaskRows, first: Any, second: Any) -> TaskRows:
    """Return the equations with the dead zones subtracted from the error; for an error inside, no equations."""
    e, J = list(row.e), list(row.J)
    for part, zone in ((range(task.n_first), first), (range(task.n_first, len(e)), second)):
        norm = sqrt(sum(e[r] * e[r] for r in part)) if len(part) else 0.0
        outside = greater(norm, zone)
        share = where(outside, 1.0 - zone / where(outside, norm, 1.0), 0.0)
        for r in part:
            e[r], J[r] = share * e[r], where(outside, 1.0, 0.0) * J[r]
    return TaskRows(np.array(e), np.array(J))


def box(mechanism: Mechanism, q: Any, v_before: Any, limits: Any, dt: Any, gain: Any) -> tuple[Any, Any]:
    """Return bounds on δ (n_v,) that keep the position, velocity and acceleration limits.

    A step covers at most the share `gain` of the distance to a position limit, and is never so fast that stopping
    in time would exceed the acceleration limit. Beyond a position limit it leads back, within the velocity and
    acceleration limits. If the velocity is already too high to stop in time, the acceleration limit gives way.
    """
    lower, upper = [], []
    places = plain_velocities(mechanism)
    for i in range(mechanism.n_v):
        fastest, hardest, carried = dt * limits[2][i], dt * dt * limits[3][i], dt * v_before[i]
        low, high = -fastest, fastest
        if i in places:
            room_below, room_above = q[places[i]] - limits[0][i], limits[1][i] - q[places[i]]
            low = minimum(maximum(-_reach(room_below, gain, hardest, -carried), -fastest), fastest)
            high = maximum(minimum(_reach(room_above, gain, hardest, carried), fastest), -fastest)
        lower.append(minimum(maximum(low, carried - hardest), high))
        upper.append(maximum(minimum(high, carried + hardest), low))
    return np.array(lower), np.array(upper)


def _reach(room: Any, gain: Any, hardest: Any, carried: Any) -> Any:
    """Return the longest step towards a limit `room` away after which later steps can shrink in time.

    Each step may be shorter than the one before by `hardest`, h. A step δ ≤ h / gain may be followed by steps that
    each cover the share `gain` of the room left. A longer one needs the room δ²/2h + δ/2 + h (1/gain − 1/2)²/2
    before it: steps shorter by h leave as much.
    """
    limited = less(hardest, np.inf)
    h = where(limited, hardest, 1.0)
    last = 1.0 / gain - 0.5
    long = sqrt(maximum(h * (0.25 * h + 2.0 * room - h * last * last), 0.0)) - 0.5 * h
    braked = maximum(minimum(gain * room, h / gain), long)
    back = maximum(gain * room, carried - h)
    return where(limited, where(greater(room, 0.0), braked, back), gain * room)


def _inequalities(
    problem: VelocityProblem, q: Any, corners: Any, gain: Any, margin: Any, limit_gain: Any
) -> tuple[list[Any], list[Any]]:
    """Return rows C and lower bounds: a distance loses at most the share `gain` of its excess over the margin.

    The same holds, to first order, for the angle left before the limit of a ball joint; see `balls_kept`.
    """
    mechanism = problem.mechanism
    C, low = [], []
    if problem.layout is not None:
        distance, slopes = distances_and_slopes(mechanism, problem.layout, q)
        C += list(slopes)
        low += list(-gain * (distance - margin))
    if problem.n_corners:
        c, J = center_of_mass(mechanism, q), center_of_mass_jacobian(mechanism, q)
        corners = corners.reshape(-1, 2)
        for k in range(problem.n_corners):
            start, edge = corners[k], corners[(k + 1) % problem.n_corners] - corners[k]
            inward = np.array([-edge[1], edge[0]]) / sqrt((edge * edge).sum())
            C.append(inward @ J[:2])
            low.append(-gain * (inward @ (c[:2] - start)))
    for place, most in problem.balls:
        turn = quaternion_log(q[place])
        angle = sqrt((turn * turn).sum())
        row = np.array([0.0] * mechanism.n_v, dtype=object)
        row[velocities_of(mechanism, place)] = -turn / where(greater(angle, NO_TURN), angle, 1.0)
        C.append(row)
        low.append(-limit_gain * (most - angle))
    return C, low


def balls_kept(balls: tuple[tuple[slice, float], ...], q: Any) -> Any:
    """Turn ball joints of q that are beyond their limit back to it, the shortest way."""
    q = np.array(list(q), dtype=object)
    for place, most in balls:
        turn = quaternion_log(q[place])
        angle = sqrt((turn * turn).sum())
        beyond = greater(angle, most)
        share = where(beyond, most / where(beyond, angle, 1.0), 1.0)
        q[place] = where(beyond, quaternion_exp(turn * share), q[place])
    return q


def balls_velocities(problem: VelocityProblem) -> list[slice]:
    """Return the slices of the velocities of limited balls."""
    return [velocities_of(problem.mechanism, place) for place, _ in problem.balls]


def velocities_of(mechanism: Mechanism, place: slice) -> slice:
    """Return the velocity slice of the joint whose coordinates are at a slice of q."""
    return next(mechanism.v_slices[name] for name in mechanism.joint_names if mechanism.q_slices[name] == place)


def _is_zero(x: Any) -> bool:
    return isinstance(x, float | int) and x == 0
