"""zveno: robot mechanisms, from a drawing or URDF to all the equations."""

from __future__ import annotations

import importlib
from os import PathLike
from typing import TYPE_CHECKING, Any

from ._version import __version__ as __version__
from .errors import ZvenoError as ZvenoError
from .errors import ZvenoWarning as ZvenoWarning
from .kernels.threads import get_threads as get_threads
from .kernels.threads import set_threads as set_threads
from .mechanism import Mechanism as Mechanism
from .parametric import ParametricRobot as ParametricRobot
from .robot import Robot as Robot

if TYPE_CHECKING:
    from .base_parameters import base_parameters as base_parameters
    from .calibration.estimate import calibrate as calibrate
    from .calibration.identifiability.analysis import identifiability as identifiability
    from .design import plan_poses as plan_poses
    from .export import export_c as export_c
    from .ik import solve_ik as solve_ik
    from .simulation import simulate as simulate

_TASKS = {
    "base_parameters": ".base_parameters",
    "calibrate": ".calibration.estimate",
    "identifiability": ".calibration.identifiability.analysis",
    "export_c": ".export",
    "plan_poses": ".design",
    "simulate": ".simulation",
    "solve_ik": ".ik",
}
"""Functions of the tasks, and the package each is imported from on first use: importing zveno stays quick."""


def load(name_or_path: str | PathLike[str], *, snap: bool | None = None, format: str | None = None) -> Robot:
    """A robot from a built-in name, a file, or a product of elementary transforms.

    Args:
        name_or_path: a built-in such as "puma560"; a path to a .urdf, .xml (MJCF or URDF), .toml (DH table) or
            .ets (elementary transforms) file; or elementary transforms as text, "Rz(q1) Tx(0.3) Rz(q2)".
        snap: whether angles that were meant to be exact (1.5708) are made so; by default only tables typed by hand
            are, and others are reported in the mechanism's notes.
        format: "urdf", "mjcf", "dh" or "elementary" where the suffix does not say.
    """
    from .io.load import load_mechanism

    return Robot(load_mechanism(name_or_path, snap=snap, format=format))


def load_result(path: str | PathLike[str]) -> Any:
    """A result that was written by its `save` method."""
    from .io import results

    # A result comes back as the class its task defines, so the tasks must have been imported.
    for package in sorted(set(_TASKS.values())):
        importlib.import_module(package, __name__)
    return results.load_result(path)


def __getattr__(name: str) -> Any:
    if name not in _TASKS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(_TASKS[name], __name__), name)
    globals().setdefault(name, value)
    return globals()[name]


def __dir__() -> list[str]:
    return sorted({*globals(), *_TASKS})
