"""Fault of a recording, and quantities that torques can never show."""

from __future__ import annotations

from dataclasses import dataclass

from ...io.results import registered

UNSEEN = (
    "Torques do not show the zero of a joint with a fixed vertical axis, nor of one that carries no other joint, "
    "nor a factor that all torques share. Wrong zeros of other joints and a tilted base show as a poor fit only. "
    "Check these by other means."
)


@registered
@dataclass(frozen=True)
class Fault:
    """Fault of a recording.

    Attributes:
        kind: "delay", "late velocity", "velocity scale", "torque scale", "torque sign", "position sign", "swapped",
            "saturation", "coarse torque", "geometry" or "little motion".
        joints: joints it may concern; several if the data do not separate them.
        size: s, factor, displacement in rad or m, or share of rows, by kind.
        text: description and remedy.
        worth: decrease of the mean logarithm of relative squared residuals without it; 0 where that was
            not computed.
    """

    kind: str
    joints: tuple[str, ...]
    size: float
    text: str
    worth: float = 0.0
