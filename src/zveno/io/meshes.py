"""Meshes of a model: corners of STL, binary or text, and OBJ; the size of COLLADA."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import numpy as np
from defusedxml.ElementTree import fromstring

from ..errors import ModelError
from .files import MAX_DATA_BYTES, over_limit, read_bytes

ELEMENT_BYTES = 500
"""Memory of an element when it is copied, besides its text."""
_HEAD = 84
_TRIANGLE = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])


def mesh_path(name: str, model: str) -> Path:
    """Find the file of a model's mesh: beside the model, or for `package://` below one of the folders above it."""
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
    """Return the corners (n, 3) of all faces, in the units of the file."""
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


def check_instances(data: bytes) -> None:
    """Refuse a COLLADA document that is too large once its instances are written out.

    Nodes may refer to each other many times over many levels, and document types may define entities.
    """
    root = fromstring(data, forbid_dtd=True)
    by_name = {element.get("id"): element for element in root.iter() if element.get("id")}
    sizes: dict[int, int] = {}

    def size_of(element: Any) -> int:
        if id(element) not in sizes:
            sizes[id(element)] = MAX_DATA_BYTES + 1  # found again below itself, it has no end
            size = ELEMENT_BYTES + len(element.text or "")
            target = by_name.get(element.get("url", "").removeprefix("#"))
            if target is not None and element.tag.rpartition("}")[2].startswith("instance_"):
                size += size_of(target)
            sizes[id(element)] = size + sum(map(size_of, element))
        return sizes[id(element)]

    size = size_of(root)
    if size > MAX_DATA_BYTES + len(data):
        raise over_limit(size, MAX_DATA_BYTES)


def _rows_after(data: bytes, word: bytes) -> np.ndarray:
    """Return three numbers from every line that begins with a word; a line without them makes the mesh empty."""
    lines = [line.strip() for line in data.splitlines()]
    rows = [line[len(word) :].split()[:3] for line in lines if line.startswith(word)]
    try:
        return np.array(rows, dtype=float).reshape(-1, 3)
    except ValueError:
        return np.zeros((0, 3))
