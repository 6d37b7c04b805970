"""Events of a batch: each run is that of its state alone, to the last bit, whatever the others do."""

import multiprocessing
import re
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest
from runs import assert_alone

import zveno
from mechanisms import random_mechanism, random_state
from zveno import ZvenoError
from zveno.kernels import ops as zm
from zveno.simulation import PD, RK4, BallJoint, Event, ServoDrive, Traced, Weld, _rk4
from zveno.simulation.simulate import simulate

SAME = 1e-9
"""rad: a run with events and one without take the same steps, at times that are rounded differently."""

EVENTS = [
    Event(lambda t, q, v: q[0] + 1.5, "down", traced=True),
    Event(lambda t, q, v: v[1], "turns", 1, traced=True),
    Event(lambda t, q, v: zm.sin(7.0 * t) + 0.0 * q[0], "clock", -1, traced=True),
]


@pytest.mark.parametrize("sample", [None, 0.0137])
@pytest.mark.parametrize("at_once", [_rk4.NUMBERS_AT_ONCE, 400])
def test_events_of_a_batch_are_those_of_its_runs(sample, at_once, monkeypatch):
    monkeypatch.setattr(_rk4, "NUMBERS_AT_ONCE", at_once)
    robot = zveno.load("chain(2)")
    q0 = np.random.default_rng(0).normal(size=(2, 3, 2))
    options = {"duration": 2.0, "integrator": RK4(2e-3), "sample_time": sample}
    together = simulate(robot, q0, events=EVENTS, **options)
    plain = simulate(robot, q0, **options)
    assert np.allclose(together.q, plain.q, rtol=0, atol=SAME)
    assert (together.t.tolist(), together.n_steps, together.reason.tolist()) == (
        plain.t.tolist(),
        plain.n_steps,
        plain.reason.tolist(),
    )
    times = [event.t for event in together.events]
    assert times == sorted(times)
    monkeypatch.undo()  # how many steps are taken at once changes nothing
    for i in np.ndindex(2, 3):
        assert_alone(together.run(*i), simulate(robot, q0[i], events=EVENTS, **options))
    assert len(together.events) > 30


@pytest.mark.laws
@pytest.mark.parametrize("traced", [True, False])
def test_runs_of_random_mechanisms_end_at_their_own_events(traced):
    """Trees of all kinds of joints, one of them free; an event of the state, one of time, and a harmless one."""
    stopped = 0
    for seed in range(6):
        robot = zveno.Robot(random_mechanism(seed, n=3, mimic=0.0))
        states = [random_state(robot.mechanism, 10 * seed + k)[:2] for k in range(5)]
        q0, v0 = np.array([q for q, _ in states]), 0.5 * np.array([v for _, v in states])
        rng = np.random.default_rng(seed)
        at, k = v0[:, -1].mean(), int(rng.integers(robot.n_q))
        events = [
            Event(lambda t, q, v, at=at: v[-1] - at, "speed", terminal=True, traced=traced),
            Event(lambda t, q, v: q[0] - 0.3 * q[-1] - 2.0 * t + 0.1, "late", 1, terminal=True, traced=traced),
            Event(lambda t, q, v, k=k: v[0] - 0.1 * q[k], "harmless", -1, traced=traced),
        ]
        sample = [None, 0.013, 0.5][seed % 3]
        options = {"duration": 0.15, "integrator": RK4(2e-3), "events": events, "sample_time": sample}
        together = simulate(robot, q0, v0, **options)
        order = rng.permutation(5)
        shuffled = simulate(robot, q0[order], v0[order], **options)
        for i in range(5):
            alone = simulate(robot, q0[i], v0[i], **options)
            assert_alone(together.run(i), alone)
            assert_alone(shuffled.run(int(np.flatnonzero(order == i)[0])), alone)
            assert together.t_end[i] == alone.t[-1]
            assert together.q_end[i].tolist() == alone.q[-1].tolist()
            assert together.v_end[i].tolist() == alone.v[-1].tolist()
            assert (together.status[i], together.reason[i]) == (alone.status, alone.reason)
        assert_alone(simulate(robot, q0[:1], v0[:1], **options).run(0), simulate(robot, q0[0], v0[0], **options))
        stopped += int((together.status == "stopped").sum())
    assert 5 < stopped < 25


@pytest.mark.laws
@pytest.mark.parametrize(
    "acting",
    [
        {"constraints": [BallJoint("wrist_3_link")]},
        {"constraints": [Weld("forearm")]},
        {"control": PD(np.zeros(6), 1.0, 0.01)},
        {"control": PD(np.zeros(6), 1.0, 0.01), "drive": ServoDrive(lag=0.02), "joint_friction": True},
        {"control": lambda t, q, v: -2.0 * q - 0.02 * v},
    ],
    ids=["held", "held twice", "compiled controller", "driven", "controller that is called"],
)
@pytest.mark.parametrize("terminal", [True, False])
def test_events_of_constrained_and_controlled_batches(acting, terminal):
    robot = zveno.load("ur5")
    q0 = robot.neutral() + 0.1 * np.random.default_rng(1).normal(size=(3, 6))
    events = [
        Event(lambda t, q, v: zm.sin(40.0 * t) + q[4], "swings", traced=True),
        Event(lambda t, q, v: q[3] + q[5] - 0.9 * t, "last", terminal=terminal, traced=True),
    ]
    options = acting | {"duration": 0.2, "integrator": RK4(), "events": events}
    together = simulate(robot, q0, **options)
    assert len(together.events) > 3
    assert (together.stops is not None) == terminal
    redundant = isinstance(acting.get("constraints", [None])[0], Weld)  # solved by other sums of one and many
    for i in range(3):
        assert_alone(together.run(i), simulate(robot, q0[i], **options), SAME if redundant else 0.0)


@pytest.mark.laws
def test_a_called_control_is_given_the_whole_batch_whoever_has_ended():
    """Gains of every run by itself, which one state could not be given to."""
    robot = zveno.load("chain(2)")
    gains = np.array([[[1.0], [5.0], [9.0]], [[2.0], [4.0], [6.0]]])
    shapes = set()

    def control(t, q, v):
        shapes.add(q.shape)
        assert np.isfinite(q).all()
        return -gains * v

    q0 = np.random.default_rng(3).normal(size=(2, 3, 2))
    events = [Event(lambda t, q, v: q[0] + q[1] + 1.0, "low", terminal=True)]
    options = {"duration": 0.5, "integrator": RK4(5e-3), "events": events}
    together = simulate(robot, q0, control=control, **options)
    assert shapes == {(2, 3, 2)}
    assert 0 < len(together.stops.t) < 6
    for i in np.ndindex(2, 3):
        own = gains[i]
        assert_alone(together.run(*i), simulate(robot, q0[i], control=lambda t, q, v, own=own: -own * v, **options))


def test_where_events_end_nothing_all_or_all_at_once():
    robot = zveno.load("chain(2)")
    q0 = np.random.default_rng(0).normal(size=(4, 2))
    options = {"duration": 1.0, "integrator": RK4(1e-2)}
    plain = simulate(robot, q0, **options)
    never = simulate(robot, q0, events=[Event(lambda t, q, v: t + 1.0, "never", terminal=True)], **options)
    assert never.finished
    assert never.stops is None
    assert np.allclose(never.q, plain.q, rtol=0, atol=SAME)
    for at in (0.123, 0.12):  # between the ends of steps, and at one
        once = simulate(robot, q0, events=[Event(lambda t, q, v, at=at: t - at, "bell", terminal=True)], **options)
        assert once.reason.tolist() == [f"event bell at t = {at} s"] * 4
        assert f"4 stopped, the first: event bell at t = {at} s" in once.summary
        assert once.t_end == pytest.approx(at, abs=1e-12)
        assert once.n_samples.tolist() == [13] * 4
        assert once.t == pytest.approx(0.01 * np.arange(13))
        assert once.n_steps == (13 if at == 0.123 else 12)
        assert not once.finished
        for i in range(4):
            alone = simulate(
                robot, q0[i], events=[Event(lambda t, q, v, at=at: t - at, "bell", terminal=True)], **options
            )
            assert_alone(once.run(i), alone)
            assert len(alone.t) == (14 if at == 0.123 else 13)


def test_a_zero_at_the_start_is_no_event_and_one_in_the_first_step_is():
    robot = zveno.load("chain(1)")
    events = [Event(lambda t, q, v: q[0] - 0.5, "half", terminal=True, traced=True)]
    options = {"duration": 0.5, "integrator": RK4(1e-2), "events": events}
    q0, v0 = np.array([[0.5], [0.5 + 1e-9], [0.6]]), np.array([[0.0], [-1.0], [0.0]])
    together = simulate(robot, q0, v0, **options)
    assert together.status[0] == "finished"
    assert together.t_end[1] == pytest.approx(1e-9, rel=1e-3)
    assert together.n_samples.tolist()[1] == 1
    assert together.run(1).t.tolist() == [0.0, together.t_end[1]]
    for i in range(3):
        assert_alone(together.run(i), simulate(robot, q0[i], v0[i], **options))


def test_two_terminal_events_in_one_step():
    """The earlier one ends a run; both are reported where they are at the same time."""
    robot = zveno.load("chain(1)")
    events = [
        Event(lambda t, q, v: q[0] - 0.2 - 0.5 * t, "second", terminal=True, traced=True),
        Event(lambda t, q, v: t - 0.0515, "bell", terminal=True, traced=True),
        Event(lambda t, q, v: 2.0 * t - 0.103, "echo", terminal=True, traced=True),
    ]
    options = {"duration": 0.5, "integrator": RK4(1e-2), "events": events}
    q0 = np.array([[0.2 + 0.026], [1.0], [0.2 + 0.025]])
    v0 = np.array([[0.0], [0.0], [0.5]])
    together = simulate(robot, q0, v0, **options)
    assert together.reason[1].split()[1] == "bell"
    assert [event.name for event in together.run(1).events] == ["bell", "echo"]
    for i in range(3):
        assert_alone(together.run(i), simulate(robot, q0[i], v0[i], **options))


def explosive(t, q, v):
    """Torques that explode beyond q = 2 and are constant below."""
    return 1e2 * zm.maximum(q, 2.0) ** 5 - 3200.0


@pytest.mark.laws
@pytest.mark.parametrize("control", [Traced(explosive), lambda t, q, v: 1e2 * np.maximum(q, 2.0) ** 5 - 3200.0])
def test_runs_that_explode_beside_runs_that_stop_and_runs_that_finish(control):
    """One explodes, one is stopped before it would, one finishes, one is stopped."""
    robot = zveno.load("chain(1)")
    events = [
        Event(lambda t, q, v: v[0] - 25.0 if 2.98 < q[0] < 3.4 else -1.0, "fast", terminal=True),
        Event(lambda t, q, v: q[0] + 1.5707, "passes", 1, terminal=True),
        Event(lambda t, q, v: t - 0.0101, "early"),
    ]
    q0 = np.array([[3.5], [3.0], [-0.5 * np.pi], [-1.5708]])
    v0 = np.array([[0.0], [0.0], [0.0], [0.01]])
    for sample in (None, 0.25):
        options = {
            "duration": 0.5,
            "integrator": RK4(),
            "events": events,
            "control": control,
            "sample_time": sample,
        }
        run = simulate(robot, q0, v0, **options)
        assert run.status.tolist() == ["diverged", "stopped", "finished", "stopped"]
        assert "event fast" in run.reason[1]
        assert "event passes" in run.reason[3]
        assert "1 finished; 2 stopped, the first: event fast" in run.summary
        assert re.search("1 diverged, the first: the (motion has no bound|control gave inf for joint)", run.summary)
        assert np.isfinite(run.energy_drift)
        for i in range(4):
            assert_alone(run.run(i), simulate(robot, q0[i], v0[i], **options))
        only = simulate(robot, q0[:2], v0[:2], **options)
        assert only.status.tolist() == ["diverged", "stopped"]


def test_finished_runs_cost_nothing_and_disturb_nobody():
    """States behind the end of a run are not computed: an event that is not finite there is never asked."""
    robot, asked = zveno.load("chain(1)"), []
    events = [
        Event(lambda t, q, v: t - 0.0101 - 0.1 * (q[0] > 0.0), "end", terminal=True),
        Event(lambda t, q, v: asked.append(t) or 1.0, "counts"),
    ]
    run = simulate(robot, [[1.0], [-1.0]], duration=100.0, integrator=RK4(1e-3), events=events)
    assert run.t_end == pytest.approx([0.1101, 0.0101], abs=1e-9)
    assert max(asked) < 0.12
    assert run.n_evaluations <= 4 * (16 + 64 + 256)  # the looks that come first
    late = [
        Event(lambda t, q, v: 1.0 if t < 0.0205 else np.nan, "nan later"),
        Event(lambda t, q, v: t - 0.0191, terminal=True),
    ]
    assert len(simulate(robot, [[1.0], [-1.0]], integrator=RK4(), events=late).stops.t) == 2
    with pytest.raises(ZvenoError, match="event nan later"):
        simulate(robot, [[1.0], [-1.0]], integrator=RK4(), events=late[:1])


@pytest.mark.parametrize("suffix", [".npz", ".json"])
def test_a_batch_whose_runs_ended_is_kept_in_files_and_drawn(suffix, tmp_path):
    robot = zveno.load("chain(2)")
    events = [Event(lambda t, q, v: q[0] + 1.0, "low", terminal=True, traced=True)]
    run = simulate(robot, [[0.3, 0.1], [2.5, 0.0], [-0.2, 0.0]], duration=0.5, integrator=RK4(5e-3), events=events)
    again = zveno.load_result(run.save(tmp_path / f"run{suffix}"))
    assert again.status.tolist() == run.status.tolist()
    assert again.reason.tolist() == run.reason.tolist()
    assert again.summary == run.summary
    for i in range(3):
        assert_alone(again.run(i), run.run(i))
    assert len(run.plot().axes) >= 3
    assert run.report(tmp_path / "run.html").stat().st_size > 1000
    assert "2 stopped, the first: event low" in run.summary
    table = run.run(0).save(tmp_path / "run.csv").read_text().splitlines()
    assert len(table) == 1 + len(run.run(0).t)
    assert float(table[-1].split(",")[0]) == run.t_end[0]
    with pytest.raises(ZvenoError, match=r"run\(0\)"):
        run.save(tmp_path / "all.csv")


def test_a_run_that_explodes_does_not_disturb_the_others():
    robot = zveno.load("chain(1)")
    options = {
        "duration": 1.0,
        "integrator": RK4(),
        "events": [Event(lambda t, q, v: v[0] - 0.02, "fast", traced=True)],
    }
    run = simulate(robot, [[3.0], [-1.57]], control=Traced(explosive), **options)
    assert not np.isfinite(run.q[0]).all()
    assert {event.state for event in run.events} <= {(0,), (1,)}
    assert max(event.t for event in run.events if event.state == (0,)) <= run.t[run.n_samples[0]]


def test_a_run_that_a_batch_does_not_have_is_said():
    robot = zveno.load("chain(1)")
    batch, one = simulate(robot, np.zeros((2, 3, 1)), duration=0.01), simulate(robot, [0.0], duration=0.01)
    assert one.run() is one
    assert_alone(batch.run(-1, -1), batch.run(1, 2))
    for ask in (lambda: one.run(0), lambda: batch.run(0), lambda: batch.run(0, 3), lambda: batch.run(0, 1.0)):
        with pytest.raises(ZvenoError, match="one number an axis"):
            ask()


@pytest.mark.parametrize("traced", [True, False])
def test_a_function_that_is_not_finite_is_named(traced):
    events = [Event(lambda t, q, v: 1.0 / q[0], "nothing", traced=traced)]
    with pytest.raises(ZvenoError, match=r"event nothing.*returns"):
        simulate(zveno.load("chain(2)"), np.zeros((2, 2)), events=events)


def test_what_lies_behind_a_terminal_event_in_its_step_did_not_happen():
    events = [
        Event(lambda t, q, v: t - 0.0525, "behind"),
        Event(lambda t, q, v: t - 0.0515, "end", terminal=True),
        Event(lambda t, q, v: t - 0.0505, "before"),
    ]
    for q0 in ([1.0], [[1.0], [0.5]]):
        run = simulate(zveno.load("chain(1)"), q0, duration=0.1, integrator=RK4(1e-2), events=events)
        assert {event.name for event in run.events} == {"before", "end"}


def test_a_function_that_writes_into_its_state_changes_nothing():
    robot, q0 = zveno.load("chain(2)"), np.random.default_rng(0).normal(size=(2, 2))
    writes = [Event(lambda t, q, v: q.fill(5.0) or v.fill(5.0) or t - 0.05, "writes")]
    reads = [Event(lambda t, q, v: t - 0.05, "reads")]
    runs = [simulate(robot, q0, duration=0.1, integrator=RK4(1e-2), events=events) for events in (writes, reads)]
    assert np.array_equal(runs[0].q, runs[1].q)


@pytest.mark.parametrize(
    ("q0", "events", "message"),
    [
        (np.zeros((0, 2)), [], "has no state"),
        (np.zeros(2), EVENTS[0], r"events: is not a list.*Event\(function\)"),
        (np.zeros((3, 2)), [lambda t, q, v: t], r"is not an event.*Event\(function\)"),
        (np.zeros((3, 2)), 5, "is not a list"),
    ],
)
def test_refused(q0, events, message):
    with pytest.raises(ZvenoError, match=message):
        simulate(zveno.load("chain(2)"), q0, events=events)


def low(t, q, v):
    """Something that workers can import."""
    return q[0] + q[1] + 1.0


@pytest.mark.laws
def test_workers_find_the_same_events():
    """Two pieces of a batch, of other lengths."""
    robot, q0 = zveno.load("chain(2)"), np.random.default_rng(0).normal(size=(2, 40, 2))
    events = [Event(low, "low", terminal=True, traced=True), Event(low, "seen")]
    options = {"duration": 0.3, "integrator": RK4(1e-2), "events": events}
    plain = simulate(robot, q0, **options)
    assert 0 < len(plain.stops.t) < 80
    for pool in (ThreadPoolExecutor(2), ProcessPoolExecutor(1, multiprocessing.get_context("spawn"))):
        with pool:
            shared = simulate(robot, q0, **options, executor=pool)
        assert shared.reason.tolist() == plain.reason.tolist()
        assert [(e.t, e.state) for e in shared.events] == [(e.t, e.state) for e in plain.events]
        for i in ((0, 0), (1, 3), (1, 39)):
            assert_alone(shared.run(*i), plain.run(*i))
