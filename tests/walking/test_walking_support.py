"""Support polygons against SciPy's hull, margins against brute force."""

import numpy as np
import pytest
from scipy.spatial import ConvexHull

from zveno import walking
from zveno.errors import ZvenoError
from zveno.walking.static_gait import Footprint, foot_order
from zveno.walking.support import nearest_supported, stability_margin, support_polygon


@pytest.mark.parametrize("seed", range(10))
def test_polygon_is_the_hull_and_margin_its_distance(seed):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(rng.integers(3, 12), 3))
    polygon = support_polygon(points)
    hull = ConvexHull(points[:, :2])
    assert {tuple(p) for p in polygon} == {tuple(points[k, :2]) for k in hull.vertices}
    assert ConvexHull(polygon).volume == pytest.approx(hull.volume)
    some = 2.0 * rng.normal(size=(200, 2))
    margin = stability_margin(polygon, some)
    inside = (hull.equations[:, :2] @ some.T + hull.equations[:, 2:]).max(axis=0) <= 0
    assert ((margin >= 0) == inside).all()
    assert margin[inside] == pytest.approx(
        -(hull.equations[:, :2] @ some[inside].T + hull.equations[:, 2:]).max(axis=0)
    )
    share = np.linspace(0, 1, 2001)[:, None]
    rim = np.concatenate([a + share * (b - a) for a, b in zip(polygon, np.roll(polygon, -1, 0), strict=True)])
    for point, distance in zip(some[:20], abs(margin[:20]), strict=True):
        assert np.linalg.norm(rim - point, axis=1).min() == pytest.approx(distance, abs=2e-3)


@pytest.mark.laws(after=5)
@pytest.mark.parametrize("seed", range(10))
def test_nearest_supported_place_is_the_nearest_of_many(seed):
    rng = np.random.default_rng(seed)
    polygon = support_polygon(rng.normal(size=(6, 2)))
    point = 2.0 * rng.normal(size=2)
    grid = np.stack(np.meshgrid(*[np.linspace(-3, 3, 301)] * 2), axis=-1).reshape(-1, 2)
    for margin in (0.0, 0.1, 0.3, 5.0):
        place = nearest_supported(polygon, point, margin)
        allowed = grid[stability_margin(polygon, grid) >= margin]
        if place is None:
            assert not len(allowed)
            continue
        assert stability_margin(polygon, place) > margin - 1e-9
        if len(allowed):
            best = np.linalg.norm(allowed - point, axis=1).min()
            assert np.linalg.norm(place - point) < best + 1e-9


def test_points_and_lines_support_nothing():
    assert walking.support_polygon([[1.0, 2.0]]).shape == (1, 2)
    line = walking.support_polygon([[0, 0, 1], [1, 0, 2], [2, 0, 3]])
    assert walking.stability_margin(line[[0, -1]], (1.0, 0.5)) == pytest.approx(-0.5)
    assert nearest_supported([[0, 0], [1, 0]], (0.5, 0.0), 0.0) is None
    for bad in ([], [[np.nan, 0.0]], [1.0, 2.0]):
        with pytest.raises(ZvenoError, match="support nothing"):
            walking.support_polygon(bad)


def test_many_feet_have_an_order():
    angles = 2 * np.pi * np.arange(8) / 8
    feet = tuple(np.array([[np.cos(a), np.sin(a)]]) for a in angles)
    order = foot_order(Footprint(feet, np.zeros(2)), [str(k) for k in range(8)], np.array([0.1, 0.0]), 0.1)
    assert sorted(order) == list(range(8))
    with pytest.raises(ZvenoError, match="largest margin is"):
        foot_order(Footprint(feet[:4], np.zeros(2)), list("abcd"), np.array([0.1, 0.0]), 0.6)


@pytest.mark.parametrize("n", [4, 6, 8])
def test_an_order_of_feet_does_not_depend_on_the_heading(n):
    """A symmetric machine has orders of equal length; rounding chose among them."""
    angles = 2 * np.pi * (np.arange(n) + 0.5) / n
    feet, stride = np.stack([np.cos(angles), np.sin(angles)], axis=1), np.array([0.1, 0.0])
    orders = set()
    for yaw in np.linspace(0.0, 6.0, 25 if n < 6 else 5):
        turn = np.array([[np.cos(yaw), -np.sin(yaw)], [np.sin(yaw), np.cos(yaw)]])
        print_ = Footprint(tuple((feet @ turn.T)[:, None]), np.zeros(2))
        orders.add(foot_order(print_, [str(k) for k in range(n)], turn @ stride, 0.1))
    assert len(orders) == 1
