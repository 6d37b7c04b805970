"""The same motion gives the same model at any sampling rate: the noise of positions is not taken for motion."""

from itertools import pairwise

import numpy as np
import pytest
from simulated_logs import Friction, fourier

import zveno
from tiers import few
from zveno import identification
from zveno.identification._series import recording_of
from zveno.identification._spectrum import velocity_spectrum

RATES = (100.0, 300.0, 1000.0, 2000.0)


def arm(name):
    mechanism = zveno.load(name).mechanism
    return zveno.Robot(zveno.edit.fix_joints(mechanism, mechanism.joint_names[3:]))


def sampled(robot, rate, noise, seed, seconds=16.0, step=0.0, speed=0.6):
    """One motion, sampled at a rate, with white noise of positions (rad, m) and of torques (2 %), and encoders of a
    step."""
    rng, motion = np.random.default_rng(seed), fourier(robot, seconds, np.random.default_rng(7), speed=speed)
    h = 1e-4
    t = np.arange(round(seconds * rate)) / rate
    q, v = motion(t)
    a = (motion(t + h)[1] - motion(t - h)[1]) / (2.0 * h)
    tau = Friction(viscous=3.0, coulomb=4.0, smoothing=0.02).torque(v, robot.inverse_dynamics(q, v, a))
    tau = tau + 0.02 * np.sqrt((tau**2).mean(axis=0)) * rng.normal(size=tau.shape)
    q = q + noise * rng.normal(size=q.shape)
    return identification.Log.of(robot, t, np.round(q / step) * step if step else q, tau)


@pytest.mark.parametrize(("rate", "speed"), few([(4000.0, 0.6), (2000.0, 0.1), (2000.0, 0.6), (500.0, 0.1)], 1))
def test_steps_of_encoders_are_no_motion(rate, speed):
    """At 2 kHz a joint stands still for several samples between steps of 1 mrad: the band was 250 Hz."""
    robot = arm("puma560")
    fine, coarse = (
        robot.identify(sampled(robot, rate, 0.0, 1, step=step, speed=speed), friction_terms="basic")
        for step in (0.0, 1e-3)
    )
    assert coarse.choices.band == pytest.approx(fine.choices.band, rel=0.1)
    assert coarse.status == "usable"
    off = (coarse.base_values - fine.base_values) / np.sqrt(np.diag(coarse.base_covariance + fine.base_covariance))
    assert np.sqrt(np.mean(off**2)) < 2.0


@pytest.mark.laws
@pytest.mark.parametrize(
    ("name", "noise"),
    few([(name, noise) for noise in (5e-4, 1e-4, 1e-5) for name in ("puma560", "scara", "ur5")], 1),
)
def test_the_model_does_not_depend_on_the_sampling_rate(name, noise):
    robot = arm(name)
    fits = [
        robot.identify(sampled(robot, rate, noise, seed), friction_terms="basic") for seed, rate in enumerate(RATES)
    ]
    bands = [fit.choices.band for fit in fits]
    assert max(bands) < 1.03 * min(bands)
    off = []
    for a, b in pairwise(fits):
        scale = np.sqrt(np.diag(a.base_covariance + b.base_covariance))
        off.append((a.base_values - b.base_values)[scale > 0] / scale[scale > 0])
    assert np.abs(np.concatenate(off)).max() < 4.0
    assert np.mean(np.concatenate(off) ** 2) < 2.0
    assert all(fit.status == "usable" and not fit.faults for fit in fits)


@pytest.mark.parametrize("rate", [50.0, 400.0, 3000.0])
def test_white_noise_of_positions_is_no_motion(rate):
    """A sine of 2 mm amplitude at 0.5 Hz keeps its band under noise of 100 times the power of its velocity."""
    robot = zveno.load("Rz(q1) Tx(0.3) Rz(q2) Tx(0.2)")
    t = np.arange(round(24.0 * rate)) / rate
    clean = 2e-3 * np.sin(np.pi * t)[:, None] * [1.0, 2.0]
    size = 10.0 * 2e-3 * np.pi / rate  # differences of the noise against those of the motion
    noisy = clean + size * np.random.default_rng(1).normal(size=clean.shape)
    bands = []
    for q in (clean, noisy):
        spectrum = velocity_spectrum([recording_of(identification.Log.of(robot, t, q, np.ones_like(q)))])
        bands.append(spectrum.frequencies[np.searchsorted(np.cumsum(spectrum.power, axis=0)[:, 1], 0.95)])
    assert bands[1] == pytest.approx(bands[0], abs=0.26)
