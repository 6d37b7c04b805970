"""Templates: where the loop of six joints is cut, in which direction it is walked, and which angle is scanned.

Six cuts, two directions and three scan angles make 36 templates. For special geometry some of them are
degenerate; what a template is worth is found from ranks at random configurations.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from .equations import N_FEATURES, eliminated, half_tangent, left_features, right_features, trigonometric

RANK_TOLERANCE = 1e-9
FLIP = np.diag([1.0, -1.0, -1.0, 1.0])
"""Half a turn about x: it conjugates Rz(−q) to Rz(q), so a chain walked backwards keeps the signs of its angles."""


@dataclass(frozen=True, eq=False)
class Template:
    """One way to write the loop Rz(q0) L1 Rz(q1) … L5 Rz(q5) L0 = 1, L0 the inverse of the target.

    Attributes:
        order: the joint at each of the six places y0 … y5.
        backwards: whether the loop is walked from the last joint to the first.
        scan: 0, 1 or 2: y2, y3 or y4 is the scan angle.
        offsets: added to y to give q, (6,); random for y2, y3, y4, so that no solution sits at tan(y/2) = ∞.
        links: M0 … M5, (6, 4, 4); where the target enters, only the rotation by the offset.
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

    def target_link(self, X):
        """The link that depends on the target X (..., 4, 4)."""
        return (FLIP @ X @ FLIP if self.backwards else rigid_inverse(X)) @ self.links[self.target_at]

    def links_at(self, X) -> np.ndarray:
        """M0 … M5 for one target, (6, 4, 4)."""
        M = self.links.copy()
        M[self.target_at] = self.target_link(X)
        return M


def rigid_inverse(T):
    """Inverse of rigid transforms (..., 4, 4)."""
    out = np.zeros_like(T)
    Rt = np.swapaxes(T[..., :3, :3], -1, -2)
    out[..., :3, :3] = Rt
    out[..., :3, 3] = -(Rt @ T[..., :3, 3:])[..., 0]
    out[..., 3, 3] = 1.0
    return out


def turn(angle: float) -> np.ndarray:
    """Rotation about z, (4, 4)."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0, 0], [s, c, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1.0]])


def all_templates(L: np.ndarray, rng: np.random.Generator) -> list[Template]:
    """The 36 templates of the arm with links L1 … L5 in L[1:], (6, 4, 4)."""
    L = np.concatenate([np.eye(4)[None], L[1:]])
    inverse = FLIP @ rigid_inverse(L) @ FLIP
    templates = []
    for shift, backwards, scan in product(range(6), (False, True), range(3)):
        order = tuple((shift - j) % 6 if backwards else (shift + j) % 6 for j in range(6))
        links = [inverse[(joint + 1) % 6] if backwards else L[joint] for joint in order]
        at = next(j for j, joint in enumerate(order) if (joint + backwards) % 6 == 0)
        offsets = np.r_[0.0, 0.0, rng.uniform(-2.5, 2.5, 3), 0.0]
        M = np.array([link @ turn(angle) for link, angle in zip(links, offsets, strict=True)])
        templates.append(Template(order, backwards, scan, offsets, M, at))
    return templates
