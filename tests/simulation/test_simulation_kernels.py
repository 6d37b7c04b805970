"""Kernels of a run: traced once, found again by what they are made of."""

import numpy as np
import pytest

import zveno
from zveno.kernels import builder as build
from zveno.kernels import compile as door
from zveno.simulation import DOP853, PD, RK4, PointOnPlane, Weld, _equations
from zveno.simulation._equations import Equations
from zveno.simulation.control import as_control
from zveno.simulation.simulate import simulate


def _robot():
    return zveno.Robot(zveno.load("puma560").mechanism)


RUNS = {
    "free": {},
    "controlled": {"control": PD(np.zeros(6), 50.0, 5.0)},
    "called": {"control": lambda t, q, v: -v},
    "held": {"constraints": [Weld("link6")]},
}


@pytest.mark.laws
@pytest.mark.parametrize("integrator", [DOP853, RK4])
@pytest.mark.parametrize("name", RUNS)
def test_a_second_run_traces_nothing(name, integrator, monkeypatch):
    """Another robot of the same model, and other numbers where they are inputs."""
    options = {"duration": 0.01, "integrator": integrator()} | RUNS[name]
    first = simulate(_robot(), np.zeros(6), **options)

    def refuse(*arguments, **keywords):
        raise AssertionError("traced again")

    monkeypatch.setattr(door, "trace", refuse)
    monkeypatch.setattr(_equations, "trace", refuse)
    monkeypatch.setattr(build, "traced_graph", refuse)
    again = simulate(_robot(), np.zeros(6), **options)
    assert np.array_equal(first.q, again.q)


def test_equations_differ_where_they_are_traced_from_something_else():
    robot = _robot()
    plane = PointOnPlane("link6")
    equations = [
        Equations(robot),
        Equations(robot, friction=True),
        Equations(robot.with_gravity((0.0, 0.0, 0.0))),
        Equations(robot, (plane,)),
        Equations(robot, (PointOnPlane("link6", normal=(0.0, 1.0, 0.0)),)),
        Equations(robot, control=as_control(PD(np.zeros(6), 50.0, 5.0), robot.mechanism)),
        Equations(robot, control=as_control(PD(np.zeros(6), 60.0, 5.0), robot.mechanism)),
        Equations(robot, control=as_control(lambda t, q, v: -v, robot.mechanism)),
    ]
    prints = [one.fingerprint for one in equations]
    assert None not in prints
    assert len(set(prints)) == len(prints)
    alike = PointOnPlane("link6", height=0.2)  # which is an input
    assert Equations(robot, (alike,)).fingerprint == Equations(robot, (plane,)).fingerprint
    assert Equations(robot, moving_base=lambda t: np.eye(4)).fingerprint is None
