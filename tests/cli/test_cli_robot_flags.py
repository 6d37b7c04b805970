"""--tool, --payload, --gravity, --base and --frame mean the same in every verb; files may come from stdin."""

from __future__ import annotations

import inspect
import io
import json
import re
import sys
import warnings
from dataclasses import fields

import numpy as np
import pytest
from commands import answer, refused, run

import zveno
from zveno.cli.app import VERBS, verb_function
from zveno.cli.options import Model, Output

Q = ["0.1", "-1.2", "0.3", "0.4", "0.5", "0.6"]
WITH_ROBOT = [verb for verb in VERBS if next(iter(inspect.signature(verb_function(verb)).parameters)) == "robot"]


@pytest.fixture(autouse=True)
def wide(monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")


def shifted(x: float, y: float, z: float) -> np.ndarray:
    T = np.eye(4)
    T[:3, 3] = x, y, z
    return T


def names(options) -> set[str]:
    return {"--" + field.name.replace("_", "-") for field in fields(options)}


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_the_shared_flags(capsys, verb):
    _, out, _ = run(capsys, verb, "--help")
    shown = set(re.findall(r"^. (--[\w-]+)", out, re.MULTILINE))
    assert names(Output) | (names(Model) if verb in WITH_ROBOT else set()) <= shown


def test_only_verbs_about_the_library_and_of_unknown_robots_take_no_robot():
    assert set(VERBS) - set(WITH_ROBOT) == {"robots", "cache", "axes"}


def test_a_tool_is_the_frame_meant(capsys):
    robot = zveno.load("ur5")
    q = np.array(list(map(float, Q)))
    T = robot.forward_kinematics(q) @ shifted(0.1, 0, 0.2)
    data = answer(capsys, "fk", "ur5", *Q, "--tool", "0.1", "0", "200mm")
    assert (data["frame"], data["link"]) == ("tool", robot.mechanism.default_frame.link)
    assert np.allclose(data["T"], T, atol=1e-14)
    by_transforms = answer(capsys, "fk", "ur5", *Q, "--tool", "Tx(0.1) Tz(0.2)")
    assert np.allclose(by_transforms["T"], T, atol=1e-14)
    mounted = answer(capsys, "fk", "ur5", *Q, "--tool", "0", "0", "0", "--frame", "upper_arm")
    assert np.allclose(mounted["T"], robot.forward_kinematics(q, frame="upper_arm"), atol=1e-14)
    turned = answer(capsys, "fk", "ur5", *Q, "--deg", "--tool", "0", "0", "0", "90", "0", "0")
    unturned = answer(capsys, "fk", "ur5", *Q, "--deg")
    assert np.allclose(np.array(turned["T"])[:3, 1], np.array(unturned["T"])[:3, 2], atol=1e-14)


def test_a_payload_hangs_at_the_tool(capsys):
    robot = zveno.load("ur5").with_tool(shifted(0, 0, 0.2))
    tensor = np.array([[0.02, 0.001, 0.0], [0.001, 0.03, 0.002], [0.0, 0.002, 0.04]])
    loaded = robot.with_payload(3.0, [0.01, 0.02, 0.03], tensor, frame="tool")
    words = ["--q", *Q, "--tool", "0", "0", "0.2", "--payload", "3", "0.01", "0.02", "0.03"]
    words += ["0.02", "0.001", "0.03", "0", "0.002", "0.04"]
    data = answer(capsys, "dynamics", "ur5", *words)
    q = np.array(list(map(float, Q)))
    assert np.allclose(data["gravity_torque"], loaded.gravity_torque(q), atol=1e-9)
    assert np.allclose(data["mass_matrix"], loaded.mass_matrix(q), atol=1e-9)
    mass = answer(capsys, "info", "ur5", "--payload", "3")["mass"] - answer(capsys, "info", "ur5")["mass"]
    assert mass == pytest.approx(3.0, abs=1e-12)


def test_gravity_and_base(capsys):
    assert answer(capsys, "info", "puma560", "--gravity", "0", "0", "-1.62")["gravity"] == [0, 0, -1.62]
    assert not np.any(answer(capsys, "dynamics", "puma560", "--gravity", "0", "0", "0")["gravity_torque"])
    assert answer(capsys, "info", "puma560", "--base", "free")["n_v"] == 12
    assert answer(capsys, "info", "biped", "--base", "fixed")["n_v"] == answer(capsys, "info", "biped")["n_v"] - 6
    inertia = [answer(capsys, "base", "puma560", *words)["table"] for words in ([], ["--gravity", "0", "0", "0"])]
    assert (len(inertia[0]), len(inertia[1])) == (36, 34)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--tool", "1", "2"], "--tool: 2 numbers are not a pose"),
        (["--tool", "x", "0", "0"], "'x' is not a number"),
        (["--tool", "Rz(q1)"], "q1"),
        (["--payload", "1", "2"], "--payload: a payload must have 1, 4 or 10 numbers, got 2"),
        (["--payload", "-1"], "must be finite and at least 0 kg"),
        (["--frame", "wrist_4"], "Did you mean wrist_"),
        (["--quiet", "--verbose"], "exclude each other"),
    ],
)
def test_what_cannot_be_meant_is_refused(capsys, words, message):
    assert message in refused(capsys, "fk", "ur5", *words)


# --- stdin


def pipe(monkeypatch, content: bytes):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content), encoding="utf-8"))


@pytest.mark.parametrize("suffix", ["urdf", "toml", "ets"])
def test_a_robot_from_stdin(capsys, monkeypatch, tmp_path, suffix):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", zveno.ZvenoWarning)  # what a format cannot hold is not asked for here
        file = zveno.load("puma560").write(tmp_path / f"puma.{suffix}")
    expected = answer(capsys, "fk", str(file), *Q)["T"]
    pipe(monkeypatch, file.read_bytes())
    assert answer(capsys, "fk", "-", *Q)["T"] == expected


def test_poses_from_stdin_and_out_to_stdout(capsys, monkeypatch):
    pipe(monkeypatch, b"0.4 0.1 0.3 0 0 0\n0.4 0.1 0.2 0 0 0\n")
    code, out, _ = run(capsys, "ik", "puma560", "--poses", "-", "--json", "--out", "-")
    assert code == 0
    assert len(json.loads(out)["poses"]) == 2
    pipe(monkeypatch, b" \n")
    assert "the standard input is empty" in refused(capsys, "ik", "puma560", "--poses", "-")


# --- how much is said


def test_quiet_and_verbose(capsys, tmp_path):
    file = tmp_path / "pose.json"
    words = ["fk", "puma560", "joint2=80", "--deg", "--out", str(file)]
    code, out, err = run(capsys, *words)
    assert "warning: outside the limits" in err
    assert "wrote" in err
    assert run(capsys, *words, "--quiet") == (0, "", "")
    assert run(capsys, "fk", "pume560", "--quiet")[2].startswith("error: there is no robot")
    code, out, err = run(capsys, "fk", "ur5", "--verbose")
    assert (code, out) == (0, run(capsys, "fk", "ur5")[1])
    assert "ur5: nominal: the tensors" in err
    assert "s of CPU" in err
