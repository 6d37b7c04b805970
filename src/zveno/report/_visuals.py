"""Visual elements of links from URDF: boxes, cylinders, spheres and meshes."""

from __future__ import annotations

import importlib
import io
import logging
import warnings
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import ModelError, ZvenoWarning
from ..io.files import MAX_DATA_BYTES, read_bytes
from ..io.shapes import Geometry, check_instances, material_colors, mesh_path, visual_geometries
from ..mechanism import Mechanism
from . import solids
from .solids import Mesh, box

PLAIN = "#c3ccd6"
"""Default colour of shapes."""
MESHES = (".stl", ".obj", ".dae")
DIRECTIONS = 100
"""Number of directions in which the hull of a large mesh keeps its outermost corner."""
Coloured = tuple[tuple[str, Mesh], ...]
"""Meshes with their colours; an empty string if the file gives none."""


def visual_shapes(mechanism: Mechanism, triangles: int) -> dict[int, list[tuple[str, Any]]]:
    """List (colour, shape in link axes) by link number, for links whose visual elements can all be drawn.

    Links with a mesh that is missing or cannot be read are omitted, and drawn from the kinematics instead. The
    largest meshes become hulls if the total exceeds `triangles`.
    """
    try:
        geometries, colors = visual_geometries(mechanism), material_colors(mechanism)
    except ModelError:
        return {}  # an unreadable shape must not prevent the drawing
    file_of = {geometry: _mesh_file(geometry, mechanism.source) for geometry in geometries}
    lacking = {geometry.link for geometry, file in file_of.items() if geometry.kind == "mesh" and file is None}
    files = {file for geometry, file in file_of.items() if file is not None and geometry.link not in lacking}
    if files and not _readable():
        lacking |= {geometry.link for geometry, file in file_of.items() if file is not None}
        files = set()
    meshes = {file: _meshes(file, file.stat().st_mtime_ns) for file in sorted(files)}
    lacking |= {geometry.link for geometry, file in file_of.items() if file is not None and not meshes.get(file)}
    smaller = _smaller(meshes, triangles)
    shapes: dict[int, list[tuple[str, Any]]] = {}
    for geometry, file in file_of.items():
        if geometry.link in lacking:
            continue
        said = _hex(geometry.color or colors.get(geometry.material, ()))
        if file is None:
            made = [("", shape) for shape in _simple(geometry)]
        else:
            made = [(mesh_color, _place_mesh(mesh, geometry)) for mesh_color, mesh in smaller[file]]
        coloured = [(said or mesh_color or PLAIN, shape) for mesh_color, shape in made]
        shapes.setdefault(mechanism.link_number(geometry.link), []).extend(coloured)
    return shapes


def _smaller(meshes: dict[Path, Coloured], triangles: int) -> dict[Path, Coloured]:
    """Return the meshes of all files; the largest become hulls if the total exceeds `triangles`."""
    smaller = dict(meshes)
    sizes = {file: sum(len(mesh.faces) for _, mesh in group) for file, group in meshes.items()}
    left = sum(sizes.values())
    for file in sorted(sizes, key=sizes.__getitem__, reverse=True):
        if left <= triangles:
            break
        smaller[file] = tuple((color, _hull(mesh)) for color, mesh in meshes[file])
        left += sum(len(mesh.faces) for _, mesh in smaller[file]) - sizes[file]
    return smaller


def _hull(mesh: Mesh) -> Mesh:
    """Return the convex hull of a mesh's outermost corners, or the mesh itself if it is flat."""
    from scipy.spatial import ConvexHull, QhullError

    k = np.arange(DIRECTIONS) + 0.5
    height, turn = 1.0 - 2.0 * k / DIRECTIONS, np.pi * (1.0 + np.sqrt(5.0)) * k
    around = np.sqrt(1.0 - height**2)
    ways = np.stack([around * np.cos(turn), around * np.sin(turn), height])
    corners = mesh.vertices[np.unique((mesh.vertices @ ways).argmax(axis=0))]
    try:
        faces = ConvexHull(corners).simplices
    except (QhullError, ValueError):
        return mesh
    a, b, c = np.moveaxis(corners[faces], 1, 0)
    inwards = ((a - corners.mean(axis=0)) * np.cross(b - a, c - a)).sum(axis=1) < 0.0
    return mesh._replace(vertices=corners, faces=np.where(inwards[:, None], faces[:, ::-1], faces))


def _hex(color: Sequence[float]) -> str:
    return "#" + "".join(f"{round(255 * float(value)):02x}" for value in color[:3]) if len(color) else ""


def _mesh_file(geometry: Geometry, model: str) -> Path | None:
    """File of a mesh in a supported format, if it exists."""
    if geometry.kind != "mesh":
        return None
    try:
        path = mesh_path(geometry.mesh, model)
    except (ModelError, ValueError, OSError):
        return None
    return path if path.suffix.lower() in MESHES else None


def _place_mesh(mesh: Mesh, geometry: Geometry) -> Mesh:
    return mesh._replace(T=geometry.T_link_shape, scale=geometry.size)


def _simple(geometry: Geometry) -> list[Any]:
    """Build a box, sphere, cylinder or capsule."""
    T = geometry.T_link_shape
    if geometry.kind == "box":
        return [box(T, geometry.size)]
    radius, length = geometry.size.tolist()
    if geometry.kind == "sphere":
        return [solids.ball(T[:3, 3], radius)]
    low, high = (T[:3, 3] + side * 0.5 * length * T[:3, 2] for side in (-1.0, 1.0))
    caps = [solids.ball(end, radius) for end in (low, high)] if geometry.kind == "capsule" else []
    return [solids.bar(low, high, radius), *caps]


def _readable() -> bool:
    """Return True if meshes can be read; warn with the install command otherwise."""
    try:
        importlib.import_module("trimesh")
    except ImportError:
        remedy = "pip install 'zveno[mesh]'"
        warnings.warn(f"the robot's meshes are not drawn: {remedy}", ZvenoWarning, stacklevel=2)
        return False
    return True


@lru_cache(maxsize=512)
def _meshes(path: Path, changed: int) -> Coloured:
    """Triangles of a mesh file by colour, in metres before the model's scale; empty if it cannot be read."""
    trimesh = importlib.import_module("trimesh")
    logging.getLogger("trimesh").setLevel(logging.CRITICAL)
    try:
        data, kind = read_bytes(path, MAX_DATA_BYTES), path.suffix.lower()[1:]
        if kind == "dae":
            check_instances(data)
        scene = trimesh.load(io.BytesIO(data), file_type=kind, force="scene", process=False)
        read = [(_own_color(mesh), mesh.vertices, mesh.faces) for mesh in scene.dump()]
    except Exception:  # third-party parsers raise arbitrary exceptions
        return ()
    by_color: dict[str, list[Mesh]] = {}
    for color, vertices, faces in read:
        mesh = Mesh(np.asarray(vertices, dtype=float), np.asarray(faces, dtype=int))
        if len(mesh.faces) and np.isfinite(mesh.vertices).all():
            by_color.setdefault(color, []).append(mesh)
    return tuple((color, _outwards(_together(meshes))) for color, meshes in by_color.items())


def _own_color(mesh: Any) -> str:
    """Colour of a mesh in its file."""
    try:
        return _hex((np.asarray(mesh.visual.material.main_color)[:3] / 255.0).tolist())
    except (AttributeError, TypeError, ValueError):
        return ""


def _together(meshes: Sequence[Mesh]) -> Mesh:
    first = np.cumsum([0] + [len(mesh.vertices) for mesh in meshes[:-1]])
    faces = [mesh.faces + start for mesh, start in zip(meshes, first, strict=True)]
    return Mesh(np.concatenate([mesh.vertices for mesh in meshes]), np.concatenate(faces))


def _outwards(mesh: Mesh) -> Mesh:
    """Orient the triangles of a mesh outwards, by the sign of the enclosed volume."""
    a, b, c = np.moveaxis(mesh.vertices[mesh.faces] - mesh.vertices.mean(axis=0), 1, 0)
    inside_out = float((a * np.cross(b, c)).sum()) < 0.0
    return mesh._replace(faces=mesh.faces[:, ::-1]) if inside_out else mesh
