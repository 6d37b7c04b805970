"""`simulate`: a robot's motion over time, and `constrained_dynamics`: its accelerations under constraints."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ..errors import ModelError, ShapeError, ZvenoError
from ..io.results import hash_of
from ..mechanism.joints import QUATERNION_TOLERANCE
from ..robot import Robot
from .constraints import Constraint, JointLimit
from .controllers import as_control
from .drives import ServoDrive
from .equations import QUALITY, Equations, Inputs
from .events import Event, limits_of
from .integrators import FIXED, Adaptive, checked_method
from .progress import Progress
from .projection import project_start
from .rates import FixedStep, Rates, refuse_infinite
from .redundancy import contradictions, reported, robust_rate
from .rollout import rollout
from .single import Run
from .trajectory import FINISHED, Trajectory

TOUCHING = 1e-8
"""A gap, m or rad, below which a contact counts as closed at the start."""
MAX_CHANGE = 10.0
"""A change of a coordinate in one fixed step, rad or m, beyond which the run has exploded."""


@np.errstate(all="ignore")  # what is not finite is found, and named in the status
def simulate(
    robot: Robot,
    q0,
    v0=None,
    duration: float = 1.0,
    *,
    control=None,
    constraints: Sequence[Constraint] = (),
    integrator: str | None = None,
    step: float = 1e-3,
    rtol: float = 1e-6,
    atol: float | None = None,
    sample: float | None = None,
    drive: ServoDrive | None = None,
    friction: bool = False,
    limits: bool = False,
    events: Sequence[Event] = (),
    moving_base: Callable | None = None,
    stabilization: float = 20.0,
    projection: bool = False,
    max_projection: float = 0.1,
    max_step: float = np.inf,
    progress: bool | None = None,
) -> Trajectory:
    """The motion of a robot from a state, or from a batch of states.

    Args:
        robot: the robot.
        q0, v0: (n_q,) and (n_v,) (at rest if None), or (..., n_q) and (..., n_v) for a batch: fixed steps only,
            without events and contacts that open and close.
        duration: s.
        control: a controller of `zveno.simulation` (PD, ComputedTorque, Recorded, Traced, …), a function of
            (t, q, v) that returns torques, constant torques (n_v,), or None for none.
        constraints: what holds the robot; see `zveno.simulation.constraints`.
        integrator: "rk4" or "semi-implicit" with fixed steps; "dop853", "lsoda" or "adams" with adaptive ones.
            By default dop853 for one state and rk4 for a batch.
        step: s, of fixed-step methods; made a little smaller where it does not divide the duration.
        rtol, atol: tolerances of adaptive methods; atol is rtol/1000 if not given.
        sample: s between the samples kept; every step of fixed-step methods, or 1/1000 of the duration.
        drive: servo drives between control and joints.
        friction: whether the drives' friction acts (smoothed around v = 0).
        limits: whether joints stop at their limits.
        events: functions whose zeros are found and reported.
        moving_base: T_world_base (4, 4) as a function of time that can be traced: link 0 moves so. Constraints
            and energies are then those seen from the base.
        stabilization: rate k, 1/s, at which a violation dies out: φ̈ + 2k φ̇ + k² φ = 0 (Baumgarte 1972). At most
            half of 1/step is used. 0 for none.
        projection: whether the state is also put back onto the constraints after every step (rk4, semi-implicit
            and dop853).
        max_projection: how far, rad or m, the initial state may be moved onto the constraints.
        max_step: s, for adaptive methods.
        progress: whether a bar is shown; by default on a terminal, for runs of more than a second.

    Returns:
        The trajectory; its status says whether the run finished, or what stopped it and when.
    """
    mechanism = robot.mechanism
    q0, v0 = _checked_state(robot, q0, v0)
    single = q0.ndim == 1
    method = checked_method(integrator or ("dop853" if single else "rk4"))
    _check_times(duration, step, sample, rtol)
    _check_batch(single, method, constraints, limits, events, projection)
    if limits:
        constraints = (*constraints, *limits_of(mechanism))
    equations = Equations(
        robot,
        _checked_constraints(robot, constraints),
        as_control(control, mechanism),
        None if drive is None else drive.prepared(mechanism),
        friction,
        moving_base,
    )
    k = min(stabilization, 0.5 / step) if method in FIXED else stabilization
    y0 = equations.state(q0, v0)
    active = _initially_active(equations, q0)
    notes: list[str] = []
    c, moved = None, 0.0
    if equations.constraints:
        c = equations.settings(q0 if single else q0.reshape(-1, robot.n_q)[0], k, active)
        if not single:
            c = _batch_settings(equations, q0, k)
        y0, c, moved = _onto_constraints(equations, y0, c, max_projection, notes)
    _check_mass(equations, y0)
    atol = rtol * 1e-3 if atol is None else atol
    rates = Rates(equations, c)
    n, every, h, times = _grid(duration, step, sample, method)
    with Progress(duration, progress) as bar:
        if method in FIXED and (not single or not (equations.constraints or equations.commanded or events)):
            Y, status = rollout(equations, rates, method, y0, 0.0, h, n, every, bar)
            C = None if c is None else np.broadcast_to(c[..., None, :], (*Y.shape[:-1], c.shape[-1]))
            run = None
        else:
            tolerances = (rtol, atol, max_step)
            stepper = (
                FixedStep(rates, method, 0.0, y0, h)
                if method in FIXED
                else Adaptive(method, rates, 0.0, y0, max(duration, 1e-300), *tolerances)
            )
            run = Run(equations, rates, stepper, events, active, projection, bar)
            run.go(times)
            Y, C = np.array(run.y), None if c is None else np.array(run.c)
            times, status = np.array(run.t), run.status
    settings = f"{method}, step {h:.3g} s" if method in FIXED else f"{method}, rtol {rtol:g}, atol {atol:.3g}"
    if rates.redundant:
        notes.append(f"redundant constraints solved in least squares: {', '.join(sorted(rates.redundant))}")
    return _trajectory(
        equations,
        times[: Y.shape[-2]],
        Y,
        C,
        status=_finite_status(status, times, _sane(equations, Y, h if method in FIXED else 0.0)),
        moved=moved,
        notes=tuple(notes),
        method=settings,
        happenings=() if run is None else tuple(run.happenings),
        n_steps=n * every if run is None else run.n_steps,
        n_evaluations=rates.n,
        inputs_hash=hash_of(mechanism.fingerprint, q0, v0, duration, settings),
    )


@dataclass(frozen=True, eq=False)
class Constrained:
    """Accelerations and reactions under constraints, for any batch.

    Attributes:
        a: (..., n_v).
        reactions: (..., m); they act on the first frame of each constraint.
        violation: φ, (..., m); violation_rate: φ̇, (..., m).
        names: of the rows, (m,).
        redundant: constraints that follow from others somewhere in the batch; reactions are then those of least
            norm.
        inconsistent: constraints that contradict others; accelerations are then those of least squares.
    """

    a: np.ndarray
    reactions: np.ndarray
    violation: np.ndarray
    violation_rate: np.ndarray
    names: tuple[str, ...]
    redundant: tuple[str, ...] = ()
    inconsistent: tuple[str, ...] = ()

    @property
    def status(self) -> str:
        """ "solved", or which constraints are redundant or inconsistent."""
        if self.inconsistent:
            return f"inconsistent: {', '.join(self.inconsistent)}"
        return f"redundant: {', '.join(self.redundant)}" if self.redundant else "solved"


def constrained_dynamics(
    robot: Robot,
    q,
    v,
    tau,
    constraints: Sequence[Constraint],
    *,
    t: float = 0.0,
    stabilization: float = 0.0,
    friction: bool = False,
) -> Constrained:
    """Accelerations and reactions from [[M, −Jᵀ], [J, 0]] [a; R] + [H; P] = [τ; 0] (document 003).

    Args:
        robot: the robot.
        q, v, tau: (..., n_q), (..., n_v), (..., n_v).
        constraints: all of them act, contacts too. Anchors that are not given are at each state's own place.
        t: time, s, for constraints that move.
        stabilization: as in `simulate`.
        friction: whether the drives' friction acts.
    """
    mechanism = robot.mechanism
    q, v, tau = mechanism.checked_q(q), mechanism.checked_v(v), mechanism.checked_v(tau, "tau")
    shape = np.broadcast_shapes(q.shape[:-1], v.shape[:-1], tau.shape[:-1])
    equations = _commanded_equations(robot, tuple(_Hashed(one) for one in constraints), friction)
    y = np.zeros((*shape, equations.n_y))
    y[..., equations.q], y[..., equations.v] = q, v
    arrays = (tau,)
    if not equations.constraints:
        a, _, reactions, value, rate, *_ = equations.report(t, y, *arrays)
        return Constrained(a, reactions, value, rate, ())
    anchored = all(_anchored(one) for one in equations.constraints)
    if anchored:
        c = equations.settings(q.reshape(-1, robot.n_q)[0] if q.size else mechanism.neutral(), stabilization)
    else:
        c = _batch_settings(equations, np.broadcast_to(q, (*shape, robot.n_q)), stabilization)
    inputs = Inputs(tau, c)
    names = tuple(name for one in equations.constraints for name in one.row_names)
    with np.errstate(all="ignore"):  # rows that depend on one another divide by zero, and are solved below
        _, quality = equations.rhs(t, y, *inputs.arrays())
        a, _, reactions, value, speed, *_ = equations.report(t, y, *inputs.arrays())
    bad = ~(quality > QUALITY) & np.isfinite(y).all(axis=-1) & np.isfinite(tau).all(axis=-1)
    if not np.any(bad):
        return Constrained(a, reactions, value, speed, names)
    c_all, tau_all = np.broadcast_to(c, (*shape, equations.n_c)), np.broadcast_to(tau, (*shape, robot.n_v))
    found = robust_rate(equations, t, y[bad], Inputs(tau_all[bad], c_all[bad]))
    a, reactions = np.array(a), np.array(reactions)
    a[bad], reactions[bad] = found.y[..., equations.v], found.reactions
    at_fault = contradictions(equations, t, y[bad], Inputs(tau_all[bad], c_all[bad]))
    return Constrained(a, reactions, value, speed, names, found.redundant, at_fault)


# --- preparation


class _Hashed:
    """A constraint that equals others which lead to the same compiled equations and the same anchors."""

    def __init__(self, constraint: Constraint):
        if not isinstance(constraint, Constraint):
            raise ModelError(f"{constraint!r} is no constraint", element="constraints")
        self.constraint = constraint

    def _key(self):
        return type(self.constraint), tuple(
            value.tobytes() if isinstance(value, np.ndarray) else tuple(value) if isinstance(value, list) else value
            for value in vars(self.constraint).values()
        )

    def __eq__(self, other):
        return self._key() == other._key()

    def __hash__(self):
        return hash(self._key())


@lru_cache(maxsize=32)
def _commanded_equations(robot: Robot, constraints: tuple[_Hashed, ...], friction: bool) -> Equations:
    mechanism = robot.mechanism
    control = as_control(lambda t, q, v: v, mechanism)  # the torques are given as the outside command
    return Equations(robot, _checked_constraints(robot, [one.constraint for one in constraints]), control, None, friction)


def _anchored(constraint: Constraint) -> bool:
    """Whether nothing of the anchor is taken from a configuration."""
    given = vars(constraint)
    if given.get("other") is not None:
        return given.get("length", 0.0) is not None and given.get("height", 0.0) is not None
    keys = [key for key in ("point", "placement", "other_axis", "length", "height", "motion") if key in given]
    return bool(keys) and all(given[key] is not None for key in keys)


def _checked_state(robot: Robot, q0, v0) -> tuple[np.ndarray, np.ndarray]:
    mechanism = robot.mechanism
    q0 = mechanism.checked_q(q0, "q0")
    v0 = np.zeros(robot.n_v) if v0 is None else mechanism.checked_v(v0, "v0")
    refuse_infinite(q0, "q0")
    refuse_infinite(v0, "v0")
    try:
        shape = np.broadcast_shapes(q0.shape[:-1], v0.shape[:-1])
    except ValueError:
        raise ShapeError(f"batches {q0.shape[:-1]} of q0 and {v0.shape[:-1]} of v0 do not fit together") from None
    q0, v0 = np.broadcast_to(q0, (*shape, robot.n_q)), np.broadcast_to(v0, (*shape, robot.n_v))
    for name in mechanism.joint_names:
        error = mechanism.joint(name).type.quaternion_error(q0[..., mechanism.q_slices[name]])
        if np.max(error, initial=0.0) > QUATERNION_TOLERANCE:
            raise ShapeError(
                f"the quaternion's norm is off by {np.max(error):.3g}",
                element=f"q0 of joint {name}",
                remedy="Scale it to unit length",
            )
    return np.array(robot.integrate(q0, np.zeros(robot.n_v))), np.array(v0)


def _check_mass(equations: Equations, y0):
    """An error where a body without inertia could be moved by nothing."""
    M = equations.robot.mass_matrix(y0[..., equations.q])
    size = np.sqrt(np.diagonal(M, axis1=-2, axis2=-1))
    light = ~(size > 1e-12 * size.max(axis=-1, keepdims=True))
    scaled = M / np.where(light, 1.0, size)[..., :, None] / np.where(light, 1.0, size)[..., None, :]
    if light.any() or (M.shape[-1] and np.linalg.eigvalsh(scaled).min() < 1e-13):
        mechanism = equations.mechanism
        empty = [link.name for link in mechanism.links[1:] if not link.inertia[0]]
        raise ModelError(
            "the mass matrix is singular: something can move that has no inertia",
            element=mechanism.name,
            remedy=f"Give inertia to {', '.join(empty)}" if empty else None,
        )


def _check_times(duration, step, sample, rtol):
    if not (np.isfinite(duration) and duration >= 0):
        raise ZvenoError(f"is {duration}", element="duration", remedy="Give seconds, 0 or more")
    if not (np.isfinite(step) and step > 0):
        raise ZvenoError(f"is {step}", element="step", remedy="Give seconds, more than 0")
    if sample is not None and not (np.isfinite(sample) and sample > 0):
        raise ZvenoError(f"is {sample}", element="sample", remedy="Give seconds, more than 0")
    if not 1e-14 < rtol < 1:
        raise ZvenoError(f"is {rtol}", element="rtol", remedy="Give a relative tolerance, for example 1e-6")


def _check_batch(single, method, constraints, limits, events, projection):
    if not single and method not in FIXED:
        raise ZvenoError(
            f"a batch cannot run with the adaptive {method}", element="integrator", remedy=f"Use {' or '.join(FIXED)}"
        )
    if not single and (limits or events or projection or any(one.unilateral for one in constraints)):
        raise ZvenoError(
            "a batch has no events, limits, projection, nor contacts that open and close",
            element="simulate",
            remedy="Simulate one state at a time, or use constraints that always act",
        )
    if method == "adams" and (limits or events or any(one.unilateral for one in constraints)):
        raise ZvenoError(
            "the Adams method cannot locate events", element="integrator", remedy="Use dop853, lsoda or rk4"
        )
    if projection and method in ("lsoda", "adams"):
        raise ZvenoError(
            f"{method} remembers past steps, which a projection would break",
            element="projection",
            remedy="Use dop853, rk4 or semi-implicit, or stabilization alone",
        )


def _checked_constraints(robot: Robot, constraints) -> tuple[Constraint, ...]:
    for one in constraints:
        if not isinstance(one, Constraint):
            raise ModelError(f"{one!r} is no constraint", element="constraints")
        one.check(robot.mechanism)
    labels = [one.label for one in constraints]
    for label in labels:
        if labels.count(label) > 1:
            raise ModelError(
                f"two constraints are called {label}", element="constraints", remedy="Give them different names"
            )
    return tuple(constraints)


def _initially_active(equations: Equations, q0) -> list[bool]:
    """Which constraints act at the start: all but contacts that do not touch."""
    active = []
    for i, one in enumerate(equations.constraints):
        if not one.unilateral:
            active.append(True)
            continue
        if isinstance(one, JointLimit):
            at = equations.mechanism.q_slices[one.joint].start
            gap = min(q0[at] - equations.mechanism.lower[at], equations.mechanism.upper[at] - q0[at])
        else:
            c = equations.settings(q0)
            report = equations.report(0.0, equations.state(q0, np.zeros(equations.mechanism.n_v)), *_idle(equations, c))
            gap = report[3][equations.row_slices[i].start]
        active.append(bool(gap <= TOUCHING))
    return active


def _idle(equations: Equations, c) -> tuple:
    """Inputs of a kernel where the command does not matter."""
    return Inputs(np.zeros(equations.mechanism.n_v) if equations.commanded else None, c).arrays()


def _batch_settings(equations: Equations, q, k: float) -> np.ndarray:
    flat = np.stack([equations.settings(one, k) for one in q.reshape(-1, q.shape[-1])])
    return flat.reshape(*q.shape[:-1], equations.n_c)


def _onto_constraints(equations: Equations, y0, c, far: float, notes: list[str]):
    """The start projected, with how far it moved."""
    flat_y, flat_c = y0.reshape(-1, y0.shape[-1]).copy(), np.broadcast_to(c, (*y0.shape[:-1], c.shape[-1]))
    flat_c = flat_c.reshape(-1, c.shape[-1]).copy()
    moved, changed = 0.0, 0.0
    u = np.zeros(equations.mechanism.n_v) if equations.commanded else None
    for i in range(len(flat_y)):
        before = flat_y[i].copy()
        found = project_start(equations, 0.0, flat_y[i], Inputs(u, flat_c[i]), far)
        moved = max(moved, found.moved)
        flat_y[i] = found.y
        changed = max(changed, float(abs(found.y[equations.v] - before[equations.v]).max(initial=0.0)))
    if changed > 1e-9:
        notes.append(f"initial velocities changed by up to {changed:.3g} to satisfy the constraints")
    return flat_y.reshape(y0.shape), flat_c.reshape(*y0.shape[:-1], -1), moved if moved > 1e-9 else 0.0


def _grid(duration: float, step: float, sample: float | None, method: str):
    """(number of samples after the first, steps a sample, step, times)."""
    if duration == 0:
        return 0, 1, step, np.zeros(1)
    if method in FIXED:
        n = int(np.ceil(duration / step - 1e-9))
        every = 1 if sample is None else max(1, min(n, round(sample / step)))
        samples = -(-n // every)
        return samples, every, duration / (samples * every), np.linspace(0.0, duration, samples + 1)
    samples = 1000 if sample is None else max(1, int(np.ceil(duration / sample - 1e-9)))
    return samples, 1, duration / samples, np.linspace(0.0, duration, samples + 1)


# --- results


def _sane(equations: Equations, Y, h: float):
    """Which samples are finite and do not move by whole turns a step, (..., n): the others are turned into NaN."""
    sane = np.isfinite(Y).all(axis=-1) & (abs(Y[..., equations.v]).max(axis=-1, initial=0.0) * h < MAX_CHANGE)
    sane[..., :1] = True
    sane = np.logical_and.accumulate(sane, axis=-1)
    Y[~sane] = np.nan
    return sane


def _finite_status(status: str, times, finite) -> str:
    if status != FINISHED:
        return status
    if finite.all():
        return FINISHED if len(times) > 1 else f"{FINISHED}: zero duration, the initial state only"
    first = float(times[np.argmin(finite.reshape(-1, len(times)).all(axis=0))])
    if finite.ndim == 1:
        return f"stopped: the motion explodes at t = {first:.6g} s; the step is too large for it"
    lost = int((~finite.all(axis=-1)).sum())
    return f"{lost} of {finite[..., 0].size} runs explode, the first at t = {first:.6g} s"


def _trajectory(equations: Equations, times, Y, C, **facts) -> Trajectory:
    mechanism = equations.mechanism
    finite = np.isfinite(Y).all(axis=-1)
    if Y.ndim == 2 and not finite.all():
        kept = int(np.argmin(finite))
        times, Y, C = times[:kept], Y[:kept], None if C is None else C[:kept]
    q, v = Y[..., equations.q], Y[..., equations.v]
    a, tau, reactions, value, rate, kinetic, potential = _reported(equations, times, Y, C)
    active = 1.0 if C is None else C[..., 1 : 1 + equations.n_rows]
    work = Y[..., -1] - Y[..., :1, -1] if equations.works else np.zeros(Y.shape[:-1])
    return Trajectory(
        robot=mechanism.name,
        coordinate_names=mechanism.coordinate_names,
        joint_names=mechanism.joint_names,
        t=times,
        q=q,
        v=v,
        a=a,
        tau=tau,
        reactions=reactions,
        reaction_names=tuple(name for one in equations.constraints for name in one.row_names),
        kinetic=kinetic,
        potential=potential,
        work=work,
        violation=abs(value * active).max(axis=-1, initial=0.0),
        violation_rate=abs(rate * active).max(axis=-1, initial=0.0),
        **facts,
    )


def _reported(equations: Equations, times, Y, C):
    """What the report kernel says about every sample, least squares where constraints are redundant."""
    u = None
    if equations.commanded and equations.control is not None:
        rates = Rates(equations, None)
        columns = [_last_command(rates, t, Y[..., k, :]) for k, t in enumerate(times)]
        u = np.stack(columns, axis=-2) if columns else np.zeros((0, equations.mechanism.n_v))
    return reported(equations, times, Y, Inputs(u, C))


def _last_command(rates: Rates, t, y):
    from .rates import Stopped

    try:
        return rates.command(t, y)
    except Stopped:
        return np.full((*y.shape[:-1], rates.equations.mechanism.n_v), np.nan)
