"""All solutions of six revolute joints: templates chosen at set-up, then poses in batches."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...kernels import math as zm
from . import roots
from .back_substitution import candidates
from .compiled import compiled
from .polish import polish
from .templates import Eliminated, chain, determinants, usable

CHUNK = 1024
"""Poses taken at once: enough to fill the lanes, few enough to stay near the processor."""
SAME = 1e-5
"""Solutions nearer than this in every angle, rad, are one."""
SPURIOUS = 1e-4
"""Defect of a kernel vector from which its root belongs to no configuration."""
_BLOCK, _LINK = (12, 12), (3, 4)


@dataclass(frozen=True, eq=False)
class Found:
    """Solutions of a batch of k targets, flat.

    Attributes:
        pose: which target each solution is of, (n,), ascending.
        q: solutions, (n, 6), any whole turns.
        sure: (k,) booleans: every root of the polynomial is accounted for.
        flatness: (k,) how far the polynomial keeps off zero around its roots, 1 where there are none.
    """

    pose: np.ndarray
    q: np.ndarray
    sure: np.ndarray
    flatness: np.ndarray


class Arm:
    """An arm of six revolute joints, ready to be solved.

    Args:
        links: L1 … L5 in links[1:], (6, 4, 4): the chain is Rz(q0) L1 Rz(q1) … L5 Rz(q5).
        seed: of the random numbers that set-up draws.
    """

    def __init__(self, links: np.ndarray, seed: int = 0):
        rng = np.random.default_rng(seed)
        L = np.array(links, float)
        L[0] = np.eye(4)
        size = np.linalg.norm(L[:, :3, 3], axis=1).sum()
        self.scale = 2.0 / size if size > 0 else 1.0
        L[:, :3, 3] *= self.scale
        self.L = L
        self.chosen = self._choose([e for _, e in usable(L, rng)[:12]], rng)

    @property
    def solvable(self) -> bool:
        """Whether some template serves this geometry."""
        return bool(self.chosen)

    def _choose(self, templates: list[Eliminated], rng: np.random.Generator, n: int = 24) -> list[Eliminated]:
        """The template that finds most on random targets, then the least flat; others after it, on other joints."""
        if not templates:
            return []
        X = chain(self.L, rng.uniform(-np.pi, np.pi, (n, 6)))
        answers = [self._run(e, X) for e in templates]
        counts = [len(a.pose) for a in answers]
        flat = [np.quantile(a.flatness * np.where(a.sure, 1.0, 1e-3), 0.1) for a in answers]
        order = sorted(range(len(templates)), key=lambda i: (-counts[i], -flat[i]))
        chosen: list[Eliminated] = []
        for i in order:
            if templates[i].template.scan_joint not in {e.template.scan_joint for e in chosen}:
                chosen.append(templates[i])
        return chosen

    def solve(self, X: np.ndarray, allowed=None) -> Found:
        """All solutions of targets X (k, 4, 4), each C0⁻¹ T Cn⁻¹ in the arm's own lengths.

        Args:
            X: targets.
            allowed: for each joint the ranges of its angle within [−π, π], or None; roots elsewhere are not sought.
        """
        X = np.array(X, float)
        X[:, :3, 3] *= self.scale
        parts = [self._solve(X[i : i + CHUNK], allowed) for i in range(0, len(X), CHUNK)]
        return Found(
            np.concatenate([part.pose + CHUNK * i for i, part in enumerate(parts)]),
            np.concatenate([part.q for part in parts]),
            np.concatenate([part.sure for part in parts]),
            np.concatenate([part.flatness for part in parts]),
        )

    def _solve(self, X, allowed) -> Found:
        first = self._run(self.chosen[0], X, allowed)
        again = np.nonzero(~first.sure)[0]
        pose, q, sure = first.pose, first.q, first.sure.copy()
        for e in self.chosen[1:]:
            if not len(again):
                break
            second = self._run(e, X[again], allowed)
            pose, q = merged(np.r_[pose, again[second.pose]], np.concatenate([q, second.q]))
            sure[again[second.sure]] = True
            again = again[~second.sure]
        return Found(pose, q, sure, first.flatness)

    def _run(self, e: Eliminated, X: np.ndarray, allowed=None) -> Found:
        """One template on targets in scaled lengths."""
        t = e.template
        links = e.links(X)
        E = e.matrices(links)
        c = roots.polynomials(determinants(E, roots.SAMPLE_POINTS))
        offset = t.offsets[2 + t.scan]
        found = roots.isolate(c, None if allowed is None else shifted(allowed[t.scan_joint], -offset))
        y, defect = self._candidates(e, E, links, found)
        q = np.empty_like(y)
        q[..., t.order] = y + t.offsets
        root, which = np.nonzero(~np.isnan(q[..., 0]) & (defect < SPURIOUS)[:, None])
        pose = found.pose[root]
        q, closed = polish(self.L[1:, :3], X[pose, :3], q[root, which])
        accounted = defect >= SPURIOUS
        accounted[root[closed]] = True
        sure = np.ones(len(X), bool)
        sure[found.pose[~(accounted & found.simple)]] = False
        pose, q = merged(pose[closed], q[closed])
        return Found(pose, q, sure, roots.flatness(c, found))

    def _candidates(self, e: Eliminated, E, links, found: roots.Roots):
        """Candidates (n, 2, 6) at every root, and defects (n,). Targets with equally many roots go together."""
        shapes = {"E0": _BLOCK, "E1": _BLOCK, "E2": _BLOCK, "y": ()}
        shapes |= dict.fromkeys(("M2", "M3", "M4", "M5", "A", "B"), _LINK)
        kernel = compiled(candidates, shapes, scan=e.template.scan, equations=e.equations)
        count = np.bincount(found.pose, minlength=E.shape[1])
        start = np.cumsum(count) - count
        y, defect = np.empty((len(found.pose), 2, 6)), np.empty(len(found.pose))
        for m in np.unique(count[count > 0]):
            poses = np.nonzero(count == m)[0]
            at = start[poses, None] + np.arange(m)
            A, B, *M = (link if link.ndim == 2 else link[poses, None] for link in links)
            y[at], defect[at] = kernel(*E[:, poses, None], found.y[at], *M, A, B)
        return y, defect


def mark(q):
    """A number in (−1, 1) that depends on all angles and not on whole turns."""
    return sum(zm.cos(q[j] + 1.7 * j * j) * w for j, w in enumerate((0.21, 0.19, 0.17, 0.16, 0.14, 0.12)))


def merged(pose: np.ndarray, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Solutions in order of their poses, each once.

    One number made of all angles tells nearly all apart; those near in it are compared in full.
    """
    place = compiled(mark, {"q": (6,)})(q)
    order = np.argsort(4.0 * pose + place, kind="stable")
    pose, q, place = pose[order], q[order], place[order]
    repeated = np.zeros(len(pose), bool)
    ahead = 1
    while ahead < len(pose):
        close = np.nonzero((pose[ahead:] == pose[:-ahead]) & (place[ahead:] - place[:-ahead] < 2 * SAME))[0]
        if not len(close):
            break
        d = q[close + ahead] - q[close]
        same = (abs(d - 2 * np.pi * np.round(d / (2 * np.pi))) < SAME).all(1) & ~repeated[close]
        repeated[close[same] + ahead] = True
        ahead += 1
    return pose[~repeated], q[~repeated]


def shifted(ranges, by: float) -> list[tuple[float, float]] | None:
    """Ranges of an angle within [−π, π] after the zero has moved, cut where they cross ±π; None for all of it."""
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
    return out
