"""Construction of `Stepping` from the arguments of a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...robot_functions import RobotFunctions
from ..checks import checked_constraints
from ..constraints import Constraint
from ..controllers import Control
from ..equations import Equations
from .contact import Contact
from .stepping import Stepping


def stepping_of(
    robot: RobotFunctions,
    constraints: Sequence[Constraint | Contact],
    limits: bool,
    control: Control | None,
    drive: Any,
    friction: bool,
) -> Stepping:
    """Check the constraints of a run and separate contacts from bilateral constraints."""
    known = checked_constraints(robot, constraints)
    contacts = tuple(each for each in known if isinstance(each, Contact))
    held = tuple(each for each in known if isinstance(each, Constraint))
    return Stepping(Equations(robot, held, control, drive), contacts, limits, friction)
