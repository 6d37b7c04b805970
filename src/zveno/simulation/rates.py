"""The right-hand side of a run: the kernel, the controller called from outside, least squares where needed."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import ZvenoError
from .equations import Equations
from .inputs import QUALITY, Inputs
from .integrators import normalized
from .redundancy import contradictions, named, robust_rate


class Stopped(Exception):
    """The run cannot go on; what was computed so far is kept."""


class Rates:
    """ẏ = f(t, y), counting calls and remembering what went wrong with the constraints."""

    def __init__(self, equations: Equations, c: np.ndarray | None):
        self.equations = equations
        self.c = c
        self.n: int = 0
        self.redundant: set[str] = set()
        self._named: set[bytes] = set()
        """sets of redundant rows whose names are known already"""
        self.robust: bool = False
        """whether rows turned out to be redundant, so that they are solved in least squares"""

    def inputs(self, t: Any, y: Any) -> Inputs:
        """Command and settings at a state."""
        return Inputs(self.command(t, y), self.c)

    def command(self, t: Any, y: Any) -> Any:
        """τ of a controller that is called, (..., n_v); None otherwise.

        Of a state that is not finite it is NaN, and the controller is not asked: beside others it sees one of them.
        """
        equations = self.equations
        if not equations.commanded or equations.control is None:
            return None
        y = normalized(equations, y)
        there = np.asarray(np.isfinite(y).all(axis=-1))
        if not there.any():
            return np.full((*y.shape[:-1], equations.mechanism.n_v), np.nan)
        if not there.all():
            y = np.where(there[..., None], y, y[there][0])
        u = equations.control.torque(equations.mechanism, t, y[..., equations.q], y[..., equations.v])
        if not there.all():
            u = np.where(there[..., None], u, np.nan)
        bad = ~np.isfinite(u) & there[..., None]
        if bad.any():
            index = tuple(int(k) for k in np.argwhere(bad)[0])
            joint = joint_of_velocity(equations.mechanism, index[-1])
            raise Stopped(f"the control gave {u[index]} for joint {joint} at t = {float(np.max(t)):.6g} s")
        return u

    def __call__(self, t: Any, y: Any) -> Any:
        """ẏ, (..., n_y)."""
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
        """Stop where redundant constraints contradict one another."""
        if self.robust:
            inputs = self.inputs(t, y)
            if np.ndim(y) > 1:
                finite = np.asarray(np.isfinite(y).all(axis=-1))
                y, inputs = y[finite], _chosen(inputs, finite)
            if np.size(y) and (at_fault := contradictions(self.equations, t, y, inputs)):
                raise Stopped(f"the constraints {', '.join(at_fault)} contradict one another at t = {t:.6g} s")

    def _repair(self, t, y, inputs: Inputs, rate, bad):
        bad = bad & np.isfinite(y).all(axis=-1)
        if bad.any():
            rate[bad] = self._least_squares(t, y[bad], _chosen(inputs, bad))

    def only(self, which: np.ndarray) -> Rates:
        """Of some runs (...,) of a batch; what is redundant among them is remembered here too."""
        c = None if self.c is None else np.broadcast_to(self.c, (*which.shape, self.c.shape[-1]))[which]
        some = Rates(self.equations, c)
        some.redundant, some._named, some.robust = self.redundant, self._named, self.robust
        return some

    def reset(self) -> None:
        """Forget that rows were redundant: other constraints act now."""
        self.robust = False


def _chosen(inputs: Inputs, which: np.ndarray) -> Inputs:
    """The inputs of some runs (...,) of a batch."""
    parts = [None if part is None else np.broadcast_to(part, (*which.shape, part.shape[-1])) for part in inputs]
    return Inputs(*(None if part is None else part[which] for part in parts))


def steps_in(duration: float, h: float) -> int:
    """How many equal steps of at most h make a duration."""
    return max(1, int(np.ceil(duration / h - 1e-6)))


def joint_of_velocity(mechanism: Any, k: int) -> str:
    """The joint that owns the k-th velocity."""
    return next(name for name in mechanism.joint_names if k < mechanism.v_slices[name].stop)


def refuse_infinite(value: Any, what: str) -> None:
    """An error that names the first entry that is not finite."""
    bad = np.argwhere(~np.isfinite(value))
    if len(bad):
        index = tuple(int(k) for k in bad[0])
        raise ZvenoError(f"is {value[index]} at {list(index)}", element=what, remedy="Give finite numbers")
