"""Closed loops of a URDF, which the format itself does not know.

`<loop_joint name type>` with `<link1 link xyz rpy>` and `<link2 link xyz rpy>` is the extension of Isaac Sim. Types
are `spherical`, `fixed`, and `revolute` about an `<axis xyz>` of link 1's frame, x by default as in every joint.
An attribute `locked="x y"` names the locked directions instead. Two elements are extensions of our own:
`<motor joint>` names a driven joint, and `<reference joint q>` the coordinates of a joint in a closed
configuration. Without `<motor>`, the joints of transmissions and of ros2_control command interfaces are driven.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ..errors import ModelError
from ..mechanism import Frame, Joint, Loop
from ..mechanism.joints import unit_axis
from ..mechanism.loops import CLOSING_JOINTS
from ..spatial import rotations
from ..spatial.transforms import transform
from .urdf_reading import numbers
from .xml import Element, to_floats

LOOP_SECTIONS = ("loop_joint", "motor", "reference")
"""Elements of the root that this module reads."""
LOOP_TYPES = {"spherical": "point", "revolute": "hinge", "continuous": "hinge", "fixed": "weld"}
"""Joints of `Loop` by URDF's names of joint types."""


def loops_of(root: Element, links: set[str]) -> tuple[list[Frame], list[Loop]]:
    """Return the loops and the frames at their ends; an end without a pose of its own is the link itself."""
    frames: list[Frame] = []
    loops: list[Loop] = []
    for element in root.all("loop_joint"):
        name = element.attributes.get("name") or f"loop{len(loops)}"
        owner = f"loop_joint {name}"
        locked = _locked(element, owner)
        R = np.eye(3)
        if locked == "hinge":
            axis = element.only("axis", owner)
            direction = [1.0, 0.0, 0.0] if axis is None else numbers(axis, "xyz", owner, counts=(3,))
            R = rotations.z_to(unit_axis(direction))  # the hinge of a loop turns about z
        ends = []
        for tag, side in (("link1", "first"), ("link2", "second")):
            end = element.only(tag, owner)
            link = None if end is None else end.attributes.get("link")
            if end is None or link not in links:
                raise ModelError(
                    f"its {tag} is missing" if link is None else f"its {tag} {link!r} does not exist",
                    element=f"{owner} (line {element.line})",
                    remedy=f'Add <{tag} link="…" xyz="0 0 0" rpy="0 0 0"/>',
                )
            xyz, rpy = (numbers(end, key, owner, counts=(3,), default="0 0 0") for key in ("xyz", "rpy"))
            T = transform(rotations.from_rpy(rpy) @ R, xyz)
            if np.array_equal(T, np.eye(4)):
                ends.append(link)
            else:
                frames.append(Frame(f"{name}_{side}", link, T))
                ends.append(frames[-1].name)
        loops.append(Loop(ends[0], ends[1], locked))
    return frames, loops


def _locked(element: Element, owner: str) -> str | tuple[str, ...]:
    if "locked" in element.attributes:
        return tuple(element.attributes["locked"].split())
    kind = element.attributes.get("type", "")
    if kind not in LOOP_TYPES:
        raise ModelError(
            f"its type {kind[:60]!r} does not close a loop",
            element=f"{owner} (line {element.line})",
            remedy=f'Types: {", ".join(LOOP_TYPES)}; or give locked="x y z"',
        )
    return LOOP_TYPES[kind]


def type_of(loop: Loop) -> str | None:
    """Return URDF's name of the joint that a loop is, None if it has none."""
    closing = {CLOSING_JOINTS[words]: name for name, words in LOOP_TYPES.items() if name != "continuous"}
    return closing.get(tuple(loop.locked))


def motors_of(root: Element, transmissions: Iterable[str], joints: list[Joint]) -> list[str] | None:
    """Return the names of driven joints, None if the file does not say."""
    named = [element.attributes.get("joint", "") for element in root.all("motor")]
    if named:
        return named
    own = {joint.name for joint in joints if joint.mimic is None and joint.type.n_q}
    commanded = [
        joint.attributes.get("name", "")
        for control in root.all("ros2_control")
        for joint in control.all("joint")
        if joint.all("command_interface")
    ]
    driven = [name for name in dict.fromkeys([*transmissions, *commanded]) if name in own]
    return driven or None


def reference_of(root: Element) -> dict[str, np.ndarray] | None:
    """Return the closed configuration by joint name, None if the file has none."""
    elements = root.all("reference")
    if not elements:
        return None
    return {
        element.attributes.get("joint", ""): np.array(
            to_floats(element.attributes.get("q", ""), (1, 2, 3, 4, 7), f"reference (line {element.line})", 1e50)
        )
        for element in elements
    }
