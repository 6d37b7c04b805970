"""Controllers: the torques of a simulation as a function of time and state.

Traceable controllers become part of the compiled step; any other function of (t, q, v) is called from Python.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from ..algorithms.inverse_dynamics import gravity_torque, inverse_dynamics
from ..algorithms.motion import Motion
from ..errors import ModelError, ShapeError, TraceError, ZvenoError
from ..kernels.derivatives import forward
from ..kernels.ops import less, maximum, minimum, where
from ..kernels.program import Program
from ..kernels.trace import call, trace
from ..mechanism import Mechanism
from ..mechanism.base import FLOATING_BASE
from ..mechanism.units import velocity_names
from ..spatial.vectors import is_masked, real_array

# --- functions of time


@dataclass(frozen=True, eq=False)
class TimeFunction:
    """Function f(t) with exact ḟ and f̈: it is traced and differentiated twice on the tape."""

    program: Program

    @staticmethod
    def of(function: Callable[..., Any], label: str, shape: tuple[int, ...] = ()) -> TimeFunction:
        """Trace a function of one number; `what` names it in errors.

        Raises:
            TraceError: the function cannot be traced.
            ShapeError: it returns something of another shape.
        """
        return _time_function(function, label, shape)

    def __call__(self, t: Any) -> Any:
        """Return (f, ḟ, f̈) at a number or a traced scalar."""
        return call(self.program, t)


@lru_cache(maxsize=64)
def _time_function(function: Callable, label: str, shape: tuple[int, ...]) -> TimeFunction:
    try:
        program = trace(
            lambda t: np.asarray(function(t), object), {"t": ()}, name="function_of_time", outputs=("f",)
        )
    except ZvenoError as error:
        raise error.located(element=label) from error
    except Exception as error:
        raise TraceError(
            f"cannot be traced: {error}",
            element=label,
            remedy="Write it with NumPy's elementary functions of one number, without branching on time",
        ) from error
    if program.outputs[0].shape != shape:
        raise ShapeError(
            f"returns shape {program.outputs[0].shape} where {shape} is needed",
            element=label,
            remedy="Return one number per velocity",
        )
    once = forward(program, values=True)
    first = trace(lambda t: call(once, t, 1.0), {"t": ()}, outputs=("f", "f1"))
    twice = forward(first, values=True)

    def all_three(t):
        f, f1, _, f2 = call(twice, t, 1.0)
        return f, f1, f2

    return TimeFunction(trace(all_three, {"t": ()}, outputs=("f", "f1", "f2")))


def base_motion(pose: Callable[..., Any], t: Any) -> tuple[Any, Motion]:
    """Return R_world_base and the motion of link 0 in its own axes, from its pose T_world_base(t), (4, 4)."""
    T, T1, T2 = TimeFunction.of(pose, "moving_base", (4, 4))(t)
    Rt = T[:3, :3].T
    spin, turn = Rt @ T1[:3, :3], Rt @ T2[:3, :3]
    w = np.array([spin[2, 1], spin[0, 2], spin[1, 0]])
    # RᵀR̈ = [ε]× + [ω]×², whose antisymmetric part is [ε]×.
    e = 0.5 * np.array([turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]])
    return T[:3, :3], Motion(Rt @ T1[:3, 3], w, Rt @ T2[:3, 3], e)


# --- controllers


class Control(ABC):
    """Torque as a function of time and state."""

    traced: ClassVar[bool] = True
    """True if `torque` may be traced, and so compiled into the equations."""

    @abstractmethod
    def torque(self, mechanism: Mechanism, t: Any, q: Any, v: Any) -> Any:
        """Return τ, (n_v,), of one state; traced entries if `traced`, else also batches (..., n_v)."""

    def gains(self, mechanism: Mechanism, t: Any, q: Any, v: Any) -> tuple[Any, Any]:
        """Return stiffness −∂τ/∂q and damping −∂τ/∂v, (n_v,), for implicit time stepping; zero if unknown."""
        return np.zeros(mechanism.n_v), np.zeros(mechanism.n_v)

    def prepared(self, mechanism: Mechanism) -> Control:
        """Return the same controller, checked and with its arrays shaped for a mechanism."""
        return self


def as_control(control: Any, mechanism: Mechanism) -> Control | None:
    """Return the controller for an argument: a controller, a function of (t, q, v), torques, or None."""
    if control is None:
        return None
    if isinstance(control, Control):
        return control.prepared(mechanism)
    if callable(control):
        return Called(control)
    return _ConstantTorque(mechanism.checked_v(control, "control")).prepared(mechanism)


@dataclass(frozen=True, eq=False)
class Called(Control):
    """Function of (t, q, v), called at every evaluation, with arrays (..., n_q), (..., n_v) for batches."""

    function: Callable[..., Any]
    traced = False

    def torque(self, mechanism: Mechanism, t: Any, q: Any, v: Any) -> Any:
        """Return the torques of the function, checked for shape."""
        try:
            returned = self.function(t, np.array(q), np.array(v))  # what it writes into stays its own
            if is_masked(returned):
                raise TypeError("it returned masked entries")
            tau = np.asarray(returned)
            if tau.dtype.kind not in "fiub":
                raise TypeError(f"it returned {'None' if tau.shape == () else tau.dtype.name}, not real numbers")
            return _refuse_passive(mechanism, np.broadcast_to(tau.astype(float), np.shape(v)))
        except (TypeError, ValueError) as error:
            if isinstance(error, ZvenoError):
                raise
            raise ShapeError(
                f"at t = {float(np.max(t)):.6g} s: {error}",
                element="control",
                remedy=f"control(t, q, v) must return {mechanism.n_v} torques",
            ) from error


@dataclass(frozen=True, eq=False)
class Traced(Control):
    """Traceable function of (t, q, v) of one state (`zveno.kernels.ops`), compiled into the step.

    It may close over the mechanism and call algorithms on it. It must be a pure function.
    """

    function: Callable[..., Any]

    def torque(self, mechanism: Mechanism, t: Any, q: Any, v: Any) -> Any:
        """Return the torques of the function."""
        tau = np.asarray(self.function(t, q, v))
        if tau.shape != (mechanism.n_v,):
            raise ShapeError(
                f"returns shape {tau.shape} where ({mechanism.n_v},) is needed",
                element="control",
                remedy="Return one torque per velocity",
            )
        return _refuse_passive(mechanism, tau)


@dataclass(frozen=True, eq=False)
class _ConstantTorque(Control):
    """Constant torques, (n_v,)."""

    tau: Any

    def torque(self, mechanism: Mechanism, t: Any, q: Any, v: Any) -> Any:
        """Return the torques."""
        return np.array(self.tau)

    def prepared(self, mechanism: Mechanism) -> _ConstantTorque:
        """Return the controller with checked shape."""
        tau = mechanism.checked_v(self.tau, "control")
        if tau.ndim != 1 or not np.isfinite(tau).all():
            raise ShapeError(
                "constant torques are one finite number per velocity",
                element="control",
                remedy="Use Recorded for torques over time, or a function of (t, q, v)",
            )
        return _ConstantTorque(_refuse_passive(mechanism, tau))


@dataclass(frozen=True, eq=False)
class PD(Control):
    """Spring and damper to a configuration, with gravity compensation.

    τ = g(q) + kp · (target ⊖ q) − kd · v; the floating base gets none.

    Attributes:
        target: (n_q,), the neutral configuration if None.
        kp, kd: a scalar, or one per velocity.
        gravity: True to add g(q).
        limited: True to clamp torques to the joints' effort limits.
    """

    target: Any = None
    kp: Any = 100.0
    kd: Any = 20.0
    gravity: bool = True
    limited: bool = False

    def torque(self, mechanism: Mechanism, t: Any, q: Any, v: Any) -> Any:
        """Return gravity, spring and damper torques."""
        tau = self.kp * mechanism.difference(q, self.target) - self.kd * v
        if self.gravity:
            tau = tau + gravity_torque(mechanism, q)
        return _actuated(mechanism, tau, self.limited)

    def gains(self, mechanism: Mechanism, t: Any, q: Any, v: Any) -> tuple[Any, Any]:
        """Return kp and kd; zero where the torque is limited."""
        acts = np.where(unactuated(mechanism), 0.0, 1.0)
        if self.limited:
            wanted, most = (
                PD(self.target, self.kp, self.kd, self.gravity).torque(mechanism, t, q, v),
                effort_limits(mechanism),
            )
            within = [where(less(x * x, most[i] ** 2), 1.0, 0.0) for i, x in enumerate(wanted)]
            acts = acts * np.array(within)
        return self.kp * acts, self.kd * acts

    def prepared(self, mechanism: Mechanism) -> PD:
        """Return the controller with gains and target as arrays."""
        target = mechanism.neutral() if self.target is None else mechanism.checked_q(self.target, "target")
        if not np.isfinite(target).all():
            raise ShapeError("is not finite", element="target", remedy="Give finite numbers")
        kp, kd = _gain(mechanism, self.kp), _gain(mechanism, self.kd)
        return PD(target, kp, kd, self.gravity, self.limited)


@dataclass(frozen=True, eq=False)
class ComputedTorque(Control):
    """Inverse dynamics of the desired acceleration: the error obeys ë + kd ė + kp e = 0.

    Attributes:
        reference: q as a function of time, (n_v,) numbers from a function that can be traced; its velocities and
            accelerations are found by differentiating it. For joints with plain coordinates.
        kp, kd: a scalar, or one per velocity, 1/s² and 1/s.
        limited: True to clamp torques to the joints' effort limits.
    """

    reference: Callable[..., Any]
    kp: Any = 100.0
    kd: Any = 20.0
    limited: bool = False

    def torque(self, mechanism: Mechanism, t: Any, q: Any, v: Any) -> Any:
        """Return M (r̈ + kd (ṙ − v) + kp (r − q)) + H."""
        r, r1, r2 = TimeFunction.of(self.reference, "reference", (mechanism.n_v,))(t)
        a = r2 + self.kd * (r1 - v) + self.kp * (r - q)
        return _actuated(mechanism, inverse_dynamics(mechanism, q, v, a), self.limited)

    def prepared(self, mechanism: Mechanism) -> ComputedTorque:
        """Return the controller with gains as arrays; check that the reference can be traced."""
        if mechanism.n_q != mechanism.n_v:
            raise ZvenoError(
                f"{mechanism.name} has quaternions among its coordinates",
                element="control",
                remedy="ComputedTorque needs plain coordinates; use PD, or a function of (t, q, v)",
            )
        TimeFunction.of(self.reference, "reference", (mechanism.n_v,))
        kp, kd = _gain(mechanism, self.kp), _gain(mechanism, self.kd)
        return ComputedTorque(self.reference, kp, kd, self.limited)


@dataclass(frozen=True, eq=False)
class Recorded(Control):
    """Recorded torques over time, constant before the first and after the last sample.

    Attributes:
        t: (n,) s, increasing.
        tau: (n, n_v), or (..., n, n_v) for a batch.
        hold: False: linear between the samples; True: each sample is held until the next.
    """

    t: Any
    tau: Any
    hold: bool = False
    traced = False

    def torque(self, mechanism: Mechanism, t: Any, q: Any, v: Any) -> Any:
        """Return the torques at a time (…)."""
        times, tau = self.t, self.tau
        at = np.clip(np.asarray(t, dtype=float), times[0], times[-1])
        k = np.clip(np.searchsorted(times, at, side="right") - 1, 0, len(times) - 1 - (not self.hold))
        if self.hold or len(times) == 1:
            return np.broadcast_to(tau[..., k, :], np.shape(v))
        share = ((at - times[k]) / (times[k + 1] - times[k]))[..., None]
        return np.broadcast_to((1 - share) * tau[..., k, :] + share * tau[..., k + 1, :], np.shape(v))

    def prepared(self, mechanism: Mechanism) -> Recorded:
        """Return the controller with increasing times and as many finite torques."""
        t = np.atleast_1d(np.asarray(self.t, dtype=float))
        tau = mechanism.checked_v(self.tau, "recorded torques")
        if t.ndim != 1 or tau.ndim < 2 or tau.shape[-2] != len(t) or (np.diff(t) <= 0).any():
            raise ShapeError(
                f"times {t.shape} and torques {tau.shape} do not belong together",
                element="control",
                remedy="Give n increasing times and (n, n_v) torques",
            )
        if not np.isfinite(tau).all() or not np.isfinite(t).all():
            k = int(np.argwhere(~np.isfinite(tau).all(axis=-1).reshape(-1, len(t)).all(axis=0))[0][0])
            raise ShapeError(
                f"recorded torques are not finite at t = {t[k]:.6g} s",
                element="control",
                remedy="Leave out the samples that are not finite",
            )
        return Recorded(t, _refuse_passive(mechanism, tau), self.hold or len(t) == 1)


def _gain(mechanism: Mechanism, gain) -> np.ndarray:
    try:
        array = real_array(gain)
    except (TypeError, ValueError):
        array = np.full(0, np.nan)
    if array.shape not in ((), (mechanism.n_v,)) or not np.isfinite(array).all():
        raise ShapeError(
            f"a gain is one finite number or {mechanism.n_v} of them",
            element="control",
            remedy="Give one gain, or one per velocity",
        )
    return np.broadcast_to(array, (mechanism.n_v,))


def _passive_in_loops(mechanism: Mechanism) -> np.ndarray:
    """Return a mask (n_v,) of the velocities without a motor of a mechanism with closed loops that names motors."""
    passive = np.full(mechanism.n_v, bool(mechanism.loops) and mechanism.motors is not None)
    if passive.any():
        passive[list(mechanism.driven_velocities)] = False
    return passive


def _refuse_passive(mechanism: Mechanism, tau: Any) -> Any:
    """Return torques (..., n_v), or raise an error if they push a joint in loops that has no motor."""
    for k in np.flatnonzero(_passive_in_loops(mechanism)).tolist():
        # Numbers that are not finite end a run by themselves; a traced torque may be any number.
        if not all(isinstance(x, float | int) and not (x - x == 0.0 and x) for x in np.ravel(tau[..., k])):
            raise ModelError(
                f"joint {velocity_names(mechanism)[k]} has no motor, and the control gives it a torque",
                element="control",
                remedy=f"Motors are {', '.join(mechanism.motors or ())}: give zero to others, or add it to motors",
            )
    return tau


def unactuated(mechanism: Mechanism) -> np.ndarray:
    """Return a mask (n_v,) of velocities without a motor: of the floating base, and of passive joints in loops."""
    free = _passive_in_loops(mechanism)
    for joint in mechanism.joints:
        if joint.name.startswith(FLOATING_BASE) or joint.type.kind == "free":
            free[mechanism.v_slices[joint.name]] = True
    return free


def _actuated(mechanism: Mechanism, tau, limited: bool):
    tau = tau * np.where(unactuated(mechanism), 0.0, 1.0)
    return clamped(tau, effort_limits(mechanism)) if limited else tau


def effort_limits(mechanism: Mechanism) -> np.ndarray:
    """Return the effort limit of every velocity, (n_v,), infinite where there is none."""
    limits = np.full(mechanism.n_v, np.inf)
    for joint in mechanism.joints:
        if joint.mimic is None:
            limits[mechanism.v_slices[joint.name]] = joint.limits.effort
    return limits


def clamped(tau: Any, limits: Any) -> Any:
    """Clamp torques to ± limits where those are finite."""
    cut = [
        minimum(maximum(x, -limit), limit) if np.isfinite(limit) else x
        for x, limit in zip(tau, limits, strict=True)
    ]
    return np.array(cut).reshape(np.shape(tau))
