"""Files from strangers: regular ones of bounded size, and numbers of bounded magnitude."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from ..errors import ModelError

MAX_BYTES = 32 * 2**20
"""Larger files are refused: robots of a hundred links take 0.2 MB, so this much holds meshes or is a mistake."""
MAX_MAGNITUDE = 1e50
"""Larger numbers are refused: their squares and products would soon leave the range of floating point."""


def read_bytes(source: object) -> tuple[Path, bytes]:
    """The path and the content of a regular file of at most `MAX_BYTES`."""
    if not isinstance(source, (str, os.PathLike)):
        raise ModelError(f"{source!r} is not the path of a file", remedy="Give a path as text or pathlib.Path")
    if isinstance(source, str) and source.lstrip().startswith("<"):
        raise ModelError("XML text was given where a path is needed", remedy="Use the parse function for text")
    try:
        path = Path(source)
        status = path.stat()
        if stat.S_ISDIR(status.st_mode):
            raise ModelError("this is a directory", file=source, remedy="Give the path of the model file in it")
        if not stat.S_ISREG(status.st_mode):
            raise ModelError("this is not a regular file", file=source, remedy="Give the path of the model file")
        if status.st_size > MAX_BYTES:
            raise too_large(status.st_size, source)
        with path.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise ModelError("there is no such file", file=source, remedy="Check the path and its spelling") from None
    except (OSError, ValueError, TypeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ModelError(f"it cannot be read: {reason}", file=source, remedy="Check path and permissions") from None
    return path, data


def too_large(size: int, file: object | None = None) -> ModelError:
    """The error for a file or text of too many bytes."""
    return ModelError(
        f"it has {size / 2**20:.0f} MB, and at most {MAX_BYTES // 2**20} MB are read",
        file=file,
        remedy="Keep meshes in files of their own; <visual> and <collision> elements can be deleted",
    )
