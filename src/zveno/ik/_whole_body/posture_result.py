"""Results of posture searches for whole bodies."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np

from ...io.results import registered
from ...mechanism import Mechanism
from ...report.description import Description
from ...report.result import Result

ConfigurationsStatus = Literal["solved", "undecided", "rejected"]


@registered
@dataclass(frozen=True, eq=False, repr=False)
class Configurations(Result):
    """Postures that were found.

    Attributes:
        q: postures (k, n_q) inside limits that reach every target, distinct, in the order in which they were found.
        residual: worst miss of each, (k,), m or rad.
        status: "solved"; "undecided": none was reached, which proves nothing; "rejected": none that was reached
            is accepted.
        nearest: the posture that comes nearest where none reaches all, (n_q,).
        misses: by how much `nearest`, or the first posture, misses each target: {name: (m, rad)}.
        starts: number of starts that were tried.
        mechanism: the robot.
        inputs_hash: hash of the inputs.
    """

    kind: ClassVar[str] = "postures"

    q: np.ndarray
    residual: np.ndarray
    status: ConfigurationsStatus
    nearest: np.ndarray
    misses: dict[str, tuple[float, float]]
    starts: int
    mechanism: Mechanism | None = None
    inputs_hash: str = field(default="")

    @property
    def count(self) -> int:
        """Number of postures."""
        return len(self.q)

    @property
    def worst(self) -> str:
        """The target that is missed most."""
        return max(self.misses, key=lambda name: max(self.misses[name]))

    @property
    def summary(self) -> str:
        """Summarize the result in a sentence or two."""
        if self.status == "solved":
            noun = "posture reaches" if self.count == 1 else "postures reach"
            return f"{self.count} {noun} every target ({self.starts} starts); there may be others."
        if self.status == "rejected":
            return (
                f"Postures from {self.starts} starts reach every target, and none of them is accepted; "
                "there may be others."
            )
        metres, radians = self.misses[self.worst]
        return (
            f"No posture was reached from {self.starts} starts, which does not prove that there is none; the "
            f"nearest misses {self.worst} most, by {1e3 * metres:.3g} mm and {1e3 * radians:.3g} mrad."
        )

    def describe(self) -> Description:
        """Return the description that text, figures and pages show."""
        from .._describe import describe_postures

        return describe_postures(self)
