"""Recovery: truth → measurements of every kind with noise → fit → truth within the predicted uncertainty."""

import numpy as np
import pytest
from calibration_arms import FAR, NEAR, arm, simulated, truth

import tiers
import zveno
from tiers import every, few
from zveno.calibration import CalibrationModel
from zveno.calibration._identifiability import identifiability
from zveno.calibration._kinematics import frame_motion
from zveno.calibration._output import calibrated_mechanism
from zveno.calibration.calibrate import calibrate
from zveno.calibration.measurements import (
    AxisDirection,
    Camera,
    Distance,
    FixedPoint,
    Plane,
    Pose,
    Position,
    RelativePose,
    RelativePosition,
    Sockets,
)
from zveno.calibration.measurements._fit_problem import fit_problem
from zveno.calibration.models import redundant_model
from zveno.spatial.transforms import transform

SIGMA = 5e-5
POINTS = np.array([[0.05, 0.0, 0.0], [0.0, 0.06, 0.02], [-0.04, 0.0, 0.05]])


def _point(x, y, z):
    return transform(None, np.array([x, y, z]))


KINDS = {
    "pose": (Pose(), {"position": SIGMA, "rotation": 1e-4}, {}, 40),
    "relative pose": (RelativePose(), {"position": SIGMA, "rotation": 1e-4}, {"tracker": FAR}, 40),
    "position": (Position(), {"position": SIGMA}, {}, 60),
    "known points": (Position(points=POINTS), {"position": SIGMA}, {}, 40),
    "unknown points": (
        RelativePosition(points=np.zeros((3, 3)), unknown_points=True),
        {"position": SIGMA},
        {"tracker": FAR} | {f"marker{k + 1}": _point(*p) for k, p in enumerate(POINTS)},
        40,
    ),
    "relative position": (RelativePosition(), {"position": SIGMA}, {"tracker": FAR}, 60),
    "distance": (
        Distance(centres=3),
        {"distance": SIGMA},
        {f"centre{k}": _point(*p) for k, p in enumerate([(0.9, 0, 0), (0, 0.9, 0.2), (-0.5, -0.5, 0.9)], start=1)},
        90,
    ),
    "known centres": (
        Distance(centres=[[0.9, 0, 0], [0, 0.9, 0.2], [-0.5, -0.5, 0.9]]),
        {"distance": SIGMA},
        {},
        60,
    ),
    "eye in hand": (Camera(), {"position": SIGMA, "rotation": 1e-4}, {"board": FAR, "camera": NEAR}, 40),
    "eye to hand": (
        Camera(mount="world", gives="board"),
        {"position": SIGMA, "rotation": 1e-4},
        {"camera": FAR, "board": NEAR},
        40,
    ),
    "direction": (AxisDirection(axis=(0.6, 0.0, 0.8)), {"direction": 1e-4}, {}, 60),
    "socket": (FixedPoint(), {"position": SIGMA}, {}, 110),
    "two sockets": (Sockets(sigma_distance=1e-6), {"position": SIGMA}, {}, 110),
    "unknown plane": (Plane(), {"height": SIGMA}, {}, 160),
    "known plane": (Plane(normal=(0.0, 0.0, 1.0), offset=0.2), {"height": SIGMA}, {}, 160),
}


@pytest.mark.parametrize("name", every(KINDS, 4))
def test_truth_is_found_within_what_is_predicted(name):
    kind, sigma, frames, n = KINDS[name]
    robot = arm("puma560")
    rng = np.random.default_rng(len(name))
    chosen = [one for one in identifiability(robot, kind).chosen if "." not in one]
    values = truth(robot, chosen, rng)
    campaign = simulated(robot, kind, values, n, rng, sigma, frames)
    found = calibrate(robot, campaign, model=CalibrationModel(strategy="JL"), folds=3)
    assert found.converged
    assert list(found.names) == chosen
    before = found.baseline[0].rms
    assert found.training[0].rms < 0.5 * before
    true = values[[found.model.numbers[one] for one in chosen]]
    normalised = (found.values - true) / found.std
    assert abs(normalised).max() < 3.0
    assert np.sqrt(np.mean(normalised**2)) < 1.4
    for (_, estimated), given in zip(found.sigma.items(), sigma.values(), strict=True):
        assert estimated == pytest.approx(given, rel=0.35)
    assert not found.outliers
    assert found.held_out[0].rms < 0.7 * before


@pytest.mark.parametrize("name", few(["scara", "ur5", "panda", "stanford"], 1))
def test_parallel_and_redundant_arms_fit_without_blow_up(name):
    robot = arm(name)
    rng = np.random.default_rng(2)
    kind = RelativePose(sigma={"position": SIGMA, "rotation": 1e-4})
    chosen = identifiability(robot, kind).chosen
    values = truth(robot, chosen, rng)
    campaign = simulated(robot, kind, values, 50, rng, {"position": SIGMA, "rotation": 1e-4}, {"tracker": FAR})
    found = calibrate(robot, campaign, folds=0)
    assert found.converged
    assert found.iterations < 20
    q = robot.random(50, 9)
    relative = _relative(found.robot, q) - _relative(_true_robot(found, values), q)
    assert abs(relative).max() < 2e-3
    assert found.training[0].rms == pytest.approx(SIGMA * np.sqrt(3), rel=0.2)


def _true_robot(found, values):

    return zveno.Robot(calibrated_mechanism(found.model, values))


def _relative(robot, q):
    T = robot.forward_kinematics(q, frame="tool")
    return np.linalg.inv(T[:1]) @ T


def test_covariance_is_calibrated():
    """Normalised errors over many runs of a planar arm have the predicted covariance."""
    from zveno.calibration._fit.parameters import fit_columns, fit_options, structure
    from zveno.calibration._fit.solve import solve
    from zveno.calibration.measurements.datasets import prepared
    from zveno.calibration.models import redundant_model

    robot = zveno.load("Rz(q1) Tx(0.25) Rz(q2) Tx(0.16)")
    kind = Position(sigma=SIGMA)
    rng = np.random.default_rng(8)
    values = truth(robot, identifiability(robot, kind).chosen, rng)
    q = robot.random(20, 1)
    errors = []
    found = None
    runs = 100 if tiers.tier == "test" else 500
    for _ in range(runs):
        campaign = simulated(robot, kind, values, 20, rng, {"position": SIGMA}, q=q)
        campaigns, _ = prepared(campaign, robot.mechanism)
        problem = fit_problem(redundant_model(robot.mechanism), campaigns)
        found = found or structure(problem, "planar")
        columns = fit_columns(problem, found)
        options = fit_options(problem, columns, "none", {})
        fit = solve(problem, options, values, problem.frames)
        std = np.sqrt(np.diag(fit.factors.covariance()))
        errors.append((fit.values[list(columns)] - values[list(columns)]) / std)
    errors = np.array(errors)
    assert abs(errors.mean(axis=0)).max() < 4.0 / np.sqrt(runs)
    np.testing.assert_allclose(errors.std(axis=0), 1.0, atol=4.0 / np.sqrt(2 * runs))


def test_encoder_noise_enters_the_weights():
    robot = arm("ur5")
    rng = np.random.default_rng(4)
    chosen = identifiability(robot, "position").chosen
    values = truth(robot, chosen, rng)
    campaign = simulated(robot, Position(), values, 60, rng, {"position": 1e-4})
    plain = calibrate(robot, _with(campaign, Position(sigma=1e-4)), folds=0)
    noisy = calibrate(robot, _with(campaign, Position(sigma=1e-4, sigma_q=2e-4)), folds=0)
    assert (noisy.std > plain.std * 1.05).all()


def _with(campaign, kind):
    from dataclasses import replace

    return replace(campaign, measurement=kind)


def test_several_campaigns_in_one_fit_know_more():
    robot = arm("puma560")
    rng = np.random.default_rng(6)
    chosen = identifiability(robot, "pose").chosen
    values = truth(robot, chosen, rng)
    sigma = {"position": SIGMA}
    one = simulated(robot, RelativePosition(sigma=SIGMA), values, 40, rng, sigma, {"tracker": FAR})
    two = simulated(
        robot, RelativePosition(reference="second", sigma=SIGMA), values, 40, rng, sigma, {"second": NEAR}
    )
    alone, both = calibrate(robot, one, folds=0), calibrate(robot, [one, two], folds=0)
    assert both.names == alone.names
    assert (both.std < alone.std).all()
    assert {"tracker", "second"} <= set(both.unknowns)


def test_missing_components_are_allowed():
    robot = arm("puma560")
    rng = np.random.default_rng(7)
    chosen = identifiability(robot, "position").chosen
    values = truth(robot, chosen, rng)
    campaign = simulated(robot, Position(), values, 80, rng, {"position": SIGMA})
    campaign.y[::3, 0, 2] = np.nan
    campaign.y[5] = np.nan
    with pytest.warns(zveno.ZvenoWarning, match="row 6 has no reading"):
        found = calibrate(robot, campaign, folds=0)
    true = values[[found.model.numbers[name] for name in found.names]]
    assert abs((found.values - true) / found.std).max() < 4.5
    assert found.scalar_rows == 3 * 80 - 27 - 3


def test_constant_bias_goes_into_the_base():
    """Document 001: a constant error of the measuring system ends up in the translation of the base."""
    robot = arm("puma560")
    rng = np.random.default_rng(3)
    chosen = identifiability(robot, "pose").chosen
    values = truth(robot, chosen, rng)
    sigma = {"position": SIGMA, "rotation": 1e-4}
    campaign = simulated(robot, Pose(), values, 60, rng, sigma)
    bias = np.array([0.004, -0.003, 0.002])
    campaign.y[:, 0, :3] += bias
    found = calibrate(robot, campaign, folds=0)
    true = dict(zip(chosen, values[[found.model.numbers[name] for name in chosen]], strict=True))
    for axis, name in enumerate(("Txo", "Tyo", "Tzo")):
        assert found.parameters[name] - true[name] == pytest.approx(bias[axis], abs=2e-4)
    others = [k for k, name in enumerate(found.names) if name not in ("Txo", "Tyo", "Tzo")]
    errors = np.array([found.values[k] - true[found.names[k]] for k in others]) / found.std[others]
    assert abs(errors).max() < 4.5


def test_gears_and_compliance_are_recovered():
    robot = zveno.load("ur5").with_tool(transform(None, np.array([0.05, 0.04, 0.1])))
    rng = np.random.default_rng(13)
    terms = ("gear", "compliance")
    kind = Pose()
    chosen = identifiability(robot, kind, model=CalibrationModel(joint_terms=terms)).chosen
    from zveno.calibration.models import redundant_model

    model = redundant_model(robot.mechanism, None, terms)
    values = np.zeros(len(model.terms))
    sizes = {"m": 1e-3, "rad": 2e-3, "1": 1e-3, "rad/Nm": 3e-5}
    for name in chosen:
        values[model.numbers[name]] = rng.normal() * sizes[model.term(name).unit]
    sigma = {"position": SIGMA, "rotation": 1e-4}
    campaign = simulated(robot, kind, values, 80, rng, sigma, joint_terms=terms)
    found = calibrate(robot, campaign, model=CalibrationModel(joint_terms=terms), folds=0)
    true = values[[model.numbers[name] for name in found.names]]
    assert tuple(found.names) == tuple(chosen)
    assert abs((found.values - true) / found.std).max() < 4.5


def test_outliers_are_named_with_their_evidence():
    robot = arm("puma560")
    rng = np.random.default_rng(14)
    values = truth(robot, identifiability(robot, "position").chosen, rng)
    campaign = simulated(robot, Position(), values, 80, rng, {"position": SIGMA})
    campaign.y[[10, 40, 41], 0, 0] += [0.004, -0.003, 0.01]
    found = calibrate(robot, campaign)
    assert [one.row for one in found.outliers] == [42, 11, 41]
    assert all(one.distance > one.limit for one in found.outliers)
    assert found.held_out[0].rms > 3 * found.held_out_unflagged[0].rms
    assert "3 of 80 rows" in found.verdict
    plain = calibrate(robot, campaign, loss="none", folds=0)
    assert not plain.outliers
    assert plain.sigma["position: position"] > 3 * found.sigma["position: position"]


@pytest.mark.parametrize("seed", few(range(6), 1))
def test_few_good_rows_are_not_taken_for_outliers(seed):
    """42 equations for 31 unknowns: a fit that leaves a row out predicts it badly, which is no evidence."""
    robot = arm("puma560")
    rng = np.random.default_rng(seed)
    values = truth(robot, identifiability(robot, "relative_position").chosen, rng)
    campaign = simulated(robot, RelativePosition(), values, 14, rng, {"position": 1e-4}, {"tracker": FAR})
    assert not calibrate(robot, campaign, folds=0).outliers


@pytest.mark.parametrize("kind", few([FixedPoint(), Plane()], 1))
def test_the_size_of_a_robot_that_no_length_tells_is_that_of_its_links(kind):
    """A tool that is off by 5 mm must not make the whole robot larger by as much of its share."""
    robot = arm("puma560")
    rng = np.random.default_rng(3)
    values = truth(robot, redundant_model(robot.mechanism).names, rng, 5e-4, 5e-4)
    values[[redundant_model(robot.mechanism).numbers[name] for name in ("Tx6", "Ty6", "Tz6")]] = 3e-3
    found = calibrate(robot, simulated(robot, kind, values, 60, rng, {"position": 1e-4}), folds=0)
    assert found.identifiability.strategy == "JTL"
    q = robot.random(200, 4)
    model = redundant_model(robot.mechanism)
    true = frame_motion(model, model.frames[0], q, values)[0][:, :3, 3]
    apart = found.predict(q).T_world_frame[:, :3, 3]
    centre, other = true.mean(axis=0), apart.mean(axis=0)
    U, _, Vt = np.linalg.svd((apart - other).T @ (true - centre))
    R = (U * [1, 1, np.sign(np.linalg.det(U @ Vt))]) @ Vt
    assert np.sqrt(np.mean(np.sum(((apart - other) @ R - (true - centre)) ** 2, axis=1))) < 2e-3
