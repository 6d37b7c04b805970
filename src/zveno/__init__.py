"""zveno: robot mechanisms, from a drawing or URDF to all the equations."""

from __future__ import annotations

from os import PathLike

from ._version import __version__ as __version__
from .errors import ZvenoError as ZvenoError
from .errors import ZvenoWarning as ZvenoWarning
from .kernels.threads import get_threads as get_threads
from .kernels.threads import set_threads as set_threads
from .mechanism import Mechanism as Mechanism
from .io.results import load_result as load_result
from .robot import ParametricRobot as ParametricRobot
from .robot import Robot as Robot


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
