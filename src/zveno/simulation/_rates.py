"""Right-hand side of a run: kernel, called controller, and least squares where needed."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np

from ..errors import ZvenoError
from ..mechanism import Mechanism
from ._equations import Equations
from ._layout import QUALITY, Inputs
from ._redundancy import contradictions, named, robust_rate
from .control import Control
from .integrators import normalized

SUDDEN = 100.0
"""Change of a velocity between two samples, rad/s or m/s, beyond which its acceleration predicts nothing."""


class Stopped(Exception):
    """Early end of a run, with its status and reason; samples computed so far are kept."""


Faults = dict[tuple[int, ...], tuple[float, str]]
"""Time and text of the first control output that is not finite, by index of the run."""


def commanded(control: Control, mechanism: Mechanism, t: Any, q: np.ndarray, v: np.ndarray, faults: Faults) -> Any:
    """Return τ (..., n_v) of a called controller; NaN for a run whose torques are not all finite.

    Such a run ends, and `faults` gives the reason. A run whose state is not finite ends too: the controller sees
    another state in its place.
    """
    finite = np.asarray(np.isfinite(q).all(axis=-1) & np.isfinite(v).all(axis=-1))
    if not finite.any():
        return np.full(v.shape, np.nan)
    if not finite.all():
        q, v = (np.where(finite[..., None], x, x[finite][0]) for x in (q, v))
    u = np.asarray(control.torque(mechanism, t, q, v))
    good = np.isfinite(u).all(axis=-1)
    for run in map(tuple, np.argwhere(finite & ~good).tolist()):
        k = int(np.argmin(np.isfinite(u[run])))
        joint = joint_of_velocity(mechanism, k)
        faults.setdefault(run, (float(np.max(t)), f"the control gave {u[run][k]} for joint {joint}"))
    return u if (finite & good).all() else np.where((finite & good)[..., None], u, np.nan)


class Rates:
    """Right-hand side ẏ = f(t, y) that counts calls and records constraint faults."""

    def __init__(self, equations: Equations, c: np.ndarray | None):
        self.equations = equations
        self.c = c
        self.n: int = 0
        self.redundant: set[str] = set()
        self._named: set[bytes] = set()
        """sets of redundant rows that are already named"""
        self.faults: Faults = {}
        self.robust: bool = False
        """True once rows are redundant, so that they are solved in least squares"""

    def inputs(self, t: Any, y: Any) -> Inputs:
        """Return command and settings at a state."""
        return Inputs(self.command(t, y), self.c)

    def command(self, t: Any, y: Any) -> Any:
        """Return τ of a called controller, (..., n_v), see `commanded`; None otherwise."""
        equations = self.equations
        if not equations.commanded or equations.control is None:
            return None
        y = normalized(equations, y)
        q, v = y[..., equations.q], y[..., equations.v]
        return commanded(equations.control, equations.mechanism, t, q, v, self.faults)

    def __call__(self, t: Any, y: Any) -> Any:
        """Return ẏ, (..., n_y)."""
        self.n += 1
        inputs = self.inputs(t, y)
        if not self.equations.constraints:
            return self.equations.rhs(t, y, *inputs.arrays())
        if not self.robust or np.ndim(y) > 1:
            rate, quality = self.equations.rhs(t, y, *inputs.arrays())
            bad = ~(quality > QUALITY)
            if not np.any(bad):
                return rate
            self.robust = True  # redundant rows stay redundant along a run
            if np.ndim(y) > 1:
                self._repair(t, y, inputs, rate, bad)
                return rate
        return self._least_squares(t, y, inputs)

    def _least_squares(self, t, y, inputs: Inputs):
        solved = robust_rate(self.equations, t, y, inputs)
        key = solved.redundant.tobytes()
        if key not in self._named:
            self._named.add(key)
            self.redundant |= set(named(self.equations, solved.redundant))
        return solved.y

    def check(self, t: float, y: Any) -> None:
        """Stop the run if redundant constraints contradict one another."""
        if self.robust:
            inputs = self.inputs(t, y)
            if np.ndim(y) > 1:
                finite = np.asarray(np.isfinite(y).all(axis=-1))
                y, inputs = y[finite], _chosen(inputs, finite)
            if np.size(y) and (at_fault := contradictions(self.equations, t, y, inputs)):
                names = ", ".join(at_fault)
                if len(at_fault) == 1:  # it held at the start
                    raise Stopped(
                        "stopped", f"the rows of {names} contradict one another at t = {t:.6g} s: a singular state"
                    )
                raise Stopped("stopped", f"the constraints {names} contradict one another at t = {t:.6g} s")

    def _repair(self, t, y, inputs: Inputs, rate, bad):
        bad = bad & np.isfinite(y).all(axis=-1)
        if bad.any():
            rate[bad] = self._least_squares(t, y[bad], _chosen(inputs, bad))

    def only(self, which: np.ndarray) -> Rates:
        """Return the rates of some runs (...,) of a batch; their redundant rows are recorded here too."""
        c = None if self.c is None else np.broadcast_to(self.c, (*which.shape, self.c.shape[-1]))[which]
        some = Rates(self.equations, c)
        some.redundant, some._named, some.robust = self.redundant, self._named, self.robust
        return some

    def probe(self) -> Rates:
        """Return a copy for states outside any run, whose calls and faults do not count."""
        other = copy(self)
        other.faults = {}
        return other

    def of_run(self, number: int) -> Rates:
        """Return the rates of one run (n_y,) of a batch (k, n_y), or of the only run; its calls do not count."""
        c = None if self.c is None else self.c.reshape(-1, self.c.shape[-1])[number]
        rates = Rates(self.equations, c)
        rates.redundant, rates._named, rates.robust = self.redundant, self._named, self.robust
        return rates


def undefined(equations: Equations, t: Any, y: np.ndarray, c: Any) -> tuple[float, str] | None:
    """Return when and what a compiled control, drive or constraint makes not finite between two times t (2,).

    A run went from the finite state y (n_y,) at the first to one that is not finite at the second. The states
    between are those of a constant acceleration.
    """
    if equations.commanded:
        return None  # `commanded` has told
    mechanism, inputs = equations.mechanism, Inputs(None, c).arrays()
    a = np.asarray(equations.report(t[0], y, *inputs)[0])
    times = np.linspace(t[0], t[1], 5)
    after = (times - t[0])[:, None]
    if not (abs(a) * (t[1] - t[0]) < SUDDEN).all():
        a = np.zeros_like(a)
    states = np.tile(y, (len(times), 1))
    moved = y[equations.v] * after + 0.5 * a * after**2
    states[:, equations.q] = equations.robot.integrate(np.tile(y[equations.q], (len(times), 1)), moved)
    states[:, equations.v] += a * after
    a, tau, _, value, rate, *_ = map(np.asarray, equations.report(times, states, *inputs))
    for k, now in enumerate(times.tolist()):
        if not np.isfinite(tau[k]).all():
            at = int(np.argmin(np.isfinite(tau[k])))
            source = "control" if equations.drive is None else "drive"
            return now, f"the {source} gave {tau[k, at]} for joint {joint_of_velocity(mechanism, at)}"
        lost = ~np.isfinite(value[k] + rate[k])
        if lost.any():
            return now, f"{', '.join(named(equations, lost))} has no finite value"
        if equations.moving_base is not None and not np.isfinite(a[k]).all():
            return now, "base_motion has no finite value"
    return None


def _chosen(inputs: Inputs, which: np.ndarray) -> Inputs:
    """Return the inputs of some runs (...,) of a batch."""
    parts = [None if part is None else np.broadcast_to(part, (*which.shape, part.shape[-1])) for part in inputs]
    return Inputs(*(None if part is None else part[which] for part in parts))


def joint_of_velocity(mechanism: Mechanism, k: int) -> str:
    """Return the joint that owns the k-th velocity."""
    return next(name for name in mechanism.joint_names if k < mechanism.v_slices[name].stop)


def refuse_infinite(value: Any, label: str) -> None:
    """Raise an error that names the first entry that is not finite."""
    bad = np.argwhere(~np.isfinite(value))
    if len(bad):
        index = tuple(int(k) for k in bad[0])
        raise ZvenoError(f"is {value[index]} at {list(index)}", element=label, remedy="Give finite numbers")
