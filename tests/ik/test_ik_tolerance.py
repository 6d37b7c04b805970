"""Solutions within a tolerance: each is inside it, exact ones are among them, and few joints do not matter."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import least_squares, minimize
from scipy.spatial.transform import Rotation

import zveno
from tiers import few
from zveno import ik
from zveno.errors import ShapeError, ZvenoError
from zveno.ik.ik_problem import problem_of

PUMA = zveno.load("puma560")
FIVE = zveno.load("Tz(0.3) Rz(q1) Ry(q2) Tz(0.4) Ry(q3) Tz(0.3) Ry(q4) Rz(q5) Tz(0.1)")
FOUR = zveno.load("Tz(0.2) Rz(q1) Tx(0.3) Rz(q2) Tx(0.25) Tz(q3) Rz(q4)")


def deviation(robot, q, T):
    """(..., 3) displacement and (..., 3) rotation vector in the target's axes, without the code under test."""
    D = np.linalg.inv(T) @ robot.forward_kinematics(q)
    return D[..., :3, 3], Rotation.from_matrix(D[..., :3, :3]).as_rotvec()


@pytest.mark.parametrize("seed", few(range(3), 1))
def test_exact_solutions_are_among_those_within_a_tolerance(seed):
    T = PUMA.forward_kinematics(PUMA.random((), seed))
    exact = PUMA.ik(T)
    near = PUMA.ik(T, tolerance=ik.Tolerance(1e-3, 1e-3))
    assert near.status == "within tolerance"
    for q in exact.of():
        assert np.abs(near.of() - q).max(axis=1).min() < 1e-6
    p, turn = deviation(PUMA, near.of(), T)
    assert np.linalg.norm(p, axis=1).max() <= 1e-3 * (1 + 1e-5)
    assert np.linalg.norm(turn, axis=1).max() <= 1e-3 * (1 + 1e-5)


@pytest.mark.parametrize("robot", [FIVE, FOUR], ids=["five joints", "four joints"])
@pytest.mark.parametrize("seed", few(range(3), 1))
def test_few_joints_come_as_near_as_an_independent_search_finds(robot, seed):
    """A pose that is off by noise: every local minimum of the distance that lies inside the tolerance is there."""
    rng = np.random.default_rng(seed)
    T = robot.forward_kinematics(robot.random((), seed))
    T[:3, :3] = T[:3, :3] @ Rotation.from_rotvec(5e-3 * rng.normal(size=3)).as_matrix()
    T[:3, 3] += 2e-3 * rng.normal(size=3)
    solutions = robot.ik(T, tolerance=ik.Tolerance(0.02, 0.05, weights=np.ones(6)))
    assert solutions.status == "within tolerance"
    p, turn = deviation(robot, solutions.of(), T)
    assert (np.linalg.norm(p, axis=1) <= 0.02).all()
    assert (np.linalg.norm(turn, axis=1) <= 0.05).all()
    low, high = np.maximum(robot.lower, -3.2), np.minimum(robot.upper, 3.2)
    for start in rng.uniform(low, high, (25, robot.n_q)):
        best = least_squares(lambda q: np.concatenate(deviation(robot, q, T)), start, xtol=1e-12, ftol=1e-12)
        inside = (best.x >= robot.lower).all() and (best.x <= robot.upper).all()
        p, turn = deviation(robot, best.x, T)
        if inside and np.linalg.norm(p) < 0.015 and np.linalg.norm(turn) < 0.04:
            turns = (solutions.of() - best.x + np.pi) % (2 * np.pi) - np.pi
            slide = solutions.of()[:, 2] - best.x[2]
            turns[:, 2] = slide if robot is FOUR else turns[:, 2]
            assert np.abs(turns).max(axis=1).min() < 1e-2


def test_bounds_of_every_axis_hold():
    rng = np.random.default_rng(0)
    for seed in range(3):
        T = PUMA.forward_kinematics(PUMA.random((), seed + 10))
        T[:3, 3] += 5e-3 * rng.normal(size=3)
        bounds = np.array([1e-3, 2e-3, 0.02]), np.array([0.01, 0.2, np.inf])
        solutions = PUMA.ik(T, tolerance=ik.Tolerance(*bounds))
        p, turn = deviation(PUMA, solutions.of(), T)
        assert solutions.count
        assert (abs(p) <= bounds[0] * (1 + 1e-5)).all()
        assert (abs(turn) <= bounds[1] + 1e-6).all()


@pytest.mark.parametrize("axis", [(0, 0, 1), (1, 0, 0), (1, -2, 0.5)])
def test_a_cone_about_any_axis_of_the_tool(axis):
    """The pose asked for is turned about the axis, which is free, and tilted by less than the cone."""
    unit = np.array(axis) / np.linalg.norm(axis)
    tilt = np.cross(unit, [0.3, 0.5, 0.7])
    turned = Rotation.from_rotvec(2.0 * unit) * Rotation.from_rotvec(0.04 * tilt / np.linalg.norm(tilt))
    q = np.array([0.2, -0.9, 0.6, 0.3, 0.8, -0.4])
    T = PUMA.forward_kinematics(q)
    T[:3, :3] = T[:3, :3] @ turned.as_matrix()
    solutions = PUMA.ik(T, tolerance=ik.Tolerance(1e-4, axis=axis, cone=0.05))
    assert solutions.count
    seen = PUMA.forward_kinematics(solutions.of())[:, :3, :3] @ unit
    angle = np.arccos(np.clip(seen @ (T[:3, :3] @ unit), -1, 1))
    assert (angle <= 0.05 + 1e-6).all()


def test_nothing_found_is_undecided_and_says_how_near():
    T = np.eye(4)
    T[:3, 3] = (3.0, 0.0, 0.0)
    far = PUMA.ik(T, tolerance=ik.Tolerance(0.01, 0.1))
    assert far.status == "undecided"
    assert not far.count
    p, _ = deviation(PUMA, far.nearest, T)
    np.testing.assert_allclose(np.linalg.norm(p), far.distance[0], rtol=1e-6)


def test_batches_and_bad_tolerances():
    T = PUMA.forward_kinematics(PUMA.random((2, 2), 5))
    solutions = PUMA.ik(T, tolerance=ik.Tolerance(1e-3, 1e-3))
    assert solutions.count.shape == (2, 2)
    assert (solutions.count > 0).all()
    for bad in (
        {"position": (1, 2)},
        {"rotation": -1.0},
        {"axis": (0, 0, 0)},
        {"cone": np.inf},
        {"weights": (1, 1)},
        {"position": "wide"},
    ):
        with pytest.raises(zveno.ZvenoError):
            ik.Tolerance(**bad)
    with pytest.raises(zveno.ZvenoError, match="task"):
        PUMA.ik(T, task="position", tolerance=ik.Tolerance(1e-3))


def test_a_pose_in_every_form_is_the_same_pose():
    T = PUMA.forward_kinematics(PUMA.random(3, 1))
    wxyz = Rotation.from_matrix(T[:, :3, :3]).as_quat(scalar_first=True)
    expected = PUMA.ik(T)
    for form in (T[:, :3], np.concatenate([T[:, :3, 3], wxyz], axis=1), (T[:, :3, 3], wxyz)):
        found = PUMA.ik(form)
        np.testing.assert_allclose(found.q, expected.q, atol=1e-9)
    single = PUMA.ik((T[0, :3, 3], wxyz[0]))
    np.testing.assert_allclose(single.of(), expected.of(0), atol=1e-9)


def test_matrices_printed_with_four_digits_are_projected_with_a_warning():
    T = PUMA.forward_kinematics(np.array([0.2, -0.9, 0.6, 0.3, 0.8, -0.4]))
    with pytest.warns(zveno.ZvenoWarning, match="orthonormal"):
        solutions = PUMA.ik(T.round(4))
    exact = PUMA.ik(T)
    assert solutions.count == exact.count
    assert np.abs(solutions.of() - exact.of()).max() < 5e-3
    with pytest.raises(zveno.ZvenoError, match="rotation"):
        PUMA.ik(T.round(1))


def test_weights_say_what_nearest_means():
    """Five joints and a pose that they miss: what weighs more is missed by less."""
    T = FIVE.forward_kinematics(FIVE.random((), 3))
    T[:3, :3] = T[:3, :3] @ Rotation.from_rotvec([0.02, 0.03, -0.02]).as_matrix()
    missed = []
    for position, rotation in ((100.0, 1.0), (1.0, 100.0)):
        weights = np.repeat([position, rotation], 3)
        near = FIVE.ik(T, tolerance=ik.Tolerance(0.1, 0.2, weights=weights))
        off = np.concatenate(deviation(FIVE, near.of(), T), axis=1)
        best = off[np.argmin(np.linalg.norm(weights * off, axis=1))]
        missed.append((np.linalg.norm(best[:3]), np.linalg.norm(best[3:])))
    assert missed[0][0] < 0.1 * missed[1][0]
    assert missed[1][1] < missed[0][1]


# --- the nearest configuration, and a miss in metres and radians that is near enough


def test_the_nearest_has_the_least_squared_error():
    """Against a search that knows nothing of derivatives, from many starts."""
    planar = zveno.load("planar2")
    length = problem_of(planar, task="position").length
    point = np.array([1.7, 1.3, 0.4])
    assert np.linalg.norm(planar.forward_kinematics(np.zeros(2))[:3, 3]) < np.linalg.norm(point[:2])

    def squared(q):
        return np.sum(((planar.forward_kinematics(q)[..., :3, 3] - point) / length) ** 2, axis=-1)

    found = planar.ik(point, task="position", limits=False)
    starts = np.random.default_rng(0).uniform(-np.pi, np.pi, (12, 2))
    options = {"xatol": 1e-10, "fatol": 1e-14, "maxiter": 4000}
    best = min(minimize(squared, start, method="Nelder-Mead", options=options).fun for start in starts)
    assert found.status == "unreachable"
    assert squared(found.nearest) == pytest.approx(best, abs=1e-6)
    assert found.value == pytest.approx(squared(found.nearest), abs=1e-9)


def test_a_miss_in_metres_and_radians():
    planar = zveno.load("planar2")
    reach = np.linalg.norm(planar.forward_kinematics(np.zeros(2))[:3, 3])
    point = [1.02 * reach, 0.0, 0.0]
    plain = planar.ik(point, task="position")
    assert plain.status == "unreachable"
    for metres, status in [(0.021 * reach, "within tolerance"), (0.019 * reach, "unreachable")]:
        found = plain.within(metres, 0.0)
        assert found.status == status, metres
        assert found.count == (status == "within tolerance")
    T = PUMA.forward_kinematics([0.1, -0.5, 0.4, 0.2, 0.6, 0.3])
    inside = PUMA.ik(T).within(0.05, 0.05)
    assert inside.status == "complete"
    assert np.nanmax(inside.residual) < 1e-9


@pytest.mark.parametrize("bad", [(0.1, -0.1), (0.1, float("nan")), ("a", "b")])
def test_a_bad_miss(bad):
    with pytest.raises(ShapeError, match="tolerance"):
        PUMA.ik(PUMA.forward_kinematics(np.zeros(6))).within(*bad)
    with pytest.raises(ZvenoError, match="within"):
        PUMA.ik(PUMA.forward_kinematics(np.zeros(6)), tolerance=(0.1, 0.1))  # type: ignore[arg-type]
