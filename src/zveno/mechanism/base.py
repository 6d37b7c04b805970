"""Base of a mechanism: fixed, free, or the trunk of document 003."""

from __future__ import annotations

from itertools import chain, count

import numpy as np

from ..errors import ModelError, unknown_name
from .edit import rebuilt, subtree
from .joints import Free, Prismatic, Revolute
from .mechanism import Mechanism
from .parts import Joint, Link

WORLD = "world"
"""Name of the new link 0; a number is appended if the model has a link of that name already."""
FLOATING_BASE = "floating_base"
TRUNK_JOINTS = tuple(f"{FLOATING_BASE}_{suffix}" for suffix in ("x", "y", "z", "yaw", "pitch", "roll"))


def with_base(mechanism: Mechanism, base: str) -> Mechanism:
    """Replace the connection of a mechanism to the world.

    Args:
        mechanism: the mechanism; an existing free joint or trunk is removed first.
        base: "fixed"; "free", a joint with six degrees of freedom and a quaternion; or "trunk", document 003's
            three prismatic and three revolute joints (x, y, z, yaw, pitch, roll) on five massless links, which is
            singular at pitch ±90°, where its axes 4 and 6 align.
    """
    if not isinstance(base, str):
        raise ModelError(
            f"must be a name, got {type(base).__name__}", element="base", remedy='Give "fixed", "free" or "trunk"'
        )
    body = _without_base(mechanism)
    if base == "fixed":
        return body
    root = body.links[0].name
    candidates = chain([WORLD], (f"{WORLD}{k}" for k in count(2)))
    world = next(name for name in candidates if name not in body.frame_names)
    if base == "free":
        links = [Link(world)]
        joints = [Joint(FLOATING_BASE, world, root, Free())]
    elif base == "trunk":
        names = [world] + [f"trunk{k}" for k in range(1, 6)] + [root]
        x, y, z = np.eye(3)
        types = (Prismatic(x), Prismatic(y), Prismatic(z), Revolute(z), Revolute(y), Revolute(x))
        links = [Link(name) for name in names[:-1]]
        joints = [Joint(TRUNK_JOINTS[k], names[k], names[k + 1], joint_type) for k, joint_type in enumerate(types)]
    else:
        raise unknown_name("base", base, ("fixed", "free", "trunk"))
    transmission = None
    if body.transmission is not None:
        transmission = np.eye(6 + body.n_v)
        transmission[6:, 6:] = body.transmission
    return rebuilt(body, links=[*links, *body.links], joints=[*joints, *body.joints], transmission=transmission)


def _without_base(mechanism: Mechanism) -> Mechanism:
    first = [joint.name for joint in mechanism.joints]
    if first[:1] == [FLOATING_BASE]:
        return subtree(mechanism, mechanism.joints[0].child)
    if tuple(first[:6]) == TRUNK_JOINTS:
        return subtree(mechanism, mechanism.joints[5].child)
    return mechanism
