"""Choice of the proof of a chain, by its joints and its task."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Protocol

from ...errors import ZvenoError
from .balls import Rigid
from .exact_chain import ExactChain
from .short_chains import ShortChain
from .six_revolute.arm import Attempt, SixRevolute
from .six_revolute.choice import chosen_templates
from .six_revolute.elimination import Template


class Route(Protocol):
    """A way to prove a chain, ready for poses."""

    def solve(self, target: Callable[[], Rigid]) -> Attempt:
        """Find all solutions of one target, given as a function of no arguments that returns balls."""
        ...


@lru_cache(maxsize=32)
def route_of(chain: ExactChain) -> Route:
    """Return the route of a chain; raise an error that names the alternatives if there is none."""
    if chain.kinds == "RRRRRR":
        return SixRevolute(chain.constants, _templates(chain))
    rows = _rows(chain)
    if rows is not None:
        return ShortChain(chain.constants, chain.kinds, rows)
    raise ZvenoError(
        f"there is no proof for a chain {chain.kinds} with {chain.problem.task.n_rows} equations",
        element='method "certified"',
        remedy="Proofs are for six revolute joints (seven with one held, five with task position+axis), six with a "
        "spherical wrist or three slides, and three for a point or a rotation",
    )


def _rows(chain: ExactChain) -> str | None:
    """Return the equations of a short chain for which there is a proof, else None."""
    task, kinds = chain.problem.task, chain.kinds
    if task.is_pose and len(kinds) == 6 and (kinds.count("P") == 3 or kinds.endswith("RRR")):
        return "pose"
    if task.axis or len(kinds) != 3 or task.n_rows != 3:
        return None
    if len(task.position) == 3:
        return "position"
    return "rotation" if len(task.rotation) == 3 and kinds == "RRR" else None


_TEMPLATES: dict[tuple, list[Template]] = {}
_MOST_KEPT = 64


def _templates(chain: ExactChain) -> list[Template]:
    """Return the templates of an arm, chosen once whatever its limits and the values of its held joints are."""
    problem = chain.problem
    place = problem.mechanism.fingerprint, problem.frame, problem.reference, chain.coordinates
    if place not in _TEMPLATES:
        if len(_TEMPLATES) >= _MOST_KEPT:
            _TEMPLATES.pop(next(iter(_TEMPLATES)))
        _TEMPLATES[place] = chosen_templates(chain.constants, chain.floats)
    return _TEMPLATES[place]
