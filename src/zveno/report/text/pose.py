"""Poses as numbers for people and for JSON."""

from __future__ import annotations

from typing import Any

import numpy as np
from rich.table import Table

from ...spatial.rotations import to_quaternion, to_rpy
from .columns import number


def pose_data(T: Any) -> dict[str, Any]:
    """A pose (4, 4) as matrix, position (m), quaternion `wxyz` and roll, pitch, yaw (rad)."""
    T = np.asarray(T, dtype=float)
    return {
        "T": T.tolist(),
        "position": T[:3, 3].tolist(),
        "quaternion_wxyz": to_quaternion(T[:3, :3]).tolist(),
        "rpy": to_rpy(T[:3, :3]).tolist(),
    }


def pose_table(pose: dict[str, Any], name: str, degrees: bool = False) -> Table:
    """A pose for people: the matrix, then position, quaternion and roll, pitch, yaw."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style="dim")
    for _ in range(4):
        table.add_column(justify="right")
    for k, row in enumerate(pose["T"]):
        table.add_row(name if k == 0 else "", *(number(x) for x in row))
    table.add_row()
    table.add_row("position, m", *(number(x) for x in pose["position"]))
    table.add_row("quaternion wxyz", *(number(x) for x in pose["quaternion_wxyz"]))
    angles = np.degrees(pose["rpy"]) if degrees else pose["rpy"]
    table.add_row(f"roll pitch yaw, {'deg' if degrees else 'rad'}", *(number(x) for x in angles))
    return table


def link_table(poses: dict[str, dict[str, Any]]) -> Table:
    """Positions and quaternions of links, one line each."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("link", overflow="fold")
    for name in ("x, m", "y", "z", "qw", "qx", "qy", "qz"):
        table.add_column(name, justify="right")
    for link, pose in poses.items():
        table.add_row(link, *(number(x, 4) for x in (*pose["position"], *pose["quaternion_wxyz"])))
    return table
