"""What to measure next, from the information matrix of the fit.

A posture with whitened rows A turns the covariance C into C − C Aᵀ (1 + A C Aᵀ)⁻¹ A C. Postures are taken one by
one, each where it reduces the mean variance of the tool over the workspace most: trace(M C), with M the mean of
Jᵀ J of its position. Other kinds of measurement are judged by the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ...io.results import registered
from ..fit.prior import Prior
from ..fit.solve import Solution
from ..fit.structure import moved_tool
from ..fit.weighting import FitOptions
from ..identifiability.analysis import Identifiability
from ..identifiability.postures import random_postures
from ..measurements.assembly import fit_problem
from ..measurements.campaigns import Campaign
from ..measurements.contact import into_contact
from ..measurements.fit_problem import FitProblem
from ..model.loads import gravity
from .candidates import at_postures
from .knowledge import aligned_slopes, knowledge
from .proposals import MORE, Proposal, Situation, proposals, unseen

CANDIDATES = 300


@registered
@dataclass(frozen=True, eq=False)
class Advice:
    """Postures that would help most, and other kinds of measurement that would.

    Attributes:
        campaign: what to measure in them: the campaign to continue.
        q: postures, (n, n_q), the most helpful first; none where no random posture can be measured.
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
    groups: tuple[str, ...]
    now: float
    chosen: float
    others: float
    distances: float | None
    kinds: tuple[Proposal, ...]
    unseen: dict[str, tuple[str, ...]]


def advise(
    problem: FitProblem,
    options: FitOptions,
    whole: Solution,
    found: Identifiability,
    known: Prior | None,
    seed: int = 0,
    values: np.ndarray | None = None,
) -> Advice | None:
    """What would reduce the uncertainty of the tool most; None if nothing is estimated.

    Args:
        problem, options, whole: the fit.
        found: the structure it rests on.
        known: what was known before it.
        seed: of random postures.
        values: deviations of the model's terms that `structure` was given.
    """
    model, mechanism = problem.model, problem.model.mechanism
    covariance = whole.covariance()
    own = [k for k, column in enumerate(options.columns) if column < len(model.terms)]
    terms = knowledge(model, found, known)
    if terms is None or not covariance.any():
        return None
    rng = np.random.default_rng(seed)
    load = gravity(mechanism) if any(term.role == "compliance" for term in model.terms) else None
    moved = None if values is None else moved_tool(model, problem.parts[0].frame, values)
    tool = np.zeros(3) if moved is None else moved[:3, 3]

    def move(q):
        tau = np.zeros((len(q), mechanism.n_v)) if load is None else load(q)
        return at_postures(problem, terms.columns, q, tau, tool)

    at = move(random_postures(mechanism, CANDIDATES, rng))
    M_terms = aligned_slopes(model, terms, at.J[:, :3])
    # What is left of the terms whatever is found of the fitted parameters, and how these move the tool.
    rest = float(np.sum(M_terms * terms.rest))
    G = terms.gain / terms.size[terms.chosen]
    M = np.zeros_like(covariance)
    M[np.ix_(own, own)] = G.T @ M_terms @ G
    distances = _known_distances(problem, whole)
    better = None if distances is None else _size(M, _updated(covariance, np.sqrt(99.0) * distances), rest)
    C = terms.covariance(covariance[np.ix_(own, own)])
    kinds = proposals(Situation(problem, whole.frames, whole.sigma, tool, terms, C, M_terms, at, move))
    now = _size(M, covariance, rest)
    best = Advice("", np.zeros((0, mechanism.n_q)), (), now, now, now, better, kinds, unseen(problem, kinds))
    for number in range(len(problem.parts)):
        q, groups, A = _candidates(problem, options, whole, number, load, rng)
        if len(q) < MORE:
            continue
        picked, after = _greedy(covariance, A, M)
        chosen = _size(M, after, rest)
        if chosen < best.chosen:
            others = _size(M, _updated(covariance, A[:MORE].reshape(-1, A.shape[-1])), rest)
            names = tuple(groups[k] for k in picked) if groups else ()
            name = problem.campaigns[number].name
            best = replace(best, campaign=name, q=q[picked], groups=names, chosen=chosen, others=others)
    return best


def _size(M: np.ndarray, C: np.ndarray, rest: float) -> float:
    return float(np.sqrt(max(np.sum(M * C) + rest, 0.0)))


def _known_distances(problem: FitProblem, whole: Solution) -> np.ndarray | None:
    """Whitened rows of the known distances between targets in the fit."""
    if not problem.constraints:
        return None
    rows = problem.row[np.concatenate([whole.weight, [1.0]])[problem.row] > 0]
    return whole.fit.jacobian[: len(rows)][rows < 0]


def _candidates(problem: FitProblem, options: FitOptions, whole: Solution, number: int, load: Callable | None, rng):
    """Random postures of a campaign's kind, in contact where it needs that; their targets; whitened rows."""
    model, campaign = problem.model, problem.campaigns[number]
    kind = campaign.measurement
    q = random_postures(model.mechanism, CANDIDATES, rng)
    groups = tuple(campaign.groups[k] for k in rng.integers(len(campaign), size=len(q))) if campaign.groups else ()
    things = len(kind.right) * len(kind.targets)
    imagined = Campaign(kind, q, np.zeros((len(q), things, kind.n_data)), groups, campaign.name, np.arange(len(q)))
    other = _system(problem, whole, imagined, load)
    if kind.implicit and things == 1:
        q, touching = into_contact(other, 0, q, tolerance=1e-9, values=whole.values, compiled=True)
        inside = (q >= model.mechanism.lower - 1e-9).all(axis=1) & (q <= model.mechanism.upper + 1e-9).all(axis=1)
        imagined = replace(imagined, q=q).only(touching & inside)
        if not len(imagined):
            return imagined.q, (), np.zeros((0, 1, len(options.columns)))
        other = _system(problem, whole, imagined, load)
    places = {name: k for k, name in enumerate(other.names)}
    wanted = [places.get(problem.names[column], -1) for column in options.columns]
    _, J = other.evaluate(whole.values, other.frames, [k for k in wanted if k >= 0], exact=True)
    data = other.noise >= 0
    first = problem.parts[number].first_noise
    rows = np.zeros((int(data.sum()), len(wanted)))
    rows[:, [k >= 0 for k in wanted]] = J[data] / whole.sigma[first + other.noise[data]][:, None]
    return imagined.q, imagined.groups, rows.reshape(len(imagined), -1, len(wanted))


def _system(problem: FitProblem, whole: Solution, campaign: Campaign, load: Callable | None) -> FitProblem:
    """Other rows with the frames that were found."""
    return fit_problem(problem.model, [campaign], load).placed(problem.labelled(whole.frames))


def _greedy(C: np.ndarray, A: np.ndarray, M: np.ndarray) -> tuple[list[int], np.ndarray]:
    """Numbers of the postures taken one by one, and the covariance after them."""
    picked: list[int] = []
    n, m, width = A.shape
    numbers = np.arange(n)
    AC, one = (A.reshape(-1, width) @ C).reshape(A.shape), np.eye(m)
    ACM = (AC.reshape(-1, width) @ M).reshape(A.shape)
    for turn in range(MORE):
        # trace(M C Aᵀ inner⁻¹ A C) of every candidate
        inner = one + AC @ np.swapaxes(A, 1, 2)
        gain = np.einsum("nij,nij->n", np.linalg.solve(inner, AC), ACM)
        gain[np.isin(numbers, picked)] = -np.inf
        best = int(np.argmax(gain))
        picked.append(int(numbers[best]))
        C = _updated(C, A[best])
        # C loses K A C of the posture taken: so do all products with it.
        K = np.linalg.solve(inner[best], (AC.reshape(-1, width) @ A[best].T).T).T
        AC, ACM = ((X.reshape(-1, width) - K @ X[best]).reshape(X.shape) for X in (AC, ACM))
        if not turn:  # a posture that is poor alone is hardly ever taken later
            good = np.argsort(gain)[len(gain) // 2 :]
            numbers, A, AC, ACM = numbers[good], A[good], AC[good], ACM[good]
    return picked, C


def _updated(C: np.ndarray, A: np.ndarray) -> np.ndarray:
    AC = A @ C
    return C - AC.T @ np.linalg.solve(np.eye(len(A)) + AC @ A.T, AC)
