"""Plans for measurements by contact: places, what was touched before, and how real calibrations then scatter."""

from __future__ import annotations

import numpy as np
import pytest
from plan_errors import squares_of_errors

import zveno
from zveno.calibration.measurements import FixedPoint, Plane, Sockets
from zveno.calibration.measurements.datasets import Dataset
from zveno.calibration.planning import evaluate_poses, plan_poses
from zveno.calibration.planning._information import PlannedRows

KINDS = {
    "point": FixedPoint(sigma=1e-4),
    "sockets": Sockets(sigma=1e-4),
    "plane": Plane(sigma=1e-4),
    "planes": Plane(sigma=1e-4, group_planes=True),
    "known plane": Plane(sigma=1e-4, normal=(0.0, 0.1, 1.0), offset=0.1),
}


@pytest.fixture(scope="module")
def puma():
    return zveno.load("puma560")


@pytest.fixture(scope="module")
def first(puma):
    """A plan of every kind, made once."""
    return {name: plan_poses(puma, kind, 30, candidates=300, margin=0.0) for name, kind in KINDS.items()}


def measured(name, plan):
    """The plan as a campaign that was carried out."""
    return Dataset(KINDS[name], plan.q, groups=plan.groups)


@pytest.mark.laws
@pytest.mark.parametrize("name", KINDS)
def test_postures_touch_where_the_plan_says(name, first, puma):
    plan = first[name]
    assert plan.status == "determined"
    assert plan.over_random > 1.0
    assert plan.efficiency > 0.7
    tool = puma.forward_kinematics(plan.q)[:, :3, 3]
    where = dict(zip(plan.place_names, plan.places, strict=True))
    assert any("imagined" in note for note in plan.notes) == bool(where)
    if name == "known plane":
        assert not where
        assert np.allclose(tool @ (0.0, 0.1, 1.0), 0.1)
    for k, point in enumerate(tool if where else ()):
        label = next(iter(where)) if not plan.groups else f"{KINDS[name].grouped.label}:{plan.groups[k]}"
        away = point - where[label][:3, 3]
        off = away @ where[label][:3, 2] if "plane" in name else np.linalg.norm(away)
        assert abs(off) < 1e-9


@pytest.mark.laws(after=1)
@pytest.mark.parametrize("name", KINDS)
def test_a_plan_judges_itself_as_it_is_judged(name, first, puma):
    plan = first[name]
    again = evaluate_poses(puma, KINDS[name], plan)
    assert again.names == plan.names
    assert np.allclose(again.sigma, plan.sigma, rtol=1e-9)


@pytest.mark.laws
@pytest.mark.parametrize("name", KINDS)
def test_added_postures_touch_what_was_touched(name, first, puma):
    have = measured(name, first[name])
    more = plan_poses(puma, KINDS[name], 8, existing=have, candidates=300)
    assert more.n_have == 30
    assert np.all(more.sigma < more.sigma_before)
    assert np.allclose(more.sigma_before, first[name].sigma, rtol=1e-6)
    assert set(more.groups) <= set(have.groups)
    assert not any("imagined" in note for note in more.notes)
    whole = evaluate_poses(puma, KINDS[name], more, existing=have)
    assert np.allclose(whole.sigma, more.sigma, rtol=1e-6)
    assert np.allclose(whole.sigma_before, more.sigma_before, rtol=1e-6)


def test_places_that_help_little_are_left_out(first):
    """Each socket costs three unknowns: a plan of thirty postures does better with a few of six."""
    assert len(first["point"].place_names) < 6
    assert set(first["point"].groups) == {label.partition(":")[2] for label in first["point"].place_names}


def test_a_known_distance_counts_once(first, puma):
    """However many campaigns touched both sockets of a place."""
    plan = first["sockets"]
    halves = [Dataset(KINDS["sockets"], plan.q[k::2], groups=plan.groups[k::2]) for k in (0, 1)]
    rows = PlannedRows(puma, KINDS["sockets"], have=measured("sockets", plan))
    place = next(group.partition("/")[0] for group in rows.groups if group.endswith("hole1"))
    ends = [[f"socket:{place}/hole{k}.T{axis}" for axis in "xyz"] for k in (1, 2)]
    known = rows.known[np.ix_([rows.names.index(name) for name in ends[0]], range(len(rows.names)))]
    one = Sockets().sigma_distance
    own = known[:, [rows.names.index(name) for name in ends[0]]]
    assert np.trace(own) == pytest.approx(rows.model.scale**2 / one**2)  # a unit direction, once
    together = evaluate_poses(puma, KINDS["sockets"], halves)
    assert np.allclose(together.sigma, plan.sigma, rtol=1e-9)


@pytest.mark.laws
def test_predicted_covariance_is_that_of_real_calibrations(first, puma):
    """The estimator itself, on earlier and added postures: errors weighed by the predicted covariance are χ²."""
    kind, plan, runs = KINDS["sockets"], first["sockets"], 8
    more = plan_poses(puma, kind, 10, existing=plan, candidates=300)
    measured = {
        "q": np.concatenate([plan.q, more.q]),
        "groups": plan.groups + more.groups,
        "frames": dict(zip(plan.place_names, plan.places, strict=True)),
    }
    planned, own = squares_of_errors(puma, kind, more, 1e-3, runs, **measured)
    scatter = np.sqrt(2.0 / (runs * len(more.names)))
    assert abs(planned - 1.0) < 4.0 * scatter
    assert abs(own - 1.0) < 4.0 * scatter
    # An exactly nominal robot is found better than that, never worse.
    assert max(squares_of_errors(puma, kind, more, 0.0, runs, **measured)) < 1.0 + 4.0 * scatter


@pytest.mark.laws
def test_postures_without_places_sat_in_one(puma):
    kind = KINDS["point"]
    q, groups, _ = PlannedRows(puma, kind).contacts(400)
    q = q[np.array(groups) == groups[0]][:20]
    one = evaluate_poses(puma, kind, Dataset(kind, q, groups=(groups[0],) * len(q)))
    more = plan_poses(puma, kind, 5, existing=q, candidates=400)
    assert set(more.groups) == {""}
    assert np.allclose(sorted(more.sigma_before), sorted(one.sigma), rtol=1e-6)


def test_too_few_postures_are_refused(puma):
    with pytest.raises(zveno.ZvenoError, match="at least 7"):  # 18 parameters and the three of one socket
        plan_poses(puma, KINDS["point"], 6, candidates=400)


def test_noise_of_joint_sensors_widens_contacts_too(first, puma):
    """σ² = σg² + r² σq², with σq = σg here: the rows of a plain contact, divided by what the joints add."""
    have = measured("point", first["point"])
    plain = PlannedRows(puma, KINDS["point"], have=have).measured(have)
    noisy = PlannedRows(puma, FixedPoint(sigma=1e-4, sigma_q=1e-4), have=have).measured(have)
    arms = np.linalg.norm(puma.jacobian(have.q)[:, :3], axis=2)
    assert np.allclose(plain, noisy * np.sqrt(1.0 + arms**2)[..., None], rtol=1e-6, atol=1e-6 * abs(plain).max())
