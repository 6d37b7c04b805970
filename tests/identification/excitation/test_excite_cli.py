"""The verb `excite`."""

import json

import numpy as np
import pytest

import zveno
from zveno.cli import main

QUICK = ["--duration", "3"]


@pytest.mark.laws
def test_motion_picture_and_data(tmp_path, capsys):
    out, picture = tmp_path / "m.csv", tmp_path / "m.png"
    assert main(["excite", "planar2", *QUICK, "--rate", "50", "--out", str(out), "--plot", str(picture)]) == 0
    said = capsys.readouterr().out
    assert "base parameters" in said
    assert "% of limit" in said
    header, *rows = out.read_text().splitlines()
    assert header.startswith("t (s),q.")
    assert "(rad/s^2)" in header
    assert len(rows) == 151
    assert picture.stat().st_size > 10_000


def test_json_names_every_parameter(capsys):
    assert main(["excite", "planar2", *QUICK, "--json", "--velocity", "1", "2"]) == 0
    data = json.loads(capsys.readouterr().out)
    robot = zveno.load("planar2")
    assert [p["name"] for p in data["parameters"]] == list(robot.base_parameters(drives=True).names)
    assert np.shape(data["coefficients"])[1] == 2
    assert data["status"] == "planned"


@pytest.mark.laws
def test_a_saved_motion_is_complemented(tmp_path, capsys):
    robot = zveno.load("planar2")
    saved = zveno.identification.plan_excitation(robot, 3.0).save(tmp_path / "first.json")
    assert main(["excite", "planar2", *QUICK, "--existing", str(saved)]) == 0
    assert "before" in capsys.readouterr().out


def test_errors_are_one_line(capsys):
    assert main(["excite", "planar2", "--duration", "0"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: duration")
    assert error.count("\n") == 1
