"""Short logs lose less at their ends, and the model is better for it."""

import numpy as np
import pytest
from simulated_logs import Friction, fourier

import zveno
from zveno.identification import _preparation

FRICTION = Friction(viscous=3.0, coulomb=4.0, smoothing=0.02)


def moved(robot, seed, t):
    motion, h = fourier(robot, 10.0, np.random.default_rng(seed)), 1e-4
    q, v = motion(t)
    a = (motion(t + h)[1] - motion(t - h)[1]) / (2.0 * h)
    return q, v, a, FRICTION.torque(v, robot.inverse_dynamics(q, v, a))


@pytest.mark.laws
@pytest.mark.parametrize("seconds", [5.0, 8.0])
def test_short_filters_predict_other_motions_better(seconds, monkeypatch):
    puma = zveno.load("puma560").mechanism
    robot = zveno.Robot(zveno.edit.fix_joints(puma, puma.joint_names[3:]))
    q, v, a, truth = moved(robot, 99, np.linspace(0.0, 10.0, 500))
    fast = abs(v) > 0.1
    errors: dict[float, list[float]] = {}
    margins = {}
    for times in (_preparation.SHORT, 0.0):
        monkeypatch.setattr(_preparation, "SHORT", times)
        for seed in range(6):
            rng, t = np.random.default_rng(seed), np.arange(0.0, seconds, 4e-3)
            positions, _, _, tau = moved(robot, 7 + seed, t)
            tau = tau + 0.05 * np.sqrt((tau**2).mean(axis=0)) * rng.normal(size=tau.shape)
            positions = positions + 1e-4 * rng.normal(size=positions.shape)
            found = robot.identify(zveno.identification.Log.of(robot, t, positions, tau), friction_terms="basic")
            off = (found.predict(q, v, a).tau - truth)[fast]
            errors.setdefault(times, []).append(float((off**2).sum() / (truth[fast] ** 2).sum()))
            margins[times] = found.choices.margin
    (short, usual), (less, more) = errors.values(), margins.values()
    assert less < 0.65 * more
    assert np.mean(short) < np.mean(usual)
