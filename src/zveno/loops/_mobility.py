"""Mobility of a mechanism with closed loops, as a result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from ..algorithms.loop_rows import row_names
from ..errors import ModelError
from ..io.results import hash_of, registered
from ..mechanism.units import velocity_names
from ..report.description import Description
from ..report.result import Result
from ..robot_functions import RobotFunctions
from .branch import GAP, scaled
from .selection import closed_start, closing_fault, selection

UNCLEAR = 0.1
"""Largest dropped over least kept singular value beyond which a rank is not clear."""

MobilityStatus = Literal[
    "regular", "overconstrained", "singular reference", "undecided", "not closed", "cannot close"
]


@registered
@dataclass(frozen=True, eq=False, repr=False)
class Mobility(Result):
    """Mobility of a mechanism with closed loops.

    Attributes:
        status: "regular"; "overconstrained", some rows follow from others; "singular reference", the rank at the
            reference is below that beside it, so branches meet there; "undecided", no clear gap in the singular
            values; "not closed", no closed state was found; "cannot close", a direction is off that no joint moves.
        reason: why.
        mobility: number of independent velocities; None if no closed state is known.
        driven, idle, dependent: names of velocities: moved by motors; free with motors locked; following from them.
        surplus_motors: names of driven velocities that follow from other motors.
        n_rows, rank: rows of the loops, and how many are independent.
        redundant_rows: loop and direction of rows that follow from others.
        constant_rows: loop and direction of those among them that no joint moves.
        q: the closed state, (n_q,); the nearest one found if the loops do not close.
        residual: largest |φ| there, m or rad.
        margin: least kept over largest singular value of the scaled rows at q.
        gap: largest dropped over least kept singular value along the branch.
        notes: remarks.
        robot_name, inputs_hash: name of the robot, and hash of it.
    """

    status: MobilityStatus
    reason: str
    mobility: int | None
    driven: tuple[str, ...]
    idle: tuple[str, ...]
    dependent: tuple[str, ...]
    surplus_motors: tuple[str, ...]
    n_rows: int
    rank: int
    redundant_rows: tuple[str, ...]
    constant_rows: tuple[str, ...]
    q: np.ndarray
    residual: float
    margin: float
    gap: float
    notes: tuple[str, ...]
    robot_name: str
    inputs_hash: str

    kind = "mobility"

    @property
    def summary(self) -> str:
        """Status, mobility and what drives it."""
        if self.mobility is None:
            return f"{self.robot_name}: {self.status}: {self.reason}"
        parts = [f"mobility {self.mobility}", f"{len(self.driven)} driven"]
        parts += [f"{len(self.idle)} idle"] if self.idle else []
        parts += [f"{len(self.redundant_rows)} of {self.n_rows} rows redundant"] if self.redundant_rows else []
        return f"{self.robot_name}: {self.status}: " + ", ".join(parts)

    def describe(self) -> Description:
        """Describe the result for text, figures and pages."""
        good = self.status in ("regular", "overconstrained")
        return Description("Mobility", self.summary, "good" if good else "warn")


def mobility(robot: RobotFunctions, *, q0: ArrayLike | None = None) -> Mobility:
    """Find the mobility of a mechanism with closed loops: independent coordinates, idle freedoms, redundant rows.

    Args:
        robot: a robot with loops. Its mechanism's `motors` are the driven joints; without them, independent
            coordinates are chosen from the first joints of the tree.
        q0: a configuration near the intended branch; by default the model's reference, or neutral.
    """
    mechanism = robot.mechanism
    if not mechanism.loops:
        raise ModelError("has no closed loops", element=mechanism.name, remedy="Its mobility is n_v")
    names, rows = velocity_names(mechanism), row_names(mechanism)
    q, left = closed_start(mechanism, None if q0 is None else mechanism.checked_q(q0, "q0"))
    fault = closing_fault(mechanism, left)
    if fault is not None:
        return Mobility(
            status=fault.status,
            reason=f"{fault.loop}: {fault.reason}",
            mobility=None,
            driven=(),
            idle=(),
            dependent=(),
            surplus_motors=(),
            n_rows=len(rows),
            rank=0,
            redundant_rows=(),
            constant_rows=(),
            q=q,
            residual=float(abs(left).max()),
            margin=0.0,
            gap=0.0,
            notes=(),
            robot_name=mechanism.name,
            inputs_hash=hash_of(mechanism.fingerprint),
        )
    chosen = selection(mechanism, q0)
    redundant = len(rows) - len(chosen.rows)
    if chosen.gap > UNCLEAR:
        status, reason = "undecided", f"dropped singular values reach {chosen.gap:.2g} of the kept ones"
    elif chosen.rank_at_q < len(chosen.rows):
        status = "singular reference"
        reason = f"the rank is {chosen.rank_at_q} at the reference and {len(chosen.rows)} beside it: branches meet"
    elif redundant:
        status, reason = "overconstrained", f"{redundant} of {len(rows)} rows follow from the others"
    else:
        status, reason = "regular", "all rows are independent"
    slopes = abs(scaled(mechanism).rows(scaled(mechanism).samples[1])).max(axis=(0, 2))
    checked = chosen.checked
    surplus = () if chosen.chosen else sorted(set(chosen.dependent) & set(mechanism.driven_velocities))
    notes = []
    if chosen.chosen:
        notes.append("the model names no motors: the driven velocities are a choice")
    if redundant and abs(chosen.left[checked]).max() > 1e-9:
        worst = checked[np.argmax(abs(chosen.left[checked]))]
        notes.append(
            f"{rows[worst]} is left open by {abs(chosen.left[worst]):.1e}: rounding or errors of the geometry"
        )
    return Mobility(
        status=status,
        reason=reason,
        mobility=mechanism.n_v - len(chosen.rows),
        driven=tuple(names[k] for k in chosen.driven),
        idle=tuple(names[k] for k in chosen.idle),
        dependent=tuple(names[k] for k in chosen.dependent),
        surplus_motors=tuple(names[k] for k in surplus),
        n_rows=len(rows),
        rank=len(chosen.rows),
        redundant_rows=tuple(rows[k] for k in checked),
        constant_rows=tuple(rows[k] for k in checked if slopes[k] < GAP),
        q=chosen.q,
        residual=float(abs(chosen.left).max()),
        margin=chosen.margin,
        gap=chosen.gap,
        notes=tuple(notes),
        robot_name=mechanism.name,
        inputs_hash=hash_of(mechanism.fingerprint),
    )
