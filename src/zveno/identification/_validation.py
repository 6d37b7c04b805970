"""Validation on torques that were not fitted: errors, their correlation in time, prediction bands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ShapeError, ZvenoError
from ..io.results import registered
from ._closing import Follower
from ._estimate import Normal, normals, solve, total
from ._fitting import Fit
from ._preparation import Preparation
from ._problem import Problem
from ._rows import Reference, Rows, accumulate, block_of, rows_of
from ._series import recording_of
from ._survey import Survey

if TYPE_CHECKING:
    from .result import Identification

LEVELS = (0.5, 0.68, 0.9, 0.95, 0.99)
"""Shares of the residuals that bands are given for."""
STEP, TOP = 0.01, 12.0
"""Resolution and range of the histogram of residuals, in units of their rms."""
SHOWN = 4000
"""Number of rows kept for figures."""


@registered
@dataclass(frozen=True, eq=False)
class TorqueSeries:
    """Rows for figures: torques in the band, predicted by fits without them.

    Attributes:
        t: (m,) s. log: (m,) number of the log. interval: s between rows.
        measured, predicted: (m, n) N·m or N.
        friction: (m, n) measured torque less that of inertia, gravity and offset.
        v: (m, n) velocities. moving: (m, n) whether a joint moves: rest is not fitted.
    """

    t: np.ndarray
    log: np.ndarray
    interval: float
    measured: np.ndarray
    predicted: np.ndarray
    friction: np.ndarray
    v: np.ndarray
    moving: np.ndarray


@registered
@dataclass(frozen=True, eq=False)
class Validation:
    """Prediction of rows that were not fitted.

    Attributes:
        held_out: "blocks" (contiguous, each predicted by fits to the others) or "logs".
        errors: model → (n,) rms error over rms torque of every joint, rest left out: "identified" (the consistent
            estimate), "least squares", and for comparison "nominal", "gravity only" and "friction only".
        overall: model → the same over all joints together.
        by_block: (blocks, n) errors of the identified model.
        rms: (n,) rms of the identified model's errors, N·m or N. torque_rms: (n,) of the torques.
        correlated: (n,) number of residual rows per independent row, for a window of 1 s; 1 is white.
        levels: shares of rows; quantiles: (levels, n) half widths of bands that cover them, in units of rms.
        coverage: (levels, n) share covered by bands from the other blocks.
        series: rows for figures.
    """

    held_out: str
    errors: dict[str, np.ndarray]
    overall: dict[str, float]
    by_block: np.ndarray
    rms: np.ndarray
    torque_rms: np.ndarray
    correlated: np.ndarray
    levels: tuple[float, ...]
    quantiles: np.ndarray
    coverage: np.ndarray
    series: TorqueSeries


def validated(problem: Problem, surveyed: Survey, fit: Fit, references: tuple[Reference, ...]) -> Validation:
    """Compute errors on held-out logs if there are any, on held-out blocks otherwise."""
    if problem.held_out:
        preparation, edges = _of_logs(problem, surveyed)
        rows = rows_of(preparation, fit.model, surveyed.rest, surveyed.loads, (0.0,), references)
        moments = accumulate(fit.model, rows, edges)
        parts = normals(moments)
        fits = [fit.whole] * len(parts)
    else:
        preparation, edges, moments = surveyed.preparation, surveyed.edges, fit.moments
        parts, fits = list(fit.parts), list(fit.folds)
    squares = {
        "identified": _squares(parts, [(f.places, f.consistent.x) for f in fits]),
        "least squares": _squares(parts, [(f.places, f.estimate.x) for f in fits]),
        "nominal": np.array([moments.reference_squares(k, 0) for k in range(len(parts))]),
        "gravity only": np.array([moments.reference_squares(k, 1) for k in range(len(parts))]),
        "friction only": _squares(parts, _friction_only(problem, fit)),
    }
    power = np.array([part.s for part in parts])
    counts = np.array([part.counts for part in parts]).sum(axis=0)
    rms = np.sqrt(squares["identified"].sum(axis=0) / np.maximum(counts, 1))
    thinned = preparation.thinned
    rows = rows_of(thinned, fit.model, surveyed.rest, surveyed.loads)
    statistics = _Statistics(fit, [(f.places, f.consistent.x) for f in fits], rms, edges)
    for part in rows:
        statistics.add(part)
    quantiles, coverage = statistics.bands()
    correlated = statistics.correlated()
    return Validation(
        held_out="logs" if problem.held_out else "blocks",
        errors={name: _ratio(values.sum(axis=0), power.sum(axis=0)) for name, values in squares.items()},
        overall={name: float(_ratio(values.sum(), power.sum())) for name, values in squares.items()},
        by_block=_ratio(squares["identified"], power),
        rms=rms,
        torque_rms=np.sqrt(power.sum(axis=0) / np.maximum(counts, 1)),
        correlated=correlated,
        levels=LEVELS,
        quantiles=quantiles,
        coverage=coverage,
        series=statistics.series(),
    )


def _of_logs(problem: Problem, surveyed: Survey) -> tuple[Preparation, np.ndarray]:
    """Return held-out logs prepared in the same way, one block each."""
    recordings = tuple(map(recording_of, problem.held_out))
    preparation = replace(surveyed.preparation, recordings=recordings, _kept={})
    samples = np.array([recording.clock.samples for recording in recordings], dtype=float)
    return preparation, np.cumsum(samples)[:-1] / samples.sum()


def _friction_only(problem: Problem, fit: Fit) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return fits of friction and offsets alone, for every block or log."""
    model = fit.model
    offsets = np.flatnonzero(model.weightless)
    plain = [c for c in fit.whole.friction if c.term != "load"]
    places = np.concatenate([offsets, model.places(0, plain)[model.n_inertial :]])
    if problem.held_out:
        return [(places, solve(total(fit.parts).columns(places)).x)] * len(problem.held_out)
    return [(places, solve(total(fit.parts, [k]).columns(places)).x) for k in range(len(fit.parts))]


def _squares(parts: Sequence[Normal], fits: Sequence[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    return np.array([part.columns(places).squares(x) for part, (places, x) in zip(parts, fits, strict=True)])


def _ratio(squares: np.ndarray, power: np.ndarray) -> np.ndarray:
    return np.sqrt(np.maximum(squares, 0.0) / np.where(power > 0, power, np.inf))


class _Statistics:
    """Residuals of held-out rows: their distribution, their correlation, and some rows for figures."""

    def __init__(self, fit: Fit, fits: Sequence[tuple[np.ndarray, np.ndarray]], rms: np.ndarray, edges: np.ndarray):
        self.model, self.edges, self.rms = fit.model, edges, np.where(rms > 0, rms, 1.0)
        n, self.blocks = len(rms), len(edges) + 1
        self.x = np.zeros((self.blocks, self.model.n_columns))
        for k, (places, x) in enumerate(fits):
            self.x[k, places] = x
        self.counts = np.zeros((self.blocks, n, round(TOP / STEP) + 1))
        self.squares, self.sums = np.zeros(n), np.zeros(n)
        self.before: np.ndarray | None = None
        self.kept: list[tuple[np.ndarray, ...]] = []
        self.n_kept, self.interval = 0, 1.0

    def add(self, part: Rows) -> None:
        label = block_of(part, self.edges)
        m, n = part.moving.shape
        predicted, inertial = np.zeros((m, n)), np.zeros((m, n))
        first = self.model.n_inertial
        for k in np.unique(label):
            rows = label == k
            for j, (columns, place) in enumerate(zip(self.model.active, self.model.slices, strict=True)):
                A = part.columns[rows, place]
                predicted[rows, j] = A @ self.x[k, columns]
                inertial[rows, j] = A[:, columns < first] @ self.x[k, columns[columns < first]]
        e = part.tau[:, 0] - predicted
        scaled = np.minimum((abs(e) / self.rms / STEP).astype(int), self.counts.shape[2] - 1)
        for k in np.unique(label):
            for j in range(n):
                chosen = (label == k) & part.moving[:, j]
                self.counts[k, j] += np.bincount(scaled[chosen, j], minlength=self.counts.shape[2])
        if len(part.t) > 1:
            self.interval = float(part.t[1] - part.t[0])
        self._correlate(np.where(part.moving, e, 0.0), part.first)
        if self.n_kept < SHOWN:
            log = np.full(m, part.log)
            row = (part.t, log, part.tau[:, 0], predicted, part.tau[:, 0] - inertial, part.v, part.moving)
            self.kept.append(tuple(x[: SHOWN - self.n_kept].copy() for x in row))
            self.n_kept += min(m, SHOWN - self.n_kept)

    def _correlate(self, e: np.ndarray, first: bool) -> None:
        lags = max(1, round(1.0 / self.interval))
        before = self.before if self.before is not None and not first else np.zeros((lags - 1, e.shape[1]))
        joined = np.concatenate([before[-(lags - 1) :] if lags > 1 else before[:0], e])
        sums = np.cumsum(np.concatenate([np.zeros((1, e.shape[1])), joined]), axis=0)
        if len(sums) > lags:
            self.sums += ((sums[lags:] - sums[:-lags]) ** 2).sum(axis=0) / lags
        self.squares += (e**2).sum(axis=0)
        self.before = joined[-(lags - 1) :] if lags > 1 else joined[:0]

    def correlated(self) -> np.ndarray:
        """Return the variance (n,) of sums over a second, over that of independent rows."""
        return self.sums / np.where(self.squares > 0, self.squares, 1.0)

    def bands(self) -> tuple[np.ndarray, np.ndarray]:
        """Return half widths for every level from all blocks, and the coverage in each of those from the others."""
        whole = self.counts.sum(axis=0)
        quantiles = np.array([[_quantile(row, level) for row in whole] for level in LEVELS])
        covered = np.zeros((len(LEVELS), len(whole)))
        for k in range(self.blocks):
            others = whole - self.counts[k] if self.blocks > 1 else whole
            for a, level in enumerate(LEVELS):
                for j, row in enumerate(others):
                    edge = round(_quantile(row, level) / STEP)
                    covered[a, j] += self.counts[k, j, :edge].sum()
        total = whole.sum(axis=1)
        return quantiles, covered / np.where(total > 0, total, 1.0)

    def series(self) -> TorqueSeries:
        """Return the rows that were kept."""
        if not self.kept:
            n = len(self.rms)
            empty = np.zeros((0, n))
            return TorqueSeries(np.zeros(0), np.zeros(0, int), 1.0, empty, empty, empty, empty, empty.astype(bool))
        t, log, measured, predicted, friction, v, moving = (
            np.concatenate(column) for column in zip(*self.kept, strict=True)
        )
        return TorqueSeries(t, log, self.interval, measured, predicted, friction, v, moving)


def _quantile(counts: np.ndarray, level: float) -> float:
    """Return the upper edge of the bin in which a share of the counts is reached; 0 without counts."""
    total = counts.sum()
    if not total:
        return 0.0
    return STEP * (int(np.searchsorted(np.cumsum(counts), level * total)) + 1)


@dataclass(frozen=True, eq=False)
class Prediction:
    """Torques of a motion.

    Attributes:
        tau: (..., n) N·m or N.
        std: (..., n) standard deviation of a measured torque in the band: held-out residual and parameters.
        parameter_std: (..., n) standard deviation from the uncertainty of the parameters alone.
        lower, upper: (..., n) band that covers a share `level` of measured torques in the band.
    """

    tau: np.ndarray
    std: np.ndarray
    parameter_std: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    level: float


def predicted(result: Identification, q: ArrayLike, v: ArrayLike, a: ArrayLike, level: float) -> Prediction:
    """Predict torques as described in `Identification.predict`."""
    n = len(result.joint_names)
    try:
        states = np.broadcast_arrays(*(np.asarray(x, dtype=float) for x in (q, v, a)))
    except ValueError:
        raise ShapeError("q, v and a do not fit each other", remedy=f"Give (..., {n}) each") from None
    if states[0].shape[-1:] != (n,):
        raise ShapeError(f"q, v and a have shape {states[0].shape}", remedy=f"Give (..., {n}): the recorded joints")
    if not all(np.isfinite(x).all() for x in states):
        raise ZvenoError(
            "q, v and a hold numbers that are not finite", remedy="Leave out the rows that are not finite"
        )
    levels, quantiles = np.array(result.validation.levels), result.validation.quantiles
    if not levels[0] <= level <= levels[-1]:
        raise ZvenoError(f"is {level}", element="level", remedy=f"Give {levels[0]} to {levels[-1]}")
    shape = states[0].shape
    q, v, a = (np.ascontiguousarray(x).reshape(-1, n) for x in states)
    model = result.model
    if model.closed is not None:
        q = Follower(model.closed).whole(q)
    W = model.dense(model.packed(q, v, a, result.load[:, None]))
    tau = W @ result.values
    C = np.where(np.isfinite(result.covariance), result.covariance, 0.0)
    parameters = np.maximum(np.einsum("mjp,pq,mjq->mj", W, C, W), 0.0)
    std = np.sqrt(result.validation.rms**2 + parameters)
    half = np.array([np.interp(level, levels, quantiles[:, j]) for j in range(n)]) * std
    tau, std, spread, half = (x.reshape(shape) for x in (tau, std, np.sqrt(parameters), half))
    return Prediction(tau, std, spread, tau - half, tau + half, level)
