"""Which joint of a redundant chain is sliced, at how many values, and what solves the slices."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ..checks.judgement import jacobians
from ..ik_problem import IkProblem
from ..newton import Lanes, lanes_of
from . import seven_revolute, slices
from .slices import Sliced, named_coordinates

DEFAULT_SLICES = 16
"""Of the joint that moves most in self-motions."""
MOVING, NARROW = 0.1, 0.25
"""A joint is sliced for its narrow range if it has this share of self-motions, and this part of the usual range."""
FINER = 3
"""A joint whose slices have a closed form is sliced instead, if so many times as many slices sample as finely: for
a Panda these take the same time, and a tenth of it to build."""


class SlicedJoint(NamedTuple):
    """The joint that is sliced.

    Attributes:
        coordinate: its number in the chain.
        slices: at how many values, unless the user says it.
    """

    coordinate: int
    slices: int


def sliced_joint(problem: IkProblem, names: str | Sequence[str] | None = None) -> SlicedJoint:
    """The joint named; else a narrow one, one whose slices have a closed form, or the one that moves most."""
    if names is not None:
        return SlicedJoint(named_coordinates(problem, names)[0], DEFAULT_SLICES)
    return _chosen(problem)


def solver_of_slices(problem: IkProblem, coordinate: int, method: str) -> tuple[str, Callable[..., Sliced]]:
    """Name of what solves slices of a joint, and its function of problem, poses, coordinate and values."""
    if method == "auto" and seven_revolute.applies(problem, coordinate):
        return "six_revolute", seven_revolute.solve_slices
    return "scan", slices.solve_slices


@lru_cache(maxsize=32)
def _chosen(problem: IkProblem) -> SlicedJoint:
    """Slices of a wide joint may all miss the few solutions that a narrow one allows; those of that one do not.

    Slices of a joint that moves less in self-motions are further apart on them, so there are more of them.
    """
    lower, upper = (side / problem.units for side in problem.span)
    share = _shares(problem, lower, upper)
    room = np.where(share > MOVING, upper - lower, np.inf)
    narrowest, most = int(np.argmin(room)), int(np.argmax(share))
    if room[narrowest] < NARROW * _median(upper - lower):
        return SlicedJoint(narrowest, DEFAULT_SLICES)
    for k in np.argsort(-share, kind="stable"):
        finer = math.ceil(share[most] / share[k]) if share[k] > 0.0 else math.inf
        if finer > FINER:
            break
        if seven_revolute.closed_form(problem, int(k)) is not None:
            return SlicedJoint(int(k), int(finer) * DEFAULT_SLICES)
    return SlicedJoint(most, DEFAULT_SLICES)


def _shares(problem: IkProblem, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """(n,) how much of a self-motion each coordinate moves, the median over random configurations."""
    x = np.random.default_rng(0).uniform(lower, upper, (64, problem.n))
    targets = np.broadcast_to(np.eye(3, 4), (64, 3, 4))
    lanes = Lanes(np.ascontiguousarray(targets), lanes_of(problem, np.eye(4)[None]).tool)
    J = jacobians(problem, x, lanes, np.arange(64))
    return _median(np.abs(np.linalg.svd(J)[2][:, -1]))


def _median(values: np.ndarray) -> np.ndarray:
    """The middle value along the first axis; `numpy.median` would first import masked arrays, for 30 ms."""
    return np.sort(values, axis=0)[len(values) // 2]
