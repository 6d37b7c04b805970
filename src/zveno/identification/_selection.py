"""Selection of friction joint by joint: terms that explain held-out rows.

A candidate adds one column to one joint. Its fit follows from that of the model without it by one bordering step,
so that all candidates, folds and outer folds together cost less than a second. The joint's own friction is held to
dissipate on both sides of the comparison, with all other parameters following: a gain that needs a term with the
wrong sign does not count.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.optimize import nnls

from ._covariance import inverse_normal
from ._dissipation import Parts, friction_parts
from ._estimate import Normal, solve, total
from ._friction import CHOICES, TERMS
from .model import FrictionColumn, TorqueModel, friction_columns

GAIN = 0.05
"""Share by which a joint's held-out error must fall for a further term. No block may lose by it, since a gain from
some blocks only is chance or a term that extrapolates badly."""
ROUNDS = 2
"""Maximum number of terms that a joint may gain."""
SLIDING = tuple(name for name, term in TERMS.items() if not term.distance and name != "sign")
"""Friction terms that depend on velocity and load alone, and do not jump."""
DEPENDENT = 1e-9
"""Share of a column's square that must remain independent of the others."""


def with_candidates(model: TorqueModel, terms: Sequence[str], motor_terms: Sequence[str]) -> TorqueModel:
    """Return the model with every candidate term at every joint, in addition to the mandatory terms."""
    return model.with_friction(friction_columns(model.elements, (*terms, *CHOICES), motor_terms))


def with_sliding(model: TorqueModel) -> TorqueModel:
    """Return the model with sliding friction of every kind at every joint, in addition to its own terms.

    Friction that a model lacks looks like other faults of a recording. What is left beside this model is none.
    """
    every = friction_columns(model.elements, SLIDING, SLIDING)
    return model.with_friction(tuple(dict.fromkeys((*model.friction, *every))))


def chosen_friction(
    model: TorqueModel,
    start: Sequence[FrictionColumn],
    parts: Sequence[Normal],
    blocks: Sequence[int],
    variant: int = 0,
) -> tuple[FrictionColumn, ...]:
    """Choose friction columns for the rows of some blocks, by cross-validation among these blocks.

    Args:
        model: with all candidate columns.
        start: columns that are present in any case.
        parts: normal equations of every block over all columns.
        blocks: those that may be used.
        variant: of the load.
    """
    chosen = tuple(start)
    number = {column: k for k, column in enumerate(model.friction)}
    open_elements = set(range(len(model.elements)))
    for _ in range(ROUNDS):
        better = _better(model, chosen, parts, blocks, variant, open_elements) if len(blocks) > 1 else []
        if not better:
            break
        chosen = tuple(sorted((*chosen, *better), key=lambda column: number[column]))
        open_elements = {column.element for column in better}  # others gained nothing and will not
    return chosen


def _better(
    model: TorqueModel,
    chosen: Sequence[FrictionColumn],
    parts: Sequence[Normal],
    blocks: Sequence[int],
    variant: int,
    elements: set[int],
) -> list[FrictionColumn]:
    """Return, for every element, the candidate that lowers the held-out error of its joint most, if that is more
    than `GAIN` and no block loses."""
    places = model.places(variant, chosen)
    families = {(c.element, _family(c)) for c in chosen if c.term in CHOICES}
    candidates: dict[int, list[FrictionColumn]] = {}
    for c in model.friction:
        usable = c.term in CHOICES and c.variant == 0 and (c.element, _family(c)) not in families
        if usable and c.element in elements:
            candidates.setdefault(c.element, []).append(c)
    sigma = solve(total([parts[k] for k in blocks]).columns(places)).sigma
    errors = {e: np.zeros((len(blocks), 1 + len(tried))) for e, tried in candidates.items()}
    for row, held in enumerate(blocks):
        folds = _Folds(total([parts[k] for k in blocks if k != held]), places, sigma)
        for e, tried in candidates.items():
            present = [k for k, c in enumerate(chosen) if c.element == e]
            columns = [model.n_inertial + model.friction.index(c) for c in tried]
            laws = [friction_parts([chosen[k] for k in present] + extra) for extra in ([], *([c] for c in tried))]
            at = model.n_inertial + np.array(present, dtype=int)
            errors[e][row] = folds.errors(parts[held], model.elements[e].coordinate, at, columns, laws)
    better = []
    for e, tried in candidates.items():
        without, with_term = errors[e][:, 0], errors[e][:, 1:]
        gains = (with_term < without[:, None]).all(axis=0)
        ratios = np.sqrt(with_term.sum(axis=0) / without.sum()) if without.sum() > 0 else np.ones(len(tried))
        ratios = np.where(gains, ratios, np.inf)
        best = int(np.argmin(ratios))
        if ratios[best] < 1.0 - GAIN:
            better.append(tried[best])
    return better


def _family(column: FrictionColumn) -> str:
    return column.term.partition(" ")[0]


class _Folds:
    """Weighted fit to some blocks, and its changes with a further column and with dissipative friction."""

    def __init__(self, normal: Normal, places: np.ndarray, sigma: np.ndarray):
        self.normal, self.places = normal, places
        self.weight = (normal.counts > 0) / sigma**2
        fit = solve(normal.columns(places), sigma, iterations=1)
        self.x, self.inverse = fit.x, inverse_normal(fit)

    def errors(
        self, held: Normal, joint: int, dissipating: np.ndarray, columns: Sequence[int], laws: Sequence[Parts]
    ) -> np.ndarray:
        """Return squared errors (1 + columns,) of a joint on held-out rows: unchanged, and with each further
        column.

        With a further column c its parameter is δ = (g_c − hᵀx)/(H_cc − hᵀH⁻¹h), the others become x − H⁻¹h δ, and
        their covariance gains H⁻¹h hᵀH⁻¹/(H_cc − hᵀH⁻¹h).

        Args:
            held: the rows.
            joint: joint whose error is requested.
            dissipating: places in the fit of the friction that is held to dissipate.
            columns: of the further terms, among all.
            laws: parts of the joint's friction, without and with each further term.
        """
        p = self.places
        H, g = held.H[joint][p[:, None], p], held.g[joint][p]
        plain = _dissipating(self.x, self.inverse[:, dissipating], dissipating, laws[0])
        out = [max(float(held.s[joint] - 2.0 * g @ plain + plain @ H @ plain), 0.0)]
        h = np.einsum("j,jpc->pc", self.weight, self.normal.H[:, p[:, None], np.array(columns)])
        steps = self.inverse @ h
        for k, c in enumerate(columns):
            diagonal, target = self.weight @ self.normal.H[:, c, c], self.weight @ self.normal.g[:, c]
            left = diagonal - h[:, k] @ steps[:, k]
            if left <= DEPENDENT * max(diagonal, 1e-300):
                out.append(out[0])  # the column says nothing new
                continue
            x = np.append(self.x, (target - h[:, k] @ self.x) / left)
            x[:-1] -= steps[:, k] * x[-1]
            step = np.append(-steps[:, k], 1.0)
            places = np.append(dissipating, len(p))
            covariance = np.zeros((len(x), len(places)))
            covariance[:-1, :-1] = self.inverse[:, dissipating]
            covariance += np.outer(step, step[places]) / left
            y = _dissipating(x, covariance, places, laws[1 + k])
            a, b = y[:-1], y[-1]
            border = held.H[joint][p, c]
            square = held.s[joint] - 2.0 * (g @ a + held.g[joint][c] * b)
            square += a @ H @ a + 2.0 * b * (border @ a) + b * b * held.H[joint][c, c]
            out.append(max(float(square), 0.0))
        return np.array(out)


def _dissipating(x: np.ndarray, covariance: np.ndarray, dissipating: np.ndarray, law: Parts) -> np.ndarray:
    """Return the estimate x whose parameters at `dissipating` form a dissipative law, all others following.

    Args:
        x: (p,) estimate.
        covariance: (p, k) of all parameters with those at `dissipating`.
        dissipating: (k,) places of the friction.
        law: its parts.
    """
    parts = law.inverse @ x[dissipating]
    if not len(dissipating) or parts.min() >= 0.0:
        return x
    spread = law.inverse @ covariance[dissipating] @ law.inverse.T
    values, vectors = np.linalg.eigh(spread)
    seen = values > DEPENDENT * values[-1]
    half = vectors[:, seen] / np.sqrt(values[seen])
    nearest = nnls(half.T, half.T @ parts)[0]
    change = half @ (half.T @ (nearest - parts))
    y = x + covariance @ (law.inverse.T @ change)
    y[dissipating] = law.matrix @ nearest
    return y
