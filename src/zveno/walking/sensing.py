"""Sensors of a legged robot: inertial measurement at its base, encoders, foot loads."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np

from ..kernels.compile import compiled
from ..mechanism import Mechanism
from ..spatial.rotations import from_quaternion
from ._checks import check_count, check_number
from .feet import Foot

NOISE_ROWS = 256
"""Number of steps whose noise is drawn at once."""


@dataclass(frozen=True)
class Sensors:
    """Sensor errors; zeros for ideal sensors. Defaults are those of a good MEMS unit and 17-bit encoders.

    Attributes:
        gyro: noise of angular rates, rad/s/√Hz.
        gyro_bias: σ of their constant error, rad/s.
        gyro_drift: of that error, rad/s/√s.
        accelerometer: noise of specific forces, m/s²/√Hz.
        accelerometer_bias: σ of their constant error, m/s².
        accelerometer_drift: of that error, m/s²/√s.
        encoder: noise of joint angles, rad (or m).
        encoder_rate: noise of joint speeds, rad/s (or m/s).
        load: noise of the forces of the feet, N.
        delay: of all measurements, control steps.
        seed: of the noise.
    """

    gyro: float = 1e-4
    gyro_bias: float = 2e-3
    gyro_drift: float = 2e-5
    accelerometer: float = 1.5e-3
    accelerometer_bias: float = 0.05
    accelerometer_drift: float = 2e-4
    encoder: float = 5e-5
    encoder_rate: float = 0.01
    load: float = 1.0
    delay: int = 1
    seed: int = 0

    def check(self) -> None:
        """Refuse negative noise."""
        for item in fields(self):
            value = getattr(self, item.name)
            if item.name in ("seed", "delay"):
                check_count(value, f"sensors: {item.name}", 0)
            else:
                check_number(value, f"sensors: {item.name}", "Give finite numbers, 0 or more", least=0.0)


class Reading(NamedTuple):
    """Measurements of one control step."""

    gyro: np.ndarray
    """angular rate of the base in its axes, (3,), rad/s"""
    accelerometer: np.ndarray
    """specific force at the base's origin in its axes, (3,), m/s²"""
    joints: np.ndarray
    """angles of the joints, (n_j,)"""
    rates: np.ndarray
    """their speeds, (n_j,)"""
    loads: np.ndarray
    """normal force on every foot, (f,), N"""


def sensed(
    n_points: tuple[int, ...],
    q: Any,
    v: Any,
    before: Any,
    normals: Any,
    noise: Any,
    biases: Any,
    sizes: Any,
    h: Any,
) -> tuple[Any, ...]:
    """Return the parts of a `Reading`, the biases after their drift, and the base's velocity in world axes. Traced.

    Args:
        n_points: points of every sole.
        q, v: the true state.
        before: the base's velocity, world axes, one step ago, (3,).
        normals: forces of all points of the soles, N.
        noise: standard normal numbers, (12 + 2 n_j + f,).
        biases: of gyro and accelerometer, (6,).
        sizes: σ of a step of gyro, accelerometer, their drifts, encoders, rates, loads; then gravity, (10,).
        h: s, (1,).
    """
    n = len(v) - 6
    gyro, force, gyro_drift, force_drift, encoder, rate, load = sizes[:7]
    R = from_quaternion(q[3:7])
    velocity = R @ v[:3]
    drifted = np.concatenate([biases[:3] + gyro_drift * noise[:3], biases[3:] + force_drift * noise[3:6]])
    loads, first = [], 0
    for count in n_points:
        loads.append(sum((normals[first + k] for k in range(count)), start=0.0))
        first += count
    return (
        v[3:6] + drifted[:3] + gyro * noise[6:9],
        R.T @ ((velocity - before) / h[0] - sizes[7:10]) + drifted[3:] + force * noise[9:12],
        q[7:] + encoder * noise[12 : 12 + n],
        v[6:] + rate * noise[12 + n : 12 + 2 * n],
        np.array(loads) + load * noise[12 + 2 * n :],
        drifted,
        velocity,
    )


class Sensing:
    """Measurements of a simulated robot, with the errors that `Sensors` describes."""

    def __init__(self, sensors: Sensors, mechanism: Mechanism, feet: Sequence[Foot], h: float):
        sensors.check()
        n_points = tuple(len(foot.points) for foot in feet)
        self._n_noise = 12 + 2 * (mechanism.n_v - 6) + len(feet)
        shapes = {
            "q": (mechanism.n_q,),
            "v": (mechanism.n_v,),
            "before": (3,),
            "normals": (sum(n_points),),
            "noise": (self._n_noise,),
            "biases": (6,),
            "sizes": (10,),
            "h": (1,),
        }
        self._kernel = compiled(sensed, shapes, constants=(n_points,))
        s, root = sensors, np.sqrt(h)
        drifts = (s.gyro_drift * root, s.accelerometer_drift * root)
        sizes = (s.gyro / root, s.accelerometer / root, *drifts, s.encoder, s.encoder_rate, s.load)
        self._sizes = np.array([*sizes, *np.asarray(mechanism.gravity, dtype=float)])
        self._h = np.array([h])
        self._rng = np.random.default_rng(sensors.seed)
        self.biases: np.ndarray = self._rng.normal(size=6) * np.repeat([s.gyro_bias, s.accelerometer_bias], 3)
        """of gyro and accelerometer, (6,)"""
        self._before = np.zeros(3)
        self._noise = self._rng.normal(size=(NOISE_ROWS, self._n_noise))
        self._used = 0
        self._late: deque[Reading] = deque(maxlen=int(sensors.delay) + 1)

    def read(self, q: np.ndarray, v: np.ndarray, normals: np.ndarray) -> Reading:
        """Return the measurements at a state; `normals` are the forces of all points of the soles."""
        if self._used == NOISE_ROWS:
            self._noise, self._used = self._rng.normal(size=self._noise.shape), 0
        *reading, self.biases, self._before = self._kernel(
            q, v, self._before, normals, self._noise[self._used], self.biases, self._sizes, self._h
        )
        self._used += 1
        self._late.append(Reading(*reading))
        return self._late[0]
