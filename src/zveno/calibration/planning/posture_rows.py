"""Rows of the calibration's Jacobian as functions of the posture alone, which `planned_rows` compiles."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...algorithms.inverse_dynamics import gravity_torque
from ...kernels import derivatives
from ...kernels.ops import sqrt
from ...kernels.trace import call, trace
from ..measurements.base import Measurement
from ..measurements.residual_slopes import residual_and_slopes
from ..model.kinematics import by_coordinates, frame_motion, relative_motion
from ..model.loads import loaded
from ..model.models import Model


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
