"""Logs from arrays: segments, clocks and rows that are left out, whatever the size of blocks."""

import numpy as np
import pytest

import zveno
from zveno.errors import ModelError, ShapeError
from zveno.io.logs.log import Log


@pytest.fixture(scope="module")
def robot():
    return zveno.load("planar2")


def motion(n=1000, step=1e-3):
    t = step * np.arange(n)
    q = np.stack([np.sin(t), np.cos(2 * t)], axis=1)
    return t, q, 3.0 * q


def said(log: Log) -> str:
    return "\n".join(log.account)


def test_arrays_come_back(robot):
    t, q, tau = motion()
    log = Log.of(robot, t + 1.7e9, q, tau, v=2 * q)
    whole = log.arrays()
    assert np.array_equal(whole.q, q)
    assert np.array_equal(whole.tau, tau)
    assert np.array_equal(whole.v, 2 * q)
    assert whole.t == pytest.approx(t, abs=1e-6)
    assert log.segments == ((0, 1000),)
    assert log.step == pytest.approx(1e-3, rel=1e-3)
    assert log.duration == pytest.approx(0.999, rel=1e-6)
    assert log.joint_names == robot.joint_names


@pytest.mark.parametrize("rows", [1, 7, 333, 10_000])
def test_blocks_put_together_are_the_log(robot, rows):
    t, q, tau = motion()
    t[400:] += 1.0
    log = Log.of(robot, t, q, tau)
    blocks = list(log.blocks(rows))
    assert max(len(block) for block in blocks) <= rows
    assert np.array_equal(np.concatenate([block.q for block in blocks]), q)
    for number, (first, end) in enumerate(log.segments):
        its = [block for block in blocks if block.segment == number]
        assert np.array_equal(np.concatenate([block.tau for block in its]), tau[first:end])
    assert log.segments == ((0, 400), (400, 1000))
    assert "1 gap longer than 0.02 s, before line 400" in said(log)


def test_a_few_missing_samples_are_no_gap(robot):
    t, q, tau = motion()
    keep = np.ones(1000, dtype=bool)
    keep[500:515] = False
    log = Log.of(robot, t[keep], q[keep], tau[keep])
    assert log.segments == ((0, 985),)


def test_rows_without_numbers_are_left_out_and_named(robot):
    t, q, tau = motion()
    q[17, 1], tau[40, 0], t[77] = np.nan, 1e293, np.inf
    log = Log.of(robot, t, q, tau)
    kept = np.setdiff1d(np.arange(1000), [17, 40, 77])
    assert np.array_equal(log.arrays().q, q[kept])
    assert "line 17, 40, 77 holds no usable numbers" in said(log)


def test_torques_that_jump_for_one_sample_are_left_out(robot):
    """One number of 1e5 made a log of 1000 rows useless."""
    t, q, tau = motion()
    rng = np.random.default_rng(0)
    tau = tau + rng.normal(size=tau.shape)
    wild, kick = tau.copy(), tau.copy()
    wild[[0, 300, 999], 1] = 1e5
    log = Log.of(robot, t, q, wild)
    assert np.array_equal(log.arrays().q, np.delete(q, [0, 300, 999], axis=0))
    kick[500:504, 1] += 1e5  # a torque that stays for four samples was there
    kick[100, 0] += 20.0 * abs(tau[:, 0]).max()
    assert len(Log.of(robot, t, q, kick)) == 1000


def test_positions_that_jump_for_one_sample_are_left_out(robot):
    t, q, tau = motion()
    spoilt = q.copy()
    spoilt[300, 1] += 0.5
    spoilt[700:, 0] += 0.5  # a step that stays is no spike
    log = Log.of(robot, t, spoilt, tau)
    assert np.array_equal(log.arrays().q, np.delete(spoilt, 300, axis=0))
    assert "line 300 holds no usable numbers" in said(log)
    fast = np.sin(2 * np.pi * 10.0 * t)  # 10 Hz of 1 rad at 100 Hz: samples 0.6 rad apart, and still a motion
    quick = Log.of(robot, 10 * t, np.stack([np.sin(2 * np.pi * 10.0 * 10 * t), fast], axis=1), tau)
    assert len(quick) == 1000


@pytest.mark.parametrize(
    ("spoil", "lost", "words"),
    [
        ({300: 5.0}, [300], "the time of line 300 jumps"),
        ({300: -3.0}, [300], "the time of line 300 jumps"),
        ({300: 0.299}, [300], "line 300 repeats the time"),
        ({300: 0.250, 301: 0.251, 302: 0.252}, [300, 301, 302], "goes back at line 300, 301, 302"),
        ({999: 1e12}, [999], "the time of line 999 jumps"),
        ({0: 1e12}, [0], "the time of line 0 jumps"),
        ({0: -1e12}, [0], "the time of line 0 jumps"),
    ],
)
def test_single_wrong_times_are_left_out_and_named(robot, spoil, lost, words):
    t, q, tau = motion()
    for row, value in spoil.items():
        t[row] = value
    log = Log.of(robot, t, q, tau)
    kept = np.setdiff1d(np.arange(1000), lost)
    assert np.array_equal(log.arrays().q, q[kept])
    assert words in said(log)
    assert log.segments == ((0, len(kept)),)


def test_a_clock_that_was_set_back_begins_a_segment(robot):
    t, q, tau = motion()
    t[600:] -= 0.5
    log = Log.of(robot, t, q, tau)
    whole = log.arrays()
    assert np.array_equal(whole.q, q)
    assert (np.diff(whole.t) > 0).all()
    assert log.segments == ((0, 600), (600, 1000))
    assert "set back at line 600" in said(log)
    assert log.duration == pytest.approx(0.998, rel=1e-6)


def test_times_always_increase_and_nothing_is_invented(robot):
    """Whatever happens to a clock: times increase, and every row is one of the input, in
    its order, or named."""
    rng = np.random.default_rng(0)
    for _ in range(100):
        t, q, tau = motion(400)
        for _ in range(rng.integers(1, 5)):
            k, n = rng.integers(400), rng.choice([1, 2, 20, 150])
            t[k : k + n] += rng.choice([-1.0, 1.0]) * 10.0 ** rng.integers(-4, 3)
        q[:, 0] = np.arange(400)
        log = Log.of(robot, t, q, tau)
        whole = log.arrays()
        assert (np.diff(whole.t) > 0).all()
        assert (np.diff(whole.q[:, 0]) > 0).all()
        if len(log) < 400:
            assert "left out" in said(log)
        bounds = [0, *(end for _, end in log.segments)]
        assert [first for first, _ in log.segments] == bounds[:-1]
        assert bounds[-1] == len(log)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda t, q, tau: (t[:5], q[:5], tau[:5]), "has 5 rows that can be used"),
        (lambda t, q, tau: (0 * t, q, tau), "time does not increase"),
        (lambda t, q, tau: (-t, q, tau), "time does not increase"),
        (lambda t, q, tau: (t[:0], q[:0], tau[:0]), "has no rows|has 0 rows"),
        (lambda t, q, tau: (t, q * np.nan, tau), "has 0 rows that can be used"),
    ],
)
def test_recordings_that_cannot_be_used(robot, change, words):
    with pytest.raises(ModelError, match=words):
        Log.of(robot, *change(*motion()))


def test_shapes(robot):
    t, q, tau = motion()
    with pytest.raises(ShapeError, match=r"q has shape \(1000, 1\).* 2 joints"):
        Log.of(robot, t, q[:, :1], tau)
    with pytest.raises(ShapeError, match="tau has shape"):
        Log.of(robot, t, q, tau[:-1])
    with pytest.raises(ShapeError, match="tau is not an array of real numbers"):
        Log.of(robot, t, q, "x")
    one = Log.of(robot, t, q[:, :1], tau[:, :1], joint_names=robot.joint_names[:1])
    assert one.joint_names == robot.joint_names[:1]
    with pytest.raises(ModelError, match="robot's order"):
        Log.of(robot, t, q, tau, joint_names=robot.joint_names[::-1])
