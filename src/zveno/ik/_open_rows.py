"""Certification of the configurations that a solver gives for a pose, and the search for their twins: one program.

    row → Newton's method → certified, or: straight self-motion? → residual in double-double → certified or open
    row near a double root → points where its twin may be → the same again → listed if certified and not yet there

A row is certified by Kantorovich's theorem: with K a bound of the second derivatives of the pose error e, see
`zveno.ik._judge`, and σ the least singular value of its Jacobian, h = K (|e| + ε) / σ² ≤ 1/4 proves
that a root is there and no other within σ/K. Two rows are one if either lies in the other's ball. Near a double
root the error along the last singular vectors u, v is u·e + σ t + Q t²: both zeros are tried, two points beside
the row, and half a turn where v is a line on which the pose nearly stays. Whatever is not certified is open.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np

from ..algorithms.linear import (
    reflect,
    reflect_back,
    reflected,
    solve_upper,
    solve_upper_transposed,
    squared_inverse,
)
from ..kernels.builder import Builder, Rows
from ..kernels.compile import compiled_structured
from ..kernels.ops import abs as absolute
from ..kernels.ops import (
    cos,
    equal,
    floor,
    less,
    less_equal,
    logical_and,
    logical_not,
    logical_or,
    maximum,
    minimum,
    sin,
    sqrt,
    where,
)
from . import _double_double as dd
from ._judge import EXACT, N_KNOWN, ROUNDING, certificate_numbers, is_certified, judge, orientable
from .ik_problem import TURN, IkProblem
from .pose_error import Chain, error
from .steps import Step
from .task import Task

OPEN, FRAGILE, PRECISE, CERTIFIED, STRAIGHT = range(5)
"""States of a row: open; certified by a residual in double-double, where rounding of the pose could undo that or
could not; certified; on a straight self-motion."""
NEARLY_DOUBLE = 1e-4
"""Least singular value below which a twin is looked for: solvers take rows nearer than that for one."""
_POLISHING, _PRECISELY, _SAMPLES = 32, 6, 15
_FOURFOLD = 2e-5
"""Second least singular value below which solvers may take four solutions for one."""
_LONGEST, _LONGEST_PRECISE = 0.3, 0.01
_WHOLE = 1e-4
"""Deviation of a singular vector from whole numbers up to which its line is tried."""
_DD_ROUNDING, _SINGULAR_ROUNDING = 1e-30, 1e-15
_STEP = 1e-3
"""Distance along the singular vector at which the curvature is measured."""
_LEAST_Q, _BESIDE_Q = 1e-12, 1e-3
_PIVOT, _PIVOT_PRECISE = 1e-13, 1e-15
_BLURS = (1e-12, 1e-2)
"""Distances up to which open rows are one: even six roots that are further apart are certified."""
_NO_ROW = -1.0
N_TWINS = 5
"""Points where a twin may be."""
_AT_ZERO, _AT_OTHER, _BESIDE, _BESIDE_TOO, _TURNED = range(N_TWINS)
_N_SECOND = 7
_N_RECORD = 4
_N_RESULT = 2
_N_NUMBERS = 4

LINE = 2e-14
"""Pose error along a straight self-motion of such a chain. Wrists 1e-13 from aligned are certified as they are."""
N_OF_ROW = 3
"""Numbers of a row beside its judgement: state, radius of the ball, and 1 where it is kept; then a direction."""


@dataclass(frozen=True)
class RowClass:
    """Chains whose configurations one program certifies: they differ in numbers only.

    Attributes:
        moves: kind, coordinate, factor and pitch in units of `length` of every step.
        n: number of coordinates.
        task: the requested components.
        oriented: True if signs of det J mean something.
        n_candidates: number of candidates that are certified at once.
    """

    moves: tuple[tuple[str, int, float, float], ...]
    n: int
    task: Task
    oriented: bool
    n_candidates: int

    @property
    def turning(self) -> np.ndarray:
        """(n,) booleans: x[k] + 2π is the same pose."""
        turning = np.ones(self.n, bool)
        for kind, k, factor, _ in self.moves:
            turning[k] &= kind == "R" and float(factor).is_integer()
        return turning

    @property
    def n_places(self) -> int:
        """Number of results there is room for."""
        return 2 * self.n_candidates + 8

    @property
    def width(self) -> int:
        """Numbers of a row of the answer."""
        return self.n + N_KNOWN + N_OF_ROW + self.n

    @property
    def in_double_double(self) -> bool:
        """True if residuals are evaluated in double-double: of poses and positions by independent joints."""
        independent = all(
            kind in "RP" and k == i and factor == 1.0 for i, (kind, k, factor, _) in enumerate(self.moves)
        )
        return independent and (self.task.is_pose or not (self.task.rotation or self.task.axis))

    def chain(self, links: Any) -> Chain:
        """Return the chain of links (s, 3, 4), numbers or traced, lengths in units of `length`."""
        steps = [
            Step(kind, links[i], k, factor, pitch, "", k) for i, (kind, k, factor, pitch) in enumerate(self.moves)
        ]
        return Chain(tuple(steps), self.n, self.task, self.turning, 1.0)


@lru_cache(maxsize=64)
def row_class(problem: IkProblem, n_candidates: int) -> RowClass:
    """Return the class of a chain."""
    moves = tuple((s.kind, s.coordinate, float(s.factor), s.pitch / problem.length) for s in problem.steps)
    return RowClass(moves, problem.n, problem.task, orientable(problem), n_candidates)


@lru_cache(maxsize=64)
def arm_numbers(problem: IkProblem) -> tuple[np.ndarray, np.ndarray]:
    """Return links and tool (s + 1, 12), lengths in units of `length`; and length, K, ε and the error of a line."""
    links = np.stack([step.T_before[:3] for step in problem.steps] + [problem.T_last_frame[:3]])
    links[0] = np.eye(3, 4)
    links[..., 3] /= problem.length
    K, reach = certificate_numbers(problem, problem.length)
    numbers = np.array([problem.length, K, ROUNDING * reach, LINE * reach])
    return np.ascontiguousarray(links.reshape(-1, 12)), numbers


def certified_rows(program: Builder, kind: RowClass) -> None:
    """Write answer (places + 1, …), rows of: judgement, state, radius, 1 if kept, direction of a self-motion.

    The last row has the number of the others, of rows that were lost, and of those there was no place for.
    Inputs are links, tool and numbers of an arm, limits (3, n), a target (3, 4), candidates and their number.
    """
    n, m, s, places = kind.n, kind.n_candidates, len(kind.moves), kind.n_places
    links, numbers = program.input("links", (s + 1, 12), 12), program.input("numbers", (_N_NUMBERS,), _N_NUMBERS)
    limits, target = program.input("limits", (3, n), 3 * n), program.input("target", (3, 4), 12)
    candidates, given = program.input("candidates", (m, n), n), program.input("count", ())
    answer = program.output("answer", (places + 1, kind.width), kind.width)
    arm = links[0, s + 1], numbers[0], target[0]

    def scratch(name: str, width: int, rows: int = 1) -> Rows:
        return program.scratch(name, rows, width)

    results, tally = scratch("results", 2 * n + _N_RESULT, places + 1), scratch("tally", 1, places + 1)
    records, counts = scratch("records", 3 * n + _N_RECORD, places + 1), scratch("counts", 3)
    active, again, more = scratch("active", 1), scratch("again", 1), scratch("more", 1)
    x, best, shift = scratch("x", n), scratch("best", n + 2), scratch("shift", 2)
    covered, nearest = scratch("covered", 1), scratch("nearest", 1)
    doubtful, second = scratch("doubtful", 1), scratch("second", 2 * n + _N_SECOND)
    on_line, worst, unsure = scratch("on_line", 1), scratch("worst", 1), scratch("unsure", 1)
    precise, result, place = scratch("precise", n + 2), scratch("result", 2 * n + _N_RESULT), scratch("place", 1)
    arrived = scratch("arrived", 1)
    numbered = program.table("numbered", np.arange(max(places + 1, m, N_TWINS, _SAMPLES))[:, None])

    def arrived_at(point: Rows) -> None:
        """Write whether a point is in the ball of a row."""
        more[0] = program.step(uncovered, covered[0], counts[0])
        with program.repeat_while(more, places) as k:
            covered[0], more[0] = program.step(
                partial(arriving, kind), results[k], point[0], covered[0], counts[0], numbered[k]
            )

    def looked_at(is_twin: bool) -> None:
        """Write what becomes of the point x."""
        covered[0], nearest[0], more[0] = program.step(nothing_covers, counts[0])
        with program.repeat_while(more, places) as k:  # a point in the ball of a row leads there
            covered[0], nearest[0], more[0] = program.step(
                partial(covering, kind), results[k], x[0], covered[0], nearest[0], counts[0], numbered[k]
            )
        again[0] = program.step(is_not, covered[0])
        with program.repeat_while(again, _POLISHING):
            best[0], x[0], again[0] = program.step(partial(polished, kind), *arm, x[0], best[0])
        arrived_at(best)  # where most twins end
        doubtful[0], second[0] = program.step(partial(is_doubtful, kind), numbers[0], best[0], covered[0])
        with program.repeat_while(doubtful, 1):
            second[0] = program.step(partial(second_order, kind), *arm, best[0])
        on_line[0], worst[0], unsure[0] = program.step(
            partial(is_line, kind), numbers[0], best[0], second[0], covered[0]
        )
        with program.repeat_while(on_line, _SAMPLES) as k:
            worst[0], on_line[0], unsure[0] = program.step(
                partial(line_tried, kind), *arm, best[0], second[0], worst[0], numbered[k]
            )
        precise[0] = program.step(partial(not_precise, kind), best[0])
        if kind.in_double_double:
            _made_precise(program, kind, links, arm, best, unsure, precise, covered, arrived_at)
        result[0], more[0] = program.step(
            *(partial(stated, kind, is_twin), numbers[0], best[0], precise[0], second[0], worst[0], covered[0]),
            counts[0],
        )
        with program.repeat_while(more, places) as k:
            covered[0], more[0] = program.step(
                partial(meeting, kind), results[k], result[0], covered[0], counts[0], numbered[k]
            )
        place[0], counts[0] = program.step(
            partial(placed, kind, is_twin), result[0], best[0], covered[0], counts[0]
        )
        results[place.lane()], records[place.lane()] = program.step(partial(recorded, kind), result[0], second[0])

    counts[0] = program.step(none_yet, given[0])
    with program.each(places + 1) as j:
        tally[j] = program.step(zero, given[0])
    with program.each(m) as i:
        active[0], x[0], best[0] = program.step(partial(begun, kind), numbered[i], given[0], candidates[i])
        with program.repeat_while(active, 1):
            looked_at(is_twin=False)
    with program.each(places) as i, program.each(N_TWINS) as t:
        active[0], x[0], best[0], shift[0] = program.step(
            partial(beside, kind), numbered[t], numbered[i], counts[0], records[i], tally[i]
        )
        with program.repeat_while(active, 1):
            looked_at(is_twin=True)
            arrived[0] = program.step(
                partial(landed, kind), result[0], covered[0], nearest[0], shift[0], records[i]
            )
            tally[i] = program.step(added, tally[i], arrived[0])
    with program.each(places) as j:
        covered[0], more[0] = program.step(is_open, results[j], counts[0], numbered[j])
        with program.repeat_while(more, places) as k:
            covered[0], more[0] = program.step(
                partial(blurred, kind), results[k], results[j], covered[0], counts[0], numbered[k], numbered[j]
            )
        answer[j] = program.step(
            partial(written, kind), *arm, limits[0], results[j], tally[j], covered[0], counts[0], numbered[j]
        )
    answer[places] = program.step(partial(counted, kind), counts[0])


def _made_precise(
    program: Builder,
    kind: RowClass,
    links: Rows,
    arm: Any,
    best: Rows,
    unsure: Rows,
    precise: Rows,
    covered: Rows,
    arrived_at: Callable[[Rows], None],
) -> None:
    """Write Newton's method with the residual in double-double, from the best point."""
    n = kind.n
    angles, frame = program.scratch("angles", n, 6), program.scratch("frame", 1, 24)
    delta, point = program.scratch("delta", n, 1), program.scratch("point", 1, n)
    with program.repeat_while(unsure, 1):
        angles[0, n], point[0] = program.step(partial(angles_of, kind), best[0])
        with program.repeat_while(unsure, _PRECISELY):
            frame[0] = program.step(at_base, point[0])
            with program.each(n) as k:
                frame[0] = program.step(carried, frame[0], links[k], angles[k])
            precise[0], delta[0, n], point[0], unsure[0] = program.step(
                partial(precisely, kind), *arm, frame[0], point[0], precise[0]
            )
            with program.each(n) as k:
                angles[k] = program.step(partial(turned), angles[k], delta[k])
            arrived_at(point)
            best[0], unsure[0] = program.step(partial(brought, kind), best[0], point[0], covered[0], unsure[0])


def none_yet(count: Any) -> Any:
    """Return the numbers of results, of lost rows, and of those without a place."""
    return np.zeros(3)


def zero(count: Any) -> Any:
    """Return zero."""
    return 0.0


def added(a: Any, b: Any) -> Any:
    """Return the sum."""
    return a + b


def is_not(flag: Any) -> Any:
    """Return the contrary."""
    return logical_not(flag[0])


def _cut(kind: RowClass, record: Any) -> tuple[Any, Any, Any, Any]:
    n = kind.n
    return record[:n], record[n : 2 * n], record[2 * n : 3 * n], record[3 * n :]


def begun(kind: RowClass, number: Any, count: Any, candidate: Any) -> Any:
    """Return whether there is a candidate of this number, the candidate, and no best point yet."""
    return less(number[0], count[0]), np.array(candidate), np.array([*candidate, 1e30, 0.0])


def beside(kind: RowClass, attempt: Any, number: Any, counts: Any, record: Any, tally: Any) -> Any:
    """Return whether a twin of a result is looked for, where, and no best point yet; and where along v the zero is
    from which it starts, and how near to it a row must be."""
    x, v, d, (t1, t2, aside, tried) = _cut(kind, record)
    at = [equal(attempt[0], float(k)) for k in range(N_TWINS)]
    shift = where(at[_AT_ZERO], t1, where(at[_AT_OTHER], t2, where(at[_BESIDE], aside, -aside)))
    along = [where(at[_TURNED], 0.5 * TURN * b, shift * a) for a, b in zip(v, d, strict=True)]
    start = np.array([a + b for a, b in zip(x, along, strict=True)])
    zeros, near = logical_or(at[_AT_ZERO], at[_AT_OTHER]), logical_or(at[_BESIDE], at[_BESIDE_TOO])
    is_whole = less(0.5, sum(absolute(value) for value in d))
    # Points beside a row are for zeros that rounding misplaces: not where both led to rows.
    active = where(near, logical_and(less(1.5, tried), less(tally[0], 1.5)), less(0.5, tried))
    active = logical_and(active, logical_or(logical_not(at[_TURNED]), is_whole))
    active = logical_and(active, less(number[0], counts[0]))
    reach = where(logical_and(zeros, less(1.5, tried)), 0.25 * absolute(t1 - t2), -1.0)
    return active, start, np.array([*start, 1e30, 0.0]), np.array([shift, reach])


def nothing_covers(counts: Any) -> Any:
    """Return that no result covers a point, that none is near, and whether there are results."""
    return 0.0, np.array([1e30]), less(0.5, counts[0])


def _distance(kind: RowClass, a: Any, b: Any) -> Any:
    """Return the distance of two points, turning coordinates the short way round."""
    total, turning = 0.0, kind.turning
    for k in range(kind.n):
        d = a[k] - b[k]
        if turning[k]:
            d = d - TURN * floor(d * (1.0 / TURN) + 0.5)
        total = total + d * d
    return sqrt(total)


def _certified(state: Any) -> Any:
    return logical_and(less(OPEN + 0.5, state), less(state, STRAIGHT - 0.5))


def covering(
    kind: RowClass, result: Any, x: Any, covered: Any, nearest: Any, counts: Any, number: Any
) -> tuple[Any, Any, Any]:
    """Return whether x lies in the ball of a result so far, the distance to that result, and if there are more."""
    off = _distance(kind, result[: kind.n], x)
    inside = logical_and(_certified(result[kind.n]), less_equal(off, result[kind.n + 1]))
    covered = logical_or(covered[0], inside)
    more = logical_and(less(number[0] + 1.5, counts[0]), logical_not(covered))
    return covered, np.array([where(inside, off, nearest[0])]), more


def uncovered(covered: Any, counts: Any) -> Any:
    """Return whether no result covers a point so far, and there are results."""
    return logical_and(logical_not(covered[0]), less(0.5, counts[0]))


def arriving(kind: RowClass, result: Any, best: Any, covered: Any, counts: Any, number: Any) -> Any:
    """Return whether the best point is in the ball of a result, and if there are more results."""
    inside = logical_and(_certified(result[kind.n]), less_equal(_distance(kind, result, best), result[kind.n + 1]))
    covered = logical_or(covered[0], inside)
    return covered, logical_and(less(number[0] + 1.5, counts[0]), logical_not(covered))


def _linear(kind: RowClass, links: Any, target: Any, x: Any) -> Any:
    links = links.reshape(-1, 3, 4)
    return error(kind.chain(links[:-1]), x, target.reshape(3, 4), links[-1], exact=True)  # type: ignore[arg-type]


def _steady(R: list[list[Any]], least: float) -> list[list[Any]]:
    """Return R with pivots that are not zero."""
    steady = [list(row) for row in R]
    for k, row in enumerate(steady):
        pivot = row[k]
        row[k] = where(less(absolute(pivot), least), where(less(pivot, 0.0), -least, least), pivot)
    return steady


def _step(R: Any, reflections: Any, e: Any, least: float, longest: float) -> list[Any]:
    """Return the Gauss–Newton step of an error, no coordinate longer than that."""
    step = solve_upper(_steady(R, least), reflect(reflections, e))
    greatest = absolute(step[0])
    for value in step[1:]:
        greatest = maximum(greatest, absolute(value))
    shortened = minimum(1.0, longest / maximum(greatest, 1e-300))
    return [shortened * value for value in step]


def _least(R: Any) -> Any:
    """Return 1/‖R⁻¹‖ in the Frobenius norm, at least a share of σ; 0 if R is singular."""
    inverse = squared_inverse(R)
    return where(less(inverse, 1e60), 1.0 / sqrt(inverse), 0.0)


def polished(kind: RowClass, links: Any, numbers: Any, target: Any, x: Any, best: Any) -> Any:
    """Return the best point with its error and singular value, the next point, and whether to go on from there."""
    n, at = kind.n, _linear(kind, links, target, x)
    size = sqrt(at.squared)
    R, reflections = reflected(at.J)
    better = less(size, best[n])
    best = np.array([where(better, a, b) for a, b in zip([*x, size, _least(R)], best, strict=True)])
    step = _step(R, reflections, at.e, _PIVOT, _LONGEST)
    done = logical_or(
        less_equal(size, numbers[2]), logical_and(logical_not(better), less(best[n], 10.0 * numbers[2]))
    )
    return best, np.array([a - b for a, b in zip(x, step, strict=True)]), logical_not(done)


def _bound(kind: RowClass, numbers: Any, x: Any) -> Any:
    """Return K at x: levers are longer by what slides are further out than 1."""
    further: Any = 0.0
    for letter, k, factor, pitch in kind.moves:
        if letter != "R":
            stroke = factor if letter == "P" else factor * pitch
            further = further + maximum(0.0, absolute(stroke * x[k]) - 1.0)
    return numbers[1] + float(len(kind.moves)) * further


def _holds(kind: RowClass, numbers: Any, x: Any, size: Any, least: Any) -> Any:
    """Return True where the row is certified."""
    return is_certified(_bound(kind, numbers, x), size, least)


def is_doubtful(kind: RowClass, numbers: Any, best: Any, covered: Any) -> Any:
    """Return whether the second order matters, and none yet."""
    n = kind.n
    sure = _holds(kind, numbers, best, best[n] + numbers[2], best[n + 1])
    doubtful = logical_or(logical_not(sure), less(best[n + 1], NEARLY_DOUBLE))
    solves = logical_and(less_equal(best[n], EXACT), logical_not(covered[0]))
    return logical_and(doubtful, solves), np.zeros(2 * n + _N_SECOND)


def second_order(kind: RowClass, links: Any, numbers: Any, target: Any, best: Any) -> Any:
    """Return v, its whole numbers or zeros, the zeros along it, the distance of points beside, both least singular
    values, |Q|, and blur."""
    n, x, epsilon = kind.n, best[: kind.n], numbers[2]
    at = _linear(kind, links, target, x)
    R, reflections = reflected(at.J)
    R = _steady(R, 1e-18)
    y, v, sigma = _singular(R, [])
    next_sigma = _singular(R, [v])[2] if n > 1 else 1.0
    u = reflect_back(reflections, [*y, *[0.0] * (len(at.e) - n)])

    def missed(t: float) -> Any:
        e = _linear(kind, links, target, np.array([a + t * b for a, b in zip(x, v, strict=True)])).e
        return sum(a * b for a, b in zip(u, e, strict=True))

    along = sum(a * b for a, b in zip(u, at.e, strict=True))
    Q = (missed(_STEP) + missed(-_STEP) - 2.0 * along) * (0.5 / _STEP**2)
    size = absolute(Q)
    Q = where(less(size, _LEAST_Q), _LEAST_Q, Q)
    middle = -0.5 * sigma / Q
    half = sqrt(maximum(middle * middle - along / Q, 0.0))
    zeros = [minimum(maximum(middle + sign * half, -_LONGEST), _LONGEST) for sign in (1.0, -1.0)]
    missing = best[n] + epsilon
    aside = minimum(4.0 * sqrt(missing / maximum(size, _BESIDE_Q)), _LONGEST)
    blur = 4.0 * minimum(missing / sigma, sqrt(missing / maximum(size, _LEAST_Q)))
    blur = minimum(maximum(blur, _BLURS[0]), _BLURS[1])
    greatest = absolute(v[0])
    for value in v[1:]:
        greatest = maximum(greatest, absolute(value))
    w = [value / greatest for value in v]
    whole = [floor(value + 0.5) for value in w]
    off: Any = 0.0
    for k, (value, number) in enumerate(zip(w, whole, strict=True)):
        off = maximum(off, absolute(value - number) if kind.turning[k] else absolute(value))
    d = [where(less(off, _WHOLE), number, 0.0) for number in whole]
    return np.array([*v, *d, *zeros, aside, sigma, next_sigma, size, blur])


def _singular(R: list[list[Any]], without: list[list[Any]]) -> tuple[list[Any], list[Any], Any]:
    """Return the least singular value of R, or the next, and its vectors, by inverse iteration."""
    v: list[Any] = [1.0 - 0.1 * k for k in range(len(R))]
    y, sigma = v, 0.0
    for _ in range(4):
        for other in without:
            along = sum(a * b for a, b in zip(v, other, strict=True))
            v = [a - along * b for a, b in zip(v, other, strict=True)]
        y, _ = _unit(solve_upper_transposed(R, v))
        v, length = _unit(solve_upper(R, y))
        sigma = 1.0 / length
    return y, v, sigma


def _unit(v: list[Any]) -> tuple[list[Any], Any]:
    length = sqrt(sum(value * value for value in v))
    return [value / length for value in v], length


def is_line(kind: RowClass, numbers: Any, best: Any, second: Any, covered: Any) -> Any:
    """Return whether a row may be on a straight self-motion, no error of its line, and if precision is needed."""
    n = kind.n
    d = second[n : 2 * n]
    solves = logical_and(less_equal(best[n], EXACT), logical_not(covered[0]))
    sure = _holds(kind, numbers, best, best[n] + numbers[2], best[n + 1])
    unsure = logical_and(solves, logical_not(sure))
    line = logical_and(unsure, less(0.5, sum(absolute(value) for value in d)))
    return line, where(line, 0.0, 1.0), logical_and(unsure, logical_not(line))


def line_tried(
    kind: RowClass, links: Any, numbers: Any, target: Any, best: Any, second: Any, worst: Any, number: Any
) -> Any:
    """Return the greatest error along a line, whether to go on, and if it leaves the pose."""
    n, angle = kind.n, (number[0] + 1.0) * (TURN / (_SAMPLES + 1))
    x = np.array([a + angle * b for a, b in zip(best[:n], second[n : 2 * n], strict=True)])
    worst = maximum(worst[0], sqrt(_linear(kind, links, target, x).squared))
    stays = less_equal(worst, numbers[3])
    return worst, stays, logical_not(stays)


def not_precise(kind: RowClass, best: Any) -> Any:
    """Return the point, and that it is not certified by a precise residual."""
    return np.array([*best[: kind.n], 0.0, 0.0])


def angles_of(kind: RowClass, best: Any) -> Any:
    """Return cosines, sines and slides of every joint in double-double, and the point.

    Cosine and sine in doubles, normalised, define an angle: no sine of more digits is needed.
    """
    rows: list[Any] = []
    for k, (letter, *_) in enumerate(kind.moves):
        if letter == "P":
            rows += [1.0, 0.0, 0.0, 0.0, best[k], 0.0]
        else:
            c, s = dd.unit((cos(best[k]), 0.0), (sin(best[k]), 0.0))
            rows += [*c, *s, 0.0, 0.0]
    return np.array(rows), np.array(best[: kind.n])


def at_base(point: Any) -> Any:
    """Return the frame before the first joint: rotation and position, high parts and then low ones."""
    return np.array([*np.eye(3).ravel(), *np.zeros(15)])


def carried(frame: Any, link: Any, angle: Any) -> Any:
    """Return the frame after a link and a joint."""
    R, p = _linked(_frame(frame), link)
    c, s, t = (angle[0], angle[1]), (angle[2], angle[3]), (angle[4], angle[5])
    p = [dd.add(p[i], dd.multiply(R[i][2], t)) for i in range(3)]
    R = [
        [
            dd.add(dd.multiply(row[0], c), dd.multiply(row[1], s)),
            dd.add(dd.multiply(row[1], c), dd.negative(dd.multiply(row[0], s))),
            row[2],
        ]
        for row in R
    ]
    pairs = [pair for row in R for pair in row] + p
    return np.array([pair[0] for pair in pairs] + [pair[1] for pair in pairs])


def _frame(frame: Any) -> tuple[list[list[dd.Pair]], list[dd.Pair]]:
    pairs = [(frame[k], frame[12 + k]) for k in range(12)]
    return [pairs[0:3], pairs[3:6], pairs[6:9]], pairs[9:]


def _linked(frame: Any, link: Any) -> tuple[list[list[dd.Pair]], list[dd.Pair]]:
    R, p = frame
    link = link.reshape(3, 4)
    moved = [[_dot(row, link[:, k]) for k in range(4)] for row in R]
    return [row[:3] for row in moved], [dd.add(p[i], moved[i][3]) for i in range(3)]


def _dot(row: list[dd.Pair], factors: Any) -> dd.Pair:
    total = dd.scale(row[0], factors[0])
    for a, factor in zip(row[1:], factors[1:], strict=True):
        total = dd.add(total, dd.scale(a, factor))
    return total


def residual(kind: RowClass, frame: Any, tool: Any, target: Any) -> list[Any]:
    """Return the error (m,) of a frame in double-double before its tool, as doubles."""
    R, p = _linked(_frame(frame), tool)
    target, rows = target.reshape(3, 4), kind.task.position
    away = [dd.add(p[i], (-target[i, 3], 0.0)) for i in range(3)]
    if len(rows) < 3:  # in axes of the target
        away = [_dot(away, target[:, k]) for k in rows]
    if not kind.task.rotation:
        return [a + b for a, b in away]
    E = [[_dot(R[i], target[k, :3]) for k in range(3)] for i in range(3)]
    w = 0.5 * sqrt(maximum(1.0 + E[0][0][0] + E[1][1][0] + E[2][2][0], 1e-6))
    turns = [dd.add(E[j][i], dd.negative(E[i][j])) for i, j in ((1, 2), (2, 0), (0, 1))]
    return [*(a + b for a, b in away), *((a + b) / (2.0 * w) for a, b in turns)]


def precisely(kind: RowClass, links: Any, numbers: Any, target: Any, frame: Any, point: Any, precise: Any) -> Any:
    """Return the point with its singular value and 1 if it is certified; the step from there, the point after it,
    and whether to go on."""
    e = residual(kind, frame, links.reshape(-1, 12)[-1], target)
    at = _linear(kind, links, target, point)
    R, reflections = reflected(at.J)
    least, size = _least(R), sqrt(sum(value * value for value in e))
    holds = _holds(kind, numbers, point, size + _DD_ROUNDING, least - _SINGULAR_ROUNDING)
    step = _step(R, reflections, e, _PIVOT_PRECISE, _LONGEST_PRECISE)
    step = [where(holds, 0.0, value) for value in step]
    precise = np.array([where(holds, a, b) for a, b in zip([*point, least, 1.0], precise, strict=True)])
    return precise, np.array(step), np.array([a - b for a, b in zip(point, step, strict=True)]), logical_not(holds)


def brought(kind: RowClass, best: Any, point: Any, covered: Any, unsure: Any) -> Any:
    """Return the best point, this one if a ball covers it, and whether to go on."""
    x = [where(covered[0], a, b) for a, b in zip(point, best[: kind.n], strict=True)]
    return np.array([*x, *best[kind.n :]]), logical_and(unsure[0], logical_not(covered[0]))


def turned(angle: Any, delta: Any) -> Any:
    """Return a joint in double-double after a step back by delta, rad or a length."""
    c, s, t = (angle[0], angle[1]), (angle[2], angle[3]), (angle[4], angle[5])
    slides = logical_and(equal(angle[0], 1.0), logical_not(equal(angle[4], 0.0)))
    turn = where(slides, 0.0, delta[0])
    by_c, by_s = cos(turn), sin(turn)
    c, s = (
        dd.add(dd.scale(c, by_c), dd.scale(s, by_s)),
        dd.add(dd.scale(s, by_c), dd.negative(dd.scale(c, by_s))),
    )
    c, s = dd.unit(c, s)
    t = dd.add(t, (-where(slides, delta[0], 0.0), 0.0))
    return np.array([*c, *s, *t])


def stated(
    kind: RowClass,
    is_twin: bool,
    numbers: Any,
    best: Any,
    precise: Any,
    second: Any,
    worst: Any,
    covered: Any,
    counts: Any,
) -> Any:
    """Return the result, point, state, radius and direction; and whether other results may be the same."""
    n, (sigma, next_sigma, curvature, blur) = kind.n, second[2 * kind.n + 3 :]
    sure = _holds(kind, numbers, best, best[n] + numbers[2], best[n + 1])
    # Where a second singular value vanishes, solutions nearly meet in fours, and not all of them are looked for.
    by_fours = logical_and(less(0.0, sigma), less(next_sigma, _FOURFOLD))
    fragile = logical_or(
        by_fours, logical_and(logical_not(sure), less(0.25 * sigma * sigma, curvature * numbers[2]))
    )
    is_precise = less(0.5, precise[n + 1])
    line = less_equal(worst[0], numbers[3])
    state = where(is_precise, float(PRECISE), float(OPEN))
    state = where(sure, float(CERTIFIED), where(line, float(STRAIGHT), state))
    state = where(logical_and(fragile, _certified(state)), float(FRAGILE), state)
    solves = logical_and(less_equal(best[n], EXACT), logical_not(covered[0]))
    if is_twin:  # one that nothing certifies is no news
        solves = logical_and(solves, _certified(state))
    state = where(solves, state, _NO_ROW)
    better = logical_and(is_precise, logical_not(sure))
    least = where(better, precise[n], best[n + 1])
    radius = where(_certified(state), least / _bound(kind, numbers, best), blur)
    x = [where(better, a, b) for a, b in zip(precise[:n], best[:n], strict=True)]
    d = [where(line, value, 0.0) for value in second[n : 2 * n]]
    return np.array([*x, state, radius, *d]), logical_and(_certified(state), less(0.5, counts[0]))


def meeting(kind: RowClass, other: Any, result: Any, covered: Any, counts: Any, number: Any) -> Any:
    """Return whether a certified result is the same as another, and whether there are more."""
    n, off = kind.n, _distance(kind, other[: kind.n], result[: kind.n])
    same = logical_and(_certified(other[n]), less_equal(off, maximum(other[n + 1], result[n + 1])))
    covered = logical_or(covered[0], same)
    return covered, logical_and(less(number[0] + 1.5, counts[0]), logical_not(covered))


def placed(kind: RowClass, is_twin: bool, result: Any, best: Any, covered: Any, counts: Any) -> Any:
    """Return the place of a result, the last if it is none, and the counts after it."""
    last = float(kind.n_places)
    is_row = logical_and(less(-0.5, result[kind.n]), logical_not(covered[0]))
    full = less_equal(last, counts[0])
    kept = logical_and(is_row, logical_not(full))
    lost = 0.0 if is_twin else logical_and(logical_not(covered[0]), less(EXACT, best[kind.n]))
    after = [counts[0] + kept, counts[1] + lost, counts[2] + logical_and(is_row, full)]
    return where(kept, counts[0], last), np.array(after)


def landed(kind: RowClass, result: Any, covered: Any, nearest: Any, shift: Any, record: Any) -> Any:
    """Return 1 if a certified row is where a zero was."""
    x, v, _, _ = _cut(kind, record)
    seed = [a + shift[0] * b for a, b in zip(x, v, strict=True)]
    off = where(less(nearest[0], 1e29), nearest[0], _distance(kind, result[: kind.n], seed))
    there = logical_or(covered[0], _certified(result[kind.n]))
    return logical_and(there, less_equal(off, shift[1]))


def recorded(kind: RowClass, result: Any, second: Any) -> Any:
    """Return a result, and its record: from where twins are looked for, where, and how much."""
    n = kind.n
    state, sigma = result[n], second[2 * n + 3]
    nearly = logical_and(less(0.0, sigma), less(state, STRAIGHT - 0.5))
    tried = where(nearly, where(less(CERTIFIED - 0.5, state), 1.0, 2.0), 0.0)
    return result, np.array([*result[:n], *second[: 2 * n + 3], tried])


def is_open(result: Any, counts: Any, number: Any) -> Any:
    """Return that an open result is not dropped yet, and whether others may be the same."""
    n = (len(result) - _N_RESULT) // 2
    present = less(number[0], counts[0])
    return 0.0, logical_and(present, less(absolute(result[n]), 0.5))


def blurred(kind: RowClass, other: Any, result: Any, covered: Any, counts: Any, number: Any, which: Any) -> Any:
    """Return whether an open result is in the ball of a certified one, or the same as an open one before it."""
    n, off = kind.n, _distance(kind, other[: kind.n], result[: kind.n])
    in_ball = logical_and(_certified(other[n]), less_equal(off, other[n + 1]))
    is_before = logical_and(less(absolute(other[n]), 0.5), less(number[0], which[0]))
    alike = logical_and(is_before, less_equal(off, maximum(other[n + 1], result[n + 1])))
    is_fragile = less(absolute(other[n] - FRAGILE), 0.5)
    alike = logical_or(alike, logical_and(is_fragile, less_equal(off, result[n + 1])))
    covered = logical_or(covered[0], logical_or(in_ball, alike))
    return covered, logical_and(less(number[0] + 1.5, counts[0]), logical_not(covered))


def written(
    kind: RowClass,
    links: Any,
    numbers: Any,
    target: Any,
    limits: Any,
    result: Any,
    tally: Any,
    covered: Any,
    counts: Any,
    number: Any,
) -> Any:
    """Return a row of the answer; an open row between two roots that were found both is not kept."""
    n, links = kind.n, links.reshape(-1, 3, 4)
    chain: Any = kind.chain(links[:-1])
    lower, upper, middle = limits.reshape(3, n)
    known = judge(
        chain, kind.oriented, result[:n], target.reshape(3, 4), links[-1], lower, upper, middle, numbers[0]
    )
    between = logical_and(less(absolute(result[n]), 0.5), less(1.5, tally[0]))
    kept = logical_and(less(number[0], counts[0]), logical_not(logical_or(covered[0], between)))
    return np.array([*known, result[n], result[n + 1], where(kept, 1.0, 0.0), *result[n + _N_RESULT :]])


def counted(kind: RowClass, counts: Any) -> Any:
    """Return the last row of the answer."""
    return np.array([*counts, *[0.0] * (kind.width - len(counts))])


@lru_cache(maxsize=64)
def certifier(kind: RowClass) -> Any:
    """Return the kernel (links, numbers, limits, target, candidates, count) → answer of `certified_rows`."""
    return compiled_structured(certified_rows, kind, name="ik_certified_rows", state_by_state=True)
