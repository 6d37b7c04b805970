"""Poses between a camera and a marker board."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from ....errors import unknown_name
from ..._kinematics import inverses
from .. import options
from ..base import ALL_SIX, Countable, Remark, Slot, frame_slot
from .pose import PoseReadings, as_transforms


@dataclass(frozen=True, eq=False)
class Camera(PoseReadings):
    """Poses between a camera and a marker board, one of them on the robot and the other in the world.

    Attributes:
        mount: "hand" if the camera is on the robot (eye in hand), "world" if it stands beside it (eye to hand).
        gives: "camera" if readings are poses of the camera in the board's frame, "board" if they are
            poses of the board in the camera's frame, as vision libraries return them.
        board, camera: names, or a (4, 4) pose where known: of what stands in the world as the world seen from it,
            of what is on the robot as its pose in the frame.
    """

    mount: Literal["hand", "world"] = field(default="hand", metadata=options.one_of("hand", "world"))
    gives: Literal["camera", "board"] = field(default="camera", metadata=options.one_of("camera", "board"))
    board: str | ArrayLike = field(default="board", metadata=options.WORD)
    camera: str | ArrayLike = field(default="camera", metadata=options.WORD)

    kind = "camera"
    lesser = "relative_position"

    def __post_init__(self) -> None:
        for option, value, known in (
            ("mount", self.mount, ("hand", "world")),
            ("gives", self.gives, ("camera", "board")),
        ):
            if value not in known:
                raise unknown_name(option, value, known)

    @property
    def left(self) -> Slot:
        """Frame that is fixed in the world: the board or the camera."""
        return self._slot("board" if self.mount == "hand" else "camera")

    @property
    def right(self) -> tuple[Slot, ...]:
        """Frame that is on the robot: the camera or the board."""
        return (self._slot("camera" if self.mount == "hand" else "board"),)

    def _slot(self, which: str) -> Slot:
        given = getattr(self, which)
        return Slot(given, ALL_SIX, None, True) if isinstance(given, str) else frame_slot(given, which)

    def data(self, y: ArrayLike | None, n: int) -> tuple[np.ndarray, list[Remark]]:
        """Return the readings as poses of the moving frame seen from the fixed one."""
        poses, remarks = super().data(y, n)
        moving = "camera" if self.mount == "hand" else "board"
        if self.gives == moving:
            return poses, remarks
        return self.reading(inverses(as_transforms(poses[:, 0])), None)[:, None], remarks

    def countable(self) -> Countable | None:
        """Return the count data of poses; frames of camera and board are wanted."""
        return Countable(None, False)
