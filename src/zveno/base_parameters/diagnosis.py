"""Near-degenerate geometry: what is almost but not quite special, and what the rank would be if it were."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ..io.near_exact import snapped_axis, snapped_rpy
from ..mechanism import Joint, Mechanism
from ..spatial.rotations import from_rpy, to_rpy
from ..spatial.transforms import transform

NEAR = 1e-3
"""Kept singular values below this, lengths and gravity of size 1, are worth a word; so are angles, rad."""


def causes(mechanism: Mechanism, rank: int, rank_of: Callable[[Mechanism], int], least: float = 0.0) -> list[str]:
    """Sentences that name what is nearly special and what the rank would be; empty if nothing changes it.

    Args:
        mechanism: as typed.
        rank: its rank.
        rank_of: the rank of a changed mechanism.
        least: angles off by no more than this, rad, are rounding.
    """
    exact, near = _made_exact(mechanism, least)
    if near and (other := rank_of(exact)) != rank:
        shown = "; ".join(near[:4]) + (f"; and {len(near) - 4} more" if len(near) > 4 else "")
        return [f"{shown}: {rank} parameters as typed, {other} as meant"]
    for text, aligned in _gravity(mechanism, least):
        if (other := rank_of(aligned)) != rank:
            return [f"{text}: {other} parameters if aligned, {rank} if not"]
    return []


def _gravity(mechanism: Mechanism, least: float) -> list[tuple[str, Mechanism]]:
    """Gravity almost along, or almost across, the axis of a joint on the ground."""
    g = mechanism.gravity
    size = np.linalg.norm(g)
    variants = []
    if not size:
        return variants
    for joint in mechanism.joints:
        if joint.parent != mechanism.links[0].name or "axis" not in joint.type.parameters():
            continue
        axis = joint.T_parent_joint[:3, :3] @ np.asarray(joint.type.parameters()["axis"])
        along, across = abs(axis @ g) / size, np.linalg.norm(np.cross(axis, g)) / size
        number = mechanism.link_number(joint.child)
        if least < across < NEAR:
            aligned = replace(mechanism, gravity=(axis @ g) * axis)
            variants.append((f"gravity is {_short(math.asin(across))} rad off joint {number}'s axis", aligned))
        elif least < along < NEAR:
            aligned = replace(mechanism, gravity=g - (axis @ g) * axis)
            variants.append(
                (f"gravity is {_short(math.asin(along))} rad off the plane across joint {number}'s axis", aligned)
            )
    return variants


def _short(x: float) -> str:
    """One digit: 1e-9, not 1e-09."""
    return re.sub(r"e-0*", "e-", f"{x:.1g}")


def _made_exact(mechanism: Mechanism, least: float) -> tuple[Mechanism, list[str]]:
    """The mechanism with near-exact angles and axes made exact, and what was near, in words."""
    joints, words = [], []
    for joint in mechanism.joints:
        changed, near = _exact_joint(joint, least)
        joints.append(changed)
        words += [f"joint {joint.name}: {word}" for word in near]
    return replace(mechanism, joints=tuple(joints)), words


def _exact_joint(joint: Joint, least: float) -> tuple[Joint, list[str]]:
    words: list[str] = []
    placements = []
    for T in (joint.T_parent_joint, joint.T_joint_child):
        angles = to_rpy(T[:3, :3]).tolist()
        rpy, near = snapped_rpy(angles)
        words += near if abs(rpy - angles).max() > least else []
        placements.append(transform(from_rpy(rpy), T[:3, 3]) if near else T)
    kind = joint.type
    axis = kind.parameters().get("axis")
    if isinstance(axis, np.ndarray):
        meant, near = snapped_axis(axis)
        words += near if np.linalg.norm(meant - axis) > least else []
        kind = kind.about(meant) if near else kind
    return replace(joint, type=kind, T_parent_joint=placements[0], T_joint_child=placements[1]), words
