"""Document 004: objectives (11) to (13) and relative errors in percent, on any robot."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

import zveno
from zveno.documents.scanning import axis_percentages, objective, pose_vector, within_percent
from zveno.errors import UnknownNameError
from zveno.spatial.rotations import exp
from zveno.spatial.transforms import transform

PUMA = zveno.load("puma560")
PLANAR = zveno.load("planar2")
Q = np.array([0.1, -0.5, 0.4, 0.2, 0.6, 0.3])


@pytest.mark.parametrize("name", ["puma560", "panda", "biped"])
@pytest.mark.parametrize("kind", ["norm", "absolute", "squares"])
def test_objectives_are_measures_of_the_pose_vector(name, kind):
    robot = zveno.load(name)
    q, frame = robot.random(5, 0), robot.frame_names[-1]
    T = robot.forward_kinematics(q[0], frame)
    phi = objective(robot, T, kind, frame)(q)
    d = pose_vector(robot.forward_kinematics(q, frame)) - pose_vector(T)
    expected = {"norm": np.linalg.norm(d, axis=1), "absolute": abs(d).sum(1), "squares": (d**2).sum(1)}
    np.testing.assert_allclose(phi, expected[kind], atol=1e-14)
    assert phi[0] < 1e-12
    assert np.all(phi[1:] > 1e-3)


def _least(phi) -> np.ndarray:
    """Where a function of two angles is least, by a search without derivatives from many starts."""
    options = {"xatol": 1e-10, "fatol": 1e-14, "maxiter": 4000}
    starts = np.random.default_rng(0).uniform(-np.pi, np.pi, (12, 2))
    runs = [minimize(lambda q: phi(q[None])[0], q, method="Nelder-Mead", options=options) for q in starts]
    return min(runs, key=lambda run: run.fun).x


def test_sums_of_squares_and_of_absolute_values_have_different_ends():
    """A point beyond the reach of a planar arm: absolute values make one of the differences zero altogether."""
    T = np.eye(4)
    T[:3, 3] = [1.2 * np.linalg.norm(PLANAR.forward_kinematics(np.zeros(2))[:3, 3]), 0.1, 0.0]
    ends = {}
    for kind in ("norm", "squares", "absolute"):
        end = _least(objective(PLANAR, T, kind, s=(0.0, 0.0, 1.0)))
        ends[kind] = abs(PLANAR.forward_kinematics(end)[:2, 3] - T[:2, 3])
    np.testing.assert_allclose(ends["norm"], ends["squares"], atol=1e-5)
    assert ends["absolute"][1] < 1e-6
    assert ends["squares"][1] > 1e-3


def test_percentages_of_all_axes():
    T = transform(exp(np.array([0.3, -0.2, 0.5])), [0.4, -0.3, 1.2])
    moved = T.copy()
    moved[:3, 3] *= 1.01
    dP, *dS = axis_percentages(moved, T)
    assert dP == pytest.approx(1.0)
    for k in range(3):
        assert dS[k] == pytest.approx(100 * 0.01 * 1.3 / np.linalg.norm(T[:3, 3] + T[:3, k]))
    turned = T.copy()
    turned[:3, :3] = T[:3, :3] @ exp(np.array([0.0, 0.0, 0.01]))
    dP, *dS = axis_percentages(turned, T)
    assert dP == 0.0
    assert dS[2] == pytest.approx(0.0, abs=1e-12)
    assert dS[0] == pytest.approx(100 * 2 * np.sin(0.005) / np.linalg.norm(T[:3, 3] + T[:3, 0]))


def test_a_turn_alone_counts_in_percent():
    """The last joint turned by 0.02 rad: the origin is reached, the axes are not."""
    T = PUMA.forward_kinematics(Q)
    turned = Q + [0.0, 0.0, 0.0, 0.0, 0.0, 0.02]
    points = T[:3, 3] + T[:3, :3].T
    needed = max(100 * 2 * np.sin(0.01) / np.linalg.norm(points[k]) for k in (0, 1))
    assert within_percent(PUMA, turned, T, 1.01 * needed)
    assert not within_percent(PUMA, turned, T, 0.99 * needed)
    assert within_percent(PUMA, np.stack([Q, turned]), T, 1e-9).tolist() == [True, False]


def test_an_unknown_objective():
    with pytest.raises(UnknownNameError, match="squares, norm, absolute"):
        objective(PUMA, np.eye(4), "cubes")
