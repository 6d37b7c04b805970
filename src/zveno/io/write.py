"""Entry point for writing models: the format follows the suffix of the file."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Sequence
from os import PathLike
from pathlib import Path

import numpy as np

from ..errors import ZvenoError, ZvenoWarning, first_of, unknown_name
from ..mechanism import Loop, Mechanism
from .files import write_text

# --- losses

_SHOWN = 8
"""Number of names that a warning lists."""


def warn_about_losses(mechanism: Mechanism, format: str, losses: Sequence[str]) -> None:
    """Give one `ZvenoWarning` that names the losses of `format`; none if there are no losses.

    `Mechanism.source` and `Mechanism.notes` describe the file that was read and do not count.
    """
    if losses:
        warnings.warn(f"{mechanism.name}: {format} cannot hold {'; '.join(losses)}", ZvenoWarning, stacklevel=4)


def coupling_losses(
    mechanism: Mechanism, transmission_held: bool = False, loops_held: Sequence[Loop] = ()
) -> list[str]:
    """List closed loops, springs and limits of ball joints, and a transmission's coupling matrix unless held."""
    coupled = mechanism.transmission is not None and not transmission_held
    matrix = ["the coupling matrix of the transmission"] if coupled else []
    springs = listed("the springs of", [joint.name for joint in mechanism.joints if joint.spring is not None])
    angles = listed("the limits of", [joint.name for joint in mechanism.joints if np.isfinite(joint.limits.angle)])
    lost = [loop.label for loop in mechanism.loops if loop not in loops_held]
    return matrix + lost + springs + angles


def extra_losses(mechanism: Mechanism) -> list[str]:
    """List shapes, materials and other parts of a URDF that only its writer keeps."""
    n = len(mechanism.extras)
    return [f"{n} shape(s), materials and sections of the URDF it was read from"] if n else []


def listed(loss: str, names: Sequence[str]) -> list[str]:
    """Return a loss with the names of the affected elements, shortened; empty without names."""
    return [f"{loss} {first_of(names, _SHOWN)}"] if names else []


# --- files

FORMATS = {"urdf": "write_urdf", "mjcf": "write_mjcf", "dh": "dh", "elementary": "elementary"}
"""Formats that are written, with the module of the function `to_…`; one that cannot hold a mechanism raises a
`ModelError` that says why."""
_SUFFIXES = {".urdf": "urdf", ".xml": "mjcf", ".mjcf": "mjcf", ".toml": "dh", ".ets": "elementary"}


def model_text(mechanism: Mechanism, format: str) -> str:
    """Return a mechanism as the text of a model file: "urdf", "mjcf", "dh" or "elementary"."""
    if format not in FORMATS:
        raise unknown_name("format", format, FORMATS)
    return getattr(importlib.import_module(f".{FORMATS[format]}", __package__), f"to_{format}")(mechanism)


def format_of(path: str | PathLike[str]) -> str:
    """Return the format of a model file to be written, by its suffix."""
    if not isinstance(path, str | PathLike):
        raise ZvenoError(f"a model is written to a path, not to {path!r:.60}", element="path", remedy="Give a path")
    suffix = Path(path).suffix.lower()
    if suffix not in _SUFFIXES:
        raise ZvenoError(
            f"its suffix {suffix!r} is not that of a model file" if suffix else "it has no suffix",
            file=Path(path),
            remedy=f"Use {', '.join(_SUFFIXES)}",
        )
    return _SUFFIXES[suffix]


def write_model(mechanism: Mechanism, path: str | PathLike[str]) -> Path:
    """Write a mechanism as .urdf, .xml (MJCF), .toml (Denavit–Hartenberg table) or .ets (elementary transforms)."""
    return write_text(path, model_text(mechanism, format_of(path)))
