"""Writes the pages that follow from the sources: commands.md, api.md and formats.md in docs/reference."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import io
import json
import os
import re
from pathlib import Path
from typing import Any

import zveno
from zveno.cli import main
from zveno.cli.app import VERBS, usage
from zveno.cli.schema import schema_of
from zveno.cli.schemas import FIELDS

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


FORMATS = {
    "Denavit–Hartenberg tables (.toml)": ("zveno.io.dh", None),
    "Elementary transforms (.ets)": ("zveno.io.elementary", None),
    "URDF, read": ("zveno.io.urdf", None),
    "URDF, written": ("zveno.io.write_urdf", None),
    "MJCF, read": ("zveno.io.mjcf", None),
    "Poses": ("zveno.ik.paths.pose_files", "read_poses"),
    "Measurements (.csv)": ("zveno.io.measurements", None),
    "Measurements: settings, columns, other files": ("zveno", "read_campaign"),
    "Recordings": ("zveno", "read_log"),
    "Results (.json)": ("zveno.io.results", None),
    "Motions (.npz, .csv, .parquet)": ("zveno", "Trajectory.save"),
}
"""What describes a format: the docstring of its module, or of the function that reads or writes it."""


def formats() -> str:
    """Every file format, from the docstring of what reads or writes it; then what `--json` prints, by verb."""
    parts = ["# File formats\n", "From the sources; [files](../files.md) says which to take.\n"]
    for title, (module, name) in FORMATS.items():
        value: Any = importlib.import_module(module)
        for part in [] if name is None else name.split("."):
            value = getattr(value, part)
        parts += [f"## {title}\n", _block(inspect.getdoc(value) or "")]
    parts += ["## What --json prints\n", "`zveno schema VERB` prints these schemas.\n"]
    for verb in FIELDS:
        parts += [f"### {verb}\n", _block(json.dumps(schema_of(verb), indent=1, ensure_ascii=False), "json")]
    return "\n".join(parts)


def _described(name: str, value: Any) -> str:
    try:
        signature = str(inspect.signature(value)).replace("zveno.", "")
    except (TypeError, ValueError):
        signature = ""
    if len(signature) > 90:
        signature = signature.replace(", ", ",\n    ").replace("(", "(\n    ", 1)
    return f"{name}{signature}\n\n{inspect.getdoc(value) or ''}"


def _block(text: str, language: str = "text") -> str:
    return f"```{language}\n{text.rstrip()}\n```\n"


if __name__ == "__main__":
    os.environ |= {"COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb"}
    FOLDER.mkdir(exist_ok=True)
    for name, text in {"commands": commands(), "api": api(), "formats": formats()}.items():
        (FOLDER / f"{name}.md").write_text(text, encoding="utf-8")
        print("wrote", FOLDER / f"{name}.md")
