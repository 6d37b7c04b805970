"""A fault of a recording, and what torques can never show."""

from __future__ import annotations

from dataclasses import dataclass

from ...io.results import registered

UNSEEN = (
    "Torques do not show the zero of a joint with a fixed vertical axis, nor of one that carries no other joint, "
    "and zeros of other joints only if they are off by much; nor do they show a factor that all torques share. "
    "Check these by other means."
)


@registered
@dataclass(frozen=True)
class Fault:
    """Something that is wrong with a recording.

    Attributes:
        kind: "delay", "late velocity", "velocity scale", "torque scale", "torque sign", "position sign", "swapped",
            "saturation", "coarse torque", "gravity", "geometry", "joint zero" or "little motion".
        joints: those it may be about; several where the data do not tell which.
        size: s, factor, angle in rad, displacement in rad or m, or share of rows, by kind.
        text: what it is, and the remedy.
        worth: by how much the mean logarithm of relative squared residuals would fall without it; 0 where that was
            not asked.
    """

    kind: str
    joints: tuple[str, ...]
    size: float
    text: str
    worth: float = 0.0
