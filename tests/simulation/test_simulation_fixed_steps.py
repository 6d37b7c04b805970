"""Many fixed steps in one call: the same states, events and energies as step by step."""

import numpy as np
import pytest

import zveno
from mechanisms import KINDS, random_mechanism, random_state
from zveno.kernels import host
from zveno.mechanism import Free, Joint, Limits, Link, Revolute, assemble
from zveno.simulation import PD, Event, GroundContact, ServoDrive, Traced, Weld, fixed_stepper, rollout, simulate
from zveno.simulation.controllers import as_control
from zveno.simulation.equations import Equations
from zveno.simulation.integrators import FIXED, staged_step
from zveno.simulation.rates import Rates
from zveno.spatial import inertia

ROUNDING = 1e-11
"""Of twelve steps, relative to the largest number of the state: sums are taken in another order."""


def equations_of(kind: str) -> tuple[Equations, np.ndarray]:
    """Equations of every kind that is compiled, and a batch of states (3, n_y)."""
    rng = np.random.default_rng(1)
    if kind in KINDS:
        mechanism = random_mechanism(5, 4, (kind, "revolute"))
        equations = Equations(zveno.Robot(mechanism))
    else:
        robot = zveno.load("ur5")
        control = as_control(PD(np.zeros(6), 1.0, 0.01), robot.mechanism)
        equations = {
            "controlled": lambda: Equations(robot, control=control),
            "driven": lambda: Equations(
                robot, control=control, drive=ServoDrive(lag=0.02).prepared(robot.mechanism), friction=True
            ),
            "held": lambda: Equations(robot, (Weld("wrist_3_link"),)),
            "of time": lambda: Equations(
                robot, control=as_control(Traced(lambda t, q, v: 0.1 * np.sin(3.0 * t) - 0.01 * v), robot.mechanism)
            ),
        }[kind]()
    mechanism = equations.mechanism
    states = [random_state(mechanism, seed)[:2] for seed in range(3)]
    y = equations.state(np.array([q for q, _ in states]), 0.3 * np.array([v for _, v in states]))
    y[:, equations.z] = rng.normal(size=y[:, equations.z].shape)
    return equations, y


@pytest.mark.parametrize("method", FIXED)
@pytest.mark.parametrize("kind", ["revolute", "spherical", "free", "controlled", "driven", "held", "of time"])
def test_a_call_with_many_steps_is_the_method_step_by_step(kind, method):
    equations, y = equations_of(kind)
    n, every, h = 4, 3, np.array([1e-3, 2e-3, 5e-4, 1e-3])
    t = 0.2 + np.concatenate([[0.0], np.cumsum(every * h)[:-1]])
    c = [equations.settings(y[0, equations.q])] if equations.constraints else []
    made = equations.steps(method, n, every)(t, h, y, *c)
    samples = made[0] if c else made
    rates, expected = Rates(equations, *(c or [None])), y
    for k in range(n):
        for j in range(every):
            expected = staged_step(equations, method, rates, t[k] + j * h[k], expected, h[k])
        scale = max(1.0, abs(expected).max())
        assert abs(samples[:, k] - expected).max() < ROUNDING * scale
    if c:
        assert np.all((made[1] > 0) & (made[1] <= 1))


def test_samples_are_some_of_all_steps():
    robot = zveno.load("puma560")
    options = {"duration": 0.25, "step": 1e-3, "integrator": "rk4"}
    every = simulate(robot, np.zeros(6), **options)
    some = simulate(robot, np.zeros(6), sample=0.01, **options)
    assert some.n_steps == every.n_steps == 250
    assert np.array_equal(some.q, every.q[::10])


def test_few_operations_in_a_call_change_nothing(monkeypatch):
    robot = zveno.load("puma560")
    options = {"duration": 0.05, "step": 1e-3, "integrator": "rk4", "sample": 0.025}
    whole = simulate(robot, np.zeros(6), **options)
    monkeypatch.setattr(rollout, "OPERATIONS_PER_CALL", 1.0)
    seen = []
    parts = simulate(robot, np.zeros(6), progress=lambda done, total: seen.append(done), **options)
    assert np.array_equal(whole.q, parts.q)
    assert len(seen) > 50


def stepwise(monkeypatch, *arguments, **options):
    """A run in which every call takes one step."""
    with monkeypatch.context() as patch:
        patch.setattr(fixed_stepper, "BLOCKS", (1,))
        return simulate(*arguments, **options)


def assert_same_run(first, second, tolerance=1e-9):
    assert [(one.name, one.what) for one in first.events] == [(one.name, one.what) for one in second.events]
    times = [np.array([one.t for one in run.events]) for run in (first, second)]
    assert abs(times[0] - times[1]).max(initial=0.0) < tolerance
    assert (first.status.split(" at ")[0], first.n_steps) == (second.status.split(" at ")[0], second.n_steps)
    assert np.allclose(first.t, second.t, rtol=0, atol=tolerance)
    assert abs(first.q - second.q).max() < tolerance
    assert abs(first.energy_error - second.energy_error).max() < tolerance * max(1.0, abs(first.energy).max())


@pytest.mark.parametrize("integrator", FIXED)
def test_a_pendulum_between_its_limits(integrator, monkeypatch):
    robot = limited_pendulum()
    options = {"duration": 3.0, "step": 1e-3, "integrator": integrator, "limits": True}
    together = simulate(robot, [0.5], **options)
    assert_same_run(together, stepwise(monkeypatch, robot, [0.5], **options))
    assert [one.what for one in together.events][:1] == ["closes"]
    assert together.q.min() > -0.7 - 1e-6


def limited_pendulum():
    body = inertia.parameters(1.0, np.array([0.5, 0.0, 0.0]), 0.1 * np.eye(3))
    joint = Joint("a", "base", "b", Revolute((0, 1, 0)), limits=Limits(-0.7, 0.8))
    return zveno.Robot(assemble("pendulum", [Link("base"), Link("b", body)], [joint]))


@pytest.mark.parametrize("traced", [True, False])
@pytest.mark.parametrize("sample", [None, 0.0137])
def test_events_are_found_in_long_calls_where_they_are_step_by_step(traced, sample, monkeypatch):
    robot = zveno.load("chain(2)")
    events = [
        Event(lambda t, q, v: q[0] + 1.5, "down", traced=traced),
        Event(lambda t, q, v: v[1], "turns", 1, traced=traced),
        Event(lambda t, q, v: t - 2.21, "late", terminal=True, traced=traced),
    ]
    options = {"duration": 3.0, "step": 2e-3, "integrator": "rk4", "events": events, "sample": sample}
    together = simulate(robot, [0.1, 0.2], **options)
    assert_same_run(together, stepwise(monkeypatch, robot, [0.1, 0.2], **options))
    assert len(together.events) > 5
    assert together.t[-1] == pytest.approx(2.21, abs=1e-12)


def test_a_foot_that_lands_slides_and_stops(monkeypatch):
    robot = mass_in_space()
    q0, v0 = robot.neutral(), np.zeros(robot.n_v)
    q0[2], v0[0] = 0.05, 1.5
    contact = GroundContact("b", friction=0.2, restitution=0.3)
    options = {"duration": 0.6, "step": 1e-3, "integrator": "rk4", "constraints": [contact]}
    together = simulate(robot, q0, v0, **options)
    assert_same_run(together, stepwise(monkeypatch, robot, q0, v0, **options))
    assert {"bounces", "closes", "slips"} <= {one.what for one in together.events}


def mass_in_space():
    body = inertia.parameters(2.0, np.zeros(3), np.eye(3))
    return zveno.Robot(assemble("mass", [Link("base"), Link("b", body)], [Joint("f", "base", "b", Free())]))


@pytest.mark.parametrize("traced", [True, False])
def test_no_event_is_asked_about_what_lies_beyond_a_terminal_one(traced):
    events = [Event(lambda t, q, v: t - 0.3 + 1e-6, "end", terminal=True, traced=traced)]
    events.append(Event(lambda t, q, v: 1.0 + abs(0.3 - t) if t < 0.302 else np.nan, "nan later"))
    run = simulate(zveno.load("chain(1)"), [0.1], duration=1.0, integrator="rk4", events=events)
    assert "event end" in run.status


def test_an_explosion_is_reported_at_its_step(monkeypatch):
    robot = limited_pendulum()
    control = Traced(lambda t, q, v: 1e30 * v * v * v)
    options = {"duration": 1.0, "step": 1e-2, "integrator": "rk4", "limits": True, "control": control}
    together = simulate(robot, [0.0], [0.1], **options)
    slowly = stepwise(monkeypatch, robot, [0.0], [0.1], **options)
    assert "explodes" in together.status
    assert together.status == slowly.status


def test_a_function_of_the_user_is_compiled_once(monkeypatch):
    """It is traced for every size of a call, and its code is found by what it computes."""
    robot, compiled = zveno.load("chain(1)"), []
    gain = np.random.default_rng().uniform(1.0, 2.0)  # not in any cache
    compile_object = host.compile_object
    monkeypatch.setattr(host, "compile_object", lambda *rest: compiled.append(rest[1]) or compile_object(*rest))
    for n in (4, 7, 9):
        equations = Equations(robot, control=Traced(lambda t, q, v: -gain * v))
        equations.steps("rk4", n)(np.zeros(n), np.full(n, 1e-3), equations.state([1.0], [0.0]))
    assert compiled == ["steps_rk4"]
