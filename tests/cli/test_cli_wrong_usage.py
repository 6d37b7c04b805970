"""Wrong usage ends with 2 and one line that has a remedy; nothing is written; JSON is JSON in any locale."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import zveno
from zveno.cli.app import main

WRONG = [
    "fk ur5 --bogus",
    "fk",
    "plan planar2 --starts -1",
    "plan planar2 --n x",
    "plan planar2 --rng -1",
    "fk planar2 joint1=1 joint1=2",
    "dynamics ur5 --payload 1 0 0 0 -1 0 0 0 0 0",
    "dynamics ur5 --v 1e300 0 0 0 0 0 --json",
    f"info ur5 --out {'a' * 300}",
    "convert planar2 out.urdf --out nowhere/x.txt",
    "simulate planar2 --duration 1 --sample-time 1e-12",
    "ik ur5 --bas 2",
    "info ur5 --out",
    "excite planar2 --rng -3",
    "demo --no-open",
    "fk ur5 --deg --deg",
    "ik ur5 --at",
    "ik ur5 --at 0 0 1 0 1 0 --position-only --task rotation",
    "simulate ur5 --target 1 1 1 1 1 1",
    "simulate ur5 --step 0.01",
    "simulate ur5 --integrator rk4 --rtol 1e-9",
    "plan planar2 --half-angle 3",
    "plan planar2 --sigma 1e-300",
    "plan planar2 --measurement position --viewer inf 0 0",
    "plan planar2 --candidates 99999999999999999999",
    f"plan planar2 --existing {'a' * 300}",
    "excite ur5 --rate 3",
    "excite ur5 --harmonics 99999999999999999999",
    "excite ur5 --duration 1e300",
    "identify ur5 x.csv --gears 100",
    "calibrate ur5 x.csv --cell 3",
    "calibrate ur5 x.csv --controller dh=a dh=b",
    "workspace planar2 --orientations 99999999999999999999",
    "info ur5 --payload -1",
    "info ur5 --gravity nan 0 0",
]


@pytest.mark.parametrize("line", WRONG)
def test_wrong_usage_is_one_line(line, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(line.split()) == 2
    out, err = capsys.readouterr()
    assert not out
    assert len(err.strip().splitlines()) == 1, err
    assert err.startswith("error: ")
    assert ". " in err, "a remedy follows what is wrong"
    assert not list(tmp_path.iterdir())


VALUES = ("nonsense", "", "nan", "-1", "1e300", "a=b", "nowhere/x.csv", "a" * 300, None)
"""Values of flags that most of them cannot have; None is no value at all."""
QUICK = {
    "info": "info planar2",
    "fk": "fk planar2 0.1 0.2",
    "convert": "convert planar2 out.urdf",
    "dynamics": "dynamics puma560",
    "ik": "ik planar2 --at 0.1 0.2 --position-only",
    "workspace": "workspace planar2 --cell 0.4 --orientations 2",
    "simulate": "simulate puma560 --duration 0.01",
    "base": "base planar2",
    "identifiability": "identifiability planar2 --measurement position",
    "plan": "plan planar2 --measurement position --n 6 --candidates 60",
    "calibrate": "calibrate planar2 data.csv --measurement position",
    "axes": "axes motions.csv out.ets",
    "identify": "identify planar2 log.csv",
    "export": "export planar2 --functions gravity_torque --no-measure --out c",
    "robots": "robots",
    "cache": "cache",
}
"""A quick line of each command; input files do not exist."""


@pytest.mark.laws
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", QUICK)
def test_every_flag_of_every_command_takes_or_refuses_any_value(name, capsys, tmp_path, monkeypatch):
    """Exit code 2 comes with one line with a remedy and nothing written, and 1 never."""
    monkeypatch.chdir(tmp_path)
    words = QUICK[name].split()
    main([name, "--help"])
    flags = dict(
        re.findall(r"^[│ ]{1,4}(--[a-z][\w-]*)(?:,? (\S.*?))?(?:  |$)", capsys.readouterr().out, re.MULTILINE)
    )
    assert len(flags) > 5
    wrong = []
    for flag in sorted(set(flags) - {"--help", "--verbose", "--debug", "--workers", *words}):
        for value in VALUES:
            code = main([*words, flag, *([] if value is None else [value])])
            out, err = capsys.readouterr()
            lines = [line for line in err.splitlines() if not line.startswith(("warning: ", "wrote "))]
            left = [path for path in tmp_path.iterdir() if code == 2]
            if code == 1 or (code == 2 and (out or left or len(lines) != 1 or ". " not in lines[0])):
                wrong.append((flag, value, code, err[:300], left))
            for path in tmp_path.iterdir():
                shutil.rmtree(path) if path.is_dir() else path.unlink()
    assert not wrong


def run(words, **options) -> subprocess.CompletedProcess:
    environment = os.environ | options.pop("environment", {})
    return subprocess.run([sys.executable, "-m", "zveno", *words], env=environment, timeout=60, **options)


@pytest.mark.laws
def test_json_is_json_in_any_locale(tmp_path):
    (tmp_path / "arm.urdf").write_text('<robot name="é"><link name="a"/></robot>', encoding="utf-8")
    done = run(
        ["info", str(tmp_path / "arm.urdf"), "--json"],
        capture_output=True,
        environment={"PYTHONIOENCODING": "ascii"},
    )
    assert done.returncode == 0
    assert json.loads(done.stdout)["name"] == "é"


@pytest.mark.laws
def test_closed_streams_are_no_error_of_ours():
    closed = subprocess.run(
        ["/bin/sh", "-c", 'exec "$0" -m zveno fk planar2 >&-', sys.executable], stderr=subprocess.PIPE, timeout=60
    )
    assert closed.returncode == 0
    assert not closed.stderr
    closed = subprocess.run(
        ["/bin/sh", "-c", 'exec "$0" -m zveno info - <&-', sys.executable], stderr=subprocess.PIPE, timeout=60
    )
    assert closed.returncode == 2
    assert b"standard input" in closed.stderr


@pytest.mark.laws
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no full device")
@pytest.mark.parametrize(
    "words", [["info", "ur5", "--json"], ["robots"], ["--help"], ["fk", "--help"]], ids=" ".join
)
def test_a_full_disk_is_one_line(words):
    with open("/dev/full", "wb") as full:
        done = run(words, stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 2
    assert done.stderr.startswith(b"error: the output cannot be written")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.laws
def test_an_endless_standard_input_is_refused():
    with open("/dev/zero", "rb") as endless:
        done = run(["info", "-"], stdin=endless, stderr=subprocess.PIPE)
    assert done.returncode == 2
    assert b"more than 128 MB" in done.stderr


@pytest.mark.parametrize(
    ("wrong", "meant"), [("--fram", "--frame"), ("--payloa", "--payload"), ("--grvity", "--gravity")]
)
def test_a_near_option_is_proposed(wrong, meant, capsys):
    assert main(["fk", "planar2", wrong, "x"]) == 2
    assert f"Perhaps you meant {meant}" in capsys.readouterr().err


WRITTEN = [
    "identify puma560 log.csv --write x.step",
    "identify puma560 log.csv --plot x.foo",
    "identify puma560 log.csv --report x.pdf",
    "calibrate ur5 data.csv --write x.step",
    "calibrate ur5 data.csv --controller bogus=x",
    "calibrate ur5 data.csv --controller ur=nowhere/x",
    "calibrate ur5 data.csv --compensation nowhere/x",
    "simulate ur5 --save x.foo",
    "simulate ur5 --plot nowhere/x.png",
    "workspace ur5 --plot x.foo",
    "plan ur5 --plot x.foo",
    "excite ur5 --out .",
    "ik ur5 --poses poses.csv --plot x.foo",
    "convert ur5 x.step",
]


@pytest.mark.parametrize("line", WRITTEN)
def test_outputs_are_checked_before_inputs_are_read(line, capsys, tmp_path, monkeypatch):
    """None of the input files exists: the error is about the output, so nothing was computed."""
    monkeypatch.chdir(tmp_path)
    words = line.split()
    assert main(words) == 2
    err = capsys.readouterr().err
    assert words[-1].removeprefix("ur=").split("=")[0] in err or Path(words[-1]).suffix in err
    assert "no such file" not in err
    assert not list(tmp_path.iterdir())


def test_poses_of_a_path_without_solution_are_counted(capsys, tmp_path):
    robot = zveno.load("ur5")
    T = robot.forward_kinematics(np.linspace([0.1, -1, 1, 0.2, 0.7, 0.1], [0.5, -1.2, 1.1, 0.3, 0.9, 0.2], 6))
    T[2:4, 0, 3] += 5.0
    np.save(tmp_path / "poses.npy", T)
    assert main(["ik", "ur5", "--path", str(tmp_path / "poses.npy"), "--out", str(tmp_path / "q.csv")]) == 3
    assert "2 of 6 poses of the path have no solution" in capsys.readouterr().err
    np.save(tmp_path / "poses.npy", np.delete(T, [2, 3], axis=0))
    assert main(["ik", "ur5", "--path", str(tmp_path / "poses.npy")]) == 0


@pytest.fixture
def inputs(tmp_path):
    """Inputs that keep commands busy for longer than the test waits."""
    rng = np.random.default_rng(0)
    robot = zveno.load("ur5")
    q = rng.uniform(-2.0, 2.0, (20_000, 6))
    T = robot.forward_kinematics(q)
    np.save(tmp_path / "poses.npy", T)
    head = [*robot.joint_names, "x", "y", "z"]
    write_table(tmp_path / "data.csv", head, q[:3000], T[:3000, :3, 3] + 1e-4 * rng.normal(size=(3000, 3)))
    t = 4e-3 * np.arange(50_000)
    w = rng.uniform(1.0, 5.0, 6)
    motion, v, a = np.sin(t[:, None] * w), w * np.cos(t[:, None] * w), -(w**2) * np.sin(t[:, None] * w)
    head = ["t", *(f"q{k}" for k in range(1, 7)), *(f"tau{k}" for k in range(1, 7))]
    write_table(tmp_path / "log.csv", head, t[:, None], motion, robot.inverse_dynamics(motion, v, a))
    return tmp_path


def write_table(file, head, *columns):
    np.savetxt(file, np.column_stack(columns), delimiter=",", header=",".join(head), comments="")


@pytest.mark.attack
@pytest.mark.parametrize(
    "line",
    [
        "ik ur5 --poses poses.npy --method certified --out out.json",
        "ik ur5 --poses poses.npy --method certified --workers 2 --out out.json",
        "workspace ur5 --cell 0.05 --orientations 60 --out out.json",
        "simulate ur5 --duration 3000 --save out.npz",
        "plan ur5 --n 60 --candidates 60000 --out out.csv",
        "calibrate ur5 data.csv --measurement position --write out.urdf",
        "identify ur5 log.csv --write out.urdf",
        "excite panda --out out.csv",
    ],
)
def test_interrupts_end_long_commands_and_leave_nothing(line, inputs):
    before = sorted(inputs.iterdir())
    interrupted = 0
    for seconds in (2.0, 3.5):
        process = subprocess.Popen(
            [sys.executable, "-m", "zveno", *line.split()],
            cwd=inputs,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        try:
            process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGINT)
        else:
            break
        try:
            # 0.14 s alone; a kernel that is being compiled is waited for
            _, err = process.communicate(timeout=6.0)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise
        assert process.returncode in (130, -signal.SIGINT)  # shells call both 130
        interrupted += 1
        if line.startswith("excite"):  # its best motion so far is kept
            assert err.endswith(b"interrupted\n")
        else:
            assert err == b"interrupted\n"
            assert sorted(inputs.iterdir()) == before
    if not interrupted:
        pytest.skip("this machine finished the command before it could be interrupted")
