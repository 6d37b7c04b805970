"""Postures in which proposed measurements would be made, brought into contact where a kind needs that."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..measurements.contact import into_contact
from ..measurements.residual_slopes import residual_kernel
from .candidates import Candidate
from .situation import Situation

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
    _touching: dict[tuple[object, ...], np.ndarray] = field(default_factory=dict)

    def of(self, candidate: Candidate, each: int, draws: int) -> tuple[np.ndarray, list[np.ndarray]]:
        """Postures of a candidate for at most so many draws of `each`, and targets (4, 4) that they have in turns;
        no posture where there are not enough."""
        kind, point = candidate.kind, candidate.points[0]
        seen = (self.here.T @ point)[:, :3, 3]
        if not kind.implicit:
            return self.here.q[: each * draws], kind.imagined_targets(seen[: each * draws], np.zeros((2, 3)))
        targets = kind.imagined_targets(seen, np.array(self._goals(seen)))
        sets = [self._in_contact(candidate, target) for target in targets]
        draws = min(draws, min(len(touching) for touching in sets) * len(sets) // each)
        in_turns = np.stack([touching[: each * draws // len(sets)] for touching in sets], axis=1)
        return in_turns.reshape(-1, in_turns.shape[2]), targets

    def _goals(self, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Two places away from the middle, where points p (n, 3) are dense: reached from many postures."""
        outer = np.linalg.norm(p - p.mean(axis=0), axis=1)
        few, rank = p[outer >= np.median(outer)][:20], len(p) // 6
        near = np.partition(np.sum((few[:, None] - p) ** 2, axis=2), rank, axis=1)[:, rank]
        few = few[np.argsort(near)]
        apart = np.linalg.norm(few[1:] - few[0], axis=1)
        at = int(np.argmin(abs(apart - self.distance)))
        return few[0], few[0] + self.distance / max(apart[at], 1e-9) * (few[1 + at] - few[0])

    def _in_contact(self, candidate: Candidate, target: np.ndarray) -> np.ndarray:
        """Postures nearest to a target, moved until they touch it; those that do not within limits are left out."""
        kind, point = candidate.kind, candidate.points[0]
        key = (kind.residual, point.tobytes(), target.tobytes())
        if key not in self._touching:
            n, model = len(self.here.q), self.here.problem.model
            R, X, y = np.tile(point, (n, 1, 1)), np.tile(target, (n, 1, 1)), np.zeros((n, kind.n_data))
            c = [np.tile([number.value for number in kind.numbers], (n, 1))] if kind.n_numbers else []
            miss = residual_kernel(type(kind))(self.here.T, np.tile(np.eye(4), (n, 1, 1)), R, X, y, *c)[0]
            nearest = np.argsort(np.sum(miss**2, axis=1))[:STARTS]
            goal = candidate.rows(self.here, self.here.q[nearest], [target])
            start, tolerance = goal.parts[0].q, CLOSE / model.scale
            q, close = into_contact(goal, 0, start, tolerance=tolerance, steps=STEPS, compiled=True)
            lower, upper = model.mechanism.lower, model.mechanism.upper
            inside = (q >= lower).all(axis=1) & (q <= upper).all(axis=1)
            self._touching[key] = q[close & inside]
        return self._touching[key]
