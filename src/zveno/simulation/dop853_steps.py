"""DOP853 (Hairer, Nørsett, Wanner 1993) as a structured program: many adaptive steps of one state per call.

Step sizes, error estimate and dense output are those of SciPy's `DOP853`, whose tables it reads. The stages,
including those of the dense output, are one loop, so that the equations of motion occur once in the code.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..kernels.builder import Builder
from ..kernels.ops import maximum, minimum, sqrt, where
from .fixed_steps import users_code

if TYPE_CHECKING:
    from ..kernels.kernel import Kernel
    from .equations import Equations

N_STAGES, N_DENSE = 16, 7
"""Number of rates of a step, the first being known; number of polynomials of its dense output."""
END = 12
"""Index of the rate at the end of a step."""
SAFETY, LEAST, MOST = 0.9, 0.2, 10.0
"""Safety factor, least and largest factor of a change of step size (SciPy's)."""
ATTEMPTS = 100
"""Largest number of step sizes tried for one step in one call."""
TINY = 10.0 * np.finfo(float).eps
"""Shortest step as a share of the time; shorter ones vanish in rounding."""


class Limits(NamedTuple):
    """Bounds on the steps of a run."""

    t_end: Any
    rtol: Any
    atol: Any
    max_step: Any


@dataclass(frozen=True, eq=False)
class AdaptiveSteps:
    """Number of steps per call; the code depends on the equations only."""

    equations: Equations
    count: int

    @property
    def fingerprint(self) -> str:
        """Cache key of the code."""
        return users_code(self.equations)[0]

    @property
    def code_modules(self) -> tuple[str, ...]:
        """Modules that the equations depend on."""
        return users_code(self.equations)[1]


def dop853_kernel(equations: Equations, count: int) -> Kernel:
    """Return the kernel (t, y, ẏ, size, limits, …) → the next steps, at most `count`.

    The outputs: ends (count,) and sizes (count,) of the steps, a size of zero where none was taken; states (count,
    n_y) at the ends; dense (count, 7, n_y); ẏ at the last end; the size to try next; whether the size became too
    small; evaluations; and with constraints, whose settings c are one more input, their worst quality.
    """
    from ..kernels.compile import compiled_structured  # not needed to import the package

    return compiled_structured(dop853_steps, AdaptiveSteps(equations, count))


def dop853_steps(program: Builder, steps: AdaptiveSteps) -> None:
    """Build the program of `dop853_kernel`."""
    equations, n_y, count = steps.equations, steps.equations.n_y, steps.count
    given = [program.input("t", (), 1), program.input("y", (n_y,), n_y), program.input("rate", (n_y,), n_y)]
    first_size, limits = program.input("size", (), 1), program.input("limits", (len(Limits._fields),), 4)
    settings = [program.input("c", (equations.n_c,), equations.n_c)[0]] if equations.constraints else []
    ends, sizes = program.output("ends", (count,)), program.output("sizes", (count,))
    states, dense = program.output("states", (count, n_y), n_y), program.output("dense", (count, 7, n_y), 7 * n_y)
    last_rate, next_size = program.output("last_rate", (n_y,), n_y), program.output("next_size", ())
    failed, evaluations = program.output("failed", ()), program.output("evaluations", ())

    t, y, rate = program.scratch("now", 1, 1), program.scratch("state", 1, n_y), program.scratch("rate_now", 1, n_y)
    size, h, taken = (program.scratch(name, 1, 1) for name in ("size_now", "h", "taken"))
    waiting, rejected, stuck = (program.scratch(name, 1, 1) for name in ("waiting", "rejected", "stuck"))
    n_stages, worst = program.scratch("n_stages", 1, 1), program.scratch("worst", 1, 1)
    rates = program.scratch("rates", N_STAGES, n_y, zero=True)
    after, curves = program.scratch("after", 1, n_y), program.scratch("curves", 1, N_DENSE * n_y, zero=True)
    stages, errors, curve_weights = (program.table(name, values) for name, values in tables().items())

    t[0], y[0], rate[0], size[0], stuck[0], n_stages[0], worst[0] = program.step(
        _begun, *(rows[0] for rows in given), first_size[0]
    )
    with program.each(count) as k:
        waiting[0], rejected[0], taken[0], size[0] = program.step(_start, t[0], size[0], stuck[0], limits[0])
        with program.repeat_while(waiting, ATTEMPTS):
            h[0], stuck[0] = program.step(_attempt, t[0], size[0], limits[0])
            rates[0] = program.step(_same, rate[0])
            after[0] = program.step(_same, y[0])
            with program.each(N_STAGES - 1) as stage:  # rates that are not known yet have zero weight
                rates[stage + 1] = program.step(partial(np.zeros, n_y))
            with program.each(N_STAGES - 1) as stage:
                rates[stage + 1], after[0], worst[0] = program.step(
                    partial(_stage, equations),
                    *(t[0], h[0], y[0], rates[0, N_STAGES], stages[stage], after[0], worst[0], *settings),
                )
            n_stages[0] = program.step(_counted, n_stages[0])
            accepted = program.scratch("accepted", 1, 1)
            size[0], accepted[0], rejected[0], waiting[0] = program.step(
                _judged,
                *(h[0], y[0], after[0], rates[0, N_STAGES], errors[0], errors[1], limits[0], rejected[0], stuck[0]),
            )
            curves[0] = program.step(
                _curves, h[0], y[0], after[0], rates[0, N_STAGES], curve_weights[0, 4], curves[0], accepted[0]
            )
            t[0], y[0], rate[0], taken[0] = program.step(
                _moved, t[0], h[0], y[0], after[0], rate[0], rates[END], taken[0], accepted[0], limits[0]
            )
        ends[k], sizes[k], states[k] = program.step(_three, t[0], taken[0], y[0])
        dense[k] = program.step(_same, curves[0])
    last_rate[0], next_size[0] = program.step(_two, rate[0], size[0])
    failed[0], evaluations[0] = program.step(_two, stuck[0], n_stages[0])
    if equations.constraints:
        quality = program.output("quality", ())
        quality[0] = program.step(_same, worst[0])


def tables() -> dict[str, np.ndarray]:
    """Return the coefficients of the method.

    For every stage: weights of the rates before it (16), its time as a share of the step, and 1 if its point is the
    end of the step. For the two error estimates: (2, 16). For the dense output: (4, 16).
    """
    from scipy.integrate import DOP853 as Method

    stages = np.zeros((N_STAGES - 1, N_STAGES + 2))
    stages[: END - 1, :END] = Method.A[1:END]
    stages[END - 1, :END] = Method.B
    stages[END:, :N_STAGES] = Method.A_EXTRA
    stages[:, N_STAGES] = [*Method.C[1:END], 1.0, *Method.C_EXTRA]
    stages[END - 1, N_STAGES + 1] = 1.0
    errors = np.zeros((2, N_STAGES))
    errors[:, : END + 1] = Method.E5, Method.E3
    return {"stages": stages, "errors": errors, "curve_weights": np.asarray(Method.D)}


# --- steps of the program: functions of vectors


def _begun(t: Any, y: Any, rate: Any, size: Any) -> tuple[Any, ...]:
    return t, y, rate, size, np.zeros(1), np.zeros(1), np.ones(1)


def _same(x: Any) -> Any:
    return x


def _two(x: Any, y: Any) -> tuple[Any, Any]:
    return x, y


def _three(x: Any, y: Any, z: Any) -> tuple[Any, Any, Any]:
    return x, y, z


def _counted(n: Any) -> Any:
    return n + float(N_STAGES - 1)


def _shortest(t: Any) -> Any:
    return maximum(TINY * abs(t), 1e-300)


def _start(t: Any, size: Any, stuck: Any, limits: Any) -> tuple[Any, ...]:
    """Return (whether to take a step, rejected sizes, size of the step taken, size to try)."""
    limit = Limits(*limits)
    waiting = where(t[0] < limit.t_end, 1.0 - stuck[0], 0.0)
    size = maximum(_shortest(t[0]), minimum(size[0], limit.max_step))
    return np.array([waiting]), np.zeros(1), np.zeros(1), np.array([size])


def _attempt(t: Any, size: Any, limits: Any) -> tuple[Any, Any]:
    """Return (size of the step, at most up to the end; whether it is too short)."""
    limit = Limits(*limits)
    h = where(t[0] + size[0] > limit.t_end, limit.t_end - t[0], size[0])
    return np.array([h]), np.array([where(size[0] < _shortest(t[0]), 1.0, 0.0)])


def _stage(
    equations: Equations,
    t: Any,
    h: Any,
    y: Any,
    rates: Any,
    stage: Any,
    after: Any,
    worst: Any,
    c: Any = None,
) -> tuple[Any, Any, Any]:
    """Return (the rate of a stage, the state at the end of the step as far as known, worst quality so far)."""
    weights, share, is_end = stage[:N_STAGES], stage[N_STAGES], stage[N_STAGES + 1]
    point = y + h[0] * (weights @ rates.reshape(N_STAGES, -1))
    rate, quality = equations.derivative(t[0] + share * h[0], point, None, c)
    after = np.array([where(is_end > 0.5, new, old) for new, old in zip(point, after, strict=True)])
    return rate, after, np.array([minimum(worst[0], quality)])


def _judged(
    h: Any, y: Any, after: Any, rates: Any, fifth: Any, third: Any, limits: Any, rejected: Any, stuck: Any
) -> tuple[Any, ...]:
    """Return (size to try next, whether the step is accepted, whether one was rejected, whether to retry)."""
    limit = Limits(*limits)
    scale = np.array([limit.atol + maximum(abs(a), abs(b)) * limit.rtol for a, b in zip(y, after, strict=True)])
    K = rates.reshape(N_STAGES, -1)
    a, b = (fifth @ K) / scale, (third @ K) / scale
    a2, b2 = a @ a, b @ b
    none = (a2 <= 0.0) & (b2 <= 0.0)
    error = where(none, 0.0, h[0] * a2 / sqrt(where(none, 1.0, (a2 + 0.01 * b2) * float(len(y)))))
    accepted = error < 1.0
    root = sqrt(sqrt(sqrt(where(error > 0.0, error, 1.0))))
    factor = SAFETY / root
    most = where(rejected[0] > 0.5, 1.0, MOST)
    grown = minimum(most, where(error > 0.0, factor, MOST))
    shrunk = where(factor > LEAST, factor, LEAST)  # also if the error is NaN
    size = h[0] * where(accepted, grown, where(error >= 1.0, shrunk, LEAST))
    taken = where(accepted, 1.0 - stuck[0], 0.0)
    again = where(accepted, 0.0, 1.0 - stuck[0])
    return tuple(np.array([x]) for x in (size, taken, where(accepted, rejected[0], 1.0), again))


def _curves(h: Any, y: Any, after: Any, rates: Any, weights: Any, curves: Any, accepted: Any) -> Any:
    """Return the coefficients of the dense output, (7 n_y): those of the last step if this one is rejected."""
    K = rates.reshape(N_STAGES, -1)
    change, first, last = after - y, h[0] * K[0], h[0] * K[END]
    rows = [change, first - change, 2.0 * change - (last + first), *(h[0] * (weights.reshape(4, N_STAGES) @ K))]
    return _where(accepted, np.concatenate(rows), curves)


def _moved(
    t: Any, h: Any, y: Any, after: Any, rate: Any, end_rate: Any, taken: Any, accepted: Any, limits: Any
) -> tuple[Any, ...]:
    """Return (time, state, rate and size of the last step) after an attempt."""
    limit = Limits(*limits)
    end = where(h[0] >= limit.t_end - t[0], limit.t_end, t[0] + h[0])
    parts = ((np.array([end]), t), (after, y), (end_rate, rate), (h, taken))
    return tuple(_where(accepted, new, old) for new, old in parts)


def _where(accepted: Any, new: Any, old: Any) -> Any:
    return np.array([where(accepted[0] > 0.5, a, b) for a, b in zip(new, old, strict=True)])
