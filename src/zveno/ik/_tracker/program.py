"""One step of a tracker as one program: Gauss–Newton towards a pose, inside limits and speeds of the joints.

    minimise |J δ − e|² + μ |δ − δ₀|²   within   lower ≤ x + δ ≤ upper,   |x + δ − q| ≤ speed · dt

The damping μ grows with the error. It keeps the steps small near singular and unreachable poses, and vanishes at
a solution (Fan and Yuan 2005). In the first step δ₀ pulls a redundant arm towards a configuration. Later steps have
no pull and bring the arm back to the pose.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ...fit.quadratic.program import QuadraticProgram
from ...fit.quadratic.steps import Sizes
from ...kernels.builder import Builder
from ...kernels.ops import abs as absolute
from ...kernels.ops import greater, less, less_equal, logical_and, logical_or, maximum, minimum, sqrt, where
from .._whole_body.task_rows import axis_turn, rotation_vector
from ..ik_problem import IkProblem
from ..native.bounds import Bounds
from ..pose_error import twists, walk
from ..targets import LOOSE, place, polar

TRACKED, LIMITED, HELD = 0.0, 1.0, 2.0
"""Status of a step: the pose is reached within limits; it is nearer, or a joint returns from beyond a limit; the
joints stay where they are."""
MOST_STEPS = 8
"""Gauss–Newton steps per call."""
CURVATURE = 2.0
"""Damping over error: a bound of second derivatives of the pose, lengths over the arm's."""
LEAST_DAMPING = 1e-9
GAIN = 0.3
"""The error must fall below this share of the one before for another step."""
CLOSE = 1e-3
"""Share of the tolerance of a reached pose below which no other step is taken."""
LARGE = 1e30
LONGEST = 1.0
"""Longest period, s: a loop that was interrupted for longer does not make up for it."""
PULL_RATE = 1.0
"""Rate at which a redundant arm approaches its posture, 1/s."""


def tracker_program(program: Builder, problem: IkProblem, bounds: Bounds, limits: np.ndarray | None = None) -> None:
    """Map (T, q, posture, dt[, limits]) → (q_next, error, status); limits are constants if given.

    T is (4, 4); q and posture are the chain's coordinates (n,), a posture NaN where a joint is free; limits (3, n)
    are lower and upper ones and speeds; error (2,) is that of q_next in metres and radians.
    """
    n = problem.n
    T, q = program.input("T", (4, 4), 16), program.input("q", (n,), n)
    posture, dt = program.input("posture", (n,), n), program.input("dt", (), 1)
    if limits is None:
        rows = program.input("limits", (3, n), 3 * n)
    else:
        rows = program.table("limits", limits.reshape(1, -1))
    q_next, error_out = program.output("q_next", (n,), n), program.output("error", (2,), 2)
    status = program.output("status", ())

    target, valid = program.scratch("target", 1, 12), program.scratch("valid", 1, 1)
    start, box = program.scratch("start", 1, n), program.scratch("box", 1, 2 * n)
    pull, first = program.scratch("pull", 1, n), program.scratch("first", 1, 1)
    x, squared, again = program.scratch("x", 1, n), program.scratch("squared", 1, 1), program.scratch("again", 1, 1)
    free = program.scratch("free", 1, 1, zero=True)
    H, g = program.scratch("H", n, n), program.scratch("g", n, 1, zero=True)
    low, high = program.scratch("low", n, 1, zero=True), program.scratch("high", n, 1, zero=True)
    warm = program.scratch("warm", n, 1, zero=True)
    begun = program.step(partial(begin, problem), T[0], q[0], posture[0], dt[0], rows[0])
    target[0], valid[0], start[0], box[0], pull[0] = begun
    first[0] = program.step(partial(_squared_error, problem), start[0], target[0])
    x[0], squared[0] = program.step(partial(pulled, problem), start[0], first[0])
    again[0] = program.step(_same, valid[0])
    warm[0, n] = program.step(partial(np.zeros, n))
    free[0] = program.step(partial(np.zeros, 1))
    with program.repeat_while(again, 2 * MOST_STEPS if problem.redundancy else MOST_STEPS):
        terms = program.step(partial(quadratic, problem), x[0], target[0], box[0], pull[0])
        H[0, n], g[0, n], low[0, n], high[0, n] = terms
        answer = QuadraticProgram(program, Sizes(n)).write(H, g, low, high, warm)
        warm[0, n] = program.step(_same, answer.side[0, n])
        given = x[0], answer.x[0, n], box[0], target[0], squared[0]
        x[0], squared[0], again[0] = program.step(partial(move, problem, bounds), *given)
        pull[0] = program.step(partial(np.zeros, n))
        if problem.redundancy:
            given = x[0], squared[0], again[0], start[0], first[0], free[0]
            x[0], squared[0], again[0], free[0] = program.step(partial(start_again, bounds), *given)
    ended = partial(end, problem, bounds)
    given = x[0], start[0], q[0], target[0], first[0], valid[0], rows[0]
    q_next[0], error_out[0], status[0] = program.step(ended, *given)


def begin(problem: IkProblem, T: Any, q: Any, posture: Any, dt: Any, limits: Any) -> Any:
    """Return the target, whether the input is valid, q in the box of this period, the box, and the pull.

    The box holds what a joint reaches in dt within its limits. Beyond a limit it goes back as fast as allowed.
    """
    rigid, off = polar(T.reshape(4, 4))
    target, _ = place(rigid, *problem.placement)
    start = q / problem.units
    lower, upper, speed = limits.reshape(3, problem.n) / problem.units
    size = (q * q).sum() + (T * T).sum()
    valid = logical_and(logical_and(less_equal(off, LOOSE), less(size, np.inf)), greater(dt[0], 0.0))
    reach = speed * minimum(dt[0], LONGEST)
    low = minimum(maximum(lower, start - reach), start + reach)
    high = maximum(minimum(upper, start + reach), start - reach)
    wanted = where(less(absolute(posture), np.inf), posture / problem.units - start, 0.0)
    pull = wanted * minimum(1.0, PULL_RATE * dt[0]) if problem.redundancy else np.zeros(problem.n)
    inside = minimum(maximum(start, low), high)
    return target.ravel(), np.array([where(valid, 1.0, 0.0)]), inside, np.concatenate([low, high]), pull


def errors(problem: IkProblem, x: Any, target: Any) -> tuple[Any, list[Any]]:
    """Return the error e (m,) from x to the target in the target's axes, and its Jacobian by columns.

    Unlike that of `pose_error`, it is a rotation vector, which also leads back from half a turn.
    """
    task, target = problem.task, target.reshape(3, 4)
    moved = walk(problem, x, problem.tool)
    Rt = target[:, :3]
    place_error = Rt.T @ (target[:, 3] - moved.p)
    turn = -axis_turn(Rt.T @ moved.R[:, 2]) if task.axis else -rotation_vector(Rt.T @ moved.R)
    position, rotation = list(task.position), [0, 1] if task.axis else list(task.rotation)
    e = np.concatenate([place_error[position], turn[rotation]])
    J = [np.concatenate([(Rt.T @ v)[position], (Rt.T @ w)[rotation]]) for v, w in twists(problem, moved)]
    return e, J


def quadratic(problem: IkProblem, x: Any, target: Any, box: Any, pull: Any) -> Any:
    """Return (H, g, lower, upper) of a step.

    The error is cut to what the joints can do at all in a period: with more of it, all would move at full speed
    instead of in proportion.
    """
    n = problem.n
    e, J = errors(problem, x, target)
    low, high = box[:n], box[n:]
    reach = sum(sqrt(J[i] @ J[i]) * (high[i] - low[i]) for i in range(n))
    size = sqrt(e @ e)
    cut = where(less(reach, size), reach / where(less(reach, size), size, 1.0), 1.0)
    e = cut * e
    damping = CURVATURE * cut * size + LEAST_DAMPING
    H = [[J[i] @ J[j] + (damping if i == j else 0.0) for j in range(n)] for i in range(n)]
    g = [-(J[i] @ e) - damping * pull[i] for i in range(n)]
    return np.array(H), np.array(g), low - x, high - x


def move(problem: IkProblem, bounds: Bounds, x: Any, delta: Any, box: Any, target: Any, squared: Any) -> Any:
    """Return x after the step if that is finite, its squared error, and whether another step is worth it."""
    n = problem.n
    moved = minimum(maximum(x + delta, box[:n]), box[n:])
    after = _squared_error(problem, moved, target)[0]
    fine = less(after, np.inf)
    again = logical_and(less((CLOSE * bounds.exact) ** 2, after), less(after, GAIN**2 * squared[0]))
    return (
        where(fine, moved, x),
        np.array([where(fine, after, squared[0])]),
        np.array([where(logical_and(fine, again), 1.0, 0.0)]),
    )


def pulled(problem: IkProblem, start: Any, first: Any) -> Any:
    """Return the start and its squared error; of a redundant arm a large one: a pull may first increase it."""
    return start, np.array([LARGE]) if problem.redundancy else first


def start_again(bounds: Bounds, x: Any, squared: Any, again: Any, start: Any, first: Any, free: Any) -> Any:
    """Return to the start, and go without a pull, where a redundant arm with a pull has not reached the pose."""
    missed = logical_and(less((CLOSE * bounds.exact) ** 2, squared[0]), less(again[0], 0.5))
    anew = logical_and(missed, less(free[0], 0.5))
    one = np.ones(1)
    return where(anew, start, x), where(anew, first, squared), where(anew, one, again), where(anew, one, free)


def end(
    problem: IkProblem, bounds: Bounds, x: Any, start: Any, q: Any, target: Any, first: Any, valid: Any, limits: Any
) -> Any:
    """Return q, its error in metres and radians, and the status; where no step helps, the start.

    The start is q itself unless that is beyond a limit.
    """
    e, _ = errors(problem, x, target)
    nearer = less(e @ e, first[0])
    used = logical_and(less(0.5, valid[0]), logical_or(nearer, _reached(problem, bounds, e)))
    x = where(used, x, start)
    e, _ = errors(problem, x, target)
    valid = less(0.5, valid[0])
    lower, upper, _ = limits.reshape(3, problem.n) / problem.units
    beyond, back = maximum(lower - x, x - upper), start - q / problem.units
    tracked = _reached(problem, bounds, e)
    for k in range(problem.n):
        tracked = logical_and(tracked, less_equal(beyond[k], 0.0))
    moves = logical_or(used, less(0.0, back @ back))
    status = where(valid, where(tracked, TRACKED, where(moves, LIMITED, HELD)), HELD)
    return where(valid, x * problem.units, q), np.array(_sizes(problem, e)), status


def _sizes(problem: IkProblem, e: Any) -> list[Any]:
    """Return an error in metres and radians."""
    rows = len(problem.task.position)
    parts = (e[:rows], problem.length), (e[rows:], 1.0)
    return [sqrt(part @ part) * unit if len(part) else 0.0 for part, unit in parts]


def _reached(problem: IkProblem, bounds: Bounds, e: Any) -> Any:
    metres, radians = _sizes(problem, e)
    return logical_and(less_equal(metres, bounds.exact), less_equal(radians, bounds.exact))


def _squared_error(problem: IkProblem, x: Any, target: Any) -> Any:
    e, _ = errors(problem, x, target)
    return np.array([e @ e])


def _same(x: Any) -> Any:
    return x
