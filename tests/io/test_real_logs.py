"""Recordings of real robots, where the folder with them is there: read without a word about their columns."""

import os
from pathlib import Path

import numpy as np
import pytest

import zveno
from zveno import identification

DATA = Path(os.environ.get("ZVENO_DATA", Path(__file__).resolve().parents[3] / "shared" / "data"))
here = pytest.mark.skipif(not DATA.is_dir(), reason="the measurements are not there")
pytestmark = pytest.mark.attack


@here
def test_motors_of_the_tx40():
    """Two files with the same names of columns, no clock, motor side with a coupled wrist."""
    robot = zveno.load("tx40")
    files = [DATA / "tx40" / name for name in ("pos_read_data.csv", "curr_data.csv")]
    offsets = {"joint2": -np.pi / 2, "joint3": np.pi / 2}
    log = identification.read_log(files, robot, side="motor", rate=5000.0, gains=1.0, offsets=offsets)
    position, current = (np.loadtxt(file, delimiter=",", skiprows=1) for file in files)
    ratios = np.array([32.0, 32.0, 45.0, -48.0, 45.0, 32.0])
    q = position / ratios
    q[:, 5] = (position[:, 5] - 32.0 * q[:, 4]) / 32.0
    q += [0.0, -np.pi / 2, np.pi / 2, 0.0, 0.0, 0.0]
    tau = current * ratios
    tau[:, 4] += 32.0 * current[:, 5]
    whole = log.arrays()
    assert abs(whole.q - q).max() < 1e-12
    assert abs(whole.tau - tau).max() < 1e-12
    assert log.step == pytest.approx(2e-4)


@here
def test_the_ur10():
    log = identification.read_log(DATA / "ur10_dynamics" / "ur10_exciting_trajectory.csv", zveno.load("ur10"))
    assert (len(log), log.has_velocity, len(log.joint_names)) == (3441, True, 6)
    assert log.step == pytest.approx(0.008)
    assert "effort_elbow_joint → elbow" in str(log)


@here
@pytest.mark.filterwarnings("ignore::zveno.ZvenoWarning")
def test_three_files_of_tiago():
    folder = DATA / "tiago_dynamics"
    files = [folder / f"tiago_{what}.csv" for what in ("position", "velocity", "effort")]
    robot = zveno.load(folder / "tiago_schunk.urdf")
    (log,) = identification.read_logs(files, robot)
    assert (len(log), log.has_velocity) == (8022, True)
    assert log.joint_names == ("torso_lift_joint", *(f"arm_{k}_joint" for k in range(1, 8)))
    assert "not recorded: " in str(log)
