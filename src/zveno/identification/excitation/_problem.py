"""Optimisation problem of a motion: information of wanted parameters, limits, clearance, with their derivatives."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg

from ...algorithms.drives import friction_torque
from ...algorithms.inverse_dynamics import inverse_dynamics
from ...algorithms.regressor import DRIVE_PARAMETER_NAMES
from ...base_parameters.analyse import base_parameters
from ...base_parameters.regressor import regressor_columns, states_of
from ...clearance import Capsules
from ...errors import ModelError, ShapeError, ZvenoError, ZvenoWarning
from ...io.logs.log import Log
from ...kernels import derivatives
from ...kernels.compile import compiled
from ...kernels.kernel import Kernel
from ...kernels.trace import call, trace
from ...mechanism import Mechanism
from ...mechanism.edit import rebuilt
from ...motion_limits import MotionBounds
from ...robot_functions import RobotFunctions
from ...spatial.inertia import N_PARAMETERS
from .._preparation import Preparation
from .._series import recording_of
from .._spectrum import highest_band, velocity_spectrum
from ._curves import FourierBasis, FourierCurve
from .result import Excitation

FINER = 10
"""Refinement of the grid on which torques and clearances of the result are checked."""


@dataclass(frozen=True, eq=False)
class ExcitationProblem:
    """Criterion and constraints of a motion.

    Attributes:
        basis: of the curve, which begins and ends at rest.
        n_samples: states on the grid.
        wanted: parameters to be determined.
        prior: existing information, (r, r).
        samples: measurements per period over n_samples.
        limits, torque: constraints of the motion; `clearance` may be None.
    """

    basis: FourierBasis
    n_samples: int
    wanted: WantedParameters
    prior: np.ndarray
    samples: float
    limits: MotionBounds
    torque: NominalTorque
    clearance: ClearanceTerm | None
    free: np.ndarray = field(init=False)
    torque_limit: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "free", self.basis.free())
        object.__setattr__(self, "torque_limit", self.limits.torque - self.torque.coulomb)

    @property
    def n(self) -> int:
        """Number of moving joints."""
        return len(self.limits.lower)

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of x."""
        return self.free.shape[1], self.n

    def finer(self, times: int) -> ExcitationProblem:
        """Return the same problem on a finer grid; motions x mean the same."""
        return replace(self, n_samples=times * self.n_samples, samples=self.samples / times)

    def curve(self, x: np.ndarray) -> FourierCurve:
        """Return the motion of x."""
        return FourierCurve(self.basis.duration, self.free @ x.reshape(self.shape))

    @cached_property
    def _grid(self) -> tuple[np.ndarray, ...]:
        return self._matrices(self.n_samples)

    @cached_property
    def _fine_grid(self) -> tuple[np.ndarray, ...]:
        return self._matrices(FINER * self.n_samples)

    def _matrices(self, n: int) -> tuple[np.ndarray, ...]:
        t = np.arange(n) * self.basis.duration / n
        return tuple(self.basis.functions(t, order) @ self.free for order in range(3))

    @cached_property
    def bounds(self) -> list[tuple[int, np.ndarray]]:
        """Pairs (order, rows on x) of the derivatives that have limits."""
        limited = [order for order in range(4) if np.isfinite(self.limits.sizes(order)).any()]
        return [(order, self.basis.bounds(order) @ self.free) for order in limited]

    @cached_property
    def middle(self) -> np.ndarray:
        """Coefficients x of the curve that stands at the middle of the ranges."""
        return np.outer(self.free.T @ self.basis.constant, self.limits.middle)

    def states(self, x: np.ndarray, fine: bool = False) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return q, v and a (..., n_samples, n) on the grid, of x (..., f, n)."""
        Q, V, A = self._fine_grid if fine else self._grid
        return Q @ x, V @ x, A @ x

    def shares(self, x: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return, for every limited derivative, its rows on x, and the used shares of its limit, (..., r, n)."""
        shares = []
        for order, rows in self.bounds:
            moved = x - self.middle if order == 0 else x
            shares.append((rows, rows @ moved / self.limits.sizes(order)))
        return shares

    def linear_use(self, x: np.ndarray) -> np.ndarray:
        """Return the largest share of a limit on ranges, velocities, accelerations and jerks, (..., n)."""
        return np.max([abs(share).max(axis=-2) for _, share in self.shares(x)], axis=0)

    def torque_use(self, x: np.ndarray, fine: bool = False) -> np.ndarray:
        """Return the largest share of a torque limit, (..., n)."""
        return abs(self.torque(*self.states(x, fine)) / self.torque_limit).max(axis=-2)

    def feasible(self, x: np.ndarray, fine: bool = False) -> np.ndarray:
        """Return True for motions (..., f, n) that satisfy all constraints, (...)."""
        good = (self.linear_use(x) < 1.0).all(axis=-1)
        if np.isfinite(self.torque_limit).any():
            good &= (self.torque_use(x, fine) < 1.0).all(axis=-1)
        if self.clearance is not None:
            good &= self.clearance.clear(self.states(x, fine)[0]).all(axis=-1)
        return np.asarray(good)

    def information(self, x: np.ndarray) -> np.ndarray:
        """Return M (..., r, r) of motions (..., f, n), prior information included."""
        return self.prior + self.samples * self.wanted.information(*self.states(x))

    def value(self, x: np.ndarray) -> float:
        """Return log det of the information."""
        return log_det(self.information(x))[0]

    def barrier(self, flat: np.ndarray, mu: float) -> tuple[float, np.ndarray]:
        """Return −log det − mu Σ log(slack), infinite outside the limits, and its gradient; x flat."""
        x = flat.reshape(self.shape)
        slope = np.zeros(self.shape)
        total = 0.0
        for (order, _), (rows, share) in zip(self.bounds, self.shares(x), strict=True):
            slack = 1.0 - share * share
            if not slack.min() > 0.0:
                return np.inf, slope.ravel()
            total -= np.log(slack).sum()
            slope += rows.T @ (2.0 * share / slack) / self.limits.sizes(order)
        Q, V, A = self._grid
        q, v, a = Q @ x, V @ x, A @ x
        by_q = np.zeros_like(q)
        if np.isfinite(self.torque_limit).any():
            share = self.torque(q, v, a) / self.torque_limit
            slack = 1.0 - share * share
            if not slack.min() > 0.0:
                return np.inf, slope.ravel()
            total -= np.log(slack).sum()
            by_q, by_v, by_a = self.torque.slopes(q, v, a, 2.0 * share / slack / self.torque_limit)
            slope += V.T @ by_v + A.T @ by_a
        if self.clearance is not None:
            value, pushed = self.clearance.value_and_slope(q)
            if not np.isfinite(value):
                return np.inf, slope.ravel()
            total += value
            by_q = by_q + pushed
        slope += Q.T @ by_q
        W = self.wanted.rows(q, v, a)
        flat_rows = W.reshape(-1, self.wanted.n)
        value, by_M = log_det(self.prior + self.samples * (flat_rows.T @ flat_rows))
        if not np.isfinite(value):
            return np.inf, slope.ravel()
        weights = (2.0 * self.samples * flat_rows @ by_M).reshape(W.shape)
        by_q, by_v, by_a = self.wanted.slopes(q, v, a, weights)
        gain = Q.T @ by_q + V.T @ by_v + A.T @ by_a
        return mu * total - value, (mu * slope - gain).ravel()

    @property
    def n_slacks(self) -> int:
        """Approximate number of terms of the barrier."""
        return self.n * (sum(len(rows) for _, rows in self.bounds) + self.n_samples)


def log_det(M: np.ndarray) -> tuple[float, np.ndarray]:
    """Return log det M, and M⁻¹, its gradient; −inf where M is singular."""
    size = np.sqrt(np.diag(M))
    if not (np.isfinite(size).all() and size.all()):
        return -np.inf, np.zeros_like(M)
    try:
        L = scipy.linalg.cho_factor(M / size[:, None] / size, lower=True, check_finite=False)
    except scipy.linalg.LinAlgError:
        return -np.inf, np.zeros_like(M)
    inverse = scipy.linalg.cho_solve(L, np.eye(len(M)), check_finite=False) / size[:, None] / size
    return 2.0 * float(np.log(np.diag(L[0])).sum() + np.log(size).sum()), inverse


def condition_number(M: np.ndarray) -> float:
    """Return the condition number of the regressor with columns of length 1."""
    size = np.sqrt(np.diag(M))
    if not size.all():
        return np.inf
    values = np.linalg.eigvalsh(M / size[:, None] / size)
    return float(np.sqrt(values[-1] / values[0])) if values[0] > 0.0 else np.inf


class NominalTorque:
    """Motor torques without Coulomb friction: it is discontinuous, so its size is subtracted from the limits."""

    def __init__(self, mechanism: Mechanism):
        smooth = _without_coulomb(mechanism)
        states = states_of(mechanism)
        self._torque: Kernel = compiled(smooth_torque, states, constants=(smooth,), outputs=("tau",))
        weighted, slopes = states | {"weights": (mechanism.n_v,)}, ("bar_q", "bar_v", "bar_a")
        self._adjoint: Kernel = compiled(smooth_torque_slopes, weighted, constants=(smooth,), outputs=slopes)
        forward = np.ones(mechanism.n_v)
        self.coulomb: np.ndarray = abs(friction_torque(mechanism, forward) - friction_torque(smooth, forward))

    def __call__(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        """Return torques (..., n_v), N·m or N."""
        return self._torque(q, v, a)

    def slopes(
        self, q: np.ndarray, v: np.ndarray, a: np.ndarray, weights: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the derivatives of Σ weights · torque by q, v and a."""
        return self._adjoint(q, v, a, weights)


def smooth_torque(mechanism: Mechanism, q: Any, v: Any, a: Any) -> Any:
    """Compute inverse dynamics with rotors, viscous friction and offsets, (n_v,)."""
    return inverse_dynamics(mechanism, q, v, a) + friction_torque(mechanism, v)


def smooth_torque_slopes(mechanism: Mechanism, q: Any, v: Any, a: Any, weights: Any) -> Any:
    """Return the derivatives of Σ weights · `smooth_torque` by q, v and a."""
    program = trace(smooth_torque, states_of(mechanism), outputs=("tau",), constants=(mechanism,))
    return call(derivatives.reverse(program), q, v, a, weights)


def _without_coulomb(mechanism: Mechanism) -> Mechanism:
    joints = tuple(
        joint if joint.drive is None else replace(joint, drive=replace(joint.drive, coulomb=0.0))
        for joint in mechanism.joints
    )
    return rebuilt(mechanism, joints=joints)


SHARP = 0.02
"""Smoothing of Coulomb friction: it reaches its full size at about twice this share of a joint's velocity limit.

A sign has no derivative where the direction changes, and a real joint creeps there.
"""


class WantedParameters:
    """Base parameters of a mechanism whose torques are measured at all of its joints.

    Args:
        mechanism: the moving part.
        drives: kinds of drive parameters that are wanted as well, as in `base_parameters`.
        payload: name of a link; then only the parameters of its load are wanted, all else is known.
        sigma: standard deviation of a measured torque, (n_v,).
        velocity: limits of the velocities, (n_v,), which Coulomb friction is smoothed by.
    """

    mechanism: Mechanism
    sigma: np.ndarray

    def __init__(
        self,
        mechanism: Mechanism,
        drives: bool | Sequence[str],
        payload: str | None,
        sigma: np.ndarray,
        velocity: np.ndarray,
    ):
        self.mechanism, self.sigma = mechanism, sigma
        known = () if payload is None else tuple(name for name in mechanism.link_names[1:] if name != payload)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ZvenoWarning)  # near-degenerate geometry shows as a large σ
            base = base_parameters(
                mechanism,
                drives=drives if payload is None else False,
                massless=None if payload is None else known,
                loops=(),
            )
        self.columns: tuple[int, ...] = tuple(int(k) for k in base.regressor_columns)
        self.names: tuple[str, ...] = base.names
        self.expressions: tuple[str, ...] = base.expressions
        self.certified: bool = base.certified
        if not self.columns:
            raise ModelError(
                f"no torque of {mechanism.name} depends on a parameter that is wanted",
                remedy="Let more joints move, or ask for other parameters",
            )
        first = N_PARAMETERS * len(mechanism.joints) + DRIVE_PARAMETER_NAMES.index("coulomb") * mechanism.n_v
        signs = [(place, c - first) for place, c in enumerate(self.columns) if 0 <= c - first < mechanism.n_v]
        self._signs: np.ndarray = np.array(signs, dtype=int).reshape(-1, 2)
        self._sharpness: np.ndarray = 1.0 / (SHARP * velocity)
        states, constants = states_of(mechanism), (mechanism, self.columns)
        self._kernel: Kernel = compiled(regressor_columns, states, constants=constants, name="base_regressor")
        self._adjoint: Kernel = compiled(
            regressor_slopes,
            states | {"weights": (mechanism.n_v, len(self.columns))},
            constants=constants,
            name="base_regressor_slopes",
            outputs=("bar_q", "bar_v", "bar_a"),
        )

    @property
    def n(self) -> int:
        """Number of wanted parameters."""
        return len(self.columns)

    def rows(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        """Return (..., n_v, r): torques of the parameters over the standard deviation of a torque."""
        W = self._kernel(q, v, a)
        place, joint = self._signs.T
        W[..., joint, place] = np.tanh(v[..., joint] * self._sharpness[joint])
        W /= self.sigma[:, None]
        return W

    def slopes(
        self, q: np.ndarray, v: np.ndarray, a: np.ndarray, weights: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the derivatives of Σ weights · rows by q, v and a, (..., n) each, for weights (..., n_v, r)."""
        weights = weights / self.sigma[:, None]
        place, joint = self._signs.T
        bar_q, bar_v, bar_a = self._adjoint(q, v, a, weights)
        bend = np.tanh(v[..., joint] * self._sharpness[joint])
        bar_v[..., joint] += weights[..., joint, place] * self._sharpness[joint] * (1.0 - bend * bend)
        return bar_q, bar_v, bar_a

    def information(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        """Return M (..., r, r) of states (..., n, n_q): its inverse is the covariance of the parameters."""
        W = self.rows(q, v, a)
        A = W.reshape(*W.shape[:-3], -1, self.n)
        return np.swapaxes(A, -1, -2) @ A


def regressor_slopes(mechanism: Mechanism, columns: Sequence[int], q: Any, v: Any, a: Any, weights: Any) -> Any:
    """Return derivatives of Σ weights · W by q, v and a, W the regressor's columns, for weights (n_v, columns)."""
    states = states_of(mechanism)
    program = trace(regressor_columns, states, outputs=("W",), constants=(mechanism, columns))
    return call(derivatives.reverse(program), q, v, a, weights)


NEAR = 0.1
"""Share of the reach below which distances count."""


class ClearanceTerm:
    """Barrier of a robot's capsules: −log s + s − 1 where s = distance / near < 1, else zero."""

    def __init__(self, capsules: Capsules):
        self.capsules = capsules
        self.near: float = NEAR * capsules.reach

    def clear(self, q: np.ndarray) -> np.ndarray:
        """Return True for postures (..., n_q) that keep clear, (...)."""
        return self.capsules.clear(q)

    def value_and_slope(self, q: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the term over postures (n, n_q), infinite where one touches, and its gradient (n, n_v)."""
        distance, slopes = self.capsules.distances_and_slopes(q)
        if distance.min(initial=np.inf) <= 0.0:
            return np.inf, np.zeros(slopes.shape[:-2] + slopes.shape[-1:])
        s = np.minimum(distance / self.near, 1.0)
        pushed = np.einsum("np,npv->nv", (1.0 - 1.0 / s) / self.near, slopes)
        return float((s - 1.0 - np.log(s)).sum()), pushed


def known_before(have: Any, wanted: WantedParameters, robot: RobotFunctions, rate: float) -> np.ndarray:
    """Return M (r, r): information of Excitations, of Logs, of states (q, v, a), (n, n_v) each, or of a list of
    these.

    Logs count with `rate` samples per second, whatever their own.
    """
    M = np.zeros((wanted.n, wanted.n))
    if have is None:
        return M
    for known in have if isinstance(have, list) else [have]:
        if isinstance(known, Log):
            _same_joints(known.source, known.joint_names, robot)
            for q, v, a, interval in _recorded(known):
                M += rate * interval * wanted.information(q, v, a)
        else:
            M += wanted.information(*_states(known, robot, rate))
    return M


def _recorded(log: Log):
    """Generate smooth states of a log in chunks, with the time between them, s."""
    recordings = (recording_of(log),)
    band = min(velocity_spectrum(recordings).band, highest_band(recordings))
    preparation = Preparation(recordings, band, 0.0, np.zeros(len(log.joint_names), dtype=bool))
    interval = preparation.filters(0).interval
    for motion in preparation.motions():
        yield motion.q, motion.v, motion.a, interval


def _same_joints(thing: str, names: tuple[str, ...], robot: RobotFunctions) -> None:
    moving = tuple(robot.mechanism.coordinate_names)
    if names != moving:
        raise ZvenoError(
            f"{thing} moves {', '.join(names)} and not {', '.join(moving)}",
            element="existing",
            remedy="Hold the same joints in both",
        )


def _states(known: Any, robot: RobotFunctions, rate: float) -> tuple[np.ndarray, ...]:
    names = robot.mechanism.coordinate_names
    if isinstance(known, Excitation):
        _same_joints("the excitation", known.joint_names, robot)
        return known.sample(rate)[1:]
    try:
        q, v, a = (np.asarray(part, dtype=float) for part in known)
    except (TypeError, ValueError):
        raise ZvenoError(
            f"a {type(known).__name__} is not a recording",
            element="existing",
            remedy="Give an Excitation, a Log, (q, v, a) arrays, or a list of these",
        ) from None
    if q.ndim != 2 or q.shape[1] != len(names) or not q.shape == v.shape == a.shape:
        raise ShapeError(
            f"has shapes {q.shape}, {v.shape}, {a.shape}",
            element="existing",
            remedy=f"Give q, v and a of {len(names)} columns each",
        )
    if not all(np.isfinite(part).all() for part in (q, v, a)):
        raise ZvenoError("holds numbers that are not finite", element="existing", remedy="Leave these rows out")
    return q, v, a
