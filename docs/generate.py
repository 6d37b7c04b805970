"""Writes the pages that follow from the sources: commands.md, api.md and formats.md in docs/reference."""

from __future__ import annotations

import contextlib
import importlib
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
JOBS = ("ik", "simulation", "calibration", "identification", "walking", "base_parameters", "scanning", "documents")
FRAME = re.compile("[╭╮╰╯│─]")


def commands() -> str:
    """The help of every command, as it stands on a terminal of 100 columns."""
    parts = ["# Commands\n", "What `zveno COMMAND --help` prints.\n", _block(usage())]
    for verb in VERBS:
        text = io.StringIO()
        with contextlib.redirect_stdout(text):
            main([verb, "--help"])
        lines = [FRAME.sub(" ", line).rstrip() for line in text.getvalue().splitlines()]
        parts += [f"## {verb}\n", _block("\n".join(line for line in lines if line.strip(" -")))]
    return "\n".join(parts)


def api() -> str:
    """Every public name by job, with its signature and docstring; results and the robot with their methods."""
    parts = ["# Python\n", "Every public name, by job, from its docstring.\n"]
    for module in (zveno, *(getattr(zveno, job) for job in JOBS)):
        parts += [f"## {module.__name__}\n", inspect.getdoc(module) or "", ""]
        for name in sorted(module.__all__, key=str.lower):
            value = getattr(module, name)
            if inspect.ismodule(value):
                if name not in JOBS:
                    parts += [f"### zveno.{name}\n", _block(inspect.getdoc(value) or "")]
                continue
            parts += [f"### {name}\n", _block(_described(name, value))]
            if inspect.isclass(value) and issubclass(value, zveno.Result | zveno.Robot):
                for method, function in inspect.getmembers(value, inspect.isfunction):
                    if not method.startswith("_") and inspect.getdoc(function):
                        parts += [f"#### {name}.{method}\n", _block(_described(method, function))]
    return "\n".join(parts)


FORMATS = {
    "Denavit–Hartenberg tables (.toml)": ("zveno.io.dh", None),
    "Elementary transforms (.ets)": ("zveno.io.elementary", None),
    "Walking machines (.toml)": ("zveno.walking.machine_file", None),
    "URDF, read": ("zveno.io.urdf", None),
    "URDF, written": ("zveno.io.write_urdf", None),
    "MJCF, read": ("zveno.io.mjcf", None),
    "Poses": ("zveno.ik.paths.pose_files", "read_poses"),
    "Measurements (.csv)": ("zveno.io.measurements", None),
    "Motions of one joint at a time (.csv)": ("zveno.calibration", "read_axis_motions"),
    "Measurements: settings, columns, other files": ("zveno", "read_dataset"),
    "Recordings": ("zveno", "read_log"),
    "Results (.json)": ("zveno.io.results", None),
    "Motions (.npz, .csv, .parquet)": ("zveno", "Trajectory.save"),
}
"""What describes a format: the docstring of its module, or of the function that reads or writes it."""


def formats() -> str:
    """Every file format, from the docstring of the function or module that reads or writes it."""
    parts = ["# File formats\n", "From the sources; [files](../files.md) says which to take.\n"]
    for title, (module, name) in FORMATS.items():
        value: Any = importlib.import_module(module)
        for part in [] if name is None else name.split("."):
            value = getattr(value, part)
        parts += [f"## {title}\n", _block(inspect.getdoc(value) or "")]
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
