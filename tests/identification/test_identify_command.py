"""`zveno identify`, its picture, and recordings that cannot be used: one line each, and an exit code."""

import json

import numpy as np
import pytest
from simulated_logs import Friction, simulated_logs

import zveno
from zveno import identification
from zveno.cli import main

LINK = """<link name="{}"><inertial><origin xyz="0.2 0 0.02"/><mass value="{}"/>
<inertia ixx="0.01" ixy="0" ixz="0" iyy="0.05" iyz="0" izz="0.05"/></inertial></link>"""
JOINT = """<joint name="joint{}" type="revolute"><parent link="{}"/><child link="{}"/><origin xyz="{} 0 0"/>
<axis xyz="0 1 0"/><limit lower="-2" upper="2" velocity="3" effort="100"/></joint>"""
ARM = f"""<robot name="arm"><link name="base"/>{LINK.format("upper", 4)}{LINK.format("lower", 2)}
{JOINT.format(1, "base", "upper", 0)}{JOINT.format(2, "upper", "lower", 0.4)}</robot>"""
"""Two links in a vertical plane."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("logs")
    (place / "arm.urdf").write_text(ARM)
    robot = zveno.load(place / "arm.urdf")
    runs = simulated_logs(robot, Friction(viscous=0.5, coulomb=0.8), runs=2, seconds=12.0, rate=250.0, rng=3)
    for name, run in zip(("log", "other"), runs, strict=True):
        write(place / f"{name}.csv", run.log.arrays())
    return place


def write(file, block, names=("t", "q1", "q2", "tau1", "tau2")):
    rows = np.column_stack([block.t, block.q, block.tau])
    text = [",".join(names), *(",".join(f"{x:.12g}" for x in row) for row in rows)]
    file.write_text("\n".join(text))
    return file


@pytest.mark.laws
def test_from_a_file_to_a_robot(folder, capsys):
    urdf, picture = folder / "found.urdf", folder / "found.png"
    log = str(folder / "log.csv")
    assert (
        main(
            [
                "identify",
                str(folder / "arm.urdf"),
                log,
                "--write",
                str(urdf),
                "--plot",
                str(picture),
                "--friction-terms",
                "basic",
            ]
        )
        == 0
    )
    text = capsys.readouterr()
    assert "Usable: torques up to" in text.out
    assert "position: q1 → joint1, q2 → joint2" in text.out
    assert "Held-out errors" in text.out
    assert "Fv1" in text.out
    assert f"wrote {urdf}" in text.err
    found = zveno.load(urdf)
    assert found.mechanism.joint("joint1").drive.viscous[0] == pytest.approx(0.5, rel=0.1)
    assert found.mechanism.joint("joint2").drive.coulomb[0] == pytest.approx(0.8, rel=0.1)
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_data_for_programs_and_other_logs_to_judge_by(folder, capsys):
    log, other = str(folder / "log.csv"), str(folder / "other.csv")
    assert (
        main(
            ["identify", str(folder / "arm.urdf"), log, "--validate", other, "--friction-terms", "basic", "--json"]
        )
        == 0
    )
    data = json.loads(capsys.readouterr().out)
    assert data["status"] == "usable"
    assert data["held_out"] == "logs"
    assert [one["source"] for one in data["logs"]] == ["log.csv", "other.csv"]
    assert data["overall"]["identified"] < 0.1
    assert len(data["covariance"]) == len(data["parameters"])
    robot = zveno.load(folder / "arm.urdf")
    recording, others = identification.read_log(log, robot), identification.read_log(other, robot)
    same = robot.identify(recording, validation=others, friction_terms="basic")
    assert data["overall"]["identified"] == pytest.approx(same.validation.overall["identified"], rel=1e-9)


def test_not_usable_has_its_exit_code_and_writes_nothing(folder, capsys):
    """Torques that have nothing to do with the motion."""
    block = identification.read_log(folder / "log.csv", zveno.load(folder / "arm.urdf")).arrays()
    rng = np.random.default_rng(0)
    noise = np.cumsum(rng.normal(size=block.tau.shape), axis=0)
    spoilt = write(folder / "noise.csv", type(block)(block.t, block.q, None, noise - noise.mean(axis=0)))
    urdf = folder / "never.urdf"
    assert (
        main(["identify", str(folder / "arm.urdf"), str(spoilt), "--write", str(urdf), "--friction-terms", "basic"])
        == 3
    )
    assert "no model was written" in capsys.readouterr().err
    assert not urdf.exists()
    assert (
        main(
            [
                "identify",
                str(folder / "arm.urdf"),
                str(spoilt),
                "--write",
                str(urdf),
                "--friction-terms",
                "basic",
                "--overwrite",
            ]
        )
        == 0
    )
    assert urdf.exists()


def spoilt(folder, change):
    block = identification.read_log(folder / "log.csv", zveno.load(folder / "arm.urdf")).arrays()
    t, q, tau = change(block.t.copy(), block.q.copy(), block.tau.copy())
    return write(folder / "bad.csv", type(block)(t, q, None, tau))


BAD = {
    "too short": (lambda t, q, tau: (t[:6], q[:6], tau[:6]), "rows that can be used"),
    "shorter than the filters": (lambda t, q, tau: (t[:40], q[:40], tau[:40]), "need more than|parameters need"),
    "at rest": (lambda t, q, tau: (t, 0 * q + 0.3, tau), "no joint moves"),
    "not a number": (lambda t, q, tau: (t, q * np.nan, tau), "0 rows that can be used"),
    "time": (lambda t, q, tau: (0 * t, q, tau), "time does not increase"),
    "time backwards": (lambda t, q, tau: (t[::-1], q, tau), "time does not increase"),
}


@pytest.mark.parametrize("kind", BAD)
def test_one_clear_message(folder, kind, capsys):
    change, words = BAD[kind]
    assert main(["identify", str(folder / "arm.urdf"), str(spoilt(folder, change))]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert error.count("\n") == 1
    assert any(word in error for word in words.split("|"))


def test_other_robots_columns_and_flags(folder, capsys):
    log = str(folder / "log.csv")
    for words, message in (
        (["identify", "puma560", log], "has no columns for the position of 6 joints"),
        (["identify", str(folder / "arm.urdf"), log, "--columns", "position=x*"], "no column is like 'x*'"),
        (["identify", str(folder / "arm.urdf"), log, "--columns", "position"], "is not a pair"),
        (["identify", str(folder / "arm.urdf"), log, "--units", "position=parsec"], "not a unit of a position"),
        (["identify", str(folder / "arm.urdf")], "there is no recording"),
        (["identify", str(folder / "arm.urdf"), str(folder / "none.csv")], "no such file"),
        (["identify", str(folder / "arm.urdf"), log, "--gains", "1", "2", "3"], "gains are"),
        (
            ["identify", str(folder / "arm.urdf"), log, "--gears", "100"],
            "gears: are given for a recording at the joints",
        ),
        (["identify", str(folder / "arm.urdf"), log, "--out", log], "is read as input"),
    ):
        assert main(words) == 2
        assert message in capsys.readouterr().err


def test_a_recording_of_another_robot_with_as_many_joints(folder, capsys):
    """Its first axis is vertical: friction alone explains the torques as well as this robot does."""
    (folder / "another.urdf").write_text(ARM.replace('<axis xyz="0 1 0"/>', '<axis xyz="0 0 1"/>', 1))
    words = [str(folder / "another.urdf"), str(folder / "log.csv"), "--friction-terms", "basic"]
    assert main(["identify", *words, "--write", str(folder / "another_found.urdf")]) == 3
    text = " ".join(capsys.readouterr().out.split())
    assert "Is it a recording of this robot" in text
    assert not (folder / "another_found.urdf").exists()


def test_samples_missing_here_and_there(folder, capsys):
    """Irregular sampling and a gap: identified all the same."""
    keep = np.random.default_rng(0).random(3000) < 0.9
    keep[1000:1300] = False
    file = spoilt(folder, lambda t, q, tau: (t[keep], q[keep], tau[keep]))
    assert main(["identify", str(folder / "arm.urdf"), str(file), "--friction-terms", "basic"]) == 0
    text = capsys.readouterr().out
    assert "2 segments" in text
    assert "Usable" in text


@pytest.mark.laws
def test_several_logs_by_workers(folder, capsys):
    """The same numbers as in one process, whoever sums the logs."""
    command = ["identify", str(folder / "arm.urdf"), str(folder / "log.csv"), str(folder / "other.csv")]
    command += ["--friction-terms", "basic", "--json"]
    assert main(command) == 0
    alone = json.loads(capsys.readouterr().out)
    assert main([*command, "--workers", "2"]) == 0
    assert json.loads(capsys.readouterr().out) == alone
