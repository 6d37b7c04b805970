"""From what a user gives to what takes part in time stepping."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...errors import ModelError, ZvenoError
from ...robot_functions import RobotFunctions
from ..checks import checked_constraints
from ..constraints import Constraint
from ..contacts import GroundContact
from ..controllers import Control
from ..equations import Equations
from .contact import Contact
from .stepping import Stepping


def stepping_of(
    robot: RobotFunctions,
    constraints: Sequence[Constraint],
    limits: bool,
    control: Control | None,
    drive: Any,
    friction: bool,
    moving_base: Any,
) -> Stepping:
    """What takes part in a run, refused where time stepping does not know it."""
    known = checked_constraints(robot, constraints)
    contacts = []
    for one in known:
        if isinstance(one, GroundContact):
            one = Contact.of(one)
        if not isinstance(one, Contact):
            raise ModelError(
                f"time stepping does not know {type(one).__name__}",
                element=f"constraint {one.label}",
                remedy="Use Contact or GroundContact, or another integrator",
            )
        contacts.append(one)
    if moving_base is not None or drive is not None:
        raise ZvenoError(
            "time stepping has no moving base and no drives", element="integrator", remedy="Use another integrator"
        )
    return Stepping(Equations(robot, (), control), tuple(contacts), limits, friction)
