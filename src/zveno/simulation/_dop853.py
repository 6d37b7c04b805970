"""One run by DOP853 (Hairer, Nørsett, Wanner 1993): a structured program of many adaptive steps per call.

Step sizes, error estimate and dense output are those of SciPy's `DOP853`, whose tables it reads. The stages,
including those of the dense output, are one loop, so that the equations of motion occur once in the code. SciPy's
solver runs where a function of the user has no program.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..kernels.builder import Builder
from ..kernels.ops import maximum, minimum, sqrt, where
from ._layout import QUALITY
from ._rates import Rates, Stopped
from ._rk4 import users_code
from ._statuses import FINISHED, SAME_TIME, Outcome
from .events import States
from .integrators import DOP853, normalized

if TYPE_CHECKING:
    from ..kernels.kernel import Kernel
    from ._equations import Equations

# --- the program

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


# --- the driver

BLOCKS = (1, 8, 64)
"""Steps per call: one after each restart, then more in every call."""
PARTS = 8
"""Number of parts into which a step is divided for event checks."""
CALLS = 10
"""Number of calls without a step after which the solver gives up."""
STABLE = 3.0
"""Largest step times the rate of stabilisation. The explicit method is stable up to about twice as much; beyond,
rounding errors of constraints grow to the tolerance."""
TOO_SMALL = "Required step size is less than spacing between numbers."
"""SciPy's message."""
FOUND = 1e-9
"""Precision, as a share of the duration, of the time at which a control fails."""


class ControlFault(Exception):
    """Error for a control whose result is not finite."""

    def __init__(self, t: float):
        super().__init__(t)
        self.t: float = t


class DensePiece:
    """Consecutive steps of one run, with their dense output."""

    def __init__(self, rates: Rates, ends: np.ndarray, first: np.ndarray, last: np.ndarray, dense: States):
        self.n_steps: int = len(ends) - 1
        parts = np.linspace(ends[:-1], ends[1:], PARTS + 1)[1:]
        self.nodes: np.ndarray = np.concatenate([ends[:1], parts.T.ravel()])
        """times at which events are checked"""
        self._equations, self._first, self._last, self._dense = rates.equations, first, last, dense

    def states(self) -> np.ndarray:
        """Return the states at the nodes, (1, n, n_y)."""
        return self.at(self.nodes)

    def at(self, times: np.ndarray) -> np.ndarray:
        """Return the states at times (m,) of the steps, (1, m, n_y)."""
        y = np.empty((len(times), len(self._last)))
        begins, ends = times - self.nodes[0] <= SAME_TIME, self.nodes[-1] - times <= SAME_TIME
        y[begins], y[ends] = self._first, self._last
        if (inside := ~(begins | ends)).any():
            y[inside] = self._dense(times[inside])
        return normalized(self._equations, y)[None]

    def between(self, k: int) -> States:
        """Return the function that gives run 0 at any times of the steps."""
        return lambda times: normalized(self._equations, self._dense(times))


class Dop853:
    """Stepper for one run by DOP853: compiled, or SciPy's for a called control or redundant constraints.

    The first step size after a restart is SciPy's choice.
    """

    rates: Rates
    y: np.ndarray

    def __init__(self, rates: Rates, y0: np.ndarray, t_end: float, method: DOP853):
        longest = method.max_step
        if rates.c is not None and rates.c[0] > 0.0:
            longest = min(longest, STABLE / float(rates.c[0]))
        self.rates, self.t, self.y = rates, 0.0, y0
        self._limits = np.array([t_end, method.rtol, method.absolute_tolerance, longest])
        self._block = -1
        self._solver: Any = None
        self._first: float | None = None

    def restart(self, y: np.ndarray) -> None:
        """Continue from another state at the same time."""
        self.y, self._block = y, -1

    def keep(self, runs: np.ndarray) -> np.ndarray:
        """Continue with the only run, (1,)."""
        return runs

    def _begin(self) -> None:
        from scipy.integrate import DOP853 as Solver

        t_end, rtol, atol, longest = self._limits.tolist()
        self._solver = Solver(self._finite_rate, self.t, self.y, t_end, longest, rtol, atol, first_step=self._first)
        self._rate, self._size = np.array(self._solver.f), float(self._solver.h_abs)

    def advance(self, alone: bool) -> tuple[DensePiece, Outcome]:
        """Take one step if `alone`, or several.

        Raises:
            Stopped: the run cannot go on.
        """
        if self._block < 0:
            self._solver = None
        self._block += 1
        count = 1 if alone else BLOCKS[min(self._block, len(BLOCKS) - 1)]
        compiled = not (self.rates.equations.commanded or self.rates.robust)
        if compiled and self._solver is None:
            self._begin()
        piece = self._compiled_steps(count) if compiled and np.isfinite([*self._rate, self._size]).all() else None
        piece = self._finite_step() if piece is None else piece
        self.rates.check(self.t, self.y)
        return piece, FINISHED

    def _compiled_steps(self, count: int) -> DensePiece | None:
        """Take compiled steps; return None if constraints became redundant on the way."""
        rates, kernel = self.rates, self.rates.equations.dop853(count)
        settings = () if rates.c is None else (rates.c,)
        for _ in range(CALLS):
            made = kernel(self.t, self.y, self._rate, self._size, self._limits, *settings)
            ends, sizes, states, dense, rate, size, failed, evaluations = made[:8]
            if settings and not made[8] > QUALITY:
                self._begin()
                return None
            rates.n += int(evaluations)
            n = int(np.count_nonzero(sizes))
            self._rate, self._size = rate, float(size)
            if n:
                starts = np.concatenate([[self.t], ends[: n - 1]])
                begins = np.concatenate([self.y[None], states[: n - 1]])
                output = _dense_output(starts, sizes[:n], begins, dense[:n])
                nodes = np.append(starts, ends[n - 1])
                piece = DensePiece(rates, nodes, self.y, states[n - 1], output)
                self.t, self.y = float(ends[n - 1]), states[n - 1]
                return piece
            if failed:
                break
        raise Stopped("diverged", f"{TOO_SMALL} at t = {self.t:.6g} s")

    def _finite_rate(self, t: float, y: np.ndarray) -> Any:
        rate = self.rates(t, y)
        if self.rates.faults:
            raise ControlFault(t)
        return rate

    def _finite_step(self) -> DensePiece:
        """Take one SciPy step; if the control fails within it, take shorter steps up to the time of failure."""
        while True:
            try:
                if self._solver is None:
                    self._begin()
                return self._scipy_step()
            except ControlFault as fault:
                left = fault.t - self.t
                if left <= FOUND * self._limits[0]:
                    [(t, reason)] = self.rates.faults.values()
                    raise Stopped("diverged", f"{reason} at t = {t:.6g} s") from None
                self.rates.faults.clear()
                self._limits[3] = self._first = 0.5 * left
                self._solver = None

    def _scipy_step(self) -> DensePiece:
        solver, before = self._solver, self.y
        try:
            message = solver.step()
        except ValueError as error:  # SciPy's error for a state that is not finite
            message = str(error)
        if message or solver.status == "failed":
            raise Stopped("diverged", f"{message or 'the integrator failed'} at t = {self.t:.6g} s")
        ends = np.array([self.t, float(solver.t)])
        self.t, self.y = float(solver.t), np.array(solver.y)
        made: list[Any] = []

        def dense(times: np.ndarray) -> np.ndarray:
            if not made:  # it takes evaluations, which a step without samples and events does not need
                made.append(solver.dense_output())
            return made[0](times).T

        return DensePiece(self.rates, ends, before, self.y, dense)


def _dense_output(starts: np.ndarray, sizes: np.ndarray, begins: np.ndarray, dense: np.ndarray) -> States:
    """Return y (m, n_y) at times (m,) of steps from the states `begins`, by coefficients (n, 7, n_y)."""

    def states(times: np.ndarray) -> np.ndarray:
        k = np.maximum(np.searchsorted(starts, times) - 1, 0)
        x = ((times - starts[k]) / sizes[k])[:, None]
        y = np.zeros((len(times), begins.shape[-1]))
        for i in range(dense.shape[1]):  # nested as in SciPy's dense output
            y = (y + dense[k, -1 - i]) * (x if i % 2 == 0 else 1.0 - x)
        return y + begins[k]

    return states
