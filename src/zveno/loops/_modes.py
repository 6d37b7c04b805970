"""Assembly modes: all closed states of a mechanism for given coordinates of its motors.

States are found by Newton's method from many random starts, and counted as poses of bodies: a ball or universal
joint has several coordinates for one pose. A count is complete only if it reaches a bound. One dependent hinge has
at most two solutions for one row, a slide one. Two dependent joints of a plane loop (hinges or slides) have at most
two: two circles, or a circle and a line.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components

from ..errors import ShapeError
from ..io.results import hash_of, registered
from ..mechanism import Mechanism
from ..mechanism.units import velocity_names
from ..report.description import Description
from ..report.result import Result
from ..robot_functions import RobotFunctions
from ._close import _coordinates, _Follower, _solved, _targets
from .branch import GAP, scaled
from .selection import Selection, selection

STARTS = 2000
"""Number of random starts."""
ITERATIONS = 60
SAME = 1e-6
"""Largest difference of two equal poses, as a share of the mechanism's size."""
NEARLY_DOUBLE = 1e-4
"""Smallest over largest singular value of K below which two modes may have met."""

ModesStatus = Literal["complete", "sampled", "undecided"]


@registered
@dataclass(frozen=True, eq=False, repr=False)
class Modes(Result):
    """Assembly modes for given motor coordinates.

    Attributes:
        q: closed states, (n, n_q), the nearest to the reference first; one per set of body poses.
        status: "complete", as many as there can be; "sampled", others may exist; "undecided", two of them nearly
            coincide, so that their number depends on rounding.
        reason: why.
        bound: largest possible number of modes, None if none is known.
        found_from: number of random starts that led to each mode, (n,).
        within_limits: (n,) True if all joints are within their limits.
        driven: names of the coordinates that were given; idle: names of those that stayed at the reference.
        given: their values.
        robot_name, inputs_hash: name of the robot, and hash of the inputs.
    """

    q: np.ndarray
    status: ModesStatus
    reason: str
    bound: int | None
    found_from: np.ndarray
    within_limits: np.ndarray
    driven: tuple[str, ...]
    idle: tuple[str, ...]
    given: np.ndarray
    robot_name: str
    inputs_hash: str

    kind = "assembly modes"

    def __len__(self) -> int:
        return len(self.q)

    @property
    def summary(self) -> str:
        """Number of modes and status."""
        return f"{self.robot_name}: {len(self.q)} assembly modes, {self.status}: {self.reason}"

    def describe(self) -> Description:
        """Describe the result for text, figures and pages."""
        return Description("Assembly modes", self.summary, "good" if self.status == "complete" else "warn")


def assembly_modes(
    robot: RobotFunctions,
    driven: ArrayLike | Mapping[str, ArrayLike],
    *,
    q0: ArrayLike | None = None,
    rng: np.random.Generator | int | None = 0,
) -> Modes:
    """Find the closed states of a mechanism with loops for given coordinates of its motors.

    Args:
        robot: a robot with closed loops.
        driven: coordinates of the independent motors, (n_driven,), or by name, as in `close`.
        q0: configuration near a closed state, by default the model's reference; idle joints stay there.
        rng: generator or seed of the starts.
    """
    mechanism = robot.mechanism
    chosen = selection(mechanism, q0)
    names, target = _targets(robot, chosen, driven)
    if target.ndim != 1:
        raise ShapeError("must be one set of coordinates", element="driven", remedy="Call once per set")
    start = chosen.q.copy()
    start[_coordinates(robot, chosen)] = target
    follower = _Follower(robot, chosen)
    q = _newton(follower, _random_starts(mechanism, chosen, start, np.random.default_rng(rng)))
    scale = follower.scale
    left = abs(follower.kernel(q)[0]) / scale.lengths if len(q) else np.zeros((0, 1))
    tolerance = max(10.0 * float((abs(chosen.left) / scale.lengths).max()), 1e-9)
    q = q[(left < tolerance).all(axis=1)]
    q, counts = _distinct(robot, q)
    nearest = np.argsort([np.linalg.norm(mechanism.difference(chosen.q, each)) for each in q], kind="stable")
    q, counts = q[nearest], counts[nearest]
    bound = _bound(mechanism, chosen)
    status, reason = _judge(follower, q, bound)
    return Modes(
        q=q,
        status=status,
        reason=reason,
        bound=bound,
        found_from=counts,
        within_limits=np.asarray(((q >= robot.lower - 1e-12) & (q <= robot.upper + 1e-12)).all(axis=-1)),
        driven=names,
        idle=tuple(velocity_names(mechanism)[k] for k in chosen.idle),
        given=target,
        robot_name=robot.name,
        inputs_hash=hash_of(mechanism.fingerprint, chosen.q, target),
    )


def _random_starts(
    mechanism: Mechanism, chosen: Selection, start: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Return copies of the start, (STARTS, n_q), with random dependent joints; the first is the start itself."""
    q = np.tile(start, (STARTS, 1))
    dependent = set(chosen.dependent.tolist())
    for name in mechanism.joint_names:
        at_v, at_q = mechanism.v_slices[name], mechanism.q_slices[name]
        if not dependent & set(range(mechanism.n_v)[at_v]):
            continue
        joint = mechanism.joint(name)
        units = joint.type.units
        if len(units) == joint.type.n_q == at_v.stop - at_v.start:
            moving = [k in dependent for k in range(mechanism.n_v)[at_v]]
            spread = np.where([unit == "m" for unit in units], _size(mechanism), np.pi) * moving
            q[1:, at_q] += rng.uniform(-1, 1, size=(STARTS - 1, len(units))) * spread
        else:
            q[1:, at_q] = joint.type.random(rng, *mechanism._range_of(joint), (STARTS - 1,))
    return q


def _size(mechanism: Mechanism) -> float:
    """Size of the largest loop, m."""
    return float(scaled(mechanism).lengths.max())


def _newton(follower: _Follower, q: np.ndarray) -> np.ndarray:
    """Return the states, of those given, from which damped Newton steps of the dependent joints converge."""
    last = np.full(len(q), np.inf)
    for _ in range(ITERATIONS):
        value, K, _ = follower.equations(q)
        change = -_solved(K, value)
        last = abs(change).max(axis=1, initial=0.0)
        change *= (0.5 / np.maximum(last, 0.5))[:, None]
        sound = np.isfinite(change).all(axis=1)
        q, change, last = q[sound], change[sound], last[sound]
        if not len(q):
            return q
        q = follower.moved(q, 0.0, change)
    return q[last < 1e-9]


def _distinct(robot: RobotFunctions, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return one state per set of body poses, and how many of the states given have it."""
    if not len(q):
        return q, np.zeros(0, dtype=int)
    mechanism = robot.mechanism
    poses = np.asarray(robot.link_poses(q))
    # A link without mass between two axes of a universal joint is no body: it only says which coordinates are used.
    heavy = [i for i, link in enumerate(mechanism.links) if link.inertia[0] > 0] or range(mechanism.n_links)
    parts = []
    for i in heavy:
        line = _line_of_rod(mechanism, i)
        T = poses[:, i]
        parts.append(
            T[:, :3].reshape(len(q), -1) if line is None else (T[:, :3, :3] @ line + T[:, :3, 3:])[:, :, 0]
        )
    poses = np.concatenate(parts, axis=1)
    kept: list[int] = []
    counts: list[int] = []
    rest = np.arange(len(q))
    while len(rest):
        same = abs(poses[rest] - poses[rest[0]]).max(axis=1) < SAME * max(1.0, _size(robot.mechanism))
        kept.append(int(rest[0]))
        counts.append(int(same.sum()))
        rest = rest[~same]
    return q[kept], np.array(counts)


def _line_of_rod(mechanism: Mechanism, i: int) -> np.ndarray | None:
    """Return the far end (3, 1), in the link's frame, of a rod that hangs on by a point at both ends; else None.

    A rod that is turned by half a turn about its own line is the same mode: universal joints can be read both ways.
    """
    name = mechanism.link_names[i]
    ends = [
        mechanism.frame(frame)
        for loop in mechanism.loops
        for frame in (loop.frame, loop.other)
        if mechanism.frame(frame).link == name and loop.locked == ("x", "y", "z")
    ]
    if not i or len(ends) != 1 or any(joint.parent == name and joint.type.n_v for joint in mechanism.joints):
        return None
    joint = mechanism.joints[i - 1]
    above = mechanism.link_number(joint.parent)
    two_hinges = joint.type.kind != "fixed" and above and not mechanism.links[above].inertia[0]
    at_the_point = not joint.T_joint_child[:3, 3].any()
    universal = joint.type.kind in ("universal", "spherical") or two_hinges
    return ends[0].T_link_frame[:3, 3:] if universal and at_the_point else None


def _bound(mechanism: Mechanism, chosen: Selection) -> int | None:
    """Return the product of the blocks' bounds if every block has one, else None."""
    if any(joint.mimic is not None for joint in mechanism.joints) or len(chosen.idle):
        return None
    scale = scaled(mechanism)
    J = abs(scale.rows(scale.samples[1])).max(axis=0)
    row_of = {k: row for row, k in chosen.pivots}
    columns = chosen.dependent.tolist()
    # The row matched with a column depends on other columns: blocks are the strong components of that graph.
    depends = np.array([[J[row_of[k], j] > GAP for j in columns] for k in columns])
    count, labels = connected_components(csr_matrix(depends), connection="strong")
    bound = 1
    for block in range(count):
        members = [k for k, label in zip(columns, labels, strict=True) if label == block]
        limit = _limit_of_block(mechanism, members, [row_of[k] for k in members])
        if limit is None:
            return None
        bound *= limit
    return bound


def _limit_of_block(mechanism: Mechanism, velocities: list[int], rows: list[int]) -> int | None:
    """Return the largest number of solutions of one or two joints for as many rows, None if it is not known."""
    owners = [(loop, name) for loop in mechanism.loops for name in loop.locked]
    loops = {owners[row][0].label for row in rows}
    if len(velocities) > 2 or len(loops) != 1 or any(len(owners[row][1]) == 2 for row in rows):
        return None
    at = {k: name for name in mechanism.joint_names for k in range(mechanism.n_v)[mechanism.v_slices[name]]}
    joints = [mechanism.joint(at[k]) for k in velocities]
    if any(joint.type.kind not in ("revolute", "continuous", "prismatic") for joint in joints):
        return None
    if len(velocities) == 1:
        return 1 if joints[0].type.kind == "prismatic" else 2
    # In the plane of the loop, every joint of its chains is a hinge across the plane or a slide in it.
    loop = owners[rows[0]][0]
    normals, slides = [], []
    for i, joint in _chain(mechanism, loop):
        if joint.type.kind == "fixed":
            continue
        if joint.type.kind not in ("revolute", "continuous", "prismatic"):
            return None
        axis = _neutral_rotation(mechanism, i) @ joint.type.parameters()["axis"]
        (slides if joint.type.kind == "prismatic" else normals).append(axis)
    if not normals:
        return None
    parallel = all(np.linalg.norm(np.cross(normals[0], other)) < GAP for other in normals)
    return 2 if parallel and all(abs(normals[0] @ slide) < GAP for slide in slides) else None


def _chain(mechanism: Mechanism, loop):
    """Return (number, joint) of the joints between the ends of a loop."""
    paths = []
    for link in map(mechanism.link_number, mechanism.loop_links(loop)):
        paths.append({*mechanism.tree.ancestors(link), link})
    return [(i, mechanism.joints[i - 1]) for i in sorted(paths[0] ^ paths[1])]


def _neutral_rotation(mechanism: Mechanism, i: int) -> np.ndarray:
    """Return the axes of joint i in the world at the neutral configuration."""
    R = mechanism.joints[i - 1].T_parent_joint[:3, :3]
    for k in reversed([k for k in mechanism.tree.ancestors(i) if k]):
        joint = mechanism.joints[k - 1]
        R = joint.transform(joint.type.neutral())[:3, :3] @ R
    return R


def _judge(follower: _Follower, q: np.ndarray, bound: int | None) -> tuple[ModesStatus, str]:
    if len(q):
        s = np.linalg.svd(follower.equations(q)[1], compute_uv=False)
        if s.shape[1] and (s[:, -1] < NEARLY_DOUBLE * s[:, 0]).any():
            return "undecided", "two modes meet, or nearly so: the motors are at the edge of their reach"
    if bound is not None and len(q) == bound:
        return "complete", f"there are at most {bound}"
    if bound is not None and len(q) > bound:
        return "undecided", f"more than the {bound} there should be: the loops are degenerate"
    return "sampled", f"from {STARTS} random starts; others may exist"
