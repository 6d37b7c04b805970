"""Models written down by the rules of document 001: as the numeric selection, or refused."""

from __future__ import annotations

import numpy as np
import pytest

import zveno
from zveno.calibration._identifiability import identifiability
from zveno.documents.calibration import agrees, classify_parameters, position_bound, rule_model
from zveno.errors import ModelError
from zveno.spatial.transforms import transform

TWO_LINKS = "Rz(q1) Tx(0.25) Rz(q2) Tx(0.16)"


def right_angled(seed: int) -> str:
    """Two to six revolute joints, neighbours parallel or perpendicular and never on one line, links askew."""
    rng = np.random.default_rng(seed)
    text = []
    for k in range(1, rng.integers(2, 7) + 1):
        text.append(f"Rz(q{k})")
        # Off the axis in x, anywhere else in y and z.
        lengths = [rng.uniform(0.1, 0.5), *rng.uniform(-0.5, 0.5, 2) * (rng.random(2) < 0.6)]
        text += [f"T{axis}({length:.3f})" for axis, length in zip("xyz", lengths, strict=True) if length]
        text.append(rng.choice(["", "Rx(90deg)", "Ry(-90deg)", "Rx(-90deg)"]))
    return " ".join(text).strip()


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("kind", ["pose", "position"])
def test_rules_hold_for_revolute_joints_at_right_angles(seed, kind):
    robot = zveno.load(right_angled(seed))
    assert len(rule_model(robot, kind).names) == identifiability(robot, kind).rank


@pytest.mark.parametrize("name", ["puma560", "ur5", "panda", "iiwa14"])
def test_rules_hold_for_known_arms(name):
    robot = zveno.load(name).with_tool(transform(None, np.array([0.03, 0.02, 0.05])))
    for kind in ("pose", "position", "relative_pose", "relative_position"):
        good, why = agrees(robot, kind)
        assert good, why


def test_models_of_the_document():
    two_links, slide = zveno.load(TWO_LINKS), zveno.load("Tx(q1)")
    assert rule_model(two_links).names == identifiability(two_links, "pose").chosen
    assert rule_model(slide, "pose").text == "[Ty Tz Rx Ry Rz]o Tx(q1) [Ry Rz]1"
    assert rule_model(slide, "position").text == "[Ty Tz Ry Rz]o Tx(q1)"
    assert rule_model(slide, "relative_pose").names == ("Ry1", "Rz1")


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Tz(q1) Rz(q2) Tx(0.3)", "pose"),  # parallel, one prismatic
        ("Tz(q1) Tx(0.1) Tz(q2)", "pose"),
        ("Rz(q1) Tx(0.3) Rz(q2) Rz(q3) Tx(0.2)", "pose"),  # two axes on one line
        ("Rz(q1) Tx(0.3) Rx(90deg) Rz(q2) Tz(0.2)", "position"),  # the point on the last axis
    ],
)
def test_rules_are_refused_where_they_fail(text, kind):
    good, why = agrees(zveno.load(text), kind)
    assert not good
    assert "rules" in why


def test_other_angles_are_refused():
    with pytest.raises(ModelError, match="neither parallel nor perpendicular"):
        rule_model(zveno.load("Rz(q1) Rx(30deg) Tx(0.1) Rz(q2) Tx(0.2)"))


def test_classes_from_singular_vectors():
    """Columns: alone, without effect, and two that only act together."""
    J = np.random.default_rng(0).normal(size=(9, 4))
    J[:, 1], J[:, 3] = 0.0, 2.0 * J[:, 2]
    assert classify_parameters(J) == ["identifiable", "unidentifiable", "semi-identifiable", "semi-identifiable"]


def test_the_known_bound_is_never_below_the_count():
    for name in ("puma560", "stanford"):
        robot = zveno.load(name)
        for strategy in ("JL", "TJL", "JR"):
            assert position_bound(robot, strategy) >= identifiability(robot, "position").rank
