"""Writes docs/reference from the sources: the commands, the public names by job, and the file formats."""

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
JOBS = (
    "ik",
    "loops",
    "simulation",
    "calibration",
    "identification",
    "walking",
    "base_parameters",
    "scanning",
    "documents",
)
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


def api() -> dict[str, str]:
    """Pages of the public names: an index, the names of `zveno`, `Robot`, and a page per job."""
    pages = {"zveno": _page(zveno, [name for name in zveno.__all__ if name != "Robot"])}
    pages["robot"] = "\n".join(["# Robot\n", *_entry("Robot", zveno.Robot)])
    pages |= {job: _page(getattr(zveno, job), getattr(zveno, job).__all__) for job in JOBS}
    rows = ["| page | names |", "|---|---|"]
    for page, text in pages.items():
        names = re.findall(r"^### (\S+)", text, re.M)
        label = page if page == "zveno" else ("Robot" if page == "robot" else f"zveno.{page}")
        rows.append(f"| [{label}]({page}.md) | {', '.join(f'`{name}`' for name in names)} |")
    head = ["# Python\n", "Every public name, on a page per job, from its docstring.\n"]
    return {"python": "\n".join([*head, *rows, ""])} | pages


def _page(module: Any, names: list[str]) -> str:
    parts = [f"# {module.__name__}\n", inspect.getdoc(module) or "", ""]
    for name in sorted(names, key=str.lower):
        value = getattr(module, name)
        if not inspect.ismodule(value):
            parts += _entry(name, value)
        elif module is not zveno or name not in JOBS:
            parts += [f"### {module.__name__}.{name}\n", _block(inspect.getdoc(value) or "")]
    return "\n".join(parts)


def _entry(name: str, value: Any) -> list[str]:
    """Signature and docstring of a name; those of methods too, of a result and of the robot."""
    parts = [f"### {name}\n", _block(_described(name, value))]
    if inspect.isclass(value) and issubclass(value, zveno.Result | zveno.Robot):
        for method, function in inspect.getmembers(value, inspect.isfunction):
            inherited = value is not zveno.Result and function is getattr(zveno.Result, method, None)
            if not method.startswith("_") and not inherited and inspect.getdoc(function):
                parts += [f"#### {name}.{method}\n", _block(_described(method, function))]
    return parts


FORMATS = {
    "Denavit–Hartenberg tables (.toml)": ("zveno.io.dh", None),
    "Elementary transforms (.ets)": ("zveno.io.elementary", None),
    "Walking machines (.toml)": ("zveno.walking.machine_file", None),
    "URDF, read": ("zveno.io.urdf", None),
    "URDF, written": ("zveno.io.write_urdf", None),
    "MJCF, read": ("zveno.io.mjcf", None),
    "MJCF, written": ("zveno.io.write_mjcf", None),
    "Poses": ("zveno.ik.paths.pose_files", "read_poses"),
    "Measurements (.csv)": ("zveno.io.tables", None),
    "Motions of one joint at a time (.csv)": ("zveno.calibration", "read_axis_motions"),
    "Measurements: settings, columns, other files": ("zveno.calibration", "read_dataset"),
    "Recordings": ("zveno.identification", "read_log"),
    "Results (.json)": ("zveno.io.results", None),
    "Motions (.npz, .csv, .parquet)": ("zveno.simulation", "Trajectory.save"),
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
    if inspect.isclass(value) and issubclass(value, zveno.Result):
        return f"{name}\n\n{inspect.getdoc(value) or ''}"  # made by functions, not by users
    try:
        signature = _plain(inspect.signature(value))
    except (TypeError, ValueError):
        signature = ""
    return f"{name}{signature}\n\n{inspect.getdoc(value) or ''}"


def _plain(signature: inspect.Signature) -> str:
    """Return a signature without quotes around its annotations, one parameter per line if it is long."""
    text = str(signature).replace("zveno.", "").replace("'", "")
    if len(text) <= 90:
        return text
    parts, given = [], list(signature.parameters.values())
    for before, parameter in zip([None, *given], given, strict=False):
        if parameter.kind is parameter.KEYWORD_ONLY and (before is None or before.kind is not before.KEYWORD_ONLY):
            parts.append("*")
        parts.append(str(parameter).replace("zveno.", "").replace("'", ""))
    returned = text.rpartition(") -> ")[2] if ") -> " in text else ""
    return "(\n    " + ",\n    ".join(parts) + ",\n)" + (f" -> {returned}" if returned else "")


def _block(text: str, language: str = "text") -> str:
    return f"```{language}\n{text.rstrip()}\n```\n"


if __name__ == "__main__":
    os.environ |= {"COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb"}
    FOLDER.mkdir(exist_ok=True)
    for name, text in ({"commands": commands(), "formats": formats()} | api()).items():
        (FOLDER / f"{name}.md").write_text(text, encoding="utf-8")
        print("wrote", FOLDER / f"{name}.md")
