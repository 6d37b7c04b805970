"""Whether joints have more to them than an offset: gear ratios that are off, or joints that yield under gravity.

The fit without such terms is linearised, their columns are added, and the sizes of all kinds of terms are found
with and without them (`prior.learned`). The ratio of the evidences of the data decides: it weighs what more terms
explain against how many there are, and a kind that explains nothing gets the size zero.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from .models import redundant_model
from .prior import Prior, learned, linearised, places
from .solve import Options, Solution, row_scales
from .system import System

KINDS = ("compliance", "gear")
STRONG = 5.0
"""Logarithm of the ratio of evidences from which terms are taken to be there."""


@dataclass(frozen=True)
class Lack:
    """Joint terms that were not fitted and seem to be there.

    Attributes:
        word: "gear" or "compliance".
        evidence: logarithm of the ratio of evidences with and without them.
        share: of the variance of the residuals that they explain.
    """

    word: str
    evidence: float
    share: float


def lacking(
    system: System, options: Options, whole: Solution, known: Prior, gravity: Callable, fitted: Sequence[str]
) -> list[Lack]:
    """Kinds of joint terms, not `fitted`, for which there is strong evidence; the strongest first.

    Args:
        system, options, whole: the fit.
        known: its prior.
        gravity: q → torques.
        fitted: kinds that the model has.
    """
    problem = linearised(system, options, whole)
    at = places(options, known)
    scale = row_scales(system, options, whole)
    plain = learned(problem, at, known)
    found = []
    for word in KINDS:
        if word in fitted:
            continue
        more, terms = _columns(system, whole, word, gravity)
        more = (scale[:, None] * more)[scale > 0]
        seen = np.linalg.norm(more, axis=0) > 0
        if not seen.any():
            continue
        own = [term for term, one in zip(terms, seen, strict=True) if one]
        n = problem.J.shape[1]
        wider = known.extended(range(n, n + len(own)), own)
        full = learned(problem.with_columns(more[:, seen]), np.append(at, np.arange(n, n + len(own))), wider)
        gain = full.evidence - plain.evidence
        if gain > STRONG:
            found.append(Lack(word, gain, 1.0 - full.variance / plain.variance))
    return sorted(found, key=lambda one: -one.evidence)


def _columns(system: System, whole: Solution, word: str, gravity: Callable):
    """Derivatives (rows, joints) by gear ratios or compliances, those by joint offsets times position or load; and
    their terms."""
    moves = [move for move in system.model.moves if move.sigma is not None]
    _, J = system.evaluate(whole.values, whole.frames, [move.own for move in moves])
    q = np.concatenate([part.q for part in system.parts])
    tau = gravity(q) if word == "compliance" else None
    factor = [
        move.multiplier * q[:, move.position.start] + move.offset if tau is None else -tau[:, move.velocity.start]
        for move in moves
    ]
    terms = redundant_model(system.model.mechanism, system.model.frames, (word,)).terms
    return J * np.array(factor).T[system.posture], [term for term in terms if term.role == word]
