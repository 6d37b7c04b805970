"""Equivalent mechanisms with fewer bodies and simpler frames.

Torques and accelerations depend neither on the position of a link's frame nor on the number of rigidly joined parts
of a body. Dynamics kernels are built on the reduced mechanism, because more of its constants are 0 or 1.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..spatial import inertia as inertial
from ..spatial.rotations import z_to
from ..spatial.transforms import inverse, transform
from .assemble import assemble
from .mechanism import Mechanism
from .parts import Frame, Joint


class Reduced(NamedTuple):
    """Reduced mechanism and the mapping from the original links."""

    mechanism: Mechanism
    carriers: tuple[tuple[int, np.ndarray], ...]
    """Number of the reduced link and T_reduced_original, for every original link."""


def reduced(mechanism: Mechanism, reframe: bool = True) -> Reduced:
    """Merge links on fixed joints into the links that carry them; they stay as frames, and their inertia is added.

    Args:
        mechanism: the original mechanism.
        reframe: also move every link's frame into its joint. The joint axis becomes a coordinate axis, and the
            origin is the point of the axis nearest to the parent's frame.
    """
    carriers: list[tuple[int, np.ndarray]] = [(0, np.eye(4))]
    links, joints = [mechanism.links[0]], []
    for i, f, joint in mechanism.outward():
        parent, T = carriers[f]
        if not joint.type.n_v:
            carriers.append((parent, T @ joint.transform(np.zeros(0))))
            merged, link = links[parent], mechanism.links[i]
            total = merged.inertia + inertial.moved(link.inertia, carriers[i][1])
            given = merged.inertia_given or link.inertia_given
            links[parent] = replace(merged, inertia=total, inertia_given=given)
            continue
        placed = replace(joint, parent=links[parent].name, T_parent_joint=T @ joint.T_parent_joint)
        T_new_old = np.eye(4)
        if reframe:
            placed, T_new_old = _reframe(placed)
        carriers.append((len(links), T_new_old))
        link = mechanism.links[i]
        links.append(replace(link, inertia=inertial.moved(link.inertia, T_new_old)))
        joints.append(placed)
    frames = []
    for i, joint in enumerate(mechanism.joints, start=1):
        number, T = carriers[i]
        if not joint.type.n_v:
            frames.append(Frame(mechanism.link_names[i], links[number].name, T))
    for frame in mechanism.frames:
        number, T = carriers[mechanism.link_number(frame.link)]
        frames.append(Frame(frame.name, links[number].name, T @ frame.T_link_frame))
    smaller = assemble(
        mechanism.name,
        links,
        joints,
        frames,
        mechanism.gravity,
        mechanism.transmission,
        mechanism.source,
        mechanism.notes,
        # Moved frames are valid for the dynamics of the tree only; loops refer to frames of the original model.
        () if reframe else mechanism.loops,
        motors=mechanism.motors,
        reference=mechanism.reference,
    )
    return Reduced(smaller, tuple(carriers))


def merge_fixed(mechanism: Mechanism) -> Mechanism:
    """Merge links on fixed joints into the links that carry them, as frames."""
    return reduced(mechanism, reframe=False).mechanism


def _reframe(joint: Joint) -> tuple[Joint, np.ndarray]:
    """Move the child's frame into the joint frame; return the joint and T_new_old of the child's frame."""
    A = np.eye(4)
    axis = joint.type.parameters().get("axis")
    if isinstance(axis, np.ndarray):
        if np.count_nonzero(axis) != 1:
            A = transform(z_to(axis))
            axis = np.array([0.0, 0.0, 1.0])
            joint = replace(joint, type=joint.type.about(axis))
        # Shifting the origin along the axis does not change the joint's motion.
        R, p = (joint.T_parent_joint @ A)[:3, :3], joint.T_parent_joint[:3, 3]
        A = A @ transform(None, axis * -((R @ axis) @ p))
    placed = replace(joint, T_parent_joint=_clear_rounding(joint.T_parent_joint @ A), T_joint_child=np.eye(4))
    return placed, inverse(A) @ joint.T_joint_child


def _clear_rounding(T: np.ndarray) -> np.ndarray:
    """Set lengths at rounding level to zero."""
    p = T[:3, 3]
    return transform(T[:3, :3], np.where(abs(p) <= 1e-15 * max(1.0, abs(p).max()), 0.0, p))
