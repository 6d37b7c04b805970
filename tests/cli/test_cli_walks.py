"""`zveno simulate --walk`: what a walk prints, and what it refuses."""

from __future__ import annotations

import pytest
from commands import refused, run

REFUSED = [
    (("ur5", "--walk"), "not a built-in walking machine"),
    (("quadruped", "--walk", "--steps", "0"), "steps: is 0"),
    (("quadruped", "--walk", "--uneven", "nan"), "are no ground"),
    (("quadruped", "--walk", "--q0", "1"), "--q0: a walk chooses it itself"),
    (("quadruped", "--walk", "--integrator", "rk4"), "--integrator: a walk chooses it itself"),
    (("quadruped", "--walk", "--friction"), "--friction: a walk chooses it itself"),
    (("quadruped", "--walk", "--sample", "-1"), "sample: is -1"),
    (("quadruped", "--walk", "--rtol", "1e-6"), "--rtol: a walk chooses it itself"),
    (("quadruped", "--walk", "--duration", "0"), "duration: is 0"),
    (("quadruped", "--walk", "--step", "0"), "step: is 0"),
    (("quadruped", "--steps", "12"), "--steps: belongs to walks"),
    (("quadruped", "--gait", "static"), "--gait: belongs to walks"),
    (("quadruped", "--uneven", "0.02"), "--uneven: belongs to walks"),
]


@pytest.mark.parametrize(("words", "message"), REFUSED)
def test_what_cannot_walk_is_one_line(capsys, words, message):
    assert message in refused(capsys, "simulate", *words)


@pytest.mark.slow
def test_a_walk_fits_into_80_columns_with_units(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    code, out, _ = run(capsys, "simulate", "quadruped", "--walk", "--gait", "static", "--steps", "1")
    assert code == 0
    assert max(map(len, out.splitlines())) <= 80
    assert "1 step (static)" in out
    assert "t, s" in out
    assert "x, m" in out


def test_a_walk_ends_with_its_duration(capsys):
    code, out, _ = run(capsys, "simulate", "quadruped", "--walk", "--duration", "0.2", "--step", "0.002")
    assert code == 0
    assert "0.2 s" in out
