"""Closed loops: a mechanism is a tree, and a loop is what holds two of its frames together where it was cut."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from ..errors import ModelError, unknown_name

DIRECTIONS = ("x", "y", "z", "rx", "ry", "rz")
"""What a loop can lock: the frame's origin along the other frame's axes, and its turning about them."""
CLOSING_JOINTS: dict[str, tuple[str, ...]] = {"point": DIRECTIONS[:3], "hinge": DIRECTIONS[:5], "weld": DIRECTIONS}
"""Directions that the usual joints lock: a ball joint, a hinge about the common z axis, a rigid connection."""


@dataclass(frozen=True)
class Loop:
    """Two frames of a mechanism that a joint holds together, which closes a loop.

    Attributes:
        frame, other: names of links or frames.
        locked: directions in which they cannot move against each other, in the axes of `other`: some of "x", "y",
            "z" (origins coincide along them) and "rx", "ry", "rz". All three rotations weld the attitude, two
            leave a hinge about the third axis, one alone ("rz": the y axis of `frame` stays square to the x axis
            of `other`, and cyclically) leaves a universal joint. "point", "hinge" and "weld" stand for the usual
            ones. In a planar loop ("x", "y") is enough.
    """

    frame: str
    other: str
    locked: tuple[str, ...] | str = "point"

    def __post_init__(self) -> None:
        locked = self.locked
        if isinstance(locked, str):
            if locked not in CLOSING_JOINTS:
                raise unknown_name("joint that closes a loop", locked, CLOSING_JOINTS).located(element=self.label)
            locked = CLOSING_JOINTS[locked]
        object.__setattr__(self, "locked", checked_directions(locked, self.label))

    @property
    def label(self) -> str:
        """What errors and notes call it."""
        return f"loop {self.frame}–{self.other}"


def checked_directions(locked: Iterable[str], label: str) -> tuple[str, ...]:
    """Locked directions in the order of `DIRECTIONS`, each named once."""
    names = list(locked)
    for name in names:
        if name not in DIRECTIONS:
            raise unknown_name("direction", name, DIRECTIONS).located(element=label)
    if not names or len(set(names)) != len(names):
        raise ModelError("it locks no direction, or one twice", element=label, remedy="Name every direction once")
    return tuple(name for name in DIRECTIONS if name in names)


def checked_loops(loops: Iterable[Loop], link_of_frame: dict[str, str]) -> tuple[Loop, ...]:
    """The loops, refused where a frame does not exist or both are on one link."""
    checked = tuple(loops)
    for loop in checked:
        if not isinstance(loop, Loop):
            raise ModelError(f"{loop!r} is not a loop", remedy="Give zveno.Loop(frame, other)")
        for frame in (loop.frame, loop.other):
            if frame not in link_of_frame:
                raise unknown_name("frame", frame, link_of_frame).located(element=loop.label)
        if link_of_frame[loop.frame] == link_of_frame[loop.other]:
            raise ModelError("both its frames are on one link", element=loop.label)
        if sum((other.frame, other.other) == (loop.frame, loop.other) for other in checked) > 1:
            raise ModelError("it is given twice", element=loop.label, remedy="Name all its directions in one loop")
    return checked


def prefixed_loops(loops: Sequence[Loop], prefix: str) -> tuple[Loop, ...]:
    """The loops of a mechanism whose names get a prefix."""
    return tuple(replace(loop, frame=prefix + loop.frame, other=prefix + loop.other) for loop in loops)
