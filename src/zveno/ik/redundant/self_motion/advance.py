"""Many steps along curves of solutions at once, as one program: up to a turn, or to the end of a strip.

step → good? shorter if not → does the sliced joint turn, does it leave the strip? a point if not
"""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np

from ....kernels.builder import Builder
from ....kernels.compile import compiled_structured
from ....kernels.ops import less, less_equal, logical_and, logical_not, logical_or, minimum, where
from ...ik_problem import IkProblem
from ...native.program import as_it_is
from ...newton import Lanes
from .curve_step import CORRECTIONS, ON_CURVE, corrected, ended

LONGEST_STEP, SHORTEST_STEP = 0.25, 1e-6
STRAIGHT = 0.95
"""Cosine of the angle by which a tangent may turn in a step."""
NEAR = 0.2
"""Largest correction, in parts of the step."""
MOST_POINTS = 32
"""Points of a curve in one call."""
GOING, HAPPENED, LOST = 0.0, 1.0, 2.0
"""State codes of a call: still going after `MOST_POINTS`; a turn, or the end of the strip; step size too small."""


class Advanced(NamedTuple):
    """Progress of n curves after a call.

    Attributes:
        x, tangent: (n, 7) the last point before the event.
        ahead: (n,) the step from there.
        x_new, t_new: (n, 7) end of that step, if it holds an event.
        state: (n,) state code.
        count: (n,) points found, of points (n, MOST_POINTS + 1, 14): with their tangents.
    """

    x: np.ndarray
    tangent: np.ndarray
    ahead: np.ndarray
    x_new: np.ndarray
    t_new: np.ndarray
    state: np.ndarray
    count: np.ndarray
    points: np.ndarray


def advanced(
    problem: IkProblem, lanes: Lanes, coordinate: int, x: Any, tangent: Any, ahead: Any, low: Any, high: Any
) -> Advanced:
    """Follow curves of a pose from x (n, 7) while a joint is between low and high (n,) and goes one way."""
    n = problem.n
    strip = np.stack([ahead, low, high], axis=1)
    with np.errstate(all="ignore"):  # a lane that diverges does not concern the others
        points, last = _kernel(problem, coordinate)(x, tangent, strip, lanes.targets[0], lanes.tool)
    at = (
        last[:, :n],
        last[:, n : 2 * n],
        last[:, 2 * n],
        last[:, 2 * n + 3 : 3 * n + 3],
        last[:, 3 * n + 3 : 4 * n + 3],
    )
    return Advanced(*at, last[:, 2 * n + 2], last[:, 2 * n + 1].astype(int), points)


@lru_cache(maxsize=32)
def _kernel(problem: IkProblem, coordinate: int) -> Any:
    return compiled_structured(along_curve, problem, coordinate, name="ik_along_curve")


def along_curve(program: Builder, problem: IkProblem, coordinate: int) -> None:
    """Write points (MOST_POINTS + 1, 14), the last a dummy, and last (31,): state, and the end of a step."""
    n = problem.n
    x, tangent = program.input("x", (n,), n), program.input("tangent", (n,), n)
    strip, target = program.input("strip", (3,), 3), program.input("target", (3, 4), 12)
    tool = program.input("tool", (3, 4), 12)
    points = program.output("points", (MOST_POINTS + 1, 2 * n), 2 * n, zero=True)
    last = program.output("last", (4 * n + 3,), 4 * n + 3)
    state, new = program.scratch("state", 1, 2 * n + 3), program.scratch("new", 1, 2 * n)
    at, squared = program.scratch("at", 1, n), program.scratch("squared", 1, 1)
    going, to = program.scratch("going", 1, 1), program.scratch("to", 1, 1)
    state[0], new[0], going[0] = program.step(_begun, x[0], tangent[0], strip[0])
    with program.repeat_while(going, 4 * MOST_POINTS):
        at[0] = program.step(_predicted, state[0])
        with program.each(CORRECTIONS):
            at[0], squared[0] = program.step(partial(corrected, problem), at[0], target[0], tool[0])
        state[0], new[0], going[0], to[0] = program.step(
            partial(_judged, problem, coordinate), state[0], at[0], squared[0], strip[0], target[0], tool[0]
        )
        points[to.lane()] = program.step(as_it_is, new[0])
    last[0] = program.step(_told, state[0], new[0])


def _begun(x: Any, tangent: Any, strip: Any) -> Any:
    """Return the state (point, tangent, step, points so far, state code), the end of a step, and if to go on."""
    nothing = 0.0 * strip[0]
    return np.array([*x, *tangent, strip[0], nothing, nothing]), np.array([*x, *tangent]), nothing + 1.0


def _predicted(state: Any) -> Any:
    n = (len(state) - 3) // 2
    return state[:n] + state[2 * n] * state[n : 2 * n]


def _judged(
    problem: IkProblem, k: int, state: Any, x: Any, squared: Any, strip: Any, target: Any, tool: Any
) -> Any:
    """Return the state after a step, the end of the step, whether to go on, and the row of the point."""
    n = problem.n
    old_x, old_t, ahead, count = state[:n], state[n : 2 * n], state[2 * n], state[2 * n + 1]
    along, cosine, corrected = ended(
        problem, old_x + ahead * old_t, x, old_t, target.reshape(3, 4), tool.reshape(3, 4)
    )
    good = logical_and(less(squared[0], ON_CURVE), less(STRAIGHT, cosine))
    good = logical_and(good, less(corrected, NEAR * ahead))
    turning = less(old_t[k] * along[k], 0.0)
    event = logical_or(turning, logical_or(less_equal(x[k], strip[1]), less_equal(strip[2], x[k])))
    event = logical_and(good, event)
    moves = logical_and(good, logical_not(event))
    grown = minimum(where(less(0.995, cosine), 1.5, 0.95) * ahead, LONGEST_STEP)
    step = where(moves, grown, where(good, ahead, 0.4 * ahead))
    lost = logical_and(logical_not(good), less(step, SHORTEST_STEP))
    total = count + where(moves, 1.0, 0.0)
    what = where(event, HAPPENED, where(lost, LOST, GOING))
    goes_on = logical_and(less(total, MOST_POINTS - 0.5), less(what, 0.5))
    held = [where(moves, new, old) for new, old in zip([*x, *along], [*old_x, *old_t], strict=True)]
    row = where(moves, count, float(MOST_POINTS))
    return np.array([*held, step, total, what]), np.array([*x, *along]), where(goes_on, 1.0, 0.0), row


def _told(state: Any, new: Any) -> Any:
    return np.array([*state, *new])
