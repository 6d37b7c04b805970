"""Chains with several coordinates too many: slices over a grid of these, each solved completely, joined to sheets.

Where one coordinate is redundant `slices` cuts solutions into curves; here the grid has as many dimensions as the
redundancy, its cells are numbered as document 004 numbers them, and neighbouring solutions make up sheets.
"""

from __future__ import annotations

import itertools
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ..checks.distinct import distinct
from ..checks.judgement import SINGULAR, jacobians
from ..clock import time_is_over
from ..ik_problem import IkProblem
from ..newton import CONVERGED, Lanes, lanes_of, newton
from ..numbers import Grid, decode, encode
from ..scan import ACCEPTED, ITERATIONS, STRAGGLERS, _ranked
from ..scan_table import table_of
from .slices import LINK, named_coordinates

SURVIVORS = (64, 128, 256)
"""Numbers that start an iteration in a slice; the next amount where the one before has found something new."""


class Sheets(NamedTuple):
    """Solutions of k poses on a grid of slices.

    Attributes:
        coordinates: of the chain, that are held in a slice.
        grid: of their values, in the chain's units.
        pose, number: (s,) the pose and the slice, numbered from 1, of every solution, in order.
        x: (s, n), chain units.
        unstable: (k,) slices in which more starts still found more.
        density: numbers compared for every pose.
    """

    coordinates: tuple[int, ...]
    grid: Grid
    pose: np.ndarray
    number: np.ndarray
    x: np.ndarray
    unstable: np.ndarray
    density: int


def redundant_coordinates(problem: IkProblem, names: Any = None) -> tuple[int, ...]:
    """The coordinates that are sliced: the joints named, or those that together move most in self-motions."""
    if names is not None:
        return named_coordinates(problem, names)
    kernels = _jacobians(problem)[1][:, -problem.redundancy :]

    def volume(which: list[int]) -> float:
        """How well self-motions are told by these coordinates: the median volume of kernels seen in them."""
        seen = kernels[:, :, which]
        return float(np.median(np.linalg.det(np.swapaxes(seen, 1, 2) @ seen)))

    chosen: list[int] = []
    for _ in range(problem.redundancy):
        chosen.append(max((k for k in range(problem.n) if k not in chosen), key=lambda k: volume([*chosen, k])))
    return tuple(sorted(chosen))


def regular(problem: IkProblem) -> bool:
    """Whether slices are points, as a rule: the Jacobian of a random configuration has full rank."""
    return bool(np.median(_jacobians(problem)[0][:, -1]) > SINGULAR)


@lru_cache(maxsize=8)
def _jacobians(problem: IkProblem) -> tuple[np.ndarray, np.ndarray]:
    """Singular values and right singular vectors of Jacobians at random configurations."""
    lower, upper = (side / problem.units for side in problem.span)
    x = np.random.default_rng(0).uniform(lower, upper, (64, problem.n))
    lanes = Lanes(np.broadcast_to(np.eye(3, 4), (64, 3, 4)).copy(), problem.tool)
    _, singular, Vt = np.linalg.svd(jacobians(problem, x, lanes, np.arange(64)))
    return singular, Vt


def values_each(problem: IkProblem, slices: int) -> int:
    """How many values of every redundant coordinate make at most `slices` cells."""
    return int(slices ** (1 / problem.redundancy) + 1e-9)


def slice_grid(problem: IkProblem, coordinates: tuple[int, ...], each: int) -> Grid:
    """The grid with as many values of every coordinate."""
    index = list(coordinates)
    lower, upper = (side[index] / problem.units[index] for side in problem.span)
    return Grid.by_count(lower, upper, each, centred=True)


def solve_sheets(problem: IkProblem, T: np.ndarray, coordinates: tuple[int, ...], grid: Grid) -> Sheets:
    """All solutions of k poses (k, 4, 4) with the coordinates at every point of the grid, inside limits."""
    lanes, k = lanes_of(problem, T), len(T)
    values = grid.range_points(1, grid.size + 1)
    parts, unstable, density = [], np.zeros(k, int), 0
    for s, point in enumerate(values):
        if s and time_is_over():
            break
        table = table_of(problem, frozen=tuple(zip(coordinates, point.tolist(), strict=True)))
        density += table.size
        order = _ranked(table.distances(lanes), [min(count, table.size) for count in SURVIVORS])
        left, done = np.arange(k), 0
        pose, x = np.zeros(0, int), np.zeros((0, problem.n))
        for upto in SURVIVORS:
            upto = min(upto, table.size)
            of = np.repeat(left, upto - done)
            seeds = table.seeds(lanes, of, order[left, done:upto].ravel())
            before = np.bincount(pose, minlength=k)
            rows, refined = _refined(problem, lanes, coordinates, of, seeds)
            pose, x = _joined(problem, (pose, rows), (x, refined))
            grown = np.bincount(pose, minlength=k) > before
            left = left[grown[left]] if done else left
            done = upto
            if not len(left):
                break
        unstable[left] += done < table.size
        parts.append((pose, np.full(len(pose), s + 1), x))
    pose, number, x = (np.concatenate(part) for part in zip(*parts, strict=True))
    pose, number, x = _from_neighbours(problem, lanes, coordinates, grid, values, pose, number, x)
    return Sheets(coordinates, grid, pose, number, x, unstable, density)


def _from_neighbours(problem: IkProblem, lanes: Lanes, coordinates, grid: Grid, values, pose, number, x):
    """Every solution, moved into the neighbouring slices, is a start there."""
    poses, numbers, points = [pose], [number], [x]
    theta = decode(number, grid.counts)
    for axis, shift in itertools.product(range(grid.n_parameters), (1, -1)):
        if time_is_over():
            break
        target = theta.copy()
        target[:, axis] += shift
        ok = (target[:, axis] >= 1) & (target[:, axis] <= grid.counts[axis])
        there = encode(target[ok], grid.counts) if ok.any() else np.zeros(0, int)
        seeds = x[ok].copy()
        seeds[:, list(coordinates)] = values[there - 1]
        moved, good = _iterated(problem, lanes, coordinates, pose[ok], seeds)
        poses.append(pose[ok][good])
        numbers.append(there[good])
        points.append(moved[good])
    pose, number, x = np.concatenate(poses), np.concatenate(numbers), np.concatenate(points)
    keep = distinct(problem, pose * (grid.size + 1) + number, x)
    return pose[keep], number[keep], x[keep]


def _refined(problem: IkProblem, lanes: Lanes, coordinates, pose, seeds) -> tuple[np.ndarray, np.ndarray]:
    x, good = _iterated(problem, lanes, coordinates, pose, seeds)
    return _joined(problem, (pose[good],), (x[good],))


def _iterated(problem: IkProblem, lanes: Lanes, coordinates, pose, seeds) -> tuple[np.ndarray, np.ndarray]:
    x, squared = newton(problem, seeds, lanes.targets[pose], lanes.tool, ITERATIONS, frozen=coordinates)
    slow = np.flatnonzero((squared < STRAGGLERS) & (squared >= CONVERGED))
    if len(slow):
        targets = lanes.targets[pose[slow]]
        x[slow], squared[slow] = newton(problem, x[slow], targets, lanes.tool, ITERATIONS, frozen=coordinates)
    x = problem.wrapped(x * problem.units) / problem.units
    return x, (squared < ACCEPTED) & problem.inside(x * problem.units)


def _joined(problem: IkProblem, poses, points) -> tuple[np.ndarray, np.ndarray]:
    pose, x = np.concatenate(poses), np.concatenate(points)
    keep = distinct(problem, pose, x)
    return pose[keep], x[keep]


def sheets_of(problem: IkProblem, sheets: Sheets, pose: int) -> list[np.ndarray]:
    """The solutions of one pose as sheets: indices into `sheets`, in order of their slices' numbers.

    Solutions of neighbouring slices belong to one sheet if each is the other's nearest.
    """
    rows = np.flatnonzero(sheets.pose == pose)
    cells: dict[int, np.ndarray] = {int(s): rows[sheets.number[rows] == s] for s in np.unique(sheets.number[rows])}
    leader = {int(i): int(i) for i in rows}

    def head(i: int) -> int:
        while leader[i] != i:
            i = leader[i]
        return i

    for number, here in cells.items():
        theta = decode(number, sheets.grid.counts)
        for axis in range(sheets.grid.n_parameters):
            onward = theta.copy()
            onward[axis] += 1
            there = (
                cells.get(int(encode(onward, sheets.grid.counts)))
                if onward[axis] <= sheets.grid.counts[axis]
                else None
            )
            if there is None:
                continue
            d = problem.difference(
                (sheets.x[here] * problem.units)[:, None], (sheets.x[there] * problem.units)[None]
            )
            d[..., list(sheets.coordinates)] = 0.0  # what the slices differ by anyway
            gap = np.max(np.abs(d), axis=2)
            to, back = np.argmin(gap, axis=1), np.argmin(gap, axis=0)
            for i, j in enumerate(to):
                if back[j] == i and gap[i, j] < LINK:
                    leader[head(int(there[j]))] = head(int(here[i]))
    groups: dict[int, list[int]] = {}
    for i in rows:
        groups.setdefault(head(int(i)), []).append(int(i))
    return [np.array(sorted(group, key=lambda i: int(sheets.number[i]))) for group in groups.values()]
