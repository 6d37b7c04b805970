"""Check solver candidates: refine them to their poses, clamp them to touched limits, and drop repetitions."""

from __future__ import annotations

import numpy as np

from ..ik_problem import IkProblem
from ..newton import Lanes, newton
from ..solutions import Raw, flat
from .distinct import distinct
from .judgement import EXACT, SLACK, Judgement, judged


def checked_candidates(problem: IkProblem, lanes: Lanes, raw: Raw) -> tuple[np.ndarray, Judgement, np.ndarray]:
    """Return poses and distinct solutions, inside limits or not, and the poses of which candidates were dropped."""
    pose, x = flat(raw)
    rows = judged(problem, problem.in_units(x), lanes, pose)
    dropped = pose[:0]
    if not len(pose):
        return pose, rows, dropped
    if not rows.miss.max() <= EXACT:
        again = (~(rows.miss <= EXACT)).nonzero()[0]
        better, _ = newton(problem, rows.x[again], lanes.targets[pose[again]], lanes.tool, 24)
        rows.table[again] = judged(problem, better, lanes, pose[again]).table
        good = rows.miss <= EXACT
        dropped, solving = pose[~good], good.nonzero()[0]
        pose, rows = pose[solving], rows.taken(solving)
    over = rows.over
    outside = over[over > 0]
    if outside.size and outside.min() <= SLACK:
        touching = ((over > 0) & (over <= SLACK)).nonzero()[0]
        clipped = rows.x[touching].clip(*problem.box)
        rows.table[touching] = judged(problem, clipped, lanes, pose[touching]).table
    keep = distinct(problem, pose, rows.x, marks=rows.mark)  # ordered, since what follows may depend on the order
    pose, rows = pose[keep], rows.taken(keep)
    return pose, rows, dropped
