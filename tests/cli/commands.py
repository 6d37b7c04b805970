"""Commands run in process, for tests."""

from __future__ import annotations

import json

import pytest

from zveno.cli import main


def run(capsys, *words):
    """Exit code, stdout and stderr of a command."""
    code = main(list(words))
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def answer(capsys, *words):
    """The JSON a command prints; it must succeed."""
    code, out, _ = run(capsys, *words, "--json")
    assert code == 0
    return json.loads(out, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))


def refused(capsys, *words) -> str:
    """The one line on stderr of a command that must be refused as bad input; warnings before it are dropped."""
    code, out, err = run(capsys, *words)
    assert code == 2
    assert out == ""
    lines = [line for line in err.splitlines() if not line.startswith("warning: ")]
    assert len(lines) == 1
    assert lines[0].startswith("error: ")
    return lines[0]
