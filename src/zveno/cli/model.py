"""Robot of a command, with the tool, payload, gravity and base of its flags."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING

from .options import Held, Model

if TYPE_CHECKING:
    import numpy as np

    from ..ik.paths.pose_files import Angles
    from ..mechanism import Mechanism
    from ..simulation.constraints import Constraint

log: logging.Logger = logging.getLogger("zveno.cli")
"""Logger of the messages that --verbose shows."""


def loaded(robot: str, model: Model) -> Mechanism:
    """Load the mechanism of a command and apply its flags; `model.meant` is its frame."""
    from ..io.load import load_mechanism
    from ..mechanism.base import with_base
    from ..mechanism.edit import with_gravity, with_payload, with_tool

    mechanism = load_mechanism(robot, snap=model.snapping)
    for note in mechanism.notes:
        log.info("%s: %s", mechanism.name, note)
    if model.gravity is not None:
        mechanism = with_gravity(mechanism, model.gravity)
    if model.base != "own":
        mechanism = with_base(mechanism, model.base)
    if model.tool:
        mechanism = with_tool(mechanism, pose_of_words(model.tool, "--tool", model.deg), model.frame)
    if model.payload:
        mass, center, tensor = _load(model.payload)
        mechanism = with_payload(mechanism, mass, center, tensor, model.meant)
    if model.meant is not None:
        mechanism.frame(model.meant)  # report an unknown name before anything is computed
    return mechanism


def given(mechanism: Mechanism, words: Sequence[str], model: Model) -> np.ndarray:
    """Parse q and warn if it is outside the limits."""
    from ..errors import ZvenoWarning
    from .configuration import outside_limits, parsed_q

    q = parsed_q(mechanism, words, model.deg)
    outside = outside_limits(mechanism, q) if words else []
    if outside:
        warnings.warn(f"outside the limits: {', '.join(outside)}", ZvenoWarning, stacklevel=2)
    return q


def constraints_of(held: Held) -> list[Constraint]:
    """Return the constraints of the flags, the frames of which are checked where they are used."""
    from ..simulation.constraints import BallJoint, Weld

    constraints = []
    for kind, words in ((BallJoint, held.ball_joint), (Weld, held.weld)):
        for word in words:
            frame, _, other = word.partition("=")
            constraints.append(kind(frame, other or None))
    return constraints


def pose_of_words(words: Sequence[str], flag: str, degrees: bool, rotation: Angles = "rpy") -> np.ndarray:
    """Parse T (4, 4) from a flag: 3, 6, 7, 12 or 16 numbers, or elementary transforms."""
    from ..ik.paths.pose_files import pose_of
    from ..ik.targets import pose_array
    from ..io.elementary import is_elementary_text
    from .configuration import number

    if is_elementary_text(" ".join(words)):
        return pose_array(" ".join(words), flag)
    units = ["m"] * 3 + (["rad"] * 3 if len(words) == 6 else [""] * max(len(words) - 3, 0))
    numbers = [number(word, flag, unit, degrees) for word, unit in zip(words, units, strict=False)]
    return pose_of(numbers, where=flag, rotation=rotation)


def _load(words: Sequence[str]) -> tuple[float, list[float], np.ndarray | None]:
    """Parse mass, centre of mass and inertia tensor from 1, 4 or 10 numbers."""
    import numpy as np

    from ..errors import ShapeError
    from .configuration import number

    if len(words) not in (1, 4, 10):
        raise ShapeError(
            f"a payload must have 1, 4 or 10 numbers, got {len(words)}",
            element="--payload",
            remedy="Give its mass in kg; then its centre x y z; then Ixx Ixy Iyy Ixz Iyz Izz about the centre",
        )
    units = [""] + ["m"] * 3 + [""] * 6
    values = [number(word, "--payload", unit) for word, unit in zip(words, units, strict=False)]
    tensor = None
    if len(values) == 10:
        xx, xy, yy, xz, yz, zz = values[4:]
        tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    return values[0], values[1:4] or [0.0, 0.0, 0.0], tensor
