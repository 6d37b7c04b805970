"""One step of a fixed-step method, traced or stage by stage, and the adaptive solvers of SciPy under one face."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ..errors import unknown_name
from ..kernels.math import atan2, minimum, select, sqrt
from ..spatial.rotations import from_quaternion

FIXED = ("rk4", "midpoint", "semi-implicit")
EVALUATIONS = {"rk4": 4, "midpoint": 8, "semi-implicit": 1}
"""Evaluations of the equations in one fixed step."""
ADAPTIVE = ("dop853", "lsoda", "adams")
"""dop853: explicit Runge–Kutta of order 8; lsoda: switches between Adams and BDF; adams: variable order up to 12,
the nearest thing to the ode113 of document 002."""
METHODS = FIXED + ADAPTIVE


def checked_method(method: str) -> str:
    """The method's name, refused with the known ones if it is not one of them."""
    if method not in METHODS:
        raise unknown_name("integrator", method, METHODS)
    return method


def traced_step(
    equations: Any, method: str, t: Any, y: Any, h: Any, u: Any = None, c: Any = None
) -> tuple[Any, Any]:
    """(y after one step of size h, worst quality of the constraints): the whole step as one traced function.

    Quaternions are scaled to unit length in every stage and after the step: the equations are then a smooth
    continuation of themselves off the unit sphere, and the method keeps its order.
    """

    def f(t, y):
        return equations.derivative(t, y, u, c)

    if method == "semi-implicit":
        rate, quality = f(t, y)
        return _semi_implicit(equations, y, rate, h, equations.mechanism.integrate), quality
    if method == "midpoint":
        qualities = []

        def rates(t, y):
            rate, quality = f(t, y)
            qualities.append(quality)
            return rate

        y = _midpoint(equations, y, rates, t, h, partial(carried, equations.mechanism))
        worst = qualities[0]
        for quality in qualities[1:]:
            worst = minimum(worst, quality)
        return y, worst
    k1, q1 = f(t, y)
    k2, q2 = f(t + 0.5 * h, y + (0.5 * h) * k1)
    k3, q3 = f(t + 0.5 * h, y + (0.5 * h) * k2)
    k4, q4 = f(t + h, y + h * k3)
    y = y + (h / 6.0) * (k1 + 2.0 * (k2 + k3) + k4)
    q = equations.mechanism.normalized(y[equations.q])
    return np.concatenate([q, y[equations.q.stop :]]), minimum(minimum(q1, q2), minimum(q3, q4))


def staged_step(equations: Any, method: str, f: Callable[..., Any], t: float, y: Any, h: float) -> Any:
    """The same step with a right-hand side f(t, y) that is called: (..., n_y) arrays."""
    if method == "semi-implicit":
        return _semi_implicit(equations, y, f(t, y), h, equations.robot.integrate)
    if method == "midpoint":
        return _midpoint(equations, y, f, t, h, equations.carried)
    k1 = f(t, y)
    k2 = f(t + 0.5 * h, y + (0.5 * h) * k1)
    k3 = f(t + 0.5 * h, y + (0.5 * h) * k2)
    k4 = f(t + h, y + h * k3)
    return normalized(equations, y + (h / 6.0) * (k1 + 2.0 * (k2 + k3) + k4))


def _semi_implicit(equations, y, rate, h, integrate):
    """v first, then q with the new v; the rest as in Euler's method."""
    v = y[..., equations.v] + h * rate[..., equations.v]
    q = integrate(y[..., equations.q], h * v)
    rest = slice(equations.v.stop, equations.n_y)
    return np.concatenate([q, v, y[..., rest] + h * rate[..., rest]], axis=-1)


def _midpoint(equations, y, f, t, h, carry):
    """Implicit midpoint on the group: v⁺ = v + h a with a in the middle of the step, between q and q⁺.

    Symmetric in time, which keeps the energy bounded; of a single free body it keeps energy and momentum (Simo and
    Wong 1991). Solved by fixed-point iteration, whose error falls by about h |∂a/∂v|/2 each time.
    """
    q, v = y[..., equations.q], y[..., equations.v]
    rest = slice(equations.v.stop, equations.n_y)
    rate = f(t, y)
    for _ in range(EVALUATIONS["midpoint"] - 1):
        after = v + h * rate[..., equations.v]
        middle, _ = carry(q, v, after, h)
        inner = y[..., rest] + (0.5 * h) * rate[..., rest]
        rate = f(t + 0.5 * h, np.concatenate([middle, 0.5 * (v + after), inner], axis=-1))
    after = v + h * rate[..., equations.v]
    return np.concatenate([carry(q, v, after, h)[1], after, y[..., rest] + h * rate[..., rest]], axis=-1)


def carried(mechanism: Any, q: Any, v: Any, after: Any, h: Any) -> tuple[Any, Any]:
    """(q in the middle, q at the end) of a step in which v becomes `after`; entries may be traced.

    Rotations are the Cayley transforms of h (v + v⁺)/2, and positions of a free joint follow the mean of its
    velocities in world axes: v⁺ − v = −h ω × v then leaves momentum in world axes as it is.
    """
    turn = (0.5 * h) * (v + after)
    for name in mechanism.joint_names:
        part, joint = mechanism.v_slices[name], mechanism.joint(name).type
        if joint.n_q > joint.n_v:
            w = slice(part.stop - 3, part.stop)
            turn[w] = turn[w] * _cayley(turn[w])
    middle, end = mechanism.integrate(q, 0.5 * turn), mechanism.integrate(q, turn)
    for name in mechanism.joint_names:
        if mechanism.joint(name).type.kind == "free":
            at, part = mechanism.q_slices[name].start, mechanism.v_slices[name].start
            position, quaternion = slice(at, at + 3), slice(at + 3, at + 7)
            speeds = [from_quaternion(x[quaternion]) @ w[part : part + 3] for x, w in ((q, v), (end, after))]
            end[position] = q[position] + (0.5 * h) * (speeds[0] + speeds[1])
            middle[position] = 0.5 * (q[position] + end[position])
    return middle, end


def _cayley(turn):
    """Angle of the Cayley transform of a rotation vector (3,) over its length: 2 atan(x/2)/x."""
    squared = turn @ turn
    small = squared < 1e-8
    x = sqrt(select(small, 1.0, squared))
    return select(small, 1.0 - squared / 12.0, 2.0 * atan2(0.5 * x, 1.0) / x)


def normalized(equations: Any, y: Any) -> Any:
    """y with every quaternion scaled to unit length, (..., n_y) floats."""
    mechanism = equations.mechanism
    if mechanism.n_q == mechanism.n_v:
        return y
    still = equations.robot.integrate(y[..., equations.q], np.zeros(mechanism.n_v))
    return np.concatenate([still, y[..., equations.q.stop :]], axis=-1)


class Adaptive:
    """A solver of SciPy that is stepped: after `step`, `t_old`, `t` and `y` describe the last step."""

    f: Callable[..., Any]
    atol: Any
    method: str
    t_end: float
    rtol: float
    max_step: float
    t: float
    t_old: float
    y: Any
    y_old: Any

    def __init__(
        self,
        method: str,
        f: Callable[..., Any],
        t: float,
        y: Any,
        t_end: float,
        rtol: float,
        atol: Any,
        max_step: float,
    ):
        self.method, self.f, self.t_end = method, f, t_end
        self.rtol, self.atol, self.max_step = rtol, atol, max_step
        self.t = self.t_old = t
        self.message: str = ""
        self.restart(y)

    def restart(self, y: Any) -> None:
        """Go on from another state at the same time."""
        from scipy import integrate

        self.y = np.array(y)
        if self.method == "adams":
            solver = integrate.ode(self.f)
            bound = 0.0 if np.isinf(self.max_step) else self.max_step
            options: Any = {"rtol": self.rtol, "atol": self.atol, "nsteps": 100_000, "max_step": bound}
            self.solver: Any = solver.set_integrator("vode", method="adams", **options)
            self.solver.set_initial_value(self.y, self.t)
        else:
            make: Any = {"dop853": integrate.DOP853, "lsoda": integrate.LSODA}[self.method]
            options = {"rtol": self.rtol, "atol": self.atol, "max_step": self.max_step}
            self.solver = make(self.f, self.t, self.y, self.t_end, **options)

    def step(self, until: float) -> bool:
        """One step, for Adams up to the time `until`; False if the solver gave up (`message` says why)."""
        self.t_old, self.y_old = self.t, self.y
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # what they say becomes the status of the result
            if self.method == "adams":
                self.y = np.array(self.solver.integrate(until))
                self.t = float(self.solver.t)
                self.message = "" if self.solver.successful() else "the solver cannot hold its tolerance"
                return self.solver.successful()
            try:
                self.message = self.solver.step() or ""
            except ValueError as error:  # SciPy's word for a state that is no longer finite
                self.message = str(error)
                return False
        self.t, self.y = float(self.solver.t), np.array(self.solver.y)
        return self.solver.status != "failed"

    @property
    def nodes(self) -> int:
        """How many parts of a step are looked at for events: Adams is asked for short ones."""
        return 1 if self.method == "adams" else 8

    @property
    def waits(self) -> bool:
        """Whether a step may go all the way to the time asked for."""
        return self.method == "adams"

    def interpolate(self) -> Callable[[np.ndarray], np.ndarray]:
        """y (n, n_y) at times (n,) of the last step."""
        if self.method == "adams":
            return self._followed()
        dense = self.solver.dense_output()
        return lambda t: dense(t).T

    def _followed(self) -> Callable:
        """The last step of Adams, which tells its end only, followed by dop853 and made to agree with that end."""
        from scipy.integrate import DOP853

        start, end, y_end = self.t_old, self.t, self.y
        inner = DOP853(self.f, start, self.y_old, end, rtol=self.rtol, atol=self.atol)
        pieces = []
        while inner.status == "running":
            inner.step()
            pieces.append(inner.dense_output())
        gap = (y_end - inner.y) / (end - start)

        def at(t):
            piece = next((one for one in pieces if t <= one.t), pieces[-1])
            return piece(t) + gap * (t - start)

        return lambda times: np.array([at(t) for t in times]).reshape(len(times), len(y_end))
