"""Joint axes from points: each joint is moved alone, and the tool point draws a circle or a line.

Document 001, (9)–(17). Neither a nominal model, nor the place of the measuring system, nor the fixing of the
point on the flange need be known. Angles and signs come from the encoders: images p_i of the joint values are
laid on the points g_i by g_i = μ R p_i + t, in closed form.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ...errors import ShapeError, ZvenoError
from ...mechanism import Frame, Joint, Limits, Link, Mechanism, Prismatic, Revolute, assemble
from ...spatial.rotations import nearest_rotation
from ...spatial.transforms import inverse, transform
from ...spatial.vectors import skew


@dataclass(frozen=True, eq=False)
class JointAxis:
    """The axis of one joint in the measuring frame.

    Attributes:
        kind: "revolute" or "prismatic".
        R, t: pose of a frame with the axis along z; at q = 0 the point lies on x (revolute), and t is the centre.
        radius: of the circle, m; 0 for a prismatic joint.
        scale: μ: for a prismatic joint, metres moved per unit of its reading; 1 for a true gear.
        residual: root mean square distance of points from the circle or line, m.
        covariance: of (δω, δt), (6, 6), in the measuring frame, for the noise found: document 001 (25), corrected
            (`frame_covariance`). Of a prismatic joint the turn about its line is unknown, and left out.
        sigma: standard deviation of a coordinate, m.
    """

    kind: str
    R: np.ndarray
    t: np.ndarray
    radius: float
    scale: float
    residual: float
    sigma: float
    covariance: np.ndarray

    @property
    def T(self) -> np.ndarray:
        """The frame as a (4, 4) transform."""
        return transform(self.R, self.t)

    @property
    def direction(self) -> np.ndarray:
        """Unit vector along the axis, for positive joint motion."""
        return self.R[:, 2]


def joint_axis(q: ArrayLike, g: ArrayLike, kind: str = "revolute", sigma: float | None = None) -> JointAxis:
    """The axis of a joint that moved alone.

    Args:
        q: joint values, (m,), rad or m.
        g: positions of the point, (m, 3), m.
        kind: "revolute" or "prismatic".
        sigma: standard deviation of a coordinate where known: σ² = σ_g² + r²σ_q² for a revolute joint.
    """
    q, g = np.asarray(q, dtype=float), np.asarray(g, dtype=float)
    if q.ndim != 1 or g.shape != (len(q), 3):
        raise ShapeError(f"q {q.shape} and g {g.shape} do not belong together", remedy="Give (m,) and (m, 3)")
    if not (np.isfinite(q).all() and np.isfinite(g).all()):
        raise ShapeError("joint values or points are not finite")
    if kind == "revolute":
        p = np.stack([np.cos(q), np.sin(q), np.zeros_like(q)], axis=1)
        needed = 3
    elif kind == "prismatic":
        p = np.stack([np.zeros_like(q), np.zeros_like(q), q], axis=1)
        needed = 2
    else:
        raise ZvenoError(f"{kind!r} is not a joint", remedy='Give "revolute" or "prismatic"')
    a, b = p - p.mean(axis=0), g - g.mean(axis=0)
    spread = np.linalg.svd(a, compute_uv=False)
    if len(q) < needed or spread[0 if kind == "prismatic" else 1] < 1e-6:
        raise ZvenoError(
            f"the joint moved too little, or to too few places, for a {kind} axis",
            remedy=f"Measure at least {needed} different joint values, as far apart as the joint allows",
        )
    R = nearest_rotation(b.T @ a)
    scale = float(np.sum(b * (a @ R.T)) / np.sum(a * a))
    t = g.mean(axis=0) - scale * (R @ p.mean(axis=0))
    r = g - (scale * p @ R.T + t)
    freedom = max(3 * len(q) - (7 if kind == "revolute" else 6), 1)
    s = float(np.sqrt(np.sum(r**2) / freedom)) if sigma is None else sigma
    radius = scale if kind == "revolute" else 0.0
    return JointAxis(
        kind,
        R,
        t,
        radius,
        1.0 if kind == "revolute" else scale,
        float(np.sqrt(np.mean(np.sum(r**2, axis=1)))),
        s,
        frame_covariance(scale * p @ R.T, s),
    )


def axis_information(points: ArrayLike) -> np.ndarray:
    """Σ (|p|² 1 − p pᵀ), (3, 3), with p from the mean of the points (m, 3): their tensor of inertia."""
    p = np.asarray(points, dtype=float)
    if p.ndim != 2 or p.shape[1] != 3 or len(p) < 2:
        raise ShapeError(f"has shape {p.shape}", element="points", remedy="Give at least two points, (m, 3)")
    p = p - p.mean(axis=0)
    return np.sum(p**2) * np.eye(3) - p.T @ p


def unseen_turns(points: ArrayLike) -> np.ndarray:
    """Unit vectors (3, k) of the turns that do not move the points: one along a line of points, else none."""
    values, vectors = np.linalg.eigh(axis_information(points))
    return vectors[:, values <= 1e-12 * max(values[-1], 1e-300)]


def frame_covariance(points: ArrayLike, sigma: float, scale: bool = True) -> np.ndarray:
    """Covariance (6, 6) of (δω, δt) of a frame that is fitted to points (m, 3), given from its origin in any axes.

    The mean of the points is found with σ²/m, and the turn about it with σ² [Σ(|p|² 1 − p pᵀ)]⁻¹; the origin, c
    before the mean, moves by c × δω and, if the scale of the points is fitted with the frame, along c. Turns that
    the points do not show are left out.
    """
    p = np.asarray(points, dtype=float)
    information, hidden = axis_information(p), unseen_turns(p)
    turn = sigma**2 * (np.linalg.inv(information + hidden @ hidden.T) - hidden @ hidden.T)
    mean = p.mean(axis=0)
    arm = skew(mean)
    place = sigma**2 / len(p) * np.eye(3) + arm @ turn @ arm.T
    if scale:
        place = place + sigma**2 / np.sum((p - mean) ** 2) * np.outer(mean, mean)
    return np.block([[turn, turn @ arm.T], [arm @ turn, place]])


def identify_chain(
    axes: Sequence[JointAxis], q_rest: ArrayLike, tool: ArrayLike | None = None, names: Sequence[str] | None = None
) -> Mechanism:
    """The S-model (17) as a mechanism: Base V(q1) T12 V(q2) … Tool, in the measuring frame.

    Args:
        axes: of every joint from the base, each found while the others stood at `q_rest`.
        q_rest: (n,) joint values of the others during the experiment.
        tool: position of the measured point in the measuring frame at `q_rest`, (3,); else the frame of the last
            axis.
        names: of the joints.
    """
    q = np.asarray(q_rest, dtype=float)
    if q.shape != (len(axes),):
        raise ShapeError(f"has shape {q.shape} for {len(axes)} axes", element="q_rest")
    names = [f"joint{k}" for k in range(1, len(axes) + 1)] if names is None else list(names)
    links, joints = [Link("base", inertia_given=False)], []
    T_measure_link = np.eye(4)
    for k, (axis, name) in enumerate(zip(axes, names, strict=True), start=1):
        kind = Revolute() if axis.kind == "revolute" else Prismatic()
        # The axis frame belongs to q = 0 of its own joint: it is fixed on the link before.
        joints.append(
            Joint(name, links[-1].name, f"link{k}", kind, inverse(T_measure_link) @ axis.T, limits=Limits())
        )
        links.append(Link(f"link{k}", inertia_given=False))
        T_measure_link = axis.T @ kind.motion(q[k - 1 : k])
    frames = []
    if tool is not None:
        p = (inverse(T_measure_link) @ np.array([*np.asarray(tool, dtype=float), 1.0]))[:3]
        frames = [Frame("tool", links[-1].name, transform(None, p))]
    return assemble("identified", links, joints, frames, source="joint axes identified from points")
