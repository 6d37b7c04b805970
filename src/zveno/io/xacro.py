"""xacro reader: files are expanded by the package of that name, then read as URDF."""

from __future__ import annotations

import re
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from ..errors import MissingExtraError, ModelError
from ..mechanism import Mechanism
from .files import read_bytes
from .urdf import parse_urdf

_WITH_ARGUMENTS = re.compile(r"(.+\.xacro)((?:\s+[\w.-]+:=\S*)+)\s*")


def read_xacro(
    source: str | PathLike[str], *, snap: bool | None = None, arguments: Mapping[str, str] | None = None
) -> Mechanism:
    """Read the mechanism in a xacro file.

    Expressions in the file are evaluated and its includes are read, as xacro does: do not open untrusted files.

    Args:
        source: path of the file.
        snap: as in `read_urdf`.
        arguments: values of its `<xacro:arg>` elements by name.
    """
    try:
        import xacro
    except ImportError:
        raise MissingExtraError(
            "xacro files need the package xacro", file=source, remedy="pip install 'zveno[xacro]'"
        ) from None
    read_bytes(source)  # what cannot be read or is too large is refused in our words
    try:
        document: Any = xacro.process_file(str(source), mappings=dict(arguments or {}))
    except Exception as error:  # whatever an expression in the file raises
        reason = " ".join(str(error).split()) or type(error).__name__
        raise ModelError(
            f"xacro cannot expand it: {reason}",
            file=source,
            remedy="Give arguments as in 'robot.xacro name:=value', or expand it where its packages are installed",
        ) from error
    return parse_urdf(document.toxml(), file=source, snap=bool(snap))


def split_arguments(text: str) -> tuple[Path, dict[str, str]] | None:
    """Return file and arguments of `robot.xacro name:=value …`, the form of xacro's own command; None otherwise."""
    match = _WITH_ARGUMENTS.fullmatch(text)
    if match is None:
        return None
    pairs = (word.split(":=", 1) for word in match.group(2).split())
    return Path(match.group(1)), dict(pairs)
