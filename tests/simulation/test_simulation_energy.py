"""Balances of energy that do not close, and samples at the times that were asked for."""

import numpy as np
import pytest
from runs import limited_pendulum

import zveno
from zveno.simulation import DOP853, RK4, Event, _statuses
from zveno.simulation.simulate import simulate


@pytest.mark.parametrize("integrator", [DOP853(1e-9), RK4(3e-3)])
@pytest.mark.parametrize("watched", [False, True])
def test_samples_are_where_they_were_asked_for(integrator, watched):
    """Neither the step nor the duration is a multiple of `sample`; a finer run agrees at the same times."""
    robot = zveno.load("chain(2)")
    events = [Event(lambda t, q, v: q[0] - 0.2)] if watched else []
    run = simulate(
        robot,
        [0.3, 0.2],
        duration=0.1,
        integrator=integrator,
        sample_time=0.007,
        events=events,
    )
    assert run.t == pytest.approx([*(0.007 * np.arange(15)), 0.1], abs=1e-12)
    exact = simulate(robot, [0.3, 0.2], duration=0.1, sample_time=0.007, integrator=DOP853(1e-11))
    assert abs(run.q - exact.q).max() < 1e-4
    batch = simulate(robot, np.full((3, 2), 0.2), duration=0.1, integrator=RK4(3e-3), sample_time=0.007)
    assert batch.q.shape == (3, 16, 2)
    assert np.isfinite(batch.q).all()


def runaway(t, q, v):
    """A torque that grows with the cube of the velocity: no step follows it."""
    return 1e5 * v**3


@pytest.mark.laws
def test_a_run_whose_energy_comes_from_nowhere_is_not_finished(monkeypatch):
    """A pendulum turns over in steps that are too large: states stay small, and the balance of energy tells."""
    robot, options = zveno.load("chain(1)"), {"duration": 60.0, "integrator": RK4(0.3)}
    run = simulate(robot, [1.0], **options)
    assert run.t[-1] == 60.0
    assert not run.finished
    assert run.status == "energy error"
    assert "energy is off by" in run.reason
    monkeypatch.setattr(_statuses, "LARGEST_IMBALANCE", np.inf)
    assert simulate(robot, [1.0], **options).finished


def test_of_a_batch_those_that_are_off_are_counted():
    """A pendulum that turns over loses its energy by steps that are too large; one near its rest does not."""
    robot = zveno.load("chain(1)")
    starts = [[1.0], [-0.5 * np.pi + 1e-3]]
    assert simulate(robot, starts, duration=60.0, integrator=RK4(0.01)).finished
    run = simulate(robot, starts, duration=60.0, integrator=RK4(0.3))
    assert not run.finished
    assert run.status.tolist() == ["energy error"] * 2


def test_a_motion_that_explodes_ends_the_run():
    run = simulate(limited_pendulum(), [0.1], [0.1], 2.0, control=runaway)
    assert run.status == "diverged"
    assert run.reason.startswith("Required step size is less than spacing between numbers")
