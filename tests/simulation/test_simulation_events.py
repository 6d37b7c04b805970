"""Events: none is lost whatever the step, each is reported once and in order, and none disturbs the run."""

import numpy as np
import pytest

import zveno
from mechanisms import random_mechanism, random_state
from zveno.errors import ZvenoError
from zveno.mechanism import Joint, Link, Prismatic, assemble
from zveno.robot import Robot
from zveno.simulation import DOP853, RK4, Event
from zveno.simulation.simulate import simulate
from zveno.spatial import inertia

METHODS = (DOP853, RK4)


def stepping(integrator, step: float):
    """The integrator, with steps of that length if they are fixed."""
    return integrator(step) if integrator is RK4 else integrator()


G = 9.81


def mass_on_a_slide() -> Robot:
    """A mass on a vertical slide."""
    body = inertia.parameters(2.0, np.zeros(3), np.eye(3))
    links, joint = [Link("base"), Link("b", body)], Joint("z", "base", "b", Prismatic((0, 0, 1)))
    return Robot(assemble("slide", links, [joint]))


@pytest.mark.laws(after=1)
@pytest.mark.parametrize("integrator", METHODS)
def test_a_terminal_event_after_another_event_in_the_same_step_ends_the_run(integrator):
    events = [Event(lambda t, q, v, x=x: q[0] - x, f"at {x}", terminal=x == 0.3) for x in (0.9, 0.5, 0.3, 0.2)]
    run = simulate(mass_on_a_slide(), [1.0], duration=1.0, integrator=stepping(integrator, 0.05), events=events)
    assert [one.name for one in run.events] == ["at 0.9", "at 0.5", "at 0.3"]
    assert "event at 0.3" in run.reason
    assert not run.finished
    assert run.t[-1] == pytest.approx(run.events[-1].t)
    assert run.q[-1, 0] == pytest.approx(0.3, abs=1e-9)


@pytest.mark.parametrize("integrator", METHODS)
def test_events_in_the_last_step(integrator):
    """Forty falls of an arm, each with an event close to the end."""
    robot = zveno.load("puma560")
    rng = np.random.default_rng(0)
    for q in robot.random(8, rng):
        end = float(rng.uniform(0.1, 0.3))
        at = end * (1 - 10.0 ** rng.uniform(-9, -1))
        events = [Event(lambda t, q, v, at=at: t - at, "near the end")]
        run = simulate(robot, q, duration=end, integrator=integrator(), events=events, sample_time=end / 7)
        assert run.finished, run.status
        assert [one.t for one in run.events] == pytest.approx([at], abs=1e-12)
        assert run.t[-1] == end


# --- each once, in order


@pytest.mark.parametrize("integrator", METHODS)
def test_zero_at_the_boundary_of_a_step_is_reported_once(integrator):
    """Grid times of fixed steps, sample times, and the end of the run."""
    events = [Event(lambda t, q, v, x=x: t - x, f"t = {x}") for x in (0.25, 0.5, 1.0)]
    run = simulate(
        mass_on_a_slide(),
        [1.0],
        duration=1.0,
        integrator=stepping(integrator, 0.125),
        sample_time=0.125,
        events=events,
    )
    assert [one.name for one in run.events] == ["t = 0.25", "t = 0.5", "t = 1.0"]
    assert [one.t for one in run.events] == pytest.approx([0.25, 0.5, 1.0], abs=1e-12)


def test_touching_zero_at_the_boundary_of_a_step():
    """Zero without a change of sign, at a grid time: it is a zero, and reported once. At the start it is not."""
    events = [Event(lambda t, q, v: (t - 0.5) ** 2, "touch"), Event(lambda t, q, v: t, "start")]
    run = simulate(mass_on_a_slide(), [1.0], duration=1.0, integrator=RK4(0.125), events=events)
    assert [(one.name, one.t) for one in run.events] == [("touch", 0.5)]


@pytest.mark.parametrize("integrator", METHODS)
def test_simultaneous_events_are_all_reported(integrator):
    events = [Event(lambda t, q, v, k=k: k * (q[0] - 0.5), f"e{k}") for k in (1.0, -2.0, 3.0)]
    run = simulate(mass_on_a_slide(), [1.0], duration=1.0, integrator=integrator(), events=events)
    assert sorted(one.name for one in run.events) == ["e-2.0", "e1.0", "e3.0"]
    assert np.ptp([one.t for one in run.events]) < 1e-12
    last = [Event(lambda t, q, v: q[0] - 0.5, f"e{k}", terminal=True) for k in range(2)]
    run = simulate(mass_on_a_slide(), [1.0], duration=1.0, integrator=integrator(), events=last)
    assert [one.name for one in run.events] == ["e0", "e1"]


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_function_that_is_not_finite_is_named(value):
    events = [Event(lambda t, q, v: value if t > 0.2 else 1.0, "broken")]
    with pytest.raises(ZvenoError, match=r"event broken.*(nan|inf).*t = 0\.") as caught:
        simulate(mass_on_a_slide(), [1.0], duration=1.0, events=events)
    assert "finite" in str(caught.value)


def test_directions():
    events = [Event(lambda t, q, v: np.sin(10 * t + 1), f"{d}", direction=d) for d in (-1, 0, 1)]
    run = simulate(mass_on_a_slide(), [0.0], duration=2.0, integrator=DOP853(max_step=0.2), events=events)
    zeros = {name: [one.t for one in run.events if one.name == name] for name in ("-1", "0", "1")}
    exact = (np.arange(1, 7) * np.pi - 1) / 10
    assert zeros["0"] == pytest.approx(exact, abs=1e-10)
    assert zeros["-1"] == pytest.approx(exact[::2], abs=1e-10)
    assert zeros["1"] == pytest.approx(exact[1::2], abs=1e-10)
    with pytest.raises(ZvenoError, match="direction"):
        simulate(mass_on_a_slide(), [0.0], events=[Event(lambda t, q, v: t, direction=2)])


def test_several_crossings_inside_one_step():
    """Free fall is a polynomial, so steps are as long as allowed; crossings an eighth of one apart are found."""
    step = 0.4
    events = [Event(lambda t, q, v: np.sin(np.pi * t / (1.01 * step / 8)), "often")]
    run = simulate(mass_on_a_slide(), [0.0], duration=2.0, integrator=DOP853(max_step=step), events=events)
    exact = np.arange(1, int(2.0 / (1.01 * step / 8)) + 1) * (1.01 * step / 8)
    assert [one.t for one in run.events] == pytest.approx(exact, abs=1e-9)


# --- the law: harmless events change nothing


@pytest.mark.laws
@pytest.mark.parametrize("integrator", METHODS)
def test_harmless_events_leave_the_run_as_it_is(integrator):
    """The same samples, to the last bit with dop853; all zeros of functions of time, none twice."""
    for seed in range(3):
        robot = Robot(random_mechanism(seed, n=4, mimic=0.0))
        q, v, _ = random_state(robot.mechanism, seed)
        options = {"integrator": stepping(integrator, 5e-3), "sample_time": 0.05, "duration": 0.6}
        alone = simulate(robot, q, 0.5 * v, **options)
        rng = np.random.default_rng(seed)
        times = np.sort(rng.uniform(0, 0.6, 12))
        times[3] = times[4]  # two at the same time
        times[5] = 0.3  # one at a sample, and at the boundary of a fixed step
        events = [Event(lambda t, q, v, at=at: t - at, f"clock {k}") for k, at in enumerate(times)]
        events += [Event(lambda t, q, v, k=k: v[k % len(v)], f"v{k}") for k in range(3)]
        events.append(Event(lambda t, q, v: q[0] - 1e-6, "height"))
        run = simulate(robot, q, 0.5 * v, events=events, **options)
        assert (run.status, run.reason) == (alone.status, alone.reason)
        if integrator is DOP853:
            assert np.array_equal(run.q, alone.q)
            assert np.array_equal(run.v, alone.v)
        else:  # fixed steps are not chained
            assert abs(run.q - alone.q).max() < 1e-12
        clocks = {e.name: e.t for e in run.events if e.name.startswith("clock")}
        assert len(clocks) == 12
        assert [clocks[f"clock {k}"] for k in range(12)] == pytest.approx(times, abs=1e-12)
        assert (np.diff([e.t for e in run.events]) >= 0).all()


def test_samples_after_an_event_come_from_the_same_step():
    """Dense samples of a run whose steps are much longer: they follow the fall to the integrator's tolerance."""
    run = simulate(
        mass_on_a_slide(),
        [1.0],
        duration=0.4,
        sample_time=1e-3,
        integrator=DOP853(1e-9),
        events=[Event(lambda t, q, v: q[0] - 0.9, "passes")],
    )
    assert abs(run.q[:, 0] - (1.0 - 0.5 * G * run.t**2)).max() < 1e-8
    assert run.t == pytest.approx(np.linspace(0, 0.4, 401), abs=1e-15)
