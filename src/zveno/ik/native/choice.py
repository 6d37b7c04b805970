"""Choice of the program that solves an arm."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ..closed_form import forms
from ..ik_problem import IkProblem
from ..six_revolute import solver as general
from . import program as closed_form
from .arm_tables import arm_tables
from .points import program as point_program
from .points.tables import points_tables
from .six_revolute import program as six_revolute
from .six_revolute.tables import general_arm, second_template, six_revolute_tables


class ArmProgram(NamedTuple):
    """A program and the arm it is for.

    Attributes:
        method: method whose answers it gives.
        write: writes the program.
        arm: the tables of the arm, which it is given.
        again: other tables of the arm for the same program, for poses that are uncertified with these; or None.
    """

    method: str
    write: Callable[..., None]
    arm: Any
    again: Any = None


def program_of(problem: IkProblem) -> ArmProgram | None:
    """Return the program for a problem; None if the class of its arm has none."""
    if not problem.simple:
        return None
    if forms.solver.applies(problem):
        form = forms.form_of_problem(problem)
        if isinstance(form, forms.PointsForm | forms.WristForm):
            return ArmProgram(forms.solver.name, point_program.all_solutions, points_tables(problem, form))
        assert form is not None
        return ArmProgram(forms.solver.name, closed_form.all_solutions, arm_tables(problem, form))
    arm = general_arm(problem)
    if arm is None:
        return None
    second = second_template(arm)
    again = None if second is None else six_revolute_tables(problem, arm, template_number=second)
    return ArmProgram(general.name, six_revolute.all_solutions, six_revolute_tables(problem, arm), again)
