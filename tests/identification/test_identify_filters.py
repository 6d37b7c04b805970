"""Filters of identification: zero phase, exact derivatives, and the same rows whatever the blocks."""

import numpy as np
import pytest

from zveno.identification._preparation import Stream, low_pass, shifted_smoother, smoother

DT = 1e-3


@pytest.mark.parametrize("step", [1, 7])
def test_parabolas_keep_their_value_and_derivatives(step):
    filter = smoother(20.0, 18.0, DT, step)
    t = np.arange(1500) * DT
    x = np.stack([1.0 + 0.0 * t, 2.0 - t, 3.0 * t**2 - t], axis=1)
    y = filter.apply(x)
    at = t[filter.center :: step][: len(y)]
    assert len(y) == (len(t) - filter.length) // step + 1
    np.testing.assert_allclose(y[:, 1], np.stack([0 * at, 0 * at - 1.0, 6.0 * at - 1.0], axis=1), atol=1e-9)
    np.testing.assert_allclose(y[:, 2], np.stack([0 * at, 0 * at, 0 * at + 6.0], axis=1), atol=1e-7)
    np.testing.assert_allclose(y[:, 0, :2], x[filter.center :: step][: len(y), :2], atol=1e-12)


@pytest.mark.parametrize(("frequency", "gain"), [(2.0, 1.0), (10.0, 1.0), (20.0, 0.5), (40.0, 0.0)])
def test_sines_come_through_in_phase(frequency, gain):
    filter = smoother(20.0, 18.0, DT, 3)
    t = np.arange(3000) * DT
    w = 2.0 * np.pi * frequency
    y = filter.apply(np.sin(w * t)[:, None])[:, :, 0]
    at = t[filter.center :: 3][: len(y)]
    tolerance = 3e-3  # ripple of Blackman's window
    np.testing.assert_allclose(y[:, 0], gain * np.sin(w * at), atol=tolerance)
    np.testing.assert_allclose(y[:, 1] / w, gain * np.cos(w * at), atol=tolerance)
    np.testing.assert_allclose(y[:, 2] / w**2, -gain * np.sin(w * at), atol=tolerance)


def test_a_late_signal_is_taken_back_by_fractions_of_a_sample():
    late = 3.7e-3
    filter = shifted_smoother(20.0, 18.0, DT, 1, [0.0, late])
    t = np.arange(1000) * DT
    y = filter.apply(np.sin(30.0 * (t - late))[:, None])[:, :, 0]
    at = t[filter.center :][: len(y)]
    np.testing.assert_allclose(y[:, 1], np.sin(30.0 * at), atol=1e-3)
    assert abs(y[:, 0] - np.sin(30.0 * at)).max() > 0.05


@pytest.mark.parametrize("seed", range(4))
def test_a_stream_in_pieces_gives_what_the_whole_gives(seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(2000, 3))
    filter = low_pass(8.0, 8.0, DT * 5, 5)
    stream = Stream(filter)
    cuts = np.sort(rng.integers(0, len(x), 12))
    pieces = [stream.push(part) for part in np.split(x, cuts)]
    np.testing.assert_allclose(np.concatenate(pieces), filter.apply(x), atol=1e-12)
