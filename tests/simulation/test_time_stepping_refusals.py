"""What time stepping refuses: one clear error each, that names the place."""

import numpy as np
import pytest
from stepped import box

import zveno

HOLES = np.zeros((3, 4))
HOLES[1, 2] = np.nan


@pytest.mark.parametrize(
    ("contact", "says"),
    [
        (zveno.Contact("b"), "no coefficient of friction"),
        (zveno.Contact("b", friction=-1.0), "friction is -1"),
        (zveno.Contact("b", friction=0.5, restitution=2.0), "restitution is 2"),
        (zveno.Contact("b", None, friction=0.5), "None is no shape"),
        (zveno.Contact("b", zveno.Sphere(-1.0), friction=0.5), "sizes"),
        (zveno.Contact("b", zveno.Box((0.1, 0.0, 0.1)), friction=0.5), "edges"),
        (zveno.Contact("b", ground=zveno.HeightField(HOLES), friction=0.5), r"hole: nan at \(1, 2\)"),
        (zveno.Contact("b", ground=zveno.GroundSteps([0.0, 0.0], [0.0, 1.0, 2.0]), friction=0.5), "no steps"),
        (zveno.Contact("b", other="b", other_shape=zveno.Sphere(0.1), friction=0.5), "same link"),
        (zveno.Contact("b", other="base", friction=0.5), "None is no shape"),
        (
            zveno.Contact("b", zveno.Wheel(0.1), other="base", other_shape=zveno.Box((1, 1, 1)), friction=0.5),
            "not known",
        ),
        (zveno.Contact("nothing", friction=0.5), "nothing"),
        (zveno.Contact("b", friction=0.0, rolling=0.1), "need friction"),
    ],
)
def test_bad_contacts_are_refused(contact, says):
    with pytest.raises(zveno.ZvenoError, match=says):
        box().simulate([0, 0, 1, 1, 0, 0, 0], constraints=[contact], integrator="time-stepping")


def test_other_integrators_refuse_contacts_of_shapes():
    contact = zveno.Contact("b", friction=0.5)
    with pytest.raises(zveno.ZvenoError, match="time stepping"):
        box().simulate([0, 0, 1, 1, 0, 0, 0], constraints=[contact])


def test_events_are_refused():
    event = zveno.Event(lambda t, q, v: q[2], "down")
    with pytest.raises(zveno.ZvenoError, match="no events"):
        box().simulate([0, 0, 1, 1, 0, 0, 0], events=[event], integrator="time-stepping")


def test_a_control_that_fails_is_named():
    with pytest.raises(zveno.ZvenoError, match="nan for joint f"):
        box().simulate(
            [0, 0, 1, 1, 0, 0, 0], control=lambda t, q, v: np.full(6, np.nan), integrator="time-stepping"
        )


def test_a_step_that_is_too_large_is_said():
    run = box().simulate([0, 0, 1, 1, 0, 0, 0], [0, 0, 0, 1e4, 0, 0], 1.0, step=0.01, integrator="time-stepping")
    assert not run.finished
    assert "too large" in run.status
