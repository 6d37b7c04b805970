"""Result of `calibrate`."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ModelError, ShapeError, ZvenoWarning, unknown_name
from ..fit.covariance import correlations
from ..io.files import write_text
from ..io.results import registered
from ..io.write import format_of
from ..mechanism import Mechanism
from ..mechanism.loops import refuse_loops
from ..report.description import Description
from ..report.result import Result
from ._fit.findings import Error, Outlier, Residuals, ToolMove
from ._harm import REMEDY, UNDETERMINED, doubt
from ._identifiability import Identifiability
from ._kinematics import frame_motion
from ._loads import holding_torques
from ._output import calibrated_mechanism, text_of
from ._postures import random_postures
from .accuracy import AccuracyMap, Prediction, accuracy_map, predict, score
from .compensate import TOOLS, Compensation, compensation_c, compensation_kernel, has_sides, planned_deviations
from .controller import POSTURES, ControllerForm, controller_form
from .measurements.datasets import Dataset, sides
from .models import Model, redundant_model

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from ..progress import Progress
    from ..robot import Robot


MANY = 0.15
"""Share of outlier rows from which the model, not the rows, is doubtful."""
WORSE = 1.05
"""Ratio of errors from which a calibration is worse than none."""


CalibrationStatus = Literal["calibrated", "worse", "not converged", "data in doubt"]


@registered
@dataclass(frozen=True, eq=False, repr=False)
class Calibration(Result):
    """Geometry that explains measurements, with its accuracy.

    Attributes:
        nominal, mechanism: the robot before and after.
        data: the campaigns with their postures and readings, without the rows that could not be used.
        frames: frames that were measured.
        joint_terms: "gear", "compliance", "eccentricity", "ovality", "hysteresis" where fitted.
        loads: under which joints yield, where compliance is fitted: "model", its masses, or "rods" of 10 kg/m.
        evidence: of all joint terms together, where they were fitted because the data show them: how much more
            probable the data are with them, as a logarithm. None elsewhere.
        names, values, units: estimated parameters as deviations from nominal.
        places: the joint, link or frame that each belongs to.
        deviations: most probable deviation of every term of `model`, (P,): those that the data cannot separate are
            distributed by the usual size of terms. The calibrated robot, predictions and compensation have
            these.
        deviation_covariance: their posterior covariance, (P, P).
        covariance: of `values`, document 001 (28).
        covariance_factor: factor of the covariances of predictions over those from parameters and noise, so that
            their 95 % regions hold 95 % of the postures not used. A reading there has the covariance of the
            prediction and `covariance_factor` times that of its noise.
        unknowns: frames, points and planes estimated beside them, by name, (4, 4).
        unknown_names, unknown_std: their displacements and standard deviations.
        sigma: standard deviation of the readings, by campaign and noise, estimated where not given.
        group_sigma: standard deviation of the errors that all rows of a group have in common (of a target's place,
            of a day), besides `sigma`, by campaign and noise, where the data show them.
        shared_error_factor: number of rows of a posture per independent row, by noise, where they
            err together (the design effect of sampling theory).
        prior_std: standard deviation that terms of each kind were taken to have; found in the data unless given.
        identifiability: the structure the fit rests on: of the geometry and of requested joint terms.
        baseline: errors of the nominal robot *with all frames fitted*, all rows; `baseline_unflagged` without
            outliers, which its frames are not fitted to either: on the rows of `held_out_unflagged`.
        training: errors of the calibrated robot on the rows used.
        held_out: errors on postures not used, all rows; `held_out_unflagged` without outliers.
        tool_moved: displacement of the tool during a campaign, where rows in their order show it.
        outliers: outlier rows, worst first.
        residuals: of every row of data, nominal, calibrated and held out, by campaign and noise.
        rows, scalar_rows: rows of data, and numbers used of them.
        condition: of the weighted Jacobian with unit columns.
        iterations, converged: of the last fit.
        at_bounds: parameters that a bound holds back, and which: "lower" or "upper". Their covariance is zero.
        notes: remarks about the data.
        verdict: conclusion in words.
        doubt: reason why the data seem not to belong to the robot; empty if they do.
        undetermined: displacements of unknown frames that the data do not determine; corrections that rest on them
            are in doubt.
    """

    nominal: Mechanism
    mechanism: Mechanism
    data: tuple[Dataset, ...]
    frames: tuple[str, ...]
    joint_terms: tuple[str, ...]
    loads: str
    names: tuple[str, ...]
    values: np.ndarray
    units: tuple[str, ...]
    places: tuple[str, ...]
    deviations: np.ndarray
    deviation_covariance: np.ndarray
    covariance: np.ndarray
    unknowns: dict[str, np.ndarray]
    unknown_names: tuple[str, ...]
    unknown_std: np.ndarray
    sigma: dict[str, float]
    group_sigma: dict[str, float]
    shared_error_factor: dict[str, float]
    prior_std: dict[str, float]
    identifiability: Identifiability
    baseline: tuple[Error, ...]
    baseline_unflagged: tuple[Error, ...]
    training: tuple[Error, ...]
    held_out: tuple[Error, ...]
    held_out_unflagged: tuple[Error, ...]
    tool_moved: ToolMove | None
    outliers: tuple[Outlier, ...]
    residuals: tuple[Residuals, ...]
    rows: int
    scalar_rows: int
    condition: float
    iterations: int
    converged: bool
    at_bounds: dict[str, str]
    evidence: float | None
    covariance_factor: float
    notes: tuple[str, ...]
    verdict: str
    inputs_hash: str
    doubt: str = ""
    undetermined: tuple[str, ...] = ()

    kind = "calibration"

    @property
    def status(self) -> CalibrationStatus:
        """ "calibrated", "not converged", "data in doubt" if the data seem to belong to another robot, or "worse"
        if the nominal robot explains the same rows better. A fit of frames alone is never worse."""
        if self.doubt:
            return "data in doubt"
        if not self.converged:
            return "not converged"
        return "worse" if self.names and self.improvement > WORSE else "calibrated"

    @property
    def compared(self) -> tuple[tuple[Error, Error], ...]:
        """Pairs (nominal, calibrated) of errors of the same rows: of held-out postures, where there are any.

        Outliers are left out, unless there are so many that the model, and not the rows, is doubtful.
        """
        if self.outliers_in_doubt and self.held_out:
            before, after = self.baseline, self.held_out
        else:
            before, after = self.baseline_unflagged, self.held_out_unflagged or self.training
        by_name = {error.name: error for error in before}
        return tuple((by_name[error.name], error) for error in after if error.name in by_name)

    @property
    def outliers_in_doubt(self) -> bool:
        """True if more rows were left out than can plausibly be wrong."""
        return len(self.outliers) > MANY * self.rows

    @property
    def improvement(self) -> float:
        """Error of the calibrated robot over that of the nominal one: the geometric mean over kinds of readings."""
        ratios = [after.rms / before.rms for before, after in self.compared if before.rms > 0 and after.rms > 0]
        return float(np.exp(np.mean(np.log(ratios)))) if ratios else 1.0

    @property
    def summary(self) -> str:
        """Conclusion in words."""
        counted = f"{len(self.names)} parameters and {len(self.unknown_names)} unknowns"
        return f"{self.nominal.name}: {counted}. {self.verdict}"

    def describe(self) -> Description:
        """Return the description that text, figures and pages show."""
        from ._describe import describe_calibration

        return describe_calibration(self)

    @property
    def parameters(self) -> dict[str, float]:
        """Deviations from nominal by name, m and rad."""
        return dict(zip(self.names, self.values.tolist(), strict=True))

    @property
    def std(self) -> np.ndarray:
        """Standard deviation of every parameter."""
        return np.sqrt(np.diag(self.covariance))

    def correlated(self, above: float = 0.9) -> list[tuple[str, str, float]]:
        """Return pairs of parameters whose correlation is larger than `above`, largest first."""
        r = np.triu(correlations(self.covariance), 1)
        pairs = [(self.names[i], self.names[j], float(r[i, j])) for i, j in np.argwhere(abs(r) > above)]
        return sorted(pairs, key=lambda pair: -abs(pair[2]))

    @property
    def numbers(self) -> dict[str, float]:
        """Constants of the instruments, as given or estimated, by name: `bar.length` (m), `camera.fx` (px)."""
        values: dict[str, float] = {}
        for campaign in self.data:
            for slot in campaign.measurement.number_slots():
                place = self.unknowns.get(slot.label, slot.value)
                values |= dict(zip(slot.names, np.asarray(place)[:3, 3].tolist(), strict=False))
        return values

    @property
    def number_units(self) -> dict[str, str]:
        """Units of `numbers`."""
        slots = [slot for campaign in self.data for slot in campaign.measurement.number_slots()]
        return {name: unit for slot in slots for name, unit in zip(slot.names, slot.units, strict=True)}

    @cached_property
    def robot(self) -> Robot:
        """Calibrated robot."""
        return self._robot(self.mechanism)

    @cached_property
    def model(self) -> Model:
        """Redundant model that the parameters belong to."""
        return redundant_model(self.nominal, self.frames, self.joint_terms, self.loads)

    @cached_property
    def columns(self) -> list[int]:
        """Places of the estimated parameters among the terms of `model`."""
        return [self.model.numbers[name] for name in self.names]

    def checked_frame(self, frame: str | None) -> str:
        """Return one of the frames that were measured; the first if None."""
        frame = self.frames[0] if frame is None else frame
        if frame not in self.frames:
            raise unknown_name("calibrated frame", frame, self.frames)
        return frame

    def predict(self, q: ArrayLike, frame: str | None = None, approach: ArrayLike | None = None) -> Prediction:
        """Predict the pose of a calibrated frame at q (..., n_q), and its covariance, `covariance_factor` included.

        Args:
            q: joint coordinates.
            frame: one of those that were measured; the first if None.
            approach: sign of the motion by which every coordinate came there, (..., n_q) or one for all, where
                joints have hysteresis; between both sides if None.
        """
        side = self._side(approach)
        values = self.deviations, self.columns, self.covariance_factor * self.covariance
        return predict(self.model, self.checked_frame(frame), q, *values, side)

    def _side(self, approach: ArrayLike | None) -> np.ndarray | None:
        if approach is None:
            return None
        signs = np.asarray(approach, dtype=float)
        signs = np.broadcast_to(signs, (self.nominal.n_q,)) if not signs.ndim else signs
        if signs.shape[-1] != self.nominal.n_q or not np.isin(signs, (-1.0, 0.0, 1.0)).all():
            remedy = f"Give (..., {self.nominal.n_q}) numbers -1, 0 or 1"
            raise ShapeError("is not the sign of a motion", element="approach", remedy=remedy)
        flat = signs.reshape(-1, self.nominal.n_q)
        return sides(self.nominal, flat, len(flat)).reshape(*signs.shape[:-1], self.nominal.n_v)

    def accuracy_map(
        self,
        postures: int = 2000,
        rng: np.random.Generator | int | None = 0,
        frame: str | None = None,
        *,
        executor: Executor | None = None,
        progress: Progress = None,
    ) -> AccuracyMap:
        """Compute accuracy over random postures within limits, before and after calibration; all of them are kept.

        Args:
            postures: number of postures.
            rng: generator or seed.
            frame: one of those that were measured; the first if None.
            executor: workers that share the postures: any `concurrent.futures.Executor`; this process if None. The
                result has the same bits for any.
            progress: True to show a bar, or a function of (done, total).
        """
        return accuracy_map(self, postures, rng, frame, executor=executor, progress=progress)

    @cached_property
    def planning_robot(self) -> Robot:
        """Nominal robot carrying the tool as it was measured: plan with it, then `compensate`."""
        tools = np.zeros(len(self.model.terms))
        for block in self.model.blocks:
            if block.frame is not None:
                tools[block.first : block.first + 6] = self.deviations[block.first : block.first + 6]
        return self._robot(calibrated_mechanism(self.model, tools))

    def compensate(
        self,
        q_desired: ArrayLike,
        frame: str | None = None,
        tool: str = "measured",
        approach: ArrayLike | None = None,
    ) -> Compensation:
        """Return joint values that bring the calibrated robot to the nominal pose at `q_desired`, with a status
        each.

        Where the data leave it open whether corrections make the robot worse than nominal, in position or in
        orientation, `doubt` says so; `export_compensation` then raises an error.

        Args:
            q_desired: (..., n_q) as planned with the nominal robot.
            frame: one of those that were measured; the first if None.
            tool: "measured": the frame of `planning_robot` is wanted where it is at `q_desired`. "nominal": that of
                the nominal model is; only for a tool that is modelled where it was measured, since the difference
                between the two is corrected as if it were an error.
            approach: sign of the motion by which every coordinate will come there, (..., n_q) or one for all, where
                joints have hysteresis; between both sides if None.
        """
        refuse_loops(self.nominal, "compensate")
        frame, tool, side = self.checked_frame(frame), _checked_tool(tool), self._side(approach)
        q, status, position, rotation = self._corrected(self.nominal.checked_q(q_desired), frame, tool, side)
        numbers = np.asarray(status).astype(int), np.asarray(position), np.asarray(rotation)
        return Compensation(q, *numbers, self._doubt(frame, tool))

    def _corrected(self, q: np.ndarray, frame: str, tool: str, side: np.ndarray | None) -> tuple[np.ndarray, ...]:
        """Return the outputs of `compensation_program` at q (..., n_q)."""
        if (frame, tool) not in self._compensations:
            self._compensations[frame, tool] = compensation_kernel(self.model, frame, self.deviations, tool)
        sides = has_sides(self.model, self.deviations)
        inputs = [np.zeros(self.nominal.n_v) if side is None else side] if sides else []
        return self._compensations[frame, tool](q, *inputs)

    @cached_property
    def _compensations(self) -> dict:
        return {}

    @cached_property
    def _doubts(self) -> dict[tuple[str, str], str]:
        return {}

    def export_compensation(
        self, directory: str | Path, frame: str | None = None, tool: str = "measured"
    ) -> tuple[Path, Path]:
        """Write `compensate.h` and `compensate.c`: the same for a controller; the function returns the status.

        If a correction may make the robot worse than nominal, nothing is written and a `ModelError` states why.
        """
        refuse_loops(self.nominal, "export_compensation")
        frame, tool = self.checked_frame(frame), _checked_tool(tool)
        in_doubt = self._doubt(frame, tool)
        if in_doubt:
            raise ModelError(in_doubt, element="compensation", remedy=REMEDY)
        return compensation_c(self.model, frame, self.deviations, tool).write(directory)

    def _doubt(self, frame: str, tool: str) -> str:
        """Return the errors that compensation may increase; empty if none."""
        if (frame, tool) not in self._doubts:
            q = random_postures(self.nominal, POSTURES, np.random.default_rng(0))
            values, planned = self.deviations, planned_deviations(self.model, frame, self.deviations, tool)
            command = self._corrected(q, frame, tool, None)[0]
            wanted, _ = frame_motion(self.model, frame, q, planned, np.zeros((len(q), self.nominal.n_v)))
            got, _ = frame_motion(self.model, frame, command, values, holding_torques(self.model, command))
            left = np.concatenate([got[:, :3, 3] - wanted[:, :3, 3], _turns(wanted, got)], axis=1)
            doubtful = doubt(self.model, frame, values, self.deviation_covariance, values, planned, q, left=left)
            unknown = UNDETERMINED.format(", ".join(self.undetermined)) if self.undetermined else ""
            self._doubts[frame, tool] = unknown or doubtful
        return self._doubts[frame, tool]

    def controller(self, form: str, frame: str | None = None) -> ControllerForm:
        """Return the calibration in a controller's form, with parts that it cannot hold and the loss of accuracy.

        Args:
            form: "offsets" (joint offsets to master), "frames" (base and tool), "dh" (deltas of a table), "ur"
                (`calibration.yaml`), "kuka" or "abb" (offsets, base and tool).
            frame: one of those that were measured; the first if None.
        """
        refuse_loops(self.nominal, "controller")
        if self.undetermined:
            raise ModelError(UNDETERMINED.format(", ".join(self.undetermined)), element=form, remedy=REMEDY)
        values = self.deviations, self.deviation_covariance
        return controller_form(self.model, self.checked_frame(frame), *values, form)

    def score(self, data: Dataset | Sequence[Dataset]) -> tuple[Error, ...]:
        """Return errors on other measurements: parameters and frames as found; new unknowns are fitted to them."""
        return score(self.model, data, self.deviations, self.unknowns)

    def text(self, format: str = "elementary") -> str:
        """Return the calibrated robot as "urdf", "dh" (or the elementary product if no table can hold it) or
        "elementary"."""
        return text_of(self.mechanism, format)[0]

    def write(self, path: str | PathLike[str]) -> Path:
        """Write the calibrated robot as .urdf, .toml (DH) or .ets (elementary); return the file written.

        A `ZvenoWarning` names what the format cannot hold; if no table can hold the robot, an .ets is written.
        """
        text, note = text_of(self.mechanism, format_of(path))
        file = Path(path).with_suffix(".ets") if note else Path(path)
        if note:
            warnings.warn(f"{note}: {file}", ZvenoWarning, stacklevel=2)
        if self.joint_terms:
            terms = ", ".join(self.joint_terms)
            lost = f"a model file has no place for {terms}; joint_terms=() gives the best geometry without them"
            warnings.warn(lost, ZvenoWarning, stacklevel=2)
        return write_text(file, text)


def _turns(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Return the small rotations from poses to others, both (n, 4, 4), in world axes, (n, 3)."""
    R = after[:, :3, :3] @ np.swapaxes(before[:, :3, :3], 1, 2)
    return 0.5 * np.stack([R[:, 2, 1] - R[:, 1, 2], R[:, 0, 2] - R[:, 2, 0], R[:, 1, 0] - R[:, 0, 1]], axis=1)


def _checked_tool(tool: str) -> str:
    if tool not in TOOLS:
        raise unknown_name("tool", tool, TOOLS)
    return tool
