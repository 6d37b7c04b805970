"""What the commands print and write: no digit lost, no unit left out, no name obeyed, no file lost."""

from __future__ import annotations

import csv
import json
import math
import re

import numpy as np
import pytest

import zveno
from zveno.cli import main
from zveno.report.columns import Column, print_columns, shortened
from zveno.report.console import ReportConsole, text_of

POSE = ["--at", "0.3", "-1", "0.9", "0.2", "0.5", "0.1"]
HOSTILE = "j[/x]\x1b[31m[bold]$x_$"
URDF = f"""<robot name="r{HOSTILE}"><link name="base{HOSTILE}"/><link name="tip{HOSTILE}">
<inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
<joint name="{HOSTILE}" type="revolute"><parent link="base{HOSTILE}"/><child link="tip{HOSTILE}"/>
<axis xyz="0 0 1"/><origin xyz="0.2 0 0"/><limit lower="-1" upper="1" velocity="1" effort="1"/></joint></robot>"""


def run(capsys, *words: str) -> str:
    assert main(list(words)) == 0, capsys.readouterr().err
    return capsys.readouterr().out


@pytest.mark.parametrize("columns", [30, 40, 60, 80, 200])
def test_tables_never_lose_digits(capsys, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    out = run(capsys, "ik", "ur5", *POSE, "--deg")
    robot = zveno.load("ur5")
    q = robot.ik(robot.forward_kinematics(np.radians([0.3, -1, 0.9, 0.2, 0.5, 0.1]))).q
    numbers = set(re.findall(r"-?\d+\.\d+", out))
    for value in np.degrees(q).ravel():
        assert f"{value:.2f}" in numbers
    assert max(map(len, out.splitlines())) <= max(columns, 45)
    assert "deg" in out


def test_only_joints_of_the_chain_are_shown():
    robot = zveno.load("quadruped").with_base("fixed")
    found = robot.ik(robot.forward_kinematics(robot.neutral(), "rear_left_foot"), "rear_left_foot", task="position")
    shown = [name for name in robot.joint_names if name in str(found)]
    assert shown == [name for name in robot.joint_names if name.startswith("rear_left")]


def test_a_pipe_gets_everything_on_one_line_a_solution(capsys, monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    out = run(capsys, "ik", "ur5", *POSE)
    head = next(line for line in out.splitlines() if line.startswith("#")).split()
    assert head[1:7] == list(zveno.load("ur5").joint_names)


def test_names_are_shortened_before_numbers():
    names = ["left_shoulder_joint", "left_elbow_joint", "left_wrist_joint"]
    assert shortened(names, [4, 4, 4], 30) == ["shoulder", "elbow", "wrist"]
    short = shortened(names, [4, 4, 4], 14)
    assert len(set(short)) == 3
    assert sum(map(len, short)) <= 14
    columns = [Column(name, ["-131.6412", "0.5000"], "deg") for name in names]
    for width in (12, 25, 40, 100):
        text = text_of(lambda console: print_columns(console, columns), width)
        assert text.count("-131.6412") == 3
        assert text.count("0.5000") == 3


@pytest.mark.laws
def test_every_written_column_names_its_unit(tmp_path, capsys):
    poses = tmp_path / "poses.txt"
    poses.write_text("0.4 0.1 0.4 0 0 0\n0.4 0.1 0.41 0 0 0\n")
    files = {
        "ik": ("ik", "puma560", "--poses", str(poses)),
        "path": ("ik", "puma560", "--path", str(poses)),
        "run": ("simulate", "puma560", "--duration", "0.01"),
        "plan": ("plan", "puma560", "--measurement", "position", "--n", "12", "--candidates", "50"),
    }
    for name, words in files.items():
        rows = {}
        for unit, flags in (("rad", ()), ("deg", ("--deg",))):
            file = tmp_path / f"{name}_{unit}.csv"
            run(capsys, *words, *flags, "--out", str(file))
            table = list(csv.DictReader(file.read_text().splitlines()))
            assert all(re.search(r"\(.+\)$", head) for head in table[0] if head not in ("pose", "group")), name
            column = next(head for head in table[0] if "joint2" in head)
            assert column.endswith(f"joint2 ({unit})")
            rows[unit] = np.array([float(row[column]) for row in table])
        if name != "plan":  # plans of few candidates may differ in ties
            np.testing.assert_allclose(np.degrees(rows["rad"]), rows["deg"], atol=1e-6)


def test_angles_are_typed_with_units(capsys):
    plain = json.loads(run(capsys, "fk", "puma560", "--json", *map(str, np.radians([20, -40, 30, 0, 90, 0]))))
    mixed = ["20deg", "-40deg", "pi/6", "0", "pi/2", "0rad"]
    assert np.allclose(json.loads(run(capsys, "fk", "puma560", "--json", *mixed))["T"], plain["T"])
    typed = ["20", "-40", "30deg", "0", "-pi/2 + pi", "0"]
    assert np.allclose(json.loads(run(capsys, "fk", "puma560", "--json", "--deg", *typed))["T"], plain["T"])
    assert main(["fk", "puma560", "joint1=20mm"]) == 2
    assert "joint1" in capsys.readouterr().err
    named = json.loads(run(capsys, "fk", "puma560", "--json", "joint5=-90deg"))
    assert math.isclose(named["q"]["joint5"], -math.pi / 2)


def test_fk_prints_in_the_unit_that_ik_reads(capsys):
    q = ["0.1", "-0.5", "0.2", "0.3", "0.4", "0.5"]
    for flags in ((), ("--deg",)):
        out = run(capsys, "fk", "puma560", *(["--deg"] if flags else []), *q)
        position = re.search(r"position, m +(.*)", out)[1].split()
        angles = re.search(r"roll pitch yaw, (?:rad|deg) +(.*)", out)[1].split()
        found = json.loads(run(capsys, "ik", "puma560", "--json", "--pose", *position, *angles, *flags))
        wanted = np.array(q, dtype=float) * (np.pi / 180 if flags else 1)
        assert abs(np.array(found["poses"][0]["solutions"]) - wanted).max(axis=1).min() < 1e-5


@pytest.mark.laws(after=1)
@pytest.mark.parametrize(
    "words",
    [
        ("info",),
        ("info", "--deg"),
        ("info", "--json"),
        ("fk", "--all"),
        ("ik", "--at", "0.1", "--position-only", "--method", "local"),
        ("dynamics",),
        ("base",),
        *(("base", "--format", format) for format in ("md", "csv", "json")),
        ("identifiability",),
        ("simulate", "--duration", "0.01"),
        ("plan", "--measurement", "distance", "--n", "8", "--candidates", "50", "--touching"),
        ("calibrate", "--template", "--measurement", "distance"),
        ("fk", "--frame", "no\x1b[31m[/x]such"),
    ],
    ids=" ".join,
)
def test_names_are_shown_and_never_obeyed(capsys, tmp_path, words):
    model = tmp_path / "hostile.urdf"
    model.write_text(URDF.replace("\x1b", "&#x9b;"))
    capsys.readouterr()
    code = main([words[0], str(model), *words[1:]])
    out, err = capsys.readouterr()
    assert code == (2 if "such" in words[-1] else 0), err
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", out + err)
    assert "[/x]" in out + err


def test_names_are_harmless_in_what_is_exported(capsys, tmp_path):
    model = tmp_path / "hostile.urdf"
    model.write_text(URDF.replace("\x1b", "&#x9b;").replace("[/x]", "[/x] */ int evil; /* "))
    out = tmp_path / "c"
    run(capsys, "export", str(model), "--functions", "forward_kinematics", "--no-measure", "--out", str(out))
    for path in out.iterdir():
        text = path.read_text()
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", text), path.name
        if path.suffix != ".md":
            assert "evil" not in re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL).replace("_evil", "")


@pytest.mark.laws
def test_pictures_take_any_name(capsys, tmp_path):
    model = tmp_path / "hostile.urdf"
    model.write_text(URDF.replace("\x1b", "&#x9b;"))
    for suffix in (".png", ".svg"):
        run(capsys, "info", str(model), "--plot", str(tmp_path / f"robot{suffix}"))
        run(capsys, "simulate", str(model), "--duration", "0.01", "--plot", str(tmp_path / f"run{suffix}"))


# --- files


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "arm.urdf"
    return zveno.load("puma560").write(path)


def test_an_input_is_never_overwritten(capsys, model):
    before = model.read_bytes()
    for verb in ("info", "fk", "dynamics", "base", "identifiability"):
        for flags in ((), ("--overwrite",)):
            assert main([verb, str(model), "--out", str(model), *flags]) == 2
            assert "is read as input" in capsys.readouterr().err
    link = model.with_name("same.urdf")
    link.hardlink_to(model)
    assert main(["info", str(model), "--out", str(link), "--overwrite"]) == 2
    assert model.read_bytes() == before


@pytest.mark.laws
def test_foreign_files_are_replaced_only_by_force(capsys, tmp_path):
    mine = tmp_path / "notes.txt"
    mine.write_text("mine")
    assert main(["info", "puma560", "--out", str(mine)]) == 2
    assert "--overwrite" in capsys.readouterr().err
    assert mine.read_text() == "mine"
    run(capsys, "info", "puma560", "--out", str(mine), "--overwrite")
    assert "joint1" in mine.read_text()
    for name in ("answer.json", "robot.png", "robot.svg"):  # what zveno wrote may be written again
        flag = "--out" if name.endswith("json") else "--plot"
        for _ in range(2):
            run(capsys, "info", "puma560", flag, str(tmp_path / name))
    picture = tmp_path / "photo.png"
    picture.write_bytes(b"\x89PNG of somebody")
    assert main(["info", "puma560", "--plot", str(picture)]) == 2
    assert picture.read_bytes() == b"\x89PNG of somebody"


def test_a_failure_leaves_what_was_there(capsys, tmp_path, monkeypatch):
    from zveno.report import mechanism as info

    out = tmp_path / "answer.txt"
    out.write_text("before")

    def fail(*_):
        raise RuntimeError("while printing")

    monkeypatch.setattr(info, "print_info", fail)
    assert main(["info", "puma560", "--out", str(out), "--overwrite"]) == 1
    assert out.read_text() == "before"
    assert [path.name for path in tmp_path.iterdir()] == ["answer.txt"]


def test_an_export_leaves_a_readme_alone(capsys, tmp_path):
    readme = tmp_path / "README_planar2.md"
    readme.write_text("# My project")
    functions = "forward_kinematics,base_inverse_dynamics"
    words = ["export", "planar2", "--functions", functions, "--no-measure", "--out", str(tmp_path)]
    assert main(words) == 2
    assert "README_planar2.md" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["README_planar2.md"]
    readme.unlink()
    for _ in range(2):
        run(capsys, *words)
    assert "zveno" in readme.read_text()


def test_sources_of_a_compensation_replace_nothing(capsys, tmp_path):
    mine = tmp_path / "compensate.c"
    mine.write_text("/* mine */")
    (tmp_path / "data.csv").write_text("joint1,joint2,x,y,z\n")
    assert main(["calibrate", "planar2", str(tmp_path / "data.csv"), "--compensation", str(tmp_path)]) == 2
    assert "compensate.c: it exists" in capsys.readouterr().err


def test_two_files_are_not_one(capsys, tmp_path):
    same = str(tmp_path / "run.csv")
    assert main(["simulate", "chain(2)", "--duration", "0.01", "--out", same, "--save", same]) == 2
    assert "target of two outputs" in capsys.readouterr().err


def test_the_console_shows_brackets_and_control_characters(monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    text = text_of(lambda console: console.print("a[b]c[/x]\x1b[31m"))
    assert text == "a[b]c[/x]\\x1b[31m"
    assert ReportConsole().width > 1000


def test_lines_of_a_pipe_do_not_end_in_blanks(capsys, monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    lines = run(capsys, "info", "puma560").splitlines()
    assert len(lines) > 10
    assert all(line == line.rstrip() for line in lines)
