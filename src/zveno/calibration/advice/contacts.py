"""Postures in which proposed measurements would be made, brought into contact where a kind needs that."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from ..measurements.assembly import fit_problem
from ..measurements.base import Measurement
from ..measurements.campaigns import Campaign
from ..measurements.contact import into_contact
from ..measurements.residual_slopes import residual_kernel
from .candidates import Candidate
from .situation import Postures, Situation

STARTS = 45
"""Postures that are brought into contact; not all get there."""
CLOSE = 1e-5
"""m from a target at which a posture is in contact: enough for what it would tell."""
STEPS = 7
"""Steps after which a posture is given up."""


@dataclass(frozen=True, eq=False)
class Contacts:
    """Postures for candidates, and their targets; places that are touched are found once.

    Attributes:
        here: what was measured.
        distance: between two targets, m.
    """

    here: Situation
    distance: float
    _touching: dict[tuple[object, ...], Postures] = field(default_factory=dict)

    def of(self, candidate: Candidate, each: int, draws: int) -> tuple[Postures | None, list[np.ndarray]]:
        """Postures of a candidate for at most so many draws of `each`, and targets (4, 4) that they have in turns;
        None where there are not enough."""
        kind, point = candidate.kind, candidate.points[0]
        seen = (self.here.random.T @ point)[:, :3, 3]
        if not kind.implicit:
            at = self.here.random.only(slice(0, each * draws))
            return at, kind.imagined_targets(seen[: each * draws], np.zeros((2, 3)))
        targets = kind.imagined_targets(seen, np.array(self._goals(seen)))
        sets = [self._in_contact(kind, point, target) for target in targets]
        draws = min(draws, min(len(touching) for touching in sets) * len(sets) // each)
        if not draws:
            return None, targets
        return _in_turns([touching.only(slice(0, each * draws // len(sets))) for touching in sets]), targets

    def _goals(self, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Two places away from the middle, where points p (n, 3) are dense: reached from many postures."""
        outer = np.linalg.norm(p - p.mean(axis=0), axis=1)
        few, rank = p[outer >= np.median(outer)][:20], len(p) // 6
        near = np.partition(np.sum((few[:, None] - p) ** 2, axis=2), rank, axis=1)[:, rank]
        few = few[np.argsort(near)]
        apart = np.linalg.norm(few[1:] - few[0], axis=1)
        at = int(np.argmin(abs(apart - self.distance)))
        return few[0], few[0] + self.distance / max(apart[at], 1e-9) * (few[1 + at] - few[0])

    def _in_contact(self, kind: Measurement, point: np.ndarray, target: np.ndarray) -> Postures:
        """Postures nearest to a target, moved until they touch it; those that do not within limits are left out."""
        key = (kind.residual, point.tobytes(), target.tobytes())
        if key not in self._touching:
            n, model = len(self.here.random), self.here.problem.model
            R, X, y = np.tile(point, (n, 1, 1)), np.tile(target, (n, 1, 1)), np.zeros((n, kind.n_data))
            miss = residual_kernel(type(kind))(self.here.random.T, np.tile(np.eye(4), (n, 1, 1)), R, X, y)[0]
            nearest = np.argsort(np.sum(miss**2, axis=1))[:STARTS]
            what = replace(kind, frame=self.here.problem.parts[0].frame)
            problem = fit_problem(model, [Campaign.unread(what, self.here.random.q[nearest])])
            part, frames = problem.parts[0], problem.frames.copy()
            frames[part.right], frames[part.target] = point, target
            frames[part.right, :3, 3] += self.here.tool
            goal = problem.placed(frames)
            q, close = into_contact(goal, 0, part.q, tolerance=CLOSE / model.scale, steps=STEPS, compiled=True)
            lower, upper = model.mechanism.lower, model.mechanism.upper
            inside = (q >= lower).all(axis=1) & (q <= upper).all(axis=1)
            self._touching[key] = self.here.at(q[close & inside])
        return self._touching[key]


def _in_turns(sets: list[Postures]) -> Postures:
    """One of each after the other."""
    if len(sets) == 1:
        return sets[0]
    pairs = zip(*((postures.q, postures.T, postures.J, postures.by_joints) for postures in sets), strict=True)
    return Postures(*(np.stack(arrays, axis=1).reshape(-1, *arrays[0].shape[1:]) for arrays in pairs))
