"""Calibrations of real robots, from measurements in a folder that is not part of the project.

Run it with `python examples/08_real_data.py FOLDER`: FR3 with a camera (fr3_camera), Panda arms with a ball and
sockets (ball_in_socket). Their origin and licence are described in the folder.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import numpy as np

import zveno
from zveno import calibration


def main(folder: Path):
    warnings.simplefilter("ignore", zveno.ZvenoWarning)
    camera = folder / "fr3_camera" / "calib_data.npz"
    if camera.exists():
        data = np.load(camera)
        campaign = calibration.Dataset(calibration.Camera(), data["joint_positions"], data["camera_poses"])
        found = zveno.load("panda").calibrate(campaign)
        print(f"FR3, camera in the hand: {found.verdict}\n")
    for arm in sorted((folder / "ball_in_socket").glob("panda*")):
        robot = zveno.load(folder / "ball_in_socket" / "urdf" / "panda.urdf")
        q, groups = sockets(arm, robot.n_q)
        found = robot.calibrate(calibration.Dataset(calibration.Sockets(frame="ball_link"), q, groups=groups))
        print(f"{arm.name}, ball in two sockets: {found.identifiability.rank} parameters. {found.verdict}\n")


def sockets(arm: Path, n_q: int) -> tuple[np.ndarray, tuple[str, ...]]:
    """Joint values and place/hole of every row of an arm's files."""
    rows, groups = [], []
    for file in sorted(arm.glob("*/hole_?.csv")):
        block = np.atleast_2d(np.loadtxt(file, delimiter=","))
        rows.append(np.pad(block, ((0, 0), (0, n_q - block.shape[1]))))
        groups += [f"{file.parent.name}/{file.stem}"] * len(block)
    return np.concatenate(rows), tuple(groups)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        print("Give the folder of measurements, for example: python examples/08_real_data.py ../shared/data")
    else:
        main(Path(sys.argv[1]))
