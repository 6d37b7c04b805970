"""Recordings of robots whose parameters are known: a controlled arm on a Fourier trajectory, with friction of every
kind, encoders of finite resolution inside the loop, and noisy torques."""

from __future__ import annotations

from dataclasses import dataclass, field, fields

import numpy as np

import zveno
from zveno import ops as zmath
from zveno.algorithms.forward_dynamics import forward_dynamics
from zveno.io.logs.log import Log
from zveno.kernels.compile import compiled

FREQUENCY = 2.0 * np.pi * 6.0
"""Of the position loop, rad/s."""


@dataclass(frozen=True)
class Friction:
    """Friction of every joint: a number for all of them, or one each, N·m and N by rad/s and m/s.

    The torque that reaches the link is τ_link with
    τ = τ_link + v·viscous + (coulomb + load·|τ_link| + stribeck·exp(−(v/v_stribeck)²))·tanh(v/smoothing)
        + third·(v² + smoothing²)^(1/6)·tanh(v/smoothing) + asymmetry·|tanh(v/smoothing)| + offset.
    """

    viscous: object = 0.0
    coulomb: object = 0.0
    third: object = 0.0
    load: object = 0.0
    stribeck: object = 0.0
    v_stribeck: object = 0.1
    asymmetry: object = 0.0
    offset: object = 0.0
    smoothing: object = 0.005

    def rest(self, v):
        """Friction without the part that grows with load; v may be traced."""
        direction = zmath.tanh(v / self.smoothing)
        drag = self.coulomb + self.stribeck * zmath.exp(-((v / self.v_stribeck) * (v / self.v_stribeck)))
        drag = drag + self.third * zmath.exp(zmath.log(v * v + self.smoothing * self.smoothing) / 6.0)
        return self.viscous * v + drag * direction + self.asymmetry * zmath.abs(direction) + self.offset

    def link_torque(self, v, tau):
        """What reaches the link of the motor's torque (at the joint); entries may be traced."""
        left = tau - self.rest(v)
        return left / (1.0 + self.load * zmath.tanh(v / self.smoothing) * zmath.sign(left))

    def torque(self, v, tau_link):
        """The motor's torque for what reaches the link."""
        return tau_link + self.rest(v) + self.load * abs(tau_link) * np.tanh(v / self.smoothing)

    def coefficients(self, n):
        """All of them, each (n,)."""
        return [np.broadcast_to(np.asarray(getattr(self, one.name), dtype=float), (n,)) for one in fields(self)]


@dataclass(frozen=True, eq=False)
class SimulatedLog:
    """A log and the truth: states and torques without noise at its times."""

    log: Log
    robot: zveno.Robot
    friction: Friction
    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    tau: np.ndarray
    torque_noise: np.ndarray = field(default_factory=lambda: np.zeros(0))


def fourier(robot, seconds, rng, harmonics=5, fill=0.6, speed=0.6):
    """A function of t (m,) that gives q (m, n) and v (m, n): periodic, inside the limits of position (`fill` of the
    range, 3 rad and 0.3 m at most) and of velocity (`speed` of it, 2 rad/s and 0.3 m/s at most)."""
    low, high, fastest = [], [], []
    for joint in robot.mechanism.joints:
        if joint.mimic is None and joint.type.n_v:
            reach = 3.0 if joint.type.units[0] == "rad" else 0.3
            a, b = float(joint.limits.lower[0]), float(joint.limits.upper[0])
            a, b = (max(a, -reach), min(b, reach)) if np.isfinite([a, b]).all() else (-reach / 2, reach / 2)
            low.append(a)
            high.append(b)
            fastest.append(min(float(joint.limits.velocity[0]), 2.0 if reach == 3.0 else 0.3))
    low, high, fastest = map(np.array, (low, high, fastest))
    n, k = len(low), np.arange(1, harmonics + 1)
    period = min(seconds, 10.0)
    w = 2.0 * np.pi / period * k
    A, B = rng.normal(size=(2, harmonics, n)) / k[:, None]
    t = np.linspace(0.0, period, 2000)
    q = np.sin(t[:, None] * w) @ A + np.cos(t[:, None] * w) @ B
    v = np.cos(t[:, None] * w) @ (A * w[:, None]) - np.sin(t[:, None] * w) @ (B * w[:, None])
    size = np.minimum(fill * (high - low) / np.ptp(q, axis=0), speed * fastest / abs(v).max(axis=0))
    middle = (low + high) / 2.0 - size * (q.max(axis=0) + q.min(axis=0)) / 2.0
    A, B = A * size, B * size

    def motion(t):
        phase = np.asarray(t)[..., None] * w
        sin, cos = np.sin(phase), np.cos(phase)
        return middle + sin @ A + cos @ B, cos @ (A * w[:, None]) - sin @ (B * w[:, None])

    return motion


def step(mechanism, q, v, tau, h, *coefficients):
    """(q, v) after h seconds under a constant torque of the motors, by Runge and Kutta's method; may be traced."""
    friction = Friction(*coefficients)

    def rate(q, v):
        return v, forward_dynamics(mechanism, q, v, friction.link_torque(v, tau))

    a, b = rate(q, v)
    c, d = rate(q + 0.5 * h * a, v + 0.5 * h * b)
    e, f = rate(q + 0.5 * h * c, v + 0.5 * h * d)
    g, i = rate(q + h * e, v + h * f)
    return q + (h / 6.0) * (a + 2.0 * (c + e) + g), v + (h / 6.0) * (b + 2.0 * (d + f) + i)


def simulated_logs(
    robot,
    friction: Friction | None = None,
    *,
    runs: int = 1,
    seconds: float = 10.0,
    rate: float = 500.0,
    resolution: float = 2.0 * np.pi / 2**19,
    torque_noise: float = 0.01,
    control_noise: float = 0.005,
    velocity: bool = False,
    motion=None,
    rng=0,
) -> list[SimulatedLog]:
    """Runs of a controlled robot with other noise each, along one trajectory, simulated together.

    Args:
        robot: the true one; its rotors count, the friction of its drives does not.
        friction: the true friction.
        runs: how many.
        seconds, rate: length and samples per second; the controller works at the same rate.
        resolution: of the encoders, rad or m; the controller sees what they say.
        torque_noise: standard deviation of what is recorded, by the rms torque of each joint.
        control_noise: the same of a torque that acts and is recorded, as of current loops.
        velocity: whether velocities are recorded: differences of the encoders over four samples, so 2 samples late.
        motion: the reference, as from `fourier`.
        rng: seed.
    """
    friction, rng = friction or Friction(), np.random.default_rng(rng)
    mechanism, n = robot.mechanism, robot.n_v
    motion = motion or fourier(robot, seconds, rng)
    h, m = 1.0 / rate, round(seconds * rate)
    t = h * np.arange(m)
    q_ref, v_ref = motion(t)
    diagonal = np.diagonal(robot.mass_matrix(q_ref[:: max(1, m // 50)]), axis1=-2, axis2=-1)
    M, least = diagonal.mean(axis=0), diagonal.min(axis=0)
    slope = (np.asarray(friction.coulomb) + 0.0 * M) / friction.smoothing + np.asarray(friction.third)
    substeps = int(np.ceil(max(1.0, float((slope / least).max()) * h / 2.0)))
    coefficients = friction.coefficients(n)
    shapes = {"q": (n,), "v": (n,), "tau": (n,), "h": ()} | {one.name: (n,) for one in fields(friction)}
    advance = compiled(step, shapes, constants=(mechanism,))
    kp, kd = M * FREQUENCY**2, 1.6 * M * FREQUENCY
    a_ref = np.gradient(v_ref, h, axis=0)
    ahead = friction.torque(v_ref, robot.inverse_dynamics(q_ref, v_ref, a_ref))
    size = np.sqrt((ahead**2).mean(axis=0))
    q, v = np.tile(q_ref[0], (runs, 1)), np.tile(v_ref[0], (runs, 1))
    Q, V, held = np.empty((m, runs, n)), np.empty((m, runs, n)), np.empty((m, runs, n))
    shake = control_noise * size * rng.normal(size=(m, runs, n))
    seen = np.round(q / resolution) * resolution if resolution else q
    for k in range(m):
        Q[k], V[k] = q, v
        before, seen = seen, np.round(q / resolution) * resolution if resolution else q
        speed = (seen - before) / h if k else v
        held[k] = 0.9 * ahead[k] + kp * (q_ref[k] - seen) + kd * (v_ref[k] - speed) + shake[k]
        for _ in range(substeps):
            q, v = advance(q, v, held[k], h / substeps, *coefficients)
    tau = (np.concatenate([held[:1], held[:-1]]) + held) / 2.0  # at the time of the sample, between two held ones
    encoders = np.round(Q / resolution) * resolution if resolution else Q
    noise = torque_noise * np.sqrt((tau**2).mean(axis=(0, 1))) + np.zeros(n)
    measured = tau + noise * rng.normal(size=tau.shape)
    out = []
    for run in range(runs):
        recorded = None
        if velocity:
            recorded = np.concatenate([np.zeros((4, n)), encoders[4:, run] - encoders[:-4, run]]) / (4.0 * h)
        log = Log.of(robot, t, encoders[:, run], measured[:, run], recorded, source=f"simulated {run}")
        out.append(SimulatedLog(log, robot, friction, t, Q[:, run], V[:, run], tau[:, run], noise))
    return out


def recorded(robot, seed=0, seconds=20.0):
    """t, q and torques of a Fourier motion with friction and 3 % of noise, without a controller."""
    rng = np.random.default_rng(seed)
    t = np.arange(0.0, seconds, 4e-3)
    q, v = fourier(robot, seconds, rng, speed=0.8)(t)
    friction = Friction(viscous=0.5, coulomb=1.0, load=0.05)
    tau = friction.torque(v, robot.inverse_dynamics(q, v, np.gradient(v, t, axis=0)))
    return t, q, tau + 0.03 * np.sqrt((tau**2).mean(axis=0)) * rng.normal(size=tau.shape)


def sound_recording(robot, seed):
    """A log of the robot without a fault: any rate, motion, friction and noise within what is usual."""
    rng, n, h = np.random.default_rng(seed), robot.n_v, 1e-4
    rate, seconds = float(rng.choice([100, 125, 200, 250, 500, 1000])), float(rng.uniform(10.0, 30.0))
    motion = fourier(robot, seconds, rng, harmonics=int(rng.integers(3, 8)), speed=float(rng.uniform(0.4, 0.9)))
    t = np.arange(round(seconds * rate)) / rate
    q, v = motion(t)
    link = robot.inverse_dynamics(q, v, (motion(t + h)[1] - motion(t - h)[1]) / (2.0 * h))
    size, speed = np.sqrt((link**2).mean(axis=0)), np.sqrt((v**2).mean(axis=0))
    some = rng.random(2) < 0.5
    friction = Friction(
        viscous=rng.uniform(0.0, 0.3, n) * size / speed,
        coulomb=rng.uniform(0.02, 0.3, n) * size,
        third=rng.uniform(0.0, 0.1, n) * size / speed ** (1 / 3),
        load=rng.uniform(0.0, 0.1, n) * some[0],
        stribeck=rng.uniform(0.0, 0.1, n) * size * some[1],
        v_stribeck=0.2 * speed,
        asymmetry=rng.uniform(0.0, 0.03, n) * size,
        offset=rng.uniform(0.0, 0.05, n) * size,
        smoothing=rng.uniform(0.01, 0.06) * speed,
    )
    tau = friction.torque(v, link)
    tau = tau + rng.uniform(0.005, 0.05) * np.sqrt((tau**2).mean(axis=0)) * rng.normal(size=tau.shape)
    q = q + 10.0 ** rng.uniform(-6.0, -3.5) * rng.normal(size=q.shape)
    recorded = v + rng.uniform(0.001, 0.02) * speed * rng.normal(size=v.shape) if rng.random() < 0.4 else None
    return Log.of(robot, t, q, tau, recorded)
