"""Positions counted from another zero than the model's, where torques show it.

Nobody can tell the zero of a joint whose axis is vertical and fixed (gravity stays the same), nor of a joint that
carries no other (its link is turned along). Other zeros move the axes behind them, and are told once they are off
by so much that torques ask for another geometry.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..estimate import Normal, normals, solve, total
from ..fitting import Fit
from ..friction import TERMS
from ..model import TorqueFunction, TorqueModel
from ..moments import accumulate
from ..rows import rows_of
from ..survey import Survey
from .fault import Fault
from .geometry import STEP, gains_of, held_out

LEAST = 0.1
"""rad or m; a smaller offset is a matter of calibration."""
STEPS = 3
"""Gauss-Newton steps toward the offset that explains most."""
LONGEST = 1.0
"""rad or m; a longer step would leave what a derivative tells."""
PROMISING = 0.25
"""Joints whose first step explains this share of what the best one explains are followed further."""
ALIKE = 0.8
"""Joints that explain this share of what the best one explains are named with it."""


@dataclass(frozen=True)
class Offset:
    """What is added to the positions of a joint, rad or m, and its worth: how far the mean log of squared residuals
    in held-out blocks falls by it."""

    joint: int
    size: float
    worth: float


def zero_faults(found: Survey, fit: Fit, names: Sequence[str]) -> list[Fault]:
    """The zero that explains the torques best, with those that explain them nearly as well; for torques that ask
    for another geometry.

    Args:
        found, fit: what was found in the recording.
        names: joints.
    """
    search = _Search(found, fit)
    first = [search.first_step(j) for j in range(len(names))]
    most = max(offset.worth for offset in first)
    if most <= 0.0:
        return []
    offsets = [search.followed(offset) for offset in first if offset.worth >= PROMISING * most]
    offsets.sort(key=lambda offset: -offset.worth)
    best = offsets[0]
    if abs(best.size) < LEAST:
        return []
    alike = [offset for offset in offsets if offset.worth >= ALIKE * best.worth]
    joints = tuple(names[offset.joint] for offset in alike)
    units = [found.model.mechanism.joint(name).type.units[0] for name in joints]
    said = [
        f"{-offset.size:+.2g} {unit} at {name}" for offset, unit, name in zip(alike, units, joints, strict=True)
    ]
    text = (
        f"positions seem to be counted from another zero than the model's: {', or '.join(said)}; residuals would "
        f"be {1.0 - np.exp(-0.5 * best.worth):.0%} smaller without. Check the joints' zeros"
    )
    return [Fault("joint zero", joints, -best.size, text, best.worth)]


class _Search:
    """Offsets of the positions of one joint, tried on the rows of a recording."""

    def __init__(self, found: Survey, fit: Fit):
        self.found, self.sigma = found, fit.whole.estimate.sigma
        self.model = found.model.with_friction(fit.whole.friction)
        self.columns = np.arange(self.model.n_columns)
        self.offsets = np.zeros(self.model.mechanism.n_v)
        self.parts = self._parts(self.offsets, range(len(self.offsets)), found.loads[:, 0])
        self.before = held_out(self.parts, self.columns, self.sigma)

    def first_step(self, joint: int) -> Offset:
        """What the derivative by one joint's position explains."""
        columns = np.append(self.columns, len(self.columns) + joint)
        size = float(solve(total(self.parts).columns(columns), self.sigma, iterations=1).x[-1])
        return Offset(joint, float(np.clip(size, -LONGEST, LONGEST)), self._worth(self.parts, columns))

    def followed(self, offset: Offset) -> Offset:
        """The offset of the same joint after further steps, where they explain more."""
        joint, size, best = offset.joint, offset.size, replace(offset, worth=-np.inf)
        for _ in range(STEPS):
            at = self.offsets.copy()
            at[joint] = size
            parts = self._parts(at, [joint], self._load(at))
            worth = self._worth(parts, self.columns)
            if worth <= best.worth:
                break
            best = Offset(joint, size, worth)
            size += float(np.clip(solve(total(parts), self.sigma, iterations=1).x[-1], -LONGEST, LONGEST))
        return best

    def _worth(self, parts: Sequence[Normal], columns: np.ndarray) -> float:
        counts = total(parts).counts
        after = held_out(parts, columns, self.sigma)
        return float(gains_of(self.before, after) @ counts / max(counts.sum(), 1.0))

    def _parts(self, offsets: np.ndarray, joints: Sequence[int], load: np.ndarray) -> list[Normal]:
        """Normal equations with positions displaced, and derivatives by those of some joints as last columns.

        `load` (n_inertial,) are the parameters that predict the load.
        """
        derivatives = {f"position {j}": _derivative(self.model, load, j) for j in joints}
        return self._of(replace(self.model, own={**self.model.own, **derivatives}), offsets, load)

    def _load(self, offsets: np.ndarray) -> np.ndarray:
        """(n_inertial,) parameters of a fit without friction that depends on the load."""
        plain = self.model.with_friction([c for c in self.model.friction if not TERMS[c.term].needs_load])
        fit = solve(total(self._of(plain, offsets)), self.sigma, iterations=1)
        return fit.x[: plain.n_inertial]

    def _of(self, model: TorqueModel, offsets: np.ndarray, load: np.ndarray | None = None) -> list[Normal]:
        preparation = self.found.preparation.thinned.displaced(offsets)
        rows = rows_of(preparation, model, self.found.rest, None if load is None else load[:, None])
        return normals(accumulate(model, rows, self.found.edges))


def _derivative(model: TorqueModel, load: np.ndarray, joint: int) -> TorqueFunction:
    """Torques of inertia and gravity by the position of a joint."""
    step = np.zeros(model.mechanism.n_v)
    step[joint] = STEP

    def torques(q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        return (model.load(q + step, v, a, load) - model.load(q - step, v, a, load)) / (2.0 * STEP)

    return torques
