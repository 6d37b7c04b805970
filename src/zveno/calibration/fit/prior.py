"""Normal prior of geometric parameters and joint terms.

Every term of the redundant model has a normal prior about nominal, with one scale for all terms of a kind. The
irreducible model stands for combinations of terms (its relations B). Its parameters have the joint prior
N(0, B S Bᵀ), whichever of dependent parameters were chosen. The module `scales` estimates the scales S.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from .._identifiability.analysis import Identifiability
from ..model.joint_terms import JOINT_TERMS
from ..model.models import Model, Term

USUAL = (0.005, 0.01)
"""Initial standard deviation, m and rad, of links about nominal."""
FEWEST = 3
"""Minimum number of terms of a kind to estimate its prior scale."""
WORDS = {
    ("link", "m"): "links (m)",
    ("link", "rad"): "links (rad)",
    ("joint", "rad"): "joint offsets (rad)",
    ("joint", "m"): "joint offsets (m)",
} | {(term.word, unit): f"{term.word} ({unit})" for term in JOINT_TERMS for unit in term.units if unit}
"""Kinds of terms whose prior scale is estimated. Base and tool are placed by hand: they have no common scale."""
JOINT_WORDS = {WORDS[term.word, unit]: term.word for term in JOINT_TERMS for unit in term.units if unit}
"""Kinds of `WORDS` that are joint terms, with the word of the term."""


@dataclass(frozen=True, eq=False)
class Prior:
    """Prior of the chosen parameters, from prior scales of all terms.

    Attributes:
        columns: chosen parameters by column of the problem, (c,).
        relations: B, (c, p): the combination of terms that each of them stands for.
        usual: standard deviation of every term before anything is measured, (p,).
        size: likeliest standard deviation of every term, (p,).
        wider: factors (p,) by which the fit enlarges them, since few terms determine them.
        kinds: terms of every kind whose prior scale may be estimated, by word.
        given: standard deviations from the user, by place among the columns: such a parameter stands for itself.
    """

    columns: tuple[int, ...]
    relations: np.ndarray
    usual: np.ndarray
    size: np.ndarray
    wider: np.ndarray
    kinds: dict[str, np.ndarray]
    given: dict[int, float]

    def covariance(self) -> np.ndarray:
        """Return the covariance of the chosen parameters, (c, c)."""
        L = self.half()
        return L @ L.T

    def half(self) -> np.ndarray:
        """Return the lower triangle L, (c, c), of the covariance L Lᵀ, accurate for very small scales too."""
        given = np.zeros((len(self.given), len(self.columns)))
        given[range(len(given)), list(self.given)] = list(self.given.values())
        rows = np.concatenate([(self.relations * (self.size * self.wider)).T, given])
        R = np.asarray(np.linalg.qr(rows, mode="r"))
        return R.T * np.where(R.diagonal() < 0, -1.0, 1.0)

    def scaled(self, factor: float) -> Prior:
        """Return the prior with all estimable scales multiplied by a factor."""
        size = self.size.copy()
        for terms in self.kinds.values():
            size[terms] *= factor
        return replace(self, size=size)

    def rows(self) -> tuple[tuple[int, ...], np.ndarray]:
        """Return columns, and rows (c, c) whose products with the parameters are independent with unit variance."""
        return self.columns, np.linalg.inv(self.half())

    def with_sizes(self, sizes: Mapping[str, float]) -> Prior:
        """Return the prior with other scales, by kind; kinds that are not named keep theirs."""
        size = self.size.copy()
        for word, new in sizes.items():
            size[self.kinds[word]] = new
        return replace(self, size=size)

    def with_scales_of(self, other: Prior) -> Prior:
        """Return the prior with the scales that another one has for the same kinds."""
        size, wider = self.size.copy(), self.wider.copy()
        for word in self.kinds.keys() & other.kinds.keys():
            here, there = self.kinds[word], other.kinds[word][0]
            size[here], wider[here] = other.size[there], other.wider[there]
        return replace(self, size=size, wider=wider)

    def relative(self, word: str) -> float:
        """Return the scale of a kind in units of its usual size."""
        first = self.kinds[word][0]
        return float(self.size[first] / self.usual[first])

    @property
    def joint_kinds(self) -> list[str]:
        """Kinds that are joint terms."""
        return [word for word in self.kinds if word in JOINT_WORDS]

    @property
    def sizes(self) -> dict[str, float]:
        """Likeliest prior scale of every kind of terms."""
        return {word: float(self.size[terms[0]]) for word, terms in self.kinds.items()}


def prior(
    model: Model, structure: Identifiability, plausible: tuple[float, float], given: Mapping[int, float]
) -> Prior | None:
    """Build the prior of the chosen parameters; None where there are none.

    Args:
        model: the redundant model.
        structure: its chosen parameters, and the terms they stand for.
        plausible: standard deviation, m and rad, of links; ten times as much for offsets, base and tool.
        given: standard deviations by column.
    """
    terms = [name for name in structure.names if name in model.numbers]
    chosen = sorted((name for name in structure.chosen if name in model.numbers), key=model.numbers.__getitem__)
    if not chosen:
        return None
    place = {name: k for k, name in enumerate(terms)}
    B = np.zeros((len(chosen), len(terms)))
    stands = {
        next(name for name in relation if name in set(structure.chosen)): relation
        for relation in structure.relations
    }
    columns = tuple(model.numbers[name] for name in chosen)
    for row, name in enumerate(chosen):
        if columns[row] in given:
            continue
        for other, weight in stands.get(name, {name: 1.0}).items():
            if other in place:
                B[row, place[other]] = weight
    size = np.array([usual(model.term(name), plausible) for name in terms])
    kinds: dict[str, list[int]] = {word: [] for word in WORDS.values()}
    for k in np.flatnonzero(np.any(B != 0, axis=0)):
        term = model.term(terms[k])
        if (term.role, term.unit) in WORDS:
            kinds[WORDS[term.role, term.unit]].append(int(k))
    return Prior(
        columns,
        B,
        size,
        size.copy(),
        np.ones_like(size),
        {word: np.array(numbers) for word, numbers in kinds.items() if len(numbers) >= FEWEST},
        {k: given[column] for k, column in enumerate(columns) if column in given},
    )


def usual(term: Term, plausible: tuple[float, float] = USUAL) -> float:
    """Return the initial prior standard deviation of a term, given that of links, `plausible`, m and rad."""
    off = plausible[0] if term.unit == "m" else plausible[1]
    if term.role in ("link", "joint", "base", "tool"):
        return off if term.role == "link" else 10.0 * off
    joint_term = next(joint_term for joint_term in JOINT_TERMS if joint_term.letters == term.kind)
    return joint_term.size[joint_term.units.index(term.unit)]


def alone(given: Mapping[int, float], columns: Sequence[int]) -> tuple[tuple[int, ...], np.ndarray]:
    """Return rows, as of `Prior.rows`, from given standard deviations alone."""
    with_prior = tuple(column for column in columns if column in given)
    return with_prior, np.diag([1.0 / given[column] for column in with_prior])
