"""Compensation relates like with like: corrections are as small as the errors, and every row has a status."""

import subprocess
import sysconfig

import numpy as np
import pytest
from calibration_arms import FAR, arm, simulated, truth

import zveno
from tiers import few
from zveno.calibration import CalibrationModel
from zveno.calibration._identifiability import identifiability
from zveno.calibration._output import calibrated_mechanism
from zveno.calibration.calibrate import calibrate
from zveno.calibration.compensate import AT_LIMIT, HELD_BACK, LARGEST, REACHED, TOLERANCE, UNCHANGED
from zveno.calibration.measurements import measurement
from zveno.calibration.measurements.datasets import Dataset
from zveno.calibration.models import redundant_model
from zveno.spatial.transforms import transform

REFLECTOR = transform(None, np.array([0.040, 0.015, 0.060]))
"""Where the reflector of the reproducer sits beside the flange, m."""
KINDS = ("pose", "relative_pose", "position", "relative_position", "distance", "camera")
REGULAR = 0.05
"""Least singular value, and distance from the limits in rad, of postures where nothing is in the way."""


def bent(robot: zveno.Robot, kind, rng, tool: np.ndarray) -> zveno.Robot:
    """A robot whose links are off by about a millimetre, carrying another tool than the model's."""
    model = redundant_model(robot.mechanism)
    chosen = [name for name in identifiability(robot, kind).chosen if name in model.numbers]
    names = [name for name in chosen if model.term(name).role != "tool"]
    values = truth(robot, names, rng)
    crooked = calibrated_mechanism(model, values)
    return zveno.Robot(crooked).with_tool(tool)


def regular(robot: zveno.Robot, q: np.ndarray) -> np.ndarray:
    """Those of the postures that are neither near a singularity nor near a limit."""
    away = ((q > robot.lower + REGULAR) & (q < robot.upper - REGULAR)).all(axis=1)
    return q[away & (np.linalg.svd(robot.jacobian(q), compute_uv=False)[:, -1] > REGULAR)]


def of_the_size_of_the_errors(fit, wanted: np.ndarray, command: np.ndarray):
    """A Newton step is no longer than the pose error over the least singular value; curvature adds little."""
    planned = fit.planning_robot
    E = np.linalg.inv(fit.predict(wanted).T_world_frame) @ planned.forward_kinematics(wanted)
    turn = np.linalg.norm(E[:, :3, :3] - np.eye(3), axis=(1, 2)) / np.sqrt(2)
    error = np.hypot(np.linalg.norm(E[:, :3, 3], axis=1), turn)
    least = np.linalg.svd(planned.jacobian(wanted), compute_uv=False)[:, -1]
    assert (np.linalg.norm(command - wanted, axis=1) <= 1.3 * error / least).all()


@pytest.mark.parametrize("name", few(["puma560", "ur5"], 1))
def test_a_reflector_that_is_not_in_the_model(name):
    """The ordinary tracker case: corrections were 265 mrad in the median and 615 rad at most."""
    robot, rng = zveno.load(name), np.random.default_rng(0)
    true = bent(robot, measurement("position"), rng, REFLECTOR)
    q = robot.random(80, rng)
    y = (FAR @ true.forward_kinematics(q))[:, :3, 3] + 2e-5 * rng.normal(size=(80, 3))
    fit = calibrate(
        robot, Dataset(measurement("relative_position"), q, y), model=CalibrationModel(joint_terms=()), folds=0
    )
    wanted = regular(robot, robot.random(300, 5))
    compensation = fit.compensate(wanted)
    assert compensation.reached.all(), compensation.summary
    of_the_size_of_the_errors(fit, wanted, compensation.q)
    assert np.median(abs(compensation.q - wanted)) < 0.01  # some twenty angles are off by 3 mrad

    def point(command):
        return true.forward_kinematics(command)[:, :3, 3]

    # What the nominal robot was asked for, carrying the measured point; distances need no tracker.
    planned = fit.planning_robot
    inside = np.linalg.inv(robot.forward_kinematics(wanted[0])) @ planned.forward_kinematics(wanted[0])
    assert np.linalg.norm(inside[:3, 3] - REFLECTOR[:3, 3]) < 5e-3
    asked = np.linalg.norm(np.diff(planned.forward_kinematics(wanted)[:, :3, 3], axis=0), axis=1)
    before = abs(np.linalg.norm(np.diff(point(wanted), axis=0), axis=1) - asked)
    after = abs(np.linalg.norm(np.diff(point(compensation.q), axis=0), axis=1) - asked)
    assert np.median(before) > 1e-3
    assert np.median(after) < 5e-5


@pytest.mark.parametrize(("name", "seed"), few([(name, seed) for seed in (1, 2) for name in KINDS], 1))
def test_for_every_kind_and_any_tool_corrections_are_of_the_size_of_the_errors(name, seed):
    robot, rng = arm("puma560"), np.random.default_rng(seed)
    kind = measurement(name)
    model = redundant_model(robot.mechanism)
    chosen = [one for one in identifiability(robot, kind).chosen if one in model.numbers]
    values = truth(robot, chosen, rng)
    for k, term in enumerate(model.terms):
        if term.role == "tool" and model.names[k] in chosen:
            values[k] = rng.uniform(-0.08, 0.08) if term.unit == "m" else rng.uniform(-0.3, 0.3)
    sigma = {noise.name: 2e-5 for noise in kind.noises}
    fit = calibrate(
        robot, simulated(robot, kind, values, 60, rng, sigma), model=CalibrationModel(joint_terms=()), folds=0
    )
    q = regular(robot, robot.random(200, rng))
    compensation = fit.compensate(q)
    assert compensation.reached.all(), compensation.summary
    of_the_size_of_the_errors(fit, q, compensation.q)
    planned = fit.planning_robot.forward_kinematics(q)
    np.testing.assert_allclose(fit.predict(compensation.q).T_world_frame, planned, atol=1e-5)
    assert compensation.position_error.max() < TOLERANCE
    # The planning robot is the nominal one but for its tool.
    inside = np.linalg.inv(robot.forward_kinematics(q)) @ planned
    np.testing.assert_allclose(inside, np.broadcast_to(inside[0], inside.shape), atol=1e-12)


@pytest.fixture(scope="module")
def fit():
    robot = arm("puma560")
    rng = np.random.default_rng(0)
    kind = measurement("relative_pose")
    values = truth(robot, identifiability(robot, kind).chosen, rng)
    sigma = {"position": 5e-5, "rotation": 1e-4}
    return calibrate(robot, simulated(robot, kind, values, 40, rng, sigma, {"tracker": FAR}), folds=0)


def test_a_tool_that_is_in_the_model_can_be_corrected_too(fit):
    nominal = zveno.Robot(fit.nominal)
    q = regular(nominal, nominal.random(200, 5))
    compensation = fit.compensate(q, tool="nominal")
    assert compensation.reached.all()
    target = nominal.forward_kinematics(q, frame="tool")
    assert abs(fit.robot.forward_kinematics(q, frame="tool") - target).max() > 1e-3
    assert abs(fit.robot.forward_kinematics(compensation.q, frame="tool") - target).max() < 1e-6
    single = fit.compensate(q[0], tool="nominal")
    np.testing.assert_allclose(single.q, compensation.q[0])
    assert single.codes.shape == ()


def test_no_posture_is_sent_away_and_the_status_says_which_were_not_reached(fit):
    nominal = zveno.Robot(fit.nominal)
    q = nominal.random(2000, 7)
    q[:200, 4] = 0.0  # singular wrists
    compensation = fit.compensate(q)
    assert abs(compensation.q - q).max() <= LARGEST + 1e-12
    assert (compensation.q >= nominal.lower - 1e-12).all()
    assert (compensation.q <= nominal.upper + 1e-12).all()
    E = np.linalg.inv(fit.predict(compensation.q).T_world_frame) @ fit.planning_robot.forward_kinematics(q)
    off = np.linalg.norm(E[:, :3, 3], axis=1)
    np.testing.assert_allclose(off, compensation.position_error, atol=1e-9)
    E0 = np.linalg.inv(fit.predict(q).T_world_frame) @ fit.planning_robot.forward_kinematics(q)

    assert (off <= np.linalg.norm(E0[:, :3, 3], axis=1) + TOLERANCE).all()
    turned, before = (np.linalg.norm(T[:, :3, :3] - np.eye(3), axis=(1, 2)) for T in (E, E0))
    assert (turned <= before + 2.0 * TOLERANCE).all()
    assert (compensation.codes[:200] == HELD_BACK).any()
    assert set(np.unique(compensation.codes)) <= {REACHED, AT_LIMIT, HELD_BACK, UNCHANGED}
    assert "reached" in compensation.summary


def test_a_joint_at_its_limit_stays_there(fit):
    nominal = zveno.Robot(fit.nominal)
    q = regular(nominal, nominal.random(300, 9))
    free = fit.compensate(q)
    joint = 1
    up = free.q[:, joint] > q[:, joint]
    q[:, joint] = np.where(up, nominal.upper[joint], nominal.lower[joint])
    held = fit.compensate(q)
    assert (held.q[:, joint] <= nominal.upper[joint]).all()
    assert (held.q[:, joint] >= nominal.lower[joint]).all()
    assert (held.codes == AT_LIMIT).any()


def test_compensation_in_c_returns_the_status(fit, tmp_path):
    compiler = sysconfig.get_config_var("CC")
    if not compiler or subprocess.run([*compiler.split()[:1], "--version"], capture_output=True).returncode:
        pytest.skip("no C compiler")
    header, source = fit.export_compensation(tmp_path)
    nominal = zveno.Robot(fit.nominal)
    q = np.vstack([nominal.random(20, 3), np.zeros(6), nominal.upper])
    rows = ", ".join("{" + ", ".join(map(repr, row.tolist())) + "}" for row in q)
    main = tmp_path / "main.c"
    main.write_text(
        f'#include <stdio.h>\n#include "{header.name}"\n'
        f"int main(void) {{ static const double q[{len(q)}][6] = {{{rows}}}; double c[6], p[1], r[1];"
        f"for (int k = 0; k < {len(q)}; k++) {{ int status = compensate(q[k], c, p, r);"
        'for (int i = 0; i < 6; i++) printf("%.15g ", c[i]); printf("%d %.15g\\n", status, p[0]); } return 0; }'
    )
    program = tmp_path / "main"
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror"]
    subprocess.run([compiler.split()[0], *flags, str(main), str(source), "-lm", "-o", str(program)], check=True)
    said = np.array(
        [
            line.split()
            for line in subprocess.run([str(program)], capture_output=True, text=True).stdout.splitlines()
        ],
        dtype=float,
    )
    compensation = fit.compensate(q)
    np.testing.assert_allclose(said[:, :6], compensation.q, atol=1e-9)
    np.testing.assert_array_equal(said[:, 6], compensation.codes)
    np.testing.assert_allclose(said[:, 7], compensation.position_error, atol=1e-9)
    assert len(np.unique(compensation.codes)) > 1


def test_another_tool_is_refused(fit):
    with pytest.raises(zveno.ZvenoError, match="measured"):
        fit.compensate(np.zeros(6), tool="drawn")


def test_an_arm_with_too_few_joints_is_as_close_as_it_can():
    robot = zveno.load("Rz(q1) Tx(0.25) Rz(q2) Tx(0.16) Tz(q3)")
    model = redundant_model(robot.mechanism)
    values = truth(robot, model.names, np.random.default_rng(3))
    rng = np.random.default_rng(0)
    fit = calibrate(
        robot, simulated(robot, measurement("pose"), values, 30, rng, {"position": 1e-5, "rotation": 1e-5})
    )
    q = robot.random(50, 1)
    compensation = fit.compensate(q)
    assert set(np.unique(compensation.codes)) == {HELD_BACK, UNCHANGED}
    assert (compensation.codes == HELD_BACK).mean() > 0.7
    planned = fit.planning_robot.forward_kinematics(q)
    off = np.linalg.norm((fit.predict(q).T_world_frame - planned)[:, :3, 3], axis=1)
    assert compensation.position_error.mean() < off.mean()
