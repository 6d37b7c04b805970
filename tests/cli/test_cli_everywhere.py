"""Every verb prints on narrow and wide screens, on a terminal that knows ASCII only, into a pipe that closes."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys

import pytest
from commands import run
from json_examples import EXAMPLES, write_files

UNUSABLE = 3
ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
COMMANDS = [commands[0] for commands in EXAMPLES.values()]
ALL_OF_THEM = """
import json, sys
from zveno.cli import main
codes = []
for words in json.load(open("commands.json")):
    sys.argv = ["zveno", *words]
    codes.append(main())
json.dump(codes, open("codes.json", "w"))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("everywhere")
    write_files(place)
    (place / "commands.json").write_text(json.dumps([[*words, "--overwrite"] for words in COMMANDS]))
    return place


@pytest.mark.laws(after=2)
@pytest.mark.parametrize("columns", [60, 200])
@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: words[0])
def test_lines_are_no_wider_than_the_screen(capsys, monkeypatch, folder, words, columns):
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("ZVENO_CACHE_DIR", str(folder / "cache")) if words[0] == "cache" else None
    code, out, err = run(capsys, *words, "--overwrite")
    assert code in (0, UNUSABLE), err
    assert out.strip()
    assert not ESCAPE.search(out), "colours are for terminals"
    wide = [line for line in out.splitlines() if len(line) > columns]
    assert [line for line in wide if "/" not in max(line.split(), key=len)] == [], "only paths are not broken"


@pytest.mark.laws
@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
@pytest.mark.parametrize("color", [False, True])
def test_a_terminal_of_60_columns_that_knows_ascii_only(folder, color):
    import fcntl
    import pty
    import struct
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 60, 0, 0))
    hidden = {"COLUMNS", "NO_COLOR", "PYTHONUTF8", "ZVENO_CACHE_DIR"}
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    environment |= {"PYTHONIOENCODING": "ascii", "TERM": "xterm", "ZVENO_CACHE_DIR": str(folder / "cache")}
    environment |= {} if color else {"NO_COLOR": "1"}
    process = subprocess.Popen(
        [sys.executable, "-c", ALL_OF_THEM], cwd=folder, env=environment, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    printed = b""
    while part := _read(ours):
        printed += part
    assert process.wait(timeout=250) == 0
    text = printed.decode("ascii")
    assert "Traceback" not in text
    assert not re.search(r"^error: ", text, re.MULTILINE)
    assert set(json.loads((folder / "codes.json").read_text())) <= {0, UNUSABLE}
    assert bool(re.search(r"\x1b\[[0-9;]*[1-9][0-9]*m", text)) == color, "bold and colours unless NO_COLOR is set"


def _read(stream: int) -> bytes:
    try:
        return os.read(stream, 65536)
    except OSError:  # Linux says so when the other side is closed
        return b""


@pytest.mark.laws
@pytest.mark.parametrize("words", [["info", "puma560"], ["ik", *COMMANDS[4][1:]]], ids=lambda w: w[0])
def test_a_reader_that_goes_away_is_no_error(folder, words):
    command = [sys.executable, "-m", "zveno", *words]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.close()
    _, err = process.communicate(timeout=250)
    assert (process.returncode, err) == (141, b"")


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_without_colours_a_terminal_keeps_its_width(folder):
    """A terminal of 60 columns with NO_COLOR: rich takes what has no colours for 80 columns wide."""
    import fcntl
    import pty
    import struct
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 60, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    command = [sys.executable, "-m", "zveno", "info", "ur5"]
    process = subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment | {"NO_COLOR": "1", "TERM": "xterm"}
    )
    os.close(theirs)
    printed = b""
    with contextlib.suppress(OSError):  # the end of a pseudo-terminal
        while part := os.read(ours, 65536):
            printed += part
    os.close(ours)
    assert process.wait(60) == 0
    lines = printed.decode().splitlines()
    assert len(lines) > 10
    assert max(map(len, lines)) <= 60
    assert not ESCAPE.search(printed.decode())
