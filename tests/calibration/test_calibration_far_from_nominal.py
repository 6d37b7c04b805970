"""A nominal model that is far from the robot: nothing crashes, and outliers stay a minority."""

import numpy as np
import pytest

import zveno


@pytest.mark.filterwarnings("ignore::zveno.errors.ZvenoWarning")
@pytest.mark.parametrize("seed", [0, 1])
def test_most_rows_are_never_outliers(seed):
    """Links off by 30 mm and 0.05 rad: once 52 of 60 rows were flagged, and once all of them, an IndexError."""
    robot, rng = zveno.load("puma560"), np.random.default_rng(seed)
    deviations = {}
    for joint in range(1, 7):
        deviations |= {f"{name}{joint}": rng.uniform(-0.03, 0.03) for name in ("Tx", "Ty", "Tz")}
        deviations |= {f"{name}{joint}": rng.uniform(-0.05, 0.05) for name in ("Rx", "Ry", "Rz")}
    q = robot.random(60, seed)
    seen = robot.with_deviations(deviations).forward_kinematics(q)[:, :3, 3] + 1e-4 * rng.normal(size=(60, 3))
    calibration = robot.calibrate(zveno.Campaign(zveno.Position(sigma=1e-4), q, seen))
    assert len(calibration.outliers) <= 30
    assert calibration.held_out[0].rms < 0.2 * 0.05
