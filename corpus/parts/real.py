"""Measurements and recordings of real robots, from the folder `shared/data` beside the checkout.

Calibration: nested errors, every posture judged by fits that never saw it. Identification: errors on rows that were
not fitted. An error may fall; it counts as a difference where it rises by more than 1e-6 of itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import zveno

from .. import api
from ..cases import Case, Outcome, Values
from ..robots import load, urdf
from ..store import Archive

DATA = Path(__file__).parents[3] / "shared" / "data"
EIGHTHS = 8
SAME = 1e-6
PANDAS = ("panda_1", "panda_2", "panda_2_clean", "panda_3")
BANDS = {"tx40": 10.0, "ur10": 5.0, "tiago": 3.0}
TIAGO_GAINS = np.array([1, 13.6, 13.6, -8.7, -8.7, -20.6, -20.6, -20.6])
TIAGO_MOVES = slice(921, 6791)


def cases(archive: Archive) -> Iterator[Case]:
    """What there are data for."""
    if not DATA.exists():
        return
    for name, make in SETS.items():
        yield Case(f"calibration/{name}", lambda make=make: api.nested_errors(*make()), rule=no_worse)
    for name in BANDS:
        yield Case(f"identification/{name}", lambda name=name: _identified(name), rule=no_worse)


def no_worse(case: Case, old: Values, new: Values) -> Outcome:
    """Errors may fall, not rise."""
    outcome = Outcome()
    for name in sorted(old.keys() | new.keys()):
        if name not in old or name not in new or old[name].shape != new[name].shape:
            outcome.problems.append(f"{name}: is {'new' if name not in old else 'gone or of another shape'}")
            continue
        change = np.atleast_1d(new[name] / old[name] - 1.0)
        worst, best = float(change.max()), float(change.min())
        outcome.worst = max(outcome.worst, worst)
        if not worst <= SAME:
            outcome.problems.append(f"{name}: worse by {100 * worst:.3g} %")
        if best < -SAME:
            outcome.remarks.append(f"{name}: better by {-100 * best:.3g} %")
    return outcome


def _eighths(n: int) -> np.ndarray:
    return np.arange(n) % EIGHTHS


def _talos() -> tuple[Any, ...]:
    robot = zveno.load(_model("talos_full_v2.urdf"))
    file = next(iter(sorted(DATA.glob("talos_contact/*left_arm*.csv"))))
    measurement = api.relative_position(frame="arm_left_7_link", unknown_points=True)
    data = api.read_dataset(file, robot, measurement)
    return robot, data, _eighths(len(data))


def _tiago(markers: bool) -> tuple[Any, ...]:
    robot = zveno.load(_model("tiago_no_hand.urdf"))
    file = next(iter(sorted(DATA.glob("tiago_mocap/*.csv"))))
    data = api.read_dataset(file, robot, api.relative_position(frame="arm_7_link"))
    if not markers:
        y = data.y.reshape(len(data), -1)[:, :3]
        data = api.dataset(api.relative_position(frame="arm_7_link", unknown_points=True), data.q, y, ())
    return robot, data, _eighths(len(data))


def _camera() -> tuple[Any, ...]:
    file = np.load(DATA / "fr3_camera" / "calib_data.npz")
    data = api.dataset(zveno.calibration.Camera(), file["joint_positions"], file["camera_poses"], ())
    return load("panda"), data, _eighths(len(data))


def _sockets(arm: str) -> tuple[Any, ...]:
    folder = DATA / "ball_in_socket"
    robot = zveno.load(folder / "urdf" / "panda.urdf")
    q, groups = [], []
    for file in sorted((folder / arm).glob("*/hole_?.csv")):
        rows = np.atleast_2d(np.loadtxt(file, delimiter=","))
        q.append(np.pad(rows, ((0, 0), (0, robot.n_q - rows.shape[1]))))
        groups += [f"{file.parent.name}/{file.stem}"] * len(rows)
    places = np.unique([group.partition("/")[0] for group in groups], return_inverse=True)[1]
    return robot, api.dataset(zveno.calibration.Sockets(frame="ball_link"), np.concatenate(q), None, groups), places


def _model(name: str) -> Path:
    path = urdf(name)
    if path is None:
        raise FileNotFoundError(f"{name}: install the package example-robot-data")
    return path


SETS = {
    "TALOS": _talos,
    "TIAGo, all markers": lambda: _tiago(True),
    "TIAGo, one marker": lambda: _tiago(False),
    "FR3": _camera,
    **{arm: lambda arm=arm: _sockets(arm) for arm in PANDAS},
}


def _table(name: str) -> np.ndarray:
    return np.loadtxt(DATA / name, delimiter=",", skiprows=1)


def _recording(name: str) -> tuple[zveno.Robot, Any]:
    if name == "tx40":
        robot = load("tx40")
        N = robot.mechanism.transmission_matrix
        q = np.linalg.solve(N, _table("tx40/pos_read_data.csv").T).T + np.pi / 2 * np.array([0, -1, 1, 0, 0, 0])
        tau, rows = _table("tx40/curr_data.csv") @ N, slice(250, 38400)
        return robot, api.log_of(robot, np.arange(len(q))[rows] * 2e-4, q[rows], tau[rows])
    if name == "ur10":
        table = _table("ur10_dynamics/ur10_exciting_trajectory.csv")
        robot = load("ur10")
        return robot, api.log_of(robot, table[:, 1], table[:, 2:8], table[:, 14:20], table[:, 8:14])
    robot = zveno.load(DATA / "tiago_dynamics" / "tiago_schunk.urdf")
    words = ("position", "velocity", "effort")
    q, v, tau = (_table(f"tiago_dynamics/tiago_{word}.csv")[TIAGO_MOVES] for word in words)
    names = ["torso_lift_joint", *(f"arm_{k}_joint" for k in range(1, 8))]
    return robot, api.log_of(robot, q[:, 0], q[:, 1:], tau[:, 1:] * TIAGO_GAINS, v[:, 1:], names)


def _identified(name: str) -> dict[str, Any]:
    robot, log = _recording(name)
    found = api.identify(robot, log, band=BANDS[name])
    return {"held out": api.held_out_error(found)}
