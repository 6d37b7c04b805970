"""Plans known in closed form: one axis, products of axes, and the determinants of two-joint chains (document 001).

A joint is moved alone and a point p on the moving body is measured with standard deviation σ in every coordinate.
The axis is found from the points with covariance

    cov(δω) = σ² [Σ (|p|² 1 − p pᵀ)]⁻¹,  p from their mean,                                             (25)

so the points should be far from their centre. Document 001 maximises the trace of the information, Σ|p|² (it says
A-optimality; it is T). For a revolute axis that asks for Σ e^{iq} = 0 and nothing more: two opposite points satisfy
it and leave a direction unknown. The regular m-gon also has Σ e^{2iq} = 0, and tr cov(δω) = 5σ²/(m r²) is least.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
from numpy.typing import ArrayLike

from ...errors import ShapeError, ZvenoError
from ...robot_functions import RobotFunctions
from .joint_axes import axis_information, frame_covariance, unseen_turns


def noise(sigma: float, sigma_q: float = 0.0, radius: float = 1.0) -> float:
    """σ of a point when the joint sensor is noisy too: σ² = σg² + r² σq² (r = 1 for a prismatic joint)."""
    return float(np.hypot(sigma, radius * sigma_q))


def circle(q: ArrayLike, radius: float = 1.0) -> np.ndarray:
    """Points (m, 3) of a revolute joint at angles q, its axis along z through the origin."""
    q = np.asarray(q, dtype=float)
    return radius * np.stack([np.cos(q), np.sin(q), np.zeros_like(q)], axis=-1)


def line(q: ArrayLike) -> np.ndarray:
    """Points (m, 3) of a prismatic joint at positions q, along z."""
    q = np.asarray(q, dtype=float)
    return q[:, None] * np.array([0.0, 0.0, 1.0])


def axis_covariance(points: ArrayLike, sigma: float, scale: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """cov(δω) and cov(δt), (3, 3) each, of the axis frame found from points; inf where the plan is singular.

    Args:
        points: in the axis frame, (m, 3).
        sigma: standard deviation of a measured coordinate.
        scale: whether the scale of the points is estimated with the frame.

    The document's cov(δt) = σ²/m is what remains when the mean of the points is on the axis.
    """
    covariance, hidden = frame_covariance(points, sigma, scale), unseen_turns(points)
    if not hidden.size:
        return covariance[:3, :3], covariance[3:, 3:]
    # Directions that are not seen have no finite variance; those that are keep theirs.
    rotation = np.where((hidden**2).sum(axis=1) > 1e-12, np.inf, 0.0)
    return np.diag(rotation) + covariance[:3, :3], np.full((3, 3), np.nan)


def axis_error(points: ArrayLike, sigma: float) -> float:
    """ε_ω = σ √(2 / tr information): the scalar the document minimises; at best σ / (r √m), its (27).

    The printed (27) is lost; this form agrees with all that is said about it (inferred).
    """
    return float(sigma * np.sqrt(2.0 / np.trace(axis_information(points))))


def best_axis_error(kind: str, m: int, radius: float, sigma: float) -> float:
    """The least ε_ω of m points: σ/(r √m), with m replaced by (m² − 1)/m for a prismatic joint and odd m.

    Args:
        kind: "revolute" (radius: of the circle) or "prismatic" (radius: half the travel).
        m: number of points, at least 2.
        radius, sigma: m.
    """
    if m < 2:
        raise ZvenoError(f"{m} points do not determine an axis", remedy="Take at least 2, better 3")
    effective = (m * m - 1) / m if _is_prismatic(kind) and m % 2 else float(m)
    return float(sigma / (radius * np.sqrt(effective)))


def best_axis_values(kind: str, m: int, lower: float, upper: float) -> np.ndarray:
    """Where to put one joint m times so that its axis is known best, (m,), in rising order.

    Prismatic: half at each end. Revolute: the regular m-gon where the range holds it; otherwise the angles within
    the range that make tr cov(δω) least, found numerically. At least 3 angles are needed: two leave one direction.
    """
    if not (np.isfinite(lower) and np.isfinite(upper) and lower < upper):
        raise ZvenoError(f"the range {lower} … {upper} is empty or has no end", remedy="Give lower < upper")
    if _is_prismatic(kind):
        if m < 2:
            raise ZvenoError(f"{m} points do not determine an axis", remedy="Take at least 2")
        return np.sort(np.where(np.arange(m) % 2, upper, lower))
    if m < 3:
        raise ZvenoError(f"{m} angles leave the axis undetermined", remedy="Take at least 3")
    width = upper - lower
    step = 2.0 * np.pi / m
    if width >= step * (m - 1) - 1e-12:
        return lower + 0.5 * (width - step * (m - 1)) + step * np.arange(m)
    return _best_within(m, lower, upper)


def _best_within(m: int, lower: float, upper: float) -> np.ndarray:
    """Angles within a range with the least tr cov(δω).

    Finding the place of the axis with its direction makes information additive over angles, rows [−[p]×, 1]: the
    angles are chosen from a grid like postures, then moved to the optimum nearby.
    """
    from scipy.optimize import minimize

    from ...design.criteria import named_criterion
    from ...design.exchange import select

    grid = np.linspace(lower, upper, 121)
    x, y, z = circle(grid).T
    rows = np.zeros((len(grid), 3, 6))
    rows[:, 0, 1], rows[:, 0, 2], rows[:, 1, 0] = z, -y, -z
    rows[:, 1, 2], rows[:, 2, 0], rows[:, 2, 1] = x, y, -x
    rows[:, :, 3:] = np.eye(3)
    start = grid[select(rows, m, named_criterion("A"), interest=3, bound=False).members]

    def cost(q):
        return float(np.trace(np.linalg.inv(axis_information(circle(q)))))

    end = minimize(cost, start, bounds=[(lower, upper)] * m, method="L-BFGS-B")
    return np.sort(end.x if end.fun < cost(start) else start)


def uniform_values(m: int, lower: float, upper: float) -> np.ndarray:
    """m values evenly spread over a range: the older practice the document compares with."""
    return np.linspace(lower, upper, m)


def product_plan(values: Sequence[ArrayLike]) -> np.ndarray:
    """All combinations of each joint's values: (Π m_j, joints). The document's rule for several axes."""
    return np.array(list(product(*(np.asarray(of_joint, dtype=float) for of_joint in values))))


def product_postures(robot: RobotFunctions, numbers: int | Sequence[int]) -> np.ndarray:
    """The product plan of a robot within its limits: every joint at its best values, all combinations, (n, n_q).

    Args:
        robot: with revolute and prismatic joints.
        numbers: how many values for all joints, or for each.
    """
    mechanism = robot.mechanism
    counts = [numbers] * robot.n_q if isinstance(numbers, int) else list(numbers)
    if len(counts) != robot.n_q:
        raise ShapeError(f"has {len(counts)} entries", element="numbers", remedy=f"Give {robot.n_q}, one a joint")
    values = []
    for name, m, low, high in zip(robot.joint_names, counts, robot.lower, robot.upper, strict=True):
        sigma = mechanism.joint(name).type.sigma
        if sigma is None:
            raise ZvenoError("the product plan is for revolute and prismatic joints", element=f"joint {name}")
        low, high = (low, high) if np.isfinite(low) and np.isfinite(high) else (-np.pi, np.pi)
        if m == 1:
            values.append([0.5 * (low + high)])
        elif m == 2 and sigma:
            # Two angles of one joint leave its axis open; in a product the other joints close it.
            half = min(np.pi / 2, 0.5 * (high - low))
            values.append([0.5 * (low + high) - half, 0.5 * (low + high) + half])
        else:
            values.append(best_axis_values("revolute" if sigma else "prismatic", m, low, high))
    return product_plan(values)


def determinant_two_prismatic(x: ArrayLike, y: ArrayLike) -> float:
    """det JᵀJ of the seven-parameter chain (29) of two perpendicular prismatic joints at positions x, y, (m,).

    m³ Σx² Σy² (Σx² Σy² − (Σxy)²), sums about the means: (30), whose factor m³ the document leaves out.
    """
    centred = np.array([x, y], dtype=float)
    centred -= centred.mean(axis=1, keepdims=True)
    (xx, xy), (_, yy) = centred @ centred.T
    return float(centred.shape[1] ** 3 * xx * yy * (xx * yy - xy**2))


def determinant_two_revolute(q2: ArrayLike) -> float:
    """det JᵀJ of two parallel revolute joints by lengths and offsets, lengths in units of the links.

    ((Σ cos q2)² + (Σ sin q2)² − m²)²: (31). It does not depend on q1.
    """
    q2 = np.asarray(q2, dtype=float)
    return float((np.cos(q2).sum() ** 2 + np.sin(q2).sum() ** 2 - len(q2) ** 2) ** 2)


def jacobian_two_prismatic(x: ArrayLike, y: ArrayLike) -> np.ndarray:
    """J (3m, 7) of chain (29) at nominal zero: Tz, Rx, Ry, Rz and Tx of the base, Rz between the joints, Ty."""
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    o, i = np.zeros_like(x), np.ones_like(x)
    rows = [[o, o, o, -y, i, -y, o], [o, o, o, x, o, o, i], [i, y, -x, o, o, o, o]]
    return np.array(rows).transpose(2, 0, 1).reshape(-1, 7)


def jacobian_two_revolute(q1: ArrayLike, q2: ArrayLike) -> np.ndarray:
    """J (2m, 4) of two parallel revolute joints by (length, offset) of each link, in units of the lengths."""
    z1 = np.exp(1j * np.asarray(q1, dtype=float))
    z2 = z1 * np.exp(1j * np.asarray(q2, dtype=float))
    columns = np.stack([z1, 1j * z1, z2, 1j * z2], axis=-1)
    return np.concatenate([columns.real, columns.imag])


def _is_prismatic(kind: str) -> bool:
    if kind not in ("revolute", "prismatic"):
        raise ZvenoError(f"{kind!r} is not a kind of axis", remedy="Give revolute or prismatic")
    return kind == "prismatic"
