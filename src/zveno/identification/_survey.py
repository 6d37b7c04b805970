"""Survey of the recordings: clocks, band, velocities, delay, and a first fit that predicts the load."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import ZvenoError
from ..io.results import registered
from ._estimate import normals, solve, total, with_shift, without_each
from ._friction import STEEP, TERMS, elements_of
from ._preparation import SMOOTHING, Preparation
from ._problem import AUTO, Problem
from ._rows import REST, Moments, accumulate, block_edges, large_velocities, rows_of
from ._selection import with_sliding
from ._series import recording_of
from ._spectrum import AGREED, highest_band, position_noise, velocity_lag, velocity_spectrum
from .model import TorqueModel, torque_model, with_variants

SHIFTS = np.linspace(-0.3, 0.3, 7)
"""Trial delays, in periods of the band."""
WIDER = (10.0, 7.0, 5.0, 3.0)
"""Bands of the velocities that friction is computed from, in bands of the torque, widest first."""
WORTH = 0.02
"""Share by which residuals must fall for a delay to be compensated."""
SMALLEST_DELAY, DELAY_SHARE = 1.5e-3, 0.01
"""Minimum delay, s, and as a share of the band's period; smaller ones cannot be separated from unmodelled friction:
of 290 simulated recordings without a delay one seems to have 0.5 % of the period."""
SHORTEST_STEP = 1e-6
"""Shortest time between samples, s: torques of robots are not sampled faster, and spectra would fill the memory."""
FEWEST_ROWS = 3.0
"""Number of rows per parameter that a joint shares, below which a log is too short."""


@registered
@dataclass(frozen=True, eq=False)
class Choices:
    """Preparation of the recordings, and its reasons.

    Attributes:
        band: Hz; torques and all columns pass a symmetric low-pass filter with half gain there.
        band_from: "spectrum", "sampling" (the widest that it allows) or "given".
        frequencies, power: spectrum of the velocities: Hz, and share of every joint's power.
        smoothing: Hz; the same for positions before they are differentiated. friction_smoothing: for the
            velocities that friction is computed from, as wide as the noise of positions allows.
        samples: recorded; `rows`: left after decimation; `moving`: (n,) rows in which every joint moves.
        row_rate: Hz of the rows of each log.
        margin: s lost at each end of every piece without a gap.
        delay: s by which torques lag positions, compensated. `delay_found`: minimum of the residuals.
        velocity_lag: (n,) s by which the recorded velocity is late, NaN where it was not recorded.
        recorded_velocity: (n,) whether it is used.
        large_velocities: (n,) 99th percentile of |v|, rad/s or m/s.
        rest: (n,) rows of a joint below this velocity are left out.
    """

    band: float
    band_from: str
    frequencies: np.ndarray
    power: np.ndarray
    smoothing: float
    friction_smoothing: float
    samples: int
    rows: int
    moving: np.ndarray
    row_rate: tuple[float, ...]
    margin: float
    delay: float
    delay_found: float
    velocity_lag: np.ndarray
    recorded_velocity: np.ndarray
    large_velocities: np.ndarray
    rest: np.ndarray


@dataclass(frozen=True, eq=False)
class Survey:
    """Starting point of later passes.

    Attributes:
        preparation: with band, delay and velocities decided.
        model: the columns that are present in any case.
        edges: places between blocks.
        rest: (n,) velocities below which a joint is at rest.
        loads: (n_inertial, 1 + blocks) parameters that predict the load: from all blocks, and without each.
        choices: for the result.
    """

    preparation: Preparation
    model: TorqueModel
    edges: np.ndarray
    rest: np.ndarray
    loads: np.ndarray
    choices: Choices


def survey(problem: Problem, scales: np.ndarray | None = None) -> Survey:
    """Determine everything that must be known before the rows are accumulated.

    `scales` are the velocity scales of friction, where they are those of other recordings.
    """
    n = problem.n
    recordings = tuple(map(recording_of, problem.logs))
    steps = [recording.clock.step for recording in recordings]
    if min(steps) < SHORTEST_STEP:
        raise ZvenoError(f"samples are {min(steps):.3g} s apart", element="time", remedy="Check the unit of time")
    spectrum = velocity_spectrum(recordings)
    widest = highest_band(recordings)
    band = spectrum.band if problem.band is None else problem.band
    origin = "spectrum" if problem.band is None else "given"
    if band > widest:
        if problem.band is not None:
            raise ZvenoError(
                f"is {band:g} Hz, and samples every {max(steps):.3g} s allow {widest:.3g} Hz",
                element="band",
                remedy="Give a lower band, or record more samples per second",
            )
        band, origin = widest, "sampling"
    lags = [velocity_lag(recording, SMOOTHING * band) for recording in recordings]
    lag = np.full(n, np.nan)
    if all(lag_of_log is not None for lag_of_log in lags):
        lag = np.max([lag_of_log for lag_of_log in lags if lag_of_log is not None], axis=0)
    step = min(steps)
    used = {
        AUTO: np.isfinite(lag) & (abs(lag) < step),
        "positions": np.zeros(n, dtype=bool),
        "recorded": np.full(n, all(log.has_velocity for log in problem.logs)),
    }[problem.velocity]
    if problem.velocity == "recorded" and not used.all():
        raise ZvenoError("the logs hold no velocities", element="velocity", remedy='Take velocity="positions"')
    preparation = Preparation(recordings, band, problem.delay or 0.0, used, closed=problem.closed)
    elements = elements_of(problem.mechanism, problem.closed)
    large, seen = large_velocities(preparation.thinned, np.array([element.direction for element in elements]))
    _check_motion(problem, preparation, large, seen)
    preparation = preparation.widened(_widest(preparation, large[:n]))
    rest = np.full(n, problem.rest) if problem.rest is not None else REST * large[:n]
    rest = np.where(large[:n] > 0.0, rest, np.inf)  # a joint that never moves has no rows, not even by rounding
    edges = block_edges(preparation.thinned, rest, problem.blocks)
    scales = np.where(large > 0, large, 1.0) if scales is None else scales
    model = torque_model(
        problem.mechanism, problem.terms, problem.motor_terms, scales, problem.user_torques, problem.closed
    )
    loads, moments = _loads(problem, preparation, model, rest, edges)
    delay = problem.delay or 0.0
    if problem.delay is None:
        # The load takes part: friction that is missing would be taken for a delay.
        shifts = (0.0, *(SHIFTS / band))
        for supposed in (model, with_sliding(model)):
            rows = rows_of(preparation.thinned, supposed, rest, loads[:, :1], shifts)
            delay, applied = _delay(accumulate(supposed, rows, edges), np.array(shifts[1:]))
            applied &= abs(delay) > max(step, SMALLEST_DELAY, DELAY_SHARE / band)
            if not applied:
                break
        if applied:
            preparation = preparation.delayed(delay)
            loads, moments = _loads(problem, preparation, model, rest, edges)
    filters = [preparation.filters(k) for k in range(len(problem.logs))]
    choices = Choices(
        band=float(band),
        band_from=origin,
        frequencies=spectrum.frequencies,
        power=spectrum.power,
        smoothing=float(SMOOTHING * band),
        friction_smoothing=float(preparation.wide * band),
        samples=sum(recording.clock.samples for recording in recordings),
        rows=int(moments.rows.sum()),
        moving=moments.counts.sum(axis=0),
        row_rate=tuple(1.0 / (lag_of_log.interval * lag_of_log.rows.step) for lag_of_log in filters),
        margin=max(lag_of_log.margin for lag_of_log in filters),
        delay=float(preparation.delay),
        delay_found=float(delay),
        velocity_lag=lag,
        recorded_velocity=used,
        large_velocities=large[:n],
        rest=rest,
    )
    return Survey(preparation, model, edges, rest, loads, choices)


def _loads(
    problem: Problem, preparation: Preparation, model: TorqueModel, rest: np.ndarray, edges: np.ndarray
) -> tuple[np.ndarray, Moments]:
    """Return parameters (n_inertial, 1 + blocks) that predict the load, of fits to all blocks and without each.

    A first fit has no friction that depends on the load, and is wrong by a share of it; a second one has it, with
    the load that the first predicts, and is wrong by a share of that share.
    """
    thinned = preparation.thinned
    first = model.with_friction([c for c in model.friction if not TERMS[c.term].needs_load])
    moments = accumulate(first, rows_of(thinned, first, rest), edges)
    _check_rows(problem, first, moments)
    parts = normals(moments)
    loads = np.stack([fit.x for fit in without_each(parts)], axis=1)[: model.n_inertial]
    if len(first.friction) < len(model.friction):
        second = with_variants(model, problem.blocks + 1)
        parts = normals(accumulate(second, rows_of(thinned, second, rest, loads), edges))
        fits = without_each(parts, [second.places(k) for k in range(problem.blocks + 1)])
        loads = np.stack([fit.x for fit in fits], axis=1)[: model.n_inertial]
    return loads, moments


def _delay(moments: Moments, shifts: np.ndarray) -> tuple[float, bool]:
    """Return the delay with the least residuals of all joints, and whether it is worth compensating.

    It is if the residuals fall by `WORTH` and the blocks agree that it is not zero.
    """
    by_block, sigma, unshifted = [], None, normals(moments)
    for k in range(len(shifts) + 1):
        parts = with_shift(unshifted, moments, k)
        fit = solve(total(parts), sigma)
        sigma = fit.sigma if sigma is None else sigma
        by_block.append([part.squares(fit.x) for part in parts])
    squares = np.array(by_block)  # (shifts, blocks, n)
    counts = moments.counts.sum(axis=0)
    scale = squares[0].sum(axis=0) / np.maximum(counts, 1)
    weight = np.where(counts > 0, 1.0 / np.where(scale > 0, scale, 1.0), 0.0)
    cost = squares @ weight  # (shifts, blocks): 1 a row with no delay
    delay, least = _minimum(shifts, cost[1:].sum(axis=1))
    each = np.array([_minimum(shifts, column)[0] for column in cost[1:].T])
    scatter = float(np.std(each, ddof=1)) / np.sqrt(len(each))
    gain = 1.0 - np.sqrt(max(least, 0.0) / max(float(cost[0].sum()), 1e-300))
    return delay, bool(gain > WORTH and abs(delay) > AGREED * scatter)


def _minimum(x: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Return place and value of the minimum of equally spaced samples, by a parabola through three of them."""
    k = int(np.clip(np.argmin(y), 1, len(x) - 2))
    a, b, c = (float(value) for value in y[k - 1 : k + 2])
    bend = a - 2.0 * b + c
    offset = float(np.clip(0.5 * (a - c) / bend, -1.0, 1.0)) if bend > 0 else 0.0
    return float(x[k] + offset * (x[1] - x[0])), b - 0.25 * (a - c) * offset


def _widest(preparation: Preparation, large: np.ndarray) -> float:
    """Return the widest band of the velocities for friction whose noise stays below the width of the smoothed sign.

    The noise of positions follows from their third differences, in which a motion does not show.
    """
    noise = np.max([position_noise(recording) for recording in preparation.recordings], axis=0)
    for wide in WIDER:
        trial = preparation.widened(wide)
        gain = max(float(np.linalg.norm(trial.filters(k).fine.weights[0])) for k in range(len(trial.recordings)))
        moving = large > 0
        if np.median(noise[moving] * gain / large[moving]) < STEEP:
            return wide
    return SMOOTHING


def _check_motion(problem: Problem, preparation: Preparation, large: np.ndarray, seen: int) -> None:
    if not seen:
        length = max(log.duration for log in problem.logs)
        margin = max(preparation.filters(k).margin for k in range(len(problem.logs)))
        raise ZvenoError(
            f"the longest log has {length:.3g} s, and filters for a band of {preparation.band:.3g} Hz need more "
            f"than {2 * margin:.2g} s without a gap",
            remedy="Record for longer, or give a wider band",
        )
    if not (large[: problem.n] > 0).any():
        raise ZvenoError("no joint moves in the logs", remedy="Record a motion of all joints")


def _check_rows(problem: Problem, model: TorqueModel, moments: Moments) -> None:
    needed = FEWEST_ROWS * model.n_columns / max(1, len(model.active))
    most = moments.counts.sum(axis=0).max()
    if most < needed:
        raise ZvenoError(
            f"{most} rows are left after filters and rest, and {model.n_columns} parameters need {needed:.0f}",
            remedy="Record for longer, or give a wider band",
        )
