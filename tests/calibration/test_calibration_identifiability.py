"""Identifiability: fixtures of document 001, count formulas, closure, higher precision."""

import numpy as np
import pytest
from calibration_arms import TWO_LINKS, arm, random_chain, simulated, truth

import zveno
from tiers import few
from zveno.calibration import CalibrationModel
from zveno.calibration._counts import prove
from zveno.calibration._identifiability import analyse, identifiability
from zveno.calibration._kinematics import frame_motion
from zveno.calibration.calibrate import calibrate
from zveno.calibration.measurements import Camera, Distance, Pose, Position, RelativePose, RelativePosition
from zveno.calibration.measurements._fit_problem import fit_problem
from zveno.calibration.models import redundant_model
from zveno.errors import ZvenoError
from zveno.spatial.transforms import transform


@pytest.fixture(scope="module")
def two_links():
    return zveno.load(TWO_LINKS)


def test_planar_model_5(two_links):
    found = identifiability(two_links, "pose")
    assert (len(found.names), found.rank) == (20, 14)
    assert not found.of_class("unidentifiable")
    assert len(found.of_class("identifiable")) == 10
    a1, a2 = 0.25, 0.16
    expected = (
        {"Tzo": 1, "Tz1": 1, "Tz2": 1},
        {"Rzo": 1, "Rzq1": 1, "Ty1": 1 / a1},
        {"Ty1": -1 / a1, "Rz1": 1, "Rzq2": 1, "Rz2": 1},
        {"Ty2": 1, "Rz2": -a2},
    )
    assert len(found.relations) == 4
    for relation, weights in zip(found.relations, expected, strict=True):
        assert relation == pytest.approx(weights, abs=1e-8)
    assert found.expressions[0] == "Tzo + Tz1 + Tz2"
    assert found.expressions[3] == "Ty2 - 0.16·Rz2"
    assert found.gap > 1e10
    assert found.status == "proved"


@pytest.mark.parametrize(
    ("strategy", "text"),
    [
        ("JL", "[Tx Ty Tz Rx Ry]o Rz(q1) [Tx Rx Ry]1 Rz(q2) [Tx Ty Rx Ry]2"),
        ("BJL", "[Tx Ty Tz Rx Ry Rz]o Rz(q1)° [Tx Rx Ry]1 Rz(q2) [Tx Ty Rx Ry]2"),
        ("TJL", "[Tx Ty Rx Ry]o Rz(q1) [Tx Rx Ry]1 Rz(q2)° [Tx Ty Tz Rx Ry Rz]2"),
        ("JR", "[Tx Ty Rx Ry]o Rz(q1) [Tx Rx Ry]1 Rz(q2) [Tx Tz Rx Ry Rz]2"),
        ("BJR", "[Tx Ty Tz Rx Ry Rz]o Rz(q1)° [Tx Rx Ry]1 Rz(q2) [Tx Rx Ry Rz]2"),
        ("TJR", "[Tx Ty Rx Ry]o Rz(q1) [Tx Rx Ry]1 Rz(q2)° [Tx Ty Tz Rx Ry Rz]2"),
    ],
)
def test_the_six_models_of_the_table(two_links, strategy, text):
    assert identifiability(two_links, "pose", model=CalibrationModel(strategy=strategy)).text == text


@pytest.mark.parametrize(
    ("kind", "symmetric", "asymmetric"),
    [
        ("pose", 30, 30),
        ("position", 25, 27),
        ("relative_pose", 24, 24),
        ("relative_position", 19, 21),
        ("distance", 19, 21),
    ],
)
def test_puma(kind, symmetric, asymmetric):
    for robot, expected in ((zveno.load("puma560"), symmetric), (arm("puma560"), asymmetric)):
        found = identifiability(robot, kind)
        assert found.rank == expected
        if found.counts is not None:
            assert found.counts.agree(expected)
            assert found.counts.bound is None or found.counts.bound >= expected
    if kind == "position":
        symmetric_counts = identifiability(zveno.load("puma560"), kind).counts
        assert symmetric_counts is not None
        assert symmetric_counts.bound == 25


def test_spherical_wrist_measured_at_its_centre_has_three_axes_through_the_point():
    arm_part = "Rz(q1) Rx(-90deg) Rz(q2) Tx(0.4) Tz(0.1) Rz(q3) Rx(90deg) Tz(0.4)"
    wrist = "Rz(q4) Rx(-90deg) Rz(q5) Rx(90deg) Rz(q6)"
    found = identifiability(zveno.load(f"{arm_part} {wrist}"), "position")
    assert found.counts is not None
    assert found.counts.through == 3
    assert found.rank == found.counts.value == found.counts.proved == 21
    assert "3 axes pass through" in found.summary


def test_one_prismatic_joint_is_8_and_5():
    robot = zveno.load("Tx(q1)")
    assert identifiability(robot, "pose").rank == 8
    assert identifiability(robot, "position").rank == 5


@pytest.mark.parametrize("block", few(range(10)))
def test_formula_closure_and_rank_agree_on_random_chains(block):
    """300 chains: the rank of a sampled Jacobian is what the closure of twists proves, and what the formula counts.

    The one exception is known: behind two joints a point need not show all six displacements of its base, and (24)
    takes off six.
    """
    for seed in range(30 * block, 30 * block + 30):
        robot = zveno.Robot(random_chain(seed))
        kind = (Pose(), Position(), RelativePose(), RelativePosition())[seed % 4]
        found = identifiability(robot, kind, rng=seed)
        assert found.counts is not None
        assert found.rank == found.counts.proved, seed
        if found.rank != found.counts.value:
            assert (kind.kind, len(robot.joint_names)) == ("relative_position", 2), seed
            assert "displacements of the base can be seen" in found.counts.why
            assert found.rank == found.counts.value + 6 - found.rank_unknowns, seed


def test_full_pose_closure_is_saturated_for_any_geometry():
    for seed in range(40):
        mechanism = random_chain(seed)
        model = redundant_model(mechanism)
        r = sum(move.sigma == 1 for move in model.moves)
        assert prove(model).rank == 6 + 4 * r + 2 * (len(model.moves) - r)


@pytest.mark.parametrize("name", ["puma560", "ur5", "scara", "stanford"])
@pytest.mark.parametrize("kind", ["pose", "position"])
def test_rank_equals_that_of_a_jacobian_in_higher_precision(name, kind):
    """Jacobian and Gram–Schmidt in 80-bit arithmetic, with a threshold that double precision could not resolve."""
    robot = arm(name)
    model = redundant_model(robot.mechanism)
    q = robot.random(60, 3).astype(np.longdouble)
    _, J = frame_motion(model, model.frames[0], q, np.zeros(len(model.terms), np.longdouble))
    assert J.dtype == np.longdouble
    A = (J if kind == "pose" else J[:, :3]).reshape(-1, len(model.terms))
    rank, basis = 0, np.zeros((len(A), 0), np.longdouble)
    for column in A.T[(A**2).sum(axis=0) > 0]:
        v = column / np.sqrt(column @ column)
        for _ in range(3):
            v = v - basis @ (basis.T @ v)
        length = np.sqrt(v @ v)
        if length > 1e-14:
            rank, basis = rank + 1, np.column_stack([basis, v / length])
    assert rank == identifiability(robot, kind).rank


def test_strategies_are_complete_and_irreducible_everywhere():
    for name in ("ur5", "scara", "panda"):
        robot = zveno.load(name)
        for strategy in ("JL", "BTL", "TR", "R", "JBTR"):
            found = identifiability(robot, "pose", model=CalibrationModel(strategy=strategy))
            alone = identifiability(
                robot, "pose", model=CalibrationModel(parameters=list(found.chosen), strategy=strategy)
            )
            assert alone.rank == len(found.chosen) == found.rank
            assert set(alone.classes) == {"identifiable"}


def test_what_a_relative_measurement_cannot_see():
    found = identifiability(arm("puma560"), "relative_pose")
    # What moves the whole arm is the base's: also the offset of the first joint, and what shifts
    # along or turns about its axis behind it.
    assert set(found.of_class("unidentifiable")) == {"Txo", "Tyo", "Tzo", "Rxo", "Ryo", "Rzo", "Rzq1", "Tz1", "Ry1"}
    assert found.rank_unknowns == 6
    assert identifiability(arm("puma560"), "position").of_class("unidentifiable") == ("Rx6", "Ry6", "Rz6")


def test_contacts_lose_scale_and_a_known_distance_brings_it_back():
    robot = arm("puma560")
    assert identifiability(robot, "point").rank == 20
    assert identifiability(robot, "plane").rank == 20
    assert identifiability(robot, "sockets").rank == 21


def test_known_centres_show_the_base():
    robot = arm("puma560")
    three = np.array([[0.5, 0, 0], [0, 0.6, 0.1], [0.1, -0.4, 0.5]])
    assert identifiability(robot, Distance(centres=three)).rank == 27
    assert identifiability(robot, Distance(centres=2)).rank == 21


def test_camera_counts_both_its_frames():
    found = identifiability(zveno.load("panda"), Camera())
    assert found.rank == 34
    assert found.rank_unknowns == 12
    assert {"camera.Tx", "board.Rz"} <= set(found.chosen)


def test_gear_and_compliance_add_their_terms():
    robot = arm("puma560")
    assert identifiability(robot, "pose", model=CalibrationModel(joint_terms=["gear"])).rank == 36
    soft = identifiability(robot, "pose", model=CalibrationModel(joint_terms=["compliance"]))
    # Axis 1 is vertical and the last link balanced about axis 6: gravity loads neither.
    assert soft.of_class("unidentifiable") == ("Cq1", "Cq6")
    assert soft.rank == 34


def test_residuals_that_are_not_zero_do_not_fool_the_structure():
    """At the postures of a robot that differs from the nominal one, contact Jacobians have a larger rank than is
    true."""
    robot = arm("puma560")
    from calibration_arms import simulated, truth

    from zveno.calibration._fit.frames import first_frames
    from zveno.calibration._fit.parameters import structure
    from zveno.calibration.measurements import Sockets
    from zveno.calibration.measurements.datasets import prepared

    rng = np.random.default_rng(5)
    kind = Sockets()
    names = identifiability(robot, kind).chosen
    campaign = simulated(robot, kind, truth(robot, names, rng, 5e-3, 2e-2), 80, rng, {"position": 1e-4})
    campaigns, _ = prepared(campaign, robot.mechanism)
    problem = fit_problem(redundant_model(robot.mechanism), campaigns)
    problem = problem.placed(first_frames(problem, problem.nominal))
    assert analyse(problem, "as measured").rank > 21
    assert structure(problem, "pulled").rank == 21


def test_bad_strategies_and_kinds_are_refused(two_links):
    with pytest.raises(ZvenoError, match="not a strategy"):
        identifiability(two_links, model=CalibrationModel(strategy="XL"))
    with pytest.raises(ZvenoError, match="no kind of measurement"):
        identifiability(two_links, "telepathy")


def test_results_are_saved_and_loaded(two_links, tmp_path):
    found = identifiability(two_links, "position")
    again = zveno.load_result(found.save(tmp_path / "found.json"))
    assert again.chosen == found.chosen
    assert again.relations == found.relations
    assert again.summary == found.summary


def test_a_point_beside_the_axis_it_was_thought_on_tells_more():
    """The reflector is drawn at the flange, on the last axis, and is 60 mm beside it: two parameters more."""
    robot, kind = zveno.load("panda"), RelativePosition()
    beside = robot.with_tool(transform(None, np.array([0.04, 0.045, 0.02])))
    assert identifiability(robot, kind).rank == 23
    assert identifiability(beside, kind).rank == 25
    rng = np.random.default_rng(4)
    values = truth(beside, identifiability(beside, kind).chosen, rng)
    campaign, unseen = (
        simulated(beside, kind, values, n, rng, {"position": sigma}) for n, sigma in ((60, 1e-4), (50, 1e-9))
    )
    found = calibrate(robot, campaign, folds=0)
    assert found.identifiability.rank == 25
    assert found.identifiability.counts is not None
    assert found.identifiability.counts.agree(25)
    assert found.identifiability.counts.through == 0
    assert found.score(unseen)[0].rms < 1e-4
    # Its place is the tool's, not an offset of the last joint by half a right angle.
    assert found.identifiability.strategy == "TJL"
    np.testing.assert_allclose([found.parameters["Tx7"], found.parameters["Ty7"]], [0.04, 0.045], atol=5e-3)
    assert "Rzq7" not in found.parameters
    on_axis = simulated(
        robot, kind, truth(robot, identifiability(robot, kind).chosen, rng), 60, rng, {"position": 1e-4}
    )
    assert calibrate(robot, on_axis, folds=0).identifiability.rank == 23
