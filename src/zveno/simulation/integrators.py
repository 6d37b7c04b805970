"""One step of a fixed-step method, stage by stage, and the adaptive solvers of SciPy under one face."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import unknown_name
from ..kernels.math import atan2, select, sqrt
from ..spatial.rotations import from_quaternion

FIXED = ("rk4", "midpoint", "semi-implicit")
EVALUATIONS = {"rk4": 4, "midpoint": 8, "semi-implicit": 1}
"""Evaluations of the equations in one fixed step."""
TOO_SMALL = "Required step size is less than spacing between numbers."
"""What SciPy's dop853 says."""
ADAPTIVE = ("dop853", "lsoda", "adams")
"""dop853: explicit Runge–Kutta of order 8; lsoda: switches between Adams and BDF; adams: variable order up to 12,
the nearest thing to the ode113 of document 002."""
TIME_STEPPING = "time-stepping"
"""Fixed steps at the level of velocities, through contacts that close and open."""
METHODS = (*FIXED, TIME_STEPPING, *ADAPTIVE)


def checked_method(method: str) -> str:
    """The method's name, refused with the known ones if it is not one of them."""
    if method not in METHODS:
        raise unknown_name("integrator", method, METHODS)
    return method


def staged_step(equations: Any, method: str, f: Callable[..., Any], t: float, y: Any, h: float) -> Any:
    """One step of size h with a right-hand side f(t, y) that is called: (..., n_y) arrays.

    Quaternions are scaled to unit length in every stage and after the step: the equations are then a smooth
    continuation of themselves off the unit sphere, and the method keeps its order.
    """
    if method == "semi-implicit":
        return semi_implicit(equations, y, f(t, y), h, equations.robot.integrate)
    if method == "midpoint":
        return _midpoint(equations, y, f, t, h, equations.carried)
    k1 = f(t, y)
    k2 = f(t + 0.5 * h, y + (0.5 * h) * k1)
    k3 = f(t + 0.5 * h, y + (0.5 * h) * k2)
    k4 = f(t + h, y + h * k3)
    return normalized(equations, y + (h / 6.0) * (k1 + 2.0 * (k2 + k3) + k4))


def semi_implicit(equations: Any, y: Any, rate: Any, h: Any, integrate: Callable[..., Any]) -> Any:
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
    rate = f(t, y)
    for _ in range(EVALUATIONS["midpoint"] - 1):
        rate = f(t + 0.5 * h, midpoint_point(equations, y, rate, h, carry))
    return midpoint_end(equations, y, rate, h, carry)


def midpoint_point(equations: Any, y: Any, rate: Any, h: Any, carry: Callable[..., Any]) -> Any:
    """The state in the middle of a step of size h with a constant rate; y itself if h is zero."""
    q, v = y[..., equations.q], y[..., equations.v]
    rest = slice(equations.v.stop, equations.n_y)
    after = v + h * rate[..., equations.v]
    inner = y[..., rest] + (0.5 * h) * rate[..., rest]
    return np.concatenate([carry(q, v, after, h)[0], 0.5 * (v + after), inner], axis=-1)


def midpoint_end(equations: Any, y: Any, rate: Any, h: Any, carry: Callable[..., Any]) -> Any:
    """The state at the end of a step of size h with a constant rate."""
    q, v = y[..., equations.q], y[..., equations.v]
    rest = slice(equations.v.stop, equations.n_y)
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
            self._reached = self.t
        else:
            make: Any = {"dop853": integrate.DOP853, "lsoda": integrate.LSODA}[self.method]
            options = {"rtol": self.rtol, "atol": self.atol, "max_step": self.max_step}
            self.solver = make(self.f, self.t, self.y, self.t_end, **options)

    def step(self, ahead: np.ndarray, alone: bool = True) -> bool:
        """One step, for Adams up to the time ahead[0]; False if the solver gave up (`message` says why)."""
        self.t_old, self.y_old = self.t, self.y
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # what they say becomes the status of the result
            if self.method == "adams":
                return self._adams(float(ahead[0]))
            try:
                self.message = self.solver.step() or ""
            except ValueError as error:  # SciPy's word for a state that is no longer finite
                self.message = str(error)
                return False
        self.t, self.y = float(self.solver.t), np.array(self.solver.y)
        if not self.t > self.t_old:  # LSODA goes on without end where a motion explodes
            self.message = TOO_SMALL
            return False
        return self.solver.status != "failed"

    def _adams(self, ahead: float) -> bool:
        """All steps to the time ahead, one by one: where a motion explodes they no longer change the time."""
        solver = self.solver
        while self._reached < ahead:
            y = solver.integrate(ahead, step=True)
            if not solver.successful() or not np.isfinite(y).all():
                self.message = "the solver cannot hold its tolerance"
                return False
            if not solver.t > self._reached:
                self.message = TOO_SMALL
                return False
            self._reached = float(solver.t)
        # The last step may end beyond; the solver interpolates.
        self.y, self.t = np.array(solver.integrate(ahead)), ahead
        self.message = "" if solver.successful() else "the solver cannot hold its tolerance"
        return solver.successful()

    n_last: int = 1
    """How many steps the last call of `step` took."""

    @property
    def nodes(self) -> np.ndarray:
        """Times at which a step is looked at for events, from its beginning to its end."""
        return np.linspace(self.t_old, self.t, 2 if self.method == "adams" else 9)  # Adams is asked for short ones

    def node_states(self, states: Callable[..., Any]) -> np.ndarray:
        """y (n, n_y) at the nodes, from the step's interpolant."""
        times = self.nodes
        return np.array([self.y_old, *(states(times[1:-1]) if len(times) > 2 else ()), self.y])

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
