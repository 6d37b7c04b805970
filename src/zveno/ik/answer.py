"""From a solver's raw answer to `Solutions`: checks, limits, windings, continua, and reasons if there are none."""

from __future__ import annotations

import numpy as np

from . import scan
from .checks.distinct import all_distinct, distinct
from .checks.draft import Draft, blank
from .checks.judgement import SINGULAR, SLACK, Judgement, errors, jacobians, judged
from .checks.multiplicity import countable, sides
from .ik_problem import TURN, IkProblem
from .local import solve_local
from .newton import Lanes, lanes_of, newton
from .objectives import Aim
from .redundant import seven_revolute
from .redundant.families import families_of
from .redundant.grid_slices import redundant_coordinates, regular, sheets_of, slice_grid, solve_sheets, values_each
from .redundant.slices import free_dimension, linked, redundant_coordinate, slice_values, solve_slices
from .solutions import (
    COMPLETE,
    EXCLUDED,
    FAMILY,
    UNDECIDED,
    UNREACHABLE,
    WITHIN,
    Family,
    Raw,
    Solutions,
    Solver,
    flat,
)
from .targets import Targets

EXACT = 1e-9
"""Metres (for arms of up to some metres) and radians that a solution may miss its pose by."""
NEARLY_SINGULAR, POLISHING, LONGEST = 1e-3, 40, 0.05
SHARP = 1e-10
"""Up to this ratio of a solution's miss to the least singular value there, its coordinates are exact enough."""

_CODES = np.array([UNDECIDED, COMPLETE])
Outside = tuple[np.ndarray, np.ndarray]
"""(s,) poses and (s, n) solutions that limits exclude, in the chain's units."""


def checked_answer(
    problem: IkProblem, targets: Targets, solver: Solver, windings: bool, aim: Aim, inputs: str
) -> Solutions:
    """All solutions of a chain that is not redundant, by a solver."""
    raw = solver.solve(problem, targets.T)
    density = blank(targets.batch, len(problem.held))[4] if raw.density is None else raw.density
    codes = _CODES.take(raw.complete)
    pose, found, beyond = _checked(problem, targets.lanes, raw)
    draft = Draft(problem, targets, pose, found, codes, density, solver.name, aim)
    if len(pose) and found.least.min() < NEARLY_SINGULAR:
        _polish(draft)
        _decide(draft, solver)
    if windings:
        _wind(draft)
    return _result(draft, beyond, inputs)


def local_answer(problem: IkProblem, targets: Targets, seed, aim: Aim, inputs: str) -> Solutions:
    """One solution a pose, from a seed; where none is found nothing is proved, so the status stays undecided."""
    x, found, _ = solve_local(problem, targets.T, seed)
    draft = _empty(problem, targets, "local", aim)
    good = np.flatnonzero(found)
    draft.add(good, problem.in_units(x[good]))
    return _result(draft, None, inputs, decided=False)


def sliced_answer(
    problem: IkProblem, targets: Targets, slices: int, redundant, method: str, aim: Aim, inputs: str
) -> Solutions:
    """A sample of a redundant chain's continua: slices over as many coordinates as are redundant."""
    T, lanes = targets.T, targets.lanes
    if problem.redundancy == 1:
        coordinate = redundant_coordinate(problem, redundant)
        values = slice_values(problem, coordinate, slices)
        exact = method == "auto" and seven_revolute.applies(problem, coordinate)
        found = (seven_revolute.solve_slices if exact else solve_slices)(problem, T, coordinate, values)
        name = f"{'six_revolute' if exact else 'scan'}, {slices} slices of {_coordinate_names(problem)[coordinate]}"
        draft = _empty(problem, targets, name, aim)
        draft.add(found.pose, found.x)
        dimension = free_dimension(problem, lanes, found.pose, found.x)
        around = bool(np.isinf(problem.upper[coordinate] - problem.lower[coordinate]))
        for i in np.unique(found.pose):
            curves = linked(problem, found, int(i), slices, around)
            draft.families[int(i)] = tuple(
                Family(dimension, problem.to_q(found.x[rows] * problem.units), closed) for rows, closed in curves
            )
    else:
        draft = _sheets(problem, targets, slices, redundant, aim) or _sampled(problem, targets, slices, aim)
    missing = np.flatnonzero(draft.count == 0)
    if len(missing):
        # Between the slices there may still be solutions.
        x, good, _ = solve_local(problem, T[missing], attempts=12)
        draft.add(missing[good], x[good] / problem.units)
    draft.codes[list(draft.families)] = FAMILY
    return _result(draft, None, inputs)


def _sheets(problem: IkProblem, targets: Targets, slices: int, redundant, aim: Aim) -> Draft | None:
    """Slices over a grid of all redundant coordinates; None if too few are wanted, or they would not be points."""
    each = values_each(problem, slices)
    if each < 2 or not regular(problem):
        return None
    coordinates = redundant_coordinates(problem, redundant)
    grid = slice_grid(problem, coordinates, each)
    found = solve_sheets(problem, targets.T, coordinates, grid)
    names = _coordinate_names(problem)
    size = " × ".join(map(str, grid.counts))
    draft = _empty(problem, targets, f"scan, {size} slices of {', '.join(names[k] for k in coordinates)}", aim)
    draft.density = np.full(len(targets.T), found.density)
    draft.add(found.pose, found.x)
    dimension = free_dimension(problem, targets.lanes, found.pose, found.x)
    for i in np.unique(found.pose):
        rows = sheets_of(problem, found, int(i))
        draft.families[int(i)] = tuple(
            Family(dimension, problem.to_q(found.x[own] * problem.units)) for own in rows
        )
        if found.unstable[i]:
            draft.notes[int(i)] = f"{found.unstable[i]} of {grid.size} slices may hold more"
    return draft


def _sampled(problem: IkProblem, targets: Targets, slices: int, aim: Aim) -> Draft:
    """Local solutions from random starts."""
    draft = _empty(problem, targets, "local, sampled", aim)
    pose = np.repeat(np.arange(len(targets.T)), slices)
    x, good, _ = solve_local(problem, targets.T[pose], attempts=4)
    pose, x = pose[good], x[good] / problem.units
    keep = distinct(problem, pose, x)
    draft.add(pose[keep], x[keep])
    dimension = free_dimension(problem, targets.lanes, draft.pose, draft.x)
    for i in np.unique(draft.pose):
        q = problem.to_q(draft.x[draft.pose == i] * problem.units)
        draft.families[int(i)] = (Family(dimension, q),)
    return draft


def _empty(problem: IkProblem, targets: Targets, method: str, aim: Aim) -> Draft:
    """A draft without solutions."""
    k, pose = len(targets.T), np.zeros(0, int)
    found = judged(problem, np.zeros((0, problem.n)), targets.lanes, pose)
    return Draft(problem, targets, pose, found, np.full(k, UNDECIDED), np.zeros(k, int), method, aim)


def _checked(problem: IkProblem, lanes: Lanes, raw: Raw) -> tuple[np.ndarray, Judgement, Outside | None]:
    """Poses and distinct solutions inside limits, and those outside if there are any."""
    pose, x = flat(raw)
    found = judged(problem, problem.in_units(x), lanes, pose)
    if not len(pose):
        return pose, found, None
    if not found.miss.max() <= EXACT:
        again = (~(found.miss <= EXACT)).nonzero()[0]
        better, _ = newton(problem, found.x[again], lanes.targets[pose[again]], lanes.tool, 24)
        found.table[again] = judged(problem, better, lanes, pose[again]).table
        solving = (found.miss <= EXACT).nonzero()[0]
        pose, found = pose[solving], found.taken(solving)
    beyond = not found.over.max(initial=-1.0) <= 0
    if beyond:
        touching = ((found.over > 0) & (found.over <= SLACK)).nonzero()[0]
        if len(touching):
            clipped = found.x[touching].clip(*problem.box)
            found.table[touching] = judged(problem, clipped, lanes, pose[touching]).table
    if not all_distinct(problem, pose, found.mark):
        keep = distinct(problem, pose, found.x, marks=found.mark)
        pose, found = pose[keep], found.taken(keep)
    if not beyond:
        return pose, found, None
    inside = found.over <= 0
    within, without = inside.nonzero()[0], (~inside).nonzero()[0]
    return pose.take(within), found.taken(within), (pose.take(without), found.x.take(without, axis=0))


def _polish(draft: Draft):
    """Nearly singular solutions to the last digit, by Gauss–Newton on J itself; then continua among them.

    Kernels factor JᵀJ, which knows singular values to 1e-8 only. A double root is approached by halves on either
    side, and comes out as two points nearer than solutions can be, and so as one.
    """
    problem = draft.problem
    least = draft.found.least
    rough = ((least < NEARLY_SINGULAR) & (draft.found.miss > SHARP * least) | (least < SINGULAR)).nonzero()[0]
    if not len(rough):
        return
    least, best = least[rough], draft.x[rough]
    for rows, iterations in ((np.arange(len(rough)), 4), (np.flatnonzero(least < SINGULAR), POLISHING)):
        if len(rows):
            best[rows] = _gauss_newton(
                problem, draft.targets.lanes, draft.pose[rough[rows]], best[rows], iterations
            )
    draft.replace(rough, np.clip(best, *problem.box))
    draft.keep_distinct()
    _find_families(draft)


def _gauss_newton(problem: IkProblem, lanes: Lanes, pose: np.ndarray, x: np.ndarray, iterations: int) -> np.ndarray:
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
    for i in np.unique(draft.pose[draft.found.least < SINGULAR]):
        own = np.flatnonzero(draft.pose == i)
        least = draft.found.least[own]
        curves, member, roots = families_of(problem, draft.targets.lanes, int(i), draft.x[own], least)
        if roots:
            draft.roots[int(i)] = roots
        if not curves:
            continue
        rest = np.ones(len(draft.pose), bool)
        rest[own[member]] = False
        draft.keep(np.flatnonzero(rest))
        found = []
        for curve in curves:
            x = problem.wrapped(curve.x * problem.units)
            x = x[problem.inside(x)]
            found.append(Family(curve.dimension, problem.to_q(x), curve.closed))
            draft.add(np.full(len(x), i), x / problem.units)
        draft.families[int(i)] = tuple(found)
        draft.codes[i] = FAMILY


def _decide(draft: Draft, solver: Solver):
    """Complete is also what is undecided for double roots alone, if counting beside them agrees."""
    problem, targets = draft.problem, draft.targets
    for i, roots in draft.roots.items():
        doubles_only = all(root.kind == "double" for root in roots)
        if draft.codes[i] != UNDECIDED or not doubles_only or not countable(problem):
            continue
        T, split = sides(problem, targets.T[i], roots)
        raw = solver.solve(problem, T)
        pose, _, _ = _checked(problem, lanes_of(problem, T), raw)
        regular = int(np.sum(draft.pose == i)) - len(roots)
        expected = [regular + 2 * number for number in split]
        if raw.complete.all() and np.bincount(pose, minlength=2).tolist() == expected:
            draft.codes[i] = COMPLETE


def _wind(draft: Draft):
    """All whole turns that limits allow; a coordinate without limits stays as it is."""
    problem = draft.problem
    for k in np.flatnonzero(problem.turning & np.isfinite(problem.upper - problem.lower)):
        x = draft.x[:, k]
        low = np.ceil((problem.lower[k] - x) / TURN - 1e-9).astype(int)
        high = np.floor((problem.upper[k] - x) / TURN + 1e-9).astype(int)
        times = high - low + 1
        turns = np.concatenate([np.arange(a, b + 1) for a, b in zip(low, high, strict=True)] or [np.zeros(0, int)])
        draft.keep(np.repeat(np.arange(len(x)), times))
        draft.x[:, k] += TURN * turns


def _result(draft: Draft, outside: Outside | None, inputs: str, decided: bool = True) -> Solutions:
    n_q, T = len(draft.problem.held), draft.targets.T
    empty, parts = draft.empty(), blank(draft.targets.batch, n_q)[:4]
    if len(empty):
        own = [part.copy() for part in blank((len(T),), n_q)[:4]]
        _explain(draft, empty, outside, decided, *own)
        parts = (filled.reshape(part.shape) for filled, part in zip(own, parts, strict=True))
    return draft.result(parts, inputs)


def _explain(draft: Draft, empty: np.ndarray, outside, decided: bool, nearest, distance, exceeded, value):
    """Why poses have no solutions, and what comes nearest; the last four arrays are filled in, one row a pose."""
    problem, T, aim = draft.problem, draft.targets.T, draft.aim
    if decided:
        # A complete answer of a method that does not scan has the solutions outside limits too, if there are any.
        told = (draft.codes[empty] == COMPLETE) & (draft.density.ravel()[empty] == 0)
        draft.codes[empty] = UNREACHABLE
        for i, over in _excesses(problem, T, empty, empty[told], outside).items():
            draft.codes[i] = EXCLUDED
            exceeded[i] = over
    x, value[empty] = scan.nearest(problem, T[empty], objective=aim.objective)
    x = problem.wrapped(x)
    nearest[empty] = problem.to_q(x)
    found = draft.judged(x / problem.units, empty)
    distance[empty] = np.stack([found.metres, found.radians], axis=1)
    if aim.tolerant:
        enough = aim.reached(problem, T[empty], x, found.metres, found.radians).nonzero()[0]
        draft.codes[empty[enough]] = WITHIN
        draft.add(empty[enough], x[enough] / problem.units)


def _excesses(
    problem: IkProblem, T: np.ndarray, empty: np.ndarray, told: np.ndarray, outside
) -> dict[int, np.ndarray]:
    """By pose without solutions inside limits: how far its best solution is outside them, (n_q,).

    Solutions outside limits are known of the poses `told`, and looked for of the others.
    """
    if not np.isfinite(np.concatenate([problem.lower, problem.upper])).any():
        return {}
    pose, x = outside if outside is not None else (np.zeros(0, int), np.zeros((0, problem.n)))
    unknown = np.setdiff1d(empty, np.concatenate([pose, told]))
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


def _coordinate_names(problem: IkProblem) -> list[str]:
    names = [""] * problem.n
    for step in problem.steps:
        names[step.coordinate] = step.joint
    return names
