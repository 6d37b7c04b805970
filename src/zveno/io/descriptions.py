"""Robots of the package robot_descriptions by name: `panda_description`, `g1_mj_description`."""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
import warnings
from pathlib import Path
from typing import Any

from ..errors import MissingExtraError, ModelError, unknown_name
from ..mechanism import Mechanism
from .xacro import read_xacro

ENDING = "_description"
PACKAGE = "robot_descriptions"


def described_mechanism(name: str, snap: bool | None) -> Mechanism:
    """Return the mechanism of a description; its files are fetched once, by that package.

    Args:
        name: ends in `_description`, as the package's modules do.
        snap: as in readers.
    """
    module = _module(name)
    file, arguments = _file(module)
    if file is None:
        raise ModelError("has no URDF, MJCF or xacro file", element=name, remedy="Choose another description")
    if file.suffix == ".xacro":
        return read_xacro(file, snap=snap, arguments=arguments)
    if hasattr(module, "MJCF_PATH") and not hasattr(module, "URDF_PATH"):
        from .mjcf import read_mjcf

        return read_mjcf(file, snap=snap)
    from .urdf import read_urdf

    return read_urdf(file, snap=snap)


def _module(name: str) -> Any:
    if importlib.util.find_spec(PACKAGE) is None:
        raise MissingExtraError(
            f"names that end in {ENDING} belong to {PACKAGE}", element=name, remedy=f"pip install {PACKAGE}"
        )
    package = importlib.import_module(PACKAGE)
    known = sorted(module.name for module in pkgutil.iter_modules(package.__path__) if _is_description(module.name))
    if name not in known:
        raise unknown_name("robot", name, known)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the package's remarks on its own future
            return importlib.import_module(f"{PACKAGE}.{name}")
    except Exception as error:  # the network, git, a full disk
        reason = " ".join(str(error).split()) or type(error).__name__
        raise ModelError(
            f"its files could not be fetched: {reason}", element=name, remedy="Check the network, or give a file"
        ) from error


def _is_description(name: str) -> bool:
    return name.endswith(ENDING) and not name.startswith("_")


def _file(module: Any) -> tuple[Path | None, dict[str, str]]:
    """Return the model file of a description's module, and xacro's arguments."""
    for attribute in ("URDF_PATH", "MJCF_PATH", "XACRO_PATH"):
        if hasattr(module, attribute):
            return Path(getattr(module, attribute)), dict(getattr(module, "XACRO_ARGS", {}))
    return None, {}
