"""Joint values that bring the calibrated robot to the poses of the nominal one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, get_args

import numpy as np

from ..algorithms import linear
from ..algorithms.inverse_dynamics import gravity_torque
from ..io.results import registered
from ..kernels import ops as zm
from ..kernels.compile import compiled_program
from ..kernels.export_c import CSource, export_c
from ..kernels.kernel import Kernel
from ..kernels.program import Program
from ..kernels.trace import trace
from ..report.result import Result
from ..spatial.transforms import inverse
from ._kinematics import frame_motion
from ._loads import loaded
from ._products import by_coordinates
from .models import Model

STEPS = 4
"""Number of Newton steps: calibration errors are small, and each step squares the remaining error."""
DAMPING = 1e-6
"""Damping added to J Jᵀ, m² and rad²: directions in which a metre or radian of joint motion moves the frame by less
than a millimetre or milliradian are not corrected."""
LARGEST = 0.2
"""Largest correction of a joint, rad or m: more than any calibration error needs away from a singularity, and far
less than the distance to another branch."""
TOLERANCE = 1e-6
"""Error, m and rad, below which the pose counts as reached: a hundredth of the repeatability of robots."""

TOOLS = ("measured", "nominal")
"""Tools that the nominal robot may carry."""
REACHED, AT_LIMIT, HELD_BACK, UNCHANGED = range(4)
STATUSES = (
    "reached",
    "closer, a joint is at its limit",
    "closer, but singular or with too few joints",
    "left as it was: no small correction helps position and orientation",
)
"""Meanings of the status codes, in Python and in C."""


CompensationStatus = Literal["reached", "at a limit", "singular", "unchanged"]


@registered
@dataclass(frozen=True, eq=False, repr=False)
class Compensation(Result):
    """Corrected joint values, and whether each posture was reached.

    Attributes:
        q: (..., n_q) to command.
        codes: (...) of `status`, as the exported C function returns them: 0 reached; 1 and 2 closer, held back by a
            limit, or by a singularity or too few joints; 3 left as it was.
        position_error, rotation_error: (...) remaining errors by the calibrated model, m and rad.
        doubt: harm that the correction may do since the data do not determine it; empty if none.
    """

    kind: ClassVar[str] = "compensation"

    q: np.ndarray
    codes: np.ndarray
    position_error: np.ndarray
    rotation_error: np.ndarray
    doubt: str = ""

    @property
    def reached(self) -> np.ndarray:
        """Postures that are reached, (...) booleans."""
        return self.codes == REACHED

    @property
    def status(self) -> CompensationStatus | np.ndarray:
        """ "reached", "at a limit", "singular" or "unchanged" (no small correction helps); (...) of a batch."""
        return np.array(get_args(CompensationStatus), dtype=object)[self.codes]

    @property
    def summary(self) -> str:
        """Number of postures that are reached, and the outcome of the others."""
        counts = np.bincount(self.codes.ravel(), minlength=len(STATUSES))
        parts = [f"{count} {word}" for count, word in zip(counts, STATUSES, strict=True) if count]
        doubt = f". The correction {self.doubt}" if self.doubt else ""
        return f"{self.codes.size} postures: " + ("; ".join(parts) or "none") + doubt


def compensation_program(model: Model, frame: str, values: np.ndarray, tool: str = "measured") -> Program:
    """Build the program q desired → q to command, status and remaining errors, of fixed length for kernels and C.

    Damped Newton steps on the pose error in the frame's axes: the smallest change for redundant arms, the least
    error for arms with fewer joints. Joints stay inside their limits and within `LARGEST` of where they were; a
    result that is worse than q itself in position or in orientation is dropped. Where joints have hysteresis there
    is a second input, the sign (n_v,) of the motion by which each joint will come to where it is sent, 0 where that
    is not known.

    Args:
        model, values: the calibrated robot.
        frame: the frame that was measured.
        tool: "measured": the nominal robot carries the tool as it was measured, so that a measured point that the
            model does not know is compared with itself; "nominal": the tool is wanted where the model has it.
    """
    mechanism = model.mechanism
    planned = planned_deviations(model, frame, values, tool)
    soft = any(values[k] for k, term in enumerate(model.terms) if term.role == "compliance")
    sided = has_sides(model, values)
    heavy = loaded(mechanism, model.loads) if soft else mechanism
    moving = [move for move in model.axes if move.joint.mimic is None]
    driven = {move.position.start: k for k, move in enumerate(moving)}

    def compensated(q, *side):
        def error_and_slopes(q, target):
            return error_of(q, target, side[0] if side else None)

        target, _ = frame_motion(model, frame, q, planned, np.zeros(mechanism.n_v))
        ranges = [_range(mechanism, q, move.position.start) for move in moving]
        errors = [error_and_slopes(q, target)]
        now = q
        for _ in range(STEPS):
            error, _, J = errors[-1]
            n = J.shape[1]
            if n >= 6:
                step = J.T @ linear.solve(J @ J.T + DAMPING * np.eye(6), error)
            else:
                step = linear.solve(J.T @ J + DAMPING * np.eye(n), J.T @ error)
            moved = list(now)
            for place, k in driven.items():
                low, high = ranges[k]
                moved[place] = zm.minimum(zm.maximum(now[place] + step[k], low), high)
            now = np.array(moved)
            errors.append(error_and_slopes(now, target))
        (before, angle_before, _), *_, (after, angle_after, _) = errors
        sizes = [(_length(e[:3]), angle) for e, angle in ((before, angle_before), (after, angle_after))]
        better = zm.less(_length(sizes[1]), _length(sizes[0]))
        for old, new in zip(*sizes, strict=True):  # neither is given up for the other
            better = zm.logical_and(better, zm.less_equal(new, zm.maximum(old, TOLERANCE)))
        command = np.array([zm.where(better, now[i], q[i]) for i in range(mechanism.n_q)])
        position, rotation = (zm.where(better, new, old) for old, new in zip(*sizes, strict=True))
        return command, _status(position, rotation, better, command, q, ranges, driven), position, rotation

    def error_of(q, target, side):
        tau = gravity_torque(heavy, q) if soft else np.zeros(mechanism.n_v)
        T, by_values = frame_motion(model, frame, q, values, tau, side)
        E = inverse(T) @ target
        turn = 0.5 * np.array([E[2, 1] - E[1, 2], E[0, 2] - E[2, 0], E[1, 0] - E[0, 1]])
        J = by_coordinates(model, by_values[:, model.offset_terms])[:, [move.velocity.start for move in moving]]
        # 2 sin(θ/2), which distinguishes a half turn from none, unlike `turn`
        angle = zm.sqrt(zm.maximum(3.0 - (E[0, 0] + E[1, 1] + E[2, 2]), 0.0))
        return np.array([*E[:3, 3], *turn]), angle, J

    outputs = ("q_command", "status", "position_error", "rotation_error")
    inputs = {"q_desired": (mechanism.n_q,)} | ({"approach": (mechanism.n_v,)} if sided else {})
    return trace(compensated, inputs, name="compensate", outputs=outputs)


def planned_deviations(model: Model, frame: str, values: np.ndarray, tool: str) -> np.ndarray:
    """Return the deviations (P,) of the robot used for planning: those of the measured tool, or none."""
    planned = np.zeros(len(values))
    if tool == "measured":
        block = next(block for block in model.blocks if block.frame == frame)
        planned[block.first : block.first + 6] = values[block.first : block.first + 6]
    return planned


def has_sides(model: Model, values: np.ndarray) -> bool:
    """Return True if the direction of approach matters: parameters `values` (P,) have hysteresis."""
    return any(values[k] for k, term in enumerate(model.terms) if term.role == "hysteresis")


def _range(mechanism, q, place: int):
    """Return the range of a joint's correction: near q, and not further outside its limits than q is."""
    lower, upper = float(mechanism.lower[place]), float(mechanism.upper[place])
    low, high = q[place] - LARGEST, q[place] + LARGEST
    if np.isfinite(lower):
        low = zm.maximum(low, zm.minimum(lower, q[place]))
    if np.isfinite(upper):
        high = zm.minimum(high, zm.maximum(upper, q[place]))
    return low, high


def _length(parts) -> Any:
    return zm.sqrt(sum((part * part for part in parts), 0.0))


def _status(position, rotation, better, command, q, ranges, driven) -> Any:
    at_limit: Any = 0.0
    for place, k in driven.items():
        low, high = ranges[k]
        near = zm.logical_or(zm.less_equal(command[place], low), zm.less_equal(high, command[place]))
        inside = zm.less(zm.abs(command[place] - q[place]), LARGEST)
        at_limit = zm.logical_or(at_limit, zm.logical_and(near, inside))
    short = zm.where(at_limit, float(AT_LIMIT), float(HELD_BACK))
    reached = zm.logical_and(zm.less(position, TOLERANCE), zm.less(rotation, TOLERANCE))
    return zm.where(reached, float(REACHED), zm.where(better, short, float(UNCHANGED)))


def compensation_kernel(model: Model, frame: str, values: np.ndarray, tool: str = "measured") -> Kernel:
    """Compile `compensation_program` for batches."""
    return compiled_program(compensation_program(model, frame, values, tool))


def compensation_c(
    model: Model, frame: str, values: np.ndarray, tool: str = "measured", name: str = "compensate"
) -> CSource:
    """Return `compensation_program` as a C99 function without allocation that returns the status."""
    return export_c(compensation_program(model, frame, values, tool), name=name, returns="status")
