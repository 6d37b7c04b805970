"""Every command with arguments shows an example, and the flags of the example exist."""

from __future__ import annotations

import inspect
import re

import pytest
from commands import run

from zveno.cli.app import VERBS, verb_function

WITHOUT = {"robots"}
"""Commands without arguments."""


@pytest.mark.parametrize("verb", sorted(set(VERBS) - WITHOUT))
def test_the_help_shows_an_example(capsys, verb):
    text = " ".join((inspect.getdoc(verb_function(verb)) or "").split())
    examples = re.findall(rf"`(zveno {verb} [^`]+)`", text)
    assert examples, f"give {verb} an example"
    code, out, _ = run(capsys, verb, "--help")
    assert code == 0
    shown = " ".join(out.split())
    for example in examples:
        assert example in shown
        for flag in re.findall(r"--[a-z][\w-]*", example):
            assert f"{flag} " in shown.replace(example, ""), f"{example}: {flag} is not an option"
