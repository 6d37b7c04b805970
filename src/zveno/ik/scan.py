"""All solutions of any chain by scanning: a coarse grid, reduced to near points, refined in lanes.

Document 004 with its tricks: limits prune the numbers before anything is computed; the first and last joint are
solved instead of scanned; functional constraints compress the range; the survivors start a damped Newton iteration,
and their number is doubled until the set of solutions does not grow any more and no solution was reached from one
start alone: what has been met once only suggests that others have not been met (Good and Turing). As many numbers
of the whole grid start too: the nearest ones may all lie in the basins of a few solutions.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..kernels.threads import get_threads
from ._judge import jacobians, judged
from ._rows import distinct, near
from .clock import time_is_over
from .ik_problem import IkProblem
from .newton import CONVERGED, Lanes, descend, lanes_of, newton
from .scan_table import Table, table_of, windings_within
from .solutions import Raw, padded

SURVIVORS = (8, 12, 16, 48, 128, 192)
"""Numbers kept at first, by how many coordinates are scanned; the last one for more."""
DOUBLINGS = 3
"""Maximum number of times the survivors are doubled while new solutions are found."""
ITERATIONS = 24
STRAGGLERS = 1e-5
"""Squared error below which an iteration that has not arrived is worth continuing: double roots arrive slowly."""
ACCEPTED = 1e-19
"""Largest squared error of a solution, in units of `length` and radians."""
MEETING = 0.01
"""Least singular value (lengths in units of `length`) below which another solution is sought along the kernel."""
TWIN_STEPS = (0.03, -0.03, 0.1, -0.1, 0.3, -0.3)
_AT_ONCE = 1 << 18
"""Distances that are computed before the next poses are taken."""


class _Points(NamedTuple):
    pose: np.ndarray
    x: np.ndarray


@dataclass(frozen=True)
class Scan:
    """The general solver: any joints, any number of them, any task."""

    name: str = "scan"

    def applies(self, problem: IkProblem) -> bool:
        """Return True: every problem can be scanned."""
        return True

    def solve(self, problem: IkProblem, T: np.ndarray) -> Raw:
        """Find all solutions of k poses (k, 4, 4)."""
        lanes = lanes_of(problem, T)
        poses = int(np.clip(_AT_ONCE // table_of(problem).size, 16, 1024))

        def part(start: int):
            return _scanned(problem, Lanes(lanes.targets[start : start + poses], lanes.tool))

        starts = range(0, max(1, len(T)), poses)
        workers = min(get_threads(), len(starts))
        if workers == 1:
            parts = [part(start) for start in starts]
        else:
            # Trick 4 of document 004. Each part is computed alone, so the answer does not change.
            with ThreadPoolExecutor(workers) as pool:
                contexts = [copy_context() for _ in starts]
                parts = list(pool.map(lambda context, start: context.run(part, start), contexts, starts))
        pose = np.concatenate([p.pose + k * poses for k, (p, _, _) in enumerate(parts)])
        x = np.concatenate([p.x for p, _, _ in parts])
        count = np.bincount(pose, minlength=len(T))
        return Raw(
            padded(pose, x * problem.units, count),
            count,
            np.concatenate([stable for _, stable, _ in parts]),
            density=np.concatenate([density for _, _, density in parts]),
        )

    def explain(self, problem: IkProblem) -> str:
        """Describe the grid, and the coordinates solved instead of scanned."""
        table = table_of(problem)
        solved = [name for name, is_solved in (("first", table.first), ("last", table.last)) if is_solved]
        rest = f", the {' and '.join(solved)} solved in closed form" if solved else ""
        return (
            f"Scan of {table.size} numbers (grid {' × '.join(map(str, table.grid.counts))}){rest}; the nearest "
            f"{survivors_of(table)} start a damped Newton iteration, twice as many until nothing new is found"
        )


solver: Scan = Scan()


def survivors_of(table: Table) -> int:
    """Return the initial number of starts of an iteration; more if a coordinate turns several times as fast."""
    scanned = table.problem.n - table.first - table.last
    return min(int(SURVIVORS[min(scanned, len(SURVIVORS) - 1)] * windings_within(table.problem)), table.size)


def _scanned(problem: IkProblem, lanes: Lanes) -> tuple[_Points, np.ndarray, np.ndarray]:
    """Solve a few poses; tell if each set was stable when the survivors were doubled; count comparisons."""
    table = table_of(problem)
    k = len(lanes.targets)
    stable, density = np.zeros(k, bool), np.full(k, table.size)
    left = np.arange(k)
    solutions, hits = _Points(np.zeros(0, int), np.zeros((0, problem.n))), np.zeros(0, int)
    D = table.distances(lanes)
    ranks = [min(survivors_of(table) * 2**j, table.size) for j in range(1 + DOUBLINGS)]
    order, done = _ranked(D, ranks[:2]), 0
    for j, upto in enumerate(ranks):
        if upto <= done:
            break
        point = order[left, done:upto] if j < 2 else _ranked(D[left], [done, upto])[:, done:upto]
        anywhere = np.random.default_rng(j).choice(table.size, upto - done, replace=False)
        point = np.concatenate([point, np.broadcast_to(anywhere, point.shape)], axis=1)
        pose = np.repeat(left, point.shape[1])
        arrived = _arrived(problem, lanes, pose, table.seeds(lanes, pose, point.ravel()))
        before = np.bincount(solutions.pose, minlength=k)
        both = _Points(np.concatenate([solutions.pose, arrived.pose]), np.concatenate([solutions.x, arrived.x]))
        keep = distinct(problem, both.pose, both.x)
        hits = _hits(problem, both, keep, np.concatenate([hits, np.ones(len(arrived.pose), int)]))
        solutions = _Points(both.pose[keep], both.x[keep])
        after = np.bincount(solutions.pose, minlength=k)
        if done:
            lone = np.bincount(solutions.pose, hits == 1, minlength=k) > 0
            stable[left] = (after[left] == before[left]) & ~lone[left]
            left = left[~stable[left]]
        done = upto
        if not len(left) or time_is_over():
            break
    if time_is_over():
        return solutions, np.zeros(k, bool), density
    return _with_twins(problem, lanes, solutions), stable, density


def _with_twins(problem: IkProblem, lanes: Lanes, solutions: _Points) -> _Points:
    """Add solutions beside nearly singular ones: where two nearly meet, starts may all go to one."""
    if problem.redundancy or not len(solutions.pose):
        return solutions
    close = np.flatnonzero(judged(problem, solutions.x, lanes, solutions.pose).least < MEETING)
    if not len(close):
        return solutions
    pose, x = solutions.pose[close], solutions.x[close]
    towards = np.linalg.svd(jacobians(problem, x, lanes, pose))[2][:, -1]
    seeds = np.concatenate([x + step * towards for step in TWIN_STEPS])
    new = _refined(problem, lanes, np.tile(pose, len(TWIN_STEPS)), seeds)
    both = _Points(np.concatenate([solutions.pose, new.pose]), np.concatenate([solutions.x, new.x]))
    keep = distinct(problem, both.pose, both.x)
    return _Points(both.pose[keep], both.x[keep])


def _ranked(D: np.ndarray, cuts: list[int]) -> np.ndarray:
    """Return indices (k, N) of numbers, sorted by distance as far as the cuts are concerned."""
    inside = sorted({cut for cut in cuts if 0 < cut < D.shape[1]})
    if not inside:
        return np.broadcast_to(np.arange(D.shape[1]), D.shape)
    return np.argpartition(D, inside, axis=1)


def _hits(problem: IkProblem, points: _Points, keep: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Count the starts (len(keep),) that arrived at each of the points kept, by weights (s,) of the points."""
    number = np.full(len(points.pose), -1)
    for shift in range(int(np.bincount(points.pose[keep]).max(initial=0))):
        # Every point is compared with the first, second, … solution of its pose.
        first = np.searchsorted(points.pose[keep], points.pose)
        other = np.minimum(first + shift, len(keep) - 1)
        same = (points.pose[keep[other]] == points.pose) & (number < 0)
        rows = np.flatnonzero(same)
        rows = rows[near(problem, points.x[rows], points.x[keep[other[rows]]])]
        number[rows] = other[rows]
    return np.bincount(number[number >= 0], weights[number >= 0], minlength=len(keep)).astype(int)


def _refined(problem: IkProblem, lanes: Lanes, pose: np.ndarray, seeds: np.ndarray) -> _Points:
    """Find the distinct solutions at which iterations from the seeds arrive."""
    pose, x = _arrived(problem, lanes, pose, seeds)
    keep = distinct(problem, pose, x)
    return _Points(pose[keep], x[keep])


def _arrived(problem: IkProblem, lanes: Lanes, pose: np.ndarray, seeds: np.ndarray) -> _Points:
    x, squared = newton(problem, seeds, lanes.targets[pose], lanes.tool, ITERATIONS)
    slow = np.flatnonzero((squared < STRAGGLERS) & (squared >= CONVERGED))
    if len(slow):
        x[slow], squared[slow] = newton(problem, x[slow], lanes.targets[pose[slow]], lanes.tool, 2 * ITERATIONS)
    good = np.flatnonzero(squared < ACCEPTED)
    return _Points(pose[good], x[good])


def nearest(problem: IkProblem, T: np.ndarray, starts: int = 12) -> tuple[np.ndarray, np.ndarray]:
    """Find the configuration inside limits with the least squared error per pose: x (k, n), and errors (k,)."""
    lanes, table = lanes_of(problem, T), table_of(problem)
    box = (problem.lower / problem.units, problem.upper / problem.units)
    starts = min(starts, table.size)
    point = _ranked(table.distances(lanes), [starts])[:, :starts]
    pose = np.repeat(np.arange(len(T)), starts)
    seeds = table.seeds(lanes, pose, point.ravel())
    x, value = descend(problem, np.clip(seeds, *box), lanes.targets[pose], lanes.tool, box)
    best = np.argmin(value.reshape(len(T), starts), axis=1)
    rows = np.arange(len(T)) * starts + best
    return x[rows] * problem.units, value[rows]
