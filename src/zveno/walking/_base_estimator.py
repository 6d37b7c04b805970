"""Estimator of the base's pose and velocity from inertial measurements, encoders and standing feet.

An error-state Kalman filter in the manner of Bloesch et al. (2012): the accelerometer and gyro are integrated; a
standing foot is a point at rest in the world, and the encoders give its position in the base frame,

    Rᵀ (p_foot − p) = place(joints) + noise.

State [p, v, quaternion, b_a, b_g, feet]; errors [δp, δv, δθ, δb_a, δb_g, δfeet] with R_true = R Exp(δθ). Position
and yaw in the world are not observable and drift; quantities relative to the feet do not.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..algorithms.forward_kinematics import link_poses
from ..kernels.compile import compiled
from ..kernels.ops import sqrt
from ..mechanism import Mechanism
from ..spatial.rotations import from_quaternion, quaternion_exp, quaternion_product
from .feet import Foot
from .sensing import Reading, Sensors

FOOT_SLIP = 2e-3
"""Assumed slip of a standing foot, m/√s: soles settle, and corners compress."""
PLACE_NOISE = 3e-4
"""Noise of a foot's position besides encoder noise, m: a rocking sole, leg model errors."""
UNKNOWN = 1.0
"""Standard deviation of the position of a foot that comes down before it is measured, m."""
N_MOTION = 15
"""Number of errors before those of the feet."""


def foot_places(mechanism: Mechanism, frames: tuple[str, ...], joints: Any) -> Any:
    """Return the origins of the feet in the base's axes, (f, 3)."""
    q = np.concatenate([np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]), joints])
    poses = link_poses(mechanism, q)
    places = []
    for name in frames:
        frame = mechanism.frame(name)
        places.append((poses[mechanism.link_number(frame.link)] @ frame.T_link_frame)[:3, 3])
    return np.stack(places)


def predicted(
    x: Any, P: Any, gyro: Any, force: Any, gravity: Any, noise: Any, standing: Any, h: Any
) -> tuple[Any, Any]:
    """Return state and covariance one step later.

    Args:
        x, P: (16 + 3 f,), (15 + 3 f, 15 + 3 f).
        gyro, force: as read, (3,).
        gravity: world axes, (3,).
        noise: variances per second of gyro, accelerometer, the drifts of both, and a standing foot's creep, (5,).
        standing: 1 or 0 for every foot, (f,).
        h: s.
    """
    n = N_MOTION + 3 * len(standing)
    p, v, quaternion, b_a, b_g = x[:3], x[3:6], x[6:10], x[10:13], x[13:16]
    R = from_quaternion(quaternion)
    rate, a = gyro - b_g, force - b_a
    acceleration = R @ a + gravity
    new = np.concatenate(
        [p + h * v + (0.5 * h * h) * acceleration, v + h * acceleration, turned(quaternion, h * rate), x[10:]]
    )
    F = np.eye(n, dtype=object)
    F[0:3, 3:6] = h * np.eye(3)
    F[3:6, 6:9] = -h * (R @ _skew(a))
    F[3:6, 9:12] = -h * R
    F[6:9, 6:9] = np.eye(3) - h * _skew(rate)
    F[6:9, 12:15] = -h * np.eye(3)
    gyro_noise, force_noise, gyro_drift, force_drift, slip = noise
    Q = [0.0] * 3 + [force_noise] * 3 + [gyro_noise] * 3 + [force_drift] * 3 + [gyro_drift] * 3
    Q += [slip * stands for stands in standing for _ in range(3)]
    return new, F @ P @ F.T + np.diag(h * np.array(Q))


def corrected(x: Any, P: Any, places: Any, variance: Any, standing: Any) -> tuple[Any, Any, Any]:
    """Return state and covariance corrected by the standing feet's positions (f, 3), and the innovations' χ².

    χ² is the sum of squared innovations over their variances (3 degrees of freedom per standing foot). Rows are
    processed one by one, which needs no inverse.
    """
    n_feet = len(standing)
    n = N_MOTION + 3 * n_feet
    R = from_quaternion(x[6:10])
    error: Any = np.zeros(n)
    total: Any = 0.0
    for k in range(n_feet):
        seen = R.T @ (x[16 + 3 * k : 19 + 3 * k] - x[:3])
        turn = _skew(seen)
        for i in range(3):
            row = np.zeros(n, dtype=object)
            row[:3], row[6:9] = -R.T[i], turn[i]
            row[N_MOTION + 3 * k : N_MOTION + 3 * k + 3] = R.T[i]
            spread = P @ row
            S = row @ spread + variance
            left = places[k, i] - seen[i] - row @ error
            gain = spread * (standing[k] / S)
            error = error + gain * left
            P = P - np.outer(gain, spread)
            total = total + standing[k] * left * left / S
    new = np.concatenate(
        [
            x[:6] + error[:6],
            turned(x[6:10], error[6:9]),
            x[10:] + error[9:],
        ]
    )
    return new, P, np.array([total])


def turned(quaternion: Any, angle: Any) -> Any:
    """Rotate a unit quaternion by a rotation vector in its own axes."""
    product = quaternion_product(quaternion, quaternion_exp(angle))
    return product / sqrt(product @ product)


def filtered(
    mechanism: Mechanism,
    frames: tuple[str, ...],
    x: Any,
    P: Any,
    gyro: Any,
    force: Any,
    joints: Any,
    rates: Any,
    standing: Any,
    settings: Any,
) -> tuple[Any, ...]:
    """Do one filter step: (x, P, χ² of the innovations, q, v); `settings` is [gravity, noise, h, variance]."""
    x, P = predicted(x, P, gyro, force, settings[:3], settings[3:8], standing, settings[8])
    places = foot_places(mechanism, frames, joints)
    x, P, total = corrected(x, P, places, settings[9], standing)
    q = np.concatenate([x[:3], x[6:10], joints])
    v = np.concatenate([from_quaternion(x[6:10]).T @ x[3:6], gyro - x[13:16], rates])
    return x, P, total, q, v


def _skew(r: Any) -> Any:
    zero = 0.0 * r[0]
    return np.array([[zero, -r[2], r[1]], [r[2], zero, -r[0]], [-r[1], r[0], zero]])


class BaseEstimator:
    """Error-state filter of one robot.

    Attributes:
        x: state, (16 + 3 f,).
        P: covariance of the errors, (15 + 3 f, 15 + 3 f).
        chi_square: of the last innovations, 3 degrees of freedom for every foot that stood.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        feet: tuple[Foot, ...],
        sensors: Sensors,
        q: np.ndarray,
        h: float,
        slip: float = FOOT_SLIP,
    ):
        frames, n = tuple(foot.frame for foot in feet), len(feet)
        shapes = {
            "x": (16 + 3 * n,),
            "P": (N_MOTION + 3 * n, N_MOTION + 3 * n),
            "gyro": (3,),
            "force": (3,),
            "joints": (mechanism.n_q - 7,),
            "rates": (mechanism.n_v - 6,),
            "standing": (n,),
            "settings": (10,),
        }
        self._kernel = compiled(filtered, shapes, constants=(mechanism, frames))
        self._places = compiled(foot_places, {"joints": shapes["joints"]}, constants=(mechanism, frames))
        s = sensors
        variances = [s.gyro**2, s.accelerometer**2, s.gyro_drift**2, s.accelerometer_drift**2, slip**2]
        # Encoder noise at the length of a leg, and the model error of a standing foot.
        reach = float(np.linalg.norm(self._places(q[7:]), axis=1).max())
        variance = PLACE_NOISE**2 + (s.encoder * reach) ** 2
        self._settings = np.array([*np.asarray(mechanism.gravity, dtype=float), *variances, h, variance])
        R, places = from_quaternion(q[3:7]), self._places(q[7:])
        self.x: np.ndarray = np.concatenate(
            [q[:3], np.zeros(3), q[3:7], np.zeros(6), (q[:3] + places @ R.T).ravel()]
        )
        sigma = np.concatenate(
            [
                np.full(3, 1e-4),
                np.full(3, 1e-3),
                np.full(3, 1e-3),
                np.full(3, max(s.accelerometer_bias, 1e-6)),
                np.full(3, max(s.gyro_bias, 1e-8)),
                np.full(3 * n, 1e-3),
            ]
        )
        self.P: np.ndarray = np.diag(sigma**2)
        self.standing: list[bool] = [True] * n
        self.chi_square: float = 0.0

    def update(self, reading: Reading, standing: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return (q, v) of the robot after a measurement; `standing` marks the feet at rest."""
        for k, stands in enumerate(standing.tolist()):
            if stands and not self.standing[k]:
                self._forget(k, reading.joints)
        self.standing = standing.tolist()
        flags = standing.astype(float)
        self.x, self.P, total, q, v = self._kernel(self.x, self.P, *reading[:4], flags, self._settings)
        self.chi_square = float(total[0])
        return q, v

    def _forget(self, k: int, joints: np.ndarray) -> None:
        """Reset a foot that comes down to its position by the encoders, with variance `UNKNOWN`²."""
        places = slice(16 + 3 * k, 19 + 3 * k)
        errors = slice(N_MOTION + 3 * k, N_MOTION + 3 * k + 3)
        self.x = self.x.copy()
        self.x[places] = self.x[:3] + from_quaternion(self.x[6:10]) @ self._places(joints)[k]
        self.P = self.P.copy()
        self.P[errors], self.P[:, errors] = 0.0, 0.0
        self.P[errors, errors] = UNKNOWN**2 * np.eye(3)
