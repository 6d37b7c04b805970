"""Rows of loops: their Jacobian and bias are those of φ, and joints that carry a loop do not enter."""

import numpy as np
import pytest
from closed_models import JOINTS, at, body, carried, four_bar, loop_of_joints

import zveno
from zveno import Frame, Joint, Link, Loop, Mimic, joints
from zveno.algorithms.loop_rows import loop_rows, row_names

DIRECTIONS = ("point", "hinge", ("x", "y"), ("z", "rx"))


def assert_slopes(mechanism, q, rng):
    """φ̇ = J v, and d/dt (J v) = P at v̇ = 0, by central differences."""
    v = rng.normal(size=mechanism.n_v)
    h = 1e-5
    rows = loop_rows(mechanism, q, v)
    sides = [loop_rows(mechanism, mechanism.integrate(q, sign * h * v), v) for sign in (1.0, -1.0)]
    slope = (sides[0].value - sides[1].value) / (2 * h)
    assert np.allclose(rows.J @ v, slope, atol=1e-8)
    if mechanism.n_q == mechanism.n_v:  # q(t) = q + v t keeps v̇ = 0
        change = ((sides[0].J - sides[1].J) @ v) / (2 * h)
        assert np.allclose(rows.bias, change, atol=1e-7)


@pytest.mark.parametrize("kind", JOINTS, ids=lambda kind: kind.kind)
@pytest.mark.parametrize("locked", DIRECTIONS, ids=str)
def test_slopes(kind, locked):
    rng = np.random.default_rng(1)
    mechanism = loop_of_joints([joints.Revolute(), kind, joints.Revolute((0.0, 1.0, 0.0))], rng, locked)
    q = mechanism.integrate(mechanism.neutral(), rng.normal(size=mechanism.n_v))
    # Slopes of rotations are those of φ only where the rotations are closed; translations hold everywhere.
    if "rx" in mechanism.loops[0].locked:
        q = mechanism.neutral()
    if locked in ("point", ("x", "y")):
        assert_slopes(mechanism, q, rng)
    else:
        v = rng.normal(size=mechanism.n_v)
        h = 1e-6
        ahead, behind = (loop_rows(mechanism, mechanism.integrate(q, s * h * v), v).value for s in (1.0, -1.0))
        assert np.allclose(loop_rows(mechanism, q, v).J @ v, (ahead - behind) / (2 * h), atol=1e-8)


def test_mimic_joints_share_a_column():
    links = [Link(name, body()) for name in ("ground", "leader", "a", "b")]
    chain = [
        Joint("leader", "ground", "leader", joints.Revolute()),
        Joint("a", "ground", "a", joints.Revolute(), at(0.4)),
        Joint("b", "a", "b", joints.Revolute(), at(0.3), mimic=Mimic("leader", -1.5, 0.2)),
    ]
    frames = [Frame("end", "b", at(0.2, 0.1)), Frame("mate", "ground", at(0.7, 0.2))]
    mechanism = zveno.assemble("mimic", links, chain, frames, loops=[Loop("end", "mate", ("x", "y"))])
    rng = np.random.default_rng(2)
    q = rng.normal(size=2)
    assert_slopes(mechanism, q, rng)
    assert loop_rows(mechanism, q, np.zeros(2)).J[:, 0].any(), "the leader is outside the loop and moves it"


def test_a_loop_does_not_see_what_carries_it():
    """Rows are those of the loop alone, bit for bit, and columns of the carrying joints are exactly zero."""
    bare, whole = four_bar("point"), carried(four_bar("point"))
    rng = np.random.default_rng(3)
    q, v = rng.normal(size=3), rng.normal(size=3)
    rows = loop_rows(bare, q, v)
    carried_rows = loop_rows(
        whole, np.concatenate([rng.normal(size=2), q]), np.concatenate([rng.normal(size=2), v])
    )
    assert np.array_equal(carried_rows.value, rows.value)
    assert np.array_equal(carried_rows.J, np.hstack([np.zeros((3, 2)), rows.J]))
    assert np.array_equal(carried_rows.bias, rows.bias)
    assert not rows.J[2].any(), "out of the plane nothing moves"
    assert row_names(bare)[2] == "loop end–top z"
