"""Contacts that act together: dropped boxes come to rest, chattering ends, Coulomb's law holds for all of them."""

import numpy as np
import pytest

from slowly import rest_slow
from zveno.mechanism import Frame, Free, Joint, Link, assemble
from zveno.robot import Robot
from zveno.simulation import GroundContact, simulate
from zveno.simulation.coulomb import Contact, contact_reactions
from zveno.spatial import inertia
from zveno.spatial.rotations import exp, to_quaternion
from zveno.spatial.transforms import transform

CORNERS = ((1, 1), (-1, 1), (-1, -1), (1, -1))


def box(half, mass: float = 3.0) -> Robot:
    """A free box of half edges (3,) with a frame at each of its four lower corners."""
    x, y, z = half
    body = inertia.parameters(mass, np.zeros(3), mass / 3 * np.diag([y * y + z * z, x * x + z * z, x * x + y * y]))
    frames = [Frame(f"corner{k}", "box", transform(None, [a * x, b * y, -z])) for k, (a, b) in enumerate(CORNERS)]
    joint = Joint("free", "ground", "box", Free())
    return Robot(assemble("box", [Link("ground"), Link("box", body)], [joint], frames))


def dropped(robot: Robot, height: float, tilt) -> np.ndarray:
    """The box over the ground, turned by a rotation vector (3,)."""
    q = robot.neutral()
    q[3:] = to_quaternion(exp(np.asarray(tilt, dtype=float)))
    q[2] -= _corners(robot, q).min() - height
    return q


def _corners(robot: Robot, q) -> np.ndarray:
    """Heights of the corners, (..., 4)."""
    return robot.forward_kinematics(q, frames=[f"corner{k}" for k in range(4)])[..., 2, 3]


def _come_to_rest(robot: Robot, run, half):
    assert run.finished, run.status
    energy = run.energy - 3.0 * 9.81 * half[2]  # above that of a box which lies
    assert run.kinetic[-1] < 1e-9
    assert energy[-1] < 1e-6
    growth = energy[1:] - np.minimum.accumulate(energy)[:-1]
    assert growth.max() < 1e-6 * run.energy[0]  # drift of nanometres that is put right
    assert run.energy_drift < 1e-5 * energy[0]
    assert _corners(robot, run.q).min() > -1e-6
    assert len(run.events) < 400  # each takes bounded work


SHAPES = ((0.2, 0.1, 0.05), (0.15, 0.25, 0.12))


@pytest.mark.parametrize("half", SHAPES)
@pytest.mark.parametrize("mu", rest_slow([0.5, 0.0, 0.2, 1.0]))
@pytest.mark.parametrize("integrator", rest_slow(["dop853", "lsoda"], 1))
def test_a_dropped_box_comes_to_rest(half, mu, integrator):
    """From random heights and tilts: it rests on its four corners, and its energy never grows."""
    robot = box(half)
    rng = np.random.default_rng([int(10 * mu), len(integrator)])
    contacts = [GroundContact(f"corner{k}", friction=mu) for k in range(4)]
    for _ in range(2):
        q = dropped(robot, rng.uniform(0.0, 0.3), rng.uniform(-0.35, 0.35, 3))
        run = simulate(robot, q, duration=2.0, constraints=contacts, integrator=integrator, sample=0.01)
        _come_to_rest(robot, run, half)
        if mu:
            assert run.v[-1] == pytest.approx(np.zeros(6), abs=1e-6)


def test_a_dropped_box_comes_to_rest_in_fixed_steps():
    half = SHAPES[0]
    robot = box(half)
    contacts = [GroundContact(f"corner{k}", friction=0.5) for k in range(4)]
    run = simulate(
        robot, dropped(robot, 0.1, [0.2, 0.3, 0.1]), duration=0.6, constraints=contacts, integrator="rk4"
    )
    _come_to_rest(robot, run, half)
    shares = run.reactions[-1, ::3]
    assert shares.sum() == pytest.approx(3.0 * 9.81, rel=1e-6)


def test_a_rocking_block_chatters_and_is_brought_to_rest():
    """It rocks from edge to edge, ever faster and lower: endless impacts in a finite time (Housner 1963)."""
    half = (0.08, 0.3, 0.22)
    robot = box(half)
    contacts = [GroundContact(f"corner{k}", friction=0.0) for k in range(4)]
    run = simulate(robot, dropped(robot, 0.0, [0.0, 0.1, 0.0]), duration=2.0, constraints=contacts, sample=0.01)
    _come_to_rest(robot, run, half)
    closings = np.unique([one.t for one in run.events if one.what == "closes"])
    gaps = np.diff(closings)
    assert len(gaps) > 6
    assert (gaps[3:] < 0.8 * gaps[2:-1]).all()
    assert "chattering contacts brought to rest" in run.summary


def test_bouncing_boxes_lose_energy():
    """Restitution and friction together never add energy."""
    half = SHAPES[0]
    robot = box(half)
    contacts = [GroundContact(f"corner{k}", friction=0.5, restitution=0.6) for k in range(4)]
    for seed in range(3):
        rng = np.random.default_rng(seed)
        q = dropped(robot, 0.3, rng.uniform(-0.3, 0.3, 3))
        run = simulate(robot, q, rng.uniform(-1, 1, 6), duration=1.0, constraints=contacts, sample=0.01)
        assert run.finished, run.status
        assert np.diff(run.energy).max() < 1e-6 * run.energy[0]
        assert any(one.what == "bounces" for one in run.events)


# --- Coulomb's law itself


def _check_law(A, b, held, contacts):
    R, w = contact_reactions(A, b, held, contacts)
    size, speed = abs(R).max(initial=0.0), abs(b).max()
    assert w == pytest.approx(A @ R + b, abs=1e-9 * speed)
    assert abs(w[held]).max(initial=0.0) < 1e-8 * speed
    for contact in contacts:
        force, away = contact.side * R[contact.row], contact.side * w[contact.row]
        assert force >= -1e-9 * size
        assert away >= -1e-6 * speed
        assert abs(force * away) <= 1e-6 * size * speed
        if contact.mu:
            T, slip = R[contact.tangents], w[contact.tangents]
            assert np.hypot(*T) <= contact.mu * force * (1 + 1e-6) + 1e-9 * size
            if np.hypot(*slip) > 1e-4 * speed and force > 1e-6 * size:  # it slides, against the friction
                assert T @ slip == pytest.approx(-contact.mu * force * np.hypot(*slip), rel=1e-3)
    return R


@pytest.mark.parametrize("n_v", [3, 6, 12])
def test_reactions_obey_coulombs_law(n_v):
    """Random contacts, redundant ones too, limits that push down, and rows that hold both ways."""
    rng = np.random.default_rng(n_v)
    for n in (1, 2, 4):
        for _ in range(15):
            m = 3 * n + 2
            J = rng.normal(size=(m, n_v))
            J[-1] = J[-2]  # two rows that say the same
            held = np.arange(m) >= 3 * n if n_v > 3 else np.zeros(m, dtype=bool)
            mu = rng.choice([0.0, 0.2, 0.5, 1.0], n)
            sides = np.where(mu > 0, 1.0, rng.choice([-1.0, 1.0], n))
            contacts = [Contact(k, 3 * k, float(mu[k]), float(sides[k])) for k in range(n)]
            v = rng.normal(size=n_v)
            R = _check_law(J @ J.T, J @ v, held, contacts)
            after = v + J.T @ R
            assert after @ after <= v @ v * (1 + 1e-9)  # an impact takes energy


def test_nothing_acts_where_all_move_apart():
    R, w = contact_reactions(np.eye(3), np.array([1.0, 2.0, 0.0]), np.zeros(3, dtype=bool), [Contact(0, 0, 0.5)])
    assert not R.any()
    assert w.tolist() == [1.0, 2.0, 0.0]
