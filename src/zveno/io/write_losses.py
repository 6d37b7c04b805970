"""Losses of model formats: writers name them in one warning."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np

from ..errors import ZvenoWarning, first_of
from ..mechanism import Loop, Mechanism

_SHOWN = 8
"""Number of names that a warning lists."""


def warn_about_losses(mechanism: Mechanism, format: str, losses: Sequence[str]) -> None:
    """Give one `ZvenoWarning` that names the losses of `format`; none if there are no losses.

    `Mechanism.source` and `Mechanism.notes` describe the file that was read and do not count.
    """
    if losses:
        warnings.warn(f"{mechanism.name}: {format} cannot hold {'; '.join(losses)}", ZvenoWarning, stacklevel=4)


def coupling_losses(
    mechanism: Mechanism, transmission_held: bool = False, loops_held: Sequence[Loop] = ()
) -> list[str]:
    """List closed loops, springs and limits of ball joints, and a transmission's coupling matrix unless held."""
    coupled = mechanism.transmission is not None and not transmission_held
    matrix = ["the coupling matrix of the transmission"] if coupled else []
    springs = listed("the springs of", [joint.name for joint in mechanism.joints if joint.spring is not None])
    angles = listed("the limits of", [joint.name for joint in mechanism.joints if np.isfinite(joint.limits.angle)])
    lost = [loop.label for loop in mechanism.loops if loop not in loops_held]
    return matrix + lost + springs + angles


def extra_losses(mechanism: Mechanism) -> list[str]:
    """List shapes, materials and other parts of a URDF that only its writer keeps."""
    n = len(mechanism.extras)
    return [f"{n} shape(s), materials and sections of the URDF it was read from"] if n else []


def listed(what: str, names: Sequence[str]) -> list[str]:
    """Return `what` with the names it is about, shortened; empty without names."""
    return [f"{what} {first_of(names, _SHOWN)}"] if names else []
