"""Events: none is lost whatever the step, each is reported once and in order, and none disturbs the run."""

import numpy as np
import pytest

import zveno
from mechanisms import random_mechanism, random_state
from slowly import rest_slow
from zveno.errors import ZvenoError
from zveno.mechanism import Joint, Limits, Link, Prismatic, Revolute, assemble
from zveno.robot import Robot
from zveno.simulation import Event, GroundContact, simulate
from zveno.spatial import inertia

METHODS = ("dop853", "lsoda", "adams", "rk4", "semi-implicit")
ADAPTIVE = ("dop853", "lsoda", "adams")
G = 9.81


def mass_on_a_slide() -> Robot:
    """A mass on a vertical slide."""
    body = inertia.parameters(2.0, np.zeros(3), np.eye(3))
    links, joint = [Link("base"), Link("b", body)], Joint("z", "base", "b", Prismatic((0, 0, 1)))
    return Robot(assemble("slide", links, [joint]))


# --- the ground and other watches are not lost


@pytest.mark.parametrize("integrator", METHODS)
@pytest.mark.parametrize("max_step", [0.3, np.inf])
def test_an_event_just_above_the_floor_does_not_lose_the_floor(integrator, max_step):
    run = simulate(
        mass_on_a_slide(),
        [1.0],
        duration=2.0,
        max_step=max_step,
        integrator=integrator,
        constraints=[GroundContact("b", friction=0.0)],
        events=[Event(lambda t, q, v: q[0] - 0.001, "low", -1)],
    )
    assert run.finished, run.status
    assert run.q.min() > -1e-5
    assert [(one.name, one.what) for one in run.events] == [("low", "event"), ("GroundContact(b)", "closes")]
    error = 2e-3 if integrator == "semi-implicit" else 1e-7
    assert run.events[0].t == pytest.approx(np.sqrt(2 * 0.999 / G), abs=error)


@pytest.mark.parametrize("integrator", METHODS)
def test_a_terminal_event_after_another_event_in_the_same_step_ends_the_run(integrator):
    events = [Event(lambda t, q, v, x=x: q[0] - x, f"at {x}", terminal=x == 0.3) for x in (0.9, 0.5, 0.3, 0.2)]
    run = simulate(mass_on_a_slide(), [1.0], duration=1.0, integrator=integrator, step=0.05, events=events)
    assert [one.name for one in run.events] == ["at 0.9", "at 0.5", "at 0.3"]
    assert "event at 0.3" in run.status
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
        run = simulate(robot, q, duration=end, integrator=integrator, events=events, sample=end / 7)
        assert run.finished, run.status
        assert [one.t for one in run.events] == pytest.approx([at], abs=1e-12)
        assert run.t[-1] == end


# --- each once, in order


@pytest.mark.parametrize("integrator", METHODS)
def test_zero_at_the_boundary_of_a_step_is_reported_once(integrator):
    """Grid times of fixed steps, sample times, and the end of the run."""
    events = [Event(lambda t, q, v, x=x: t - x, f"t = {x}") for x in (0.25, 0.5, 1.0)]
    run = simulate(
        mass_on_a_slide(), [1.0], duration=1.0, integrator=integrator, step=0.125, sample=0.125, events=events
    )
    assert [one.name for one in run.events] == ["t = 0.25", "t = 0.5", "t = 1.0"]
    assert [one.t for one in run.events] == pytest.approx([0.25, 0.5, 1.0], abs=1e-12)


def test_touching_zero_at_the_boundary_of_a_step():
    """Zero without a change of sign, at a grid time: it is a zero, and reported once. At the start it is not."""
    events = [Event(lambda t, q, v: (t - 0.5) ** 2, "touch"), Event(lambda t, q, v: t, "start")]
    run = simulate(mass_on_a_slide(), [1.0], duration=1.0, integrator="rk4", step=0.125, events=events)
    assert [(one.name, one.t) for one in run.events] == [("touch", 0.5)]


@pytest.mark.parametrize("integrator", METHODS)
def test_simultaneous_events_are_all_reported(integrator):
    events = [Event(lambda t, q, v, k=k: k * (q[0] - 0.5), f"e{k}") for k in (1.0, -2.0, 3.0)]
    run = simulate(mass_on_a_slide(), [1.0], duration=1.0, integrator=integrator, events=events)
    assert sorted(one.name for one in run.events) == ["e-2.0", "e1.0", "e3.0"]
    assert np.ptp([one.t for one in run.events]) < 1e-12
    last = [Event(lambda t, q, v: q[0] - 0.5, f"e{k}", terminal=True) for k in range(2)]
    run = simulate(mass_on_a_slide(), [1.0], duration=1.0, integrator=integrator, events=last)
    assert [one.name for one in run.events] == ["e0", "e1"]


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_function_that_is_not_finite_is_named(value):
    events = [Event(lambda t, q, v: value if t > 0.2 else 1.0, "broken")]
    with pytest.raises(ZvenoError, match=r"event broken.*(nan|inf).*t = 0\.") as caught:
        simulate(mass_on_a_slide(), [1.0], duration=1.0, events=events)
    assert "finite" in str(caught.value)


def test_directions():
    events = [Event(lambda t, q, v: np.sin(10 * t + 1), f"{d}", direction=d) for d in (-1, 0, 1)]
    run = simulate(mass_on_a_slide(), [0.0], duration=2.0, max_step=0.2, events=events)
    zeros = {name: [one.t for one in run.events if one.name == name] for name in ("-1", "0", "1")}
    exact = (np.arange(1, 7) * np.pi - 1) / 10
    assert zeros["0"] == pytest.approx(exact, abs=1e-10)
    assert zeros["-1"] == pytest.approx(exact[::2], abs=1e-10)
    assert zeros["1"] == pytest.approx(exact[1::2], abs=1e-10)
    with pytest.raises(ZvenoError, match="direction"):
        simulate(mass_on_a_slide(), [0.0], events=[Event(lambda t, q, v: t, direction=2)])


@pytest.mark.parametrize("integrator", ADAPTIVE)
def test_several_crossings_inside_one_step(integrator):
    """Free fall is a polynomial, so steps are as long as allowed; crossings an eighth of one apart are found."""
    step = 0.4
    events = [Event(lambda t, q, v: np.sin(np.pi * t / (1.01 * step / 8)), "often")]
    run = simulate(mass_on_a_slide(), [0.0], duration=2.0, max_step=step, integrator=integrator, events=events)
    exact = np.arange(1, int(2.0 / (1.01 * step / 8)) + 1) * (1.01 * step / 8)
    assert [one.t for one in run.events] == pytest.approx(exact, abs=1e-9)


def test_a_jump_of_velocity_over_zero_is_a_crossing():
    """An impact turns the velocity round: the event is reported at the impact, once."""
    run = simulate(
        mass_on_a_slide(),
        [1.0],
        duration=0.7,
        constraints=[GroundContact("b", friction=0.0, restitution=0.5)],
        events=[Event(lambda t, q, v: v[0], "turns")],
    )
    impact = np.sqrt(2 / G)
    bounce = next(one for one in run.events if one.what == "bounces")
    up, top = (one for one in run.events if one.name == "turns")
    assert up.t == bounce.t == pytest.approx(impact, abs=1e-7)
    assert top.t == pytest.approx(impact + 0.5 * impact, abs=1e-7)


def test_resting_at_zero_is_no_stream_of_events():
    """After the fall the mass rests within rounding of zero: the impact, and once more as drift dies out."""
    run = simulate(
        mass_on_a_slide(),
        [1.0],
        duration=2.0,
        integrator="rk4",
        constraints=[GroundContact("b", friction=0.0)],
        events=[Event(lambda t, q, v: v[0], "speed")],
    )
    assert 1 <= sum(one.name == "speed" for one in run.events) <= 2


# --- the law: harmless events change nothing


def _machine(kind: str, seed: int):
    """(robot, q, v, options) of a random run."""
    rng = np.random.default_rng(seed)
    if kind == "tree":
        robot = Robot(random_mechanism(seed, n=4, mimic=0.0))
        q, v, _ = random_state(robot.mechanism, seed)
        return robot, q, 0.5 * v, {}
    if kind == "bouncing":
        contact = GroundContact("b", friction=0.0, restitution=float(rng.uniform(0, 0.8)))
        return mass_on_a_slide(), [rng.uniform(0.1, 1.0)], None, {"constraints": [contact]}
    rod = inertia.parameters(1.0, np.array([0.5, 0, 0]), np.diag([0.0, 1 / 12, 1 / 12]))
    limits = Limits(-2.0, float(rng.uniform(0.2, 1.0)))
    joint = Joint("hinge", "base", "rod", Revolute((0, 1, 0)), limits=limits)
    return Robot(assemble("stopped", [Link("base"), Link("rod", rod)], [joint])), [0.0], None, {"limits": True}


@pytest.mark.parametrize("integrator", rest_slow(METHODS, 3))
@pytest.mark.parametrize("kind", ["tree", "bouncing", "limits"])
def test_harmless_events_leave_the_run_as_it_is(kind, integrator):
    """The same samples, to the last bit with dop853 and lsoda; all zeros of functions of time, none twice."""
    for seed in range(3):
        robot, q, v, options = _machine(kind, seed)
        options |= {"integrator": integrator, "step": 5e-3, "sample": 0.05, "duration": 0.6}
        alone = simulate(robot, q, v, **options)
        rng = np.random.default_rng(seed)
        times = np.sort(rng.uniform(0, 0.6, 12))
        times[3] = times[4]  # two at the same time
        times[5] = 0.3  # one at a sample, and at the boundary of a fixed step
        events = [Event(lambda t, q, v, at=at: t - at, f"clock {k}") for k, at in enumerate(times)]
        events += [Event(lambda t, q, v, k=k: v[k % len(v)], f"v{k}") for k in range(3)]
        events.append(Event(lambda t, q, v: q[0] - 1e-6, "height"))
        run = simulate(robot, q, v, events=events, **options)
        assert run.status == alone.status
        if integrator in ("dop853", "lsoda"):
            assert np.array_equal(run.q, alone.q)
            assert np.array_equal(run.v, alone.v)
        else:  # Adams is asked for more times, which its first step depends on; fixed steps are not chained
            assert abs(run.q - alone.q).max() < (1e-5 if integrator == "adams" else 1e-12)
        contacts = [(one.name, one.what) for one in run.events if one.what != "event"]
        assert contacts == [(one.name, one.what) for one in alone.events]
        clocks = {e.name: e.t for e in run.events if e.name.startswith("clock")}
        assert len(clocks) == 12
        assert [clocks[f"clock {k}"] for k in range(12)] == pytest.approx(times, abs=1e-12)
        assert (np.diff([e.t for e in run.events]) >= 0).all()


@pytest.mark.parametrize("integrator", ["dop853", "lsoda"])
def test_samples_after_an_event_come_from_the_same_step(integrator):
    """Dense samples of a run whose steps are much longer: they follow the fall to the integrator's tolerance."""
    run = simulate(
        mass_on_a_slide(),
        [1.0],
        duration=0.4,
        sample=1e-3,
        integrator=integrator,
        rtol=1e-9,
        events=[Event(lambda t, q, v: q[0] - 0.9, "passes")],
    )
    assert abs(run.q[:, 0] - (1.0 - 0.5 * G * run.t**2)).max() < 1e-8
    assert run.t == pytest.approx(np.linspace(0, 0.4, 401), abs=1e-15)
