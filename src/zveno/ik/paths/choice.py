"""The sequence of a path, for redundant arms and for others, and the branches it was chosen from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..redundant.sliced_joint import slices_of_sample as slices_of_sample
from .branches import Branch, branches_from
from .redundant_sequence import redundant_sequence
from .sequence import Sequence, best_sequence
from .strands import linked_layers
from .track import ChainFollower, Follower


def chosen_sequence(
    follower: Follower,
    redundancy: int,
    solutions: list[np.ndarray],
    start: np.ndarray | None,
    accept: Callable[[np.ndarray], np.ndarray] | None = None,
    progress: Callable[[int, int], Any] | None = None,
) -> tuple[Sequence, tuple[Branch, ...]]:
    """Find the best sequence through the solutions (s, n_q) of every pose, and the branches of the first pose.

    Args:
        follower: of the chain along the poses.
        redundancy: coordinates beyond the number of equations; a redundant arm has no branches.
        solutions: of every pose, inside limits.
        start: q (n_q,) to begin near.
        accept: returns True for configurations that may be used.
        progress: called with (pose, of how many).
    """
    state = None if start is None else follower.states(start[None])[0]
    if redundancy and isinstance(follower, ChainFollower):
        return redundant_sequence(follower, solutions, state), ()
    layers = linked_layers(follower, solutions, accept, progress)
    branches = branches_from(follower, layers, len(solutions[0])) if len(solutions) > 1 else ()
    return best_sequence(follower, layers, state), branches
