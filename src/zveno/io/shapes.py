"""Link shapes of a URDF and the corners of its meshes (STL, OBJ, COLLADA), for the extents of links."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit
from xml.etree import ElementTree

import numpy as np
from defusedxml.ElementTree import fromstring

from ..errors import ModelError
from ..mechanism import Mechanism
from ..spatial.rotations import from_rpy
from ..spatial.transforms import transform
from .files import MAX_DATA_BYTES, over_limit, read_bytes
from .urdf import element_of

# --- meshes

_ELEMENT_BYTES = 500
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


def _mesh_corners(path: Path) -> np.ndarray:
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
            size = _ELEMENT_BYTES + len(element.text or "")
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


# --- shapes of links


@dataclass(frozen=True, eq=False)
class _Shape:
    """Convex approximation of a shape: all points within `radius` of the hull of `corners`.

    Attributes:
        link: name of the link.
        corners: (n, 3) in the link's frame, m.
        radius: m; a sphere is one corner, a cylinder two rims.
    """

    link: str
    corners: np.ndarray
    radius: float = 0.0


@dataclass(frozen=True, eq=False)
class Geometry:
    """Collision or visual element of a link as a URDF describes it.

    Attributes:
        link: name of the link.
        place: the element, for messages.
        kind: "box", "sphere", "cylinder", "capsule" or "mesh".
        T_link_shape: (4, 4).
        size: lengths of the edges of a box, (3,); radius and length of round ones, (2,); scale of a mesh, (3,).
        mesh: name of the mesh's file as the model writes it.
        color: red, green, blue and opacity from 0 to 1, where the element says them itself.
        material: name of its material.
    """

    link: str
    place: str
    kind: str
    T_link_shape: np.ndarray
    size: np.ndarray
    mesh: str = ""
    color: tuple[float, ...] = ()
    material: str = ""


@lru_cache(maxsize=16)
def link_shapes(mechanism: Mechanism) -> tuple[_Shape, ...]:
    """Return the collision shapes of the links, or the visual ones of links without collision shapes."""
    return tuple(
        _stand_in(_geometry(link, element, mechanism.source), mechanism.source)
        for link, elements in _elements(mechanism).items()
        for element in elements.get("collision") or elements.get("visual", [])
    )


def visual_geometries(mechanism: Mechanism) -> tuple[Geometry, ...]:
    """Return the visual elements of the links."""
    return tuple(
        _geometry(link, element, mechanism.source)
        for link, elements in _elements(mechanism).items()
        for element in elements.get("visual", [])
    )


def material_colors(mechanism: Mechanism) -> dict[str, tuple[float, ...]]:
    """Return the colours of the materials that the robot declares for all links, by name."""
    elements = [element_of(extra) for extra in mechanism.extras if not extra.link and not extra.joint]
    named = {element.get("name", ""): _color(element) for element in elements if element.tag == "material"}
    return {name: color for name, color in named.items() if color}


def _elements(mechanism: Mechanism) -> dict[str, dict[str, list[ElementTree.Element]]]:
    """Return the elements of every link, by their tag."""
    by_link: dict[str, dict[str, list[ElementTree.Element]]] = {}
    for extra in mechanism.extras:
        if extra.link:
            element = element_of(extra)
            by_link.setdefault(extra.link, {}).setdefault(element.tag, []).append(element)
    return by_link


def _geometry(link: str, element: ElementTree.Element, model: str) -> Geometry:
    geometry = element.find("geometry")
    solid = None if geometry is None or not len(geometry) else geometry[0]
    place = f"link {link}, {element.tag}"
    if solid is None:
        raise ModelError("is empty", file=model, element=place, remedy="Give a box, sphere, cylinder or mesh")
    origin = element.find("origin")
    xyz, rpy = (_numbers(origin, name, 3, place, model, "0 0 0") for name in ("xyz", "rpy"))
    if solid.tag == "box":
        size = _numbers(solid, "size", 3, place, model)
    elif solid.tag == "sphere":
        size = np.append(_numbers(solid, "radius", 1, place, model), 0.0)
    elif solid.tag in ("cylinder", "capsule"):
        size = np.concatenate([_numbers(solid, name, 1, place, model) for name in ("radius", "length")])
    elif solid.tag == "mesh":
        size = _numbers(solid, "scale", 3, place, model, "1 1 1")
    else:
        raise ModelError(
            f"{solid.tag!r} is not a shape that is known",
            file=model,
            element=place,
            remedy="Use box, cylinder, sphere, capsule or mesh",
        )
    material = element.find("material")
    name, color = ("", ()) if material is None else (material.get("name", ""), _color(material))
    T = transform(from_rpy(rpy), xyz)
    return Geometry(link, place, solid.tag, T, size, solid.get("filename", ""), color, name)


def _color(material: ElementTree.Element) -> tuple[float, ...]:
    """Return the rgba of a material, empty if it has no readable one: colours are not worth an error."""
    color = material.find("color")
    try:
        values = tuple(float(word) for word in ("" if color is None else color.get("rgba", "")).split())
    except ValueError:
        return ()
    return values if len(values) == 4 and all(0.0 <= value <= 1.0 for value in values) else ()


def _stand_in(shape: Geometry, model: str) -> _Shape:
    T, radius = shape.T_link_shape, 0.0
    if shape.kind == "box":
        corners = 0.5 * shape.size * np.array(np.meshgrid(*([-1.0, 1.0],) * 3)).reshape(3, 8).T
    elif shape.kind == "mesh":
        corners = shape.size * _mesh_corners(mesh_path(shape.mesh, model))
    elif shape.kind == "sphere":
        corners, radius = np.zeros((1, 3)), float(shape.size[0])
    else:
        thick, length = shape.size.tolist()
        ends = np.array([[0.0, 0.0, -0.5 * length], [0.0, 0.0, 0.5 * length]])
        corners, radius = (ends, thick) if shape.kind == "capsule" else (_rims(ends, thick), 0.0)
    return _Shape(shape.link, corners @ T[:3, :3].T + T[:3, 3], radius)


def _rims(ends: np.ndarray, radius: float, n: int = 24) -> np.ndarray:
    """Return the corners of prisms about the two rims of a cylinder."""
    angles = 2 * np.pi * np.arange(n) / n
    outside = radius / np.cos(np.pi / n)
    rim = outside * np.stack([np.cos(angles), np.sin(angles), np.zeros(n)], axis=1)
    return (ends[:, None] + rim).reshape(-1, 3)


def _numbers(
    element: ElementTree.Element | None, name: str, count: int, place: str, model: str, default: str = ""
) -> np.ndarray:
    text = default if element is None else element.get(name, default)
    try:
        values = np.array(text.split(), dtype=float)
    except ValueError:
        values = np.zeros(0)
    if values.shape != (count,) or not np.isfinite(values).all():
        raise ModelError(
            f"{name} is {text!r}", file=model, element=place, remedy=f"Give {count} number{'s' * (count > 1)}"
        )
    return values
