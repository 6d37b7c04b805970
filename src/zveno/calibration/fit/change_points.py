"""What moved during a campaign, and when: change points over rows in their order.

From some posture on, something may be displaced: the tool, what it is seen from, a target, the zero of a joint. At
a fit with whitened Jacobian A and residuals r every such explanation has columns C, zero before the change.
Orthogonal to A they have the information M = CᵀC and the score b = −Cᵀr. Sums over postures give both for all
times at once: M(t) = Σ CᵀC − (Σ CᵀQ)(Σ CᵀQ)ᵀ with Q an orthonormal basis of A. The likelihood ratio
f ln(RSS / (RSS − bᵀM⁻¹b)) tests whether anything moved; the evidence of `evidence.py`, summed over times, says
what. Where rows come in groups (places, targets), a model that is wrong differs from group to group: both are
divided by how much more the scores of groups vary than those of independent rows would (overdispersion).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import betainc

from ..measurements.fit_problem import FitProblem
from .solve import Solution
from .weighting import FitOptions, Whitening

CHANCE = 0.01
"""That a campaign in which nothing moved is said to have an event."""
FEWEST = 3
"""Postures before and after a change."""
NEARLY_ALL = 0.8
"""Share of the rows on one side of a change that are flagged if it is a change and not bad rows."""
FEWEST_GROUPS = 4
"""From which overdispersion is judged."""
UNLIKELY = 0.05
"""Chance, and ratio of likelihoods, below which an explanation is not named."""
SIZES = np.geomspace(1e-5, 1e-1, 13)
"""Displacements, m and rad, that are tried as prior scales."""
MOST_CHANGES = 3
"""Changes that are looked for in one calibration."""
TOOL, REFERENCE, TARGET, JOINT = "tool", "reference", "target", "joint"


@dataclass(frozen=True, eq=False)
class Explanation:
    """One way to explain a change: displacements of all rows from some posture on.

    Attributes:
        what: `TOOL`, `REFERENCE`, `TARGET` or `JOINT`.
        name: which target or joint; empty for others.
        columns: derivatives (rows, k) of scalar rows by the displacements, in units of readings.
        free: which of the six displacements, or the joint's offset.
    """

    what: str
    name: str
    columns: np.ndarray
    free: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Change:
    """A change that rows show.

    Attributes:
        part: number of the campaign.
        posture: first posture after it, by number in its campaign.
        explanation: the likeliest.
        step: its displacements, (k,), m and rad.
        chances: of every explanation that the data do not exclude, by (what, name); those of all add up to one.
            Excluded is what is 20 times less likely both by evidence and with the displacements that fit it best.
        chance: that a campaign in which nothing moved shows as much.
        explanations: those of `chances`.
    """

    part: int
    posture: int
    explanation: Explanation
    step: np.ndarray
    chances: dict[tuple[str, str], float]
    chance: float
    explanations: tuple[Explanation, ...]


def changes(problem: FitProblem, options: FitOptions, whole: Solution) -> list[Change]:
    """Changes in the rows of a fit, the clearest first; each is judged beside the others, since what one leaves in
    the residuals could be taken for another.

    Rows that were flagged may be those after a change, or simply bad: they count if nearly all rows before it, or
    after it, are flagged.
    """
    good = (whole.weight > 0.05).astype(float)
    found = _found(problem, options, whole, good)
    if not found and not good.all():
        found = _found(problem, options, whole, _trusted(problem, whole))
        found = [change for change in found if _fills_a_side(problem, change, good == 0.0)]
    return found


def _found(problem: FitProblem, options: FitOptions, whole: Solution, weight: np.ndarray) -> list[Change]:
    """Changes one after the other in rows of data with these weights."""
    found: list[Change] = []
    while len(found) < MOST_CHANGES:
        change = _clearest(problem, options, whole, weight, found)
        if change is None:
            break
        found.append(change)
    for one in found[:] if len(found) > 1 else ():
        others = [change for change in found if change is not one]
        again = _clearest(problem, options, whole, weight, others)
        found = others if again is None else [again if change is one else change for change in found]
    return found


def _fills_a_side(problem: FitProblem, change: Change, flagged: np.ndarray) -> bool:
    """Whether nearly all rows that one of the explanations displaces, before or after a change, are flagged."""
    late = problem.posture - problem.parts[change.part].first_posture >= change.posture
    displaced = [explanation.columns.any(axis=1) for explanation in change.explanations]
    sides = [problem.by_row(flagged, False)[rows & side] for rows in displaced for side in (late, ~late)]
    return any(len(side) and side.mean() > NEARLY_ALL for side in sides)


def _clearest(
    problem: FitProblem, options: FitOptions, whole: Solution, weight: np.ndarray, beside: Sequence[Change]
) -> Change | None:
    """The clearest change in rows of data with these weights, beside others that are known."""
    white = Whitening(problem, options, whole.sigma, weight)
    rows = len(white.scale)
    A = white(whole.fit.state.J[:, whole.fit.free])
    A = np.concatenate([A, whole.fit.jacobian[_n_rows_of_fit(problem, options, whole) :, whole.fit.free]])
    for change in beside:
        late = problem.posture >= problem.parts[change.part].first_posture + change.posture
        C = white(np.where(late[:, None], change.explanation.columns, 0.0))
        A = np.column_stack([A, np.concatenate([C, np.zeros((len(A) - rows, C.shape[1]))])])
    Q = np.linalg.qr(A / np.maximum(np.linalg.norm(A, axis=0), 1e-300))[0][:rows]
    r = white(whole.residual)
    r = r - Q @ (Q.T @ r)
    freedom = rows - A.shape[1]
    if freedom < 2 * FEWEST:
        return None
    # By a noise that is stated too small everything would be a change: residuals are compared with each other.
    spread = np.sqrt(max(1.0, float(r @ r) / freedom))
    r = r / spread
    posture = problem.posture[white.used]
    best: tuple[float, Change] | None = None
    for number, part in enumerate(problem.parts):
        n = len(part.q)
        # Between two campaigns something may have moved, too: before the first posture of a later one.
        times = np.array([*([0] if number and n >= FEWEST else []), *range(FEWEST, n - FEWEST + 1)], dtype=int)
        if not len(times):
            continue
        groups = _numbered_groups(problem, number)
        trials = []
        for explanation in _explanations(problem, whole, number):
            C = white(explanation.columns)
            scan = _scanned(C, Q, r, posture - part.first_posture, len(part.q))
            tests, evidence, step = _tempered(scan, C, Q, r, posture - part.first_posture, times, groups)
            trials.append((explanation, tests, evidence, spread * step))
        judged = _judged(number, times, trials, freedom)
        if judged is not None and (best is None or judged[0] < best[0]):
            best = judged
    if best is None or best[0] * len(problem.parts) > CHANCE:
        return None
    change = best[1]
    # A target may be touched again only later: the change is named where it is first seen.
    displaced = problem.posture[change.explanation.columns.any(axis=1)] - problem.parts[change.part].first_posture
    return replace(change, posture=int(displaced[displaced >= change.posture].min()))


def _n_rows_of_fit(problem: FitProblem, options: FitOptions, whole: Solution) -> int:
    return len(Whitening(problem, options, whole.sigma, whole.weight).scale)


def _trusted(problem: FitProblem, whole: Solution) -> np.ndarray:
    """Weights (data rows,) with which rows are judged: a flagged row is bad, many in a row, or in a row of those
    that touch one target, may have moved."""
    good = whole.weight > 0.05
    first, weight = 0, good.astype(float)
    for part in problem.parts:
        rows = np.arange(first, first + len(part.y))
        sequences = [rows]
        if part.measurement.grouped is not None:
            sequences += [rows[part.target == target] for target in np.unique(part.target)]
        for in_order in sequences:
            if len(in_order) < 2 * FEWEST:
                continue
            near = np.convolve(~good[in_order], np.ones(5), mode="same") >= 3
            weight[in_order[~good[in_order] & near]] = 1.0
        first += len(part.y)
    return weight


def _numbered_groups(problem: FitProblem, number: int) -> np.ndarray | None:
    """Place or group of every posture of a campaign, by number; None where there are too few."""
    part, names = problem.parts[number], problem.campaigns[number].groups
    if not names:
        return None
    places = [part.measurement.place_of(name) if part.measurement.grouped is not None else name for name in names]
    group = np.unique(np.array(places), return_inverse=True)[1]
    return group if group.max(initial=0) + 1 >= FEWEST_GROUPS else None


def _explanations(problem: FitProblem, whole: Solution, number: int) -> list[Explanation]:
    """What may have moved while a campaign was measured."""
    part, explanations = problem.parts[number], []
    start = sum(other.n_known for other in problem.parts[:number])
    rows = slice(start, start + part.n_known)
    T, _ = problem.poses(part, whole.values, part.q)
    _, _, by_left, by_right, by_target, *_ = problem.rows_of(part, T[part.posture], whole.frames)

    def add(what: str, slope: np.ndarray, free: tuple[int, ...], name: str = "", only: np.ndarray | None = None):
        of_part = slope if only is None else np.where(only[:, None, None], slope, 0.0)
        columns = np.zeros((problem.n_rows, len(free)))
        columns[rows] = of_part[part.known][:, list(free)]
        if columns.any():
            explanations.append(Explanation(what, name, columns, free))

    add(TOOL, by_right, _seen_displacements(by_right))
    add(REFERENCE, by_left, _seen_displacements(by_left))
    if part.measurement.grouped is not None:
        for frame in np.unique(part.target):
            unknown = problem.unknown_at.get(int(frame))
            of_target = part.target == frame
            if unknown is not None and of_target.sum() >= 2 * FEWEST:
                add(TARGET, by_target, unknown.free, unknown.label, of_target)
    _, J = problem.evaluate(whole.values, whole.frames, problem.model.offset_terms)
    for k, move in enumerate(problem.model.axes):
        columns = np.zeros((problem.n_rows, 1))
        columns[rows] = J[rows, k : k + 1]
        if columns.any():
            explanations.append(Explanation(JOINT, move.joint.name, columns, (k,)))
    return explanations


def _seen_displacements(slope: np.ndarray) -> tuple[int, ...]:
    """Which of the six displacements of a frame readings (rows, m, 6) depend on at all."""
    size = abs(slope).max(axis=(0, 1))
    return tuple(int(k) for k in np.flatnonzero(size > 1e-9 * size.max(initial=0.0)))


def _tempered(
    scan: tuple[np.ndarray, np.ndarray, np.ndarray], C, Q, r, place, times, groups: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Score tests and evidence of a scan divided by the overdispersion of groups about the likeliest change."""
    tests, evidence, step = scan
    if groups is None:
        return scan
    time = int(times[np.argmax(evidence[times])])
    inside = (place >= 0) & (place < len(groups))
    moved = np.where(place >= time, 1.0, 0.0)[:, None]
    displaced = (C * moved) @ step[time]
    left = r + displaced - Q @ (Q.T @ displaced)  # what the fit would have made of it
    distances, ranks = [], 0
    for group in range(int(groups.max()) + 1):
        rows = inside.copy()
        rows[inside] = groups[place[inside]] == group
        CQ = C[rows].T @ Q[rows]
        M = C[rows].T @ C[rows]
        scale = np.sqrt(np.maximum(np.diag(M), 1e-300))
        # What moves a whole group may be what the fit explains: then its score says nothing.
        eigenvalues, V = np.linalg.eigh((M - CQ @ CQ.T) / np.outer(scale, scale))
        seen = eigenvalues > 1e-3
        score = (V.T @ (C[rows].T @ left[rows] / scale))[seen]
        distances.append(float(np.sum(score**2 / eigenvalues[seen])))
        ranks += int(seen.sum())
    freedom = ranks - C.shape[1]
    factor = max(1.0, sum(distances) / freedom) if freedom >= FEWEST_GROUPS else 1.0
    return tests / [factor, 1.0], evidence / factor, step


def _scanned(C, Q, r, place: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For a change before every posture (n,): the score test bᵀM⁻¹b with its rank, the log evidence, and the best
    step (n, k). Rows are of the posture `place`, or of other campaigns."""
    inside = (place >= 0) & (place < n)
    order = np.flatnonzero(inside)[np.argsort(place[inside], kind="stable")]
    at, C, Q, r = (x[order] for x in (place, C, Q, r))
    (m, *_), k = np.bincount(at, minlength=n), C.shape[1]
    regular = len(at) == m * n and bool((at == np.arange(n).repeat(m)).all())

    def after(other: np.ndarray) -> np.ndarray:
        """Σ Cᵀ other (n, k, …) over the rows of every posture and those that follow."""
        sums = np.zeros((n, k, other.shape[1]))
        if regular:
            sums = np.swapaxes(C.reshape(n, m, k), 1, 2) @ other.reshape(n, m, -1)
        else:
            postures, starts = np.unique(at, return_index=True)
            sums[postures] = np.add.reduceat(C[:, :, None] * other[:, None, :], starts)
        return np.cumsum(sums[::-1], axis=0)[::-1]

    CQ = after(Q)
    M = after(C) - CQ @ np.swapaxes(CQ, 1, 2)
    b = -after(r[:, None])[..., 0]
    scale = np.sqrt(np.maximum(np.diagonal(M, axis1=1, axis2=2).max(axis=0), 1e-300))
    eigenvalues, V = np.linalg.eigh(M / np.outer(scale, scale))
    score = np.einsum("nij,ni->nj", V, b / scale)
    seen = eigenvalues > 1e-6
    test = np.where(seen, score**2 / np.where(seen, eigenvalues, 1.0), 0.0)
    step = np.einsum("nij,nj->ni", V, np.where(seen, score / np.where(seen, eigenvalues, 1.0), 0.0)) / scale
    lam, U = np.linalg.eigh(M)
    lam, y = np.maximum(lam, 0.0), np.einsum("nij,ni->nj", U, b)
    S = SIZES[:, None, None] ** 2
    evidence = 0.5 * np.sum(S * y**2 / (1.0 + S * lam) - np.log1p(S * lam), axis=2)
    # Prior scales are as likely as each other: their mean, not their best.
    top = evidence.max(axis=0)
    evidence = top + np.log(np.mean(np.exp(evidence - top), axis=0))
    rank = seen.sum(axis=1)
    return np.stack([test.sum(axis=1), rank], axis=1), evidence, step.reshape(n, k)


def _judged(number: int, times: np.ndarray, trials: list, freedom: int) -> tuple[float, Change] | None:
    """The chance of the clearest change in a campaign where nothing moved, and the change."""
    clearest, explained = [], []
    for _, tests, evidence, _ in trials:
        statistic, rank = tests[times].T
        # Whitened residuals have as many squares as degrees of freedom.
        ratio = -freedom * np.log1p(-np.minimum(statistic / freedom, 1.0 - 1e-9))
        # The share of f squares that `rank` of them have is of a beta distribution: exact for few rows, too.
        share, k = np.minimum(statistic / freedom, 1.0), np.clip(rank, 1, freedom - 1)
        p = np.where(rank > 0, betainc(0.5 * (freedom - k), 0.5 * k, 1.0 - share), 1.0)
        clearest.append(p.min(initial=1.0))
        explained.append(ratio[np.argmax(evidence[times])])
    if not clearest:
        return None
    # Neighbouring times are nearly one test: they count as about this many independent ones.
    independent = 4.0 + 6.0 * np.log(len(times))
    chance = float(min(clearest)) * independent * len(trials)
    total = np.array([_summed(evidence[times]) for _, _, evidence, _ in trials])
    best = int(np.argmax(total))
    share = np.exp(total - total[best])
    share = share / share.sum()
    explanation, _, evidence, step = trials[best]
    posture = int(times[np.argmax(evidence[times])])
    if not evidence[posture] > 0.0:
        return None  # nothing explains it better than no change does
    # The tool may move as the zero of the last joint would move it: less likely by evidence, and not excluded.
    possible = [
        share[k] > UNLIKELY or explained[k] > explained[best] - 2.0 * np.log(1.0 / UNLIKELY)
        for k in range(len(trials))
    ]
    likely = [int(k) for k in np.argsort(-share, kind="stable") if possible[k]]
    chances = {(trials[k][0].what, trials[k][0].name): float(share[k]) for k in likely}
    explanations = tuple(trials[k][0] for k in likely)
    return chance, Change(number, posture, explanation, step[posture], chances, chance, explanations)


def _summed(evidence: np.ndarray) -> float:
    top = float(evidence.max(initial=-np.inf))
    return top + float(np.log(np.mean(np.exp(evidence - top))))
