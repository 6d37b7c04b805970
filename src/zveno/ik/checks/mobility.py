"""Arms that are singular in every configuration: their solutions are continua, which no list of points exhausts.

Two joints about one axis are enough. Counting roots of such an arm proves nothing, and where none was found one may
have been lost, so neither "complete" nor a negative is claimed.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ..ik_problem import IkProblem
from ..newton import lanes_of
from ..six_revolute.polish import MOBILE, any_regular, random_configurations
from ..solutions import COMPLETE, UNDECIDED
from .draft import Draft
from .judgement import jacobians

REASON = "the arm is singular in every configuration, so that solutions may be missing"


def never_regular(draft: Draft) -> None:
    """Lower complete poses of a draft to undecided if the arm is singular everywhere."""
    claimed = np.flatnonzero(draft.codes == COMPLETE)
    if not len(claimed) or draft.problem.redundancy:
        return
    regular = np.zeros(len(draft.codes), bool)
    regular[draft.pose[draft.rows.least > MOBILE]] = True
    doubtful = claimed[~regular[claimed]]
    if len(doubtful) and not has_regular_configuration(draft.problem.base):
        draft.codes[doubtful] = UNDECIDED
        draft.notes.update((int(i), REASON) for i in doubtful)


@lru_cache(maxsize=128)
def has_regular_configuration(problem: IkProblem) -> bool:
    """Return True if J has full rank at one of some random configurations."""
    x = random_configurations(problem.n)
    return any_regular(jacobians(problem, x, lanes_of(problem, np.eye(4)[None]), np.zeros(len(x), int)))
