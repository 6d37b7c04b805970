"""What time stepping refuses: one clear error each, that names the place."""

from itertools import product
from pathlib import Path

import numpy as np
import pytest
from runs import limited_pendulum
from stepped import box

import zveno
from zveno import simulation
from zveno.errors import ModelError
from zveno.geometry.distances import touches_of_pair
from zveno.simulation import DOP853, RK4, TimeStepping
from zveno.spatial.transforms import transform

HOLES = np.zeros((3, 4))
HOLES[1, 2] = np.nan


@pytest.mark.parametrize(
    ("contact", "says"),
    [
        (simulation.Contact("b"), "no coefficient of friction"),
        (simulation.Contact("b", friction=-1.0), "friction is -1"),
        (simulation.Contact("b", friction=0.5, restitution=2.0), "restitution is 2"),
        (simulation.Contact("b", None, friction=0.5), "None is not a shape"),
        (simulation.Contact("b", simulation.Sphere(-1.0), friction=0.5), "sizes"),
        (simulation.Contact("b", simulation.Box((0.1, 0.0, 0.1)), friction=0.5), "edges"),
        (
            simulation.Contact("b", ground=simulation.HeightField(HOLES), friction=0.5),
            r"hole: nan at \(1, 2\)",
        ),
        (
            simulation.Contact("b", ground=simulation.GroundSteps([0.0, 0.0], [0.0, 1.0, 2.0]), friction=0.5),
            "not steps",
        ),
        (
            simulation.Contact("b", other="b", other_shape=simulation.Sphere(0.1), friction=0.5),
            "same link",
        ),
        (simulation.Contact("b", other="base", friction=0.5), "None is not a shape"),
        (
            simulation.Contact(
                "b",
                simulation.Wheel(0.1),
                other="base",
                other_shape=simulation.Box((1, 1, 1)),
                friction=0.5,
            ),
            "not known",
        ),
        (simulation.Contact("nothing", friction=0.5), "nothing"),
        (simulation.Contact("b", friction=0.0, rolling=0.1), "need friction"),
    ],
)
def test_bad_contacts_are_refused(contact, says):
    with pytest.raises(zveno.ZvenoError, match=says):
        box().simulate([0, 0, 1, 1, 0, 0, 0], constraints=[contact], integrator=TimeStepping())


HEIGHT = simulation.Event(lambda t, q, v: q[2], "down")
POINT = simulation.Contact("b", friction=0.5)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"constraints": [POINT], "integrator": RK4()}, "contact Contact.b.: rk4 has no contacts"),
        ({"constraints": [POINT], "integrator": DOP853()}, "contact Contact.b.: dop853 has no contacts"),
        ({"joint_limits": True, "integrator": RK4()}, "joint_limits: rk4 does not stop joints"),
        ({"joint_limits": True, "integrator": DOP853()}, "joint_limits: dop853 does not stop joints"),
        ({"constraints": [POINT], "events": [HEIGHT]}, "events: contacts cannot be combined with events"),
        ({"joint_limits": True, "events": [HEIGHT]}, "events: joint limits cannot be combined with events"),
        ({"integrator": TimeStepping(), "events": [HEIGHT]}, "events: time stepping cannot be combined"),
        ({"constraints": [POINT], "base_motion": lambda t: np.eye(4)}, "base_motion: contacts cannot be combined"),
        ({"joint_limits": True, "projection": True}, "projection: joint limits cannot be combined"),
    ],
)
def test_what_needs_another_integrator_is_refused(options, says):
    with pytest.raises(zveno.ZvenoError, match=says) as caught:
        box().simulate([0, 0, 1, 1, 0, 0, 0], **options)
    assert "TimeStepping" in str(caught.value) or "Leave out" in str(caught.value)


def test_functions_of_constraints_refuse_contacts():
    robot, state = box(), ([0, 0, 1, 1, 0, 0, 0], np.zeros(6))
    for call in (
        lambda: zveno.simulation.constrained_dynamics(robot, *state, np.zeros(6), [POINT]),
        lambda: simulation.evaluate_constraints(robot, *state, [POINT]),
        lambda: simulation.impact(robot, *state, [POINT]),
    ):
        with pytest.raises(zveno.ZvenoError, match="BallJoint for a foot that stays"):
            call()


@pytest.mark.laws
def test_contacts_and_limits_choose_time_stepping():
    q = [0.0, 0, 1, 1, 0, 0, 0]
    assert "time-stepping" in box().simulate(q, duration=0.01, constraints=[POINT]).method
    assert "time-stepping" in box().simulate([q, q], duration=0.01, constraints=[POINT]).method
    assert "time-stepping" in limited_pendulum().simulate([0.1], duration=0.01, joint_limits=True).method
    assert "dop853" in box().simulate(q, duration=0.01).method
    assert "rk4" in box().simulate([q, q], duration=0.01).method


def test_a_control_that_fails_is_named():
    run = box().simulate(
        [0, 0, 1, 1, 0, 0, 0], control=lambda t, q, v: np.full(6, np.nan), integrator=TimeStepping()
    )
    assert "nan for joint f" in run.reason


def test_a_step_that_is_too_large_is_said():
    run = box().simulate([0, 0, 1, 1, 0, 0, 0], [0, 0, 0, 1e4, 0, 0], 1.0, integrator=TimeStepping(0.01))
    assert not run.finished
    assert "too large" in run.reason


SHAPES = (
    simulation.Sphere(0.1),
    simulation.Capsule(0.05, (-0.1, 0, 0), (0.1, 0, 0)),
    simulation.Box((0.2, 0.15, 0.1)),
)


@pytest.mark.parametrize(("first", "second"), list(product(SHAPES, repeat=2)))
def test_pairs_of_shapes_work_as_the_page_lists_them(first, second):
    page = (Path(__file__).parents[2] / "docs" / "simulation.md").read_text(encoding="utf-8")
    names = [type(shape).__name__ for shape in (first, second)]
    listed = any(f"{a}–{b}" in page for a, b in (names, names[::-1]))
    poses = np.eye(4), transform(None, [0.5, 0.0, 0.0])
    if listed:
        assert touches_of_pair(first, poses[0], second, poses[1])
    else:
        with pytest.raises(ModelError, match=f"{names[0]} against {names[1]} is not known"):
            touches_of_pair(first, poses[0], second, poses[1])
