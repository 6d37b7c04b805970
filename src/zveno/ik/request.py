"""Requests to a chain, in any form of call: parsed once, and an input of compiled programs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from ..mechanism import Mechanism
from .ik_problem import IkProblem, chain_between, held_configuration, narrowed_limits
from .task import task_named


@dataclass(frozen=True, eq=False)
class IkRequest:
    """A request for the configurations of poses of a chain within these limits.

    Attributes:
        chain: the chain with the limits of the model; programs are built from it.
        limits: (3, n) lower, upper, and what turning coordinates are brought nearest to, in solvers' units.
        held: q (n_q,) of the joints that the chain does not move.
        of_balls: True if the limits of ball joints count, where they have some.
    """

    chain: IkProblem
    limits: np.ndarray
    held: np.ndarray
    of_balls: bool = True

    @cached_property
    def problem(self) -> IkProblem:
        """The chain with these limits; the same object while the same is asked again."""
        chain = self.chain
        if self.limits is chain.limits and self.held is chain.held:
            return chain
        return _problem(chain, self.limits.tobytes(), self.held.tobytes(), self.of_balls)


@lru_cache(maxsize=64)
def _problem(chain: IkProblem, limits: bytes, held: bytes, of_balls: bool) -> IkProblem:
    lower, upper = chain.from_units(np.frombuffer(limits).reshape(3, -1)[:2])
    return chain.with_limits(lower, upper, of_balls).with_held(np.frombuffer(held))


def request_of(
    robot: Any, frame: str | None, relative_to: str | None, limits: Any, task: Any, held: Any = None
) -> IkRequest:
    """Parse the arguments of `Robot.ik` to a request."""
    mechanism: Mechanism = getattr(robot, "mechanism", robot)
    if held is None and type(limits) is bool and type(task) is str:
        return _plain_request(mechanism, frame, relative_to, limits, task)
    chain = chain_between(mechanism, frame, relative_to, task if type(task) is str else task_named(task))
    q = chain.held if held is None else held_configuration(mechanism, held)
    table = chain.limits if limits is True else narrowed_limits(chain, limits)
    return IkRequest(chain, table, q, limits is not False)


@lru_cache(maxsize=64)
def _plain_request(
    mechanism: Mechanism, frame: str | None, relative_to: str | None, limits: bool, task: str
) -> IkRequest:
    chain = chain_between(mechanism, frame, relative_to, task)
    return IkRequest(chain, chain.limits if limits else narrowed_limits(chain, False), chain.held, limits)
