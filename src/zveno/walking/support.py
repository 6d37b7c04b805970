"""Support of a robot at rest: polygons, margins, contact forces within friction and the torques they require."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ShapeError, ZvenoError
from ..geometry.grounds import Ground
from ..ik._whole_body.postures import whole_body
from ..mechanism.loops import for_trees
from ..robot_functions import RobotFunctions
from ..simulation.control import effort_limits, unactuated
from ..spatial.vectors import skew
from .feet import Foot, contact_points, heading
from .terrain import checked_ground, heights, normals_below

SLACK = 1e-12
"""Rounding tolerance at an edge, m."""


@for_trees
def support_polygon(points: ArrayLike) -> np.ndarray:
    """Return the corners (k, 2) of the convex hull of contact points (n, 2 or 3), seen from above, anticlockwise.

    One point or points on a line give a polygon of one or two corners. By Andrew's monotone chain (1979).
    """
    given = np.asarray(points, dtype=float)
    if given.ndim != 2 or given.shape[1] not in (2, 3) or not len(given) or not np.isfinite(given).all():
        raise ShapeError(
            f"contact points of the shape {given.shape} support nothing",
            element="points",
            remedy="Give one or more finite points (n, 2) or (n, 3)",
        )
    ordered = np.unique(given[:, :2], axis=0)
    if len(ordered) <= 2:
        return ordered
    chains: list[list[np.ndarray]] = []
    for along in (ordered, ordered[::-1]):
        chain: list[np.ndarray] = []
        for point in along:
            while len(chain) >= 2 and _turn(chain[-1] - chain[-2], point - chain[-1]) <= 0:
                chain.pop()
            chain.append(point)
        chains.append(chain[:-1])
    return np.array(chains[0] + chains[1])


@for_trees
def stability_margin(polygon: ArrayLike, point: ArrayLike) -> Any:
    """Return the distance, m, of points (..., 2 or 3) to a polygon's edge (k, 2), from above; negative outside."""
    corners, p = np.asarray(polygon, dtype=float), np.asarray(point, dtype=float)[..., :2]
    ends = np.roll(corners, -1, axis=0)
    edges = ends - corners
    lengths = np.linalg.norm(edges, axis=1)
    relative = p[..., None, :] - corners
    share = np.clip((relative * edges).sum(-1) / np.where(lengths > 0, lengths, 1.0) ** 2, 0.0, 1.0)
    distance = np.linalg.norm(relative - share[..., None] * edges, axis=-1).min(axis=-1)
    if len(corners) < 3:
        return -distance
    inside = (_turn(edges, relative) >= 0).all(axis=-1)
    return np.where(inside, distance, -distance)[()]


def nearest_supported(polygon: ArrayLike, point: ArrayLike, margin: float) -> np.ndarray | None:
    """Return the point (2,) nearest to a given one with a large enough margin in a polygon (k, 2), or None.

    It is the point itself, its projection onto an edge moved inwards, or a corner of the smaller polygon.
    """
    corners, p = np.asarray(polygon, dtype=float), np.asarray(point, dtype=float)[:2]
    if len(corners) < 3:
        return None
    edges = np.roll(corners, -1, axis=0) - corners
    normals = np.stack([-edges[:, 1], edges[:, 0]], axis=1) / np.linalg.norm(edges, axis=1)[:, None]
    bounds = (normals * corners).sum(axis=1) + margin
    candidates = [p, *(p + (b - n @ p) * n for n, b in zip(normals, bounds, strict=True))]
    for i, j in combinations(range(len(corners)), 2):
        determinant = _turn(normals[i], normals[j])
        if abs(determinant) > SLACK:
            candidates.append(np.linalg.solve(normals[[i, j]], bounds[[i, j]]))
    allowed = [place for place in candidates if (normals @ place >= bounds - SLACK).all()]
    return min(allowed, key=lambda place: float(np.linalg.norm(place - p)), default=None)


def _turn(a: Any, b: Any) -> Any:
    """Return z of the cross product of vectors (..., 2)."""
    return a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]


def overlapping(a: np.ndarray, b: np.ndarray) -> bool:
    """Return True if the hulls of points, (n, 2 or 3) each, overlap from above: no edge separates them."""
    a, b = a[:, :2], b[:, :2]
    for points in (a, b):
        for i, j in combinations(range(len(points)), 2):
            across = np.array([points[i, 1] - points[j, 1], points[j, 0] - points[i, 0]])
            first, other = a @ across, b @ across
            if across.any() and (first.max() <= other.min() or other.max() <= first.min()):
                return False
    return True


TOUCHES = 1e-6
"""Largest ignored difference between the heights of feet above the ground, m."""
POINT_WIDTHS = (0.01, 0.2)
"""Widths over which the slope of the ground below a point is taken, m."""
FLUSH = 1e-3
"""Largest distance of a point of a sole from the ground that it stands flush on, m."""
EDGES = np.stack([np.cos(np.arange(8) * np.pi / 4), np.sin(np.arange(8) * np.pi / 4)], axis=1)
"""Directions of the edges of friction pyramids, seen from above."""
NEAR = 0.1
"""Share of the height of the centre of mass within which feet are on the ground at the start."""


def put_on(robot: RobotFunctions, feet: tuple[Foot, ...], ground: Ground, q: np.ndarray) -> np.ndarray:
    """Return q with the robot's lowest point on the ground below it, which is checked."""
    points = np.concatenate(contact_points(robot, feet, q))
    placed = q.copy()
    placed[2] -= float((points[:, 2] - heights(checked_ground(ground), points)).min())
    return placed


def adapted(robot: RobotFunctions, feet: tuple[Foot, ...], ground: Ground, q: np.ndarray) -> np.ndarray:
    """Return a configuration near q with every foot moved vertically onto the ground below it, which is checked.

    Soles turn with the ground if all of their points touch it then. The body keeps its attitude and position, moved
    vertically by the mean displacement, if the legs reach; else only its centre of mass does. The result is q if
    neither succeeds; feet that stay in the air then do not support the robot.
    """
    poses = robot.frame_poses(q, [foot.frame for foot in feet])
    gaps, turns = np.zeros(len(feet)), np.zeros(len(feet))
    for k, (foot, T) in enumerate(zip(feet, poses, strict=True)):
        above = _above(ground, foot, T)
        if np.ptp(above) > TOUCHES:
            turn = _upright_to(normals_below(ground, T[:2, 3], 2.0 * foot.radius))
            turned = T.copy()
            turned[:3, :3] = turn @ T[:3, :3]
            flush = _above(ground, foot, turned)
            if np.ptp(flush) < FLUSH:
                T[:], above, turns[k] = turned, flush, np.linalg.norm(turn - np.eye(3))
        gaps[k] = above.min()
    if np.ptp(gaps) < TOUCHES and turns.max() < TOUCHES:
        return q
    start = q.copy()
    start[2] -= gaps.mean()
    base = robot.mechanism.joints[0].child
    poses[:, 2, 3] -= gaps
    places = {foot.frame: T[:3, 3] if foot.is_point else T for foot, T in zip(feet, poses, strict=True)}
    body = robot.forward_kinematics(start, frame=base)
    for targets, center in ((places | {base: body}, None), (places, robot.center_of_mass(start))):
        postures = whole_body(robot, targets, center_of_mass=center, q0=start)
        if postures.count:
            return postures.q[0]
    return q


def _above(ground: Ground, foot: Foot, T: np.ndarray) -> np.ndarray:
    """Return the heights (k,) of the points of a sole above the ground."""
    points = foot.points @ T[:3, :3].T + T[:3, 3]
    return points[:, 2] - heights(ground, points)


def _upright_to(normal: np.ndarray) -> np.ndarray:
    """Return the smallest rotation (3, 3) that takes the vertical to a normal."""
    x, y, z = normal
    axis = np.array([-y, x, 0.0])
    cross = skew(axis)
    return np.eye(3) + cross + cross @ cross / (1.0 + z)


def near_ground(robot: RobotFunctions, feet: tuple[Foot, ...], ground: Ground, q: np.ndarray) -> tuple[Foot, ...]:
    """Return the feet with the sole points that can stand at q; other points are above the ground.

    Points higher than a share `NEAR` of the height of the centre of mass come down too late to support the robot.
    """
    places = contact_points(robot, feet, q)
    above = [points[:, 2] - heights(ground, points) for points in places]
    center = robot.center_of_mass(q)
    most = NEAR * float(center[2] - heights(ground, center))
    soles = [foot.points[gap <= most].tolist() for foot, gap in zip(feet, above, strict=True)]
    return tuple(Foot(foot.frame, sole) for foot, sole in zip(feet, soles, strict=True) if sole)


def torque_share(
    robot: RobotFunctions, feet: Sequence[Foot], q: Any, friction: float, ground: Ground | None = None
) -> float:
    """Minimize the largest ratio of static torque to limit over contact forces inside friction pyramids.

    The pyramids stand on the normals of the ground below the points; without a ground they are vertical.

    Raises:
        ZvenoError: no contact forces hold the robot (its centre of mass is not supported, or the ground is steeper
            than friction holds), or a motor is too weak.
    """
    from scipy.optimize import linprog

    mechanism = robot.mechanism
    points = contact_points(robot, feet, q)
    ahead = heading(robot.forward_kinematics(q, frame=mechanism.joints[0].child)[:3, :3])
    columns, steepest = [], 0.0
    for foot, places in zip(feet, points, strict=True):
        J, origin = robot.jacobian(q, foot.frame), robot.forward_kinematics(q, foot.frame)[:3, 3]
        for place in places:
            arm = place - origin
            rows = J[:3] - np.cross(arm, J[3:].T).T
            turn = np.eye(3)
            if ground is not None:  # beside an edge, the wide slope is the gentler one
                normals = [normals_below(ground, place, width) for width in POINT_WIDTHS]
                turn = _upright_to(max(normals, key=lambda normal: normal[2]))
            steepest = max(steepest, float(np.hypot(turn[0, 2], turn[1, 2]) / turn[2, 2]))
            for side in EDGES:
                columns.append(rows.T @ turn @ np.append(friction * ahead @ side, 1.0))
    pull, weight = np.array(columns).T, robot.gravity_torque(q)
    free, limits = unactuated(mechanism), effort_limits(mechanism)
    bounded = ~free & np.isfinite(limits)
    scaled, wanted = pull[bounded] / limits[bounded, None], weight[bounded] / limits[bounded]
    # Unknowns: edge forces f ≥ 0 and the share t; |weight − pull f| ≤ t limit, and the base carries nothing itself.
    ones = np.ones((len(scaled), 1))
    solution = linprog(
        np.append(np.zeros(pull.shape[1]), 1.0),
        A_ub=np.block([[-scaled, -ones], [scaled, -ones]]) if len(scaled) else None,
        b_ub=np.concatenate([-wanted, wanted]) if len(scaled) else None,
        A_eq=np.column_stack([pull[free], np.zeros(int(free.sum()))]) if free.any() else None,
        b_eq=weight[free] if free.any() else None,
    )
    if solution.status != 0 and steepest > friction:
        raise ZvenoError(
            f"the ground has a slope of {steepest:.2f}, and the friction counted on holds {friction:.2g}",
            element=f"{mechanism.name} cannot stand",
            remedy="Give a gentler slope or more friction",
        )
    if solution.status != 0:
        gap = float(stability_margin(support_polygon(np.concatenate(points)), robot.center_of_mass(q)))
        where = f"{-gap:.3f} m outside" if gap < 0 else f"{gap:.3f} m inside"
        raise ZvenoError(
            f"no contact forces hold it: its centre of mass is {where} the support polygon of "
            f"{', '.join(foot.frame for foot in feet)}, friction {friction:g}",
            element=f"{mechanism.name} cannot stand",
            remedy="Move the centre of mass above the feet, or place the feet further apart",
        )
    share = float(solution.x[-1]) if len(scaled) else 0.0
    if share > 1.0 + 1e-9:
        left = weight - pull @ solution.x[:-1]
        worst = int(np.argmax(np.where(bounded, abs(left) / np.where(bounded, limits, 1.0), 0.0)))
        joint = next(name for name in mechanism.joint_names if worst < mechanism.v_slices[name].stop)
        raise ZvenoError(
            f"joint {joint} would need {abs(left[worst]):.3g} N·m or N where its limit is {limits[worst]:.3g}",
            element=f"{mechanism.name} cannot stand",
            remedy="Straighten the legs, take off load, or give stronger drives",
        )
    return share
