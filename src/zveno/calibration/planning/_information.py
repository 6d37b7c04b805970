"""Information of a posture: whitened rows of the Jacobian of a calibration, their derivatives, touched places."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from ...algorithms.inverse_dynamics import gravity_torque
from ...errors import ZvenoError
from ...io.expressions import DEVIATIONS
from ...kernels import derivatives
from ...kernels.compile import compiled
from ...kernels.kernel import Kernel
from ...kernels.ops import sqrt
from ...kernels.trace import call, trace
from ...robot_functions import RobotFunctions
from .._fit.frames import first_frames
from .._identifiability import Identifiability, analyse
from .._kinematics import frame_motion, relative_motion
from .._loads import loaded
from .._postures import imagined, visible_postures
from .._products import by_coordinates
from ..measurements import Measurement, measurement
from ..measurements._contact import into_contact
from ..measurements._fit_problem import FitProblem, fit_problem, instrument_numbers, residual_and_slopes
from ..measurements.datasets import Dataset
from ..models import CalibrationModel, Model, redundant_model

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
        model: CalibrationModel = CalibrationModel(),  # noqa: B008  (frozen)
        have: Dataset | None = None,
        seed: int = 0,
    ):
        self.robot = robot
        self.measurement = kind = measurement(kind)
        self.model: Model = redundant_model(robot.mechanism, kind.frames, model.terms)
        self._seed = seed
        n = max(30, int(np.ceil(3.0 * (len(self.model.terms) + 12) / (kind.n_seen * kind.n_rows))))
        self.placed: dict[str, np.ndarray] = {}
        self.new_places: tuple[str, ...] = ()
        self.groups: tuple[str, ...] = ()
        self.problem: FitProblem = self._touching(n, have) if kind.implicit else self.imagined(n)
        self.structure: Identifiability = analyse(
            self.problem, robot.name, model.strategy or "JL", model.choose(self.model)
        )
        if not self.structure.chosen:
            raise ZvenoError(
                "the measurement tells nothing about these parameters",
                element=", ".join(self.structure.names[:8]),
                remedy="Leave them out, or measure something else",
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
                raise ZvenoError(
                    "contacts from both sides are not planned",
                    element="hysteresis",
                    remedy="Plan without hysteresis",
                )
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


@dataclass(frozen=True, eq=False)
class Seen:
    """Thing that is measured in every posture.

    Attributes:
        frames: L, R and X, each (4, 4).
        unknowns: of L, R, X and the instrument's constants, (displacement or constant, column of the Jacobian)
            where they are unknown.
        numbers: the constants, in a tuple of one array, or none.
    """

    frames: tuple[np.ndarray, np.ndarray, np.ndarray]
    unknowns: tuple[tuple[tuple[int, int], ...], ...]
    numbers: tuple[np.ndarray, ...] = ()


@dataclass(frozen=True, eq=False)
class RowsLayout:
    """Everything besides the posture that its rows depend on.

    Attributes:
        model, frame, seen_from: the robot's model, its measured frame, and the frame that takes the place of the
            world, or "".
        kind: the kind of measurement.
        seen: things measured in every posture.
        n_columns: columns of the Jacobian by all unknowns.
        columns: those that are wanted.
    """

    model: Model
    frame: str
    seen_from: str
    kind: type[Measurement]
    seen: tuple[Seen, ...]
    n_columns: int
    columns: tuple[int, ...]

    @property
    def sides(self) -> tuple[np.ndarray | None, ...]:
        """Sides from which joints come to every posture: both if they have hysteresis."""
        if not any(term.role == "hysteresis" for term in self.model.terms):
            return (None,)
        ones = np.ones(self.model.mechanism.n_v)
        return ones, -ones

    @property
    def rows_each(self) -> int:
        """Number of rows per thing seen."""
        return self.kind.noises[-1].rows.stop

    @property
    def inputs(self) -> dict[str, tuple[int, ...]]:
        """Shapes of the inputs of `whitened_rows`."""
        n_rows = self.rows_each * len(self.seen) * len(self.sides)
        return {"q": (self.model.mechanism.n_q,), "variance": (n_rows,), "variance_q": ()}


def whitened_rows(layout: RowsLayout, q: np.ndarray, variance: np.ndarray, variance_q: np.ndarray) -> np.ndarray:
    """Return J (rows, parameters), rows divided by their standard deviation.

    Args:
        layout: measured things and estimated parameters.
        q: the posture, (n_q,).
        variance: of every row.
        variance_q: of the joints' sensors.
    """
    each = layout.rows_each * len(layout.seen)
    both = [
        _rows_from(layout, q, side, variance[each * k : each * (k + 1)], variance_q)
        for k, side in enumerate(layout.sides)
    ]
    return np.concatenate(both)


def _rows_from(layout: RowsLayout, q, side: np.ndarray | None, variance, variance_q) -> np.ndarray:
    """Return the rows of a posture to which joints came from one side."""
    T, J = _motion(layout, q, side)
    kind, by_q = layout.kind, by_coordinates(layout.model, J[:, layout.model.offset_terms])
    m, rows = layout.rows_each, []
    for k, seen in enumerate(layout.seen):
        L, R, X = seen.frames
        # If the derivatives depend on the reading, it follows the posture.
        y = np.zeros(kind.n_data) if kind.linear else kind.reading(L @ T @ R, X, *seen.numbers)
        _, by_T, *by_slots = residual_and_slopes(kind, T, L, R, X, y, *seen.numbers)
        full = np.zeros((m, layout.n_columns), dtype=object)
        full[:, : J.shape[1]] = by_T @ J
        for unknowns, slope in zip(seen.unknowns, by_slots, strict=True):
            for direction, column in unknowns:
                full[:, column] = full[:, column] + slope[:, direction]
        moving = by_T @ by_q
        spread = variance[m * k : m * (k + 1)] + variance_q * np.sum(moving * moving, axis=1)
        rows.append(full[:, list(layout.columns)] / np.array([sqrt(x) for x in spread])[:, None])
    return np.concatenate(rows)


def rows_pullback(
    layout: RowsLayout, q: np.ndarray, variance: np.ndarray, variance_q: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    """Return d/dq Σ weights · rows in the tangent of q, (n_v,), for weights (rows, parameters) held constant."""
    program = trace(whitened_rows, layout.inputs, outputs=("J",), constants=(layout,))
    backwards = derivatives.reverse(program, of="J", wrt="q")
    return layout.model.mechanism.tangent(q).T @ call(backwards, q, variance, variance_q, weights)


def tool_point(
    layout: RowsLayout, point: np.ndarray, n_interest: int, q: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return a point (3,) of the measured frame and its Jacobian (3, n_interest) by the wanted parameters."""
    T, J = _motion(layout, q)
    # A point of the frame moves with v + w × point in the frame's axes.
    linear = J[:3] + np.stack(
        [
            J[4] * point[2] - J[5] * point[1],
            J[5] * point[0] - J[3] * point[2],
            J[3] * point[1] - J[4] * point[0],
        ]
    )
    linear = T[:3, :3] @ linear
    F = np.zeros((3, n_interest), dtype=object)
    for place, column in enumerate(layout.columns[:n_interest]):
        if column < len(layout.model.terms):
            F[:, place] = linear[:, column]
    return T[:3, :3] @ point + T[:3, 3], F


def _motion(layout: RowsLayout, q, side: np.ndarray | None = None):
    """Return the pose of the measured frame and its Jacobian by all parameters of the model."""
    model = layout.model
    tau = gravity_torque(loaded(model.mechanism, model.loads), q) if model.yields else None
    at = q, np.zeros(len(model.terms)), tau, side
    motion = frame_motion(model, layout.frame, *at)
    if not layout.seen_from:
        return motion
    return relative_motion(*frame_motion(model, layout.seen_from, *at), *motion)


def group_list(kind: Measurement, have: Dataset) -> tuple[str, ...]:
    """Return the groups that new postures may touch: those measured before; empty: imagined ones."""
    return () if kind.grouped is None else tuple(dict.fromkeys(have.groups or ("",) * len(have)))


def contact_problem(
    model: Model, campaigns: Sequence[Dataset], placed: Mapping[str, np.ndarray] | None = None
) -> FitProblem:
    """Build the rows of postures in contact, nothing read; unknown frames from `placed`, (4, 4) by label."""
    unread = [
        Dataset.unread(campaign.measurement, campaign.q, campaign.groups, campaign.name) for campaign in campaigns
    ]
    return fit_problem(model, unread).placed(placed or {})


def touched(model: Model, have: Dataset) -> dict[str, np.ndarray]:
    """Return the frames of things touched before, (4, 4) by label, according to the nominal robot."""
    problem = contact_problem(model, [have])
    return problem.labelled(first_frames(problem, np.zeros(len(model.terms))))


def in_contact(model: Model, have: Dataset, placed: Mapping[str, np.ndarray]) -> tuple[Dataset, np.ndarray]:
    """Move measured postures as little as the nominal robot needs to touch; return them and which then do."""
    q, touching = into_contact(contact_problem(model, [have], placed), 0, have.q)
    return replace(have, q=q), touching


def contact_rows(
    problem: FitProblem, names: Sequence[str], scales: np.ndarray, sigmas: np.ndarray, sigma_q: float
) -> np.ndarray:
    """Return whitened rows (n, m, K) of postures in contact by scaled parameters.

    Args:
        problem: the rows; its residuals are zero.
        names, scales: columns wanted; those the system does not have are zero.
        sigmas: standard deviation of every row of a posture.
        sigma_q: standard deviation of the joint encoders, which adds to it.
    """
    J = _columns(problem, names)[problem.noise >= 0] * scales
    _, by_offsets = problem.evaluate(problem.nominal, problem.frames, problem.model.offset_terms, exact=True)
    by_q = by_coordinates(problem.model, by_offsets[problem.noise >= 0])
    variance = np.tile(sigmas**2, len(J) // len(sigmas)) + sigma_q**2 * np.sum(by_q**2, axis=1)
    return (J / np.sqrt(variance)[:, None]).reshape(-1, len(sigmas), len(names))


def distance_information(problem: FitProblem, names: Sequence[str], scales: np.ndarray) -> np.ndarray:
    """Return the information (K, K) from known distances between touched things, each counted once."""
    once = {(a, b): k for k, (a, b, *_) in enumerate(problem.constraints)}
    kept = list(once.values())
    J = _columns(problem, names)[problem.noise < 0][kept] * scales
    J = J / np.array([problem.constraints[k][3] for k in kept])[:, None]
    return J.T @ J


def _columns(problem: FitProblem, names: Sequence[str]) -> np.ndarray:
    """Return derivatives (M, K) of all rows by names; zero for those the system does not have."""
    numbers = {name: k for k, name in enumerate(problem.names)}
    present = [k for k, name in enumerate(names) if name in numbers]
    wanted = [numbers[names[k]] for k in present]
    J = np.zeros((problem.n_rows, len(names)))
    zero = problem.nominal
    J[:, present] = problem.evaluate(zero, problem.frames, wanted, exact=True)[1]
    return J
