"""Identification of real robots: held-out errors beside published ones, parameters beside a reference, and times.

Needs the folder of real measurements beside the checkout; without it there are no rows. The rival is figaroh 1.0 on
the same recordings in the same run (`benchmarks.identification_figaroh`). `python -m benchmarks.identification`
prints all figures, joint by joint; `--runs 200` adds normalised errors over simulated recordings.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import warnings
from functools import partial
from pathlib import Path

import numpy as np

import zveno
from zveno import identification

from .identification_figaroh import identified
from .timing import Row

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
BANDS = {"tx40": 10.0, "ur10": 5.0, "tiago": 3.0}
"""Hz; a figure without its band says nothing."""
BARS = {"tx40": 0.042, "ur10": 0.034}
"""Held-out errors to stay below."""
REFERENCE_BAND = 32.0
"""Hz of the fit that is compared with the reference: rotors show in fast motions, and not to 5 % at 10 Hz."""
TIAGO_GAINS = np.array([1, 13.6, 13.6, -8.7, -8.7, -20.6, -20.6, -20.6])
TIAGO_MOVES = slice(921, 6791)
REFERENCE = {
    "fv": np.array([8.05, 5.53, 1.97, 1.11, 1.86, 0.65]),
    "fs": np.array([7.14, 8.26, 6.34, 2.48, 3.03, 0.282]),
    "Ia": np.array([0.362, 0.362, 0.0988, 0.0313, 0.0468, 0.0105]),
    "coupling": np.array([0.00964, 0.616, 1.95]),
}
"""Published for the TX40: friction, rotor inertia at the joint, and inertia and friction between joints 5 and 6."""


def recording(name: str, whole: bool = False) -> tuple[zveno.Robot, identification.Log]:
    """The robot and its log; `whole` takes all rows of the TX40 instead of 0.05–7.68 s."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", zveno.ZvenoWarning)  # about inertias of the TIAGo's model
        if name == "tx40":
            robot = zveno.load("tx40")
            N = robot.mechanism.transmission_matrix
            q = np.linalg.solve(N, _table("tx40/pos_read_data.csv").T).T + np.pi / 2 * np.array([0, -1, 1, 0, 0, 0])
            tau = _table("tx40/curr_data.csv") @ N
            rows = slice(None) if whole else slice(250, 38400)
            return robot, identification.Log.of(robot, np.arange(len(q))[rows] * 2e-4, q[rows], tau[rows])
        if name == "ur10":
            robot, table = zveno.load("ur10"), _table("ur10_dynamics/ur10_exciting_trajectory.csv")
            return robot, identification.Log.of(robot, table[:, 1], table[:, 2:8], table[:, 14:20], table[:, 8:14])
        robot = zveno.load(DATA / "tiago_dynamics" / "tiago_schunk.urdf")
    q, v, tau = (
        _table(f"tiago_dynamics/tiago_{word}.csv")[TIAGO_MOVES] for word in ("position", "velocity", "effort")
    )
    names = ["torso_lift_joint", *(f"arm_{k}_joint" for k in range(1, 8))]
    return robot, identification.Log.of(
        robot, q[:, 0], q[:, 1:], tau[:, 1:] * TIAGO_GAINS, v[:, 1:], joint_names=names
    )


def _table(name: str) -> np.ndarray:
    return np.loadtxt(DATA / name, delimiter=",", skiprows=1)


def deviations(found: identification.Identification, values: np.ndarray) -> dict[str, np.ndarray]:
    """Relative deviations from the TX40's reference, whose parameters are counted at the joints.

    There joint 5 has the friction and rotor of motor 6 too, and the inertia between the joints contains rotor 6.
    """
    by_name = dict(zip(found.names, values, strict=True))
    ratios = np.diag(found.mechanism.transmission_matrix)
    joints = range(1, 7)
    fv = np.array([by_name[f"Fv{j}"] for j in joints])
    fv[4:] += by_name["Fvm6"]
    fs = np.array([by_name[f"Fs{j}"] for j in joints])
    Ia = np.array([by_name.get(f"Ia{j}", np.nan) for j in joints]) * ratios**2
    Ia[4] += Ia[5]
    coupling = np.array([Ia[5] + by_name["Iam6"], by_name["Fvm6"], by_name["Fsm6"]])
    found_values = {"fv": fv, "fs": fs, "Ia": Ia, "coupling": coupling}
    return {key: found_values[key] / REFERENCE[key] - 1.0 for key in REFERENCE}


def run() -> list[Row]:
    """Errors as shares of the torque, times as CPU seconds."""
    if not DATA.is_dir():
        return []
    rows = []
    for name, bar in BARS.items():
        robot, log = recording(name)
        theirs = figaroh(name, robot, log)
        if theirs is None:
            return []
        seconds, _, rival = theirs
        error = robot.identify(log, band=BANDS[name]).validation.overall["identified"]
        what = f"held-out error, {name}, {BANDS[name]:g} Hz"
        rows.append(Row(what, error, rival, "figaroh 1.0", rival / bar, unit=""))
        if name == "tx40":
            for friction, most in (("default", 0.5), ("auto", 2.0)):
                ours = _seconds(partial(robot.identify, log, band=10.0, friction_terms=friction))
                what = "fixed model" if friction == "default" else "friction chosen"
                rows.append(Row(f"TX40 after loading, {what}", ours, seconds, "figaroh 1.0", seconds / most))
    return rows


def figaroh(name: str, robot: zveno.Robot, log: identification.Log) -> tuple[float, np.ndarray, float] | None:
    """CPU seconds and held-out errors of figaroh on a recording; None where it is not installed."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what a URDF cannot hold, and doubled converters of its imports
        urdf = Path(folder) / f"{name}.urdf"
        robot.write(urdf)
        return identified(urdf, log, BANDS[name], coupled=name == "tx40")


def _seconds(call) -> float:
    """Least CPU time of three calls after one."""
    call()
    times = []
    for _ in range(3):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return min(times)


def normalised_errors(runs: int, seconds: float = 12.0) -> dict[str, tuple[float, float]]:
    """Friction → root mean squares over simulated recordings of a PUMA 560: of (estimate − truth)/σ of the base
    parameters, and of differences between successive recordings over their σ."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "identification"))
    from simulated_logs import Friction, simulated_logs  # pyright: ignore[reportMissingImports]

    robot = zveno.load("puma560")
    kinds = {
        "viscous, Coulomb": (Friction(viscous=1.0, coulomb=2.0), ("viscous", "coulomb")),
        "and load": (Friction(viscous=1.0, coulomb=2.0, load=0.1), ("viscous", "coulomb", "load")),
        "and |v|^1/3": (Friction(viscous=1.0, coulomb=2.0, third=1.0), ("viscous", "coulomb", "root")),
        "all": (Friction(viscous=1.0, coulomb=2.0, third=1.0, load=0.1), "default"),
    }
    out = {}
    for kind, (friction, terms) in kinds.items():
        values, stds = [], []
        for one in simulated_logs(robot, friction, seconds=seconds, torque_noise=0.05, runs=runs, rng=5):
            found = robot.identify(one.log, friction_terms=terms, folds=2)
            n = len(found.kept)
            values.append(found.base_values[:n])
            stds.append(found.base_std[:n])
        x, s = np.array(values), np.array(stds)
        errors = (x - found.base.values[found.kept]) / s
        between = np.diff(x, axis=0) / np.hypot(s[1:], s[:-1])
        out[kind] = float(np.sqrt(np.mean(errors**2))), float(np.sqrt(np.mean(between**2)))
    return out


def main() -> None:
    """All figures as text."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=0, help="simulated recordings for normalised errors")
    options = parser.parse_args()
    for name in BANDS if DATA.is_dir() else ():
        robot, log = recording(name)
        found = robot.identify(log, band=BANDS[name])
        print(f"{name}, {BANDS[name]:g} Hz (band from the spectrum: {robot.identify(log).choices.band:.3g} Hz)")
        for model, errors in found.validation.errors.items():
            print(f"  {model:14s} {np.round(100 * errors, 1)} all {100 * found.validation.overall[model]:.2f} %")
        print(f"  {found.verdict}")
        theirs = figaroh(name, robot, log) if name in BARS else None
        if theirs is not None:
            print(f"  {'figaroh 1.0':14s} {np.round(100 * theirs[1], 1)} all {100 * theirs[2]:.2f} %")
    if DATA.is_dir():
        robot, log = recording("tx40", whole=True)
        found = robot.identify(log, band=REFERENCE_BAND, friction_terms="basic", rest_speed=0.1, delay=0.0)
        print("tx40 beside its reference, viscous and Coulomb friction, |v| > 0.1 rad/s, 32 Hz, deviations in %")
        for word, values in (("least squares", found.base_values), ("consistent", found.values)):
            shown = {key: np.round(100 * part, 1) for key, part in deviations(found, values).items()}
            print(f"  {word:14s}", *(f"{key} {part}" for key, part in shown.items()))
    if options.runs:
        print(f"normalised errors over {options.runs} simulated runs, from the truth and between runs")
        for kind, (errors, between) in normalised_errors(options.runs).items():
            print(f"  {kind:18s} {errors:.2f} {between:.2f}")


if __name__ == "__main__":
    main()
