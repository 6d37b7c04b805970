"""Other kinds of measurement, compared by what ten postures of each would bring.

Information of random postures, less what is spent on frames and targets of their own, is added to what a fit knows
of all terms. Displacements that the fit cannot see and another kind does are named, with the kinds that show them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...io.results import registered
from ...io.units import DEVIATIONS
from ..measurements import KINDS
from ..measurements.base import POINT, Slot, point_frame
from ..measurements.fit_problem import FitProblem
from ..model.models import Model, Term
from ..model.strategies import independent_columns
from .candidates import Candidate, Products
from .contacts import Contacts
from .knowledge import Knowledge
from .situation import Situation

MORE = 10
"""Postures proposed."""
DRAWS = 3
"""Campaigns of random postures over which what they bring is averaged."""
FINEST = 1e-6
"""m and rad: no instrument is better, whatever a few numbers without noise suggest."""
BESIDE = 0.1
"""m that a point is better away from the last axis."""
NEAR = 0.02
"""m from the last axis below which a point had better be farther away."""
SEEN = 1e-9
"""Share of the largest information that counts as seen."""
SCALE = "the scale"


@registered
@dataclass(frozen=True, eq=False)
class Proposal:
    """Another kind of measurement, and what it would bring.

    Attributes:
        kind: its name, as in `measurement`.
        text: what is done.
        postures: how many.
        points: how many points are seen on the tool.
        sigma: its noise by unit, "m" and "rad": as found for the present measurements, else a usual one.
        after: root of the mean variance of the tool's position after it, m.
        shows: what can be told from it and not from the present measurements: terms, or the scale of the robot.
    """

    kind: str
    text: str
    postures: int
    points: int
    sigma: dict[str, float]
    after: float
    shows: tuple[str, ...]

    @property
    def noise(self) -> str:
        """`0.3 mm, 1 mrad`."""
        return ", ".join(
            f"{value * DEVIATIONS[unit][0]:.2g} {DEVIATIONS[unit][1]}" for unit, value in self.sigma.items()
        )

    @property
    def described(self) -> str:
        """`poses of a camera on the hand (noise 0.3 mm, 1 mrad)`."""
        return f"{self.text} (noise {self.noise})"


def proposals(here: Situation) -> tuple[Proposal, ...]:
    """What other kinds would bring, the best first; kinds that the robot cannot do are left out."""
    noise: dict[str, float] = {}
    for (_, _, unit), sigma in zip(here.problem.noise_names, here.fit.sigma, strict=True):
        noise[unit] = max(noise.get(unit, FINEST), float(sigma))
    sigma_q = max(part.measurement.sigma_q for part in here.problem.parts)
    hidden = _Hidden.of(here.problem.model, here.terms)
    # One root for all kinds: trace(M (C⁻¹ + H)⁻¹) = trace(Fᵀ M F (1 + Fᵀ H F)⁻¹), C = F Fᵀ.
    s, V = np.linalg.eigh(here.C)
    F = V * np.sqrt(np.maximum(s, 0.0))
    inside, identity = F.T @ here.M @ F, np.eye(len(F))
    size = here.terms.size
    done = []
    distance = max(0.05, round(0.5 * here.problem.model.scale, 1))
    contacts = Contacts(here, distance)
    for candidate in _candidates(here, distance):
        kind = candidate.kind
        q, targets = contacts.of(candidate, MORE, DRAWS)
        if not len(q):
            continue
        sigma = kind.component_sigma(noise)
        products = candidate.products(here, q, targets, sigma, sigma_q, len(q) // MORE)
        H = products.each() * np.outer(size, size)
        variance = np.trace(np.linalg.solve(identity + F.T @ H @ F, inside[None]), axis1=1, axis2=2).mean()
        shows = hidden.seen(products, size) if hidden.names else ()
        used = {part.unit: float(sigma[part.rows.start]) for part in kind.noises}
        after = float(np.sqrt(max(variance, 0.0)))
        done.append(Proposal(kind.kind, candidate.text, MORE, len(candidate.right), used, after, shows))
    return tuple(sorted(done, key=lambda proposal: proposal.after))


def unseen(problem: FitProblem, kinds: tuple[Proposal, ...]) -> dict[str, tuple[str, ...]]:
    """What present measurements do not see, in words, and how it would be seen.

    Of proposals that show as much, those come first that need the same instrument, fewer points on the tool, and no
    knowledge of where the base is.
    """
    model, present = problem.model, {_instrument(part.measurement.kind) for part in problem.parts}

    def effort(proposal: Proposal):
        return _instrument(proposal.kind) not in present, proposal.points, KINDS[proposal.kind].in_robot_world

    groups: dict[str, dict[str, list[str]]] = {}
    for proposal in sorted(kinds, key=effort):
        for name in proposal.shows:
            role = name if name == SCALE else model.term(name).role
            group = role if role in (SCALE, "base", "tool") else "link"
            groups.setdefault(group, {}).setdefault(proposal.text, []).append(name)
    out = {}
    for group in (SCALE, "link", "tool", "base"):
        by_text = groups.get(group, {})
        most = max((len(names) for names in by_text.values()), default=0)
        best = [text for text, names in by_text.items() if len(names) == most]
        if best:
            out[_words(group, by_text[best[0]])] = tuple(best)
    return out


def _instrument(kind: str) -> str:
    """What kinds are measured with."""
    return KINDS[kind].instrument or kind


def _words(group: str, names: list[str]) -> str:
    if group == "base":
        return "where the base is"
    if group == "tool":
        return "where the tool is" if any(name.startswith("T") for name in names) else "how the tool is turned"
    return group if group == SCALE else ", ".join(names)


def distinct(kinds: Sequence[Proposal], most: int) -> list[Proposal]:
    """Best proposal for every instrument, at most `most` of them."""
    best: dict[str, Proposal] = {}
    for proposal in kinds:
        best.setdefault(_instrument(proposal.kind), proposal)
    return list(best.values())[:most]


# --- what is hidden


@dataclass(frozen=True, eq=False)
class _Hidden:
    """Displacements of terms that the present measurements do not see.

    Attributes:
        names: of terms that stand for them, in the order in which they are named, and of the scale.
        basis: (t, names) displacements that are not seen, one a name.
    """

    names: tuple[str, ...]
    basis: np.ndarray

    @staticmethod
    def of(model: Model, known: Knowledge) -> _Hidden:
        """Displacements of base and tool alone first, which are placed by hand: the others are the robot's own."""
        t = len(known.columns)
        others = np.setdiff1d(np.arange(t), known.chosen)
        E = np.zeros((t, len(others)))
        E[others, np.arange(len(others))] = 1.0
        E[known.chosen] = -known.relations[:, others]
        terms = [model.terms[column] for column in known.columns[others]]
        alone = ~np.any(known.relations[:, others], axis=0)
        order = sorted(range(len(others)), key=lambda k: _place(terms[k], alone[k]))
        names, basis = [terms[k].name for k in order], E[:, order]
        nominal = [model.terms[k].nominal * (model.terms[k].kind == "T") for k in known.columns]
        lengths = np.array(nominal) / known.size
        miss, length = np.linalg.norm(known.relations @ lengths), np.linalg.norm(lengths)
        fixed = {k for k, term in enumerate(model.terms) if term.kind == "T" and term.nominal} - {*known.columns}
        turning = all(move.sigma == 1 for move in model.moves)
        if turning and not fixed and length and miss < 1e-6 * length:
            names, basis = [SCALE, *names], np.concatenate([lengths[:, None], basis], axis=1)
        return _Hidden(tuple(names), basis)

    def seen(self, products: Products, size: np.ndarray) -> tuple[str, ...]:
        """Names of what measurements show, as few as are independent; terms are in units of their size."""
        basis = self.basis * size[:, None]
        inner = basis.T @ products.together() @ basis
        # Rounding leaves a share of what was there before unknowns were eliminated.
        alone = np.diag(products.AA.sum(axis=0))[:, None]
        before = np.maximum(np.sum(basis**2 * alone, axis=0), 1e-3 * np.max(alone[:, 0] * size**2))
        at = np.flatnonzero(np.diag(inner) > SEEN * before)
        if not len(at):
            return ()
        norms = np.sqrt(np.diag(inner)[at])
        s, V = np.linalg.eigh(inner[np.ix_(at, at)] / np.outer(norms, norms))
        rank = int((s > SEEN * s[-1]).sum())
        root = (V * np.sqrt(np.maximum(s, 0.0)))[:, -rank:].T
        kept = independent_columns(root, range(len(at)), rank, np.full(len(at), 1e-3))
        return tuple(self.names[at[k]] for k in kept)


def _place(term: Term, alone: bool) -> int:
    """When a term is named: turns of the tool also where they are seen with others, as a point beside it moves."""
    if term.role == "tool":
        return 1 if alone or term.kind == "R" else 4
    if term.role == "base":
        return 0 if alone else 4
    return 2 if term.role == "joint" else 3


# --- kinds and postures


def _candidates(here: Situation, distance: float) -> list[Candidate]:
    """Kinds that differ from the present ones, and the present one with a point farther from the last axis."""
    parts, part = here.problem.parts, here.problem.parts[0]
    present = {part.measurement.kind for part in parts}
    several = any(len(part.measurement.right) > 1 and part.measurement.of_point for part in parts)
    out = []
    for name, cls in KINDS.items():
        for kind, text in cls.proposals(distance):
            if name not in present or (len(kind.right) > 1 and not several):
                out.append(Candidate(kind, text, kind.right))
    point = here.fit.frames[part.right[0]][:3, 3]
    away = _away_from_last_axis(here.problem.model, part.frame, here.tool + point)
    if part.measurement.of_point and not several and away is not None:
        for kind, text in type(part.measurement).proposals(distance)[:1]:
            text += f" with a point {1e3 * BESIDE:.0f} mm beside the last axis"
            out.append(Candidate(kind, text, (Slot("marker", POINT, point_frame(point + away)),)))
    return out


def _away_from_last_axis(model: Model, frame: str, point: np.ndarray) -> np.ndarray | None:
    """A displacement (3,) in the frame, away from the last axis, where a point (3,) is near it; else None."""
    path = model.paths[frame]
    if len(path) < 3 or model.moves[path[-2]].sigma != 1:
        return None
    T, axis = model.blocks[path[-1]].T, model.moves[path[-2]].axis
    across = np.delete(T[:3, :3] @ point + T[:3, 3], axis)
    return None if np.linalg.norm(across) > NEAR else BESIDE * T[(axis + 1) % 3, :3]
