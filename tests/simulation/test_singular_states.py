"""Loops that pass singular states: the motion stays on its branch, or the status names the state."""

import numpy as np
import pytest
from plane_loops import SPECIAL, bar, carried_four_bar, special_four_bar

import zveno
from tiers import few
from zveno.mechanism import Frame, Joint, Link, Loop, Revolute, assemble
from zveno.simulation import DOP853, RK4, BallJoint, Hinge, TimeStepping
from zveno.simulation.simulate import simulate
from zveno.spatial.transforms import transform

NAMED = "passes a singular state of Loop(e1, e2)"


def parallelogram(seed: int, locked=("x", "y")) -> zveno.Robot:
    """Two equal cranks and a coupler as long as the ground, in a vertical plane; it is flat at q = 0."""
    rng = np.random.default_rng(seed)
    crank, ground = rng.uniform(0.2, 0.4), rng.uniform(0.4, 0.8)
    side = transform(np.array([[1.0, 0, 0], [0, 0, -1], [0, 1, 0]]), None)
    first, second = bar(rng, crank), bar(rng, crank)
    links = [Link("w"), Link("a", first), Link("c", bar(rng, ground)), Link("b", second)]
    joints = [
        Joint("j1", "w", "a", Revolute(), side),
        Joint("j2", "a", "c", Revolute(), transform(None, [crank, 0, 0])),
        Joint("j3", "w", "b", Revolute(), side @ transform(None, [ground, 0, 0])),
    ]
    frames = [Frame("e1", "c", transform(None, [ground, 0, 0])), Frame("e2", "b", transform(None, [crank, 0, 0]))]
    return zveno.Robot(assemble("parallelogram", links, joints, frames, loops=[Loop("e1", "e2", locked)]))


@pytest.mark.laws
@pytest.mark.parametrize(("seed", "locked"), few([(k, way) for k in range(4) for way in (("x", "y"), "point")], 1))
@pytest.mark.parametrize("integrator", [DOP853, RK4, TimeStepping])
def test_a_parallelogram_stays_on_its_branch_or_its_flat_state_is_named(seed, locked, integrator):
    robot, rng = parallelogram(seed, locked), np.random.default_rng(seed)
    for _ in range(6):
        q1, v1 = rng.uniform(0.1, 0.6), -rng.uniform(1.0, 12.0)
        run = simulate(*(robot, [q1, -q1, q1], [v1, -v1, v1], 0.3), integrator=integrator(), sample_time=0.01)
        stays = abs(run.q[:, 0] - run.q[:, 2]).max() < 1e-2
        flat = run.q[:, 0].min() < -1e-3
        assert (NAMED in run.reason) == flat
        assert not flat or run.status in ("undecided", "energy error")
        assert stays or (flat and integrator is not TimeStepping)
        assert flat or run.status == "finished"


def test_runs_of_a_batch_are_named_one_by_one():
    robot = parallelogram(0)
    q, v = np.array([[0.4, -0.4, 0.4], [0.8, -0.8, 0.8]]), np.array([[-8.0, 8.0, -8.0], [0.0, 0.0, 0.0]])
    run = simulate(robot, q, v, 0.1, integrator=RK4(), sample_time=0.05)
    assert run.status.tolist() == ["undecided", "finished"]
    assert NAMED in run.reason[0]


@pytest.mark.parametrize("seed", few(range(8), 1))
def test_four_bars_that_pass_no_singular_state_are_finished(seed):
    robot, q = carried_four_bar(seed)
    rng = np.random.default_rng(seed)
    v = 0.1 * rng.normal(size=robot.n_v)
    run = simulate(robot, q, v, 0.05, integrator=RK4(1e-3), sample_time=0.01)
    assert run.status == "finished"


CLOSED = {"plane": (), "point": (), "ball": (BallJoint("coupler_end", "rocker_end"),)}
CLOSED["hinge"] = (Hinge("coupler_end", "rocker_end"),)
LOCKED = {"plane": ("x", "y"), "point": "point"}


def jump(run) -> float:
    """Largest change of a velocity between samples beyond that of twice its accelerations."""
    change, most = abs(np.diff(run.v, axis=0)).max(axis=1), abs(run.a).max(axis=1)
    return float((change - 2.0 * np.diff(run.t) * np.maximum(most[1:], most[:-1])).max())


@pytest.mark.laws(after=3)
@pytest.mark.parametrize("seed", few(range(24), 4))
def test_velocities_are_continuous_or_the_singular_state_is_named(seed):
    way = sorted(CLOSED)[(seed + seed // 4) % 4]
    robot, q = special_four_bar(SPECIAL[seed % 4], seed, LOCKED.get(way))
    for integrator in (DOP853, RK4, TimeStepping):
        for speed in -np.random.default_rng(seed).uniform(2.0, 9.0, 3):
            options = {"constraints": CLOSED[way], "integrator": integrator(), "sample_time": 1e-3}
            run = simulate(robot, q, [speed, 0.0, 0.0], 0.4, **options)
            text = f"{SPECIAL[seed % 4]}, {way}, {integrator.__name__}, {speed:.3f}: {run.reason}"
            assert run.status in ("undecided", "energy error", "stopped") or jump(run) < 0.1, text
            sides = np.sin(run.q[:, 1])  # of the crank and the coupler: they are in line where it changes
            flat = (sides.min() < -0.05) and (sides.max() > 0.05)
            assert not (flat and run.status == "finished" and SPECIAL[seed % 4] != "folding"), text


@pytest.mark.parametrize("integrator", [DOP853, RK4, TimeStepping])
def test_a_start_in_a_singular_state_is_named(integrator):
    run = simulate(parallelogram(0), np.zeros(3), [-3.0, 3.0, -3.0], 0.1, integrator=integrator(), sample_time=0.01)
    assert f"{NAMED} at t = 0 s" in run.reason


@pytest.mark.parametrize("integrator", [DOP853, RK4, TimeStepping])
def test_loops_turned_out_of_the_axes_of_their_rows_are_finished(integrator):
    robot, q = carried_four_bar(0)
    mechanism = robot.mechanism
    open_chain = zveno.Robot(assemble("open", mechanism.links, mechanism.joints, mechanism.frames))
    v = np.zeros(robot.n_v)
    v[mechanism.v_slices["carrier"]] = 8.0
    ball = BallJoint("coupler_end", "rocker_end")
    run = simulate(open_chain, q, v, 1.0, constraints=[ball], integrator=integrator(), sample_time=0.01)
    assert np.ptp(run.q[:, 0]) > 5.0
    assert run.status == "finished"
