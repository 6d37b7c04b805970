"""Plans of postures for real arms: rows, gradients, predictions, constraints, refusals."""

from __future__ import annotations

import numpy as np
import pytest
from plan_errors import squares_of_errors
from reproduction import plan_study as study

import zveno
from zveno.calibration import CalibrationModel
from zveno.calibration.files import read_dataset
from zveno.calibration.measurements import Camera, Distance, Pose, Position, RelativePosition
from zveno.calibration.measurements.datasets import Dataset
from zveno.calibration.planning import Clearance, Visibility, evaluate_poses, plan_poses
from zveno.calibration.planning._criteria import CRITERIA, named_criterion
from zveno.calibration.planning._information import PlannedRows
from zveno.calibration.planning._problem import plan_problem
from zveno.calibration.planning._refine import Objective, refined
from zveno.io.tables import write_measurements

KINDS = {
    "position": Position(points=[[0.1, 0.0, 0.05]], sigma=5e-5),
    "two points": Position(points=[[0.1, 0.0, 0.05], [0.0, 0.1, 0.2]], sigma=5e-5),
    "pose": Pose(sigma={"position": 1e-4, "rotation": 2e-4}),
    "noisy joints": Pose(sigma=1e-4, sigma_q=1e-4),
    "relative": RelativePosition(sigma=5e-5),
    "distance": Distance(sigma=5e-5),
    "camera": Camera(sigma=1e-3),
}
PLANAR = ["Rzq1", "Rzq2", "Tx1", "Tx2", "Txo", "Tyo"]
ORDER = ["Tx1", "Tx2", "Rzq1", "Rzq2", "Txo", "Tyo"]
"""Those of `study.NAMES`, in its order."""


@pytest.fixture(scope="module")
def puma():
    return zveno.load("puma560")


@pytest.mark.laws(after=1)
@pytest.mark.parametrize("kind", [name for name in KINDS if name != "noisy joints"])
def test_rows_are_those_of_the_calibration(kind, puma):
    """An independent route: calibration's own system of residuals, evaluated at zero residual."""
    rows = PlannedRows(puma, KINDS[kind])
    problem = rows.problem
    q = problem.parts[0].q
    _, J = problem.evaluate(np.zeros(len(rows.model.terms)), problem.frames, exact=True)
    J = (J[:, rows.columns] * rows.scales).reshape(len(q), -1, len(rows.names)) / rows.sigmas[:, None]
    assert np.allclose(rows.jacobians(q), J, atol=1e-9 * abs(J).max())


def test_noise_of_joint_sensors_widens_every_row(puma):
    """σ² = σg² + r² σq²: the rows of a plain measurement, divided by what the joints add."""
    plain, noisy = PlannedRows(puma, Pose(sigma=1e-4)), PlannedRows(puma, KINDS["noisy joints"])
    q = puma.random(5, 1)
    ratio = np.linalg.norm(plain.jacobians(q), axis=2) / np.linalg.norm(noisy.jacobians(q), axis=2)
    arms = np.linalg.norm(puma.jacobian(q)[:, :3], axis=2)  # world axes, as positions are measured
    assert np.allclose(ratio[:, :3], np.sqrt(1.0 + arms**2), rtol=1e-9)


@pytest.mark.laws
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["D", "A", "E", "G"])
def test_gradients_by_posture_against_differences(kind, name, puma):
    rows = PlannedRows(puma, KINDS[kind])
    q = puma.random(14 if kind != "distance" else 40, 3)
    F = rows.tool(q)[1]
    objective = Objective(rows, named_criterion(name, F), np.zeros((len(rows.names),) * 2))
    value, slope = objective.log_and_slope(q)
    assert value == pytest.approx(np.log(objective.value(q)))
    rng = np.random.default_rng(0)
    for _ in range(3):
        v = rng.normal(size=q.shape)
        h = 1e-6
        change = (np.log(objective.value(q + h * v)) - np.log(objective.value(q - h * v))) / (2 * h)
        assert np.sum(slope * v) == pytest.approx(change, rel=1e-4, abs=1e-4)


def test_the_tool_follows_the_parameters(puma):
    """Columns of the tool's Jacobian for joint offsets are those of the robot's own Jacobian."""
    rows = PlannedRows(puma, Position(sigma=1e-4))
    q = puma.random(4, 5)
    p, F = rows.tool(q)
    assert np.allclose(p, puma.forward_kinematics(q)[:, :3, 3])
    J = puma.jacobian(q)[:, :3]
    for joint in range(2, 4):
        assert np.allclose(F[..., rows.names.index(f"Rzq{joint}")], J[..., joint - 1])


def test_document_plans_through_the_general_route():
    robot = zveno.load("planar2")
    for plan, expected in (
        (study.usual_plan(), study.predicted_std(study.usual_plan())),
        (study.proposed_plan(), study.predicted_std(study.proposed_plan())),
    ):
        found = evaluate_poses(robot, Position(sigma=2e-4), plan, model=CalibrationModel(parameters=PLANAR))
        sigma = [found.sigma[found.names.index(name)] for name in ORDER]
        assert np.allclose(np.array(sigma) * [1e3, 1e3, 1, 1, 1e3, 1e3], expected, rtol=1e-9)


@pytest.mark.laws
def test_an_optimal_plan_of_the_planar_arm_beats_the_documents():
    """The proposed plan is D-optimal (its information is as large as can be): it is reached, not exceeded. For the
    mean variance and the worst direction better plans exist, and are found."""
    robot, kind = zveno.load("planar2"), Position(sigma=2e-4)
    for name, gain in (("D", -1e-6), ("A", 1e-3), ("E", 1e-3)):
        plan = plan_poses(
            robot,
            kind,
            16,
            criterion=name,
            model=CalibrationModel(parameters=PLANAR),
            clearance=None,
            candidates=2000,
        )
        usual, proposed = (
            evaluate_poses(robot, kind, q, criterion=name, model=CalibrationModel(parameters=PLANAR))
            for q in (study.usual_plan(), study.proposed_plan())
        )
        assert plan.value > 1.5 * usual.value
        assert plan.value > (1.0 + gain) * proposed.value


@pytest.mark.laws
@pytest.mark.parametrize("name", CRITERIA)
def test_every_criterion_improves_on_random(name, puma):
    plan = plan_poses(puma, KINDS["position"], 15, criterion=name, candidates=400)
    assert plan.over_random > 1.0
    values = [plan.values[stage] for stage in ("greedy", "exchange", "refined") if stage in plan.values]
    assert values[1:] == sorted(values[1:])
    assert plan.value == values[-1]
    assert plan.status == "determined"
    assert plan.summary


def test_predicted_covariance_is_that_of_monte_carlo(puma):
    """Linearised calibrations with seeded noise scatter as predicted."""
    plan = plan_poses(puma, KINDS["position"], 15, candidates=500)
    rows = PlannedRows(puma, KINDS["position"])
    J = rows.jacobians(plan.q).reshape(-1, len(rows.names))
    noise = np.random.default_rng(0).normal(size=(4000, len(J)))
    found = noise @ np.linalg.pinv(J).T * rows.scales
    assert np.allclose(found.std(axis=0), plan.sigma, rtol=0.06)
    assert np.allclose(np.sqrt(np.diag(plan.covariance)), plan.sigma)


@pytest.mark.laws
def test_predicted_covariance_is_that_of_real_calibrations(puma):
    """The estimator itself, on simulated readings: errors weighed by the predicted covariance are χ²."""
    kind, runs = KINDS["position"], 30
    plan = plan_poses(puma, kind, 30, candidates=500)
    planned, own = squares_of_errors(puma, kind, plan, 1e-3, runs)
    scatter = np.sqrt(2.0 / (runs * len(plan.names)))
    assert abs(planned - 1.0) < 4.0 * scatter
    assert abs(own - 1.0) < 4.0 * scatter
    # An exactly nominal robot is found better than that, never worse.
    assert max(squares_of_errors(puma, kind, plan, 0.0, runs)) < 1.0 + 4.0 * scatter


def test_tool_accuracy_is_that_of_monte_carlo(puma):
    q = puma.random(500, 8)
    plan = plan_poses(puma, KINDS["position"], 15, candidates=q, margin=0.0, clearance=None)
    rows = PlannedRows(puma, KINDS["position"])
    p = np.random.default_rng(1).multivariate_normal(np.zeros(len(plan.names)), plan.covariance, 4000)
    positions, F = rows.tool(q[: len(plan.tool_sigma)])
    np.testing.assert_allclose(positions, plan.tool_positions)
    moved = np.einsum("wij,nj->nwi", F, p / rows.scales)
    assert np.allclose(np.sqrt(np.mean(np.sum(moved**2, axis=2), axis=0)), plan.tool_sigma, rtol=0.05)


def test_added_postures_complete_what_was_measured(puma):
    have = puma.random(12, 2)
    kind = KINDS["position"]
    more = plan_poses(puma, kind, 6, existing=Dataset(kind, have), candidates=500)
    assert more.n_have == 12
    assert more.sigma_before is not None
    assert np.all(more.sigma < more.sigma_before)
    whole = evaluate_poses(puma, kind, np.concatenate([have, more.q]))
    assert np.allclose(whole.sigma, more.sigma, rtol=1e-6)


def test_postures_keep_to_every_rule(puma):
    see = Visibility(viewer=(2.0, 0.0, 0.5), half_angle=1.2, axis=(0, 0, 1), farthest=2.5)
    box = ((0.1, -0.6, 0.0), (0.9, 0.6, 1.2))
    plan = plan_poses(
        puma,
        KINDS["position"],
        14,
        candidates=300,
        box=box,
        visibility=see,
        clearance=Clearance(radius=0.04, ground=-0.5),
        limits={"joint1": (-1.0, 1.0)},
        margin=0.02,
    )
    T = puma.forward_kinematics(plan.q)
    assert np.all((T[:, :3, 3] >= box[0]) & (T[:, :3, 3] <= box[1]))
    line = np.array([2.0, 0.0, 0.5]) - T[:, :3, 3]
    cosine = np.sum(T[:, :3, 2] * line, axis=1) / np.linalg.norm(line, axis=1)
    assert np.all(cosine >= np.cos(1.2))
    assert np.all(abs(plan.q[:, 0]) <= 0.96 + 1e-9)
    assert np.all((plan.q >= puma.lower) & (plan.q <= puma.upper))


def test_refinement_respects_what_is_allowed(puma):
    task = plan_problem(puma, KINDS["position"], candidates=200, box=((0, -1, 0), (1, 1, 1)))
    objective = Objective(task.rows, task.criterion, task.prior)
    start = task.q[:15]
    better = refined(objective, start, task.allowed.lower, task.allowed.upper, task.allowed)
    assert task.allowed(better).all()
    assert objective.value(better) > objective.value(start)


def test_candidates_that_cannot_tell_are_refused_by_name(puma):
    # A joint that stands still merges the links on both its sides: the four parameters of one of them are lost.
    with pytest.raises(zveno.ZvenoError, match="23 of 27") as caught:
        plan_poses(puma, KINDS["position"], 20, limits={"joint3": (0.5, 0.5)}, clearance=None)
    assert "Tx3, Ty3, Rx3, Rzq4 cannot be told from the others" in str(caught.value)
    assert "joints must move" in str(caught.value)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"n": 4}, "at least 9"),
        ({"n": 0}, "positive"),
        ({"criterion": "Z"}, "Known: D"),
        ({"candidates": np.zeros((3, 5))}, "last axis"),
        ({"candidates": np.full((3, 6), 50.0)}, "none of the candidates"),
        ({"box": ((0, 0, 0), (1, 1))}, "box"),
        ({"box": ((9, 9, 9), (10, 10, 10))}, "box"),
        ({"limits": {"elbow": (0, 1)}}, "joint1"),
        ({"limits": {"joint1": (9, 10)}}, "range"),
        ({"margin": 0.7}, "margin"),
        ({"existing": np.zeros((2, 3))}, "last axis"),
        ({"existing": np.full((2, 6), np.nan)}, "finite"),
        ({"visibility": Visibility((0, 0))}, "viewer"),
        ({"visibility": Visibility((0, 0, 0), axis=(0, 0, 0))}, "direction"),
    ],
)
def test_nonsense_is_refused_with_a_remedy(options, said, puma):
    arguments = {"n": 20, "criterion": "D", "candidates": 100} | options
    with pytest.raises(zveno.ZvenoError, match=said):
        plan_poses(puma, KINDS["position"], **arguments)


def test_plans_are_files(puma, tmp_path):
    kind = KINDS["position"]
    plan = plan_poses(puma, kind, 12, candidates=300)
    again = zveno.load_result(plan.save(tmp_path / "plan.json"))
    assert np.array_equal(again.q, plan.q)
    assert again.summary == plan.summary
    read = read_dataset(plan.write_csv(tmp_path / "plan.csv"), puma.mechanism, kind, planned=True)
    assert np.allclose(read.q, plan.q, atol=1e-8)
    assert read.y is None
    with pytest.raises(zveno.ZvenoError, match="no column x"):
        read_dataset(tmp_path / "plan.csv", puma.mechanism, kind)


@pytest.mark.laws
def test_what_was_measured_may_be_in_degrees_and_have_gaps(puma, tmp_path):
    """Rows without a reading tell nothing: the rest of the file is what the plan completes."""
    kind, q = KINDS["position"], puma.random(12, 2)
    rows = np.column_stack([np.rad2deg(q), np.ones((12, 3))])
    rows[3, 6:] = np.nan
    rows[7, 2] = np.nan
    file = tmp_path / "data.csv"
    file.write_text(write_measurements([*puma.joint_names, "x", "y", "z"], rows, {"angle": "deg"}))
    plan = plan_poses(puma, kind, 8, existing=read_dataset(file, puma.mechanism, kind), candidates=300)
    assert plan.n_have == 10
    assert "data.csv: lines 6, 10 have no posture or no reading: not counted" in plan.notes
    whole = plan_poses(puma, kind, 8, existing=[q[:3], q[4:7], q[8:]], candidates=300)
    assert np.allclose(plan.sigma, whole.sigma)
    assert plan_poses(puma, kind, 8, existing=plan, candidates=300).n_have == 8


def test_the_same_seed_gives_the_same_plan(puma):
    one, two = (plan_poses(puma, KINDS["position"], 12, candidates=300, rng=4) for _ in range(2))
    assert np.array_equal(one.q, two.q)
