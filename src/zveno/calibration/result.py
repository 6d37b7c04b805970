"""What `calibrate` returns."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ShapeError, ZvenoWarning, unknown_name
from ..fit.covariance import correlations
from ..io.files import write_text
from ..io.results import Result, registered
from ..io.write import format_of
from ..mechanism import Mechanism
from .advice.next_measurement import Advice
from .fit.named import Error, Event, Outlier, Residuals
from .identifiability.analysis import Identifiability
from .measurements.campaigns import Campaign, sides
from .model.models import Model, redundant_model
from .use.accuracy import AccuracyMap, Prediction, accuracy_map, predict
from .use.compensate import TOOLS, Compensation, compensation_c, compensation_kernel, has_sides
from .use.controller import ControllerForm, controller_form
from .use.output import calibrated_mechanism, text_of
from .use.scoring import score

if TYPE_CHECKING:
    from ..robot import Robot


MANY = 0.15
"""Share of rows that do not belong from which the model is in doubt, not the rows."""
WORSE = 1.05
"""Ratio of errors from which a calibration is worse than none."""


@registered
@dataclass(frozen=True, eq=False, repr=False)
class Calibration(Result):
    """The geometry that explains measurements, and how well.

    Attributes:
        nominal, mechanism: before and after.
        data: the campaigns with their postures and readings, without the rows that could not be used.
        frames: frames that were measured.
        joint_terms: "gear", "compliance", "eccentricity", "ovality", "hysteresis" where fitted.
        loads: under which joints yield, where compliance is fitted: "model", its masses, or "rods" of 10 kg/m.
        evidence: of joint terms that were fitted because the data ask for them: how much more probable the data are
            with them, as a logarithm.
        names, values, units: estimated parameters as deviations from nominal.
        places: the joint, link or frame that each belongs to.
        covariance: of `values`, document 001 (28).
        unknowns: frames, points and planes estimated beside them, by name, (4, 4).
        unknown_names, unknown_std: their displacements and standard deviations.
        sigma: standard deviation of the readings, by campaign and noise, estimated where not given.
        group_sigma: standard deviation of the errors that all rows of a group have in common (of a target's place,
            of a day), besides `sigma`, by campaign and noise, where the data show them.
        shared_error_factor: how many rows of a posture tell as much as one independent row, by noise, where they
            err together (the design effect of sampling theory).
        plausible: standard deviation that terms of each kind were taken to have; found in the data unless given.
        identifiability: the structure the fit rests on: of the geometry and of joint terms that were asked for.
        baseline: errors of the nominal robot *with all frames fitted*, all rows; `baseline_unflagged` without
            outliers, which its frames are not fitted to either: on the rows of `held_out_unflagged`.
        training: errors of the calibrated robot on the rows used.
        held_out: errors on postures not used, all rows; `held_out_unflagged` without outliers.
        events: what moved during a campaign, where rows in their order show it.
        outliers: rows that do not belong, worst first.
        residuals: of every row of data, nominal, calibrated and held out, by campaign and noise.
        rows, scalar_rows: rows of data, and numbers used of them.
        condition: of the weighted Jacobian with unit columns.
        iterations, converged: of the last fit.
        at_bounds: parameters that a bound holds back, and which: "lower" or "upper". Their covariance is zero.
        advice: postures that would help most, from the information matrix.
        lacking: joint terms that were not fitted though there is strong evidence for them, by share of the variance
            they would explain.
        notes: what people should know about the data.
        verdict: what it all means.
    """

    nominal: Mechanism
    mechanism: Mechanism
    data: tuple[Campaign, ...]
    frames: tuple[str, ...]
    joint_terms: tuple[str, ...]
    loads: str
    names: tuple[str, ...]
    values: np.ndarray
    units: tuple[str, ...]
    places: tuple[str, ...]
    covariance: np.ndarray
    unknowns: dict[str, np.ndarray]
    unknown_names: tuple[str, ...]
    unknown_std: np.ndarray
    sigma: dict[str, float]
    group_sigma: dict[str, float]
    shared_error_factor: dict[str, float]
    plausible: dict[str, float]
    identifiability: Identifiability
    baseline: tuple[Error, ...]
    baseline_unflagged: tuple[Error, ...]
    training: tuple[Error, ...]
    held_out: tuple[Error, ...]
    held_out_unflagged: tuple[Error, ...]
    events: tuple[Event, ...]
    outliers: tuple[Outlier, ...]
    residuals: tuple[Residuals, ...]
    rows: int
    scalar_rows: int
    condition: float
    iterations: int
    converged: bool
    at_bounds: dict[str, str]
    advice: Advice | None
    evidence: dict[str, float]
    lacking: dict[str, float]
    notes: tuple[str, ...]
    verdict: str
    inputs: str

    kind = "calibration"

    @property
    def status(self) -> str:
        """ "calibrated", "not converged", or "worse" where the nominal robot explains the same rows better."""
        if not self.converged:
            return "not converged"
        return "worse" if self.improvement > WORSE else "calibrated"

    @property
    def compared(self) -> tuple[tuple[Error, Error], ...]:
        """(nominal, calibrated) errors of the same rows: of postures not used, where there are any.

        Outliers are left out, unless there are so many that the model is in doubt and not they.
        """
        if self.outliers_in_doubt and self.held_out:
            before, after = self.baseline, self.held_out
        else:
            before, after = self.baseline_unflagged, self.held_out_unflagged or self.training
        by_name = {error.name: error for error in before}
        return tuple((by_name[error.name], error) for error in after if error.name in by_name)

    @property
    def outliers_in_doubt(self) -> bool:
        """Whether more rows were left out than can be wrong."""
        return len(self.outliers) > MANY * self.rows

    @property
    def improvement(self) -> float:
        """Error of the calibrated robot over that of the nominal one: the geometric mean over kinds of readings."""
        ratios = [after.rms / before.rms for before, after in self.compared if before.rms > 0 and after.rms > 0]
        return float(np.exp(np.mean(np.log(ratios)))) if ratios else 1.0

    @property
    def summary(self) -> str:
        """The verdict."""
        counted = f"{len(self.names)} parameters and {len(self.unknown_names)} unknowns"
        return f"{self.nominal.name}: {counted}. {self.verdict}"

    @property
    def parameters(self) -> dict[str, float]:
        """Deviations from nominal by name, m and rad."""
        return dict(zip(self.names, self.values.tolist(), strict=True))

    @property
    def std(self) -> np.ndarray:
        """Standard deviation of every parameter."""
        return np.sqrt(np.diag(self.covariance))

    def correlated(self, above: float = 0.9) -> list[tuple[str, str, float]]:
        """Pairs of parameters whose correlation is larger than `above`, largest first."""
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
        """The calibrated robot."""
        return self._robot(self.mechanism)

    @cached_property
    def model(self) -> Model:
        """The redundant model the parameters belong to."""
        return redundant_model(self.nominal, self.frames, self.joint_terms, self.loads)

    @cached_property
    def all_values(self) -> np.ndarray:
        """Deviations of all terms of `model`, zero where they were not estimated."""
        values = np.zeros(len(self.model.terms))
        values[self.columns] = self.values
        return values

    @cached_property
    def columns(self) -> list[int]:
        """Places of the estimated parameters among the terms of `model`."""
        return [self.model.numbers[name] for name in self.names]

    def checked_frame(self, frame: str | None) -> str:
        """One of the frames that were measured; the first if None."""
        frame = self.frames[0] if frame is None else frame
        if frame not in self.frames:
            raise unknown_name("calibrated frame", frame, self.frames)
        return frame

    def predict(self, q: ArrayLike, frame: str | None = None, approach: ArrayLike | None = None) -> Prediction:
        """Pose of a calibrated frame at q (..., n_q), and the covariance its parameters leave.

        Args:
            q: joint coordinates.
            frame: one of those that were measured; the first if None.
            approach: sign of the motion by which every coordinate came there, (..., n_q) or one for all, where
                joints have hysteresis; between both sides if None.
        """
        side = self._side(approach)
        values = self.all_values, self.columns, self.covariance
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
        self, postures: int = 2000, rng: np.random.Generator | int | None = 0, frame: str | None = None
    ) -> AccuracyMap:
        """Accuracy over random postures within limits, before and after; see `zveno.accuracy_map`."""
        return accuracy_map(self, postures, rng, frame)

    @cached_property
    def planning_robot(self) -> Robot:
        """The nominal robot carrying the tool as it was measured: plan with it, then `compensate`."""
        tools = np.zeros(len(self.model.terms))
        for block in self.model.blocks:
            if block.frame is not None:
                tools[block.first : block.first + 6] = self.all_values[block.first : block.first + 6]
        return self._robot(calibrated_mechanism(self.model, tools))

    def compensate(
        self,
        q_desired: ArrayLike,
        frame: str | None = None,
        tool: str = "measured",
        approach: ArrayLike | None = None,
    ) -> Compensation:
        """Joint values that bring the calibrated robot where the nominal one is at `q_desired`, with a status each.

        Args:
            q_desired: (..., n_q) as planned with the nominal robot.
            frame: one of those that were measured; the first if None.
            tool: "measured": the frame of `planning_robot` is wanted where it is at `q_desired`. "nominal": that of
                the nominal model is; only for a tool that is modelled where it was measured, since the difference
                between the two is corrected as if it were an error.
            approach: sign of the motion by which every coordinate will come there, (..., n_q) or one for all, where
                joints have hysteresis; between both sides if None.
        """
        frame, tool, side = self.checked_frame(frame), _checked_tool(tool), self._side(approach)
        if (frame, tool) not in self._compensations:
            kernel = compensation_kernel(self.model, frame, self.all_values, tool)
            self._compensations[frame, tool] = kernel
        inputs = [self.nominal.checked_q(q_desired)]
        if has_sides(self.model, self.all_values):
            inputs.append(np.zeros(self.nominal.n_v) if side is None else side)
        q, status, position, rotation = self._compensations[frame, tool](*inputs)
        return Compensation(q, np.asarray(status).astype(int), np.asarray(position), np.asarray(rotation))

    @cached_property
    def _compensations(self) -> dict:
        return {}

    def export_compensation(
        self, directory: str | Path, frame: str | None = None, tool: str = "measured"
    ) -> tuple[Path, Path]:
        """`compensate.h` and `compensate.c`: the same for a controller; the function returns the status."""
        source = compensation_c(self.model, self.checked_frame(frame), self.all_values, _checked_tool(tool))
        return source.write(directory)

    def controller(self, form: str, frame: str | None = None) -> ControllerForm:
        """The calibration as a controller takes it, with what the form cannot hold and the accuracy lost by that.

        Args:
            form: "offsets" (joint offsets to master), "frames" (base and tool), "dh" (deltas of a table), "ur"
                (`calibration.yaml`), "kuka" or "abb" (offsets, base and tool).
            frame: one of those that were measured; the first if None.
        """
        return controller_form(self.model, self.checked_frame(frame), self.all_values, form)

    def score(self, data: Campaign | Sequence[Campaign]) -> tuple[Error, ...]:
        """Errors on other measurements: parameters and frames as found; unknowns that are new are fitted to
        them."""
        return score(self.model, data, self.all_values, self.unknowns)

    def text(self, format: str = "elementary") -> str:
        """The calibrated robot as "urdf", "dh" (or the elementary product where no table can hold it) or
        "elementary"."""
        return text_of(self.mechanism, format)[0]

    def write(self, path: str | PathLike[str]) -> Path:
        """Write the calibrated robot as .urdf, .toml (DH) or .ets (elementary); returns the file written.

        A `ZvenoWarning` says what the format cannot hold; where no table can hold the robot, an .ets is written.
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


def _checked_tool(tool: str) -> str:
    if tool not in TOOLS:
        raise unknown_name("tool", tool, TOOLS)
    return tool
