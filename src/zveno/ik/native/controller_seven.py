"""All solutions of seven revolute joints on a controller, with the angle of one as an argument."""

from __future__ import annotations

import numpy as np

from ...errors import BuildError
from ...kernels.builder import structured_program
from ..ik_problem import IkProblem
from ..redundant.seven_revolute import closed_form
from ..redundant.slices import named_coordinate
from . import program
from .bounds import DOUBLE, SINGLE, Bounds
from .controller_pages import NAME, ControllerIk, page_of_closed_form, page_of_general
from .held_joint import generic_angle, usable_joints, with_closed_form, with_general_arm, without_joint
from .six_revolute import program as six_revolute
from .six_revolute.tables import general_arm


def all_of_seven(problem: IkProblem, bounds: Bounds, q: np.ndarray, redundant: str | None) -> ControllerIk | None:
    """Export all solutions of seven revolute joints with one, named or the first usable, as an argument."""
    joints = usable_joints(problem)
    named = None if redundant is None or problem.redundancy != 1 else named_coordinate(problem, redundant)
    for k in joints if redundant is None else (k for k in joints if k == named):
        form = closed_form(problem, k)
        if form is not None:
            held, tables = with_closed_form(problem, k, form, bounds)
            written, _ = structured_program(program.on_controller, tables, held, name=NAME)
            page = page_of_closed_form(problem, held, form.name, tables.of_class.n_branches)
            return ControllerIk(written, page, {"redundant": q[k]})
        # The polynomial of a general arm takes more digits than `float` has.
        arm = None if bounds is SINGLE else general_arm(without_joint(problem, k, generic_angle(problem, k)))
        if arm is not None:
            held, tables = with_general_arm(problem, k, arm, bounds)
            written, _ = structured_program(six_revolute.on_controller, tables, held, name=NAME)
            return ControllerIk(written, page_of_general(problem, held), {"redundant": q[k]})
    if redundant is None:
        return None
    raise BuildError(
        "the other joints have no list of all solutions for an angle of this one",
        element=f"redundant {redundant}",
        remedy=_remedy(problem, joints, bounds),
    )


def _remedy(problem: IkProblem, joints: list[int], bounds: Bounds) -> str:
    listed = [k for k in joints if bounds is DOUBLE or closed_form(problem, k) is not None]
    if listed:
        return f"Name one of {', '.join(problem.steps[k].joint for k in sorted(listed))}"
    if joints:
        return "Export `double`: in `float` a list of all solutions needs a closed form, and no joint leaves one"
    return "Leave it out: it is for seven revolute joints"
