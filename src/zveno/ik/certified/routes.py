"""Which way a chain is proved, by its joints and its task."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Protocol

from ...errors import ZvenoError
from .balls import Rigid
from .exact_chain import ExactChain
from .six_revolute.arm import Attempt, SixRevolute
from .six_revolute.choice import chosen_templates
from .six_revolute.elimination import Template


class Route(Protocol):
    """A way to prove a chain, ready for poses."""

    def solve(self, target: Callable[[], Rigid]) -> Attempt:
        """All solutions of one target, given as a function of nothing that returns balls."""
        ...


@lru_cache(maxsize=32)
def route_of(chain: ExactChain) -> Route:
    """The route of a chain; an error that names what there is where none is for it."""
    if chain.kinds == "RRRRRR":
        return SixRevolute(chain.constants, _templates(chain))
    raise ZvenoError(
        f"there is no proof for a chain {chain.kinds} with {chain.problem.task.n_rows} equations",
        element='method "certified"',
        remedy="Proofs are for six revolute joints; seven with one held; five with task position+axis",
    )


_TEMPLATES: dict[tuple, list[Template]] = {}
_MOST_KEPT = 64


def _templates(chain: ExactChain) -> list[Template]:
    """Templates of an arm, chosen once whatever its limits and the values of its held joints are."""
    problem = chain.problem
    place = problem.mechanism.fingerprint, problem.frame, problem.reference, chain.coordinates
    if place not in _TEMPLATES:
        if len(_TEMPLATES) >= _MOST_KEPT:
            _TEMPLATES.pop(next(iter(_TEMPLATES)))
        _TEMPLATES[place] = chosen_templates(chain.constants, chain.floats)
    return _TEMPLATES[place]
