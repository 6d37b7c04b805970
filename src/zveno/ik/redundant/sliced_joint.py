"""Choice of the sliced joint of a redundant chain, of the number of slices, and of their solver."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from .._judge import jacobians
from ..ik_problem import IkProblem
from ..newton import Lanes, lanes_of
from . import seven_revolute, slices
from .slices import LINK, Sliced, named_coordinate

DEFAULT_SLICES = 16
"""Default number of slices of the joint that moves most in self-motions."""
SLICING_METHODS = ("auto", "scan")
"""Those of `solve_ik` that slice redundant chains."""
MOVING, NARROW = 0.1, 0.25
"""A joint is sliced for its narrow range if it has this share of self-motions, and this part of the usual range."""
N_RANDOM, ALIKE = 128, 0.9
"""Random configurations at which shares are measured, and what part of the greatest share counts as great as it."""
FINER = 3
"""A joint whose slices have a closed form is sliced instead, if at most so many times as many sample as finely. One
of those slices takes half of the time of a general one, and all of them a tenth of it to build."""


class SlicedJoint(NamedTuple):
    """The joint that is sliced.

    Attributes:
        coordinate: its number in the chain.
        slices: default number of values.
    """

    coordinate: int
    slices: int


def sliced_joint(problem: IkProblem, name: str | None = None) -> SlicedJoint:
    """Choose the joint named; else a narrow one, one with closed-form slices, or the one that moves most."""
    if name is not None:
        return SlicedJoint(named_coordinate(problem, name), DEFAULT_SLICES)
    return _chosen(problem)


def slices_of_sample(problem: IkProblem, slices: int | None, method: str) -> int | None:
    """Return the number of values of a redundant joint if a sample is enough: whole self-motions take long.

    None where the method does not slice; a number that the user gave stays, and is then refused.
    """
    sampled = slices is None and problem.redundancy == 1 and method in SLICING_METHODS
    return sliced_joint(problem).slices if sampled else slices


def solver_of_slices(problem: IkProblem, coordinate: int, method: str) -> tuple[str, Callable[..., Sliced]]:
    """Return the name of the slice solver, and its function of problem, poses, coordinate and values."""
    if method == "auto" and seven_revolute.applies(problem, coordinate):
        return "six_revolute", seven_revolute.solve_slices
    return "scan", slices.solve_slices


@lru_cache(maxsize=32)
def _chosen(problem: IkProblem) -> SlicedJoint:
    """Choose a narrow joint first: slices of a wide one may all miss the few solutions that a narrow one allows.

    Slices of a joint that moves less in self-motions are further apart on them, so there are more of them: as many
    as leave no larger part of self-motions with neighbours too far apart to be joined.
    """
    lower, upper = (side / problem.units for side in problem.span)
    rates = _rates(problem, lower, upper)
    share = _median(rates)
    room = np.where(share > MOVING, upper - lower, np.inf)
    narrowest, most = int(np.argmin(room)), int(np.argmax(share > ALIKE * share.max()))
    if room[narrowest] < NARROW * _median(upper - lower):
        return SlicedJoint(narrowest, DEFAULT_SLICES)
    moved = rates / rates.max(axis=1, keepdims=True)

    def broken(k: int, slices: int) -> float:
        """Return the part of self-motions on which neighbouring slices of joint k are further apart than `LINK`."""
        return float((moved[:, k] * slices * LINK < upper[k] - lower[k]).mean())

    for finer in range(1, FINER + 1):
        for k in (int(k) for k in np.argsort(-share, kind="stable")):
            as_fine = broken(k, finer * DEFAULT_SLICES) <= broken(most, DEFAULT_SLICES)
            if as_fine and seven_revolute.closed_form(problem, k) is not None:
                return SlicedJoint(k, finer * DEFAULT_SLICES)
    return SlicedJoint(most, DEFAULT_SLICES)


def _rates(problem: IkProblem, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """Return the share (N_RANDOM, n) of each coordinate in a self-motion, at random configurations."""
    x = np.random.default_rng(0).uniform(lower, upper, (N_RANDOM, problem.n))
    targets = np.broadcast_to(np.eye(3, 4), (N_RANDOM, 3, 4))
    lanes = Lanes(np.ascontiguousarray(targets), lanes_of(problem, np.eye(4)[None]).tool)
    return np.abs(np.linalg.svd(jacobians(problem, x, lanes, np.arange(N_RANDOM)))[2][:, -1])


def _median(values: np.ndarray) -> np.ndarray:
    """Return the median along the first axis; `numpy.median` would first import masked arrays, for 30 ms."""
    return np.sort(values, axis=0)[len(values) // 2]
