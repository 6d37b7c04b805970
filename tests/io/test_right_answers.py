"""Files and command lines that once fooled a reader: each is read rightly, or refused by one error.

`demo` and checkpoints, which two more cases are about, no longer exist.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import zveno
from zveno import calibration, identification
from zveno.cli.app import main

FILES = Path(__file__).parents[3] / "shared" / "cases" / "right_answers" / "files"
pytestmark = pytest.mark.skipif(not FILES.is_dir(), reason="no cases beside the repository")
GB = 2**30


def refused(file: str, robot: str, words: str) -> None:
    with pytest.raises(zveno.ZvenoError, match=words) as error:
        calibration.read_dataset(FILES / file, zveno.load(robot), "position")
    assert file in str(error.value)


@pytest.mark.parametrize(
    ("file", "robot", "words"),
    [
        ("torque_is_no_posture.npz", "puma560", "no column for joint1.*torque_0"),
        ("sigma_is_no_reading.npz", "puma560", "no column x, y, z.*sigma_0"),
        ("names_against_shapes.npz", "planar2", "array q: has 3 columns, and the robot has 2"),
        ("complex_numbers.npz", "planar2", "array q: it holds complex numbers"),
        ("nan_joint.npz", "planar2", "array q, row 4: nan is not a finite number"),
        ("row_thousand_million.xlsx", "planar2", "row 10 stands behind row 1000000000"),
        ("row_order_forward.xlsx", "planar2", "row 10 stands behind row 100"),
        ("zip_version.xlsx", "planar2", r"packed in a way that is not read: .*9\.9"),
    ],
)
def test_measurements_are_refused(file, robot, words):
    if file.endswith(".xlsx"):
        pytest.importorskip("openpyxl")
    refused(file, robot, words)


def test_names_say_which_array_holds_the_joints():
    robot = zveno.load("Rz(q1) Tx(0.3) Rz(q2) Tx(0.3) Rz(q3) Tx(0.1)")
    campaign = calibration.read_dataset(FILES / "three_joints.npz", robot, "position")
    with np.load(FILES / "three_joints.npz") as arrays:
        np.testing.assert_array_equal(campaign.q, arrays["q"])
        np.testing.assert_array_equal(campaign.y, arrays["position"])


def test_a_robot_with_a_joint_called_nan_is_refused():
    with pytest.raises(zveno.ZvenoError, match=r"line 1, column 11: nan is not a finite number"):
        zveno.load(FILES / "nan_is_no_joint.ets")


@pytest.mark.parametrize("file", ["clock_first_row_huge.csv", "clock_first_row_negative.csv"])
def test_a_row_with_a_garbage_time_is_left_out(file):
    log = identification.read_log(FILES / file, zveno.load("planar2"))
    assert len(log) == 599
    assert log.duration == pytest.approx(1.196, abs=1e-6)
    assert any("line 2" in words and "left out" in words for words in log.account)


@pytest.mark.parametrize("file", ["topic_name_number.db3", "endless_schema.db3"])
def test_bags_are_refused(file):
    pytest.importorskip("rosbags")
    with pytest.raises(zveno.ZvenoError, match=file):
        identification.read_log(FILES / file, zveno.load("planar2"))


@pytest.mark.parametrize("file", ["plan_92.json", "plan_492.json"])
def test_results_whose_lists_do_not_fit_are_refused(file, tmp_path):
    text = (FILES / file).read_text()
    for old, new in (("Plan", "MeasurementPlan"), ("robot", "robot_name"), ("inputs", "inputs_hash")):
        text = text.replace(f'"class": "{old}"', f'"class": "{new}"').replace(f'"{old}": "', f'"{new}": "')
    (tmp_path / file).write_text(text)
    with pytest.raises(zveno.ZvenoError, match=f"{file}: is damaged"):
        zveno.load_result(tmp_path / file)


@pytest.mark.parametrize("file", ["one_point.urdf", "nodes_of_nodes.urdf"])
def test_meshes_that_cannot_be_drawn_do_not_stop_a_report(file, tmp_path):
    robot = zveno.load(FILES / file)
    page = robot.ik(robot.forward_kinematics([0.1])).report(tmp_path / "page.html")
    assert page.stat().st_size > 10_000


def test_columns_of_frames_are_matched_by_name(capsys):
    pytest.importorskip("pandas")
    program = (
        (FILES / "dataframe_order.py").read_text().replace("zveno.read_campaign", "zveno.calibration.read_dataset")
    )
    exec(compile(program, "dataframe_order.py", "exec"), {})
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in lines if "right" in line] == [["frame", "right"], ["series", "right"]]
    assert not any("WRONG" in line for line in lines)
    assert sum("refused:" in line for line in lines) == 3


def test_the_same_rows_in_two_files_count_once(capsys, tmp_path):
    def calibrated(*names: str) -> dict:
        out = tmp_path / f"{len(names)}.json"
        files = [str(FILES / name) for name in names]
        main(["calibrate", "planar2", *files, "--measurement", "position", "--out", str(out)])
        return json.loads(out.read_text())

    once, twice = calibrated("copy_a.csv"), calibrated("copy_a.csv", "copy_b.csv")
    assert twice["rows"] == once["rows"] == 24
    assert twice["parameters"] == once["parameters"]
    assert "repeat rows of copy_a.csv; they are left out" in capsys.readouterr().err


def commands() -> list[dict]:
    if not FILES.is_dir():
        return []
    lines = [json.loads(line) for line in (FILES / "command_lines.jsonl").read_text().splitlines()]
    # Streams and locales are in tests/cli/test_cli_wrong_usage.py, floors that nothing can satisfy in
    # tests/calibration/planning.
    apart = [line for line in lines if {"stdin", "stdout", "environment"} & set(line) or "--ground" in line["argv"]]
    return [line for line in lines if line not in apart]


@pytest.mark.parametrize("case", commands(), ids=lambda case: " ".join(case["argv"])[:60])
def test_wrong_command_lines_end_with_one_line_and_write_nothing(case, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in case.get("files", {}).items():
        Path(name).write_text(text)
    before = sorted(tmp_path.iterdir())
    assert main(case["argv"]) == case["exit"]
    out, err = capsys.readouterr()
    assert not out
    assert len(err.strip().splitlines()) == 1
    assert err.startswith("error: ")
    assert sorted(tmp_path.iterdir()) == before


READ = """
import sys, zveno
try:
    zveno.identification.read_log(sys.argv[1], zveno.load("planar2"))
except zveno.ZvenoError:
    pass
"""


@pytest.mark.attack  # writing them takes a minute
def test_bombs_end_within_two_gigabytes_and_twenty_seconds(tmp_path):
    pytest.importorskip("rosbags")
    subprocess.run([sys.executable, FILES / "make_bombs.py", tmp_path], check=True, timeout=200)
    for name in ("bytes.npz", "chunk.bag", "long_yaml"):
        subprocess.run(
            [sys.executable, "-c", READ, tmp_path / name],
            check=True,
            timeout=20,
            env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},  # every thread reserves address space
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (2 * GB, 2 * GB)),
        )
