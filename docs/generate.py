"""Writes the pages that follow from the sources: docs/reference/commands.md and docs/reference/api.md."""

from __future__ import annotations

import contextlib
import inspect
import io
import os
import re
from pathlib import Path
from typing import Any

import zveno
from zveno.cli import main
from zveno.cli.app import VERBS, usage

FOLDER = Path(__file__).parent / "reference"
FRAME = re.compile("[╭╮╰╯│─]")


def commands() -> str:
    """The help of every verb, as it stands on a terminal of 100 columns."""
    parts = ["# Commands\n", "What `zveno VERB --help` prints.\n", _block(usage())]
    for verb in VERBS:
        text = io.StringIO()
        with contextlib.redirect_stdout(text):
            main([verb, "--help"])
        lines = [FRAME.sub(" ", line).rstrip() for line in text.getvalue().splitlines()]
        parts += [f"## {verb}\n", _block("\n".join(line for line in lines if line.strip(" -")))]
    return "\n".join(parts)


def api() -> str:
    """Every public name with its signature and docstring; results and the robot with their methods."""
    parts = ["# Python\n", "Every public name of `zveno`, from its docstring.\n"]
    for name in sorted(zveno.__all__, key=str.lower):
        value = getattr(zveno, name)
        if inspect.ismodule(value):
            parts += [f"## zveno.{name}\n", _block(inspect.getdoc(value) or "")]
            continue
        parts += [f"## {name}\n", _block(_described(name, value))]
        if inspect.isclass(value) and issubclass(value, zveno.Result | zveno.Robot):
            for method, function in inspect.getmembers(value, inspect.isfunction):
                if not method.startswith("_") and inspect.getdoc(function):
                    parts += [f"### {name}.{method}\n", _block(_described(method, function))]
    return "\n".join(parts)


def _described(name: str, value: Any) -> str:
    try:
        signature = str(inspect.signature(value)).replace("zveno.", "")
    except (TypeError, ValueError):
        signature = ""
    if len(signature) > 90:
        signature = signature.replace(", ", ",\n    ").replace("(", "(\n    ", 1)
    return f"{name}{signature}\n\n{inspect.getdoc(value) or ''}"


def _block(text: str) -> str:
    return f"```text\n{text.rstrip()}\n```\n"


if __name__ == "__main__":
    os.environ |= {"COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb"}
    FOLDER.mkdir(exist_ok=True)
    for name, text in {"commands": commands(), "api": api()}.items():
        (FOLDER / f"{name}.md").write_text(text, encoding="utf-8")
        print("wrote", FOLDER / f"{name}.md")
