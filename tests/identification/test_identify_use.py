"""What an identification is used for: predictions, a robot, files, C code, and parameters on line."""

import shutil
import subprocess

import numpy as np
import pytest
from simulated_logs import Friction, recorded, simulated_logs

import zveno
from zveno import identification
from zveno.mechanism.edit import fix_joints

FRICTION = Friction(viscous=1.0, coulomb=2.0, third=0.5, load=0.05)


@pytest.fixture(scope="module")
def robot():
    return zveno.load("puma560")


@pytest.fixture(scope="module")
def run(robot):
    (one,) = simulated_logs(robot, FRICTION, seconds=12.0, torque_noise=0.03, rng=8)
    return one


@pytest.fixture(scope="module")
def found(robot, run):
    return robot.identify(run.log, friction_terms="default", band=6.0)


def states(robot, seed=0, shape=(5,)):
    rng = np.random.default_rng(seed)
    return tuple(rng.uniform(-1.0, 1.0, (*shape, robot.n_v)) for _ in range(3))


def test_predictions_are_near_the_truth_and_have_batch_axes(robot, found):
    q, v, a = states(robot, shape=(3, 4))
    predicted = found.predict(q, v, a)
    truth = FRICTION.torque(v, robot.inverse_dynamics(q, v, a))
    assert predicted.tau.shape == predicted.std.shape == (3, 4, 6)
    size = np.sqrt((truth**2).mean(axis=(0, 1)))
    assert (np.sqrt(((predicted.tau - truth) ** 2).mean(axis=(0, 1))) < 0.1 * size + 0.1).all()
    one = found.predict(q[0, 0], v[0, 0], a[0, 0])
    np.testing.assert_allclose(one.tau, predicted.tau[0, 0], atol=1e-12)
    assert (predicted.lower < predicted.upper).all()
    assert (predicted.std > predicted.parameter_std).all()


def test_the_band_covers_what_it_claims(robot, run, found):
    """Bands from other blocks cover a block, and bands from one run cover another, as often as they say."""
    (other,) = simulated_logs(robot, FRICTION, seconds=12.0, torque_noise=0.03, rng=9)
    checked = robot.identify(run.log, validation=other.log, friction_terms="default", band=6.0).validation
    level = checked.levels.index(0.95)
    assert (abs(found.validation.coverage[level] - 0.95) < 0.05).all()
    assert checked.held_out == "logs"
    assert checked.overall["identified"] < 0.05


@pytest.mark.laws
def test_the_robot_has_the_identified_inertia_and_simulates(robot, found):
    q, v, a = states(robot, 1)
    W = found.model.dense(found.model.packed(q, v, a))
    inertial = found.values.copy()
    inertial[: len(found.kept)][found.model.weightless] = 0.0
    inertial[len(found.kept) :] = 0.0
    np.testing.assert_allclose(found.robot.inverse_dynamics(q, v, a), W @ inertial, atol=1e-9)
    assert found.robot.simulate(q[0], duration=0.01, joint_friction=True).finished
    assert any("friction" in sentence for sentence in found.left_out)


def test_the_model_file_holds_the_robot(robot, found, tmp_path):
    with pytest.warns(zveno.ZvenoWarning, match="friction"):
        path = found.write(tmp_path / "identified.urdf")
    q, v, a = states(robot, 2)
    written = zveno.load(path)
    expected = found.robot.inverse_dynamics(q, v, a, joint_friction=True)
    np.testing.assert_allclose(written.inverse_dynamics(q, v, a, joint_friction=True), expected, atol=1e-6)


def test_a_saved_result_predicts_the_same(found, tmp_path):
    again = zveno.load_result(found.save(tmp_path / "found.json"))
    q, v, a = states(found.robot, 3)
    np.testing.assert_array_equal(again.predict(q, v, a).tau, found.predict(q, v, a).tau)
    np.testing.assert_array_equal(again.covariance, found.covariance)


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_the_c_code_computes_the_predicted_torques(robot, found, tmp_path):
    export = found.export_c(tmp_path)
    (function,) = export.functions
    q, v, a = (x[0] for x in states(robot, 4))
    numbers = {name: ", ".join(map(repr, map(float, x))) for name, x in (("q", q), ("v", v), ("a", a))}
    arrays = [f"double {name}[] = {{{values}}};" for name, values in numbers.items()]
    text = f"""#include <stdio.h>
#include "{function.name}.h"
int main(void) {{ {" ".join(arrays)} double tau[6]; int i; {function.name}(q, v, a, tau);
for (i = 0; i < 6; ++i) printf("%.17g\\n", tau[i]); return 0; }}
"""
    (tmp_path / "run.c").write_text(text)
    command = ["cc", "-O1", "run.c", f"{function.name}.c", "-lm", "-o", "run"]
    subprocess.run(command, cwd=tmp_path, check=True)
    out = subprocess.run(["./run"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    np.testing.assert_allclose([float(x) for x in out.split()], found.predict(q, v, a).tau, atol=1e-10)


def batch(found, W, tau, weight=None):
    rows = (W / found.sigma[:, None]).reshape(-1, W.shape[2])
    values = (tau / found.sigma).ravel()
    if weight is not None:
        rows, values = rows * np.repeat(weight, 6)[:, None], values * np.repeat(weight, 6)
    return np.linalg.lstsq(rows, values, rcond=None)[0]


@pytest.mark.parametrize("forgetting", [1.0, 0.99])
def test_on_line_equals_batch(robot, found, forgetting):
    rng = np.random.default_rng(5)
    q, v, a = states(robot, 6, (300,))
    tau = found.predict(q, v, a).tau + 0.1 * rng.normal(size=(300, 6))
    online = identification.RecursiveLeastSquares(found, forgetting=forgetting)
    for first, last in ((0, 1), (1, 2), (2, 150), (150, 300)):
        online.update(q[first:last], v[first:last], a[first:last], tau[first:last])
    W = found.model.dense(found.model.packed(q, v, a, found.load[:, None]))
    weight = forgetting ** (0.5 * np.arange(299, -1, -1))
    np.testing.assert_allclose(online.values, batch(found, W, tau, weight), rtol=1e-7, atol=1e-8)
    assert online.samples == 300
    assert np.isfinite(online.std).all()


def test_on_line_says_what_it_does_not_know_yet_and_starts_from_what_is_known(robot, found):
    q, v, a = (x[0] for x in states(robot, 7))
    tau = found.predict(q, v, a).tau
    fresh = identification.RecursiveLeastSquares(found)
    fresh.update(q, v, a, tau)
    assert np.isinf(fresh.std).any()
    known = identification.RecursiveLeastSquares(found, start=True)
    np.testing.assert_allclose(known.update(q, v, a, tau), found.values, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("forgetting", [0.0, 1.5])
def test_nonsense_on_line_is_refused(found, forgetting):
    with pytest.raises(zveno.ZvenoError, match="forgetting"):
        identification.RecursiveLeastSquares(found, forgetting=forgetting)


def test_joints_that_were_not_recorded_are_in_the_summary(robot, found):
    """A PUMA whose wrist stands still at zero, and the columns of its first three joints."""
    assert "not recorded" not in found.summary
    wrist = robot.joint_names[3:]
    arm = zveno.Robot(fix_joints(robot.mechanism, wrist))
    (one,) = simulated_logs(arm, FRICTION, seconds=6.0, torque_noise=0.03, rng=3)
    partly = robot.identify(one.log, friction_terms="default", band=6.0)
    assert "of 3 joints (3 not recorded, taken as locked)" in partly.summary


@pytest.mark.parametrize("digits", [np.float64, np.float32])
@pytest.mark.parametrize("rows", [slice(None), slice(500, 1500)])
def test_logs_that_are_fitted_do_not_validate(rows, digits):
    robot = zveno.load("ur5")
    t, q, tau = recorded(robot, 0, seconds=8.0)
    log, again = (
        identification.Log.of(robot, t, q, tau),
        identification.Log.of(robot, t[rows], q[rows].astype(digits), tau[rows].astype(digits), source="copy"),
    )
    other = identification.Log.of(robot, *recorded(robot, 1, seconds=8.0), source="other")
    with pytest.raises(zveno.ZvenoError, match="validation: copy has rows of arrays, which is fitted"):
        robot.identify(log, validation=[other, again])
    with pytest.raises(zveno.ZvenoError, match="validation: arrays has rows of copy, which is fitted"):
        robot.identify([other, again], validation=[log])
    with pytest.raises(zveno.ZvenoError, match=r"logs: copy has rows of arrays.*count twice"):
        robot.identify([other, log, again])
