"""Plans: postures to measure, and what they will tell."""

from __future__ import annotations

import csv
import io
import os
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ..io.files import write_text
from ..io.results import Result, registered
from ..mechanism import Mechanism
from ..mechanism.units import with_unit


@registered
@dataclass(frozen=True, eq=False, repr=False)
class Plan(Result):
    """Postures to measure in, in the order of a short tour, with the accuracy they will give.

    Attributes:
        robot, measurement, frame, criterion: what was planned.
        coordinate_names, coordinate_units: of q.
        q: postures, (n, n_q).
        groups: the place each posture touches, for measurements by contact; else empty.
        n_have: postures measured before, which the predictions include.
        names, units: parameters that will be found.
        sigma: predicted standard deviation of each, in its unit; inf where the plan does not determine it.
        sigma_before: the same from the postures measured before alone; None if there are none.
        covariance: of the parameters, (k, k).
        worst: the parameter known worst, where angles and lengths are compared by what they do at the tool.
        tool_positions, tool_sigma: places over the workspace (w, 3), and the predicted standard deviation of the
            tool's position there (root of the sum of three variances), (w,), m.
        value: of the criterion; `values` has it by stage: "random" (median), "greedy", "exchange", "refined".
        efficiency: share of the best possible choice among the candidates that is reached at least, before
            refinement; nan where no bound is known.
        over_random: value over that of a random plan.
        n_candidates: postures chosen from.
        travel, travel_unordered: time of the tour, s, at the joints' velocity limits (1 rad/s or 1 m/s without).
        notes: what was assumed.
        place_names, places: what is touched, for measurements by contact, and its frame (p, 4, 4) in the world: a
            socket's position, a plane's point and normal (z).
        mechanism: the robot.
        both_sides: whether every posture is measured twice, joints coming upwards and then downwards.
    """

    robot: str
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
    inputs: str
    notes: tuple[str, ...] = ()
    place_names: tuple[str, ...] = ()
    places: np.ndarray = field(default_factory=lambda: np.zeros((0, 4, 4)))
    mechanism: Mechanism | None = None
    both_sides: bool = False

    kind = "plan"

    def __len__(self) -> int:
        return len(self.q)

    @property
    def status(self) -> str:
        """ "good", or "singular" if some parameters stay unknown."""
        return "good" if np.isfinite(self.sigma).all() else "singular"

    @property
    def summary(self) -> str:
        """A sentence for people."""
        before = f" after {self.n_have} measured ones" if self.n_have else ""
        text = f"{len(self.q)} postures of {self.robot}{before} for {len(self.names)} parameters"
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

    def write_csv(self, path: str | os.PathLike[str], *, degrees: bool = False) -> Path:
        """Postures as CSV, one a row in the order of the tour; the header names joints and units."""
        path = Path(path)
        write_text(path, self.csv(degrees))
        return path

    def csv(self, degrees: bool = False) -> str:
        """The text of `write_csv`."""
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


@registered
@dataclass(frozen=True, eq=False, repr=False)
class Curve(Result):
    """Accuracy against the number of postures, each set containing the one before.

    Attributes:
        robot, measurement: what is measured.
        n_have: postures measured before.
        n: numbers of further postures, rising.
        worst: largest standard deviation of a parameter, scaled: rad, or m over the robot's size.
        worst_names: which parameter that is.
        worst_sigma, worst_units: its standard deviation and unit.
        tool_typical, tool_worst: standard deviation of the tool's position over the workspace, m.
        knee: the number of postures after which more bring little; where the curve of the tool bends most.
    """

    robot: str
    measurement: str
    n_have: int
    n: np.ndarray
    worst: np.ndarray
    worst_names: tuple[str, ...]
    worst_sigma: np.ndarray
    worst_units: tuple[str, ...]
    tool_typical: np.ndarray
    tool_worst: np.ndarray
    knee: int
    inputs: str

    kind = "curve"

    @property
    def status(self) -> str:
        """Always "good": a curve that cannot be computed is refused."""
        return "good"

    def to_halve(self, n: int | None = None) -> int | None:
        """How many postures after n (the curve's first if None) halve the worst parameter; None if too many."""
        at = 0 if n is None else int(np.searchsorted(self.n, n))
        if at >= len(self.n):
            return None
        below = np.flatnonzero(self.worst <= 0.5 * self.worst[at])
        return int(self.n[below[0]] - self.n[at]) if len(below) else None

    def sentence(self, n: int | None = None) -> str:
        """ "12 more postures would halve the worst parameter", for people."""
        at = 0 if n is None else min(int(np.searchsorted(self.n, n)), len(self.n) - 1)
        more = self.to_halve(int(self.n[at]))
        what = f"the worst parameter ({self.worst_names[at]}, "
        what += f"± {spoken(self.worst_sigma[at], self.worst_units[at])})"
        if more is None:
            last = int(self.n[-1] - self.n[at])
            share = 1.0 - self.worst[-1] / self.worst[at]
            return f"{last} more postures would lower {what} by {100 * share:.0f} %"
        return f"{more} more posture{'s' if more != 1 else ''} would halve {what}"

    @property
    def summary(self) -> str:
        """A sentence for people."""
        at = int(np.searchsorted(self.n, self.knee))
        knee = f"the knee is at {self.knee} postures, tool ± {spoken(self.tool_typical[at], 'm')}"
        return f"{self.robot}, {self.measurement}: {knee}; from {int(self.n[0])} on, {self.sentence()}"


def spoken(value: float, unit: str) -> str:
    """A standard deviation with three digits and a unit people use: mm, mrad."""
    if unit in ("m", "rad"):
        return f"{value * 1e3:.3g} m{unit}"
    return f"{value:.3g}{'' if unit == '1' else ' ' + unit}"
