"""Tasks on any workers: the same bits as in one process, and files to go on from."""

import sys

import numpy as np
import pytest

import zveno
from zveno.errors import ZvenoError
from zveno.ik import parts
from zveno.simulation import batch_runs

PUMA = zveno.load("puma560")
POSES = PUMA.forward_kinematics(PUMA.random(50, 0)).reshape(5, 10, 4, 4)
STATES = PUMA.random(12, 1).reshape(3, 4, 6)


def bits(result, names):
    return [np.ascontiguousarray(getattr(result, name)).tobytes() for name in names]


SOLVED = ("q", "count", "codes", "residual", "condition", "nearest", "distance", "target")
MOVED = ("t", *batch_runs.PER_RUN)


@pytest.fixture
def small_pieces(monkeypatch):
    monkeypatch.setattr(parts, "PIECE", 7)
    monkeypatch.setattr(sys.modules["zveno.simulation.simulate"], "PIECE", 5)


@pytest.mark.parametrize("on", ["here", "threads", 2])
def test_inverse_kinematics_of_a_batch(on, small_pieces):
    plain, spread_out = PUMA.ik(POSES), PUMA.ik(POSES, on=on)
    assert spread_out.batch == (5, 10)
    assert bits(plain, SOLVED) == bits(spread_out, SOLVED)
    assert spread_out.reason(4, 9) == plain.reason(4, 9)


@pytest.mark.parametrize("on", ["here", "threads", 2])
def test_simulation_of_a_batch(on, small_pieces):
    control = zveno.PD(STATES[0, 0], 30.0, 5.0)
    plain, spread_out = (PUMA.simulate(STATES, duration=0.02, control=control, **k) for k in ({}, {"on": on}))
    assert spread_out.status == "finished"
    assert bits(plain, MOVED) == bits(spread_out, MOVED)


def test_both_go_on_from_a_file(tmp_path, small_pieces):
    calls = []

    def stop_after_two(done, total):
        calls.append((done, total))
        if len(calls) == 2:
            raise KeyboardInterrupt

    file = tmp_path / "run.json"
    with pytest.raises(KeyboardInterrupt):
        PUMA.ik(POSES, checkpoint=file, progress=stop_after_two)
    calls.clear()
    assert bits(PUMA.ik(POSES, checkpoint=file, progress=lambda *at: calls.append(at)), SOLVED) == bits(
        PUMA.ik(POSES), SOLVED
    )
    assert calls[0] == (3, 8)
    assert calls[-1] == (8, 8)
    with pytest.raises(ZvenoError, match="other work"):
        PUMA.ik(POSES, checkpoint=file, limits=False)
    runs = [PUMA.simulate(STATES, duration=0.01, checkpoint=tmp_path / "simulation.json") for _ in range(2)]
    assert bits(runs[0], MOVED) == bits(runs[1], MOVED) == bits(PUMA.simulate(STATES, duration=0.01), MOVED)


def test_runs_that_explode_are_counted_over_all_pieces(small_pieces):
    states = np.zeros((12, 6))
    speeds = np.zeros((12, 6))
    speeds[[1, 11], 5] = 1e6
    plain, cut = (PUMA.simulate(states, speeds, 0.01, **k) for k in ({}, {"on": "here"}))
    assert "2 of 12 runs explode" in cut.status
    assert cut.status == plain.status


def test_what_cannot_be_shared_is_refused(tmp_path):
    with pytest.raises(ZvenoError, match="batch"):
        PUMA.simulate(np.zeros(6), duration=0.01, on="here")
    with pytest.raises(ZvenoError, match="seconds"):
        PUMA.ik(POSES, on="here", seconds=1.0)
    with pytest.raises(ZvenoError, match="cannot be sent"):
        PUMA.ik(POSES, on=2, accept=lambda q: q[:, 0] > 0)
