"""Roots of trigonometric polynomials in balls, every one in one of them, and boxes around solutions."""

from __future__ import annotations

import numpy as np
import pytest
from ik_answers import beside_singular, robot_of
from ik_arms import known_arms
from scipy.spatial.transform import Rotation

pytest.importorskip("flint")

from flint import acb, arb

from zveno.ik.certified.balls import identity, middles, precision
from zveno.ik.certified.exact_chain import exact_chain
from zveno.ik.certified.exact_readings import transform_meant
from zveno.ik.certified.krawczyk import Loop
from zveno.ik.certified.routes import route_of
from zveno.ik.certified.six_revolute.arm import Attempt
from zveno.ik.certified.six_revolute.circle import START, _Polynomial, real_roots
from zveno.ik.ik_problem import problem_of

PLACES = np.random.default_rng(3).uniform(-3, 3, 6)


def with_roots(angles) -> list[acb]:
    """Harmonics c_0 … c_k of ∏ sin((y − a)/2), for an even number of exact angles."""
    coefficients = [acb(1)]  # of powers of e^(iy)
    for a in angles:
        root = acb(arb(float(a)).cos(), arb(float(a)).sin())
        padded = [acb(0), *coefficients]
        coefficients = [high - root * low for high, low in zip(padded, [*coefficients, acb(0)], strict=True)]
    # ∏ (e^(iy) − e^(ia)) = e^(iy n/2) e^(iΣa/2) (2i)^n ∏ sin((y − a)/2)
    half = sum((arb(float(a)) for a in angles), arb(0)) / 2
    turn = acb(half.cos(), -half.sin()) * acb(0, 2) ** -len(angles)
    middle = len(angles) // 2
    return [turn * coefficient for coefficient in coefficients[middle:]]


@pytest.mark.parametrize(
    "angles",
    [
        PLACES,
        [*PLACES[:4], PLACES[4], PLACES[4] + 1e-9],
        [*PLACES[:4], PLACES[4], PLACES[4]],
        [*PLACES[:3], *PLACES[:3] + 1e-4],
        (np.arange(-3, 3) * 5) * (2 * np.pi / START),
        [-np.pi, np.pi - 1e-12, 0.0, 1e-12, 1.0, 2.0],
        np.linspace(-3.1, 3.0, 12),
    ],
    ids=["simple", "close", "double", "three pairs", "ends of cells", "at the cut", "twelve"],
)
def test_every_root_is_in_a_ball(angles):
    with precision(160):
        c = with_roots(angles)
        p = _Polynomial(c)
        assert all(p.derivatives(arb(float(a)), 1)[0].contains(0) for a in angles), "the roots asked for"
        balls = real_roots(c)
        for a in angles:
            apart = [ball - arb(float(a)) for ball in balls]
            turns = [(x / (2 * arb.pi())).mid() for x in apart]
            assert any((x - 2 * arb.pi() * round(float(k))).contains(0) for x, k in zip(apart, turns, strict=True))
        assert all(float(ball.rad()) < 1e-6 for ball in balls)
        assert len(balls) <= 2 * len(angles)


def test_derivatives_are_those_of_the_polynomial():
    rng = np.random.default_rng(1)
    c = rng.standard_normal(13) + 1j * rng.standard_normal(13)
    c[0] = c[0].real
    m, y = np.arange(13), 0.7
    weights = np.where(m == 0, 1, 2)
    with precision(160):
        found = _Polynomial([acb(x.real, x.imag) for x in c]).derivatives(arb(y), 4)
    for k, value in enumerate(found):
        assert float(value.mid()) == pytest.approx((weights * c * (1j * m) ** k * np.exp(1j * m * y)).sum().real)


def proofs_beside_singular(distance: float) -> list[Attempt]:
    robot = robot_of(known_arms()["kuka"])
    route = route_of(exact_chain(problem_of(robot)))
    T = [
        robot.forward_kinematics(beside_singular(robot, q, 4, distance))
        for q in np.random.default_rng(4).uniform(-3, 3, (6, 6))
    ]
    return [route.solve(transform_meant(pose).balls) for pose in T]


def test_candidates_too_wide_to_tell_apart_get_more_bits_before_other_templates():
    attempts = proofs_beside_singular(1e-11)
    wide = [attempt for attempt in attempts if any("holds exactly one" in reason for reason in attempt.reasons)]
    assert wide, "none of the poses needs more bits"
    for attempt in wide:
        assert attempt.bits == 320
        assert len(attempt.reasons) == 1
        assert len(attempt.solutions) == 8


def test_boxes_as_wide_as_the_jacobian_allows_need_no_more_bits():
    """With boxes of fixed radii three of these poses needed 320 bits: one was too wide, the next too narrow."""
    for attempt in proofs_beside_singular(1e-7):
        assert attempt.bits == 160
        assert not attempt.reasons


@pytest.mark.parametrize(("kinds", "rows"), [("RRRRRR", "pose"), ("RPRRPR", "pose"), ("RRR", "rotation")])
def test_stiffness_is_the_norm_of_the_inverse_jacobian(kinds, rows):
    rng = np.random.default_rng(2)
    frames = rng.normal(size=(len(kinds), 3))
    links = [
        [[*map(arb, row), arb(x)] for row, x in zip(rigid, p, strict=True)]
        for rigid, p in zip(Rotation.random(len(kinds), random_state=3).as_matrix().tolist(), frames, strict=True)
    ]
    with precision(128):
        loop = Loop(links, kinds, rows)
        candidates = [[arb(float(x)) for x in row] for row in rng.uniform(-2, 2, (4, len(kinds)))]
        inverses = [np.linalg.inv(middles(loop.jacobian(candidate)[0])) for candidate in candidates]
        expected = [np.abs(inverse).sum(axis=1).max() for inverse in inverses]
        np.testing.assert_allclose(loop.stiffness(candidates), expected, rtol=1e-9)


def test_stiffness_of_what_is_singular_is_only_large():
    """Three parallel axes of which two coincide."""
    with precision(128):
        loop = Loop([identity(), identity(), identity()], "RRR", "rotation")
        assert loop.stiffness([[arb(0.3), arb(0.1), arb(0)]])[0] > 1e20
