"""Estimation from rows: choice of friction, fits to all blocks and without each, covariance, consistency."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..algorithms.drives import rotor_inertias
from ._by_log import exact_moments, moments_by_log, scores_by_log
from ._consistency import Consistent, Prior, Unknowns, consistent_estimate, prior_of, unknowns_of
from ._covariance import Scores, inflation, sandwich
from ._estimate import ILL, Estimate, Normal, normals, solve, solve_exactly, total
from ._problem import Problem
from ._rows import Moments
from ._selection import chosen_friction, with_candidates
from ._survey import Survey
from .model import FrictionColumn, TorqueFunction, TorqueModel, with_variants

TYPICAL_ROTOR = 1.0
"""Assumed rotor inertia, kg·m² at the joint, if the model has none; the data dominate it."""


@dataclass(frozen=True, eq=False)
class Candidate:
    """Fit to all blocks, or to all but one.

    Attributes:
        friction: its columns.
        places: its columns among those of the accumulated rows.
        estimate: least squares.
        consistent: the physically consistent estimate.
    """

    friction: tuple[FrictionColumn, ...]
    places: np.ndarray
    estimate: Estimate
    consistent: Consistent


@dataclass(frozen=True, eq=False)
class Fit:
    """Results of all fits.

    Attributes:
        model: columns of the accumulated rows: all candidates and variants of the load.
        moments, parts: of these rows; normal equations by block.
        whole: the fit to all blocks.
        folds: the fits without each block.
        scores: scatter statistics of the residuals.
        covariance: (p, p) of the least-squares estimate, with correlated residuals.
        prior, unknowns: of the consistent estimates.
    """

    model: TorqueModel
    moments: Moments
    parts: tuple[Normal, ...]
    whole: Candidate
    folds: tuple[Candidate, ...]
    scores: Scores
    covariance: np.ndarray
    prior: Prior
    unknowns: Unknowns


def fitted(problem: Problem, surveyed: Survey, references: tuple[TorqueFunction, ...]) -> Fit:
    """Compute all estimates. `references` are models without unknowns whose torques are accumulated beside."""
    start = surveyed.model.friction
    full = with_candidates(surveyed.model, problem.terms, problem.motor_terms) if problem.choose else surveyed.model
    model = with_variants(full, problem.blocks + 1)

    moments = moments_by_log(problem, surveyed, model, references)
    parts = tuple(normals(moments))
    blocks = range(problem.blocks)
    estimates = []
    for k in range(problem.blocks + 1):  # 0: all blocks; k: without block k − 1
        kept = [block for block in blocks if block != k - 1]
        friction = chosen_friction(model, start, parts, kept, k) if problem.choose else start
        places = model.places(k, friction)
        normal = total([parts[block] for block in kept]).columns(places)
        estimates.append((friction, places, solve(normal, estimates[0][2].sigma if estimates else None)))
    if estimates[0][2].condition > ILL or estimates[0][2].unseen.shape[1]:
        exact = exact_moments(surveyed, model)
        for k, (friction, places, estimate) in enumerate(estimates):
            kept = [block for block in blocks if block != k - 1]
            estimates[k] = friction, places, solve_exactly(exact, kept, places, estimate)
    friction, places, estimate = estimates[0]
    least = min(surveyed.preparation.filters(k).correlation for k in range(len(problem.logs)))
    chosen = surveyed.model.with_friction(friction)
    scores = scores_by_log(problem, surveyed, chosen, estimate, least)
    unknowns = unknowns_of(surveyed.model.base, surveyed.model.kept)
    prior = prior_of(problem.mechanism, problem.prior, unknowns.links)
    rotors = _typical_rotors(problem, unknowns)

    def candidate(number: int) -> Candidate:
        friction, places, fit = estimates[number]
        without = [] if number == 0 else [number - 1]
        # Residuals that last leave less information than as many independent rows.
        information = fit.normal / inflation(estimate, scores, without)
        n_parameters = surveyed.model.base.n_parameters
        consistent = consistent_estimate(unknowns, n_parameters, fit.x, information, prior, rotors, friction)
        return Candidate(friction, places, fit, consistent)

    return Fit(
        model=model,
        moments=moments,
        parts=parts,
        whole=candidate(0),
        folds=tuple(candidate(k + 1) for k in blocks),
        scores=scores,
        covariance=sandwich(estimate, scores),
        prior=prior,
        unknowns=unknowns,
    )


def _typical_rotors(problem: Problem, unknowns: Unknowns) -> np.ndarray:
    """Return the rotor inertias (positive,) of the model, at the motor; a typical one where it has none."""
    mechanism = problem.mechanism
    ratios = np.diag(mechanism.transmission_matrix)
    given = rotor_inertias(mechanism)
    values = np.where(given > 0, given, TYPICAL_ROTOR / ratios**2)
    first = 10 * len(mechanism.joints)
    return values[unknowns.places[unknowns.positive] - first]
