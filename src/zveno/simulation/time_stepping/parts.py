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
    contacts, held = [], []
    for one in known:
        if isinstance(one, GroundContact):
            one = Contact.of(one)
        if isinstance(one, Contact):
            contacts.append(one)
        elif not one.unilateral:
            held.append(one)
        else:
            raise ModelError(
                f"time stepping does not know {type(one).__name__}",
                element=f"constraint {one.label}",
                remedy="Use Contact or GroundContact, or another integrator",
            )
    if moving_base is not None:
        raise ZvenoError("time stepping has none", element="moving_base", remedy="Use another integrator")
    return Stepping(Equations(robot, tuple(held), control, drive), tuple(contacts), limits, friction)
