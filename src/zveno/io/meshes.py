"""Corners of the meshes that a model names: STL, binary or text, and OBJ."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote, urlsplit

import numpy as np

from ..errors import ModelError
from .files import MAX_DATA_BYTES, read_bytes

_HEAD = 84
_TRIANGLE = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])


def mesh_path(name: str, model: str) -> Path:
    """Where the mesh of a model's file lies: beside it, or for `package://` below one of the folders above it."""
    address = urlsplit(name)
    beside = Path(model).resolve().parent
    inside = Path(unquote(address.netloc + address.path))
    if address.scheme in ("", "file"):
        places = [beside / unquote(address.path)]
    else:
        folders = (beside, *beside.parents)
        shorter = Path(*inside.parts[1:])  # a package is often checked out under another name
        places = [folder / part for part in (inside, shorter) for folder in folders]
    for place in places:
        if place.is_file():
            return place
    raise ModelError(
        "is not found",
        file=model,
        element=f"mesh {name}",
        remedy="Put meshes where the model says they are",
    )


def mesh_corners(path: Path) -> np.ndarray:
    """Corners (n, 3) of all faces, in the units of the file."""
    data = read_bytes(path, MAX_DATA_BYTES)
    kind = path.suffix.lower()
    if kind == ".obj":
        corners = _rows_after(data, b"v ")
    elif kind == ".stl":
        count = int.from_bytes(data[80:_HEAD], "little")
        is_binary = len(data) == _HEAD + count * _TRIANGLE.itemsize
        corners = (
            np.frombuffer(data, _TRIANGLE, count, _HEAD)["corners"].reshape(-1, 3)
            if is_binary
            else _rows_after(data, b"vertex ")
        )
    else:
        raise ModelError(
            f"{kind or 'no ending'} is not a mesh that is read", file=path, remedy="Convert it to STL or OBJ"
        )
    corners = np.asarray(corners, dtype=float)
    if not len(corners) or not np.isfinite(corners).all():
        raise ModelError("has no corners, or some that are not finite", file=path, remedy="Export the mesh again")
    return corners


def _rows_after(data: bytes, word: bytes) -> np.ndarray:
    """Three numbers from every line that begins with a word; lines that have none make the mesh empty."""
    lines = [line.strip() for line in data.splitlines()]
    rows = [line[len(word) :].split()[:3] for line in lines if line.startswith(word)]
    try:
        return np.array(rows, dtype=float).reshape(-1, 3)
    except ValueError:
        return np.zeros((0, 3))
