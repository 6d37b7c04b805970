"""Assembly modes: all closed states of a mechanism for given coordinates of its motors.

Loops that reduce to blocks of one or two joints are solved completely. So is a single loop that leaves three joints
for a point, or six for a weld: cut open, it is the inverse kinematics of an arm. Otherwise states are found by
Newton's method from many random starts. States are counted as poses of bodies: a ball joint has several coordinates
for one pose.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ShapeError
from ..io.results import hash_of, registered
from ..mechanism import Joint, Mechanism, edit
from ..mechanism.loops import CLOSING_JOINTS
from ..mechanism.units import velocity_names
from ..report.description import Description
from ..report.result import Result
from ..robot_functions import RobotFunctions
from ._close import Follower, _targets, solved
from .blocks import HINGES, Unsolved, all_states
from .branch import scaled
from .selection import Selection, driven_entries, joints_of, selection

if TYPE_CHECKING:
    from ..robot import Robot

STARTS = 2000
"""Number of random starts."""
ITERATIONS = 60
SAME = 1e-6
"""Largest difference of two equal poses, as a share of the mechanism's size."""
NEARLY_DOUBLE = 1e-4
"""Smallest over largest singular value of K below which two modes may have met."""

MEETING = "two modes meet, or nearly so: the motors are at the edge of their reach"

ModesStatus = Literal["complete", "sampled", "undecided"]


@registered
@dataclass(frozen=True, eq=False, repr=False)
class Modes(Result):
    """Assembly modes for given motor coordinates.

    Attributes:
        q: closed states, (n, n_q), the nearest to the reference first; one per set of body poses.
        status: "complete", the loops reduce to blocks of one or two joints, and all roots of these are listed, or
            the one loop was solved completely as an arm;
            "sampled", others may exist; "undecided", two of them nearly coincide, so that their number depends on
            rounding.
        reason: why.
        bound: largest possible number of modes, None for status "sampled".
        found_from: number of roots, or of random starts, that led to each mode, (n,).
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
    robot: Robot,
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
    start[driven_entries(chosen)] = target
    follower = Follower(robot, chosen)
    open_by = float((abs(chosen.left) / follower.scale.lengths).max())
    try:
        q, bound, is_doubtful = all_states(robot, start, _joints_of(mechanism, chosen.dependent), open_by)
        q, counts = distinct(robot, q)
        meets = is_doubtful or _meets(follower, q)
        status, reason = ("undecided", MEETING) if meets else ("complete", f"there are at most {bound}")
    except Unsolved as error:
        arm = _as_arm(robot, chosen, start)
        bound = None if arm is None else len(arm)
        status, reason = "complete", "cut open, the loop was solved as an arm"
        if arm is None:
            arm = random_starts(mechanism, chosen.dependent, start, STARTS, np.random.default_rng(rng))
            status, reason = "sampled", f"from {STARTS} random starts: {error}"
        q = _newton(follower, arm)
        off = abs(follower.kernel(q)[0]) / follower.scale.lengths if len(q) else np.zeros((0, 1))
        q, counts = distinct(robot, q[(off < max(10.0 * open_by, 1e-9)).all(axis=1)])
        if _meets(follower, q) or (bound is not None and counts.sum() < bound):
            status, reason = "undecided", MEETING
    nearest = np.argsort([np.linalg.norm(mechanism.difference(chosen.q, each)) for each in q], kind="stable")
    q, counts = q[nearest], counts[nearest]
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


def _as_arm(robot: Robot, chosen: Selection, start: np.ndarray) -> np.ndarray | None:
    """Return all states (k, n_q) in which the one loop closes, from inverse kinematics; None if that claims less.

    The loop is cut open at its ends: the joints that follow are an arm from the one to the other.
    """
    mechanism = robot.mechanism
    loop = mechanism.loops[0]
    is_weld = loop.locked == CLOSING_JOINTS["weld"]
    following = _joints_of(mechanism, chosen.dependent)
    if len(mechanism.loops) > 1 or not (is_weld or loop.locked == CLOSING_JOINTS["point"]):
        return None
    if len(chosen.dependent) != len(loop.locked) or not following <= joints_of(mechanism, loop):
        return None
    held = {name: start[mechanism.q_slices[name]] for name in mechanism.joint_names if name not in following}
    arm = type(robot)(edit.fix_joints(edit.opened(mechanism), held))
    target, task = (np.eye(4), "pose") if is_weld else (np.zeros(3), "position")
    answer = arm.ik(target, loop.frame, relative_to=loop.other, limits=False, task=task)
    if answer.status not in ("complete", "unreachable"):
        return None
    q = np.tile(start, (int(answer.count), 1))
    for name in following:
        q[:, mechanism.q_slices[name]] = answer.q[: len(q), arm.mechanism.q_slices[name]]
    return q


def random_starts(
    mechanism: Mechanism, velocities: np.ndarray, start: np.ndarray, count: int, rng: np.random.Generator
) -> np.ndarray:
    """Return copies of the start, (count, n_q), all but the first with random joints of these velocities."""
    q = np.tile(start, (count, 1))
    moving = set(velocities.tolist())
    for name in mechanism.joint_names:
        at_v, at_q = mechanism.v_slices[name], mechanism.q_slices[name]
        if not moving & set(range(mechanism.n_v)[at_v]):
            continue
        joint = mechanism.joint(name)
        units = joint.type.units
        if len(units) == joint.type.n_q == at_v.stop - at_v.start:
            moves = [k in moving for k in range(mechanism.n_v)[at_v]]
            spread = np.where([unit == "m" for unit in units], _size(mechanism), np.pi) * moves
            q[1:, at_q] += rng.uniform(-1, 1, size=(count - 1, len(units))) * spread
        else:
            q[1:, at_q] = joint.type.random(rng, *mechanism._range_of(joint), (count - 1,))
    return q


def _size(mechanism: Mechanism) -> float:
    """Size of the largest loop, m."""
    return float(scaled(mechanism).lengths.max())


def _newton(follower: Follower, q: np.ndarray) -> np.ndarray:
    """Return the states, of those given, from which damped Newton steps of the dependent joints converge."""
    last = np.full(len(q), np.inf)
    for _ in range(ITERATIONS):
        value, K, _ = follower.equations(q)
        change = -solved(K, value)
        last = abs(change).max(axis=1, initial=0.0)
        change *= (0.5 / np.maximum(last, 0.5))[:, None]
        sound = np.isfinite(change).all(axis=1)
        q, change, last = q[sound], change[sound], last[sound]
        if not len(q):
            return q
        q = follower.moved(q, 0.0, change)
    return q[last < 1e-9]


def distinct(robot: RobotFunctions, q: np.ndarray, also: Collection[int] = ()) -> tuple[np.ndarray, np.ndarray]:
    """Return one state per set of body poses, and how many of the states given have it.

    Links without mass are no bodies, except for those numbered in `also`.
    """
    if not len(q):
        return q, np.zeros(0, dtype=int)
    mechanism = robot.mechanism
    poses = np.asarray(robot.link_poses(q))
    # A link without mass between two axes of a universal joint is no body: it only says which coordinates are used.
    heavy = [i for i, link in enumerate(mechanism.links) if link.inertia[0] > 0 or i in also]
    heavy = heavy or range(mechanism.n_links)
    parts = []
    for i in heavy:
        line = None if i in also else _line_of_rod(mechanism, i)
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
    at_the_point = not joint.T_joint_child[:3, 3].any()
    universal = joint.type.kind in ("universal", "spherical") or _hangs_by_two_axes(mechanism, above, joint)
    return ends[0].T_link_frame[:3, 3:] if universal and at_the_point else None


def _hangs_by_two_axes(mechanism: Mechanism, above: int, joint: Joint) -> bool:
    """Return True if a hinge is on a link without mass whose own hinge's axis passes through its origin."""
    if joint.type.kind not in HINGES or not above or mechanism.links[above].inertia[0]:
        return False
    first = mechanism.joints[above - 1]
    if first.type.kind not in HINGES:
        return False
    p = (first.T_joint_child @ joint.T_parent_joint)[:3, 3]
    across = np.cross(np.asarray(first.type.parameters()["axis"], dtype=float), p)
    return bool(np.linalg.norm(across) < SAME * _size(mechanism))


def _meets(follower: Follower, q: np.ndarray) -> bool:
    """Return True if a state is so near to a singular one that two modes may have met there."""
    if not len(q):
        return False
    s = np.linalg.svd(follower.equations(q)[1], compute_uv=False)
    return bool(s.shape[1] and (s[:, -1] < NEARLY_DOUBLE * s[:, 0]).any())


def _joints_of(mechanism: Mechanism, velocities: np.ndarray) -> frozenset[str]:
    """Return the names of the joints that have some of these velocities."""
    wanted = set(velocities.tolist())
    slices = mechanism.v_slices
    return frozenset(name for name in mechanism.joint_names if wanted & set(range(mechanism.n_v)[slices[name]]))
