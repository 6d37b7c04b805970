"""Meshes with fewer triangles: corners that lie in one cell of a grid become one (Rossignac and Borrel 1993)."""

from __future__ import annotations

import numpy as np

from .mesh import Mesh

_FINEST = 256
"""Cells along the longest side of the mesh in the finest grid."""
_COARSER = 0.9
"""Each further grid has at most this many times the cells of the one before, along a side."""


def simplified(mesh: Mesh, most: int) -> Mesh:
    """A mesh with at most so many triangles, or the mesh itself; corners move by less than a cell's diagonal."""
    cells = float(_FINEST)
    smaller = joined = _joined(mesh)
    while len(smaller.faces) > most and cells >= 1.0:
        smaller = _clustered(joined, cells)
        cells *= min(_COARSER, float(np.sqrt(most / max(len(smaller.faces), 1))))  # triangles grow with its square
    return smaller


def _joined(mesh: Mesh) -> Mesh:
    """Corners in the same place become one; those of no triangle are dropped."""
    corners = np.unique(mesh.faces)
    places, number = np.unique(mesh.vertices[corners], axis=0, return_inverse=True)
    renumbered = np.zeros(len(mesh.vertices), dtype=int)
    renumbered[corners] = number.reshape(-1)
    return Mesh(places, _proper(renumbered[mesh.faces]))


def _clustered(mesh: Mesh, cells: float) -> Mesh:
    low, high = mesh.vertices.min(axis=0), mesh.vertices.max(axis=0)
    size = float((high - low).max()) / cells or 1.0
    cell = np.floor((mesh.vertices - low) / size).astype(np.int64)
    _, number = np.unique(cell @ np.array([1, 1 << 20, 1 << 40]), return_inverse=True)
    count = np.bincount(number)
    middle = np.stack([np.bincount(number, mesh.vertices[:, k]) / count for k in range(3)], axis=1)
    return Mesh(middle, _proper(number[mesh.faces]))


def _proper(faces: np.ndarray) -> np.ndarray:
    """Triangles with three different corners, each once."""
    proper = faces[(faces[:, 0] != faces[:, 1]) & (faces[:, 1] != faces[:, 2]) & (faces[:, 2] != faces[:, 0])]
    least = proper.argmin(axis=1) if len(proper) else np.zeros(0, dtype=int)
    turned = np.take_along_axis(proper, (least[:, None] + np.arange(3)) % 3, axis=1).astype(np.int64)
    _, once = np.unique(turned @ np.array([1, 1 << 21, 1 << 42]), return_index=True)
    return turned[once]
