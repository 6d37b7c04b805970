"""One door for writing models: the format follows the suffix of the file."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from pathlib import Path

from ..errors import unknown_name
from ..mechanism import Mechanism
from .files import write_text


def _urdf(mechanism: Mechanism) -> str:
    from .write_urdf import to_urdf

    return to_urdf(mechanism)


def _dh(mechanism: Mechanism) -> str:
    from .write_dh import to_dh

    return to_dh(mechanism)


def _elementary(mechanism: Mechanism) -> str:
    from .write_elementary import to_elementary

    return to_elementary(mechanism)


WRITERS: dict[str, Callable[[Mechanism], str]] = {"urdf": _urdf, "dh": _dh, "elementary": _elementary}
"""Text of a mechanism by format; a format that cannot hold the mechanism raises a `ModelError` that says why."""
SUFFIXES = {".urdf": "urdf", ".toml": "dh", ".ets": "elementary"}


def model_text(mechanism: Mechanism, format: str) -> str:
    """A mechanism as the text of a model file: "urdf", "dh" or "elementary"."""
    if format not in WRITERS:
        raise unknown_name("format", format, WRITERS)
    return WRITERS[format](mechanism)


def format_of(path: str | PathLike[str]) -> str:
    """The format that the suffix of a model file to be written stands for."""
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise unknown_name("suffix of a model file", suffix, SUFFIXES)
    return SUFFIXES[suffix]


def write_model(mechanism: Mechanism, path: str | PathLike[str]) -> Path:
    """Write a mechanism as .urdf, .toml (Denavit–Hartenberg table) or .ets (elementary transforms)."""
    return write_text(path, model_text(mechanism, format_of(path)))
