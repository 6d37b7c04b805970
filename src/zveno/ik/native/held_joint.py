"""Seven revolute joints of which one is an argument: the rest is an arm of six whose numbers turn with it.

A joint held at θ makes one transform of the two links beside it, and takes the axes behind it along: every number
of the arm of six is A0 + A1 cos θ + A2 sin θ, but for points where axes on both sides of the joint meet.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Any

import numpy as np

from ...kernels.builder import Builder, Rows
from ...kernels.ops import cos, less, less_equal, logical_and, sin, where
from .._judge import certificate_numbers
from ..closed_form.forms import Form
from ..closed_form.subproblems import cross
from ..ik_problem import IkProblem
from ..redundant.seven_revolute import GENERIC, applies, closed_form
from ..six_revolute.arm import Arm
from ..six_revolute.equations import trigonometric
from ..six_revolute.templates import FLIP, rigid_inverse, turn
from .arm_tables import ArmTables, Tables, arm_tables
from .bounds import Bounds
from .six_revolute.tables import SixRevoluteTables, six_revolute_tables

N_JOINTS = 7
ALIGNED = 1e-6
"""Squared sine below which axes count as parallel, so that nothing is known of where they meet."""
Meeting = tuple[int, int, tuple[int, ...]]
"""Axes in front of the held joint and behind it that meet at every angle, and all whose point that is."""


@dataclass(frozen=True, eq=False)
class HeldJoint:
    """The joint whose angle is an argument.

    Attributes:
        coordinate: 0 … 6.
        name: of the joint.
        lower, upper: its limits.
        rows: (3, …) A0, A1 and A2 of the numbers of the arm of six.
        meeting: axes of its closed form that meet in points of their own at every angle.
    """

    coordinate: int
    name: str
    lower: float
    upper: float
    rows: np.ndarray
    meeting: tuple[Meeting, ...] = ()


def usable_joints(problem: IkProblem) -> list[int]:
    """Return the joints that may be fixed while six still reach poses, those with a closed form first."""
    joints = [k for k in reversed(range(problem.n)) if applies(problem, k)] if problem.n == N_JOINTS else []
    return sorted(joints, key=lambda k: closed_form(problem, k) is None)


def without_joint(problem: IkProblem, coordinate: int, angle: float) -> IkProblem:
    """Return the arm of six with a joint held at an angle."""
    constants = list(problem.constants)
    constants[coordinate] = constants[coordinate] @ turn(angle) @ constants.pop(coordinate + 1)
    rest = [k for k in range(problem.n) if k != coordinate]
    steps = tuple(replace(problem.steps[k], coordinate=i, T_before=constants[i]) for i, k in enumerate(rest))
    lower, upper = problem.lower[rest], problem.upper[rest]
    return replace(problem, steps=steps, T_last_frame=constants[-1], lower=lower, upper=upper, model=None)


def generic_angle(problem: IkProblem, coordinate: int) -> float:
    """Return an angle of the joint that geometry does not make special."""
    lower, upper = (float(side[coordinate]) for side in problem.span)
    return lower + GENERIC * (upper - lower)


def with_closed_form(problem: IkProblem, k: int, form: Form, bounds: Bounds) -> tuple[HeldJoint, ArmTables]:
    """Return joint k held, and the tables of the arm of six, whose closed form at `generic_angle` is `form`."""
    usual = generic_angle(problem, k)
    tables = arm_tables(without_joint(problem, k, usual), form, bounds)
    frame, first = _held_frame(problem, k, form)

    def numbers(angle: float) -> Any:
        moved = frame @ turn(angle - usual) @ rigid_inverse(frame)
        own = tables.numbers
        h, a, e = own.h.copy(), own.a.copy(), own.e.copy()
        h[first:], e[first:] = h[first:] @ moved[:3, :3].T, e[first:] @ moved[:3, :3].T
        a[first:] = a[first:] @ moved[:3, :3].T + moved[:3, 3]
        end = (form.end_inverse @ rigid_inverse(moved))[:3] if first < len(h) else own.end
        return own._replace(h=h, a=a, e=e, end=end, **_ends_and_links(problem, k, angle, float(own.length)))

    return replace(_held(problem, k, numbers), meeting=_meeting(form, first)), tables


def _meeting(form: Form, first: int) -> tuple[Meeting, ...]:
    """Find points that axes before number `first` share with others."""
    found = {}
    for i, point in enumerate(form.a[:first]):
        sharing = tuple(np.flatnonzero((form.a == point).all(axis=1)).tolist())
        if sharing[-1] >= first:
            found[sharing] = (i, sharing[-1], sharing)
    return tuple(found.values())


def _held_frame(problem: IkProblem, k: int, form: Form) -> tuple[np.ndarray, int]:
    """Return the frame of joint k in the closed form, and the first of its axes that turns with that joint.

    At an end of the chain no axis does: there the pose is seen from elsewhere.
    """
    links = problem.constants[1:N_JOINTS].copy()
    links[:, :3, 3] *= form.scale[0]
    if k in (0, N_JOINTS - 1):
        return np.eye(4), N_JOINTS - 1
    if form.backwards:
        links, k = FLIP @ rigid_inverse(links[::-1]) @ FLIP, N_JOINTS - 1 - k
    return reduce(np.matmul, links[:k]), k


def with_general_arm(problem: IkProblem, k: int, arm: Arm, bounds: Bounds) -> tuple[HeldJoint, SixRevoluteTables]:
    """Return joint k held, and the tables of the arm of six, which is `arm` at `generic_angle`."""
    tables = six_revolute_tables(without_joint(problem, k, generic_angle(problem, k)), arm, bounds)
    if 0 < k < N_JOINTS - 1:
        tables = tables.with_turning_link()
    template = arm.chosen[0].template

    def numbers(angle: float) -> Any:
        links = without_joint(problem, k, angle).constants[:-1].copy()
        links[:, :3, 3] *= arm.scale
        cut = template.on(links).links[:, :3]
        return tables.numbers._replace(cut=cut, **_ends_and_links(problem, k, angle, float(tables.numbers.length)))

    return _held(problem, k, numbers), tables


def _ends_and_links(problem: IkProblem, k: int, angle: float, length: float) -> dict[str, np.ndarray]:
    """Return the numbers that every arm of six has, with a joint held at an angle."""
    constants = without_joint(problem, k, angle).constants
    links, tool = constants[1:-1, :3].copy(), constants[-1, :3].copy()
    links[..., 3] /= length
    tool[..., 3] /= length
    return {
        "before": rigid_inverse(constants[0])[:3],
        "after": rigid_inverse(constants[-1])[:3],
        "links": links,
        "tool": tool,
        "certificate": certificate_numbers(problem, length),
    }


def _held(problem: IkProblem, k: int, numbers: Any) -> HeldJoint:
    rows = np.stack([np.concatenate([np.ravel(part) for part in numbers(a)]) for a in (0.0, np.pi, 0.5 * np.pi)])
    limits = float(problem.lower[k]), float(problem.upper[k])
    return HeldJoint(k, problem.steps[k].joint, *limits, trigonometric(rows, 0))


def arm_input(program: Builder, arm: Tables, held: HeldJoint | None) -> tuple[Rows, Rows, Rows | None]:
    """Declare the pose (one row), the numbers of the arm of six (one row), and the held joint's angle if any.

    Where that angle is outside its limits the pose is not a number.
    """
    T = program.input("T", (4, 4), 16)
    if held is None:
        return T, program.table("arm", arm.row), None
    angle, turning = program.input("redundant", ()), program.table("arm", held.rows)
    pose, numbers = program.scratch("pose", 1, 16), program.scratch("numbers", 1, held.rows.shape[1])
    pose[0] = program.step(partial(allowed, held), T[0], angle[0])
    numbers[0] = program.step(partial(at_angle, held, arm.of_class), turning[0, 3], angle[0])
    return pose, numbers, angle


def allowed(held: HeldJoint, T: Any, angle: Any) -> Any:
    """Return T, or NaN if the angle is not allowed."""
    inside = logical_and(less_equal(held.lower, angle[0]), less_equal(angle[0], held.upper))
    return np.array([where(inside, value, np.nan) for value in T])


def at_angle(held: HeldJoint, kind: Any, rows: Any, angle: Any) -> Any:
    """Return the numbers of the arm of six, of a class; constant parts are not multiplied."""
    c, s = cos(angle[0]), sin(angle[0])
    turns = np.abs(held.rows[1:]).max(axis=0) > 0.0
    row = np.array(
        [
            a + c * b + s * d if turning else a
            for a, b, d, turning in zip(*rows.reshape(held.rows.shape), turns, strict=True)
        ]
    )
    if not held.meeting:
        return row
    arm = kind.numbers(row)
    for i, j, sharing in held.meeting:
        point = _where_lines_meet(arm.a[i], arm.h[i], arm.a[j], arm.h[j])
        for k in sharing:
            arm.a[k] = point
    return np.concatenate([np.ravel(part) for part in arm])


def _where_lines_meet(p: Any, h: Any, other: Any, other_h: Any) -> Any:
    """Return the point where two lines, given by points and directions, meet; NaN where they are parallel."""
    normal = cross(h, other_h)
    square = normal @ normal
    along = (cross(other - p, other_h) @ normal) / where(less_equal(square, ALIGNED), np.nan, square)
    return p + along * h


def with_joint(held: HeldJoint, q: Any, angle: Any) -> Any:
    """Return q of all seven joints from that of six; NaN stays NaN."""
    whole = list(q)
    whole.insert(held.coordinate, where(less(q[0], np.inf), angle[0], np.nan))
    return np.array(whole)
