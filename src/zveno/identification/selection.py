"""Friction chosen joint by joint: terms that explain rows they were not fitted to.

A candidate adds one column to one joint. Its fit follows from that of the model without it by one bordering step,
so that all candidates, folds and outer folds together cost less than a second.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .covariance import inverse_normal
from .estimate import Normal, solve, total
from .friction import CHOICES
from .model import FrictionColumn, TorqueModel, friction_columns

GAIN = 0.05
"""Share by which a joint's held-out error must fall for a further term; and no block may lose by it, since a gain
that comes from some blocks only is luck or a term that extrapolates badly."""
ROUNDS = 2
"""Terms that a joint may gain."""


def with_candidates(model: TorqueModel, terms: Sequence[str], motor_terms: Sequence[str]) -> TorqueModel:
    """The model with every candidate at every joint, beside the terms that are there in any case."""
    return model.with_friction(friction_columns(model.elements, (*terms, *CHOICES), motor_terms))


def chosen_friction(
    model: TorqueModel,
    start: Sequence[FrictionColumn],
    parts: Sequence[Normal],
    blocks: Sequence[int],
    variant: int = 0,
) -> tuple[FrictionColumn, ...]:
    """Friction columns for the rows of some blocks, by cross-validation among these blocks.

    Args:
        model: with all candidate columns.
        start: columns that are there in any case.
        parts: normal equations of every block over all columns.
        blocks: those that may be looked at.
        variant: of the load.
    """
    chosen = tuple(start)
    for _ in range(ROUNDS):
        better = _better(model, chosen, parts, blocks, variant)
        if not better:
            break
        chosen = _ordered(model, (*chosen, *better))
    return chosen


def _ordered(model: TorqueModel, columns: Sequence[FrictionColumn]) -> tuple[FrictionColumn, ...]:
    """In the order of the model's own columns."""
    number = {column: k for k, column in enumerate(model.friction)}
    return tuple(sorted(columns, key=lambda column: number[column]))


def _better(
    model: TorqueModel,
    chosen: Sequence[FrictionColumn],
    parts: Sequence[Normal],
    blocks: Sequence[int],
    variant: int,
) -> list[FrictionColumn]:
    """For every joint the candidate that lowers its held-out error most, where that is more than `GAIN`
    and no block loses."""
    places = model.places(variant, chosen)
    candidates = [c for c in model.friction if c.term in CHOICES and c.variant == 0 and c not in chosen]
    taken = {(c.element, c.term.partition(" ")[0]) for c in chosen if c.term in CHOICES}
    candidates = [c for c in candidates if (c.element, c.term.partition(" ")[0]) not in taken]
    if not candidates or len(blocks) < 2:
        return []
    added = np.array([model.n_inertial + model.friction.index(c) for c in candidates])
    rows = np.array([model.elements[c.element].coordinate for c in candidates])
    before, after = np.zeros(len(parts[0].s)), np.zeros(len(candidates))
    worse = np.zeros(len(candidates), dtype=bool)
    sigma = solve(total([parts[k] for k in blocks]).columns(places)).sigma
    for held in blocks:
        fitted = total([parts[k] for k in blocks if k != held])
        x, extra = _bordered(fitted, places, added, sigma)
        own = parts[held]
        without = own.columns(places).squares(x)
        before += without
        for k, (c, j) in enumerate(zip(added, rows, strict=True)):
            both = np.append(places, c)
            y = np.append(x - extra[0][:, k] * extra[1][k], extra[1][k])
            H, g = own.H[j][np.ix_(both, both)], own.g[j][both]
            error = max(own.s[j] - 2.0 * g @ y + y @ H @ y, 0.0)
            after[k] += error
            worse[k] |= error >= without[j] > 0.0
    gained: dict[int, tuple[float, FrictionColumn]] = {}
    for k, column in enumerate(candidates):
        ratio = np.sqrt(after[k] / before[rows[k]]) if before[rows[k]] > 0 else 1.0
        if not worse[k] and ratio < 1.0 - GAIN and ratio < gained.get(column.element, (np.inf, column))[0]:
            gained[column.element] = ratio, column
    return [column for _, column in gained.values()]


def _bordered(normal: Normal, places: np.ndarray, added: np.ndarray, sigma: np.ndarray):
    """The fit without candidates, and for each how it changes: (x, (directions, steps)).

    With a further column c, its parameter is δ = (g_c − hᵀx)/(H_cc − hᵀH⁻¹h) and the others become x − H⁻¹h δ.
    """
    fit = solve(normal.columns(places), sigma, iterations=1)
    weight = (normal.counts > 0) / sigma**2
    inverse = inverse_normal(fit)
    h = np.einsum("j,jpc->pc", weight, normal.H[:, places[:, None], added])
    diagonal = weight @ normal.H[:, added, added]
    g = weight @ normal.g[:, added]
    directions = inverse @ h
    left = diagonal - np.einsum("pc,pc->c", h, directions)
    fresh = left > 1e-9 * np.maximum(diagonal, 1e-300)
    steps = np.where(fresh, (g - h.T @ fit.x) / np.where(fresh, left, 1.0), 0.0)
    return fit.x, (directions, steps)
