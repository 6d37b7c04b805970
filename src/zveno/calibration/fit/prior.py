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
from scipy.special import erf

from ..identifiability.analysis import Identifiability
from ..measurements.fit_problem import FitProblem
from ..model.joint_terms import JOINT_TERMS
from ..model.models import Model, Term
from .solve import Solution
from .weighting import FitOptions, Whitening

USUAL = (0.005, 0.01)
"""Standard deviation, m and rad, of links about nominal, to begin with."""
SMALLEST, LARGEST = 1e-3, 10.0
"""Range of a prior scale, in units of its start value."""
COVERED = 1.96
"""Standard deviations of a normal distribution that cover 95 %."""
LIKELY, SPREAD = 0.3, np.log(10.0)
"""What is known of a prior scale before: about this many of its start value, a factor of ten either way. With few
terms, or little information, it does not vanish by chance."""
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
        size: likeliest standard deviation of every term, (p,).
        wider: factors (p,) by which the fit takes them to be larger, since few terms tell them.
        kinds: terms of every kind whose prior scale may be estimated, by word.
        given: standard deviations that people gave, by place among the columns: such a parameter stands for itself.
    """

    columns: tuple[int, ...]
    relations: np.ndarray
    size: np.ndarray
    wider: np.ndarray
    kinds: dict[str, np.ndarray]
    given: dict[int, float]

    def covariance(self) -> np.ndarray:
        """Of the chosen parameters, (c, c)."""
        P = (self.relations * (self.size * self.wider) ** 2) @ self.relations.T
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
        """Likeliest prior scale of every kind of terms."""
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
        np.ones_like(size),
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
        now, informed = _maximised(now, start, x_now[at], C[np.ix_(at, at)], P, inverse)
        after = np.array([*now.sizes.values(), *np.sqrt(factor)])
        if abs(after / before - 1.0).max(initial=0.0) < 1e-2:
            break
    return _widened(now, start, informed)


def _inverse(A: np.ndarray) -> np.ndarray:
    """Of a symmetric matrix; of what it determines, where a hopeless fit leaves it singular."""
    try:
        return np.linalg.inv(A)
    except np.linalg.LinAlgError:
        return np.linalg.pinv(A, hermitian=True)


def _maximised(now: Prior, start: Prior, x, C, P, inverse) -> tuple[Prior, dict[str, float]]:
    """Prior scales from the expected squares of all terms, given the chosen ones x with covariance C; and of how
    many terms of every kind the data speak: the sum of 1 − variance now / variance before."""
    G = (now.size**2)[:, None] * now.relations.T @ inverse
    gained = np.sum((G @ (P - C)) * G, axis=1)
    squares = (G @ x) ** 2 + now.size**2 - gained
    size, informed = now.size.copy(), {}
    for word, terms in now.kinds.items():
        first = start.size[terms[0]]
        size[terms] = _likeliest_scale(squares[terms].sum() / first**2, len(terms)) * first
        informed[word] = float(np.clip(gained[terms] / now.size[terms] ** 2, 0.0, 1.0).sum())
    return replace(now, size=size), informed


def _widened(now: Prior, start: Prior, informed: Mapping[str, float]) -> Prior:
    """The prior with scales so much larger that 95 % regions of terms that the data say nothing of cover 95 %.

    A scale from n terms is known to about a factor 1 ± 1/√(2n): with its log likelihood −n ln s − n ŝ² / 2 s² and
    its own prior, terms have the distribution of a mixture, with longer tails (Student's t but for the latter).
    """
    wider = now.wider.copy()
    log = np.linspace(np.log(SMALLEST), np.log(LARGEST), 200)
    for word, terms in now.kinds.items():
        first, n = start.size[terms[0]], informed[word]
        found = np.log(now.size[terms[0]] / first)
        squares = max(n + (found - np.log(LIKELY)) / SPREAD**2, 0.0) * np.exp(2.0 * found)
        weight = -n * log - 0.5 * squares * np.exp(-2.0 * log) - 0.5 * ((log - np.log(LIKELY)) / SPREAD) ** 2
        weight = np.exp(weight - weight.max())
        limits = np.exp(log) * COVERED
        inside = erf(limits[:, None] / (np.sqrt(2.0) * np.exp(log))) @ (weight / weight.sum())
        wide = float(np.exp(np.interp(erf(COVERED / np.sqrt(2.0)), inside, log)))
        wider[terms] = max(wide * first / now.size[terms[0]], 1.0)
    return replace(now, wider=wider)


def _likeliest_scale(squares: float, n: int) -> float:
    """Scale s, in units of its start value, of n terms whose squares have this sum, with its own log-normal prior:
    n ln s + squares / 2 s² + (ln s − ln LIKELY)² / 2 SPREAD² is least (convex in ln s; Newton)."""
    log = 0.5 * np.log(max(squares / n, 1e-12))
    for _ in range(50):
        share = squares * np.exp(-2.0 * log)
        slope = n - share + (log - np.log(LIKELY)) / SPREAD**2
        step = slope / (2.0 * share + 1.0 / SPREAD**2)
        log -= step
        if abs(step) < 1e-9:
            break
    return float(np.clip(np.exp(log), SMALLEST, LARGEST))
