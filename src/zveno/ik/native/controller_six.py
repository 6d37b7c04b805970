"""All solutions on a controller: arms with a closed form, and of six revolute joints."""

from __future__ import annotations

from ...kernels.builder import structured_program
from ..closed_form.forms import Form, SlidingForm, WristForm, form_of_problem
from ..ik_problem import IkProblem
from . import program
from .arm_tables import arm_tables
from .bounds import SINGLE, Bounds
from .controller_pages import NAME, ControllerIk, page_of_closed_form, page_of_general, page_of_points
from .points import program as point_program
from .points.tables import points_tables
from .six_revolute import program as six_revolute
from .six_revolute.tables import general_arm, second_template, six_revolute_tables


def all_of_six(problem: IkProblem, bounds: Bounds) -> ControllerIk | None:
    """Return the program that lists all solutions; None if there is none for the chain."""
    form = form_of_problem(problem) if problem.simple else None
    if isinstance(form, WristForm) and bounds is not SINGLE:
        points = points_tables(problem, form, bounds)
        written, _ = structured_program(point_program.on_controller, points, name=NAME)
        return ControllerIk(written, page_of_points(problem, form.name, points.of_class.n_branches), {})
    if isinstance(form, Form | SlidingForm):
        tables = arm_tables(problem, form, bounds)
        written, _ = structured_program(program.on_controller, tables, name=NAME)
        return ControllerIk(written, page_of_closed_form(problem, None, form.name, tables.of_class.n_branches), {})
    arm = None if bounds is SINGLE else general_arm(problem)
    if arm is None:
        return None
    second = second_template(arm)
    again = None if second is None else six_revolute_tables(problem, arm, bounds, second)
    written, _ = structured_program(
        six_revolute.on_controller, six_revolute_tables(problem, arm, bounds), None, again, name=NAME
    )
    return ControllerIk(written, page_of_general(problem, None, twice=again is not None), {})
