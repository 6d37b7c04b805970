"""The prior of geometric parameters, and its scales from the data (empirical Bayes).

Every term of the redundant model has a normal prior about nominal, with one scale for all terms of a kind. The
irreducible model stands for combinations of terms (its relations B), so its parameters have the joint prior
N(0, B S Bᵀ), whichever of dependent parameters were chosen. The scales S maximise the marginal likelihood (type-II
maximum likelihood); they are found by expectation–maximisation, with the noise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..identifiability.analysis import Identifiability
from ..measurements.fit_problem import FitProblem
from ..model.joint_terms import JOINT_TERMS
from ..model.models import Model, Term
from .solve import Solution
from .weighting import FitOptions, Whitening

USUAL = (0.005, 0.01)
"""Standard deviation, m and rad, of links about nominal, to begin with."""
LARGEST = 10.0
"""Largest prior scale, in units of its start value."""
SMALLEST = 0.1
"""Size, in units of the start value, of one pseudo-observation that is added to each kind: with few terms,
or little information, a prior scale does not vanish by chance."""
FEWEST = 3
"""Terms of a kind that are needed to estimate its prior scale."""
TURNS = 60
"""Iterations of expectation and maximisation at most."""
WORDS = {
    ("link", "m"): "links (m)",
    ("link", "rad"): "links (rad)",
    ("joint", "rad"): "joint offsets (rad)",
    ("joint", "m"): "joint offsets (m)",
} | {(term.word, unit): f"{term.word} ({unit})" for term in JOINT_TERMS for unit in term.units if unit}
"""Kinds of terms whose prior scale is estimated. Base and tool are placed by hand: they have no common scale."""


@dataclass(frozen=True, eq=False)
class Prior:
    """Prior of the chosen parameters, from prior scales of all terms.

    Attributes:
        columns: chosen parameters by column of the problem, (c,).
        relations: B, (c, p): the combination of terms that each of them stands for.
        size: prior standard deviation of every term, (p,).
        kinds: terms of every kind whose prior scale may be estimated, by word.
        given: standard deviations that people gave, by place among the columns: such a parameter stands for itself.
    """

    columns: tuple[int, ...]
    relations: np.ndarray
    size: np.ndarray
    kinds: dict[str, np.ndarray]
    given: dict[int, float]

    def covariance(self) -> np.ndarray:
        """Of the chosen parameters, (c, c)."""
        P = (self.relations * self.size**2) @ self.relations.T
        for k, std in self.given.items():
            P[k, k] = std**2
        return P

    def scaled(self, factor: float) -> Prior:
        """The prior with all scales that may be estimated multiplied by a factor."""
        size = self.size.copy()
        for terms in self.kinds.values():
            size[terms] *= factor
        return replace(self, size=size)

    def rows(self) -> tuple[tuple[int, ...], np.ndarray]:
        """Columns, and rows (c, c) whose products with the parameters are independent and of variance one."""
        return self.columns, np.linalg.inv(np.linalg.cholesky(self.covariance()))

    @property
    def sizes(self) -> dict[str, float]:
        """Prior scale of every kind of terms."""
        return {word: float(self.size[terms[0]]) for word, terms in self.kinds.items()}


def prior(
    model: Model, structure: Identifiability, plausible: tuple[float, float], given: Mapping[int, float]
) -> Prior | None:
    """The prior of the chosen parameters; None where there are none.

    Args:
        model: the redundant model.
        structure: its chosen parameters, and the terms they stand for.
        plausible: standard deviation, m and rad, of links; ten times as much for offsets, base and tool.
        given: standard deviations by column.
    """
    terms = [name for name in structure.names if name in model.numbers]
    chosen = sorted((name for name in structure.chosen if name in model.numbers), key=model.numbers.__getitem__)
    if not chosen:
        return None
    place = {name: k for k, name in enumerate(terms)}
    B = np.zeros((len(chosen), len(terms)))
    stands = {
        next(name for name in relation if name in set(structure.chosen)): relation
        for relation in structure.relations
    }
    columns = tuple(model.numbers[name] for name in chosen)
    for row, name in enumerate(chosen):
        if columns[row] in given:
            continue
        for other, weight in stands.get(name, {name: 1.0}).items():
            if other in place:
                B[row, place[other]] = weight
    size = np.array([usual(model.term(name), plausible) for name in terms])
    kinds: dict[str, list[int]] = {word: [] for word in WORDS.values()}
    for k in np.flatnonzero(np.any(B != 0, axis=0)):
        term = model.term(terms[k])
        if (term.role, term.unit) in WORDS:
            kinds[WORDS[term.role, term.unit]].append(int(k))
    return Prior(
        columns,
        B,
        size,
        {word: np.array(numbers) for word, numbers in kinds.items() if len(numbers) >= FEWEST},
        {k: given[column] for k, column in enumerate(columns) if column in given},
    )


def usual(term: Term, plausible: tuple[float, float] = USUAL) -> float:
    """Start value of the prior standard deviation of a term, where links have `plausible`, m and rad."""
    off = plausible[0] if term.unit == "m" else plausible[1]
    if term.role in ("link", "joint", "base", "tool"):
        return off if term.role == "link" else 10.0 * off
    joint_term = next(joint_term for joint_term in JOINT_TERMS if joint_term.letters == term.kind)
    return joint_term.size[joint_term.units.index(term.unit)]


def alone(given: Mapping[int, float], columns: Sequence[int]) -> tuple[tuple[int, ...], np.ndarray]:
    """Rows, as of `Prior.rows`, of nothing but standard deviations that people gave."""
    with_prior = tuple(column for column in columns if column in given)
    return with_prior, np.diag([1.0 / given[column] for column in with_prior])


def learned(problem: FitProblem, options: FitOptions, whole: Solution, start: Prior) -> Prior:
    """The prior with the scales of largest marginal likelihood, from the linearised problem at a solution.

    Single terms are not determined, only combinations of them: their expected squares, given the data and the
    scales so far, give the next scales. Noise that was estimated is estimated anew in every iteration.
    """
    white = Whitening(problem, options, whole.sigma, whole.weight)
    used, fit, rows_used = white.used, whole.fit, len(white.scale)
    J, r = fit.jacobian[:rows_used], fit.residual[:rows_used]
    at = np.array([options.columns.index(column) for column in start.columns])
    x = np.zeros(len(options.columns))
    x[at] = whole.values[list(start.columns)]
    y = J @ x - r
    weight = (problem.by_row(whole.weight, 1.0) / options.shared_by_row(problem))[used]
    noise = np.where(problem.by_noise(options.estimated, False), problem.noise, -1)[used]
    groups = [noise == k for k in np.unique(noise)]
    H = [J[rows].T @ J[rows] for rows in groups]
    g = [J[rows].T @ y[rows] for rows in groups]
    free = [bool(noise[rows][0] >= 0) for rows in groups]
    factor = np.ones(len(groups))
    norms = np.sqrt(np.maximum(np.sum([np.diag(matrix) for matrix in H], axis=0), 1e-300))
    # What a bound holds back is known: as if it had been measured there.
    bound = np.where(fit.free, 0.0, 1e12)
    now = start
    for _ in range(TURNS):
        P = now.covariance()
        inverse = np.linalg.inv(P)
        A = np.sum([matrix / f for matrix, f in zip(H, factor, strict=True)], axis=0)
        A[np.ix_(at, at)] += inverse
        A = A / np.outer(norms, norms) + np.diag(bound)
        b = np.sum([matrix / f for matrix, f in zip(g, factor, strict=True)], axis=0) / norms + bound * norms * x
        C = _inverse(A) / np.outer(norms, norms)
        x_now = C @ (b * norms)
        before = np.array([*now.sizes.values(), *np.sqrt(factor)])
        for k, rows in enumerate(groups):
            if free[k]:
                left = y[rows] - J[rows] @ x_now
                freedom = weight[rows].sum() - np.sum(H[k] * C) / factor[k]
                factor[k] = max(left @ left / max(freedom, 1e-3 * rows.sum()), 1e-12)
        now = _maximised(now, start, x_now[at], C[np.ix_(at, at)], P, inverse)
        after = np.array([*now.sizes.values(), *np.sqrt(factor)])
        if abs(after / before - 1.0).max(initial=0.0) < 1e-2:
            break
    return now


def _inverse(A: np.ndarray) -> np.ndarray:
    """Of a symmetric matrix; of what it determines, where a hopeless fit leaves it singular."""
    try:
        return np.linalg.inv(A)
    except np.linalg.LinAlgError:
        return np.linalg.pinv(A, hermitian=True)


def _maximised(now: Prior, start: Prior, x, C, P, inverse) -> Prior:
    """Prior scales from the expected squares of all terms, given the chosen ones x with covariance C."""
    G = (now.size**2)[:, None] * now.relations.T @ inverse
    squares = (G @ x) ** 2 + now.size**2 - np.sum((G @ (P - C)) * G, axis=1)
    size = now.size.copy()
    for terms in now.kinds.values():
        first = start.size[terms[0]]
        scale = np.sqrt((squares[terms].sum() + (SMALLEST * first) ** 2) / (len(terms) + 1))
        size[terms] = min(scale, LARGEST * first)
    return replace(now, size=size)
