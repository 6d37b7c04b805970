"""What a model format cannot hold: writers name it in one warning, so that nothing is lost in silence."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np

from ..errors import ZvenoWarning, first_of
from ..mechanism import Mechanism

_SHOWN = 8
"""Names that a warning lists."""


def warn_about_losses(mechanism: Mechanism, format: str, losses: Sequence[str]) -> None:
    """One `ZvenoWarning` that names what `format` cannot hold; none if there is nothing.

    `Mechanism.source` and `Mechanism.notes` tell of the file that was read and do not count.
    """
    if losses:
        warnings.warn(f"{mechanism.name}: {format} cannot hold {'; '.join(losses)}", ZvenoWarning, stacklevel=4)


def coupling_losses(mechanism: Mechanism, transmission_held: bool = False) -> list[str]:
    """Closed loops, springs and limits of ball joints, and the coupling matrix of a transmission unless the format
    has one."""
    coupled = mechanism.transmission is not None and not transmission_held
    matrix = ["the coupling matrix of the transmission"] if coupled else []
    springs = listed("the springs of", [joint.name for joint in mechanism.joints if joint.spring is not None])
    angles = listed("the limits of", [joint.name for joint in mechanism.joints if np.isfinite(joint.limits.angle)])
    return matrix + [loop.label for loop in mechanism.loops] + springs + angles


def extra_losses(mechanism: Mechanism) -> list[str]:
    """Shapes, materials and other parts of a URDF that only its writer keeps."""
    n = len(mechanism.extras)
    return [f"{n} shape(s), materials and sections of the URDF it was read from"] if n else []


def listed(what: str, names: Sequence[str]) -> list[str]:
    """`what` with the names it is about, shortened; nothing if there are none."""
    return [f"{what} {first_of(names, _SHOWN)}"] if names else []
