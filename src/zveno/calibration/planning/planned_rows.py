"""Information of one posture: whitened rows of the calibration's Jacobian, and their derivatives by the posture.

Calibration has the models, the measurements and the choice of independent parameters; here they are traced once
more as a function of the posture alone, so that thousands of candidates are one call and gradients are exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from ...errors import ZvenoError
from ...io.units import DEVIATIONS
from ...kernels.compile import compiled
from ...kernels.kernel import Kernel
from ...robot_functions import RobotFunctions
from .._identifiability.analysis import Identifiability, analyse
from .._identifiability.postures import imagined, visible_postures
from ..measurements import Measurement, measurement
from ..measurements.assembly import fit_problem
from ..measurements.campaigns import Dataset
from ..measurements.fit_problem import FitProblem, instrument_numbers
from ..model.models import Model, redundant_model
from .contacts import (
    contact_problem,
    contact_rows,
    distance_information,
    group_list,
    in_contact,
    touched,
)
from .posture_rows import RowsLayout, Seen, rows_pullback, tool_point, whitened_rows

BOTH_SIDES = "every posture is measured twice: all joints coming upwards, then all coming downwards"


class PlannedRows:
    """Rows of the Jacobian of a measurement at any posture, by the identifiable parameters.

    Attributes:
        robot, measurement: the robot and the kind of measurement.
        names: parameters of interest, then nuisance parameters.
        n_interest: number of parameters of interest.
        units, scales: of each parameter; one scaled unit is `scale` of its unit.
        sigmas: standard deviation of every row of a posture.
        placed, new_places, groups: for measurements by contact, frames (4, 4) of what is touched, by label; labels
            of what was not touched before; groups that candidates touch.
        notes: assumptions.
    """

    measurement: Measurement

    def __init__(
        self,
        robot: RobotFunctions,
        kind: Measurement | str = "pose",
        *,
        parameters: str | Sequence[str] = "all",
        strategy: str = "JL",
        joint_terms: Sequence[str] = (),
        have: Dataset | None = None,
        seed: int = 0,
    ):
        self.robot = robot
        self.measurement = kind = measurement(kind)
        self.model: Model = redundant_model(robot.mechanism, kind.frames, joint_terms)
        self._seed = seed
        n = max(30, int(np.ceil(3.0 * (len(self.model.terms) + 12) / (kind.n_seen * kind.n_rows))))
        self.placed: dict[str, np.ndarray] = {}
        self.new_places: tuple[str, ...] = ()
        self.groups: tuple[str, ...] = ()
        self.problem: FitProblem = self._touching(n, have) if kind.implicit else self.imagined(n)
        self.structure: Identifiability = analyse(self.problem, robot.name, strategy, parameters)
        if not self.structure.chosen:
            raise ZvenoError(
                "the measurement tells nothing about these parameters", element=", ".join(self.structure.names[:8])
            )
        numbers = {name: k for k, name in enumerate(self.problem.names)}
        interest = [numbers[name] for name in self.structure.chosen]
        self.columns: list[int] = interest + [numbers[name] for name in self.structure.unknowns]
        self.n_interest: int = len(interest)
        self.names: tuple[str, ...] = tuple(self.problem.names[k] for k in self.columns)
        self.units: tuple[str, ...] = tuple(self.problem.units[k] for k in self.columns)
        # Parameters in units that matter equally at the tool: lengths by the robot's size, angles as they are.
        self.scales: np.ndarray = np.array([self.model.scale if unit == "m" else 1.0 for unit in self.units])
        self.notes: list[str] = []
        self.sigmas: np.ndarray = self._sigmas()

    def imagined(self, n: int) -> FitProblem:
        """Return `n` random postures with noise-free readings, in contact where the measurement needs it."""
        return imagined(self.model, self.measurement, n, self._seed, self.groups, self.placed)

    @property
    def n_rows(self) -> int:
        """Number of rows per posture."""
        return len(self.sigmas)

    @property
    def frame(self) -> str:
        """Measured frame."""
        return self.problem.parts[0].frame

    def jacobians(self, q: ArrayLike) -> np.ndarray:
        """Return whitened rows by scaled parameters in every posture, (n, rows, parameters)."""
        q = self.robot.mechanism.checked_q(q)
        return self._kernel(q, self.sigmas**2, self.measurement.sigma_q**2) * self.scales

    def pullback(self, q: ArrayLike, weights: np.ndarray) -> np.ndarray:
        """Return d/dq Σ weights · rows in the tangent of q, (n, n_v), for fixed weights (n, rows, parameters)."""
        q = self.robot.mechanism.checked_q(q)
        return self._slope(q, self.sigmas**2, self.measurement.sigma_q**2, weights * self.scales)

    def tool(self, q: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        """Return the measured point (n, 3), m, and its Jacobian (n, 3, interest) by scaled parameters."""
        p, F = self._tool_kernel(self.robot.mechanism.checked_q(q))
        return p, F * self.scales[: self.n_interest]

    def visible(self, q: np.ndarray) -> np.ndarray:
        """Return True for postures (n, n_q) that can be measured: a camera sees its board."""
        problem = fit_problem(self.model, [Dataset.unread(self.measurement, q)])
        return visible_postures(problem.placed(self.problem.labelled(self.problem.frames)), 0)

    def contacts(self, n: int) -> tuple[np.ndarray, tuple[str, ...], np.ndarray]:
        """Return postures that touch, their places, and rows as in `jacobians`, for measurements by contact."""
        problem = self.imagined(n)
        rows = self._in_contact(problem)
        q, groups = problem.parts[0].q, problem.campaigns[0].groups
        inside = np.all((q >= self.robot.lower) & (q <= self.robot.upper), axis=1)
        chosen = tuple(groups[k] for k in np.flatnonzero(inside)) if groups else ()
        return q[inside], chosen, rows[inside]

    def measured(self, have: Dataset) -> np.ndarray:
        """Return rows (n, rows, parameters) of postures measured before."""
        if not self.measurement.implicit:
            return self.jacobians(have.q)
        moved, touching = in_contact(self.model, have, self.placed)
        lost = int((~touching).sum())
        if lost:
            self.notes.append(f"{lost} of {len(have)} postures measured before cannot touch and do not count")
        return self._in_contact(contact_problem(self.model, [moved], self.placed))[touching]

    @cached_property
    def known(self) -> np.ndarray:
        """Information (K, K) that needs no posture: known distances between the places touched."""
        return distance_information(self.problem, self.names, self.scales)

    # --- private

    def _touching(self, n: int, have: Dataset | None) -> FitProblem:
        """Build rows of postures that touch known and new places, and set the frames of these."""
        before = Dataset(self.measurement, np.zeros((0, self.robot.n_q))) if have is None else have
        self.groups = group_list(self.measurement, before)
        self.placed = touched(self.model, before) if len(before) else {}
        problem = self.imagined(n)
        frames = problem.labelled(problem.frames)
        self.new_places = tuple(label for label in frames if label not in self.placed)
        self.placed = {**frames, **self.placed}
        self.groups = tuple(dict.fromkeys(problem.campaigns[0].groups))  # others are out of reach
        if not len(before):
            return problem
        moved, _ = in_contact(self.model, before, self.placed)
        return contact_problem(self.model, [problem.campaigns[0], moved], self.placed)

    def _in_contact(self, problem: FitProblem) -> np.ndarray:
        return contact_rows(problem, self.names, self.scales, self.sigmas, self.measurement.sigma_q)

    def _sigmas(self) -> np.ndarray:
        given = self.measurement.sigmas()
        for noise in self.measurement.noises:
            if given[noise.name] is None:
                factor, unit = DEVIATIONS[noise.unit]
                assumed = f"{noise.typical * factor:g} {unit}"
                self.notes.append(f"the noise of {noise.name} is not given: {assumed} is assumed")
        if self.both_sides:
            self.notes.append(BOTH_SIDES)
            if self.measurement.implicit:
                raise ZvenoError("contacts from both sides are not planned", element="hysteresis")
        return np.tile(self.measurement.component_sigma(), self.measurement.n_seen * (2 if self.both_sides else 1))

    @property
    def both_sides(self) -> bool:
        """True if every posture is measured twice, from both sides: joints have hysteresis."""
        return any(term.role == "hysteresis" for term in self.model.terms)

    @cached_property
    def _layout(self) -> RowsLayout:
        problem, part = self.problem, self.problem.parts[0]
        unknowns = {
            unknown.frame: tuple((direction, unknown.start + j) for j, direction in enumerate(unknown.free))
            for unknown in problem.unknowns
        }
        seen = []
        for thing in np.flatnonzero(part.posture == 0):
            numbers = int(part.left[thing]), int(part.right[thing]), int(part.target[thing])
            L, R, X = (problem.frames[number] for number in numbers)
            of_slots = tuple(unknowns.get(number, ()) for number in numbers)
            constants = tuple(c[thing] for c in instrument_numbers(part, problem.frames))
            seen.append(Seen((L, R, X), (*of_slots, part.number_columns) if constants else of_slots, constants))
        return RowsLayout(
            self.model,
            self.frame,
            part.seen_from,
            type(self.measurement),
            tuple(seen),
            problem.n_columns,
            tuple(self.columns),
        )

    @cached_property
    def _kernel(self) -> Kernel:
        layout = self._layout
        return compiled(whitened_rows, layout.inputs, constants=(layout,), name="design_rows", outputs=("J",))

    @cached_property
    def _slope(self) -> Kernel:
        layout = self._layout
        inputs = layout.inputs | {"weights": (self.n_rows, len(layout.columns))}
        return compiled(rows_pullback, inputs, constants=(layout,), name="design_slope", outputs=("slope",))

    @cached_property
    def _tool_kernel(self) -> Kernel:
        point = self.problem.frames[self.problem.parts[0].right[0]][:3, 3]
        constants, inputs = (self._layout, point, self.n_interest), {"q": (self.robot.n_q,)}
        return compiled(tool_point, inputs, constants=constants, name="design_tool", outputs=("p", "F"))
