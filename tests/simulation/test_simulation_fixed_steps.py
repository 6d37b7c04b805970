"""Many fixed steps in one call: the same states, events and energies as step by step."""

import numpy as np
import pytest
from runs import COMPILED, assert_same_run, equations_of

import zveno
from zveno.kernels import _host as host
from zveno.simulation import RK4, Event, Traced, _rk4
from zveno.simulation._equations import Equations
from zveno.simulation._rates import Rates
from zveno.simulation.integrators import rk4_step
from zveno.simulation.simulate import simulate

ROUNDING = 1e-11
"""Of twelve steps, relative to the largest number of the state: sums are taken in another order."""


@pytest.mark.laws(after=1)
@pytest.mark.parametrize("kind", COMPILED)
def test_a_call_with_many_steps_is_the_method_step_by_step(kind):
    equations, y = equations_of(kind)
    n, every, h = 4, 3, np.array([1e-3, 2e-3, 5e-4, 1e-3])
    t = 0.2 + np.concatenate([[0.0], np.cumsum(every * h)[:-1]])
    c = [equations.settings(y[0, equations.q])] if equations.constraints else []
    made = equations.steps(n, every)(t, h, y, *c)
    samples = made[0] if c else made
    rates, expected = Rates(equations, *(c or [None])), y
    for k in range(n):
        for j in range(every):
            expected = rk4_step(equations, rates, t[k] + j * h[k], expected, h[k])
        scale = max(1.0, abs(expected).max())
        assert abs(samples[:, k] - expected).max() < ROUNDING * scale
    if c:
        assert np.all((made[1] > 0) & (made[1] <= 1))


def test_samples_are_some_of_all_steps():
    robot = zveno.load("puma560")
    options = {"duration": 0.25, "integrator": RK4(1e-3)}
    every = simulate(robot, np.zeros(6), **options)
    some = simulate(robot, np.zeros(6), sample_time=0.01, **options)
    assert some.n_steps == every.n_steps == 250
    assert np.array_equal(some.q, every.q[::10])


def test_few_operations_in_a_call_change_nothing(monkeypatch):
    robot = zveno.load("puma560")
    options = {"duration": 0.05, "integrator": RK4(1e-3), "sample_time": 0.025}
    whole = simulate(robot, np.zeros(6), **options)
    monkeypatch.setattr(_rk4, "OPERATIONS_PER_CALL", 1.0)
    seen = []
    parts = simulate(robot, np.zeros(6), progress=lambda done, total: seen.append(done), **options)
    assert np.array_equal(whole.q, parts.q)
    assert len(seen) > 50


def stepwise(monkeypatch, *arguments, **options):
    """A run in which every call takes one step."""
    with monkeypatch.context() as patch:
        patch.setattr(_rk4, "NUMBERS_AT_ONCE", 1)
        return simulate(*arguments, **options)


@pytest.mark.laws(after=3)
@pytest.mark.parametrize("traced", [True, False])
@pytest.mark.parametrize("sample", [None, 0.0137])
def test_events_are_found_in_long_calls_where_they_are_step_by_step(traced, sample, monkeypatch):
    robot = zveno.load("chain(2)")
    events = [
        Event(lambda t, q, v: q[0] + 1.5, "down", traced=traced),
        Event(lambda t, q, v: v[1], "turns", 1, traced=traced),
        Event(lambda t, q, v: t - 2.21, "late", terminal=True, traced=traced),
    ]
    options = {"duration": 3.0, "integrator": RK4(2e-3), "events": events, "sample_time": sample}
    together = simulate(robot, [0.1, 0.2], **options)
    assert_same_run(together, stepwise(monkeypatch, robot, [0.1, 0.2], **options))
    assert len(together.events) > 5
    assert together.t[-1] == pytest.approx(2.21, abs=1e-12)


@pytest.mark.parametrize("traced", [True, False])
def test_no_event_is_asked_about_what_lies_beyond_a_terminal_one(traced):
    events = [Event(lambda t, q, v: t - 0.3 + 1e-6, "end", terminal=True, traced=traced)]
    events.append(Event(lambda t, q, v: 1.0 + abs(0.3 - t) if t < 0.302 else np.nan, "nan later"))
    run = simulate(zveno.load("chain(1)"), [0.1], duration=1.0, integrator=RK4(), events=events)
    assert "event end" in run.reason


def test_a_function_of_the_user_is_compiled_once(monkeypatch):
    """It is traced for every size of a call, and its code is found by what it computes."""
    robot, compiled = zveno.load("chain(1)"), []
    gain = np.random.default_rng().uniform(1.0, 2.0)  # not in any cache
    compile_object = host.compile_object
    monkeypatch.setattr(host, "compile_object", lambda text: compiled.append(text) or compile_object(text))
    for n in (4, 7, 9):
        equations = Equations(robot, control=Traced(lambda t, q, v: -gain * v))
        equations.steps(n)(np.zeros(n), np.full(n, 1e-3), equations.state([1.0], [0.0]))
    assert len(compiled) == 1
