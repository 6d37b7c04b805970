"""What to measure next, from the information matrix of the fit.

A posture with whitened rows A turns the covariance C into C − C Aᵀ (1 + A C Aᵀ)⁻¹ A C. Postures are taken one by
one, each where it reduces the mean variance of the tool over the workspace most: trace(M C), with M the mean of
Jᵀ J of its position. Other kinds of measurement are judged by the same.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ...fit.greedy import add_best
from ...io.results import registered
from ..fit.structure import moved_tool
from ..identifiability.postures import random_postures
from ..model.batches import skews
from ..model.loads import holding_torques
from .further_postures import further_postures
from .knowledge import aligned_slopes, knowledge
from .mean_variance import MeanVariance, updated
from .proposals import MORE, Proposal, proposals, unseen
from .situation import Situation

if TYPE_CHECKING:
    from ..fit.state import FitState

CANDIDATES = 300
HELPS = 0.9
"""Share of the uncertainty that may be left where more postures are said to help."""


@registered
@dataclass(frozen=True, eq=False)
class Advice:
    """Postures that would help most, and other kinds of measurement that would.

    Attributes:
        campaign: what to measure in them: the campaign to continue.
        q: postures, (n, n_q), the most helpful first; none where no random posture can be measured.
        coordinates: names of those that move the measured frames.
        groups: the target each belongs to, for kinds that need it.
        now: root of the mean variance of the tool's position over the workspace, m, as parameters are known; base
            and tool are moved as far as the measurements do not see that.
        chosen: the same after measuring `q`.
        others: the same after measuring as many random postures.
        distances: the same if known distances between targets were known ten times better; None if there are none.
        kinds: other kinds of measurement, the best first.
        unseen: what the measurements do not tell at all, in words, and what would.
    """

    campaign: str
    q: np.ndarray
    coordinates: tuple[str, ...]
    groups: tuple[str, ...]
    now: float
    chosen: float
    others: float
    distances: float | None
    kinds: tuple[Proposal, ...]
    unseen: dict[str, tuple[str, ...]]

    @property
    def postures_help(self) -> bool:
        """Whether postures chosen best would make the tool clearly less uncertain."""
        return bool(len(self.q)) and self.chosen <= HELPS * self.now


def advise(state: FitState) -> Advice | None:
    """What would reduce the uncertainty of the tool most after a fit; None if nothing is estimated."""
    problem, options, whole = state.problem, state.options, state.fit
    model, mechanism = problem.model, problem.model.mechanism
    covariance = whole.covariance()
    of_terms = [k for k, column in enumerate(options.columns) if column < len(model.terms)]
    terms = knowledge(model, state.structure, state.prior)
    if terms is None or not covariance.any():
        return None
    rng = np.random.default_rng(state.settings.seed)
    moved = moved_tool(model, problem.parts[0].frame, state.tool)
    tool = np.zeros(3) if moved is None else moved[:3, 3]

    # The nominal robot decides what can be seen; its frame is taken where the tool was found.
    q = random_postures(mechanism, CANDIDATES, rng)
    tau = holding_torques(model, q)
    part = replace(problem.parts[0], tau=tau, side=np.zeros_like(tau), seen_from="")
    T, J = problem.poses(part, problem.nominal, q)
    T[:, :3, 3] += T[:, :3, :3] @ tool
    M_terms = aligned_slopes(model, terms, J[:, :3, terms.columns] - skews(tool) @ J[:, 3:, terms.columns])
    # What is left of the terms whatever is found of the fitted parameters, and how these move the tool.
    rest = float(np.sum(M_terms * terms.rest))
    G = terms.gain / terms.size[terms.chosen]
    M = np.zeros_like(covariance)
    M[np.ix_(of_terms, of_terms)] = G.T @ M_terms @ G
    distances = _known_distances(state)
    better = None if distances is None else _size(M, updated(covariance, np.sqrt(99.0) * distances), rest)
    C = terms.covariance(covariance[np.ix_(of_terms, of_terms)])
    kinds = proposals(Situation(problem, whole, tool, terms, C, M_terms, q, T))
    now = _size(M, covariance, rest)
    none = np.zeros((0, mechanism.n_q))
    best = Advice("", none, model.coordinates, (), now, now, now, better, kinds, unseen(problem, kinds))
    for number in range(len(problem.parts)):
        q, groups, A = further_postures(state, number, CANDIDATES, rng)
        if len(q) < MORE:
            continue
        engine, picked = MeanVariance(covariance, A, M), []
        while len(picked) < MORE and add_best(engine, picked, repeats=False):
            pass
        chosen = _size(M, engine.C, rest)
        if chosen < best.chosen:
            others = _size(M, updated(covariance, A[:MORE].reshape(-1, A.shape[-1])), rest)
            names = tuple(groups[k] for k in picked) if groups else ()
            name = problem.campaigns[number].name
            best = replace(best, campaign=name, q=q[picked], groups=names, chosen=chosen, others=others)
    return best


def _size(M: np.ndarray, C: np.ndarray, rest: float) -> float:
    return float(np.sqrt(max(np.sum(M * C) + rest, 0.0)))


def _known_distances(state: FitState) -> np.ndarray | None:
    """Whitened rows of the known distances between targets in the fit."""
    problem, whole = state.problem, state.fit
    if not problem.constraints:
        return None
    rows = problem.row[problem.by_row(whole.weight, 1.0) > 0]
    return whole.fit.jacobian[: len(rows)][rows < 0]
