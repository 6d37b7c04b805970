"""Nested held-out errors of calibrations on real robots: the table of docs/calibration.md.

Everything (terms, prior scales, noise, flags) is found without the postures that are judged: an eighth of
them, or a place of sockets, at a time; every posture is judged once. Needs the folder of real measurements beside
the checkout and example-robot-data; sets that are not there have no rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

import numpy as np
from scipy.stats import chi2

import zveno
from zveno.calibration import CalibrationModel
from zveno.calibration._fit.frames import first_frames
from zveno.calibration._fit.noise import FitOptions, row_sigma
from zveno.calibration._fit.solve import solve
from zveno.calibration._fit.state import FitSettings, FitState
from zveno.calibration.calibrate import STAGES, calibrate
from zveno.calibration.files import read_dataset
from zveno.calibration.measurements import Camera, RelativePosition, Sockets
from zveno.calibration.measurements._fit_problem import fit_problem
from zveno.calibration.measurements.datasets import Dataset, prepared

from .timing import Row

DATA = Path(__file__).parents[2] / "shared" / "data"
EIGHTHS = 8
PANDAS = ("panda_1", "panda_2", "panda_2_clean", "panda_3")


def run() -> list[Row]:
    """Mean errors of the default, beside those of the geometry alone."""
    out = []
    for name, robot, campaign, parts in sets():
        default, plain = (
            nested(robot, campaign, parts, **options)
            for options in ({}, {"model": CalibrationModel(joint_terms=())})
        )
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


def covered(robot: zveno.Robot, campaign: Dataset, parts: np.ndarray) -> tuple[float, float, float]:
    """Return χ² per component of postures that the fit has not seen, and their share inside 95 % regions without
    and with the factor of the covariance.

    Frames that only those postures touch are fitted to them and projected out.
    """
    total, components, inside = 0.0, 0, []
    for part in np.unique(parts):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", zveno.ZvenoWarning)
            campaigns, _ = prepared(campaign.only(parts != part), robot.mechanism)
            unseen, _ = prepared(campaign.only(parts == part), robot.mechanism)
            state = FitState(robot, tuple(campaigns), FitSettings(), (), ())
            for stage in STAGES:
                state = stage(state)
        values, known = state.probable.values, state.problem.labelled(state.probable.frames)
        problem = fit_problem(state.problem.model, unseen)
        problem = problem.placed(first_frames(problem, values, known=known))
        new = [one.start + k for one in problem.unknowns if one.label not in known for k in range(len(one.free))]
        n = len(problem.noise_names)
        free = FitOptions(tuple(new), np.full(n, 1e-3), np.ones(n, dtype=bool), "none")
        frames = solve(problem, free, values, problem.frames).frames
        r, J = problem.evaluate(values, frames)
        sigma = row_sigma(problem, replace(free, columns=()), state.fit.sigma)
        r, J = r / sigma, J / sigma[:, None]
        names = [state.problem.names[column] for column in state.options.columns]
        slopes = np.zeros((len(r), len(names)))
        shared = [k for k, name in enumerate(names) if name in problem.names]
        slopes[:, shared] = J[:, [problem.names.index(names[k]) for k in shared]]
        V = slopes @ state.fit.covariance() @ slopes.T + np.eye(len(r))
        U, sizes, _ = np.linalg.svd(J[:, new], full_matrices=False)
        Q = U[:, sizes > 1e-9 * sizes.max(initial=0.0)]
        rest = np.eye(len(r)) - Q @ Q.T
        r, V = rest @ r, rest @ V @ rest
        for posture in range(problem.n_postures):
            rows = problem.posture == posture
            eigenvalues, vectors = np.linalg.eigh(V[np.ix_(rows, rows)])
            seen = eigenvalues > 1e-6 * eigenvalues[-1]
            squares = float(np.sum((vectors[:, seen].T @ r[rows]) ** 2 / eigenvalues[seen]))
            total, components = total + squares, components + int(seen.sum())
            limit = chi2.ppf(0.95, seen.sum())
            inside.append((squares < limit, squares < limit * state.covariance_factor))
    plain, widened = np.mean(inside, axis=0)
    return total / components, float(plain), float(widened)


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
