"""`zveno simulate --walk`: what a walk prints, and what it refuses."""

from __future__ import annotations

import json

import pytest
from commands import refused, run

REFUSED = [
    (("ur5", "--walk"), "not a built-in walking machine"),
    (("quadruped", "--walk", "--steps", "0"), "steps: is 0"),
    (("quadruped", "--walk", "--uneven", "nan"), "are not a ground"),
    (("quadruped", "--walk", "--q0", "1"), "--q0: cannot be combined with --walk"),
    (("quadruped", "--walk", "--integrator", "rk4"), "--integrator: cannot be combined with --walk"),
    (("quadruped", "--walk", "--joint-friction"), "--joint-friction: cannot be combined with --walk"),
    (("quadruped", "--walk", "--sample-time", "-1"), "sample_time: is -1"),
    (("quadruped", "--walk", "--rtol", "1e-6"), "--rtol: cannot be combined with --walk"),
    (("quadruped", "--walk", "--duration", "0"), "duration: is 0"),
    (("quadruped", "--walk", "--step", "0"), "step: is 0"),
    (("quadruped", "--steps", "12"), "--steps: applies to walks only"),
    (("quadruped", "--gait", "static"), "--gait: applies to walks only"),
    (("quadruped", "--uneven", "0.02"), "--uneven: applies to walks only"),
]


@pytest.mark.parametrize(("words", "message"), REFUSED)
def test_what_cannot_walk_is_one_line(capsys, words, message):
    assert message in refused(capsys, "simulate", *words)


@pytest.mark.laws
def test_a_walk_fits_into_80_columns_with_units(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    code, out, _ = run(capsys, "simulate", "quadruped", "--walk", "--gait", "static", "--steps", "1")
    assert code == 0
    assert max(map(len, out.splitlines())) <= 80
    assert "1 step (static)" in out
    assert "foot t x y z s m m m" in " ".join(out.split())


def test_a_walk_ends_with_its_duration(capsys):
    code, out, _ = run(capsys, "simulate", "quadruped", "--walk", "--duration", "0.2", "--step", "0.002")
    assert code == 3
    assert "0.2 s" in out


FEET = "".join(
    f'[[foot]]\nframe = "{end}_foot"\n' for end in ("front_left", "front_right", "rear_left", "rear_right")
)
BENT = "".join(
    f"{end}_hip_pitch = 0.6\n{end}_knee = -1.2\n"
    for end in ("front_left", "front_right", "rear_left", "rear_right")
)


def test_a_machine_of_a_file_walks(capsys, tmp_path):
    path = tmp_path / "dog.toml"
    path.write_text(f'robot = "quadruped"\n{FEET}[start]\n{BENT}[gait]\ntype = "static"\nsteps = 3\n')
    code, out, _ = run(capsys, "simulate", str(path), "--walk", "--duration", "0.2", "--step", "0.002", "--json")
    assert code == 3
    assert '"gait": "static"' in out
    path.write_text(f'robot = "quadruped"\n{FEET.replace("front_left_foot", "paw")}')
    assert "paw" in refused(capsys, "simulate", str(path), "--walk")


def test_a_machine_of_a_file_is_described_and_drawn(capsys, tmp_path):
    path = tmp_path / "dog.toml"
    path.write_text(f'robot = "quadruped"\n{FEET}[start]\n{BENT}[ground]\ntype = "plane"\nnormal = [-0.1, 0, 1]\n')
    code, out, _ = run(capsys, "info", str(path), "--plot", str(tmp_path / "dog.png"))
    assert code == 0
    assert "friction 0.7" in out
    assert (tmp_path / "dog.png").stat().st_size > 5000
    code, out, _ = run(capsys, "info", str(path), "--json")
    assert json.loads(out)["walking_machine"]["feet"][0] == "front_left_foot"
    path.write_text(path.read_text().replace("[-0.1, 0, 1]", "[-1, 0, 1]"))
    assert "cannot stand" in refused(capsys, "info", str(path), "--plot", str(tmp_path / "steep.png"))
    path.write_text(path.read_text().replace("front_left_foot", "paw"))
    assert "paw" in refused(capsys, "info", str(path))
