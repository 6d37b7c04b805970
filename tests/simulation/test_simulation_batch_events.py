"""Events of a batch: those of its runs, one by one."""

import numpy as np
import pytest

import zveno
from zveno import ZvenoError
from zveno.kernels import math as zm
from zveno.simulation import PD, Event, Traced, Weld, batch_events, simulate

SAME = 1e-9
"""s, and rad: a batch and a single run take the same steps, in kernels of other numbers of steps."""

EVENTS = [
    Event(lambda t, q, v: q[0] + 1.5, "down", traced=True),
    Event(lambda t, q, v: v[1], "turns", 1, traced=True),
    Event(lambda t, q, v: zm.sin(7.0 * t) + 0.0 * q[0], "clock", -1, traced=True),
]


@pytest.mark.parametrize("sample", [None, 0.0137])
@pytest.mark.parametrize("at_once", [batch_events.NUMBERS_AT_ONCE, 400])
def test_events_of_a_batch_are_those_of_its_runs(sample, at_once, monkeypatch):
    monkeypatch.setattr(batch_events, "NUMBERS_AT_ONCE", at_once)
    robot = zveno.load("chain(2)")
    q0 = np.random.default_rng(0).normal(size=(2, 3, 2))
    options = {"duration": 2.0, "step": 2e-3, "integrator": "rk4", "sample": sample}
    together = simulate(robot, q0, events=EVENTS, **options)
    plain = simulate(robot, q0, **options)
    assert np.allclose(together.q, plain.q, rtol=0, atol=SAME)
    assert (together.t.tolist(), together.n_steps, together.status) == (
        plain.t.tolist(),
        plain.n_steps,
        plain.status,
    )
    times = [event.t for event in together.events]
    assert times == sorted(times)
    for i in np.ndindex(2, 3):
        alone = simulate(robot, q0[i], events=EVENTS, **options).events
        own = [event for event in together.events if event.state == i]
        assert sorted(event.name for event in own) == sorted(event.name for event in alone)
        for name in ("down", "turns", "clock"):
            pair = [[event.t for event in events if event.name == name] for events in (own, alone)]
            assert np.allclose(*pair, rtol=0, atol=SAME)
    assert len(together.events) > 30


@pytest.mark.parametrize(
    "acting",
    [
        {"constraints": [Weld("forearm")]},
        {"control": PD(np.zeros(6), 1.0, 0.01)},
        {"control": lambda t, q, v: -2.0 * q - 0.02 * v},
    ],
    ids=["held", "compiled controller", "controller that is called"],
)
def test_events_of_constrained_and_controlled_batches(acting):
    robot = zveno.load("ur5")
    q0 = robot.neutral() + 0.1 * np.random.default_rng(1).normal(size=(3, 6))
    events = [Event(lambda t, q, v: zm.sin(40.0 * t) + q[4], "swings", traced=True)]
    options = acting | {"duration": 0.2, "integrator": "rk4", "events": events}
    together = simulate(robot, q0, **options)
    assert len(together.events) > 3
    for i in range(3):
        alone = [event.t for event in simulate(robot, q0[i], **options).events]
        assert np.allclose([e.t for e in together.events if e.state == (i,)], alone, rtol=0, atol=SAME)


def test_a_run_that_explodes_does_not_disturb_the_others():
    robot = zveno.load("chain(1)")
    control = Traced(lambda t, q, v: 1e2 * zm.maximum(q, 2.0) ** 5 - 3200.0)
    options = {
        "duration": 1.0,
        "integrator": "rk4",
        "events": [Event(lambda t, q, v: v[0] - 0.02, "fast", traced=True)],
    }
    run = simulate(robot, [[3.0], [-1.57]], control=control, **options)
    assert not np.isfinite(run.q[0]).all()
    assert {event.state for event in run.events} <= {(0,), (1,)}


@pytest.mark.parametrize(
    ("event", "message"),
    [
        (Event(lambda t, q, v: q[0], "plain"), "compiled events only"),
        (Event(lambda t, q, v: q[0], "last", terminal=True, traced=True), "end together"),
        (Event(lambda t, q, v: 1.0 / q[0], "nothing", traced=True), "returns"),
    ],
)
def test_refused(event, message):
    with pytest.raises(ZvenoError, match=message):
        simulate(zveno.load("chain(2)"), np.zeros((2, 2)), events=[event])


def test_workers_look_for_none():
    with pytest.raises(ZvenoError, match="workers look for no events"):
        simulate(zveno.load("chain(2)"), np.zeros((2, 2)), events=EVENTS, on=1)
