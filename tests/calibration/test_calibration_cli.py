"""The verbs `identifiability` and `calibrate`, called as the command line does."""

import json
import re

import numpy as np
import pytest
import tyro
from calibration_arms import arm, simulated, truth

from zveno.calibration._identifiability import identifiability as find
from zveno.calibration.measurements import Position
from zveno.cli import calibrate, identifiability
from zveno.errors import ZvenoError
from zveno.io.tables import write_measurements
from zveno.io.write import write_model


def _run(*words: str):
    tyro.extras.subcommand_cli_from_dict(
        {"calibrate": calibrate.calibrate, "identifiability": identifiability.identifiability},
        args=list(words),
        config=(tyro.conf.FlagCreatePairsOff, tyro.conf.OmitArgPrefixes),
    )


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("calibration")
    robot = arm("puma560")
    rng = np.random.default_rng(0)
    values = truth(robot, find(robot, "position").chosen, rng)
    campaign = simulated(robot, Position(), values, 60, rng, {"position": 5e-5})
    text = write_measurements(
        [*robot.joint_names, "x", "y", "z"],
        np.column_stack([np.rad2deg(campaign.q), 1e3 * campaign.y[:, 0]]),
        {"kind": "position", "unit": "mm", "angle": "deg", "frame": "tool"},
    )
    (folder / "data.csv").write_text(text)
    write_model(robot.mechanism, folder / "arm.urdf")
    return folder


def test_identifiability_prints_model_and_relations(capsys):
    _run("identifiability", "planar2")
    said = capsys.readouterr().out
    assert "14 of 20 parameters" in " ".join(said.split())
    assert "[Tx Ty Tz Rx Ry]o Rz(q1) [Tx Rx Ry]1 Rz(q2) [Tx Ty Rx Ry]2" in said
    assert "Tzo + Tz1 + Tz2" in said


def test_identifiability_as_json(capsys):
    _run("identifiability", "puma560", "--measurement", "relative_position", "--json")
    data = json.loads(capsys.readouterr().out)
    assert data["rank"] == 19
    assert data["formula"]["proved"] == 19
    assert data["formula"]["bound"] is None
    assert "1 axis passes through the measured point" in data["formula"]["why"]
    _run("identifiability", "puma560", "--measurement", "position", "--json")
    assert json.loads(capsys.readouterr().out)["formula"]["bound"] == 25
    _run("identifiability", "puma560", "--measurement", "position")
    assert "(20) = 25, at most 25 by (21), closure of twists 25: they agree" in " ".join(
        capsys.readouterr().out.split()
    )


@pytest.mark.laws
def test_calibrate_from_a_file(files, capsys):
    written = files / "calibrated.urdf"
    _run("calibrate", str(files / "arm.urdf"), str(files / "data.csv"), "--write", str(written))
    said = capsys.readouterr().out
    assert "postures not used" in said
    assert "Rzq2" in said
    assert written.exists()


@pytest.mark.laws
def test_calibrate_with_a_picture(files):
    picture = files / "map.png"
    _run("calibrate", str(files / "arm.urdf"), str(files / "data.csv"), "--folds", "0", "--plot", str(picture))
    assert picture.stat().st_size > 1000


def test_calibrate_as_json(files, capsys):
    _run(
        "calibrate",
        str(files / "arm.urdf"),
        str(files / "data.csv"),
        "--json",
        "--folds",
        "0",
        "--parameters",
        "offsets",
    )
    data = json.loads(capsys.readouterr().out)
    assert data["content"]["class"] == "Calibration"


def test_template(capsys):
    _run("calibrate", "puma560", "--template", "--measurement", "distance")
    assert capsys.readouterr().out.splitlines()[-1] == "joint1,joint2,joint3,joint4,joint5,joint6,d"


def test_no_data_is_refused():
    with pytest.raises(ZvenoError, match="no data file"):
        _run("calibrate", "puma560")


def test_sentences_follow_the_unit_of_angles(files, capsys):
    """With --deg no angle is in radians, wherever it stands; without it none is in degrees."""
    said = {}
    for words in ((), ("--deg",)):
        _run("calibrate", str(files / "arm.urdf"), str(files / "data.csv"), "--folds", "0", *words)
        said[words] = " ".join(capsys.readouterr().out.split())
    assert "0.5 mm or 1 mrad" in said[()]
    assert "°" not in said[()]
    assert not re.search(r"\bm?rad\b(?!/)", said["--deg",])
    assert "0.5 mm or 0.0573°" in said["--deg",]
