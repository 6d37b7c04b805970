"""A nominal model that is far from the robot: nothing crashes, and what the nominal geometry hides is found."""

import numpy as np
import pytest

import zveno
from tiers import few
from zveno.calibration import CalibrationModel


@pytest.mark.laws
@pytest.mark.filterwarnings("ignore::zveno.errors.ZvenoWarning")
@pytest.mark.parametrize("seed", few([0, 1], 1))
def test_most_rows_are_never_outliers(seed):
    """Links off by 30 mm and 0.05 rad: once 52 of 60 rows were flagged, and once all of them, an IndexError."""
    robot, rng = zveno.load("puma560"), np.random.default_rng(seed)
    deviations = {}
    for joint in range(1, 7):
        deviations |= {f"{name}{joint}": rng.uniform(-0.03, 0.03) for name in ("Tx", "Ty", "Tz")}
        deviations |= {f"{name}{joint}": rng.uniform(-0.05, 0.05) for name in ("Rx", "Ry", "Rz")}
    q = robot.random(60, seed)
    seen = zveno.calibration.apply_deviations(robot, deviations).forward_kinematics(q)[
        :, :3, 3
    ] + 1e-4 * rng.normal(size=(60, 3))
    calibration = robot.calibrate(zveno.calibration.Dataset(zveno.calibration.Position(sigma=1e-4), q, seen))
    assert len(calibration.outliers) <= 30
    assert calibration.held_out[0].rms < 0.3e-3


@pytest.mark.filterwarnings("ignore::zveno.errors.ZvenoWarning")
def test_what_nominal_geometry_hides_is_fitted_only_where_the_data_show_it():
    """A point on the last axis hides two parameters; of a robot that has it 30 mm beside, both can be found."""
    robot, rng = zveno.load("ur5"), np.random.default_rng(5)
    q = robot.random(60, 5)
    for length, angle, more in ((0.03, 0.05, 2), (3e-4, 1e-3, 0)):
        off = {f"{n}{k}": rng.uniform(-length, length) for k in range(1, 7) for n in ("Tx", "Ty", "Tz")}
        off |= {f"{n}{k}": rng.uniform(-angle, angle) for k in range(1, 7) for n in ("Rx", "Ry", "Rz")}
        seen = zveno.calibration.apply_deviations(robot, off).forward_kinematics(q)[:, :3, 3] + 1e-4 * rng.normal(
            size=(60, 3)
        )
        found = robot.calibrate(
            zveno.calibration.Dataset(zveno.calibration.Position(), q, seen), model=CalibrationModel(joint_terms=())
        )
        assert len(found.names) == found.identifiability.rank + more
        assert found.held_out[0].rms < 0.3e-3
        assert any("nominal geometry hides" in note for note in found.notes) == bool(more)
