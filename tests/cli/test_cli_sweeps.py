"""`zveno simulate` from many states: the same runs as the library's, on any workers, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from commands import answer, refused, run

import zveno

DURATION = ("--duration", "0.02")


@pytest.fixture
def robot():
    return zveno.load("puma560")


def test_random_states_are_those_of_the_library(capsys, tmp_path, robot):
    file = tmp_path / "runs.npz"
    words = ("--runs", "6", "--rng", "4", "--on", "here", "--checkpoint", str(tmp_path / "kept.json"))
    for _ in range(2):  # the second time from the checkpoint
        code, out, err = run(capsys, "simulate", "puma560", *DURATION, *words, "--out", str(file), "--force")
        assert code == 0, err
        assert "6 runs" in out + err
        found = zveno.Trajectory.load(file)
        assert np.array_equal(found.q, robot.simulate(robot.random(6, 4), duration=0.02).q)


def test_states_of_a_file(capsys, tmp_path, robot):
    q, v = robot.random(3, 1), 0.1 * robot.random(3, 2)
    for number, (states, v0) in enumerate(((q, None), (np.hstack([q, v]), v))):
        file, out = tmp_path / f"states{number}.npy", tmp_path / f"runs{number}.npz"
        np.save(file, states)
        code, _, err = run(capsys, "simulate", "puma560", *DURATION, "--states", str(file), "--save", str(out))
        assert code == 0, err
        assert np.array_equal(zveno.Trajectory.load(out).q, robot.simulate(q, v0, 0.02).q)


def test_many_runs_as_json(capsys):
    data = answer(capsys, "simulate", "puma560", *DURATION, "--runs", "2")
    assert data["runs"] == 2
    assert data["finished"] is True
    assert data["energy"]["error"] < 1e-6


def test_what_is_refused_before_anything_runs(capsys, tmp_path):
    file = tmp_path / "states.npy"
    np.save(file, np.zeros((2, 5)))
    cases = {
        ("--workers", "2"): "nothing to share",
        ("--runs", "2", "--states", str(file)): "exclude",
        ("--runs", "0"): "--runs",
        ("--runs", "2", "--q0", "1"): "--q0",
        ("--runs", "2", "--integrator", "dop853"): "dop853",
        ("--runs", "2", "--save", str(tmp_path / "x.csv")): "one run",
        ("--states", str(file)): "shape",
        ("--states", str(tmp_path / "none.npy")): "no such file",
    }
    for words, says in cases.items():
        assert says in refused(capsys, "simulate", "puma560", *DURATION, *words)
        assert not (tmp_path / "x.csv").exists()
