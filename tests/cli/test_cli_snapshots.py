"""Help and error texts as they are: a change of them shows in a review.

`ZVENO_SNAPSHOTS=write python -m pytest tests/cli/test_cli_snapshots.py` writes them anew.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from commands import run

from zveno.cli.app import VERBS

FOLDER = Path(__file__).parent / "snapshots"
ERRORS = {
    "verb": ["inof"],
    "verb_unknown": ["xyzzy"],
    "flag": ["fk", "puma560", "--frme", "link3"],
    "choice": ["simulate", "puma560", "--base", "fre"],
    "robot": ["fk", "pume560"],
    "robot_missing": ["fk"],
    "file": ["info", "no/such.urdf"],
    "suffix": ["info", "tests/cli/commands.py"],
    "frame": ["fk", "puma560", "--frame", "lnk3"],
    "joint": ["fk", "puma560", "joint7=1"],
    "too_few": ["fk", "puma560", "1", "2"],
    "number": ["fk", "puma560", "joint1=1x"],
    "tool": ["fk", "puma560", "--tool", "1", "2"],
    "payload": ["fk", "puma560", "--payload", "1", "2"],
    "no_pose": ["ik", "puma560"],
    "method": ["ik", "puma560", "--at", "0", "0", "0", "0", "0", "0", "--method", "closed_from"],
    "measurement": ["identifiability", "puma560", "--measurement", "postion"],
    "report": ["fk", "puma560", "--report", "x.html"],
    "export": ["export", "puma560"],
    "export_function": ["export", "puma560", "--out", "c_code", "--functions", "inverse_dynamic"],
}
"""What people get wrong, and what they are told."""


@pytest.fixture(autouse=True)
def terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.chdir(Path(__file__).parents[2])


def plain(text: str) -> str:
    """Without the frames around help, which depend on the terminal, and without lists that grow."""
    text = re.sub(r"(Known|or a built-in): .*", r"\1: …", text)
    lines = [re.sub("[╭╮╰╯│─]", " ", line).rstrip() for line in text.splitlines()]
    return "\n".join(line for line in lines if line.strip(" -")) + "\n"


def compare(name: str, text: str) -> None:
    file = FOLDER / f"{name}.txt"
    if os.environ.get("ZVENO_SNAPSHOTS") == "write":
        FOLDER.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
    assert file.exists(), "ZVENO_SNAPSHOTS=write writes it"
    assert text == file.read_text(encoding="utf-8"), "if it is meant, ZVENO_SNAPSHOTS=write writes it anew"


@pytest.mark.parametrize("verb", ["", *VERBS])
def test_help(capsys, verb):
    code, out, err = run(capsys, *([verb] if verb else []), "--help")
    assert (code, err) == (0, "")
    compare(f"help_{verb}" if verb else "help", plain(out))


@pytest.mark.parametrize("name", ERRORS)
def test_error(capsys, name):
    code, out, err = run(capsys, *ERRORS[name])
    assert (code, out) == (2, "")
    compare(f"error_{name}", f"$ zveno {' '.join(ERRORS[name])}\n{plain(err)}")


def test_no_snapshot_is_left_over():
    expected = {"help", *(f"help_{verb}" for verb in VERBS), *(f"error_{name}" for name in ERRORS)}
    assert {file.stem for file in FOLDER.iterdir()} == expected
