"""The command `payload`: a load is found again from a recording, with and without one of the bare arm."""

from __future__ import annotations

import json

import numpy as np
import pytest
from commands import run
from json_examples import ARM

import zveno


@pytest.mark.parametrize("without", [False, True])
def test_a_load_is_found_again(capsys, tmp_path, without):
    (tmp_path / "arm.urdf").write_text(ARM)
    robot, rng = zveno.load(tmp_path / "arm.urdf"), np.random.default_rng(0)
    t = np.arange(0.0, 10.0, 0.01)
    w = 2 * np.pi * np.array([0.3, 0.7, 1.1])
    A, B = 0.3 * rng.normal(size=(2, 3, 2))
    q = np.sin(np.outer(t, w)) @ A + np.cos(np.outer(t, w)) @ B
    v = np.cos(np.outer(t, w)) @ (w[:, None] * A) - np.sin(np.outer(t, w)) @ (w[:, None] * B)
    a = -np.sin(np.outer(t, w)) @ (w[:, None] ** 2 * A) - np.cos(np.outer(t, w)) @ (w[:, None] ** 2 * B)
    for name, arm in {"loaded": robot.with_payload(1.5, (0.4, 0, 0.02)), "bare": robot}.items():
        tau = arm.inverse_dynamics(q, v, a) + 0.5 * v + 0.05 * rng.normal(size=q.shape)
        rows = np.column_stack([t, q, tau])
        np.savetxt(tmp_path / f"{name}.csv", rows, delimiter=",", header="time,q1,q2,tau1,tau2", comments="")
    words = [str(tmp_path / "loaded.csv"), "--friction-terms", "viscous", "--json"]
    words += ["--without", str(tmp_path / "bare.csv")] if without else []
    code, out, err = run(capsys, "payload", str(tmp_path / "arm.urdf"), *words)
    assert code == 0, err
    (tmp_path / "load.json").write_text(out)
    load = zveno.load_result(tmp_path / "load.json")
    assert json.loads(out)["mass"] == pytest.approx(load.mass)
    seen = load.seen
    assert abs(load.least_squares - zveno.load(tmp_path / "arm.urdf").mass)[0] > 1.0
    truth = zveno.inertia.parameters(1.5, (0.4, 0, 0.02), np.zeros((3, 3)))
    assert np.all(abs(load.least_squares - truth)[seen] < 5 * load.std[seen] + 1e-9)


def test_a_missing_recording_is_one_error(capsys):
    code, _, err = run(capsys, "payload", "ur5")
    assert code == 2
    assert "there is no recording" in err
