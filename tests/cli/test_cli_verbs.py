"""Help, files, exit codes, and one line for what a user can get wrong."""

from __future__ import annotations

import ast
import inspect
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from commands import answer, refused, run

import zveno
from zveno.cli.app import VERBS, verb_function


@pytest.fixture(autouse=True)
def wide(monkeypatch, tmp_path):
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("ZVENO_CACHE_DIR", str(tmp_path / "cache"))


def test_robots_lists_all_with_sources(capsys):
    from zveno import robots

    entries = answer(capsys, "robots")["robots"]
    assert [entry["name"] for entry in entries] == list(robots.names())
    assert all(entry["source"] for entry in entries)
    _, out, _ = run(capsys, "robots")
    assert "puma560  6 revolute, 36.45 kg" in out


def test_cache_is_shown_and_cleared(capsys, tmp_path):
    from zveno.kernels import cache

    assert answer(capsys, "cache")["entries"] == 0
    cache.write("abc", {}, b"x" * 1000)
    state = answer(capsys, "cache")
    assert (state["entries"], state["directory"]) == (1, str(tmp_path / "cache"))
    assert state["bytes"] > 1000
    assert "entries    1" in run(capsys, "cache")[1]
    cleared = answer(capsys, "cache", "--clear")
    assert (cleared["removed"], cleared["entries"]) == (1, 0)


def test_help_names_verbs_and_exit_codes(capsys):
    code, out, _ = run(capsys, "--help")
    assert code == 0
    for word in ("info", "fk", "robots", "cache", "Exit codes", "130"):
        assert word in out
    for verb in VERBS:
        assert f"\n  {verb} " in out
        code, text, _ = run(capsys, verb, "--help")
        assert code == 0
        assert f"usage: zveno {verb}" in text
        assert all(flag in text for flag in ("--json", "--out", "--debug"))
    assert run(capsys)[:2] == run(capsys, "--help")[:2]


@pytest.mark.parametrize("verb", ["", *VERBS])
def test_help_fits_a_terminal_of_80_columns(capsys, monkeypatch, verb):
    monkeypatch.setenv("COLUMNS", "80")
    lines = run(capsys, *([verb] if verb else []), "--help")[1].splitlines()
    words = [line for line in lines if not line.startswith("usage: ")]  # which argparse does not break
    assert max(map(len, words)) <= 80, max(words, key=len)


@pytest.mark.parametrize("verb", ["calibrate", "identifiability", "plan"])
def test_help_names_every_kind_of_measurement(capsys, verb):
    from zveno.calibration.measurements import KINDS

    words = re.sub(r"[│\s]+", " ", run(capsys, verb, "--help")[1])
    assert all(kind in words for kind in KINDS)


def test_the_list_of_verbs_says_what_their_help_says():
    for name, verb in VERBS.items():
        assert verb.line == inspect.getdoc(verb_function(name)).splitlines()[0]


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["inof"]])
def test_help_version_and_typos_import_nothing_heavy(words):
    program = f"import sys; from zveno.cli import main; main({words}); print(sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    modules = ast.literal_eval(done.stdout.splitlines()[-1])
    assert not {"numpy", "scipy", "rich", "tyro", "llvmlite"} & set(modules)


def test_the_version_and_a_verb_that_does_not_exist(capsys):
    assert run(capsys, "--version") == (0, f"zveno {zveno.__version__}\n", "")
    assert refused(capsys, "inof") == "error: there is no command 'inof'. Did you mean info?"
    assert "lists the commands" in refused(capsys, "xyzzy")


def test_no_color_means_no_color(capsys, monkeypatch):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm-256color")
    assert "\x1b[" in run(capsys, "fk", "--help")[1]
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[" not in run(capsys, "fk", "--help")[1]
    assert os.environ["TERM"] == "xterm-256color"


def test_a_verb_does_not_import_the_others():
    program = "import sys; from zveno.cli import main; main(['robots', '--json']); print(sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    modules = done.stdout.splitlines()[-1]
    assert "zveno.cli.verbs" in modules
    assert "zveno.cli.ik" not in modules


# --- where answers go


def test_out_writes_text_or_json(capsys, tmp_path):
    text, data = tmp_path / "pose.txt", tmp_path / "pose.json"
    code, out, err = run(capsys, "fk", "puma560", "--out", str(text))
    assert (code, out, err) == (0, "", f"wrote {text}\n")
    assert "T_world_link6" in text.read_text(encoding="utf-8")
    assert run(capsys, "fk", "puma560", "--out", str(data))[0] == 0
    assert json.loads(data.read_text(encoding="utf-8"))["frame"] == "link6"
    assert "cannot be written" in refused(capsys, "fk", "puma560", "--out", str(tmp_path / "none" / "x.txt"))


def test_a_closed_pipe_is_quiet():
    words = [sys.executable, "-m", "zveno", "robots"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.close()
    _, err = process.communicate(timeout=250)
    assert err == b""
    assert process.returncode == 141


@pytest.mark.laws(after=1)
@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_terminal_without_the_characters_spells_them(encoding):
    environment = os.environ | {"PYTHONIOENCODING": encoding}
    run = subprocess.run([sys.executable, "-m", "zveno", "info", "puma560"], capture_output=True, env=environment)
    assert run.returncode == 0
    out = run.stdout.decode(encoding)
    assert "`- joint1" in out
    assert "-2.793 ... 2.793 rad" in out
    assert "?" not in out


def test_the_module_and_its_exit_code():
    run = subprocess.run(
        [sys.executable, "-m", "zveno", "fk", "pume560"],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONIOENCODING": "utf-8"},
        check=False,
    )
    assert run.returncode == 2
    assert run.stderr.startswith("error: there is no robot named 'pume560'. Did you mean puma560?")


# --- what can go wrong


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["fk", "pume560"], "Did you mean puma560?"),
        (["info", "no/such.urdf"], "there is no such file"),
        (["fk", "puma560", "1", "2"], "must have 6 numbers"),
        (["fk", "puma560", "nan", "0", "0", "0", "0", "0"], "not a finite number"),
        (["fk", "puma560", "0", "-inf", "0", "0", "0", "0"], "not a finite number"),
        (["fk", "puma560", "0", "0", "0", "0", "0", "x"], "'x' is not a number"),
        (["fk", "puma560", "joint1="], "'' is not a number"),
        (["fk", "puma560", "joint7=1"], "Did you mean joint"),
        (["fk", "puma560", "joint1=1", "2"], "Give numbers only, or pairs only"),
        (["fk", "puma560", "joint1=1,2"], "2 number(s) given for 1 coordinate(s)"),
        (["fk", "puma560", "--frame", "link7"], "Did you mean link"),
        (["info", "puma560", "--frame", "link7"], "Did you mean link"),
        (["fk", "biped"], "the frame must be named"),
        (["fk", "biped", "floating_base=0,0,0,2,0,0,0", "--frame", "pelvis"], "unit quaternion"),
        (["fk", "puma560", "--plot", "picture.bmp"], "Use .png or .svg"),
        (["info", "puma560", "--plot", "picture"], "Use .png or .svg"),
    ],
)
def test_bad_input_is_one_line_with_the_remedy(capsys, words, message):
    assert message in refused(capsys, *words)


@pytest.mark.parametrize("words", [["fly"], ["fk"], ["fk", "puma560", "--jsn"], ["cache", "puma560"]])
def test_bad_usage_has_the_same_exit_code(capsys, words):
    code, out, err = run(capsys, *words)
    assert (code, out) == (2, "")
    assert err


def test_debug_shows_the_traceback(capsys):
    code, _, err = run(capsys, "fk", "pume560", "--debug")
    assert code == 2
    assert "Traceback" in err
    assert err.splitlines()[-1].startswith("error: ")


@pytest.mark.parametrize(
    ("failure", "code", "message"),
    [
        (RuntimeError("a\nbug"), 1, "error in zveno: RuntimeError: a bug (--debug shows where)"),
        (KeyboardInterrupt(), 130, "interrupted"),
    ],
)
def test_our_own_errors_and_interrupts(capsys, monkeypatch, failure, code, message):
    def fail(*arguments, **options):
        raise failure

    monkeypatch.setattr("zveno.io.load.load_mechanism", fail)
    found, out, err = run(capsys, "info", "puma560")
    assert (found, out, err) == (code, "", message + "\n")


def test_the_page_has_the_exit_codes():
    from zveno.cli import app, output

    page = (Path(__file__).parents[2] / "docs" / "command_line.md").read_text(encoding="utf-8")
    table = page.partition("## Exit codes")[2].partition("\n## ")[0]
    codes = {app.OK, app.FAILED, app.BAD_INPUT, output.UNUSABLE, app.INTERRUPTED, app.CLOSED_PIPE}
    assert {int(code) for code in re.findall(r"^\| (\d+) \|", table, re.MULTILINE)} == codes


def test_pictures_without_matplotlib_say_what_to_install(capsys, monkeypatch):
    for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert "pip install 'zveno[plot]'" in refused(capsys, "fk", "puma560", "--plot", "x.png")


def test_the_parser_prints_a_script_that_completes_verbs(capsys):
    code, out, _ = run(capsys, "--tyro-print-completion", "bash")
    assert code == 0
    assert all(verb in out for verb in ("identifiability", "simulate", "--gravity"))
