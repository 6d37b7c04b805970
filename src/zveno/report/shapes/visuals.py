"""Links as their URDF shows them: boxes, cylinders, spheres, and meshes whose files are found."""

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

from ...errors import ModelError, ZvenoWarning
from ...io.files import MAX_DATA_BYTES, read_bytes
from ...io.meshes import mesh_path
from ...io.shapes import Geometry, material_colors, visual_geometries
from ...mechanism import Mechanism
from . import solids
from .mesh import Mesh, box
from .simplify import simplified

PLAIN = "#c3ccd6"
"""Of shapes that say no colour."""
MESHES = (".stl", ".obj", ".dae")
LEAST_SHARE = 0.005
"""No mesh has a smaller share of the triangles that all have together."""
Coloured = tuple[tuple[str, Mesh], ...]
"""Meshes with their colours; empty text where a file says none."""


def visual_shapes(mechanism: Mechanism, triangles: int) -> dict[int, list[tuple[str, Any]]]:
    """(colour, shape in the link's axes) of every link whose visual elements can all be drawn, by its number.

    Links that show a mesh whose file is missing or cannot be read are left out: they are drawn from the kinematics.
    All meshes together have at most about so many triangles.
    """
    try:
        geometries, colors = visual_geometries(mechanism), material_colors(mechanism)
    except ModelError:
        return {}  # a shape that cannot be read is no reason to draw nothing
    found = {geometry: _found(geometry, mechanism.source) for geometry in geometries}
    lacking = {geometry.link for geometry, file in found.items() if geometry.kind == "mesh" and file is None}
    files = {file for geometry, file in found.items() if file is not None and geometry.link not in lacking}
    if files and not _readable():
        lacking |= {geometry.link for geometry, file in found.items() if file is not None}
        files = set()
    meshes = {file: _meshes(file, file.stat().st_mtime_ns) for file in sorted(files)}
    lacking |= {geometry.link for geometry, file in found.items() if file is not None and not meshes.get(file)}
    smaller = _smaller(meshes, triangles)
    shapes: dict[int, list[tuple[str, Any]]] = {}
    for geometry, file in found.items():
        if geometry.link in lacking:
            continue
        said = _hex(geometry.color or colors.get(geometry.material, ()))
        if file is None:
            made = [("", shape) for shape in _simple(geometry)]
        else:
            made = [(own, _placed(mesh, geometry)) for own, mesh in smaller[file]]
        coloured = [(said or own or PLAIN, shape) for own, shape in made]
        shapes.setdefault(mechanism.link_number(geometry.link), []).extend(coloured)
    return shapes


def _smaller(meshes: dict[Path, Coloured], triangles: int) -> dict[Path, Coloured]:
    """The meshes of all files with about so many triangles together, each with its share."""
    whole = sum(len(mesh.faces) for group in meshes.values() for _, mesh in group) or 1
    return {
        file: tuple(
            (color, simplified(mesh, max(int(max(len(mesh.faces) / whole, LEAST_SHARE) * triangles), 12)))
            for color, mesh in group
        )
        for file, group in meshes.items()
    }


def _hex(color: Sequence[float]) -> str:
    return "#" + "".join(f"{round(255 * float(value)):02x}" for value in color[:3]) if len(color) else ""


def _found(geometry: Geometry, model: str) -> Path | None:
    """The file of a mesh of a kind that is read."""
    if geometry.kind != "mesh":
        return None
    try:
        path = mesh_path(geometry.mesh, model)
    except (ModelError, ValueError, OSError):
        return None
    return path if path.suffix.lower() in MESHES else None


def _placed(mesh: Mesh, geometry: Geometry) -> Mesh:
    return mesh._replace(T=geometry.T_link_shape, scale=geometry.size)


def _simple(geometry: Geometry) -> list[Any]:
    """A box, sphere, cylinder or capsule."""
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
    """Whether meshes can be read; says how if not."""
    try:
        importlib.import_module("trimesh")
    except ImportError:
        remedy = "pip install 'zveno[mesh]'"
        warnings.warn(f"the robot's meshes are not drawn: {remedy}", ZvenoWarning, stacklevel=2)
        return False
    return True


@lru_cache(maxsize=512)
def _meshes(path: Path, changed: int) -> Coloured:
    """The triangles of a file by colour, in metres before the model's scale; none where they cannot be read."""
    trimesh = importlib.import_module("trimesh")
    logging.getLogger("trimesh").setLevel(logging.CRITICAL)
    try:
        data = io.BytesIO(read_bytes(path, MAX_DATA_BYTES))
        scene = trimesh.load(data, file_type=path.suffix.lower()[1:], force="scene", process=False)
        read = [(_own_color(mesh), mesh.vertices, mesh.faces) for mesh in scene.dump()]
    except Exception:  # parsers of foreign formats raise whatever they like
        return ()
    by_color: dict[str, list[Mesh]] = {}
    for color, vertices, faces in read:
        mesh = Mesh(np.asarray(vertices, dtype=float), np.asarray(faces, dtype=int))
        if len(mesh.faces) and np.isfinite(mesh.vertices).all():
            by_color.setdefault(color, []).append(mesh)
    return tuple((color, _outwards(_together(meshes))) for color, meshes in by_color.items())


def _own_color(mesh: Any) -> str:
    """The colour that a mesh has in its file."""
    try:
        return _hex((np.asarray(mesh.visual.material.main_color)[:3] / 255.0).tolist())
    except (AttributeError, TypeError, ValueError):
        return ""


def _together(meshes: Sequence[Mesh]) -> Mesh:
    first = np.cumsum([0] + [len(mesh.vertices) for mesh in meshes[:-1]])
    faces = [mesh.faces + start for mesh, start in zip(meshes, first, strict=True)]
    return Mesh(np.concatenate([mesh.vertices for mesh in meshes]), np.concatenate(faces))


def _outwards(mesh: Mesh) -> Mesh:
    """The mesh with its triangles turned outwards, judged by the volume they enclose."""
    a, b, c = np.moveaxis(mesh.vertices[mesh.faces] - mesh.vertices.mean(axis=0), 1, 0)
    inside_out = float((a * np.cross(b, c)).sum()) < 0.0
    return mesh._replace(faces=mesh.faces[:, ::-1]) if inside_out else mesh
