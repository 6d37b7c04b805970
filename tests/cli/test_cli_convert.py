"""The verb `convert`: what is written is read back as the same robot, and losses are said."""

import json

import numpy as np
import pytest

import zveno
from zveno.cli.app import main


@pytest.mark.parametrize("suffix", [".urdf", ".toml", ".ets"])
def test_a_robot_comes_back_from_every_format(suffix, tmp_path, capsys):
    file = tmp_path / f"arm{suffix}"
    assert main(["convert", "puma560", str(file), "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["file"] == str(file)
    assert isinstance(data["lost"], list)
    before, after = zveno.load("puma560"), zveno.load(file)
    q = np.linspace(-1.0, 1.0, 6)
    assert after.forward_kinematics(q) == pytest.approx(before.forward_kinematics(q), abs=1e-9)


def test_losses_and_bad_targets_are_said(tmp_path, capsys):
    assert main(["convert", "puma560", str(tmp_path / "arm.ets")]) == 0
    assert "Lost: puma560: " in " ".join(capsys.readouterr().out.split())
    assert main(["convert", "puma560", str(tmp_path / "arm.step")]) == 2
    assert ".urdf" in capsys.readouterr().err
    (tmp_path / "mine.urdf").write_text("<robot/>")
    assert main(["convert", "puma560", str(tmp_path / "mine.urdf")]) == 2
    assert (tmp_path / "mine.urdf").read_text() == "<robot/>"


UNWRITABLE = ["nowhere/x.txt", "folder", "folder/../arm.urdf", f"x.{'a' * 250}"]
"""Paths of --out beside arm.urdf: no such folder, a folder, the model itself, a name too long for its copy."""


@pytest.mark.parametrize("out", UNWRITABLE)
def test_no_model_is_written_where_the_answer_cannot_be(out, tmp_path, capsys):
    (tmp_path / "folder").mkdir()
    assert main(["convert", "planar2", str(tmp_path / "arm.urdf"), "--out", f"{tmp_path}/{out}"]) == 2
    assert capsys.readouterr().err.startswith("error: ")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]
