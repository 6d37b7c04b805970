"""Blocks on four corners on inclines: they stop when and where they must, and nothing else happens meanwhile."""

import numpy as np
import pytest
from scipy.integrate import quad

from slowly import rest_slow
from zveno.mechanism import Frame, Free, Joint, Link, assemble
from zveno.robot import Robot
from zveno.simulation import GroundContact, simulate
from zveno.simulation.cones import complementary_pair
from zveno.simulation.coulomb import Contact, contact_reactions
from zveno.spatial import inertia
from zveno.spatial.rotations import exp, to_quaternion, z_to
from zveno.spatial.transforms import transform

G = 9.81
STOP_TIME = 1e-5
"""s: the friction of a contact slower than 0.1 mm/s keeps its direction"""
STOP_PLACE = 1e-6
"""m, with a relative tolerance of 1e-6"""


def low_block(rng: np.random.Generator) -> tuple[Robot, float]:
    """(a free block on four corners of a random quadrangle, height of its centre of mass over them)."""
    mass, height, size = rng.uniform(0.5, 5.0), rng.uniform(0.02, 0.1), rng.uniform(0.15, 0.3, 2)
    body = inertia.parameters(mass, np.zeros(3), mass * np.diag(rng.uniform(0.01, 0.02, 3)))
    quadrants = np.array([(1, 1), (-1, 1), (-1, -1), (1, -1)])
    corners = quadrants * size * rng.uniform(0.7, 1.3, (4, 2))
    frames = [Frame(f"corner{k}", "block", transform(None, [*corner, -height])) for k, corner in enumerate(corners)]
    links = [Link("ground"), Link("block", body)]
    return Robot(assemble("block", links, [Joint("free", "ground", "block", Free())], frames)), height


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


def launched(robot: Robot, height: float, slope: float, turn: float, velocity) -> tuple:
    """(normal of the slope, (q, v) of the block on it turned about the normal, directions downhill and across)."""
    normal = np.array([np.sin(slope), 0.0, np.cos(slope)])
    down = np.array([np.cos(slope), 0.0, -np.sin(slope)])
    axes = np.stack([down, np.cross(normal, down)])
    R = z_to(normal) @ exp(np.array([0.0, 0.0, turn]))
    q = np.concatenate([height * normal, to_quaternion(R)])
    return normal, (q, np.concatenate([R.T @ (np.asarray(velocity) @ axes), np.zeros(3)])), axes


@pytest.mark.parametrize("direction", ["downhill", "uphill", "sideways"])
@pytest.mark.parametrize("integrator", rest_slow(["dop853", "lsoda"], 1))
def test_a_launched_block_stops_when_and_where_it_must(direction, integrator):
    rng = np.random.default_rng([len(direction), len(integrator)])
    for _ in range(2):
        robot, height = low_block(rng)
        mu = rng.uniform(0.1, 0.9)
        slope = np.arctan(mu) * rng.uniform(0.1, 0.9)
        speed = rng.uniform(0.2, 1.5)
        heading = {"downhill": 0.0, "uphill": np.pi, "sideways": rng.uniform(0.2, 2.9)}[direction]
        velocity = speed * np.array([np.cos(heading), np.sin(heading)])
        normal, state, axes = launched(robot, height, slope, rng.uniform(-np.pi, np.pi), velocity)
        time, *way = stop(speed, heading, slope, mu)
        feet = [GroundContact(f"corner{k}", normal=tuple(normal), friction=mu) for k in range(4)]
        run = simulate(robot, *state, duration=1.2 * time + 0.05, constraints=feet, integrator=integrator)
        assert run.finished, run.status
        assert [one.what for one in run.events] == ["sticks"] * 4
        assert [one.t for one in run.events] == pytest.approx([time] * 4, abs=STOP_TIME)
        gone = axes @ (run.q[-1, :3] - run.q[0, :3])
        assert gone == pytest.approx(way, abs=STOP_PLACE, rel=1e-6)
        assert abs(run.v[-1]).max() < 1e-9


@pytest.mark.parametrize("seed", range(3))
def test_a_block_on_a_steep_slope_turns_at_the_top_and_slides_on(seed):
    """Launched uphill where friction cannot hold it: no contact changes, and it comes down more slowly."""
    rng = np.random.default_rng(seed)
    robot, height = low_block(rng)
    mu = rng.uniform(0.1, 0.5)
    slope, speed = np.arctan(mu) + rng.uniform(0.1, 0.5), rng.uniform(0.5, 1.5)
    normal, state, axes = launched(robot, height, slope, 1.0, (-speed, 0.0))
    up, down = (G * (np.sin(slope) + sign * mu * np.cos(slope)) for sign in (1.0, -1.0))
    feet = [GroundContact(f"corner{k}", normal=tuple(normal), friction=mu) for k in range(4)]
    run = simulate(robot, *state, duration=speed / up + 0.3, constraints=feet, sample=0.02)
    assert run.finished, run.status
    assert not run.events
    way = axes @ (run.q[-1, :3] - run.q[0, :3])
    assert way == pytest.approx([-(speed**2) / (2 * up) + 0.5 * down * 0.3**2, 0.0], abs=2e-6)


@pytest.mark.parametrize("seed", range(2))
def test_a_block_begins_to_slide_at_the_edge_of_friction(seed):
    """Under a weight that turns slowly all corners slip at once, at atan μ, in its direction."""
    rng = np.random.default_rng(seed)
    robot, height = low_block(rng)
    robot = robot.with_gravity((0.0, 0.0, 0.0))
    mu, heading = rng.uniform(0.2, 0.8), rng.uniform(-np.pi, np.pi)
    mass, edge = float(robot.mass_matrix(robot.neutral())[0, 0]), float(np.arctan(mu))
    along = np.array([np.cos(heading), np.sin(heading)])

    def weight(t, q, v):
        angle = edge + 0.1 * (t - 0.2)
        return mass * G * np.array([*(np.sin(angle) * along), -np.cos(angle), 0.0, 0.0, 0.0])

    feet = [GroundContact(f"corner{k}", friction=mu) for k in range(4)]
    q = robot.neutral()
    q[2] = height
    run = simulate(robot, q, duration=0.3, constraints=feet, control=weight, max_step=0.02, sample=0.01)
    assert [one.what for one in run.events] == ["slips"] * 4
    assert [one.t for one in run.events] == pytest.approx([0.2] * 4, abs=1e-5)
    v = run.v[-1]
    assert v[:2] / np.hypot(*v[:2]) == pytest.approx(along, abs=1e-6)
    assert abs(v[2:]).max() < 1e-6


# --- the solver


def test_pairs_on_cones_are_complementary():
    """Whether or not the matrix is regular."""
    rng = np.random.default_rng(1)
    for n in (1, 2, 5):
        for rank in (1, 3, 3 * n):
            F = rng.normal(size=(3 * n, rank))
            B = F @ F.T / (3 * n)
            inner = np.abs(rng.normal(size=(n, 3))) + [2.0, 0.0, 0.0]  # so that there is a solution
            c = inner - (B @ rng.normal(size=3 * n)).reshape(n, 3) * 0.3
            c[:, 0] = np.maximum(c[:, 0], -1.0)
            pair = complementary_pair(B, c)
            assert pair.error < 1e-12
            for part in (pair.x, pair.z):
                assert (part[:, 0] >= np.hypot(*part[:, 1:].T)).all()


@pytest.mark.parametrize("beyond", [-1e-6, -1e-7, 1e-7, 1e-6, 1e-4])
def test_the_edge_of_sliding_is_sharp(beyond):
    """Contacts that share a tangential load: they rest just below the limit, and move by the excess above."""
    rng = np.random.default_rng(5)
    for _ in range(5):
        mu, corners = rng.uniform(0.2, 0.8), rng.uniform(0.5, 1.5, (4, 2)) * [(1, 1), (-1, 1), (-1, -1), (1, -1)]
        # Unit mass and moments of inertia, centre of mass in the plane of the corners; rows: normal, x, y.
        rows = []
        for x, y in corners:
            rows += [[0, 0, 1, y, -x, 0], [1, 0, 0, 0, 0, -y], [0, 1, 0, 0, 0, x]]
        J = np.array(rows, dtype=float)
        heading = rng.uniform(-np.pi, np.pi)
        along = np.array([np.cos(heading), np.sin(heading)])
        load = np.array([*((mu + beyond) * along), -1.0, 0.0, 0.0, 0.0])
        contacts = [Contact(k, 3 * k, float(mu)) for k in range(4)]
        w = contact_reactions(J @ J.T, J @ load, np.zeros(12, dtype=bool), contacts).w.reshape(4, 3)
        assert abs(w[:, 0]).max() < 1e-9
        assert w[:, 1:] == pytest.approx(np.tile(max(beyond, 0.0) * along, (4, 1)), abs=2e-9)
