"""Calibration of real robots against figaroh 1.0 on the same training postures, judged on the same held-out ones.

Needs figaroh, example-robot-data and the folder of real measurements beside the checkout; without them there are no
rows. Every posture is held out once, in four fits that leave out every fourth. Both fit a base frame, the tool's
point and full geometry to one marker; figaroh selects its parameters by its default method ("structural") and, on
TIAGo, also with priors ("map").
"""

from __future__ import annotations

import logging
import os
import tempfile
import time
import warnings
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

import numpy as np

import zveno
from zveno.calibration._fit.estimate import fit_noise, fit_prior_scales
from zveno.calibration._fit.frames import assemble_rows, place_frames
from zveno.calibration._fit.parameters import choose_parameters
from zveno.calibration._fit.state import FitSettings, FitState
from zveno.calibration.calibrate import calibrate
from zveno.calibration.files import campaign_from
from zveno.calibration.measurements import RelativePosition
from zveno.calibration.measurements.datasets import prepared
from zveno.fit.threads import in_one_thread
from zveno.io.tables import read_measurements

from .timing import Row, interleaved

SPLITS = 4
DATA = Path(__file__).parents[2] / "shared" / "data"
SETS = (
    (
        "TALOS, 46 contacts",
        "talos_full_v2.urdf",
        "talos_contact/*left_arm*.csv",
        "arm_left_7_link",
        ("structural",),
    ),
    ("TIAGo, 26 postures", "tiago_no_hand.urdf", "tiago_mocap/*.csv", "arm_7_link", ("structural", "map")),
)


def run() -> list[Row]:
    """CPU seconds of one fit, ours alone and with all of `calibrate`; held-out errors in metres."""
    try:
        import figaroh  # noqa: F401  (only whether it is there)
    except ImportError:
        return []
    out = []
    for name, urdf, pattern, frame, methods in SETS:
        data, model = next(iter(sorted(DATA.glob(pattern))), None), _urdf(urdf)
        if data is None or model is None:
            continue
        seconds, error, alone = _over_splits(_ours, model, data, frame)
        for method in methods:
            their_seconds, their_error, n = _over_splits(_theirs, model, data, frame, method)
            rival = f"figaroh {method}, {n:.0f} parameters"
            out.append(Row(f"{name}: the fit alone, parameters chosen", alone, their_seconds, rival, 20.0))
            out.append(Row(f"{name}: calibrate(), all of it", seconds, their_seconds, rival, 20.0))
            out.append(Row(f"{name}: held-out rms error", error, their_error, rival, 1.0, "m"))
    return out


def _urdf(name: str) -> Path | None:
    try:
        found = [file for file in files("example-robot-data") or () if file.name == name]
    except PackageNotFoundError:
        return None
    return Path(str(found[0].locate())) if found else None


def _over_splits(fit, *of) -> tuple[float, float, float]:
    """Median time, root of the mean squared error over all postures, and the median of the third."""
    found = [fit(split, *of) for split in range(SPLITS)]
    seconds, errors, counts = zip(*found, strict=True)
    squares, postures = (np.sum([error[k] for error in errors]) for k in range(2))
    return float(np.median(seconds)), float(np.sqrt(squares / postures)), float(np.median(counts))


def _held_out(n: int, split: int) -> np.ndarray:
    return np.arange(n) % SPLITS == split


def _ours(split: int, model: Path, data: Path, frame: str) -> tuple[float, tuple[float, int], float]:
    """Seconds, (sum of squared errors, postures) of those held out, and seconds of a fit of the geometry alone."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", zveno.ZvenoWarning)
        robot = zveno.load(model)
        table = read_measurements(data)
        one = {"x1": "x", "y1": "y", "z1": "z"}
        kept = {
            one.get(k, k): v for k, v in table.columns.items() if k in one or not k[-1:].isdigit() or len(k) > 2
        }
        whole = campaign_from(
            replace(table, columns=kept), robot.mechanism, RelativePosition(frame=frame, unknown_points=True)
        )
        test = _held_out(len(whole.q), split)
        train, unseen = (replace(whole, q=whole.q[m], y=whole.y[m], lines=whole.lines[m]) for m in (~test, test))
        found = calibrate(robot, train)
        campaigns, _ = prepared(train, robot.mechanism)
        task = FitState(robot, tuple(campaigns), FitSettings(), (), ())
        calls = {
            "all": lambda: calibrate(robot, train),
            "alone": lambda: in_one_thread(_geometry)(task),
        }
        times = interleaved(calls, repeats=5)
        error = found.score(unseen)[0]
        return times["all"], (error.rms**2 * error.rows, error.rows), times["alone"]


def _geometry(state: FitState) -> FitState:
    """A fit of the geometry alone."""
    for stage in (assemble_rows, place_frames, choose_parameters, fit_noise, fit_prior_scales):
        state = stage(state)
    return state


def _theirs(split: int, model: Path, data: Path, frame: str, method: str):
    """As `_ours`, and the number of parameters."""
    import pandas
    import pinocchio
    import yaml
    from figaroh.calibration.base_calibration import BaseCalibration
    from figaroh.calibration.calibration_tools import calc_updated_fkm

    class Quiet(BaseCalibration):
        """Position residuals, unknown base and tool, no printing."""

        def __init__(self, *args):
            super().__init__(*args)
            self.calib_config |= {"known_baseframe": False, "known_tipframe": False}

        def cost_function(self, var):
            found = calc_updated_fkm(self.model, self.data, var, self.q_measured, self.calib_config)
            return self._compute_logmap_residuals(self.PEE_measured, found)

        def print_quality_report(self, *args, **kwargs):
            """Nothing."""

    rows = pandas.read_csv(data)
    test = _held_out(len(rows), split)
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        paths = {word: os.path.join(folder, f"{word}.csv") for word in ("train", "test")}
        rows[~test].to_csv(paths["train"], index=False)
        rows[test].to_csv(paths["test"], index=False)
        parameters = {"calibration_level": "full_params", "estimation": {"method": method}}
        task = {
            "enabled": True,
            "kinematics": {"base_frame": "universe", "tool_frame": frame},
            "parameters": parameters,
            "measurements": {"markers": [{"measurable_dof": [True] * 3 + [False] * 3}], "poses": {}},
            "data": {"source_file": paths["train"], "validation_data_file": paths["test"]},
        }
        config = os.path.join(folder, "config.yaml")
        Path(config).write_text(yaml.safe_dump({"robot": {"name": "robot"}, "tasks": {"calibration": task}}))
        robot = pinocchio.RobotWrapper(pinocchio.buildModelFromUrdf(str(model)))
        start = time.process_time()
        fit = Quiet(robot, config)
        fit.initialize()
        fit.solve(enable_logging=False)
        seconds = time.process_time() - start
        q, y = fit._q_val, np.asarray(fit._PEE_val)
        seen = dict(fit.calib_config, NbSample=len(q))
        off = np.asarray(calc_updated_fkm(fit.model, fit.data, fit.LM_result.x, q, seen)) - y
    logging.disable(before)
    return seconds, (float(np.sum(off**2)), len(q)), len(fit.calib_config["param_name"])
