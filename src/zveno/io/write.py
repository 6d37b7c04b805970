"""Entry point for writing models: the format follows the suffix of the file."""

from __future__ import annotations

import importlib
from os import PathLike
from pathlib import Path

from ..errors import unknown_name
from ..mechanism import Mechanism
from .files import write_text

FORMATS = ("urdf", "mjcf", "dh", "elementary")
"""Formats that are written, each by the function `to_…` of the module `write_…`; one that cannot hold a mechanism
raises a `ModelError` that says why."""
SUFFIXES = {".urdf": "urdf", ".xml": "mjcf", ".mjcf": "mjcf", ".toml": "dh", ".ets": "elementary"}


def model_text(mechanism: Mechanism, format: str) -> str:
    """Return a mechanism as the text of a model file: "urdf", "mjcf", "dh" or "elementary"."""
    if format not in FORMATS:
        raise unknown_name("format", format, FORMATS)
    return getattr(importlib.import_module(f".write_{format}", __package__), f"to_{format}")(mechanism)


def format_of(path: str | PathLike[str]) -> str:
    """Return the format of a model file to be written, by its suffix."""
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise unknown_name("suffix of a model file", suffix, SUFFIXES)
    return SUFFIXES[suffix]


def write_model(mechanism: Mechanism, path: str | PathLike[str]) -> Path:
    """Write a mechanism as .urdf, .xml (MJCF), .toml (Denavit–Hartenberg table) or .ets (elementary transforms)."""
    return write_text(path, model_text(mechanism, format_of(path)))
