"""Copies of a robot as instances of shared shapes: an update sends two arrays per shape."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..report.robot_parts import Part, rgb
from ..report.solids import Instance, Mesh

PARKED = np.array([0.0, 0.0, -1e4], dtype=np.float32)
"""Position of hidden copies; the number of instances is fixed, so that updates never change sizes."""

GHOST_SIDES = 12
"""Number of sides of round parts of transparent copies, which are numerous."""
NOWHERE = np.zeros((0, 1, 4, 4))
"""Empty array of poses, which hides all copies."""


class Shared:
    """Instances of one shape: all parts of all copies that share it."""

    def __init__(self, family: Sequence[tuple[Part, Instance]], copies: int, most_sides: int):
        parts = [part for part, _ in family]
        self.parts: list[Part] = parts
        instances = [instance for _, instance in family]
        self.links: np.ndarray = np.array([part.link for part in parts])
        self.R = np.array([instance.T[:3, :3] for instance in instances])
        self.position: np.ndarray = np.array([instance.T[:3, 3] for instance in instances])
        scale = np.array([instance.scale for instance in instances])
        colors = np.array([_linear(rgb(part.color)) for part in parts])
        self.scales: np.ndarray = np.tile(scale, (copies, 1)).astype(np.float32)
        self.colors: np.ndarray = np.tile(colors, (copies, 1)).astype(np.uint8)
        self.mesh: Mesh = parts[0].shape.unit_mesh(most_sides)
        self.handle: Any = None

    def placed(self, T: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Quaternions (c·n, 4) and positions (c·n, 3) for the poses of all links of c copies."""
        T = T[:, self.links]
        at = np.einsum("cnij,nj->cni", T[..., :3, :3], self.position) + T[..., :3, 3]
        turned = quaternions((T[..., :3, :3] @ self.R).reshape(-1, 3, 3))
        return turned.astype(np.float32), at.reshape(-1, 3).astype(np.float32)


class Instances:
    """Copies of a robot's parts below a node of the scene."""

    def __init__(
        self,
        scene: Any,
        node: str,
        parts: Sequence[Part],
        *,
        copies: int = 1,
        opacity: float | None = None,
        clicked: Callable[[int], None] | None = None,
    ):
        self.copies: int = copies
        self.shown = -1
        families: dict[Any, list[tuple[Part, Instance]]] = {}
        for part in parts:
            instance = part.shape.instance()
            families.setdefault(instance.key, []).append((part, instance))
        self.shared: list[Shared] = [
            Shared(family, copies, 64 if opacity is None else GHOST_SIDES) for family in families.values()
        ]
        self.n_parts: int = len(parts)
        for number, shared in enumerate(self.shared):
            n = copies * len(shared.parts)
            shared.handle = scene.add_batched_meshes_simple(
                f"{node}/{number}",
                shared.mesh.vertices.astype(np.float32),
                shared.mesh.faces.astype(np.uint32),
                np.tile(np.array([1.0, 0.0, 0.0, 0.0], dtype=np.float32), (n, 1)),
                np.tile(PARKED, (n, 1)),
                batched_scales=shared.scales,
                batched_colors=shared.colors,
                opacity=opacity,
                lod="off",
                flat_shading=isinstance(shared.parts[0].shape, Mesh),
                side="double" if isinstance(shared.parts[0].shape, Mesh) else "front",
                cast_shadow=opacity is None,
                receive_shadow=opacity is None,
            )
            if clicked is not None:
                shared.handle.on_click(self._click(len(shared.parts), clicked))

    @staticmethod
    def _click(parts: int, clicked: Callable[[int], None]) -> Callable[[Any], None]:
        def on_click(event: Any) -> None:
            if event.instance_index is not None:
                clicked(int(event.instance_index) // parts)

        return on_click

    def place(self, T: np.ndarray) -> None:
        """Place copies at link poses T (c, n_links, 4, 4); further copies are hidden."""
        T = np.asarray(T)[: self.copies]
        if not len(T) and self.shown == 0:
            return
        for shared in self.shared:
            turned, at = (
                shared.placed(T) if len(T) else (np.zeros((0, 4), np.float32), np.zeros((0, 3), np.float32))
            )
            missing = (self.copies - len(T)) * len(shared.parts)
            if missing:
                turned = np.concatenate([turned, np.tile(np.array([1, 0, 0, 0], dtype=np.float32), (missing, 1))])
                at = np.concatenate([at, np.tile(PARKED, (missing, 1))])
            shared.handle.batched_wxyzs = turned
            shared.handle.batched_positions = at
        self.shown: int = len(T)

    def show(self, visible: bool) -> None:
        """Show or hide all copies."""
        for shared in self.shared:
            shared.handle.visible = visible


def _linear(color: np.ndarray) -> np.ndarray:
    """Convert an sRGB colour, 0 to 1, to linear bytes, which viser expects for instances."""
    light = np.where(color <= 0.04045, color / 12.92, ((color + 0.055) / 1.055) ** 2.4)
    return np.round(255 * light)


def quaternions(R: np.ndarray) -> np.ndarray:
    """Unit quaternions wxyz (n, 4) of rotations (n, 3, 3)."""
    from scipy.spatial.transform import Rotation

    return Rotation.from_matrix(R).as_quat(scalar_first=True) if len(R) else np.zeros((0, 4))
