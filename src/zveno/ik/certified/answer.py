"""`method="certified"`: all solutions of poses with a proof, as `Solutions`.

Choices are made in floats and prove nothing; every statement rests on balls. Where nothing is decided, by any way
of eliminating and at any precision tried, the pose is "not proved" and nothing is claimed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
from flint import arb

from ..ik_problem import IkProblem
from ..solutions import NOT_PROVED, PROVED, PROVED_EXCLUDED, PROVED_UNREACHABLE, Solutions
from ..targets import Targets, checked_targets
from .assembly import PoseProof, assembled
from .balls import Rigid
from .exact_chain import ExactChain, exact_chain
from .exact_readings import ElementaryPose, transform_meant
from .krawczyk import Isolated
from .routes import Attempt, route_of
from .within_limits import excess, inside_limits

MOST_REASONS = 3


def certified_answer(problem: IkProblem, given: Any, inputs: Callable[[Targets], str]) -> Solutions:
    """Find all solutions of poses, proved one by one.

    Args:
        problem: the chain.
        given: poses as `solve_ik` takes them, or texts of elementary transforms.
        inputs: hash of the inputs.
    """
    chain = _remembered_chain(problem)
    targets, exact = _targets(problem, given)
    route = route_of(chain)
    poses = [_judged(chain, route.solve(target)) for target in exact]
    answer = assembled(problem, targets, poses, inputs(targets))
    return replace(answer, exact_problem=f"{chain.meaning}; {_meaning_of(given, targets)}")


@lru_cache(maxsize=32)
def _remembered_chain(problem: IkProblem) -> ExactChain:
    return exact_chain(problem)


def _targets(problem: IkProblem, given: Any) -> tuple[Targets, list[Callable[[], Rigid]]]:
    """Return poses in floats, and as functions that give balls."""
    texts = _texts(given)
    if texts is None:
        targets = checked_targets(problem, given)
        return targets, [transform_meant(T).balls for T in targets.T]
    poses = [ElementaryPose(text) for text in texts]
    matrices = np.array([pose.matrix for pose in poses]).reshape(-1, 4, 4)
    return checked_targets(problem, matrices[0] if isinstance(given, str) else matrices), [
        pose.balls for pose in poses
    ]


def _texts(given: Any) -> list[str] | None:
    if isinstance(given, str):
        return [given]
    if isinstance(given, list | tuple) and given and all(isinstance(item, str) for item in given):
        return list(given)
    return None


def _meaning_of(given: Any, targets: Targets) -> str:
    if _texts(given) is not None:
        return "poses as the elementary transforms given"
    meant = [transform_meant(T) for T in targets.T]
    exact = sum(T.rotation is not None for T in meant)
    rotations = "poses with the rotations nearest to their matrices"
    if exact:
        rotations += f" ({exact} of {len(meant)} as multiples of 15°)"
    return f"{rotations} and positions as decimals or the floats they are"


def _judged(chain: ExactChain, attempt: Attempt) -> PoseProof:
    """Check the solutions of one pose against its limits."""
    if attempt.solutions is None:
        reasons = list(dict.fromkeys(attempt.reasons))
        more = f" and {len(reasons) - MOST_REASONS} more" if len(reasons) > MOST_REASONS else ""
        return PoseProof(NOT_PROVED, note="; ".join(reasons[:MOST_REASONS]) + more)
    if not attempt.solutions:
        return PoseProof(PROVED_UNREACHABLE)
    real = [i for i, k in enumerate(chain.coordinates) if k is not None]
    pose = PoseProof(PROVED)
    with attempt.precision():
        for solution in attempt.solutions:
            placed = inside_limits(chain, solution)
            if placed is None:
                continue
            x = [float(placed.x[i].mid()) for i in real]
            off = max(_upper(placed.x[i] - arb(value)) for i, value in zip(real, x, strict=True))
            pose.x.append(x)
            pose.radius.append(off)
            pose.unique.append(_unique(solution, off, len(real)))
            pose.at_limit.append(placed.at_limit)
        if not pose.x:
            over = min((excess(chain, solution) for solution in attempt.solutions), key=max)
            pose.code, pose.limit_excess = PROVED_EXCLUDED, [over[i] for i in real]
            pose.note = f"all {len(attempt.solutions)}" if len(attempt.solutions) > 1 else "the only one"
    return pose


def _unique(solution: Isolated, off: float, n: int) -> float:
    """Return the radius about q in which there is no other solution, from the box about its middle.

    Where a virtual joint was added, joints that differ by ρ turn the tool by at most n ρ, and so that joint.
    """
    pairs = zip(solution.box, solution.enclosure, strict=True)
    inner = solution.radius - max(_upper(box.mid() - ball.mid()) for box, ball in pairs) - off
    return max(0.0, inner * (1 - 1e-12)) / (n if n < len(solution.box) else 1)


def _upper(x: arb) -> float:
    return float(x.abs_upper()) * (1 + 1e-12)
