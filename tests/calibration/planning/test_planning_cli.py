"""The verb `plan`, and the pictures."""

from __future__ import annotations

import json

import numpy as np
import pytest

import zveno
from zveno.calibration.planning import evaluate_poses
from zveno.cli.options import Model, Output, Picture
from zveno.cli.plan import plan
from zveno.report.json import values

SMALL = {"measurement": "position", "n": 12, "candidates": 300}


def test_tables_for_people(capsys):
    plan("puma560", **SMALL, model=Model(deg=True))
    said = capsys.readouterr().out
    assert "12 postures of puma560" in said.replace("\n", " ")
    assert "joint1" in said
    assert " deg " in said
    assert "worst" in said
    assert "0.1 mm is assumed" in said


@pytest.mark.laws
def test_files_that_continue_each_other(capsys, tmp_path):
    first = tmp_path / "plan.csv"
    plan("puma560", **SMALL, sigma=5e-5, output=Output(out=first), picture=Picture(plot=tmp_path / "plan.png"))
    assert first.read_text().startswith("joint1 (rad),joint2 (rad)")
    assert (tmp_path / "plan.png").stat().st_size > 5000
    capsys.readouterr()
    plan("puma560", **SMALL | {"n": 4}, sigma=5e-5, existing=first, output=Output(json=True))
    data = json.loads(capsys.readouterr().out)
    assert data["measured_before"] == 12
    assert len(data["q"]) == 4
    assert all(one["sigma"] < one["sigma_before"] for one in data["parameters"])


@pytest.mark.laws
def test_contacts_continue_each_other_too(capsys, tmp_path):
    first = tmp_path / "plan.csv"
    plan("puma560", measurement="point", n=14, candidates=200, sigma=1e-4, output=Output(out=first))
    said = capsys.readouterr().out
    assert "Places to touch" in said
    assert first.read_text().splitlines()[0].endswith(",group")
    plan("puma560", measurement="point", n=3, candidates=200, existing=first, sigma=1e-4, output=Output(json=True))
    data = json.loads(capsys.readouterr().out)
    assert data["measured_before"] == 14
    assert set(data["groups"]) <= {line.rpartition(",")[2] for line in first.read_text().splitlines()[1:]}
    assert {place["name"].partition(":")[2] for place in data["places"]} == set(data["groups"])


def test_rules_from_the_command_line(capsys):
    box = (-0.9, -0.9, 0.0, 0.9, 0.9, 1.2)
    plan(
        "puma560", **SMALL, box=box, viewer=(2.0, 0.0, 0.5), half_angle=80.0, ground=-0.4, output=Output(json=True)
    )
    q = np.array(json.loads(capsys.readouterr().out)["q"])
    T = zveno.load("puma560").forward_kinematics(q)
    assert np.all((T[:, :3, 3] >= box[:3]) & (T[:, :3, 3] <= box[3:]))


def test_a_singular_plan_says_so():
    robot = zveno.load("puma560")
    postures = np.tile(robot.random((), 0), (20, 1))
    data = values(evaluate_poses(robot, "position", postures).describe())
    assert data["status"] == "singular"
    assert "stay unknown" in data["summary"]
    assert any(one["sigma"] is None for one in data["parameters"])


def test_bad_input_is_an_error_of_ours(tmp_path):
    with pytest.raises(zveno.ZvenoError, match="position"):
        plan("puma560", **SMALL | {"measurement": "positon"})
    with pytest.raises(zveno.ZvenoError, match="no such file"):
        plan("puma560", **SMALL, existing=tmp_path / "nothing.csv")
