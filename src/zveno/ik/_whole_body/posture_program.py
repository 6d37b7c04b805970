"""A posture from one start: projected, damped Gauss–Newton as one program with a loop, alike in all lanes.

    (J D Jᵀ + μ|e|² + ε) y = e,   δ = D Jᵀ y

D leaves out joints that stand on a limit and would be moved beyond it. The damping follows the squared error, so
that steps far from the target are short and those near it are Newton's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from ...algorithms.linear import solve
from ...kernels.builder import Builder
from ...kernels.ops import abs, greater, less, less_equal, logical_and, logical_or, maximum, minimum, sqrt, where
from ...mechanism import Mechanism
from ...mechanism.unit_quaternions import limited_balls
from .task_rows import TaskRows, all_rows
from .tasks import Task, plain_velocities
from .velocity_rows import balls_kept

DAMPING, LEAST_DAMPING = 1e-2, 1e-12
LONGEST = 1.0
"""No velocity may change by more in a step, rad or m."""
CLOSED = 1e-20
"""Squared error at which a posture is reached as far as rounding lets it be."""


@dataclass(frozen=True, eq=False)
class PostureProblem:
    """Tasks of a robot, and whether ball joints are limited; the number of steps is data, not part of the code."""

    mechanism: Mechanism
    tasks: tuple[Task, ...]
    most_steps: int = 0
    limited: bool = True

    @property
    def fingerprint(self) -> str:
        """Fingerprint of everything that determines the code."""
        return f"{self.mechanism.fingerprint} {self.tasks!r} {self.limited}"

    @cached_property
    def balls(self) -> tuple[tuple[slice, float], ...]:
        """Ball joints that stay within an angle, see `limited_balls`."""
        return limited_balls(self.mechanism) if self.limited else ()

    @property
    def n_targets(self) -> int:
        """Numbers of all targets."""
        return sum(task.target_size(self.mechanism) for task in self.tasks)


def posture_program(program: Builder, problem: PostureProblem) -> None:
    """Write (q0 (n_q,), targets, slack, lower (n_q,), upper (n_q,)) → q (n_q,) after at most so many steps.

    `slack` are metres and radians for each task by which its target may be missed, (2 tasks,).
    """
    n_q, n_targets, n_slack = problem.mechanism.n_q, problem.n_targets, 2 * len(problem.tasks)
    start, targets = program.input("q0", (n_q,), n_q), program.input("targets", (n_targets,), n_targets)
    slack = program.input("slack", (n_slack,), n_slack)
    lower, upper = program.input("lower", (n_q,), n_q), program.input("upper", (n_q,), n_q)
    q_out = program.output("q", (n_q,), n_q)
    q, again = program.scratch("x", 1, n_q, zero=True), program.scratch("again", 1, 1, zero=True)
    q[0], again[0] = program.step(partial(_started, problem), start[0], lower[0], upper[0])
    with program.repeat_while(again, problem.most_steps):
        q[0], again[0] = program.step(partial(stepped, problem), q[0], targets[0], slack[0], lower[0], upper[0])
    q_out[0] = program.step(_same, q[0])


def stepped(problem: PostureProblem, q: Any, targets: Any, slack: Any, lower: Any, upper: Any) -> tuple[Any, Any]:
    """Return q after a step, and True if the error before the step was not small."""
    mechanism, n = problem.mechanism, problem.mechanism.n_v
    rows = all_rows(mechanism, problem.tasks, q, targets)
    e = np.concatenate([_beyond(part, slack[k]) for k, part in enumerate(_parts(problem.tasks, rows))])
    J = np.concatenate([row.J for row in rows])
    squared = (e * e).sum()
    pull = [_dot(J[:, i], e) for i in range(n)]
    free: list[Any] = [1.0] * n
    for i, place in plain_velocities(mechanism).items():
        above = logical_and(less_equal(upper[place], q[place]), greater(pull[i], 0.0))
        below = logical_and(less_equal(q[place], lower[place]), less(pull[i], 0.0))
        free[i] = where(logical_or(above, below), 0.0, 1.0)
    weighted = J * np.array(free)
    used = [[i for i in range(n) if not _is_zero(row[i])] for row in J]
    A = [[0.0] * len(e) for _ in e]
    for r in range(len(e)):
        for s in range(r + 1):
            common = [i for i in used[r] if i in used[s]]
            A[r][s] = A[s][r] = sum((weighted[r][i] * J[s][i] for i in common), start=0.0)
        A[r][r] = A[r][r] + DAMPING * squared + LEAST_DAMPING
    y = solve(np.array(A), e)
    delta = np.array([free[i] * _dot(J[:, i], y) for i in range(n)])
    longest = LONGEST / 1e3
    for part in delta:
        longest = maximum(longest, abs(part))
    moved = mechanism.integrate(q, delta * minimum(1.0, LONGEST / longest))
    again = greater(squared, CLOSED)
    moved = _clipped(problem, moved, lower, upper)
    return np.array([where(again, new, old) for new, old in zip(moved, q, strict=True)]), _flag(again)


def task_misses(problem: PostureProblem, q: Any, targets: Any) -> Any:
    """Return the residuals (tasks, 2) of all tasks, m and rad."""
    rows = all_rows(problem.mechanism, problem.tasks, q, targets)
    return np.array([_norm(part) for part in _parts(problem.tasks, rows)]).reshape(-1, 2)


def _parts(tasks: tuple[Task, ...], rows: Sequence[TaskRows]) -> list[Any]:
    """Return the errors of every task in metres, and those in radians; either may be empty."""
    parts = []
    for task, row in zip(tasks, rows, strict=True):
        parts += [row.e[: task.n_first], row.e[task.n_first :]]
    return parts


def _beyond(e: Any, slack: Any) -> Any:
    """Return the part of an error beyond the slack; all of it without slack, and of errors that are not finite."""
    if not len(e):
        return e
    norm = _norm(e)
    outside = 1.0 - slack / where(greater(norm, slack), norm, 1.0)
    return where(less_equal(norm, slack), 0.0, outside) * e


def _started(problem: PostureProblem, q: Any, lower: Any, upper: Any) -> Any:
    return _clipped(problem, q, lower, upper), np.ones(1)


def _clipped(problem: PostureProblem, q: Any, lower: Any, upper: Any) -> Any:
    inside = np.array([maximum(minimum(x, high), low) for x, low, high in zip(q, lower, upper, strict=True)])
    return balls_kept(problem.balls, inside) if problem.balls else inside


def _flag(condition: Any) -> Any:
    return np.array([where(condition, 1.0, 0.0)])


def _norm(e: Any) -> Any:
    return sqrt((e * e).sum()) if len(e) else 0.0


def _dot(a: Any, b: Any) -> Any:
    return sum((x * y for x, y in zip(a, b, strict=True) if not _is_zero(x)), start=0.0)


def _is_zero(x: Any) -> bool:
    return isinstance(x, float | int) and x == 0


def _same(x: Any) -> Any:
    return x
