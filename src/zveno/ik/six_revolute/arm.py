"""All solutions of six revolute joints: templates chosen at set-up, then poses in batches."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import numpy as np

from ...kernels.compile import compiled
from ..clock import time_is_over
from . import roots
from .back_substitution import from_root, from_vector, shift_matrix
from .polish import mark, mobile, polish
from .templates import GREATEST_DIMENSION, Eliminated, chain, usable

CHUNK = 1024
"""Poses taken at once: enough to fill the lanes, few enough to stay near the processor."""
SAME = 1e-5
"""Solutions nearer than this in every angle, rad, are one."""
CLEAN = 1e-7
"""Defect up to which a kernel vector is beyond doubt."""
NEARLY_SINGULAR = 1e-3
CERTAIN_DIMENSION = 2
"""With kernels of more dimensions counting roots proves nothing: false certificates have been seen there."""
N_EQUATIONS = 6
_SYSTEM, _LINKS = (3, 12, 12), (6, 3, 4)


@dataclass(frozen=True, eq=False)
class ArmSolutions:
    """Solutions of a batch of k targets, flat.

    Attributes:
        pose: index of the target of each solution, (n,), ascending.
        q: solutions, (n, 6), any whole turns.
        sure: (k,) booleans: every root of the polynomial is simple and accounted for.
        settled: (k,) booleans: accounted for, though some may be double.
    """

    pose: np.ndarray
    q: np.ndarray
    sure: np.ndarray
    settled: np.ndarray


class _Later(Sequence):
    """A function of the items of a sequence, applied when one is asked for: most second templates never are."""

    def __init__(self, function, items: Sequence):
        self.function, self.items, self.made = function, items, {}

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, i):
        if isinstance(i, slice):
            return (self[j] for j in range(*i.indices(len(self))))
        if i not in self.made:
            self.made[i] = self.function(self.items[i])
        return self.made[i]


class Arm:
    """An arm of six revolute joints, ready to be solved.

    Args:
        links: L1 … L5 in links[1:], (6, 4, 4): the chain is Rz(q0) L1 Rz(q1) … L5 Rz(q5).
        joints: number of them that are scanned; solutions may all have the same angle at the others.
        seed: of the random numbers that set-up draws.
    """

    def __init__(self, links: np.ndarray, joints: int = 6, seed: int = 0):
        rng = np.random.default_rng(seed)
        L = np.array(links, float)
        L[0] = np.eye(4)
        size = np.linalg.norm(L[:, :3, 3], axis=1).sum()
        self.scale: Any = 2.0 / size if size > 0 else 1.0
        L[:, :3, 3] *= self.scale
        self.L, self._inner = L, np.ascontiguousarray(L[1:, :3])
        self.mobile: bool = mobile(self._inner)
        self.chosen: Sequence[Eliminated] = self._choose(
            [e for e in usable(L, rng) if e.template.scan_joint < joints], rng
        )

    def on(self, links: np.ndarray) -> Arm:
        """Return arms of the same type, links (n, 6, 4, 4), one per target: nothing is chosen anew."""
        other = copy(self)
        other.L = links.copy()
        other.L[..., :3, 3] *= self.scale
        other._inner = other.L[:, 1:, :3]
        other.chosen = _Later(lambda e: Eliminated(e.template.on(other.L), e.rank, e.dimension), self.chosen)
        return other

    def of(self, which: np.ndarray) -> Arm:
        """Return some of several arms, perhaps repeatedly, one per target."""
        other = copy(self)
        other.L, other._inner = self.L[which], self._inner[which]
        other.chosen = _Later(lambda e: e.of(which), self.chosen)
        return other

    @property
    def solvable(self) -> bool:
        """True if some template serves this geometry."""
        return bool(self.chosen)

    def _choose(self, templates: list[Eliminated], rng: np.random.Generator, n: int = 24) -> list[Eliminated]:
        """Choose the template that finds most on random targets, then the least flat; then others, on other joints.

        Kernels of several dimensions cost more, so such templates are tried only where the others leave doubts.
        """
        X = chain(self.L, rng.uniform(-np.pi, np.pi, (n, 6)))
        rated: list[tuple] = []
        for several in (False, True):
            for e in [e for e in templates if (e.dimension > 1) == several][:12]:
                rate: list[np.ndarray] = []
                answer = self._run(e, X, rate=rate)
                rates = np.sort(rate[0] * np.where(answer.sure, 1.0, 1e-3))
                flat = np.interp(0.1 * (n - 1), range(n), rates)  # np.quantile imports masked arrays
                key = -len(answer.pose), e.dimension > CERTAIN_DIMENSION, -flat * (0.1 if several else 1.0)
                rated.append((key, e, answer.sure.mean()))
            rated.sort(key=lambda row: row[0])
            if rated and rated[0][2] > 0.9:
                break
        chosen: list[Eliminated] = []
        for _, e, _ in rated:
            if e.template.scan_joint not in {other.template.scan_joint for other in chosen}:
                chosen.append(e)
        return chosen

    def solve(self, X: np.ndarray, allowed: Any = None) -> ArmSolutions:
        """Find all solutions of targets X (k, 4, 4), each C0⁻¹ T Cn⁻¹ in the arm's own lengths.

        Args:
            X: targets.
            allowed: for each joint the ranges of its angle within [−π, π], or None; roots elsewhere are not sought.
        """
        solutions = self._in_chunks(X, allowed)
        if self.mobile:
            return solutions
        # Solutions of an arm that is singular everywhere are continua, of which roots are no count.
        doubt = np.zeros(len(X), bool)
        return ArmSolutions(solutions.pose, solutions.q, doubt, doubt)

    def _in_chunks(self, X: np.ndarray, allowed: Any) -> ArmSolutions:
        X = np.array(X, float)
        X[:, :3, 3] *= self.scale
        if len(X) <= CHUNK:
            return self._solve(X, allowed)
        starts = range(0, len(X), CHUNK)
        parts = [self._solve(X, allowed, np.arange(i, min(i + CHUNK, len(X)))) for i in starts]
        return ArmSolutions(
            np.concatenate([part.pose + i for i, part in zip(starts, parts, strict=True)]),
            *(np.concatenate([getattr(part, name) for part in parts]) for name in ("q", "sure", "settled")),
        )

    def first(self, X: np.ndarray) -> ArmSolutions:
        """Solve targets X (k, 4, 4), in scaled lengths, by the first template alone."""
        return self._run(self.chosen[0], X)

    def _solve(self, X, allowed, which: Any = slice(None)) -> ArmSolutions:
        """Solve some of the targets; poses are counted among them."""
        first = self._run(self.chosen[0], X, allowed, which)
        certain = self.chosen[0].dimension <= CERTAIN_DIMENSION
        if certain and np.count_nonzero(first.sure) == len(first.sure):
            return first
        again = np.nonzero(~first.sure)[0]
        pose, q, sure, settled = first.pose, first.q, first.sure & certain, first.settled.astype(int)
        for e in self.chosen[1:]:
            if not len(again) or time_is_over():
                break
            more = self._run(e, X, allowed, again if isinstance(which, slice) else which[again])
            pose, q = merged(np.r_[pose, again[more.pose]], np.concatenate([q, more.q]))
            settled[again[more.settled]] += 1
            sure[again[more.sure]] = e.dimension <= CERTAIN_DIMENSION
            again = again[~more.sure]
        # Near double roots no polynomial is certain by itself; two on different joints that agree are enough.
        return ArmSolutions(pose, q, sure | (settled > 1), settled > 0)

    def _run(self, e: Eliminated, X: np.ndarray, allowed=None, which: Any = slice(None), rate: list | None = None):
        """Run one template on targets in scaled lengths, or on some; flatness is added to `rate` if given."""
        if not isinstance(which, slice):
            e, X = e.of(which), X[which]
        L = self._inner if self._inner.ndim == 3 else self._inner[which]
        t, X = e.template, X[:, :3]
        E, links = e.system(X)
        c = roots.polynomials(e.determinants(E, roots.SAMPLE_POINTS))
        isolated = roots.isolate(c, None if allowed is None else shifted(allowed[t.scan_joint], -t.scan_offset))
        if not len(isolated.pose):
            return self._nothing(len(X), c, isolated, rate)
        root, y, doubtful = _candidates(e, E, links, isolated)
        row, column = (y[..., 0] == y[..., 0]).nonzero()  # the others are NaN
        q = np.empty((len(row), 6))
        q[:, t.order] = y[row, column] + t.offsets
        of = root[row]
        pose = isolated.pose[of]
        q, closed = polish(L if L.ndim == 3 else L[pose], X[0] if len(X) == 1 else X[pose], q)
        sure, settled = np.ones(len(X), bool), np.ones(len(X), bool)
        if doubtful is not None or np.count_nonzero(closed) < len(closed):
            accounted = np.ones(len(isolated.pose), bool) if doubtful is None else ~doubtful
            accounted[of] = False
            accounted[of[closed]] = True
            settled[isolated.pose[~accounted]] = False
            sure[isolated.pose[~(isolated.simple & accounted)]] = False
            pose, q = pose[closed], q[closed]
        pose, q = merged(pose, q)
        if rate is not None:
            rate.append(roots.flatness(c, isolated))
        return ArmSolutions(pose, q, sure, settled)

    @staticmethod
    def _nothing(k: int, c, isolated: roots.Roots, rate: list | None) -> ArmSolutions:
        """Return the result for k polynomials without roots."""
        if rate is not None:
            rate.append(roots.flatness(c, isolated))
        return ArmSolutions(np.zeros(0, int), np.zeros((0, 6)), np.ones(k, bool), np.ones(k, bool))


def _candidates(e: Eliminated, E, links, isolated: roots.Roots) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Return numbers of roots (n,) and candidates (n, 2, 6), NaN where there is none.

    Third, (roots,) whether one needs a solution to be trusted; None where none does and all are simple.

    With six equations every root belongs to a configuration. With more, the mixing of rows adds roots that do not;
    their kernel vectors are not made of monomials. A kernel vector is not either where the kernel nearly has more
    dimensions, as near families; then more are tried.
    """
    if e.dimension > 1:
        root, y = _at_multiple(e, E, links, isolated, np.arange(len(isolated.pose)), e.dimension)
        doubtful = np.zeros(len(isolated.pose), bool)
    else:
        y, defect, pivot = _at_simple(e, E, links, isolated)
        root = np.arange(len(y))
        doubtful = defect > CLEAN
        if e.equations != N_EQUATIONS:
            doubtful &= pivot < NEARLY_SINGULAR
    unclear = doubtful | ~isolated.simple
    if not np.count_nonzero(unclear):
        return root, y, None
    again = unclear.nonzero()[0]
    for dimension in range(e.dimension + 1, min(e.dimension + 3, GREATEST_DIMENSION + 1)):
        more = _at_multiple(e, E, links, isolated, again, dimension)
        root, y = (np.concatenate(pair) for pair in zip((root, y), more, strict=True))
    return root, y, doubtful


@cache
def _from_root():
    return compiled(from_root, {"E": _SYSTEM, "y": (), "scan": (), "links": _LINKS})


@cache
def _from_vector():
    return compiled(from_vector, {"v": (12,), "y": (), "scan": (), "links": _LINKS})


@cache
def _shift_matrix(dimension: int):
    return compiled(shift_matrix, {"E": _SYSTEM, "y": ()}, options={"dimension": dimension})


def _at_simple(e: Eliminated, E, links, isolated: roots.Roots):
    """Return candidates (n, 2, 6), defects (n,) and last pivots (n,) of roots with a one-dimensional kernel."""
    scan, kernel = e.template.scan, _from_root()
    if len(E) == 1:
        with np.errstate(all="ignore"):
            return kernel(E[0], isolated.y, scan, links[0])
    count = np.bincount(isolated.pose, minlength=len(E))
    start = np.cumsum(count) - count
    n = len(isolated.pose)
    y, defect, pivot = np.empty((n, 2, 6)), np.empty(n), np.empty(n)
    for m in sorted(set(count[count > 0].tolist())):  # targets with equally many roots go together
        poses = np.nonzero(count == m)[0]
        at = start[poses, None] + np.arange(m)
        with np.errstate(all="ignore"):
            y[at], defect[at], pivot[at] = kernel(E[poses, None], isolated.y[at], scan, links[poses, None])
    return y, defect, pivot


def _at_multiple(e: Eliminated, E, links, isolated: roots.Roots, numbers, dimension: int):
    """Return the same for the roots `numbers` with kernels of several dimensions: up to as many candidates each."""
    pose, y = isolated.pose[numbers], isolated.y[numbers]
    with np.errstate(all="ignore"):
        V, C = _shift_matrix(dimension)(E[pose], y)
    fine = np.isfinite(C).all((1, 2))
    eigen: Any = np.linalg.eig(np.where(fine[:, None, None], C, 0.0))
    values, vectors = eigen
    real = fine[:, None] & (abs(values.imag) <= 2e-2 * (1 + abs(values))) & (values.imag >= 0)
    row, column = np.nonzero(real)
    v = np.sum(V[row] * vectors[row, :, column].real[:, None, :], axis=2)
    with np.errstate(all="ignore"):
        both, _ = _from_vector()(v, y[row], e.template.scan, links[pose[row]])
    return numbers[row], both


@cache
def _mark():
    return compiled(mark, {"q": (6,)})


def merged(pose: np.ndarray, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sort solutions by their poses, each once; the result of a pose does not depend on the others.

    One number made of all angles tells nearly all apart; those near in it are compared in full.
    """
    place = _mark()(q)
    order = np.lexsort((place, pose))
    pose, q, place = pose[order], q[order], place[order]
    repeated = np.zeros(len(pose), bool)
    ahead = 1
    while ahead < len(pose):
        near = place[ahead:] - place[:-ahead] < 2 * SAME
        close = (near & (pose[ahead:] == pose[:-ahead])).nonzero()[0]
        if not len(close):
            break
        d = q[close + ahead] - q[close]
        same = (abs(d - 2 * np.pi * np.round(d / (2 * np.pi))) < SAME).all(1) & ~repeated[close]
        repeated[close[same] + ahead] = True
        ahead += 1
    return pose[~repeated], q[~repeated]


@lru_cache(maxsize=64)
def shifted(ranges: Any, by: float) -> tuple[tuple[float, float], ...] | None:
    """Return ranges of an angle in [−π, π] after a shift of its zero, cut at ±π; None for the whole circle."""
    if ranges is None:
        return None
    out = []
    for low, high in ranges:
        if high - low >= 2 * np.pi:
            return None
        low, high = low + by, high + by
        turn = 2 * np.pi * np.floor((low + np.pi) / (2 * np.pi))
        low, high = low - turn, high - turn
        out.append((low, min(high, np.pi)))
        if high > np.pi:
            out.append((-np.pi, high - 2 * np.pi))
    return tuple(out)
