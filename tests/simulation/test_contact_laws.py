"""Coulomb's law, impacts and stops by time stepping against closed forms: to first order in the step."""

import math

import numpy as np
import pytest
from scipy.integrate import quad
from stepped import SIZE, G, box, stepped

import zveno
from mechanisms import random_mechanism, random_state
from zveno import simulation
from zveno.mechanism import Frame, Free, Joint, Link, Prismatic, Revolute, assemble
from zveno.robot import Robot
from zveno.simulation import BallJoint, Weld, impact
from zveno.spatial import inertia
from zveno.spatial.rotations import exp, to_quaternion, z_to
from zveno.spatial.transforms import transform

MASS = 3.0
SETTLED = 1e-5
"""Share of the weight to which sweeps find every force (`stepping.TOLERANCE`)."""


def sliding_point() -> Robot:
    """A point mass free to move along three axes."""
    links = [Link("ground"), Link("x"), Link("y"), Link("point", inertia.parameters(MASS, np.zeros(3), np.eye(3)))]
    axes = np.eye(3)
    joints = [
        Joint(name, links[k].name, links[k + 1].name, Prismatic(tuple(axes[k]))) for k, name in enumerate("xyz")
    ]
    return Robot(assemble("point", links, joints))


def low_block(rng: np.random.Generator) -> tuple[Robot, float]:
    """(a free block on four corners of a random quadrangle, height of its centre of mass over them)."""
    mass, height, size = rng.uniform(0.5, 5.0), rng.uniform(0.02, 0.1), rng.uniform(0.15, 0.3, 2)
    body = inertia.parameters(mass, np.zeros(3), mass * np.diag(rng.uniform(0.01, 0.02, 3)))
    quadrants = np.array([(1, 1), (-1, 1), (-1, -1), (1, -1)])
    corners = quadrants * size * rng.uniform(0.7, 1.3, (4, 2))
    frames = [Frame(f"corner{k}", "block", transform(None, [*corner, -height])) for k, corner in enumerate(corners)]
    links = [Link("ground"), Link("block", body)]
    return Robot(assemble("block", links, [Joint("free", "ground", "block", Free())], frames)), height


def feet_on(normal, mu: float) -> list[simulation.Contact]:
    """Contacts of the block's corners with a plane."""
    ground = simulation.GroundPlane(tuple(normal))
    return [simulation.Contact(f"corner{k}", ground=ground, friction=mu) for k in range(4)]


def stop(speed: float, heading: float, slope: float, mu: float) -> tuple[float, float, float]:
    """(time to rest, way downhill, way across) of a block launched at an angle `heading` from downhill.

    Its friction acts in the plane of the corners along its velocity, so that the pressure moves along the velocity
    too and the block does not turn. With φ the angle of the velocity from downhill and k = μ / tan(slope),
    v = C tan(φ/2)ᵏ / sin φ, and v cos φ + k v falls steadily.
    """
    down, k = G * np.sin(slope), mu / np.tan(slope)
    time = speed * (np.cos(heading) + k) / (down * (k * k - 1.0))
    if heading in (0.0, np.pi):
        return time, np.cos(heading) * 0.5 * speed * time, 0.0

    def element(phi, part):
        v = speed * np.sin(heading) * (np.tan(phi / 2) / np.tan(heading / 2)) ** k / np.sin(phi)
        return v * v * part(phi) / (down * np.sin(phi))

    ways = [quad(element, 0.0, heading, part, epsabs=1e-13, epsrel=1e-12)[0] for part in (np.cos, np.sin)]
    return time, ways[0], ways[1]


def launched(height: float, slope: float, turn: float, velocity) -> tuple:
    """(normal of the slope, (q, v) of the block on it turned about the normal, directions downhill and across)."""
    normal = np.array([np.sin(slope), 0.0, np.cos(slope)])
    down = np.array([np.cos(slope), 0.0, -np.sin(slope)])
    axes = np.stack([down, np.cross(normal, down)])
    R = z_to(normal) @ exp(np.array([0.0, 0.0, turn]))
    q = np.concatenate([height * normal, to_quaternion(R)])
    return normal, (q, np.concatenate([R.T @ (np.asarray(velocity) @ axes), np.zeros(3)])), axes


@pytest.mark.laws
@pytest.mark.parametrize("direction", ["downhill", "uphill", "sideways"])
def test_a_launched_block_stops_when_and_where_it_must(direction):
    """Up to two steps late; the way is off by less than that of one step, half as much with half the step."""
    rng = np.random.default_rng(len(direction))
    robot, height = low_block(rng)
    mu = rng.uniform(0.1, 0.9)
    slope = np.arctan(mu) * rng.uniform(0.1, 0.9)
    speed = rng.uniform(0.2, 1.5)
    heading = {"downhill": 0.0, "uphill": np.pi, "sideways": rng.uniform(0.2, 2.9)}[direction]
    velocity = speed * np.array([np.cos(heading), np.sin(heading)])
    normal, state, axes = launched(height, slope, rng.uniform(-np.pi, np.pi), velocity)
    time, *way = stop(speed, heading, slope, mu)
    errors = []
    for step in (2e-3, 1e-3):
        run = stepped(robot, *state, 1.2 * time + 0.05, constraints=feet_on(normal, mu), step=step)
        moving = run.t[abs(run.v).max(axis=1) > 1e-4 * speed]
        assert moving[-1] == pytest.approx(time, abs=2 * step)
        errors.append(np.linalg.norm(axes @ (run.q[-1, :3] - run.q[0, :3]) - way))
        assert errors[-1] < speed * step
        assert abs(run.v[-1]).max() < 1e-9
    assert errors[1] == pytest.approx(0.5 * errors[0], rel=0.1)


@pytest.mark.laws
@pytest.mark.parametrize("seed", range(3))
def test_a_block_on_a_steep_slope_turns_at_the_top_and_slides_on(seed):
    """Launched uphill where friction cannot hold it: it comes down more slowly."""
    rng = np.random.default_rng(seed)
    robot, height = low_block(rng)
    mu, step = rng.uniform(0.1, 0.5), 1e-3
    slope, speed = np.arctan(mu) + rng.uniform(0.1, 0.5), rng.uniform(0.5, 1.5)
    normal, state, axes = launched(height, slope, 1.0, (-speed, 0.0))
    up, down = (G * (np.sin(slope) + sign * mu * np.cos(slope)) for sign in (1.0, -1.0))
    run = stepped(robot, *state, speed / up + 0.3, constraints=feet_on(normal, mu), sample_time=0.02, step=step)
    way = axes @ (run.q[-1, :3] - run.q[0, :3])
    assert way == pytest.approx([-(speed**2) / (2 * up) + 0.5 * down * 0.3**2, 0.0], abs=speed * step)


@pytest.mark.laws
@pytest.mark.parametrize("seed", range(2))
def test_a_block_begins_to_slide_at_the_edge_of_friction(seed):
    """Under a weight that turns slowly it slips at atan μ, in the direction of the weight."""
    rng = np.random.default_rng(seed)
    robot, height = low_block(rng)
    robot = robot.with_gravity((0.0, 0.0, 0.0))
    mu, heading = rng.uniform(0.2, 0.8), rng.uniform(-np.pi, np.pi)
    mass, edge, step = float(robot.mass_matrix(robot.neutral())[0, 0]), float(np.arctan(mu)), 1e-3
    along = np.array([np.cos(heading), np.sin(heading)])

    def weight(t, q, v):
        angle = edge + 0.1 * (t - 0.2)
        return mass * G * np.array([*(np.sin(angle) * along), -np.cos(angle), 0.0, 0.0, 0.0])

    q = robot.neutral()
    q[2] = height
    run = stepped(robot, q, duration=0.3, constraints=feet_on((0, 0, 1), mu), control=weight, step=step)
    v = run.v[:, :2] @ along
    # Beyond the edge it gains g (sin − μ cos) ≈ 0.1 g (t − 0.2)/cos of it a second.
    gained = 0.5 * 0.1 * G * np.maximum(run.t - 0.2, 0.0) ** 2 / np.cos(edge)
    assert abs(v - gained).max() < 0.1 * G * step
    assert abs(v[run.t < 0.2 - step]).max() < 100 * SETTLED * G * step
    assert run.v[-1, :2] / np.hypot(*run.v[-1, :2]) == pytest.approx(along, abs=1e-4)
    assert abs(run.v[-1, 2:]).max() < 1e-4


def test_a_point_slides_to_a_stop():
    """Thrown along the ground it stops after v/(μ g) and v²/(2 μ g); friction is μ N against the motion."""
    mu, v, step = 0.4, np.array([0.6, 0.8]), 1e-3
    contact = simulation.Contact("point", friction=mu)
    run = stepped(sliding_point(), np.zeros(3), [*v, 0.0], 0.5, constraints=[contact], step=step)
    stops = 1.0 / (mu * G)
    assert np.linalg.norm(run.q[-1, :2] - v * stops / 2) < step
    assert run.kinetic[-1] < 1e-15
    assert run.work[-1] == pytest.approx(-0.5 * MASS, rel=1e-8)
    sliding = (run.t > 0) & (run.t < stops - step)
    T = run.reactions[sliding, 1:] @ z_to(np.array([0.0, 0.0, 1.0]))[:2, :2].T
    expected = -mu * MASS * G * run.v[sliding, :2] / np.hypot(*run.v[sliding, :2].T)[:, None]
    assert abs(T - expected).max() < 1e-4 * MASS * G
    assert abs(run.reactions[run.t > stops + 2 * step, 1:]).max() < 1e-4 * MASS * G


def test_a_shaken_point_sticks_and_slips_within_the_cone():
    """Under a sine that exceeds the cone it slips to both sides and rests in between."""
    mu, peak, w, step = 0.3, 15.0, 10.0, 5e-4
    run = stepped(
        sliding_point(),
        np.zeros(3),
        duration=4 * np.pi / w,
        constraints=[simulation.Contact("point", friction=mu)],
        control=simulation.Traced(lambda t, q, v: np.array([peak * zveno.ops.sin(w * t), 0.0, 0.0])),
        step=step,
    )
    N, T = run.reactions[1:, 0], np.hypot(*run.reactions[1:, 1:].T)
    assert (mu * N - T).min() > -1e-9 * MASS * G
    resting = abs(run.v[:, 0]) < 1e-6
    changes = np.flatnonzero(np.diff(resting.astype(int)))
    assert len(changes) >= 4
    assert run.t[changes[0]] == pytest.approx(np.arcsin(mu * MASS * G / peak) / w, abs=2 * step)
    sides = np.sign(run.v[~resting, 0])
    assert {-1.0, 1.0} == set(sides.tolist())


@pytest.mark.parametrize("restitution", [0.0, 0.5])
@pytest.mark.parametrize(("along", "down", "mu"), [(2.0, 1.0, 0.3), (0.2, 1.0, 0.5)])
def test_an_impact_stays_within_the_friction_cone(restitution, along, down, mu):
    """Thrown onto the ground: a flat throw keeps sliding and loses μ (1 + e) times its normal speed."""
    step = 1e-4
    contact = simulation.Contact("point", friction=mu, restitution=restitution)
    run = stepped(
        sliding_point(), [0, 0, 0.5 * step], [along, 0, -down], 5 * step, constraints=[contact], step=step
    )
    slowed = max(along - mu * (1 + restitution) * down, 0.0)
    assert run.v[-1, 0] == pytest.approx(slowed, abs=10 * G * step)
    assert run.v[-1, 2] == pytest.approx(restitution * down, abs=10 * G * step)


def test_a_contact_opens_when_the_ground_would_have_to_pull():
    """A mass that is pulled up by a force which grows leaves when the force exceeds its weight."""
    step, pull = 1e-3, 40.0
    run = stepped(
        sliding_point(),
        np.zeros(3),
        duration=1.0,
        constraints=[simulation.Contact("point", friction=0.5)],
        control=simulation.Traced(lambda t, q, v: np.array([0.0, 0.0, pull * t])),
        step=step,
    )
    weight = MASS * G
    opens = weight / pull
    before, after = (run.t > 0) & (run.t < opens), run.t > opens + 2 * step
    assert abs(run.reactions[before, 0] - (weight - pull * run.t[before])).max() < 1.5 * pull * step
    assert not run.reactions[after].any()
    late = run.t[-1] - opens
    assert run.q[-1, 2] == pytest.approx(pull * late**3 / (6 * MASS), abs=pull * late**2 / MASS * step)


def test_a_leaning_rod_slips_when_its_foot_leaves_the_cone():
    """A rod that falls over on a rough floor: forces of the foot while it holds, and when it slips."""
    rod = inertia.parameters(1.0, np.array([0.5, 0, 0]), np.diag([0.0, 1 / 12, 1 / 12]))
    links = [Link("ground"), Link("slide"), Link("lift"), Link("rod", rod)]
    joints = [
        Joint("x", "ground", "slide", Prismatic((1, 0, 0))),
        Joint("z", "slide", "lift", Prismatic((0, 0, 1))),
        Joint("tilt", "lift", "rod", Revolute((0, -1, 0))),
    ]
    robot = Robot(assemble("rod", links, joints))
    mu, start = 0.35, 1.2

    def error(step: float) -> float:
        contact = simulation.Contact("rod", friction=mu)
        run = stepped(robot, [0.0, 0.0, start], duration=0.6, constraints=[contact], step=step)
        slips = int(np.argmax(abs(run.v[:, 0]) > 1e-4))
        # While the foot holds: θ̇² = 3 g (sin θ₀ − sin θ), and N, T follow from the motion of the centre.
        th = run.q[1:slips, 2]
        w2, e = 3 * G * (np.sin(start) - np.sin(th)), -1.5 * G * np.cos(th)
        N, T = G + 0.5 * (e * np.cos(th) - w2 * np.sin(th)), 0.5 * (-e * np.sin(th) - w2 * np.cos(th))
        assert (abs(T) < mu * N + 30 * G * step).all()
        assert abs(T[-1]) == pytest.approx(mu * N[-1], abs=30 * G * step)
        late = run.reactions[slips + 2 :][abs(run.v[slips + 2 :, 0]) > G * step]  # it turns back later
        assert abs(np.hypot(*late[:, 1:].T) - mu * late[:, 0]).max() < 1e-4 * G
        return float(abs(run.reactions[1:slips, 0] - N).max())

    coarse, fine = error(1e-3), error(5e-4)
    assert coarse < 30 * G * 1e-3
    assert fine < 0.6 * coarse


def test_infinite_friction_never_slides():
    contact = simulation.Contact("point", friction=math.inf)
    run = stepped(sliding_point(), np.zeros(3), duration=0.2, constraints=[contact], control=[1e4, 0.0, 0.0])
    assert abs(run.q[:, :2]).max() < 1e-6
    assert abs(run.reactions[-1, 1:]).max() == pytest.approx(1e4, rel=1e-5)


@pytest.mark.laws
@pytest.mark.parametrize("seed", range(3))
def test_bouncing_boxes_lose_energy(seed):
    """Restitution and friction together add no energy beyond that of a step of free fall."""
    rng, step = np.random.default_rng(seed), 1e-3
    contact = simulation.Contact("b", simulation.Box(SIZE), friction=0.5, restitution=0.6)
    q = np.concatenate([[0, 0, 0.6], to_quaternion(exp(rng.uniform(-0.3, 0.3, 3)))])
    run = stepped(box(), q, rng.uniform(-1, 1, 6), 1.0, constraints=[contact], step=step)
    assert run.v[:, :3].max() > 0.1
    assert np.diff(run.energy).max() < 1e-3 * run.energy[0]
    assert run.energy[-1] < 0.7 * run.energy[0]


@pytest.mark.laws(after=2)
@pytest.mark.parametrize("seed", range(6))
def test_impacts_of_constraints_stop_their_rows_and_take_energy(seed):
    """M (v⁺ − v⁻) = Jᵀ Λ, J v⁺ = 0, also where rows say the same twice, for a batch."""
    robot = Robot(random_mechanism(seed, n=5, mimic=0.0))
    constraints = [BallJoint("tool"), Weld("tool", name="again")] if seed % 2 else [BallJoint("tool")]
    states = [random_state(robot.mechanism, 10 * seed + k)[:2] for k in range(3)]
    q, v = (np.array(x) for x in zip(*states, strict=True))
    hit = impact(robot, q, v, constraints)
    for k in range(3):
        J = simulation.evaluate_constraints(robot, q[k], v[k], constraints).J
        M = robot.mass_matrix(q[k])
        scale = 1.0 + abs(J @ v[k]).max()
        assert abs(J @ hit.v[k]).max() < 1e-8 * scale
        assert abs(M @ (hit.v[k] - v[k]) - J.T @ hit.impulses[k]).max() < 1e-8 * (1.0 + abs(M @ v[k]).max())
        change = 0.5 * hit.v[k] @ M @ hit.v[k] - 0.5 * v[k] @ M @ v[k]
        assert hit.energy[k] == pytest.approx(change, rel=1e-6, abs=1e-9 * v[k] @ M @ v[k])
        assert hit.energy[k] <= 0
        again = impact(robot, q[k], hit.v[k], constraints)
        assert abs(again.v - hit.v[k]).max() < 1e-7 * scale
