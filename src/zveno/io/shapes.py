"""Shapes of the links as a URDF gives them, for what has to know how thick a link is."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from xml.etree import ElementTree

import numpy as np

from ..errors import ModelError
from ..mechanism import Mechanism
from ..spatial.rotations import from_rpy
from ..spatial.transforms import transform
from .meshes import mesh_corners, mesh_path
from .urdf_extras import element_of


@dataclass(frozen=True, eq=False)
class Shape:
    """A convex stand-in for a shape: all points within `radius` of the hull of `corners`.

    Attributes:
        link: name of the link.
        corners: (n, 3) in the link's frame, m.
        radius: m; a sphere is one corner, a cylinder two rims.
    """

    link: str
    corners: np.ndarray
    radius: float = 0.0


@lru_cache(maxsize=16)
def link_shapes(mechanism: Mechanism) -> tuple[Shape, ...]:
    """The collision shapes of the links, or the visual ones of those that have none of the former."""
    by_link: dict[str, dict[str, list[ElementTree.Element]]] = {}
    for extra in mechanism.extras:
        if extra.link:
            element = element_of(extra)
            by_link.setdefault(extra.link, {}).setdefault(element.tag, []).append(element)
    return tuple(
        _shape(link, element, mechanism.source)
        for link, elements in by_link.items()
        for element in elements.get("collision") or elements.get("visual", [])
    )


def _shape(link: str, element: ElementTree.Element, model: str) -> Shape:
    geometry = element.find("geometry")
    solid = None if geometry is None or not len(geometry) else geometry[0]
    place = f"link {link}, {element.tag}"
    if solid is None:
        raise ModelError("is empty", file=model, element=place, remedy="Give a box, sphere, cylinder or mesh")
    origin = element.find("origin")
    xyz, rpy = (_numbers(origin, name, 3, place, model, "0 0 0") for name in ("xyz", "rpy"))
    T = transform(from_rpy(rpy), xyz)
    radius = 0.0
    if solid.tag == "box":
        half = 0.5 * _numbers(solid, "size", 3, place, model)
        corners = half * np.array(np.meshgrid(*([-1.0, 1.0],) * 3)).reshape(3, 8).T
    elif solid.tag == "sphere":
        corners, radius = np.zeros((1, 3)), float(_numbers(solid, "radius", 1, place, model)[0])
    elif solid.tag in ("cylinder", "capsule"):
        length, thick = (float(_numbers(solid, name, 1, place, model)[0]) for name in ("length", "radius"))
        ends = np.array([[0.0, 0.0, -0.5 * length], [0.0, 0.0, 0.5 * length]])
        corners, radius = (ends, thick) if solid.tag == "capsule" else (_rims(ends, thick), 0.0)
    elif solid.tag == "mesh":
        scale = _numbers(solid, "scale", 3, place, model, "1 1 1")
        corners = scale * mesh_corners(mesh_path(solid.get("filename", ""), model))
    else:
        raise ModelError(f"{solid.tag!r} is not a shape that is known", file=model, element=place)
    return Shape(link, corners @ T[:3, :3].T + T[:3, 3], radius)


def _rims(ends: np.ndarray, radius: float, n: int = 24) -> np.ndarray:
    """Corners of prisms about the two rims of a cylinder."""
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
