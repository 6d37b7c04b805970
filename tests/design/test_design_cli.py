"""The verb `plan`, and the pictures."""

from __future__ import annotations

import json

import numpy as np
import pytest

import zveno
from zveno.cli.options import Model, Output, Picture
from zveno.cli.plan import plan
from zveno.documents.calibration_001 import plan_study as study
from zveno.documents.calibration_001.pictures import draw_axis_errors, draw_study

SMALL = {"measurement": "position", "n": 12, "candidates": 300}


def test_tables_for_people(capsys):
    plan("puma560", **SMALL, model=Model(deg=True))
    said = capsys.readouterr().out
    assert "12 postures of puma560" in said.replace("\n", " ")
    assert "joint1" in said
    assert " deg " in said
    assert "worst" in said
    assert "more postures would" in said
    assert "0.1 mm is assumed" in said


def test_files_that_continue_each_other(capsys, tmp_path):
    first = tmp_path / "plan.csv"
    plan("puma560", **SMALL, sigma=5e-5, output=Output(out=first), picture=Picture(plot=tmp_path / "plan.png"))
    assert first.read_text().startswith("joint1 (rad),joint2 (rad)")
    assert (tmp_path / "plan.png").stat().st_size > 5000
    capsys.readouterr()
    plan("puma560", **SMALL | {"n": 4}, sigma=5e-5, have=first, output=Output(json=True))
    data = json.loads(capsys.readouterr().out)
    assert data["measured_before"] == 12
    assert len(data["q"]) == 4
    assert all(one["sigma"] < one["sigma_before"] for one in data["parameters"])


def test_contacts_continue_each_other_too(capsys, tmp_path):
    first = tmp_path / "plan.csv"
    plan("puma560", measurement="point", n=14, candidates=200, places=2, sigma=1e-4, output=Output(out=first))
    said = capsys.readouterr().out
    assert "what is touched" in said
    assert "more postures would" in said
    assert first.read_text().splitlines()[0].endswith(",group")
    plan("puma560", measurement="point", n=3, candidates=200, have=first, sigma=1e-4, output=Output(json=True))
    data = json.loads(capsys.readouterr().out)
    assert data["measured_before"] == 14
    assert set(data["groups"]) <= {"place1", "place2"}
    assert {place["name"].partition(":")[2] for place in data["places"]} == set(data["groups"])


def test_rules_from_the_command_line(capsys):
    box = (-0.9, -0.9, 0.0, 0.9, 0.9, 1.2)
    plan(
        "puma560", **SMALL, box=box, viewer=(2.0, 0.0, 0.5), half_angle=80.0, ground=-0.4, output=Output(json=True)
    )
    q = np.array(json.loads(capsys.readouterr().out)["q"])
    T = zveno.load("puma560").forward_kinematics(q)
    assert np.all((T[:, :3, 3] >= box[:3]) & (T[:, :3, 3] <= box[3:]))


def test_a_singular_plan_says_so(capsys):
    plan("puma560", **SMALL, criterion="T", output=Output(json=True))
    data = json.loads(capsys.readouterr().out)
    assert data["status"] == "singular"
    assert "stay unknown" in data["summary"]
    assert any(one["sigma"] is None for one in data["parameters"])


def test_bad_input_is_an_error_of_ours(tmp_path):
    with pytest.raises(zveno.ZvenoError, match="position"):
        plan("puma560", **SMALL | {"measurement": "positon"})
    with pytest.raises(zveno.ZvenoError, match="no such file"):
        plan("puma560", **SMALL, have=tmp_path / "nothing.csv")


def test_figures_are_drawn(tmp_path):
    one = draw_axis_errors(tmp_path / "one.png", range(3, 6))
    studies = {
        "a": study.simulate_study(study.usual_plan(), 20),
        "b": study.simulate_study(study.proposed_plan(), 20),
    }
    two = draw_study(studies, tmp_path / "two.svg")
    assert one.stat().st_size > 5000
    assert two.stat().st_size > 5000
    with pytest.raises(zveno.ZvenoError, match="cannot be written"):
        draw_axis_errors(one / "three.png", range(3, 6))
