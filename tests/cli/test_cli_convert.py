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
