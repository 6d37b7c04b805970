"""Every class of arms that has a compiled program: its answers are those of the careful way, in doubt too.

`python -m benchmarks.ik_agreement` compares the same on as many poses as are asked for.
"""

from __future__ import annotations

import pytest
from arm_classes import arm_classes
from ik_answers import same
from sliding_arms import sliding_edges

from zveno.ik.closed_form import forms
from zveno.ik.ik_problem import problem_of

CLASSES = arm_classes()
GENERAL = {name for name in CLASSES if "general" in name or name == "manseur_doty"}
"""Arms without a closed form, which have their own tests."""


def test_there_is_a_robot_of_every_closed_form():
    """Each of a class of its own, as it is recognised, both ways round."""
    kinds = {}
    for name, of_class in CLASSES.items():
        if forms.solver.applies(problem_of(of_class.endless, task=of_class.task)):
            kinds[name] = of_class.solver(of_class.endless).arm.of_class
    assert len(set(kinds.values())) == len(kinds) == len(CLASSES) - len(GENERAL)
    assert {name for name, kind in kinds.items() if getattr(kind, "backwards", False)} == {
        name for name in kinds if name.endswith("backwards")
    }


@pytest.mark.laws
@pytest.mark.parametrize("name", [name for name in CLASSES if name not in GENERAL])
def test_answers_at_singularities_limits_and_edges(name):
    of_class = CLASSES[name]
    for robot in of_class.both:
        method = of_class.solver(robot).method
        T = sliding_edges(robot, 6, seed=len(name))
        same(robot.ik(T, task=of_class.task), robot.ik(T, task=of_class.task, method=method))
