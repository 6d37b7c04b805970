"""Motion without constraints: fixtures of document 002, orders, conservation laws, batches, quaternions."""

import numpy as np
import pytest
from reproduction.separate_bodies import drift_range

import zveno
from mechanisms import random_mechanism, random_state, relative_error
from zveno import simulation
from zveno.errors import ShapeError, ZvenoError
from zveno.kernels import ops as zm
from zveno.robot import Robot
from zveno.simulation import DOP853, RK4, Event, TimeStepping, Traced
from zveno.simulation._dop853 import Dop853
from zveno.simulation.simulate import simulate
from zveno.spatial.rotations import about_axis_by
from zveno.spatial.transforms import transform


@pytest.fixture(scope="module")
def chain():
    return zveno.load("chain(10)")


def bent(robot):
    q = np.zeros(robot.n_q)
    q[0] = -1.0
    return q


def test_document_002_states(chain):
    run = simulate(chain, bent(chain), duration=2.0, integrator=DOP853(1e-11, atol=1e-13), sample_time=1.0)
    assert run.energy[0] == pytest.approx(-41.2741518048, abs=1e-10)
    assert run.a[0, :3] == pytest.approx([-67.2059430825, 85.2137212612, -22.832947811], abs=1e-9)
    assert run.q[1, [0, 1, 9]] == pytest.approx([-2.00569708643, -0.0252592468, 0.0066548482], abs=1e-8)
    assert run.q[2, [0, 1, 9]] == pytest.approx([-1.40104663514, 0.0215159135, 0.1059134577], abs=1e-8)
    assert run.finished


@pytest.mark.laws(after=2)
@pytest.mark.parametrize(("rtol", "drift"), [(1e-3, 1.2e-4), (1e-6, 3.6e-8), (1e-10, 1.8e-12)])
def test_document_002_energy_drift(chain, rtol, drift):
    """A printed drift of two figures lies in the range that roundings of the start alone bring about."""
    low, high = drift_range(chain, bent(chain), rtol)
    assert 0.95 * low <= drift <= 1.05 * high
    assert simulate(chain, bent(chain), duration=10.0, integrator=DOP853(rtol)).energy_drift < 2 * drift + 1e-12


@pytest.mark.laws
def test_drift_scatters_as_that_of_scipys_steps(chain, monkeypatch):
    """Seven runs a side, whose drifts scatter by a tenth at rtol 1e-3: the middles of their ranges agree within the
    greater width (three standard errors), and one is no wider than four times the other (once in a thousand).
    """
    ours = drift_range(chain, bent(chain), 1e-3)
    with monkeypatch.context() as patch:
        patch.setattr(Dop853, "_compiled_steps", lambda self, count: None)
        scipys = drift_range(chain, bent(chain), 1e-3)
    assert ours != scipys
    widths = sorted(high - low for low, high in (ours, scipys))
    assert widths[1] < 4.0 * widths[0]
    assert widths[1] < 0.6 * sum(ours) / 2  # six standard deviations, so that the range says something
    assert abs(sum(ours) - sum(scipys)) / 2 < widths[1]


@pytest.mark.laws
def test_order_of_fixed_steps():
    """Every joint type with a quaternion moves along; halving the step divides the error by 2⁴."""
    robot = Robot(random_mechanism(3, n=4, kinds=("spherical", "free", "revolute", "universal"), mimic=0.0))
    q, v, _ = random_state(robot.mechanism, 1)
    exact = simulate(robot, q, 0.5 * v, 0.4, integrator=DOP853(1e-12, atol=1e-13), sample_time=0.4)
    errors = []
    for step in (0.4 / 32, 0.4 / 64, 0.4 / 128):
        run = simulate(robot, q, 0.5 * v, 0.4, integrator=RK4(step))
        errors.append(np.linalg.norm(robot.difference(exact.q[-1], run.q[-1])))
    measured = np.log2(np.array(errors[:-1]) / errors[1:])
    assert measured == pytest.approx(4, abs=0.35)


@pytest.mark.laws
def test_quaternions_stay_on_the_sphere():
    robot = Robot(random_mechanism(4, n=5, kinds=("free", "spherical", "revolute"), mimic=0.0))
    q, v, _ = random_state(robot.mechanism, 2)
    for integrator in (RK4, DOP853):
        run = simulate(robot, q, v, 1.0, integrator=integrator())
        for name in robot.joint_names:
            part = run.q[:, robot.mechanism.q_slices[name]]
            assert np.max(robot.mechanism.joint(name).type.quaternion_error(part)) < 1e-14


@pytest.mark.laws
def test_free_machine_conserves_momentum_and_energy():
    robot = Robot(random_mechanism(9, n=5, mimic=0.0)).with_base("free").with_gravity((0.0, 0.0, 0.0))
    rng = np.random.default_rng(0)
    q = robot.random(rng=rng)
    run = simulate(robot, q, rng.normal(size=robot.n_v), 2.0, integrator=DOP853(1e-10))
    momentum = robot.momentum(run.q, run.v)
    assert relative_error(momentum, np.broadcast_to(momentum[0], momentum.shape)) < 1e-8
    assert run.energy_drift < 1e-8


@pytest.mark.laws
def test_falling_centre_of_mass_is_a_parabola():
    robot = zveno.load("quadruped")
    rng = np.random.default_rng(1)
    run = simulate(robot, robot.random(rng=rng), 0.5 * rng.normal(size=robot.n_v), 0.5, integrator=RK4())
    c = robot.center_of_mass(run.q)
    p0 = robot.momentum(run.q[0], run.v[0])[:3] / sum(link.inertia[0] for link in robot.mechanism.links)
    t = run.t[:, None]
    assert relative_error(c, c[0] + p0 * t + 0.5 * robot.mechanism.gravity * t**2) < 1e-9


def test_batch_equals_singles():
    robot = Robot(random_mechanism(6, n=6, mimic=0.0))
    rng = np.random.default_rng(3)
    q, v = robot.random((2, 3), rng), 0.3 * rng.normal(size=(2, 3, robot.n_v))
    together = simulate(robot, q, v, 0.1, integrator=RK4(), sample_time=0.02)
    assert together.q.shape == (2, 3, 6, robot.n_q)
    for i in np.ndindex(2, 3):
        alone = simulate(robot, q[i], v[i], 0.1, integrator=RK4(), sample_time=0.02)
        for key in ("q", "v", "a", "kinetic", "potential"):
            assert relative_error(getattr(together, key)[i], getattr(alone, key)) < 1e-12


def test_chained_steps_equal_single_steps():
    """Where several steps are chained in one kernel the samples are the same."""
    robot = zveno.load("chain(2)")
    fine = simulate(robot, [0.3, 0.2], duration=0.2, integrator=RK4(1e-2))
    coarse = simulate(robot, [0.3, 0.2], duration=0.2, integrator=RK4(1e-2), sample_time=4e-2)
    assert relative_error(fine.q[::4], coarse.q) < 1e-13


def test_moving_base_equals_the_same_robot_on_prescribed_joints():
    """A pendulum whose base is shaken along x and turned about z, against the equations of a longer chain."""
    robot = zveno.Robot(random_mechanism(8, n=3, kinds=("revolute",), mimic=0.0, branching=0.0))

    def pose(t):
        return transform(
            about_axis_by(np.array([0.0, 0.0, 1.0]), 0.7 * zm.sin(2.0 * t)),
            np.array([0.2 * zm.sin(3.0 * t), 0.0, 0.1 * t]),
        )

    run = simulate(robot, robot.neutral(), duration=0.6, base_motion=pose, integrator=DOP853(1e-10))
    # The same motion of a free base, its acceleration prescribed: accelerations of the joints agree.
    free = robot.with_base("free")
    k = 300
    t, h = run.t[k], 1e-5
    T = [pose(t + s * h) for s in (-1, 0, 1)]
    from zveno.spatial.rotations import to_quaternion

    def coordinates(T, q):
        return np.concatenate([T[:3, 3], to_quaternion(T[:3, :3]), q])

    q = coordinates(T[1], run.q[k])
    twists = [free.difference(q, coordinates(T[i], run.q[k]))[:6] / h for i in (0, 2)]
    v = np.concatenate([0.5 * (twists[1] - twists[0]), run.v[k]])

    # d/dt of the body twist by differences of the twist at two times
    def twist(s):
        a, b = coordinates(pose(s - h), run.q[k]), coordinates(pose(s + h), run.q[k])
        return free.difference(a, b)[:6] / (2 * h)

    rate = (twist(t + 1e-4) - twist(t - 1e-4)) / 2e-4
    a = np.concatenate([rate, run.a[k]])
    tau = free.inverse_dynamics(q, v, a)[6:]
    assert abs(tau).max() < 1e-4  # differences of differences; the forces themselves are of order 10
    assert abs(run.a[k]).max() > 0.1


@pytest.mark.parametrize("integrator", [DOP853, RK4])
def test_user_events_are_located(chain, integrator):
    run = simulate(
        chain,
        bent(chain),
        duration=2.0,
        integrator=integrator(),
        sample_time=0.4,
        events=[
            Event(lambda t, q, v: v[0], "turns", direction=1),
            Event(lambda t, q, v: t - 1.5, "end", terminal=True),
        ],
    )
    assert [one.name for one in run.events][-1] == "end"
    assert run.events[-1].t == pytest.approx(1.5, abs=1e-9)
    assert "event end" in run.reason
    assert run.t[-1] == pytest.approx(1.5)
    turn = next(one for one in run.events if one.name == "turns")
    exact = simulate(chain, bent(chain), duration=turn.t, integrator=DOP853(1e-10))
    assert abs(exact.v[-1, 0]) < 1e-4


def test_traced_controller_equals_called_one():
    robot = zveno.load("ur5")
    q = robot.random(rng=4)

    def law(t, q, v):
        return -5.0 * q - 0.05 * v + 3.0 * zm.sin(4.0 * t)

    results = [
        simulate(robot, q, duration=0.3, control=control, integrator=integrator())
        for control in (law, Traced(law))
        for integrator in (RK4, DOP853)
    ]
    for run in results[1:]:
        assert relative_error(run.q[-1], results[0].q[-1]) < 1e-6
        assert relative_error(run.tau[-1], results[0].tau[-1]) < 1e-5
    assert all(run.energy_drift < 1e-4 for run in results[1::2])
    assert abs(results[0].work).max() > 1.0


@pytest.mark.laws
def test_energy_balance_counts_friction():
    robot = Robot(random_mechanism(11, n=4, kinds=("revolute",), drives=True, mimic=0.0))
    q, v, _ = random_state(robot.mechanism, 3)
    run = simulate(robot, q, v, 0.5, joint_friction=True, integrator=DOP853(1e-8), control=lambda t, q, v: -v)
    assert run.energy_drift < 1e-6 * abs(run.work).max() + 1e-8
    assert run.work[-1] < 0


# --- bad input


def test_bad_states_and_times(chain):
    q = bent(chain)
    with pytest.raises(ShapeError, match="must have 10 numbers"):
        simulate(chain, q[:5])
    with pytest.raises(ZvenoError, match=r"q0: is nan at \[3\]"):
        simulate(chain, np.where(np.arange(10) == 3, np.nan, q))
    for name, value in (
        ("duration", -1.0),
        ("duration", np.nan),
        ("sample_time", -1.0),
        ("integrator", "euler"),
    ):
        with pytest.raises(ZvenoError, match=name):
            simulate(chain, q, **{"duration": 1.0, name: value})
    for kind, options in (
        (RK4, {"step": 0.0}),
        (DOP853, {"rtol": 0.0}),
        (DOP853, {"atol": -1.0}),
        (TimeStepping, {"step": np.nan}),
    ):
        with pytest.raises(ZvenoError, match=next(iter(options))):
            kind(**options)
    with pytest.raises(ZvenoError, match="one state"):
        simulate(chain, np.stack([q, q]), integrator=DOP853())
    robot = zveno.load("quadruped")
    with pytest.raises(ShapeError, match="must have unit length"):
        simulate(robot, np.where(np.arange(robot.n_q) == 3, 1.1, robot.neutral()))


def test_massless_machines_are_refused():
    with pytest.raises(ZvenoError, match="singular"):
        simulate(zveno.load("ur5").with_base("free"), zveno.load("ur5").with_base("free").neutral())


def test_zero_duration_is_one_sample(chain):
    for integrator in (RK4, DOP853):
        run = simulate(chain, bent(chain), duration=0.0, integrator=integrator())
        assert run.t.tolist() == [0.0]
        assert run.finished
        assert "zero duration" in run.reason


def test_control_that_is_not_a_number_stops_the_run(chain):
    def control(t, q, v):
        tau = np.zeros(10)
        tau[4] = np.nan if t > 0.25 else 0.1
        return tau

    for integrator in (RK4, DOP853):
        run = simulate(chain, bent(chain), duration=1.0, control=control, integrator=integrator())
        assert not run.finished
        assert "joint5" in run.reason
        assert "t = 0.2" in run.reason or "t = 0.3" in run.reason
        assert 0.1 < run.t[-1] <= 0.3
        assert np.isfinite(run.q).all()
    with pytest.raises(ShapeError, match="10 torques"):
        simulate(chain, bent(chain), control=lambda t, q, v: np.zeros(3))


def test_exploding_step_keeps_what_was_computed(chain):
    run = simulate(chain, bent(chain), 1e3 * np.ones(10), duration=5.0, integrator=RK4(0.05))
    assert not run.finished
    assert "the step is too large" in run.reason
    assert 1 <= len(run.t) < 101
    assert np.isfinite(run.q).all()
    two = zveno.load("chain(2)")
    v = np.zeros((3, 2))
    v[1] = 1e3
    runs = simulate(two, np.zeros((3, 2)), v, duration=0.5, integrator=RK4(0.02))
    assert runs.status.tolist() == ["finished", "diverged", "finished"]
    assert np.isfinite(runs.q[[0, 2]]).all()


def test_saving(chain, tmp_path):
    run = simulate(chain, bent(chain), duration=0.1, sample_time=0.01)
    again = simulation.Trajectory.load(run.save(tmp_path / "run.npz"))
    same = zveno.load_result(run.save(tmp_path / "run.json"))
    for other in (again, same):
        assert np.array_equal(other.q, run.q)
        assert other.status == run.status
        assert other.joint_names == run.joint_names
    lines = run.save(tmp_path / "run.csv").read_text().splitlines()
    assert lines[0].startswith("t (s),q.joint1 (rad),")
    assert len(lines) == len(run.t) + 1
    assert float(lines[-1].split(",")[1]) == run.q[-1, 0]
    with pytest.raises(ZvenoError, match=r"\.npz"):
        run.save(tmp_path / "run.xyz")
    with pytest.raises(ZvenoError, match="cannot be read"):
        simulation.Trajectory.load(tmp_path / "missing.npz")
    assert "energy error" in run.summary


def test_parquet_holds_the_columns_of_the_csv(chain, tmp_path):
    polars = pytest.importorskip("polars", reason="the extra [identify] is not installed")
    run = simulate(chain, np.zeros(chain.n_q), duration=0.01)
    table = polars.read_parquet(run.save(tmp_path / "run.parquet"))
    assert np.array_equal(table["t (s)"].to_numpy(), run.t)
    header = run.save(tmp_path / "run.csv").read_text().splitlines()[0]
    assert ",".join(table.columns) == header
    with pytest.raises(ZvenoError, match="cannot be written"):
        run.save(tmp_path / "missing" / "run.parquet")
