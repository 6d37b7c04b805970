"""Normal prior of geometric parameters and joint terms, and its scales by marginal likelihood."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import get_lapack_funcs, solve_triangular
from scipy.special import erf

from ...fit.triangle import triangle
from .._identifiability import Identifiability
from .._joint_terms import JOINT_TERMS
from ..measurements._fit_problem import FitProblem
from ..models import Model, Term
from .noise import FitOptions, Whitening
from .solve import Solution

USUAL = (0.005, 0.01)
"""Initial standard deviation, m and rad, of links about nominal."""
FEWEST = 3
"""Minimum number of terms of a kind to estimate its prior scale."""
WORDS = {
    ("link", "m"): "links (m)",
    ("link", "rad"): "links (rad)",
    ("joint", "rad"): "joint offsets (rad)",
    ("joint", "m"): "joint offsets (m)",
} | {(term.word, unit): f"{term.word} ({unit})" for term in JOINT_TERMS for unit in term.units if unit}
"""Kinds of terms whose prior scale is estimated. Base and tool are placed by hand: they have no common scale."""
JOINT_WORDS = {WORDS[term.word, unit]: term.word for term in JOINT_TERMS for unit in term.units if unit}
"""Kinds of `WORDS` that are joint terms, with the word of the term."""


@dataclass(frozen=True, eq=False)
class Prior:
    """Prior of the chosen parameters, from prior scales of all terms.

    Attributes:
        columns: chosen parameters by column of the problem, (c,).
        relations: B, (c, p): the combination of terms that each of them stands for.
        usual: standard deviation of every term before anything is measured, (p,).
        size: likeliest standard deviation of every term, (p,).
        wider: factors (p,) by which the fit enlarges them, since few terms determine them.
        kinds: terms of every kind whose prior scale may be estimated, by word.
        given: standard deviations from the user, by place among the columns: such a parameter stands for itself.
    """

    columns: tuple[int, ...]
    relations: np.ndarray
    usual: np.ndarray
    size: np.ndarray
    wider: np.ndarray
    kinds: dict[str, np.ndarray]
    given: dict[int, float]

    def covariance(self) -> np.ndarray:
        """Return the covariance of the chosen parameters, (c, c)."""
        L = self.half()
        return L @ L.T

    def half(self) -> np.ndarray:
        """Return the lower triangle L, (c, c), of the covariance L Lᵀ, accurate for very small scales too."""
        given = np.zeros((len(self.given), len(self.columns)))
        given[range(len(given)), list(self.given)] = list(self.given.values())
        rows = np.concatenate([(self.relations * (self.size * self.wider)).T, given])
        R = np.asarray(np.linalg.qr(rows, mode="r"))
        return R.T * np.where(R.diagonal() < 0, -1.0, 1.0)

    def scaled(self, factor: float) -> Prior:
        """Return the prior with all estimable scales multiplied by a factor."""
        size = self.size.copy()
        for terms in self.kinds.values():
            size[terms] *= factor
        return replace(self, size=size)

    def rows(self) -> tuple[tuple[int, ...], np.ndarray]:
        """Return columns, and rows (c, c) whose products with the parameters are independent with unit variance."""
        return self.columns, np.linalg.inv(self.half())

    def with_sizes(self, sizes: Mapping[str, float]) -> Prior:
        """Return the prior with other scales, by kind; kinds that are not named keep theirs."""
        size = self.size.copy()
        for word, new in sizes.items():
            size[self.kinds[word]] = new
        return replace(self, size=size)

    def with_scales_of(self, other: Prior) -> Prior:
        """Return the prior with the scales that another one has for the same kinds."""
        size, wider = self.size.copy(), self.wider.copy()
        for word in self.kinds.keys() & other.kinds.keys():
            here, theirs = self.kinds[word], other.kinds[word][0]
            size[here], wider[here] = other.size[theirs], other.wider[theirs]
        return replace(self, size=size, wider=wider)

    def relative(self, word: str) -> float:
        """Return the scale of a kind in units of its usual size."""
        first = self.kinds[word][0]
        return float(self.size[first] / self.usual[first])

    @property
    def joint_kinds(self) -> list[str]:
        """Kinds that are joint terms."""
        return [word for word in self.kinds if word in JOINT_WORDS]

    @property
    def sizes(self) -> dict[str, float]:
        """Likeliest prior scale of every kind of terms."""
        return {word: float(self.size[terms[0]]) for word, terms in self.kinds.items()}


def prior(model: Model, structure: Identifiability, given: Mapping[int, float]) -> Prior | None:
    """Build the prior of the chosen parameters; None where there are none.

    Args:
        model: the redundant model.
        structure: its chosen parameters, and the terms they stand for.
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
    size = np.array([usual(model.term(name)) for name in terms])
    kinds: dict[str, list[int]] = {word: [] for word in WORDS.values()}
    for k in np.flatnonzero(np.any(B != 0, axis=0)):
        term = model.term(terms[k])
        if (term.role, term.unit) in WORDS:
            kinds[WORDS[term.role, term.unit]].append(int(k))
    return Prior(
        columns,
        B,
        size,
        size.copy(),
        np.ones_like(size),
        {word: np.array(numbers) for word, numbers in kinds.items() if len(numbers) >= FEWEST},
        {k: given[column] for k, column in enumerate(columns) if column in given},
    )


def usual(term: Term) -> float:
    """Return the initial prior standard deviation of a term."""
    off = USUAL[0] if term.unit == "m" else USUAL[1]
    if term.role in ("link", "joint", "base", "tool"):
        return off if term.role == "link" else 10.0 * off
    joint_term = next(joint_term for joint_term in JOINT_TERMS if joint_term.letters == term.kind)
    return joint_term.size[joint_term.units.index(term.unit)]


SMALLEST, LARGEST = 1e-3, 10.0
"""Range of the scale of links and offsets, in units of the usual size."""
LIKELY, SPREAD = 0.3, np.log(10.0)
"""Median of the prior of such a scale, in units of the usual size, and the standard deviation of its logarithm.
With few terms, or little information, a scale does not vanish by chance."""
COVERED = 1.96
"""Standard deviations of a normal distribution that cover 95 %."""
FLOOR = 1e-4
"""Smallest scale of joint terms, in units of the usual size."""
TURNS, STEADY = 100, 3e-3
"""Maximum number of iterations, and the relative change of scales and noise at which they end."""
LONGEST = np.log(10.0)
"""Maximum change of the logarithm of a scale or of a noise factor in one iteration."""
ROUNDING = 1e-12
"""Share of a log likelihood below which rounding hides which of two is larger."""

_cholesky, _invert_triangle = get_lapack_funcs(("potrf", "trtri"), dtype=np.float64)


def learned(problem: FitProblem, options: FitOptions, whole: Solution, start: Prior) -> Prior:
    """Return the prior with the scales of largest marginal likelihood, from the problem linearised at a solution.

    Args:
        problem, options, whole: the fit.
        start: prior whose scales are where the iteration starts.
    """
    likeliest, informed, _ = Linearised(problem, options, whole, start).likeliest(start)
    return widened(likeliest, {word: n for word, n in informed.items() if word not in JOINT_WORDS})


def widened(now: Prior, informed: Mapping[str, float]) -> Prior:
    """Return the prior with scales so much larger that 95 % regions of terms unknown to the data cover 95 %.

    Args:
        now: the prior.
        informed: kinds to widen, with the number of their terms that the data inform.

    A scale from n terms is known to about a factor 1 ± 1/√(2n): with its log likelihood −n ln s − n ŝ² / 2 s²
    and its own prior, terms have the distribution of a mixture, with longer tails (Student's t but for the
    latter).
    """
    wider = now.wider.copy()
    log = np.linspace(np.log(SMALLEST), np.log(LARGEST), 200)
    for word, n in informed.items():
        terms = now.kinds[word]
        first = now.usual[terms[0]]
        log_size = np.log(now.size[terms[0]] / first)
        squares = max(n + (log_size - np.log(LIKELY)) / SPREAD**2, 0.0) * np.exp(2.0 * log_size)
        weight = -n * log - 0.5 * squares * np.exp(-2.0 * log) - 0.5 * ((log - np.log(LIKELY)) / SPREAD) ** 2
        weight = np.exp(weight - weight.max())
        limits = np.exp(log) * COVERED
        inside = erf(limits[:, None] / (np.sqrt(2.0) * np.exp(log))) @ (weight / weight.sum())
        wide = float(np.exp(np.interp(erf(COVERED / np.sqrt(2.0)), inside, log)))
        wider[terms] = max(wide * first / now.size[terms[0]], 1.0)
    return replace(now, wider=wider)


def evidence(problem: FitProblem, options: FitOptions, whole: Solution, prior: Prior) -> float:
    """Return the log of the ratio of marginal likelihoods: joint terms with their scales, and at the floor.

    Scales of the geometry, and noise, are estimated again for both.
    """
    linear, present = Linearised(problem, options, whole, prior), _not_wider(prior)
    gone = present.with_sizes(
        {word: FLOOR * present.sizes[word] / present.relative(word) for word in present.joint_kinds}
    )
    with_terms, without = (linear.likeliest(scales, prior.joint_kinds)[2] for scales in (present, gone))
    return float(with_terms - without)


def _not_wider(prior: Prior) -> Prior:
    return replace(prior, wider=np.ones_like(prior.wider))


class Linearised:
    """Linear problem at a solution, as far as prior scales need it.

    Args:
        problem, options, whole: the fit.
        prior: its prior, of any scales.
        columns: derivatives (rows, k) of all scalar rows that replace those of the fit, by their places.
    """

    def __init__(
        self,
        problem: FitProblem,
        options: FitOptions,
        whole: Solution,
        prior: Prior,
        columns: tuple[np.ndarray, np.ndarray] | None = None,
    ):
        white = Whitening(problem, options, whole.sigma, whole.weight)
        used, fit, n = white.used, whole.fit, len(white.scale)
        J = fit.jacobian[:n]
        self.at: np.ndarray = np.array([options.columns.index(column) for column in prior.columns])
        self.x: np.ndarray = np.zeros(len(options.columns))
        self.x[self.at] = whole.values[list(prior.columns)]
        y = J @ self.x - fit.residual[:n]
        if columns is not None:
            J = J.copy()
            J[:, columns[0]] = white(columns[1])
        weight = (problem.by_row(whole.weight, 1.0) / options.shared_by_row(problem))[used]
        noise = np.where(problem.by_noise(options.estimated, False), problem.noise, -1)[used]
        numbers = np.unique(noise)
        self.free: np.ndarray = numbers >= 0
        self.weights: np.ndarray = np.array([weight[noise == k].sum() for k in numbers])
        self.rows: np.ndarray = np.array([(noise == k).sum() for k in numbers])
        both = [np.column_stack([J, y])[noise == k] for k in numbers]
        both = [triangle(rows) if len(rows) > rows.shape[1] else rows for rows in both]
        self.J: list[np.ndarray] = [rows[:, :-1] for rows in both]
        self.y: list[np.ndarray] = [rows[:, -1] for rows in both]
        self.H: list[np.ndarray] = [rows.T @ rows for rows in self.J]
        self.g: list[np.ndarray] = [rows.T @ data for rows, data in zip(self.J, self.y, strict=True)]
        self.norms: np.ndarray = np.sqrt(np.maximum(np.sum([np.diag(H) for H in self.H], axis=0), 1e-300))
        # A parameter held at a bound is known, as if it had been measured there.
        self.bound: np.ndarray = np.where(fit.free, 0.0, 1e8 * self.norms**2)

    def likeliest(self, start: Prior, hold: Collection[str] = ()) -> tuple[Prior, dict[str, float], float]:
        """Return the prior of largest marginal likelihood, the number of terms of every kind that the data inform,
        and the logarithm of that likelihood.

        Args:
            start: prior where the iteration starts.
            hold: kinds whose scales stay as they are.
        """
        moving = [word for word in start.kinds if word not in hold]
        now, damping = self._at(_not_wider(start), np.ones(len(self.H)), moving), 0.0
        for _ in range(TURNS):
            step = self._step(now, moving, damping)
            if abs(step).max(initial=0.0) < STEADY:
                break
            factor = now.factor.copy()
            factor[self.free] *= np.exp(step[len(moving) :])
            sizes = {word: now.prior.sizes[word] * np.exp(d) for word, d in zip(moving, step, strict=False)}
            trial = self._at(now.prior.with_sizes(sizes), factor, moving)
            if trial.value >= now.value - ROUNDING * abs(now.value):
                now, damping = trial, 0.1 * damping
            else:
                damping = max(10.0 * damping, 0.1)
        return now.prior, now.informed, now.log_likelihood

    def _step(self, now: _Point, moving: Sequence[str], damping: float) -> np.ndarray:
        """Return the step of the logarithms of scales, then of noise factors, inside their ranges."""
        ranges = [_range(now.prior, word) for word in moving] + [(1e-12, np.inf)] * int(self.free.sum())
        at = np.array([*(now.prior.sizes[word] for word in moving), *now.factor[self.free]])
        low, high = np.clip(np.log(np.reshape(ranges, (-1, 2)) / at[:, None]), -LONGEST, LONGEST).T
        step, g = np.zeros(len(at)), now.gradient
        inside = np.where(g > 0, high > 1e-9, low < -1e-9)
        information = now.information[np.ix_(inside, inside)]
        information = information + np.diag(damping * information.diagonal() + 1e-12)
        step[inside] = np.linalg.solve(information, g[inside])
        return np.clip(step, low, high)

    def _at(self, prior: Prior, factor: np.ndarray, moving: Sequence[str]) -> _Point:
        """Return the marginal likelihood and its derivatives.

        In x = T z, with P = L Lᵀ and T = L for parameters that have a prior, A is TᵀHT + 1.
        """
        at = self.at
        L = prior.half()
        E = solve_triangular(L, prior.relations * prior.size**2, lower=True, check_finite=False).T
        T = np.diag(1.0 / self.norms)
        T[np.ix_(at, at)] = L
        H_by_noise = [T.T @ (H / f) @ T for H, f in zip(self.H, factor, strict=True)]
        H = np.sum(H_by_noise, axis=0)
        A = H + (T.T * self.bound) @ T if self.bound.any() else H.copy()
        A[at, at] += 1.0
        R, inverse = _factor_and_inverse(A)
        b = np.sum([g / f for g, f in zip(self.g, factor, strict=True)], axis=0)
        z = inverse @ (T.T @ (b + self.bound * self.x))
        left = [y - J @ (T @ z) for J, y in zip(self.J, self.y, strict=True)]
        squares = np.array([r @ r for r in left]) / factor
        log_likelihood = -0.5 * float(
            self.weights @ np.log(factor) + squares.sum() + z[at] @ z[at] + 2.0 * np.log(np.diag(R)).sum()
        )
        mean = E @ z[at]
        gained = np.sum((E - E @ inverse[np.ix_(at, at)]) * E, axis=1) / prior.size**2
        informed = {word: float(np.clip(gained[terms], 0.0, 1.0).sum()) for word, terms in prior.kinds.items()}

        W = np.zeros((len(moving), len(A)))
        gradient, pull = np.zeros(len(moving)), np.zeros(len(moving))
        for k, word in enumerate(moving):
            terms = prior.kinds[word]
            share = mean[terms] / prior.size[terms]
            W[k, at] = 2.0 * (share / prior.size[terms]) @ E[terms]
            gradient[k] = share @ share - gained[terms].sum()
            pull[k] = 0.0 if word in JOINT_WORDS else np.log(prior.relative(word) / LIKELY) / SPREAD
        free = np.flatnonzero(self.free)
        of_noise = [squares[k] - self.weights[k] + np.sum(H_by_noise[k] * inverse) for k in free]
        scores = [T.T @ (self.J[k].T @ left[k]) / factor[k] for k in free]
        U = np.concatenate([W @ H, np.reshape(scores, (len(free), len(A)))])
        direct = np.zeros((len(U), len(U)))
        direct[: len(W)] = W @ U.T
        direct[len(W) :, : len(W)] = direct[: len(W), len(W) :].T
        direct[len(W) :, len(W) :] = np.diag(squares[free])
        information = 0.5 * (direct - U @ inverse @ U.T)
        information[: len(W), : len(W)] += np.diag(
            [0.0 if word in JOINT_WORDS else SPREAD**-2.0 for word in moving]
        )
        gradient = np.concatenate([gradient - pull / SPREAD, 0.5 * np.array(of_noise)])
        value = log_likelihood - 0.5 * float(pull @ pull)
        return _Point(prior, factor, log_likelihood, value, gradient, information, informed)


@dataclass(frozen=True, eq=False)
class _Point:
    """Scales and noise factors, with the marginal likelihood there.

    Attributes:
        prior, factor: scales of kinds, and factors of the variance of noises.
        log_likelihood: ln L, but for a constant of the problem.
        value: the same with the prior of the scales.
        gradient, information: its derivatives by the logarithms of the scales that move, then of the noise factors
            that are free, and the average information of both.
        informed: number of terms of every kind that the data inform.
    """

    prior: Prior
    factor: np.ndarray
    log_likelihood: float
    value: float
    gradient: np.ndarray
    information: np.ndarray
    informed: dict[str, float]


def _range(prior: Prior, word: str) -> tuple[float, float]:
    """Return the smallest and the largest scale of a kind."""
    usual = float(prior.usual[prior.kinds[word][0]])
    return (FLOOR * usual, np.inf) if word in JOINT_WORDS else (SMALLEST * usual, LARGEST * usual)


def _factor_and_inverse(A: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return R with A = R Rᵀ, and A⁻¹; the diagonal of A is enlarged where a failed fit leaves it singular."""
    for ridge in (0.0, 1e-12, 1e-9):
        R, singular = _cholesky(A + np.diag(ridge * A.diagonal()), lower=True)
        if not singular:
            half = _invert_triangle(R, lower=True)[0]
            return R, half.T @ half
    raise np.linalg.LinAlgError("not positive definite")
