"""The same dynamics with fewer bodies and simpler frames.

Torques and accelerations do not depend on where a link's frame sits, nor on how many rigidly joined parts a body
is drawn as. Kernels of dynamics are built on the reduced mechanism; it has fewer numbers that are not 0 or 1.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..spatial import inertia as inertial
from ..spatial.rotations import z_to
from ..spatial.transforms import inverse, transform
from .assemble import assemble
from .joints import Fixed
from .mechanism import Mechanism
from .parts import Frame, Joint


class Reduced(NamedTuple):
    """A reduced mechanism and where the links of the original went."""

    mechanism: Mechanism
    carriers: tuple[tuple[int, np.ndarray], ...]
    """For every link of the original: the number of the reduced link it belongs to, and T_reduced_original."""


def reduced(mechanism: Mechanism, reframe: bool = True) -> Reduced:
    """Links on fixed joints merged into the link that carries them; they stay as frames, their inertia is added.

    Args:
        mechanism: what to reduce.
        reframe: also move every link's frame into its joint, turned so that the axis is a coordinate axis and
            slid along the axis to where the step from the parent is shortest.
    """
    carriers: list[tuple[int, np.ndarray]] = [(0, np.eye(4))]
    links, joints = [mechanism.links[0]], []
    for i, f, joint in mechanism.outward():
        parent, T = carriers[f]
        if isinstance(joint.type, Fixed):
            carriers.append((parent, T @ joint.transform(np.zeros(0))))
            merged, link = links[parent], mechanism.links[i]
            total = merged.inertia + inertial.moved(link.inertia, carriers[i][1])
            given = merged.inertia_given or link.inertia_given
            links[parent] = replace(merged, inertia=total, inertia_given=given)
            continue
        placed = replace(joint, parent=links[parent].name, T_parent_joint=T @ joint.T_parent_joint)
        T_new_old = np.eye(4)
        if reframe:
            placed, T_new_old = _reframed(placed)
        carriers.append((len(links), T_new_old))
        link = mechanism.links[i]
        links.append(replace(link, inertia=inertial.moved(link.inertia, T_new_old)))
        joints.append(placed)
    frames = []
    for i, joint in enumerate(mechanism.joints, start=1):
        number, T = carriers[i]
        if isinstance(joint.type, Fixed):
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
        # Moved frames are for the dynamics of the tree alone; loops name frames where the model has them.
        () if reframe else mechanism.loops,
    )
    return Reduced(smaller, tuple(carriers))


def merge_fixed(mechanism: Mechanism) -> Mechanism:
    """The same motion with fewer bodies: links on fixed joints become frames of the link that carries them."""
    return reduced(mechanism, reframe=False).mechanism


def _reframed(joint: Joint) -> tuple[Joint, np.ndarray]:
    """The joint with the child's frame in the moved joint frame, and T_new_old of the child's frame."""
    A = np.eye(4)
    axis = joint.type.parameters().get("axis")
    if isinstance(axis, np.ndarray):
        if np.count_nonzero(axis) != 1:
            A = transform(z_to(axis))
            axis = np.array([0.0, 0.0, 1.0])
            joint = replace(joint, type=joint.type.about(axis))
        # The origin may slide along the axis: the joint's own motion does not see it.
        R, p = (joint.T_parent_joint @ A)[:3, :3], joint.T_parent_joint[:3, 3]
        A = A @ transform(None, axis * -((R @ axis) @ p))
    placed = replace(joint, T_parent_joint=_cleaned(joint.T_parent_joint @ A), T_joint_child=np.eye(4))
    return placed, inverse(A) @ joint.T_joint_child


def _cleaned(T: np.ndarray) -> np.ndarray:
    """Lengths that sliding along the axis left at rounding level are zero."""
    p = T[:3, 3]
    return transform(T[:3, :3], np.where(abs(p) <= 1e-15 * max(1.0, abs(p).max()), 0.0, p))
