"""Closed loops: the mechanism is a tree, and a `Loop` joins two of its frames where a loop was cut."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any, TypeVar, cast

from ..errors import ModelError, unknown_name

DIRECTIONS = ("x", "y", "z", "rx", "ry", "rz")
"""Directions that a loop can lock: translation along the other frame's axes and rotation about them."""
CLOSING_JOINTS: dict[str, tuple[str, ...]] = {"point": DIRECTIONS[:3], "hinge": DIRECTIONS[:5], "weld": DIRECTIONS}
"""Locked directions of common joints: a ball joint, a hinge about the common z axis, a rigid connection."""


@dataclass(frozen=True)
class Loop:
    """Joint between two frames of a mechanism that closes a loop.

    Attributes:
        frame, other: names of links or frames.
        locked: locked directions of the relative motion, in the axes of `other`: some of "x", "y", "z" (the
            origins coincide along them) and "rx", "ry", "rz". All three rotations lock the orientation; two leave
            a hinge about the third axis. One rotation leaves a universal joint: for "rz", the y axis of `frame`
            stays perpendicular to the x axis of `other`, and cyclically for the others. "point", "hinge" and
            "weld" are shorthands. In a planar loop, ("x", "y") is sufficient.
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
        """Name of the loop in errors and notes."""
        return f"loop {self.frame}–{self.other}"


def checked_directions(locked: Iterable[str], label: str) -> tuple[str, ...]:
    """Sort locked directions in the order of `DIRECTIONS`; raise if one is unknown or repeated."""
    names = list(locked)
    for name in names:
        if name not in DIRECTIONS:
            raise unknown_name("direction", name, DIRECTIONS).located(element=label)
    if not names or len(set(names)) != len(names):
        raise ModelError(
            "it locks no direction, or one direction twice", element=label, remedy="Name every direction once"
        )
    return tuple(name for name in DIRECTIONS if name in names)


def checked_loops(loops: Iterable[Loop], link_of_frame: dict[str, str]) -> tuple[Loop, ...]:
    """Check loops; raise if a frame does not exist or both frames are on the same link."""
    checked = tuple(loops)
    for loop in checked:
        if not isinstance(loop, Loop):
            raise ModelError(f"a loop must be a zveno.Loop, got {loop!r}", remedy="Give zveno.Loop(frame, other)")
        for frame in (loop.frame, loop.other):
            if frame not in link_of_frame:
                raise unknown_name("frame", frame, link_of_frame).located(element=loop.label)
        if link_of_frame[loop.frame] == link_of_frame[loop.other]:
            raise ModelError(
                "its two frames are on the same link", element=loop.label, remedy="Name frames on two links"
            )
        if sum((other.frame, other.other) == (loop.frame, loop.other) for other in checked) > 1:
            raise ModelError(
                "two loops join the same frames", element=loop.label, remedy="Name all its directions in one loop"
            )
    return checked


def prefixed_loops(loops: Sequence[Loop], prefix: str) -> tuple[Loop, ...]:
    """Add a prefix to the frame names of loops."""
    return tuple(replace(loop, frame=prefix + loop.frame, other=prefix + loop.other) for loop in loops)


WITH_LOOPS = (
    "forward_kinematics, frame_velocity, frame_acceleration, center_of_mass, energy, momentum, base_parameters, "
    "constrained_dynamics, constrained_dynamics_derivatives, evaluate_constraints, calibrate, identifiability, "
    "identify, ik, impact, simulate and whole_body"
)
"""Functions that take closed loops into account or do not depend on them."""

Function = TypeVar("Function", bound=Callable[..., Any])


def refuse_loops(robot: Any, function: str) -> None:
    """Raise an error if a robot or mechanism has closed loops, which the function would ignore."""
    mechanism = getattr(robot, "mechanism", robot)
    loops = getattr(mechanism, "loops", ())
    if loops:
        raise ModelError(
            f"{function} does not know closed loops ({', '.join(loop.label for loop in loops)})",
            element=mechanism.name,
            remedy=f"These functions take loops: {WITH_LOOPS}. zveno.loops.ClosedRobot has Jacobians and dynamics "
            "in the velocities of the motors. The tree alone, with its loops open, is robot.opened()",
        )


def for_trees(function: Function) -> Function:
    """Decorate a function whose first argument is a robot, so that it rejects closed loops."""

    @wraps(function)
    def checked(*args: Any, **options: Any) -> Any:
        for robot in (*args[:1], *(() if args else options.values())):
            refuse_loops(robot, function.__name__)
        return function(*args, **options)

    return cast(Function, checked)
