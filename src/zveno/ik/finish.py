"""From a solver's raw answer to `Solutions`: checks, limits, windings, continua, and reasons if there are none."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from . import scan, seven
from .distinct import distinct
from .families import families_of
from .judge import SINGULAR, errors, jacobians, judged
from .local import solve_local
from .problem import TURN, Problem
from .refine import Lanes, lanes_of, newton
from .scan import padded
from .slices import free_dimension, linked, redundant_coordinate, slice_values, solve_slices
from .solutions import COMPLETE, EXCLUDED, FAMILY, UNDECIDED, UNREACHABLE, WITHIN, Family, Raw, Solutions, Solver

EXACT = 1e-9
"""Metres (for arms of up to some metres) and radians that a solution may miss its pose by."""
NEARLY_SINGULAR, POLISHING, LONGEST = 1e-3, 40, 0.05


@dataclass
class Draft:
    """Solutions of k poses while they are put together; x in the chain's units."""

    problem: Problem
    T: np.ndarray
    lanes: Lanes
    pose: np.ndarray
    x: np.ndarray
    codes: np.ndarray
    density: np.ndarray
    method: str
    families: dict[int, tuple[Family, ...]] = field(default_factory=dict)

    @property
    def count(self) -> np.ndarray:
        """Number of solutions of every pose."""
        return np.bincount(self.pose, minlength=len(self.T))

    def add(self, pose: np.ndarray, x: np.ndarray):
        """More solutions, kept in order of poses."""
        pose, x = np.concatenate([self.pose, pose]), np.concatenate([self.x, x])
        order = np.argsort(pose, kind="stable")
        self.pose, self.x = pose[order], x[order]


def finished(
    problem: Problem, T: np.ndarray, batch, solver: Solver, windings: bool, tolerance, inputs: str
) -> Solutions:
    """All solutions of a chain that is not redundant, by a solver."""
    raw = solver.solve(problem, T)
    density = np.zeros(len(T), int) if raw.density is None else raw.density
    codes = np.where(raw.complete, COMPLETE, UNDECIDED)
    pose, x, inside = _checked(problem, T, raw)
    draft = Draft(problem, T, lanes_of(problem, T), pose[inside], x[inside], codes, density, solver.name)
    _polish(draft)
    _find_families(draft)
    if windings:
        draft.pose, draft.x = _wound(problem, draft.pose, draft.x)
    outside = (pose[~inside], x[~inside])
    return _result(draft, batch, outside, tolerance, inputs)


def local_result(problem: Problem, T: np.ndarray, batch, seed, inputs: str) -> Solutions:
    """One solution a pose, from a seed; where none is found nothing is proved, so the status stays undecided."""
    x, found, _ = solve_local(problem, T, seed)
    good = np.flatnonzero(found)
    codes, none = np.full(len(T), UNDECIDED), np.zeros(len(T), int)
    draft = Draft(problem, T, lanes_of(problem, T), good, x[good] / problem.units, codes, none, "local")
    return _result(draft, batch, None, None, inputs, decided=False)


def sliced_result(
    problem: Problem, T: np.ndarray, batch, slices: int, redundant: str | None, method: str, inputs: str
) -> Solutions:
    """A sample of a redundant chain's continua: slices where one coordinate is redundant, else local solutions."""
    lanes = lanes_of(problem, T)
    codes, none = np.full(len(T), UNDECIDED), np.zeros(len(T), int)
    if problem.redundancy == 1:
        coordinate = redundant_coordinate(problem, redundant)
        values = slice_values(problem, coordinate, slices)
        exact = method == "auto" and seven.applies(problem, coordinate)
        found = (seven.solve_slices if exact else solve_slices)(problem, T, coordinate, values)
        name = f"{'six_revolute' if exact else 'scan'}, {slices} slices of {_coordinate_names(problem)[coordinate]}"
        draft = Draft(problem, T, lanes, found.pose, found.x, codes, none, name)
        dimension = free_dimension(problem, lanes, found.pose, found.x)
        around = bool(np.isinf(problem.upper[coordinate] - problem.lower[coordinate]))
        for i in np.unique(found.pose):
            curves = linked(problem, found, int(i), slices, around)
            draft.families[int(i)] = tuple(
                Family(dimension, problem.to_q(found.x[rows] * problem.units), closed) for rows, closed in curves
            )
    else:
        draft = Draft(problem, T, lanes, np.zeros(0, int), np.zeros((0, problem.n)), codes, none, "local, sampled")
        pose = np.repeat(np.arange(len(T)), slices)
        x, good, _ = solve_local(problem, T[pose], attempts=4)
        pose, x = pose[good], x[good] / problem.units
        keep = distinct(problem, pose, x)
        draft.add(pose[keep], x[keep])
        dimension = free_dimension(problem, lanes, draft.pose, draft.x)
        for i in np.unique(draft.pose):
            q = problem.to_q(draft.x[draft.pose == i] * problem.units)
            draft.families[int(i)] = (Family(dimension, q),)
    missing = np.flatnonzero(draft.count == 0)
    if len(missing):
        # Between the slices there may still be solutions.
        x, good, _ = solve_local(problem, T[missing], attempts=12)
        draft.add(missing[good], x[good] / problem.units)
    codes[list(draft.families)] = FAMILY
    return _result(draft, batch, None, None, inputs)


def _checked(problem: Problem, T: np.ndarray, raw: Raw) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(pose, x, inside): distinct points that solve their pose, and whether they are within limits."""
    pose = np.repeat(np.arange(len(T)), raw.count)
    x = raw.x[np.arange(raw.x.shape[1]) < raw.count[:, None]] / problem.units
    lanes = lanes_of(problem, T)
    good = _solves(problem, x, lanes, pose)
    if not good.all():
        again = np.flatnonzero(~good)
        x[again], _ = newton(problem, x[again], lanes.targets[pose[again]], lanes.tool, 24)
        good = _solves(problem, x, lanes, pose)
    pose, x = pose[good], problem.wrapped(x[good] * problem.units)
    inside = problem.inside(x)
    x[inside] = np.clip(x[inside], problem.lower, problem.upper)
    x = x / problem.units
    keep = distinct(problem, pose, x)
    return pose[keep], x[keep], inside[keep]


def _solves(problem: Problem, x: np.ndarray, lanes: Lanes, pose: np.ndarray) -> np.ndarray:
    found = judged(problem, x, lanes, pose)
    return (found.metres <= EXACT * max(1.0, problem.length)) & (found.radians <= EXACT)


def _polish(draft: Draft):
    """Nearly singular solutions to the last digit, by Gauss–Newton on J itself.

    Kernels factor JᵀJ, which knows singular values to 1e-8 only. A double root is approached by halves on either
    side, and comes out as two points nearer than solutions can be, and so as one.
    """
    problem = draft.problem
    least = judged(problem, draft.x, draft.lanes, draft.pose).least
    rough = np.flatnonzero(least < NEARLY_SINGULAR)
    if not len(rough):
        return
    best = draft.x[rough]
    for rows, iterations in ((np.arange(len(rough)), 4), (np.flatnonzero(least[rough] < SINGULAR), POLISHING)):
        if len(rows):
            best[rows] = _gauss_newton(problem, draft.lanes, draft.pose[rough[rows]], best[rows], iterations)
    limits = problem.lower / problem.units, problem.upper / problem.units
    draft.x[rough] = np.clip(best, *limits)
    concerned = np.flatnonzero(np.isin(draft.pose, draft.pose[rough]))
    keep = np.ones(len(draft.pose), bool)
    keep[concerned] = False
    keep[concerned[distinct(problem, draft.pose[concerned], draft.x[concerned])]] = True
    draft.pose, draft.x = draft.pose[keep], draft.x[keep]


def _gauss_newton(problem: Problem, lanes: Lanes, pose: np.ndarray, x: np.ndarray, iterations: int) -> np.ndarray:
    """The best point of a sequence; its error may grow at first, where the Jacobian's kernel is curved."""
    best, least = x, np.sum(errors(problem, x, lanes, pose) ** 2, axis=1)
    for _ in range(iterations):
        e, J = errors(problem, x, lanes, pose), jacobians(problem, x, lanes, pose)
        step = np.einsum("snm,sm->sn", np.linalg.pinv(J, rcond=1e-12), e)
        x = x - step * np.minimum(1.0, LONGEST / np.maximum(np.max(np.abs(step), axis=1), 1e-300))[:, None]
        found = np.sum(errors(problem, x, lanes, pose) ** 2, axis=1)
        better = found < least
        best, least = np.where(better[:, None], x, best), np.where(better, found, least)
    return best


def _find_families(draft: Draft):
    problem = draft.problem
    least = judged(problem, draft.x, draft.lanes, draft.pose).least
    singular = np.unique(draft.pose[least < SINGULAR])
    for i in singular:
        own = np.flatnonzero(draft.pose == i)
        curves, member = families_of(problem, draft.lanes, int(i), draft.x[own], least[own])
        if not curves:
            continue
        keep = np.ones(len(draft.pose), bool)
        keep[own[member]] = False
        draft.pose, draft.x, least = draft.pose[keep], draft.x[keep], least[keep]
        found = []
        for curve in curves:
            x = problem.wrapped(curve.x * problem.units)
            x = x[problem.inside(x)]
            found.append(Family(curve.dimension, problem.to_q(x), curve.closed))
            draft.add(np.full(len(x), i), x / problem.units)
        least = judged(problem, draft.x, draft.lanes, draft.pose).least
        draft.families[int(i)] = tuple(found)
        draft.codes[i] = FAMILY


def _wound(problem: Problem, pose: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All whole turns that limits allow; a coordinate without limits stays as it is."""
    for k in np.flatnonzero(problem.turning & np.isfinite(problem.upper - problem.lower)):
        low = np.ceil((problem.lower[k] - x[:, k]) / TURN - 1e-9).astype(int)
        high = np.floor((problem.upper[k] - x[:, k]) / TURN + 1e-9).astype(int)
        times = high - low + 1
        turns = np.concatenate([np.arange(a, b + 1) for a, b in zip(low, high, strict=True)] or [np.zeros(0, int)])
        pose, x = np.repeat(pose, times), np.repeat(x, times, axis=0)
        x[:, k] += TURN * turns
    return pose, x


def _result(draft: Draft, batch, outside, tolerance, inputs: str, decided: bool = True) -> Solutions:
    problem, T = draft.problem, draft.T
    n_q = problem.mechanism.n_q
    nearest = np.full((len(T), n_q), np.nan)
    distance, exceeded = np.zeros((len(T), 2)), np.zeros((len(T), n_q))
    empty = np.flatnonzero(draft.count == 0)
    if len(empty):
        if decided:
            draft.codes[empty] = UNREACHABLE
            for i, over in _excesses(problem, T, empty, outside).items():
                draft.codes[i] = EXCLUDED
                exceeded[i] = over
        x, _ = scan.nearest(problem, T[empty])
        x = problem.wrapped(x)
        nearest[empty] = problem.to_q(x)
        found = judged(problem, x / problem.units, draft.lanes, empty)
        distance[empty] = np.stack([found.metres, found.radians], axis=1)
        if tolerance is not None:
            near_enough = (found.metres <= tolerance[0]) & (found.radians <= tolerance[1])
            draft.codes[empty[near_enough]] = WITHIN
            draft.add(empty[near_enough], x[near_enough] / problem.units)
    order = np.lexsort((np.round(draft.x[:, 0], 6), draft.pose))
    draft.pose, draft.x = draft.pose[order], draft.x[order]
    found = judged(problem, draft.x, draft.lanes, draft.pose)
    count = draft.count
    q = padded(draft.pose, problem.to_q(draft.x * problem.units), count)
    worst = padded(draft.pose, np.maximum(found.metres, found.radians)[:, None], count)[..., 0]
    condition = padded(draft.pose, found.condition[:, None], count)[..., 0]
    return Solutions(
        q=q.reshape(*batch, *q.shape[1:]),
        count=count.reshape(batch),
        codes=draft.codes.reshape(batch),
        residual=worst.reshape(*batch, -1) if count.size else worst.reshape(*batch, 0),
        condition=condition.reshape(*batch, -1) if count.size else condition.reshape(*batch, 0),
        method=draft.method,
        density=draft.density.reshape(batch),
        nearest=nearest.reshape(*batch, n_q),
        distance=distance.reshape(*batch, 2),
        exceeded=exceeded.reshape(*batch, n_q),
        joint_names=problem.mechanism.coordinate_names,
        batch=tuple(batch),
        families=draft.families,
        inputs=inputs,
    )


def _excesses(problem: Problem, T: np.ndarray, empty: np.ndarray, outside) -> dict[int, np.ndarray]:
    """By pose without solutions inside limits: how far its best solution is outside them, (n_q,)."""
    if not np.isfinite(np.concatenate([problem.lower, problem.upper])).any():
        return {}
    pose, x = outside if outside is not None else (np.zeros(0, int), np.zeros((0, problem.n)))
    unknown = np.setdiff1d(empty, pose)
    if len(unknown):
        free = problem.without_limits()
        if problem.redundancy:
            rows, good, _ = solve_local(free, T[unknown], attempts=6)
            more, rows = unknown[good], rows[good]
        else:
            raw = scan.solver.solve(free, T[unknown])
            more = unknown[np.repeat(np.arange(len(unknown)), raw.count)]
            rows = raw.x[np.arange(raw.x.shape[1]) < raw.count[:, None]]
        pose = np.concatenate([pose, more])
        x = np.concatenate([x, problem.wrapped(rows) / problem.units])
    over = np.maximum(problem.lower / problem.units - x, x - problem.upper / problem.units)
    over = np.where(over > 0, over, 0.0)
    worst = over.max(axis=1, initial=0.0)
    excess: dict[int, np.ndarray] = {}
    for i in empty:
        own = np.flatnonzero((pose == i) & (worst > 0))
        if len(own):
            best = own[np.argmin(worst[own])]
            q = np.zeros(problem.mechanism.n_q)
            for step in problem.steps:
                if step.index is not None:
                    q[step.index] = over[best, step.coordinate] * problem.units[step.coordinate]
            excess[int(i)] = q
    return excess


def _coordinate_names(problem: Problem) -> list[str]:
    names = [""] * problem.n
    for step in problem.steps:
        names[step.coordinate] = step.joint
    return names
