"""The first looks at the recordings: clocks, band, velocities, delay, and a first fit that predicts the load."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import ZvenoError
from ..io.results import registered
from .estimate import normals, solve, total
from .friction import TERMS, elements_of
from .model import TorqueModel, torque_model
from .moments import Moments, accumulate
from .preparation import SMOOTHING, Preparation
from .problem import AUTO, Problem
from .rows import REST, block_edges, large_velocities, rows_of
from .series import clock_of
from .spectrum import highest_band, velocity_lag, velocity_spectrum

SHIFTS = np.linspace(-0.3, 0.3, 7)
"""Delays that are tried, in periods of the band."""
WORTH = 0.02
"""Share by which residuals must fall for a delay to be taken back."""
FEWEST_ROWS = 3.0
"""Rows for each parameter that a joint shares, below which a log is too short."""


@registered
@dataclass(frozen=True, eq=False)
class Choices:
    """How the recordings were prepared, and why.

    Attributes:
        band: Hz; torques and all columns pass a symmetric low-pass filter with half gain there.
        band_from: "spectrum", "sampling" (the widest that it allows) or "given".
        frequencies, power: spectrum of the velocities: Hz, and share of every joint's power.
        smoothing: Hz; the same for positions before they are differentiated.
        samples: recorded; `rows`: left after decimation; `moving`: (n,) rows in which every joint moves.
        row_rate: Hz of the rows of each log.
        margin: s lost at each end of every piece without a gap.
        delay: s by which torques come after positions, taken back. `delay_found`: where residuals are least.
        velocity_lag: (n,) s by which the recorded velocity comes late, NaN where it was not recorded.
        recorded_velocity: (n,) whether it is used.
        large_velocities: (n,) 99th percentile of |v|, rad/s or m/s.
        rest: (n,) rows of a joint below this velocity are left out.
    """

    band: float
    band_from: str
    frequencies: np.ndarray
    power: np.ndarray
    smoothing: float
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
    """What later passes start from.

    Attributes:
        preparation: with band, delay and velocities decided.
        model: the columns that are there in any case.
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


def survey(problem: Problem) -> Survey:
    """Everything that must be known before the rows are accumulated."""
    n = problem.mechanism.n_v
    clocks = tuple(clock_of(log) for log in problem.logs)
    spectrum = velocity_spectrum(problem.logs, clocks)
    widest = highest_band(clocks)
    band = spectrum.band if problem.band is None else problem.band
    origin = "spectrum" if problem.band is None else "given"
    if band > widest:
        if problem.band is not None:
            step = max(clock.step for clock in clocks)
            raise ZvenoError(
                f"is {band:g} Hz, and samples every {step:.3g} s allow {widest:.3g} Hz",
                element="band",
            )
        band, origin = widest, "sampling"
    lags = [velocity_lag(log, clock, SMOOTHING * band) for log, clock in zip(problem.logs, clocks, strict=True)]
    lag = np.full(n, np.nan)
    if all(one is not None for one in lags):
        lag = np.max([one for one in lags if one is not None], axis=0)
    step = min(clock.step for clock in clocks)
    used = {
        AUTO: np.isfinite(lag) & (abs(lag) < step),
        "positions": np.zeros(n, dtype=bool),
        "recorded": np.full(n, all(log.has_velocity for log in problem.logs)),
    }[problem.velocity]
    if problem.velocity == "recorded" and not used.all():
        raise ZvenoError("the logs hold no velocities", element="velocity", remedy='Take velocity="positions"')
    preparation = Preparation(problem.logs, clocks, band, problem.delay or 0.0, used)
    elements = elements_of(problem.mechanism)
    large, seen = large_velocities(preparation, np.array([element.direction for element in elements]))
    _check_motion(problem, preparation, large, seen)
    rest = np.full(n, problem.rest) if problem.rest is not None else REST * large[:n]
    edges = block_edges(preparation, rest, problem.blocks)
    scales = np.where(large > 0, large, 1.0)
    model = torque_model(problem.mechanism, problem.terms, problem.motor_terms, scales, problem.own)
    first = model.with_friction([c for c in model.friction if not TERMS[c.term].needs_load])
    shifts = (0.0,) if problem.delay is not None else (0.0, *(SHIFTS / band))
    moments = accumulate(first, rows_of(preparation.thinned(), first, rest, None, shifts), edges)
    _check_rows(problem, first, moments)
    found = _delay(moments, np.array(shifts[1:])) if problem.delay is None else (problem.delay, True)
    if problem.delay is None and found[1]:
        preparation = preparation.delayed(found[0])
        moments = accumulate(first, rows_of(preparation.thinned(), first, rest), edges)
    parts = normals(moments)
    fits = [solve(total(parts, [] if k == 0 else [k - 1])).x for k in range(problem.blocks + 1)]
    filters = [preparation.filters(k) for k in range(len(problem.logs))]
    choices = Choices(
        band=float(band),
        band_from=origin,
        frequencies=spectrum.frequencies,
        power=spectrum.power,
        smoothing=float(SMOOTHING * band),
        samples=sum(clock.samples for clock in clocks),
        rows=int(moments.rows.sum()),
        moving=moments.counts.sum(axis=0),
        row_rate=tuple(1.0 / (one.interval * one.rows.step) for one in filters),
        margin=max(one.margin for one in filters),
        delay=float(preparation.delay),
        delay_found=float(found[0]),
        velocity_lag=lag,
        recorded_velocity=used,
        large_velocities=large[:n],
        rest=rest,
    )
    return Survey(preparation, model, edges, rest, np.stack(fits, axis=1)[: model.n_inertial], choices)


def _delay(moments: Moments, shifts: np.ndarray) -> tuple[float, bool]:
    """The delay where the residuals of all joints are least, and whether it is worth taking back.

    Residuals as a function of the delay are almost a parabola near their minimum.
    """
    logs = []
    for k in range(len(shifts) + 1):
        whole = total(normals(moments, k))
        fit = solve(whole)
        used = whole.counts > 0
        logs.append(np.where(used, np.log(np.maximum(whole.squares(fit.x), 1e-300)), 0.0))
    weight = whole.counts / max(whole.counts.sum(), 1.0)
    now, tried = float(logs[0] @ weight), np.array(logs[1:]) @ weight
    k = int(np.clip(np.argmin(tried), 1, len(shifts) - 2))
    a, b, c = np.exp(tried[k - 1 : k + 2])
    bend = a - 2.0 * b + c
    offset = float(np.clip(0.5 * (a - c) / bend, -1.0, 1.0)) if bend > 0 else 0.0
    delay = float(shifts[k] + offset * (shifts[1] - shifts[0]))
    least = b - 0.25 * (a - c) * offset
    gain = 1.0 - np.sqrt(max(least, 0.0) / np.exp(now))
    return delay, bool(gain > WORTH)


def _check_motion(problem: Problem, preparation: Preparation, large: np.ndarray, seen: int) -> None:
    if not seen:
        length = max(log.duration for log in problem.logs)
        margin = max(preparation.filters(k).margin for k in range(len(problem.logs)))
        raise ZvenoError(
            f"the longest log has {length:.3g} s, and filters for a band of {preparation.band:.3g} Hz need more "
            f"than {2 * margin:.2g} s without a gap",
            remedy="Record for longer, or give a wider band",
        )
    if not (large[: problem.mechanism.n_v] > 0).any():
        raise ZvenoError("no joint moves in the logs", remedy="Record a motion of all joints")


def _check_rows(problem: Problem, model: TorqueModel, moments: Moments) -> None:
    needed = FEWEST_ROWS * model.n_columns / max(1, len(model.active))
    most = moments.counts.sum(axis=0).max()
    if most < needed:
        raise ZvenoError(
            f"{most} rows are left after filters and rest, and {model.n_columns} parameters need {needed:.0f}",
            remedy="Record for longer, or give a wider band",
        )
