"""Templates: where the loop of six joints is cut, in which direction it is walked, and which angle is scanned.

Six cuts, two directions and three scan angles make 36 templates. For special geometry some of them are
degenerate; what a template is worth is found from ranks at random configurations.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from typing import Any

import numpy as np

from ...kernels.compile import compiled
from .equations import (
    N_FEATURES,
    SIZE,
    determinant,
    eliminated_left,
    eliminated_right,
    left_features,
    mixed,
    right_features,
)

RANK_TOLERANCE = 1e-13
GREATEST_DIMENSION = 6
FLIP = np.diag([1.0, -1.0, -1.0, 1.0])
"""Half a turn about x: it conjugates Rz(−q) to Rz(q), so a chain walked backwards keeps the signs of its angles."""


@dataclass(frozen=True, eq=False)
class Template:
    """One way to write the loop Rz(q0) L1 Rz(q1) … L5 Rz(q5) L0 = 1, L0 the inverse of the target.

    Attributes:
        order: the joint at each of the six places y0 … y5.
        backwards: True if the loop is walked from the last joint to the first.
        scan: 0, 1 or 2: y2, y3 or y4 is the scan angle.
        offsets: added to y to give q, (6,); random for y2, y3, y4, so that no solution sits at tan(y/2) = ∞.
        links: M0 … M5, (6, 4, 4), or (n, 6, 4, 4) for as many arms of one kind; where the target enters, only the
            rotation by the offset.
        target_at: the place of the link that depends on the target.
    """

    order: tuple[int, ...]
    backwards: bool
    scan: int
    offsets: np.ndarray
    links: np.ndarray
    target_at: int

    @property
    def scan_joint(self) -> int:
        """The joint whose angle is scanned."""
        return self.order[2 + self.scan]

    @property
    def scan_offset(self) -> float:
        """Added to the scan angle to give the joint's."""
        return float(self.offsets[2 + self.scan])

    def links_at(self, X: Any) -> np.ndarray:
        """Return M0 … M5 for one target, (6, 4, 4)."""
        M = self.links.copy()
        M[self.target_at] = (FLIP @ X @ FLIP if self.backwards else rigid_inverse(X)) @ M[self.target_at]
        return M

    def on(self, L: np.ndarray) -> Template:
        """Return the same template on other arms, L (n, 6, 4, 4)."""
        return replace(self, links=_placed(L, self.order, self.backwards, self.offsets))


def rigid_inverse(T: Any) -> Any:
    """Return the inverse of rigid transforms (..., 4, 4)."""
    out = np.zeros_like(T)
    Rt = np.swapaxes(T[..., :3, :3], -1, -2)
    out[..., :3, :3] = Rt
    out[..., :3, 3] = -(Rt @ T[..., :3, 3:])[..., 0]
    out[..., 3, 3] = 1.0
    return out


def turn(angle: float) -> np.ndarray:
    """Return the rotation about z, (4, 4)."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0, 0], [s, c, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1.0]])


def _placed(L, order, backwards: bool, offsets) -> np.ndarray:
    """Return M0 … M5, (..., 6, 4, 4), of links L (..., 6, 4, 4); the target's, L0, is left out."""
    L = L.copy()
    L[..., 0, :, :] = np.eye(4)
    if backwards:
        L = FLIP @ rigid_inverse(L) @ FLIP
    joints = [(joint + backwards) % 6 for joint in order]
    return L[..., joints, :, :] @ np.array([turn(angle) for angle in offsets])


def all_templates(L: np.ndarray, rng: np.random.Generator) -> list[Template]:
    """Return the 36 templates of the arm with links L1 … L5 in L[1:], (6, 4, 4)."""
    templates = []
    for shift, backwards, scan in product(range(6), (False, True), range(3)):
        order = tuple((shift - j) % 6 if backwards else (shift + j) % 6 for j in range(6))
        at = next(j for j, joint in enumerate(order) if (joint + backwards) % 6 == 0)
        offsets = np.r_[0.0, 0.0, rng.uniform(-2.5, 2.5, 3), 0.0]
        templates.append(Template(order, backwards, scan, offsets, _placed(L, order, backwards, offsets), at))
    return templates


class Eliminated:
    """A template with y0 and y1 eliminated: the parts of the arm alone, computed once.

    Args:
        template: the template.
        rank: rank of the part to be annihilated, 8 in general and 3 for two parallel or intersecting axes.

    Attributes:
        dimension: of the kernel of M(y) at solutions: how many of them share a scan angle, as a rule.
        equations: number of equations left.
        left: True if the target is among M2 … M5.
        constants: inputs of `eliminated_left` or `eliminated_right` from the arm.
    """

    template: Template
    rank: int
    dimension: int

    def __init__(self, template: Template, rank: int, dimension: int = 1):
        self.template, self.rank, self.dimension = template, rank, dimension
        self.equations: int = N_FEATURES - rank
        M = template.links
        self._links = np.ascontiguousarray(M[..., :3, :])
        self.left: bool = template.target_at >= 2
        if self.left:
            Q = right_side(M[..., :2, :, :])
            N = np.swapaxes(np.linalg.svd(np.swapaxes(Q[..., 1:, :], -1, -2))[0][..., rank:], -1, -2)
            self.constants = N, (N @ Q[..., 0, :, None])[..., 0]
        else:
            link = (3, 4)
            kernel = compiled(left_features, {"M2": link, "M3": link, "M4": link, "M5": link})
            P = kernel(*np.moveaxis(M[..., 2:, :3, :], -3, 0))
            rng = np.random.default_rng(rank)
            columns = np.eye(8) if rank == 8 else np.linalg.qr(rng.standard_normal((8, rank)))[0]
            self.constants = P.reshape(*P.shape[:-4], 27, N_FEATURES), columns

    def of(self, which: Any) -> Eliminated:
        """Return the system for some of the targets; the template may be of one arm, or of one per target."""
        if self.template.links.ndim == 3:
            return self
        part = copy(self)
        part.template = replace(self.template, links=self.template.links[which])
        part._links = self._links[which]
        part.constants = tuple(c[which] if c.ndim == 3 or self.left else c for c in self.constants)
        return part

    def system(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return E (..., 3, 12, 12) of M(y) = E0 + cos y E1 + sin y E2, and M0⁻¹, M1⁻¹, M2 … M5, (..., 6, 3, 4).

        X (..., 3, 4) are targets.
        """
        t = self.template
        kernel = _elimination(self.left, self.rank)
        with np.errstate(all="ignore"):  # of a pose that leaves fewer equations nothing is settled
            S, links = kernel(X, self._links, *self.constants, t.target_at, t.backwards, t.scan)
        return _mixing(self.equations)(S), links

    def determinants(self, E: np.ndarray, points: np.ndarray) -> np.ndarray:
        """Return the projected determinant (k, len(points)) of systems (k, 3, 12, 12) at (cos y, sin y)."""
        return _determinant(SIZE + 1 - self.dimension)(E[:, None], points)


@cache
def _elimination(left: bool, rank: int):
    n = N_FEATURES - rank
    shapes_of_side = (
        {"N": (n, N_FEATURES), "offset": (n,)} if left else {"P": (27, N_FEATURES), "columns": (8, rank)}
    )
    shapes = {"X": (3, 4), "M": (6, 3, 4), **shapes_of_side, "at": (), "backwards": (), "scan": ()}
    return compiled(eliminated_left if left else eliminated_right, shapes)


@cache
def _mixing(equations: int):
    return compiled(mixed, {"S": (equations, 9)})


@cache
def _determinant(size: int):
    return compiled(determinant, {"E": (3, SIZE, SIZE), "cs": (2,)}, options={"size": size})


def right_side(M: Any) -> np.ndarray:
    """Return features (..., 9, 14) of the last axis seen through M (..., 2, 4, 4)."""
    inverse = rigid_inverse(M)[..., :3, :]
    return compiled(right_features, {"A": (3, 4), "B": (3, 4)})(inverse[..., 0, :, :], inverse[..., 1, :, :])


def usable(L: np.ndarray, rng: np.random.Generator, n: int = 3) -> list[Eliminated]:
    """Return templates whose rank drops at solutions and not elsewhere, the best first.

    The criterion is the least ratio of singular values that must not vanish, over `n` random configurations.
    """
    q = rng.uniform(-np.pi, np.pi, (n, 6))
    X = chain(L, q)
    templates = all_templates(L, rng)
    pairs = np.array([[t.links_at(x)[:2] for x in X] for t in templates])
    s = np.linalg.svd(right_side(pairs)[..., 1:, :], compute_uv=False)
    rank = np.sum(s > RANK_TOLERANCE * s[..., :1], axis=-1).max(1)
    eliminated = [Eliminated(t, int(r)) for t, r in zip(templates, rank, strict=True)]
    E = np.stack([e.system(X[:, :3])[0] for e in eliminated])
    true = np.stack([q[:, t.scan_joint] - t.scan_offset for t in templates])
    y = np.stack([true, rng.uniform(-3, 3, true.shape)])[..., None, None]
    s = np.linalg.svd(E[:, :, 0] + np.cos(y) * E[:, :, 1] + np.sin(y) * E[:, :, 2], compute_uv=False)
    s = s / s[..., :1]
    solved, normal = np.sum(s > RANK_TOLERANCE, axis=-1).max(2)
    rated = []
    for i, e in enumerate(eliminated):
        e.dimension = SIZE - int(solved[i])
        if normal[i] > solved[i] and e.dimension <= GREATEST_DIMENSION:
            worth = min(s[0, i, :, solved[i] - 1].min(), s[1, i, :, solved[i]].min())
            rated.append((worth, e))
    return [e for _, e in sorted(rated, key=lambda pair: -pair[0])]


def chain(L: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Return Rz(q0) L1 Rz(q1) … L5 Rz(q5), (..., 4, 4), at q (..., 6); L is (6, 4, 4), or (..., 6, 4, 4)."""
    T = np.broadcast_to(np.eye(4), (*q.shape[:-1], 4, 4))
    c, s = np.cos(q), np.sin(q)
    for i in range(6):
        Z = np.zeros((*q.shape[:-1], 4, 4))
        Z[..., 0, 0] = Z[..., 1, 1] = c[..., i]
        Z[..., 1, 0], Z[..., 0, 1] = s[..., i], -s[..., i]
        Z[..., 2, 2] = Z[..., 3, 3] = 1.0
        T = (T @ L[..., i, :, :] if i else T) @ Z
    return T
