"""What to measure next, and what the model lacks: both from the information matrix of the fit.

A posture with whitened rows A turns the covariance C into C − C Aᵀ (1 + A C Aᵀ)⁻¹ A C. Postures are taken one by
one, each where it reduces the mean variance of the tool over the workspace most: trace(M C), with M the mean of
Jᵀ J of its position.

Terms that were not fitted are judged without fitting them (a score test): the part of their columns that the fit
could not have absorbed explains a share of the residuals, by chance χ² with as many degrees of freedom.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import gammaincinv

from ..io.results import registered
from .campaigns import Campaign
from .compiled import pose_kernel
from .postures import pulled, random_postures
from .solve import Options, Solution
from .system import System

MORE = 10
"""Postures proposed."""
CANDIDATES = 300
SURE = 1e-6
"""Chance at which a term that is not there may be proposed."""
WORTH = 0.03
"""Share of the residual variance that is worth another kind of term."""


@registered
@dataclass(frozen=True, eq=False)
class Advice:
    """Postures that would help most.

    Attributes:
        campaign: what to measure in them: the campaign to continue.
        q: postures, (n, n_q), the most helpful first.
        groups: the target each belongs to, for kinds that need it.
        now: root of the mean variance of the tool's position over the workspace, m, as parameters are known.
        chosen: the same after measuring `q`.
        others: the same after measuring as many random postures.
        distances: the same if known distances between targets were known ten times better; None if there are none.
    """

    campaign: str
    q: np.ndarray
    groups: tuple[str, ...]
    now: float
    chosen: float
    others: float
    distances: float | None


def advise(system: System, options: Options, whole: Solution, seed: int = 0) -> Advice | None:
    """The campaign and the postures that would reduce the uncertainty of the tool most; None if nothing would."""
    P = len(system.model.terms)
    covariance = whole.covariance()
    own = [k for k, column in enumerate(options.columns) if column < P]
    if not own or not covariance.any():
        return None
    rng = np.random.default_rng(seed)
    mechanism = system.model.mechanism
    J = _tool_slopes(system, whole, random_postures(mechanism, CANDIDATES, rng))
    M = np.zeros_like(covariance)
    M[np.ix_(own, own)] = J[:, [options.columns[k] for k in own]].T @ J[:, [options.columns[k] for k in own]]
    M /= CANDIDATES
    distances = _known_distances(system, whole)
    better = None if distances is None else _size(M, _updated(covariance, np.sqrt(99.0) * distances))
    best = None
    for number in range(len(system.parts)):
        q, groups, A = _candidates(system, options, whole, number, rng)
        if len(q) < MORE:
            continue
        picked, after = _greedy(covariance, A, M)
        random = _updated(covariance, A[:MORE].reshape(-1, A.shape[-1]))
        now, chosen, others = (_size(M, C) for C in (covariance, after, random))
        names = tuple(groups[k] for k in picked) if groups else ()
        one = Advice(system.campaigns[number].name, q[picked], names, now, chosen, others, better)
        if best is None or one.chosen < best.chosen:
            best = one
    return best


def _size(M: np.ndarray, C: np.ndarray) -> float:
    return float(np.sqrt(max(np.sum(M * C), 0.0)))


def _known_distances(system: System, whole: Solution) -> np.ndarray | None:
    """Whitened rows of the known distances between targets in the fit."""
    if not system.constraints:
        return None
    rows = system.row[np.concatenate([whole.weight, [1.0]])[system.row] > 0]
    return whole.fit.jacobian[: len(rows)][rows < 0]


def _tool_slopes(system: System, whole: Solution, q) -> np.ndarray:
    tau = np.zeros((len(q), system.model.mechanism.n_v))
    _, J = pose_kernel(system.model, system.parts[0].frame)(q, whole.values, tau)
    return J[:, :3].reshape(-1, J.shape[-1])


def _candidates(system: System, options: Options, whole: Solution, number: int, rng):
    """Random postures of a campaign's kind, in contact where it needs that; their targets; whitened rows."""
    model, campaign = system.model, system.campaigns[number]
    kind = campaign.measurement
    q = random_postures(model.mechanism, CANDIDATES, rng)
    groups = tuple(campaign.groups[k] for k in rng.integers(len(campaign), size=len(q))) if campaign.groups else ()
    things = len(kind.right) * len(kind.targets)
    imagined = Campaign(kind, q, np.zeros((len(q), things, kind.n_data)), groups, campaign.name, np.arange(len(q)))
    other = _system(system, whole, [imagined])
    if kind.implicit and things == 1:
        q, touching = pulled(other, 0, q, values=whole.values)
        inside = (q >= model.mechanism.lower - 1e-9).all(axis=1) & (q <= model.mechanism.upper + 1e-9).all(axis=1)
        imagined = replace(imagined, q=q).only(touching & inside)
        if not len(imagined):
            return imagined.q, (), np.zeros((0, 1, len(options.columns)))
        other = _system(system, whole, [imagined])
    places = {name: k for k, name in enumerate(other.names)}
    wanted = [places.get(system.names[column], -1) for column in options.columns]
    _, J = other.evaluate(whole.values, other.frames, [k for k in wanted if k >= 0], exact=True)
    data = other.noise >= 0
    first = system.parts[number].first_noise
    rows = np.zeros((int(data.sum()), len(wanted)))
    rows[:, [k >= 0 for k in wanted]] = J[data] / whole.sigma[first + other.noise[data]][:, None]
    return imagined.q, imagined.groups, rows.reshape(len(imagined), -1, len(wanted))


def _system(system: System, whole: Solution, campaigns) -> System:
    """Other rows with the frames that were found."""
    other = System(system.model, campaigns)
    placed = {one.label: whole.frames[system.frame_number(k)] for k, one in enumerate(system.unknowns)}
    for k, one in enumerate(other.unknowns):
        other.frames[other.frame_number(k)] = placed[one.label]
    return other


def _greedy(C: np.ndarray, A: np.ndarray, M: np.ndarray) -> tuple[list[int], np.ndarray]:
    """Numbers of the postures taken one by one, and the covariance after them."""
    picked: list[int] = []
    n, m, width = A.shape
    AC, one = (A.reshape(-1, width) @ C).reshape(A.shape), np.eye(m)
    ACM = (AC.reshape(-1, width) @ M).reshape(A.shape)
    for _ in range(MORE):
        # trace(M C Aᵀ inner⁻¹ A C) of every candidate
        inner = one + AC @ np.swapaxes(A, 1, 2)
        gain = np.einsum("nij,nij->n", np.linalg.solve(inner, AC), ACM)
        gain[picked] = -np.inf
        best = int(np.argmax(gain))
        picked.append(best)
        # C loses K A C of the posture taken: so do all products with it.
        K = np.linalg.solve(inner[best], (AC.reshape(-1, width) @ A[best].T).T).T
        AC, ACM = ((X.reshape(-1, width) - K @ X[best]).reshape(n, m, width) for X in (AC, ACM))
        C = _updated(C, A[best])
    return picked, C


def _updated(C: np.ndarray, A: np.ndarray) -> np.ndarray:
    AC = A @ C
    return C - AC.T @ np.linalg.solve(np.eye(len(A)) + AC @ A.T, AC)


def lacking(
    system: System, whole: Solution, joint_terms, gravity: Callable | None, scale: np.ndarray
) -> dict[str, float]:
    """Terms that would explain more of the residuals than chance: their name → share of the residual variance.

    Args:
        system, whole: the fit.
        joint_terms: those that were fitted.
        gravity: q → torques, or None where the robot has no masses.
        scale: what every scalar row was multiplied by, (rows,); zero where it was not used.
    """
    found = {}
    J, r = whole.fit.jacobian[:, whole.fit.free], whole.fit.residual
    Q = np.linalg.qr(J / np.maximum(np.linalg.norm(J, axis=0), 1e-300))[0]
    freedom = int((scale > 0).sum()) - J.shape[1]
    for word in ("gear", "compliance"):
        if word in joint_terms or (word == "compliance" and gravity is None):
            continue
        extra = _joint_slopes(system, whole, word, gravity)
        C = np.zeros((len(r), extra.shape[1]))
        used = scale > 0
        C[: used.sum()] = scale[used, None] * extra[used]
        before = np.linalg.norm(C, axis=0)
        C = C - Q @ (Q.T @ C)
        after = np.linalg.norm(C, axis=0)
        C = C[:, after > 1e-3 * np.maximum(before, 1e-300)] / after[after > 1e-3 * np.maximum(before, 1e-300)]
        if not C.shape[1]:
            continue
        U, s, _ = np.linalg.svd(C, full_matrices=False)
        U = U[:, s > 1e-3 * s[0]]
        drop, total, k = float(np.sum((U.T @ r) ** 2)), float(r @ r), U.shape[1]
        share = 1.0 - (total - drop) / max(freedom - k, 1) / (total / max(freedom, 1))
        if drop > 2.0 * gammaincinv(0.5 * k, 1.0 - SURE) * total / max(freedom, 1) and share > WORTH:
            found[word] = share
    return found


def _joint_slopes(system: System, whole: Solution, word: str, gravity: Callable | None) -> np.ndarray:
    """Derivatives (rows, joints) by gear ratios or compliances: those by joint offsets, times position or load."""
    moves = [move for move in system.model.moves if move.sigma is not None]
    _, J = system.evaluate(whole.values, whole.frames, [move.own for move in moves])
    q = np.concatenate([part.q for part in system.parts])
    if word == "gear" or gravity is None:
        factor = [move.multiplier * q[:, move.position.start] + move.offset for move in moves]
    else:
        tau = gravity(q)
        factor = [-tau[:, move.velocity.start] for move in moves]
    return J * np.array(factor).reshape(len(moves), len(q)).T[system.posture]
