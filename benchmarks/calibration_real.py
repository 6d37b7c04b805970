"""Nested held-out errors of calibrations on real robots: the table of docs/calibration.md.

Everything (terms, prior scales, noise, flags) is found without the postures that are judged: an eighth of
them, or a place of sockets, at a time; every posture is judged once. Needs the folder of real measurements beside
the checkout and example-robot-data; sets that are not there have no rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

import numpy as np

import zveno
from zveno.calibration.calibrate import calibrate
from zveno.calibration.files import read_dataset
from zveno.calibration.measurements import Camera, RelativePosition, Sockets
from zveno.calibration.measurements.datasets import Dataset

from .timing import Row

DATA = Path(__file__).parents[2] / "shared" / "data"
EIGHTHS = 8
PANDAS = ("panda_1", "panda_2", "panda_2_clean", "panda_3")


def run() -> list[Row]:
    """Mean errors of the default, beside those of the geometry alone."""
    out = []
    for name, robot, campaign, parts in sets():
        default, plain = (nested(robot, campaign, parts, **options) for options in ({}, {"joint_terms": ()}))
        for (label, (mean, unit)), (other, _) in zip(default.items(), plain.values(), strict=True):
            out.append(Row(f"{name}: {label}", mean, other, "joint_terms=()", 0.95, unit))
    return out


def nested(
    robot: zveno.Robot, campaign: Dataset, parts: np.ndarray, squared: bool = False, **options
) -> dict[str, tuple[float, str]]:
    """Mean (or root of the mean squared) error of all rows by kind of reading, with its unit."""
    sums: dict[str, list] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", zveno.ZvenoWarning)
        for part in np.unique(parts):
            calibration = calibrate(robot, campaign.only(parts != part), **({"folds": 0} | options))
            for error in calibration.score(campaign.only(parts == part)):
                total = sums.setdefault(error.name, [0.0, 0, error.unit])
                total[0] += error.rows * (error.rms**2 if squared else error.mean)
                total[1] += error.rows
    means = {name: (total / rows, unit) for name, (total, rows, unit) in sums.items()}
    return {name: (mean**0.5, unit) for name, (mean, unit) in means.items()} if squared else means


def sets() -> Iterator[tuple[str, zveno.Robot, Dataset, np.ndarray]]:
    """Name, robot, campaign, and the part (n,) that every posture is judged in."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", zveno.ZvenoWarning)
        yield from _tables()
        yield from _camera()
        yield from _sockets()


def _tables() -> Iterator[tuple[str, zveno.Robot, Dataset, np.ndarray]]:
    for name, urdf, pattern, kind in (
        ("TALOS, contacts", "talos_full_v2.urdf", "talos_contact/*left_arm*.csv", {"frame": "arm_left_7_link"}),
        ("TIAGo, all markers", "tiago_no_hand.urdf", "tiago_mocap/*.csv", {"frame": "arm_7_link"}),
    ):
        model, file = _urdf(urdf), next(iter(sorted(DATA.glob(pattern))), None)
        if model is None or file is None:
            continue
        robot = zveno.load(model)
        unknown = name.startswith("TALOS")
        campaign = read_dataset(file, robot.mechanism, RelativePosition(**kind, unknown_points=unknown))
        yield name, robot, campaign, np.arange(len(campaign)) % EIGHTHS
        if not unknown:
            y = campaign.y.reshape(len(campaign), -1)[:, :3]
            marker = Dataset(RelativePosition(**kind, unknown_points=True), campaign.q, y)
            yield "TIAGo, one marker", robot, marker, np.arange(len(marker)) % EIGHTHS


def _camera() -> Iterator[tuple[str, zveno.Robot, Dataset, np.ndarray]]:
    file = DATA / "fr3_camera" / "calib_data.npz"
    if file.exists():
        data = np.load(file)
        campaign = Dataset(Camera(), data["joint_positions"], data["camera_poses"])
        yield "FR3 with a camera", zveno.load("panda"), campaign, np.arange(len(campaign)) % EIGHTHS


def _sockets() -> Iterator[tuple[str, zveno.Robot, Dataset, np.ndarray]]:
    for arm in PANDAS:
        folder = DATA / "ball_in_socket"
        if not (folder / arm).exists():
            continue
        robot = zveno.load(folder / "urdf" / "panda.urdf")
        q, groups = [], []
        for file in sorted((folder / arm).glob("*/hole_?.csv")):
            rows = np.atleast_2d(np.loadtxt(file, delimiter=","))
            q.append(np.pad(rows, ((0, 0), (0, robot.n_q - rows.shape[1]))))
            groups += [f"{file.parent.name}/{file.stem}"] * len(rows)
        places = np.unique([group.partition("/")[0] for group in groups], return_inverse=True)[1]
        campaign = Dataset(Sockets(frame="ball_link"), np.concatenate(q), groups=tuple(groups))
        yield arm, robot, campaign, places


def _urdf(name: str) -> Path | None:
    try:
        found = [file for file in files("example-robot-data") or () if file.name == name]
    except PackageNotFoundError:
        return None
    return Path(str(found[0].locate())) if found else None
