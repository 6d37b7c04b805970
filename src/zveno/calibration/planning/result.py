"""Measurement plans: postures to measure, and their predicted accuracy."""

from __future__ import annotations

import csv
import io
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np

from ...io.files import write_text
from ...io.results import registered
from ...mechanism import Mechanism
from ...mechanism.units import with_unit
from ...report.description import Description
from ...report.result import Result

PlanStatus = Literal["determined", "singular"]


@registered
@dataclass(frozen=True, eq=False, repr=False)
class MeasurementPlan(Result):
    """Postures to measure, in the order of a short tour, with their predicted accuracy.

    Attributes:
        robot_name, measurement, frame, criterion: the planning task.
        coordinate_names, coordinate_units: of q.
        q: postures, (n, n_q).
        groups: the place each posture touches, for measurements by contact; else empty.
        n_have: postures measured before, which the predictions include.
        names, units: parameters that will be found.
        sigma: predicted standard deviation of each, in its unit; inf where the plan does not determine it.
        sigma_before: the same from the postures measured before alone; None if there are none.
        covariance: of the parameters, (k, k).
        worst: the parameter known worst, where angles and lengths are compared by their effect at the tool.
        tool_positions, tool_sigma: places over the workspace (w, 3), and the predicted standard deviation of the
            tool's position there (root of the sum of three variances), (w,), m.
        value: of the criterion; `values` has it by stage: "random" (median), "greedy", "exchange", "refined".
        efficiency: share of the best possible choice among the candidates that is reached at least, before
            refinement; nan where no bound is known.
        over_random: value over that of a random plan.
        n_candidates: postures chosen from.
        travel, travel_unordered: time of the tour, s, at the joints' velocity limits (1 rad/s or 1 m/s without).
        notes: assumptions.
        place_names, places: touched things, for measurements by contact, and their frames (p, 4, 4) in the world: a
            socket's position, a plane's point and normal (z).
        mechanism: the robot.
        both_sides: whether every posture is measured twice, joints coming upwards and then downwards.
    """

    robot_name: str
    measurement: str
    frame: str
    criterion: str
    coordinate_names: tuple[str, ...]
    coordinate_units: tuple[str, ...]
    q: np.ndarray
    groups: tuple[str, ...]
    n_have: int
    names: tuple[str, ...]
    units: tuple[str, ...]
    sigma: np.ndarray
    sigma_before: np.ndarray | None
    covariance: np.ndarray
    worst: str
    tool_positions: np.ndarray
    tool_sigma: np.ndarray
    value: float
    values: dict[str, float]
    efficiency: float
    over_random: float
    n_candidates: int
    travel: float
    travel_unordered: float
    inputs_hash: str
    notes: tuple[str, ...] = ()
    place_names: tuple[str, ...] = ()
    places: np.ndarray = field(default_factory=lambda: np.zeros((0, 4, 4)))
    mechanism: Mechanism | None = None
    both_sides: bool = False

    kind = "plan"

    def __len__(self) -> int:
        return len(self.q)

    @property
    def status(self) -> PlanStatus:
        """ "determined", or "singular" if some parameters stay unknown."""
        return "determined" if np.isfinite(self.sigma).all() else "singular"

    @property
    def summary(self) -> str:
        """One-sentence summary."""
        before = f" after {self.n_have} measured ones" if self.n_have else ""
        text = f"{len(self.q)} postures of {self.robot_name}{before} for {len(self.names)} parameters"
        text += f" by {self.measurement} measurements"
        if self.status == "singular":
            lost = [name for name, s in zip(self.names, self.sigma, strict=True) if not np.isfinite(s)]
            more = f" and {len(lost) - 6} more" if len(lost) > 6 else ""
            why = "criterion T accepts that" if self.criterion == "T" else "more postures are needed"
            return f"{text}: {', '.join(lost[:6])}{more} stay unknown; {why}"
        parts = []
        if np.isfinite(self.efficiency):
            parts.append(f"at least {100 * self.efficiency:.0f} % of the best of {self.n_candidates} candidates")
        if np.isfinite(self.over_random):
            parts.append(f"{self.over_random:.2f} times a random plan by criterion {self.criterion}")
        number = self.names.index(self.worst)
        parts.append(f"worst parameter {self.worst} ± {spoken(self.sigma[number], self.units[number])}")
        if len(self.tool_sigma):
            typical, bad = np.sqrt(np.mean(self.tool_sigma**2)), self.tool_sigma.max()
            parts.append(f"tool within {spoken(typical, 'm')} (1σ), {spoken(bad, 'm')} at worst")
        return f"{text}: {'; '.join(parts)}"

    def describe(self) -> Description:
        """Return the description that text, figures and pages show."""
        from ._describe import describe_plan

        return describe_plan(self)

    def write_csv(self, path: str | os.PathLike[str], *, degrees: bool = False) -> Path:
        """Write postures as CSV, one per row in the order of the tour; the header names joints and units."""
        path = Path(path)
        write_text(path, self.csv(degrees))
        return path

    def csv(self, degrees: bool = False) -> str:
        """Return the text of `write_csv`."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        extra = ("group",) if self.groups else ()
        turned = np.array([degrees and unit == "rad" for unit in self.coordinate_units], dtype=bool)
        units = np.where(turned, "deg", self.coordinate_units).tolist()
        header = [with_unit(name, unit) for name, unit in zip(self.coordinate_names, units, strict=True)]
        sides = ((1,) * len(header), (-1,) * len(header)) if self.both_sides else ((),)
        came = [f"approach_{name}" for name in header] if self.both_sides else []
        writer.writerow((*header, *extra, *came))
        for k, posture in enumerate(np.where(turned, np.degrees(self.q), self.q)):
            for side in sides:
                writer.writerow([f"{x:.9g}" for x in posture] + ([self.groups[k]] if self.groups else []) + [*side])
        return text.getvalue()


def spoken(value: float, unit: str) -> str:
    """Return a standard deviation with three digits and a common unit: mm, mrad."""
    if unit in ("m", "rad"):
        return f"{value * 1e3:.3g} m{unit}"
    return f"{value:.3g}{'' if unit == '1' else ' ' + unit}"
