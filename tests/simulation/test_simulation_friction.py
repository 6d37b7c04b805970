"""Coulomb friction of contacts: sticking, sliding, stopping, turning, and what friction takes from the energy."""

import numpy as np
import pytest

from mechanisms import relative_error
from zveno.algorithms.constraints import slip_direction
from zveno.mechanism import Frame, Free, Joint, Link, Prismatic, Revolute, assemble
from zveno.robot import Robot
from zveno.simulation import GroundContact, simulate
from zveno.simulation.watches import TURNED
from zveno.spatial import inertia
from zveno.spatial.rotations import to_quaternion, z_to
from zveno.spatial.transforms import transform

G = 9.81
MASS = 3.0


def sliding_point() -> Robot:
    """A point mass free to move along three axes."""
    links = [Link("ground"), Link("x"), Link("y"), Link("point", inertia.parameters(MASS, np.zeros(3), np.eye(3)))]
    axes = np.eye(3)
    joints = [
        Joint(name, links[k].name, links[k + 1].name, Prismatic(tuple(axes[k]))) for k, name in enumerate("xyz")
    ]
    return Robot(assemble("point", links, joints))


def block() -> Robot:
    """A free block with a foot at each lower corner."""
    body = inertia.parameters(MASS, np.zeros(3), np.diag([0.05, 0.08, 0.1]))
    corners = [
        Frame(f"corner{k}", "block", transform(None, [x, y, -0.05]))
        for k, (x, y) in enumerate(((0.2, 0.1), (-0.2, 0.1), (-0.2, -0.1), (0.2, -0.1)))
    ]
    joints = [Joint("free", "ground", "block", Free())]
    return Robot(assemble("block", [Link("ground"), Link("block", body)], joints, corners))


def on_incline(angle: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(normal, q of the block on it, direction downhill) of an incline that falls along x."""
    normal = np.array([np.sin(angle), 0.0, np.cos(angle)])
    R = z_to(normal)
    return normal, np.concatenate([0.05 * normal, to_quaternion(R)]), np.array([np.cos(angle), 0, -np.sin(angle)])


@pytest.mark.parametrize(("mu", "integrator"), [(0.3, "dop853"), (0.8, "rk4")])
def test_block_on_an_incline(mu, integrator):
    """It stays below atan μ, and slides with g (sin − μ cos) above; four corners are redundant all along."""
    robot = block()
    for angle, slides in ((np.arctan(mu) - 0.02, False), (np.arctan(mu) + 0.02, True)):
        normal, q, down = on_incline(angle)
        feet = [GroundContact(f"corner{k}", normal=tuple(normal), friction=mu) for k in range(4)]
        run = simulate(robot, q, duration=0.5, constraints=feet, integrator=integrator, step=5e-3, sample=0.05)
        assert run.finished, run.status
        gone = (run.q[:, :3] - run.q[0, :3]) @ down
        a = G * (np.sin(angle) - mu * np.cos(angle)) if slides else 0.0
        assert abs(gone - 0.5 * a * run.t**2).max() < 1e-7
        assert run.energy_drift < 1e-6
        N = run.reactions[:, ::3].sum(axis=1)
        assert relative_error(N, np.full(len(N), MASS * G * np.cos(angle))) < 1e-6
        if slides:
            assert {one.what for one in run.events} == {"slips"}
            # What friction took is its force over the way.
            assert run.work[-1] == pytest.approx(-mu * MASS * G * np.cos(angle) * gone[-1], rel=1e-6)


@pytest.mark.parametrize("integrator", ["dop853", "rk4", "lsoda", "adams"])
def test_point_slides_to_a_stop(integrator):
    """A point thrown along the ground stops after v/(μ g), has gone v²/(2 μ g), and stays."""
    mu, v = 0.4, np.array([0.6, 0.8])
    run = simulate(
        sliding_point(),
        np.zeros(3),
        [*v, 0.0],
        duration=0.5,
        constraints=[GroundContact("point", friction=mu)],
        integrator=integrator,
        step=2e-3,
        rtol=1e-8,
    )
    assert run.finished, run.status
    (stop,) = run.events
    assert stop.what == "sticks"
    assert stop.t == pytest.approx(1.0 / (mu * G), abs=1e-5)
    assert relative_error(run.q[-1, :2], v / (2 * mu * G)) < 1e-6
    assert run.kinetic[-1] < 1e-15
    assert run.work[-1] == pytest.approx(-0.5 * MASS, rel=1e-8)
    sliding = run.t < stop.t - 1e-2
    T = run.reactions[sliding, 1:]
    assert relative_error(np.hypot(*T.T), np.full(len(T), mu * MASS * G)) < 1e-9
    power = np.einsum("ij,ij->i", run.v[sliding, :2], _world_tangents(T))
    assert relative_error(power, -mu * MASS * G * np.hypot(*run.v[sliding, :2].T)) < 1e-9
    assert abs(run.reactions[run.t > stop.t + 1e-2, 1:]).max() < 1e-6


@pytest.mark.parametrize("rtol", [1e-3, 1e-6, 1e-10])
def test_points_stop_when_they_must_whatever_the_steps(rtol):
    """Steps reach far beyond the stop, where the point would slide back: nothing may turn it aside there."""
    rng = np.random.default_rng(5)
    for _ in range(8):
        mu, speed, angle = rng.uniform(0.05, 1.5), rng.uniform(0.05, 5.0), rng.uniform(-np.pi, np.pi)
        v, stops = speed * np.array([np.cos(angle), np.sin(angle)]), speed / (mu * G)
        contact = GroundContact("point", friction=mu)
        run = simulate(
            sliding_point(),
            np.zeros(3),
            [*v, 0.0],
            1.5 * stops,
            constraints=[contact],
            rtol=rtol,
            integrator="dop853",
        )
        assert [one.what for one in run.events] == ["sticks"]
        assert run.events[0].t == pytest.approx(stops, abs=2.0 * TURNED / (mu * G))
        assert relative_error(run.q[-1, :2], v * stops / 2) < 1e-6


def _world_tangents(T):
    """x and y of the ground's two tangents."""
    return T @ z_to(np.array([0.0, 0.0, 1.0]))[:2, :2].T


def test_point_is_pushed_until_it_slips_and_turns():
    """A force that grows along x: it slips at μ m g. A side force then turns the friction against the motion."""
    mu = 0.5

    def push(t, q, v):
        return np.array([20.0 * t, 8.0 if t > 1.0 else 0.0, 0.0])

    run = simulate(
        sliding_point(),
        np.zeros(3),
        duration=1.5,
        constraints=[GroundContact("point", friction=mu)],
        control=push,
        rtol=1e-8,
        max_step=0.01,
    )
    (slip,) = run.events
    assert slip.what == "slips"
    assert slip.t == pytest.approx(mu * MASS * G / 20.0, abs=1e-6)
    moving = run.t > slip.t + 1e-3
    v = run.v[moving, :2]
    force = np.stack([20.0 * run.t[moving], np.where(run.t[moving] > 1.0, 8.0, 0.0)], axis=1)
    expected = (force - mu * MASS * G * v / np.hypot(*v.T)[:, None]) / MASS
    assert relative_error(run.a[moving, :2], expected) < 1e-6
    assert run.energy_drift < 1e-5


def test_shaken_point_sticks_and_slips_by_turns():
    """Under a sine that exceeds the cone it slips to both sides, stopping twice a period."""
    mu, peak, w = 0.3, 15.0, 10.0
    run = simulate(
        sliding_point(),
        np.zeros(3),
        duration=4 * np.pi / w,
        constraints=[GroundContact("point", friction=mu)],
        control=lambda t, q, v: np.array([peak * np.sin(w * t), 0.0, 0.0]),
        rtol=1e-9,
        max_step=2e-3,
    )
    assert run.finished, run.status
    whats = [one.what for one in run.events]
    assert whats[:4] == ["slips", "sticks", "slips", "sticks"]
    assert run.events[0].t == pytest.approx(np.arcsin(mu * MASS * G / peak) / w, abs=1e-6)
    N, T = run.reactions[:, 0], np.hypot(*run.reactions[:, 1:].T)
    assert (T / N).max() <= mu * (1 + 1e-6)
    assert run.energy_drift < 1e-6


def test_impact_within_the_friction_cone():
    """Thrown onto the ground: a flat throw keeps sliding and loses μ (1 + e) times its normal speed."""
    for e in (0.0, 0.5):
        for along, down, mu in ((2.0, 1.0, 0.3), (0.2, 1.0, 0.5)):
            contact = GroundContact("point", friction=mu, restitution=e)
            q = [0.0, 0.0, 1e-6]
            run = simulate(sliding_point(), q, [along, 0, -down], duration=1e-3, constraints=[contact], rtol=1e-10)
            slowed = max(along - mu * (1 + e) * down, 0.0)
            after = run.v[run.t > 1e-5][0]
            assert after[0] == pytest.approx(slowed, abs=1e-3 * G)
            assert after[2] == pytest.approx(e * down, abs=1e-3 * G + 1e-6)
            assert run.energy_drift < 1e-8


def test_leaning_rod_slides_with_the_equations_of_its_foot():
    """A rod on a rough floor, falling over: stick, then slip as the analytic cone says."""
    length = 1.0
    rod = inertia.parameters(1.0, np.array([length / 2, 0, 0]), np.diag([0.0, 1 / 12, 1 / 12]))
    links = [Link("ground"), Link("slide"), Link("lift"), Link("rod", rod)]
    joints = [
        Joint("x", "ground", "slide", Prismatic((1, 0, 0))),
        Joint("z", "slide", "lift", Prismatic((0, 0, 1))),
        Joint("tilt", "lift", "rod", Revolute((0, -1, 0))),
    ]
    robot = Robot(assemble("rod", links, joints))
    mu, start = 0.35, 1.2
    run = simulate(
        robot,
        [0.0, 0.0, start],
        duration=0.6,
        constraints=[GroundContact("rod", friction=mu)],
        rtol=1e-9,
        sample=1e-3,
    )
    slip = next(one for one in run.events if one.what == "slips")
    # While the foot holds: θ̇² = 3 g (sin θ₀ − sin θ)/l, and N, T follow from the motion of the centre.
    th = run.q[run.t < slip.t, 2]
    w2 = 3 * G * (np.sin(start) - np.sin(th)) / length
    e = -1.5 * G * np.cos(th) / length
    N = G + 0.5 * (e * np.cos(th) - w2 * np.sin(th))
    T = 0.5 * (-e * np.sin(th) - w2 * np.cos(th))
    assert relative_error(run.reactions[run.t < slip.t, 0], N) < 1e-6
    assert (abs(T) < mu * N + 1e-6).all()
    assert abs(T[-1]) == pytest.approx(mu * N[-1], rel=0.02)
    late = run.t > slip.t + 1e-3
    assert relative_error(np.hypot(*run.reactions[late, 1:].T), mu * run.reactions[late, 0]) < 1e-6
    assert run.energy_drift < 1e-6


def test_friction_that_jams_is_said():
    """Painlevé's rod: pushed against its lean with strong friction, pressing down digs it in."""
    rod = inertia.parameters(1.0, np.array([0.5, 0, 0]), np.diag([0.0, 1e-2, 1e-2]))
    links = [Link("ground"), Link("slide"), Link("lift"), Link("rod", rod)]
    joints = [
        Joint("x", "ground", "slide", Prismatic((1, 0, 0))),
        Joint("z", "slide", "lift", Prismatic((0, 0, 1))),
        Joint("tilt", "lift", "rod", Revolute((0, -1, 0))),
    ]
    robot = Robot(assemble("rod", links, joints))
    run = simulate(
        robot, [0.0, 0.0, 2.2], [1.0, 0, 0], duration=0.2, constraints=[GroundContact("rod", friction=3.0)]
    )
    assert not run.finished
    assert "jams" in run.status
    assert "GroundContact(rod)" in run.status


def test_direction_near_rest_is_the_remembered_one():
    s = np.array([0.6, 0.8])
    assert slip_direction([0.0, 0.0], s, 1e-5) == pytest.approx(s)
    assert slip_direction(-1e-8 * s, s, 1e-5) == pytest.approx(s)
    assert slip_direction([3.0, 4.0], s, 1e-5) == pytest.approx(s)
    assert slip_direction([4.0, 3.0], s, 1e-5) == pytest.approx([0.8, 0.6])
    assert slip_direction([0.0, 0.0], np.zeros(2), 0.0) == (0.0, 0.0)
