"""Inverse kinematics of mechanisms with closed loops: the chain to the frame, and the loops that it moves.

A target is one more loop, which joins the frame to its place. Where all these loops reduce to blocks of one or two
joints, every root of every block is computed. Otherwise the tree's chain to the frame is solved as that of any arm,
and the other joints of the loops follow block by block for each of its solutions. Where neither works, Newton's
method from random starts finds closed states. Loops that the chain does not move stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np

from ..algorithms.loop_rows import row_names
from ..errors import ZvenoError
from ..fit.gauss_newton import damped_steps
from ..io.results import hash_of
from ..loops._modes import distinct, random_starts
from ..loops.blocks import Edge, Unsolved, all_states
from ..loops.branch import GAP, closure_kernel, scaled
from ..loops.selection import following, joints_of, selection
from ..mechanism import Loop, Mechanism, edit
from ..mechanism.joints import Fixed, Revolute, Spherical
from ..mechanism.unit_quaternions import ball_angle, limited_balls
from ..robot_functions import RobotFunctions
from ._judge import EXACT, SLACK
from ._whole_body.box_limits import coordinate_limits
from .clock import OVER, time_is_over
from .frame_motion import moving_joints, pose_and_jacobian, task_errors
from .ik_problem import TURN, IkProblem, chain_between, held_configuration, middle_of
from .solutions import COMPLETE, EXCLUDED, SAMPLED, UNDECIDED, UNREACHABLE, SelfMotion, Solutions
from .targets import checked_targets
from .task import Question, Task

STARTS = 600
"""Random starts of a pose that is neither solved by blocks nor by its chain."""
ITERATIONS = 80
CLOSED = 1e-12
"""Largest |φ| of a listed configuration in independent rows, over the size of its loop."""
LISTED = 64
"""Configurations listed of self-motions."""
SMALL = 1e-22
"""Squared error of all equations at which steps end."""
SINGULAR = 1e-6
"""Smallest over largest singular value below which a solution may be several, or belong to a self-motion."""


class Found(NamedTuple):
    """Configurations of one pose, limits disregarded."""

    q: np.ndarray
    code: int
    note: str
    method: str


@dataclass(frozen=True, eq=False)
class Hybrid:
    """A chain to a frame that moves closed loops, with a task.

    Attributes:
        mechanism: the mechanism with its loops.
        chain: the chain of the tree.
    """

    mechanism: Mechanism
    chain: IkProblem

    @cached_property
    def tree(self) -> RobotFunctions:
        """The mechanism with its loops open."""
        return RobotFunctions(edit.opened(self.mechanism))

    @cached_property
    def loops(self) -> tuple[Loop, ...]:
        """Loops that the chain moves: those it shares joints with, and those that share joints with these."""
        mechanism, moved = self.mechanism, set(moving_joints(self.mechanism, self.chain))
        rest = [(loop, joints_of(mechanism, loop)) for loop in mechanism.loops]
        touched: list[Loop] = []
        while near := [pair for pair in rest if pair[1] & moved]:
            rest = [pair for pair in rest if pair not in near]
            for loop, joints in near:
                touched.append(loop)
                moved |= joints
        return tuple(touched)

    @cached_property
    def known(self) -> np.ndarray:
        """Mask (n_v,) of the velocities of the chain."""
        return self._mask(moving_joints(self.mechanism, self.chain))

    @cached_property
    def columns(self) -> np.ndarray:
        """Velocities to be found: those of the chain, and of the loops' joints that follow from them."""
        chosen = selection(self.mechanism)
        joints = set().union(*(joints_of(self.mechanism, loop) for loop in self.loops))
        rest = following(chosen, self.known, self._mask(joints))
        return np.sort(np.concatenate([np.flatnonzero(self.known), rest]))

    @cached_property
    def unknown(self) -> frozenset[str]:
        """Joints to be found."""
        return self._names(self.columns)

    @cached_property
    def rows(self) -> np.ndarray:
        """Independent rows of the loops that the chain moves."""
        labels = [loop.label for loop in self.loops]
        names = row_names(self.mechanism)
        return np.array(
            [k for k in selection(self.mechanism).rows if names[k].rsplit(" ", 1)[0] in labels], dtype=int
        )

    @cached_property
    def freedom(self) -> int:
        """Velocities that remain with the frame on its target, next to most states."""
        q = selection(self.mechanism).states
        F, _ = pose_and_jacobian(self.tree, q, self.chain.frame, self.chain.reference)
        _, A = self.equations(q, F)
        s = np.linalg.svd(A, compute_uv=False)
        return len(self.columns) - int((s > 1e-3 * GAP * s[:, :1]).sum(axis=1).max())

    @cached_property
    def units(self) -> np.ndarray:
        """Scales of the columns: the chain's length for slides."""
        return np.where(scaled(self.mechanism).turning, 1.0, self.chain.length)[self.columns]

    @cached_property
    def found_places(self) -> np.ndarray:
        """Mask (n_q,) of the coordinates of joints to be found."""
        mask = np.zeros(self.mechanism.n_q, dtype=bool)
        for name in self.unknown:
            mask[self.mechanism.q_slices[name]] = True
        return mask

    @cached_property
    def turning(self) -> np.ndarray:
        """Mask (n_q,) of found coordinates that whole turns do not change."""
        mask = np.zeros(self.mechanism.n_q, dtype=bool)
        for name in self.unknown:
            kind = self.mechanism.joint(name).type
            if kind.n_q == kind.n_v and kind.kind not in ("helical", "planar") and not self._is_led(name):
                mask[self.mechanism.q_slices[name]] = [unit == "rad" for unit in kind.units]
        return mask

    def _is_led(self, name: str) -> bool:
        """Return True if other joints follow this one by a ratio other than a whole number."""
        leads = [j.mimic for j in self.mechanism.joints if j.mimic is not None and j.mimic.joint == name]
        return any(not float(mimic.multiplier).is_integer() for mimic in leads)

    def _mask(self, names: Any) -> np.ndarray:
        mask = np.zeros(self.mechanism.n_v, dtype=bool)
        for name in names:
            mask[self.mechanism.v_slices[name]] = True
        return mask

    def _names(self, velocities: np.ndarray) -> frozenset[str]:
        mechanism, wanted = self.mechanism, set(velocities.tolist())
        return frozenset(
            name for name in mechanism.joint_names if wanted & set(range(mechanism.n_v)[mechanism.v_slices[name]])
        )

    def equations(self, q: np.ndarray, T: np.ndarray, whole: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """Return errors of the task and the loops (s, m) at q (s, n_q), and their rates in scaled columns.

        Loops count with their independent rows, or with all if `whole`.
        """
        F, J = pose_and_jacobian(self.tree, q, self.chain.frame, self.chain.reference)
        e, rates = task_errors(self.chain, F, T)
        value, K = closure_kernel(self.mechanism)(np.ascontiguousarray(q))
        lengths = scaled(self.mechanism).lengths
        rows = np.arange(len(lengths)) if whole else self.rows
        A = np.concatenate([rates @ J, K[:, rows] / lengths[rows, None]], axis=1)[:, :, self.columns] * self.units
        return np.concatenate([e, (value / lengths)[:, rows]], axis=1), A

    def moved(self, q: np.ndarray, change: np.ndarray) -> np.ndarray:
        """Return q (s, n_q) after scaled changes of the columns."""
        v = np.zeros((len(q), self.mechanism.n_v))
        v[:, self.columns] = change * self.units
        return self.tree.integrate(q, v)

    def found(self, start: np.ndarray, T: np.ndarray, solve_chain: Callable[[np.ndarray], Solutions]) -> Found:
        """Find the configurations of one pose (4, 4) with all other joints as in `start` (n_q,)."""
        if self.freedom:
            return self._sampled(
                start, T, f"{self.freedom} freedoms remain" if self.freedom > 1 else "one freedom remains"
            )
        try:
            goal = self._goal(T)
            states = all_states(self.tree_with_loops, start, self.unknown, self.open_by, [goal])
            code = UNDECIDED if states.is_doubtful else COMPLETE
            return self._settled(states.q, T, code, "blocks")
        except Unsolved:
            pass
        answer = solve_chain(T)
        if answer.self_motions:
            return self._sampled(start, T, "the chain alone has self-motions")
        code = {COMPLETE: COMPLETE, UNREACHABLE: COMPLETE, SAMPLED: SAMPLED}.get(int(answer.codes), UNDECIDED)
        rest = self._names(np.setdiff1d(self.columns, np.flatnonzero(self.known)))
        states_of = [np.zeros((0, self.mechanism.n_q))]
        for q in answer.q[: int(answer.count)]:
            try:
                states = all_states(self.tree_with_loops, q, rest, self.open_by)
            except Unsolved as error:
                return self._sampled(start, T, str(error))
            code = UNDECIDED if states.is_doubtful else code
            states_of.append(states.q)
        found = self._settled(np.concatenate(states_of), T, code, f"{answer.method} and blocks")
        many = f"the loops do not close at any of the chain's {int(answer.count)} solutions"
        return found if len(found.q) or not int(answer.count) else found._replace(note=found.note or many)

    @cached_property
    def tree_with_loops(self) -> RobotFunctions:
        """The robot, for functions of the loops."""
        return RobotFunctions(self.mechanism)

    @cached_property
    def open_by(self) -> float:
        """Largest mismatch of redundant rows at the reference, over the size of their loop."""
        chosen = selection(self.mechanism)
        return float((abs(chosen.left) / scaled(self.mechanism).lengths).max(initial=0.0))

    def _goal(self, T: np.ndarray) -> Edge:
        """Return the edge that holds the frame on its target."""
        kinds = {Task(): Fixed(), Task(rotation=()): Spherical(), Task(rotation=(), axis=True): Revolute()}
        if self.chain.task not in kinds:
            raise Unsolved("parts of a pose do not act like a joint")
        mechanism, frame = self.mechanism, self.mechanism.frame(self.chain.frame)
        link, T_link = 0, np.eye(4)
        if self.chain.reference is not None:
            reference = mechanism.frame(self.chain.reference)
            link, T_link = mechanism.link_number(reference.link), reference.T_link_frame
        ends = link, mechanism.link_number(frame.link)
        return Edge("target", ends, (T_link @ T, frame.T_link_frame), kinds[self.chain.task], False)

    def _settled(self, q: np.ndarray, T: np.ndarray, code: int, method: str, note: str = "") -> Found:
        """Polish candidates and leave out those that miss; lower the claim where roots may meet."""
        if not len(q):
            return Found(q, code, note, method)
        q, good = self.polished(q, T)
        if not good.all():
            code, note = UNDECIDED, f"{int((~good).sum())} nearly closed"
        q, _ = distinct(self.tree_with_loops, q[good], self._links)
        if len(q) and self.margins(q, T).min() < SINGULAR:
            code, note = UNDECIDED, "singular"
        return Found(q, code, note, method)

    @cached_property
    def _links(self) -> frozenset[int]:
        """Links of the chain, whose coordinates count even if they have no mass."""
        names = {step.joint for step in self.chain.steps}
        return frozenset(i for i, _, joint in self.mechanism.outward() if joint.name in names)

    def margins(self, q: np.ndarray, T: np.ndarray) -> np.ndarray:
        """Return smallest over largest singular value of the equations at q (s, n_q)."""
        s = np.linalg.svd(self.equations(q, np.broadcast_to(T, (len(q), 4, 4)))[1], compute_uv=False)
        rank = len(self.columns) - self.freedom
        return s[:, rank - 1] / s[:, 0] if s.shape[1] >= rank else np.zeros(len(q))

    def polished(self, q: np.ndarray, T: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return q after Newton steps on all equations, then on the loops; and a mask of those that hold."""
        targets = np.broadcast_to(T, (len(q), 4, 4))
        for _ in range(4):
            e, A = self.equations(q, targets)
            q = self.moved(q, -(np.linalg.pinv(A, rcond=1e-9) @ e[..., None])[..., 0])
        n_task = self.chain.task.n_rows
        for _ in range(2):
            e, A = self.equations(q, targets)
            q = self.moved(q, -(np.linalg.pinv(A[:, n_task:], rcond=1e-9) @ e[:, n_task:, None])[..., 0])
        e, _ = self.equations(q, targets, whole=True)
        own, loose = self.equations(q, targets)[0][:, n_task:], max(1e-9, 10.0 * self.open_by)
        good = (abs(own).max(axis=1, initial=0.0) < CLOSED) & (abs(e[:, n_task:]).max(axis=1) < loose)
        return q, good & (self.missed(q, targets) < EXACT)

    def missed(self, q: np.ndarray, T: np.ndarray) -> np.ndarray:
        """Return the greater of metres and radians by which frames miss their targets, (s,)."""
        F, _ = pose_and_jacobian(self.tree, q, self.chain.frame, self.chain.reference)
        e, _ = task_errors(self.chain, F, T)
        k = len(self.chain.task.position)
        return np.maximum(np.linalg.norm(e[:, :k], axis=1) * self.chain.length, np.linalg.norm(e[:, k:], axis=1))

    def _sampled(self, start: np.ndarray, T: np.ndarray, why: str) -> Found:
        """Find configurations from random starts."""
        starts = random_starts(self.mechanism, self.columns, start, STARTS, np.random.default_rng(0))
        q = self.reached(starts, T)
        code, note = (UNDECIDED, OVER) if time_is_over() else (SAMPLED, f"from {STARTS} random starts: {why}")
        return Found(distinct(self.tree_with_loops, q, self._links)[0], code, note, "local, sampled")

    def reached(self, q: np.ndarray, T: np.ndarray) -> np.ndarray:
        """Return the configurations that damped Gauss–Newton steps from starts (s, n_q) reach, at a pose (4, 4)."""
        targets = np.broadcast_to(T, (len(q), 4, 4))
        for _ in range(ITERATIONS):
            e, A = self.equations(q, targets, whole=True)
            squared = (e * e).sum(axis=1)
            if (squared < SMALL).all() or time_is_over():
                break
            change = -damped_steps(A, e, 1e-2 * np.minimum(squared, 1.0) + 1e-13)
            longest = abs(change).max(axis=1, initial=0.0)
            q = self.moved(q, change * (0.5 / np.maximum(longest, 0.5))[:, None])
        e, _ = self.equations(q, targets, whole=True)
        q = q[(e * e).sum(axis=1) < max(1e-8, (10.0 * self.open_by) ** 2)]
        if not len(q):
            return q
        q, good = self.polished(q, T)
        return q[good]

    def near(self, start: np.ndarray, T: np.ndarray) -> Found:
        """Find one configuration from a start (n_q,), and from random ones if none is found from it."""
        q = self.reached(start[None], T)
        if not len(q):
            starts = random_starts(self.mechanism, self.columns, start, STARTS // 10, np.random.default_rng(0))
            q = self.reached(starts, T)
        return Found(q[:1], UNDECIDED, "", "local")


@lru_cache(maxsize=32)
def hybrid_of(mechanism: Mechanism, frame: str | None, reference: str | None, task: Any) -> Hybrid:
    """Return the chain to a frame, with the loops that it moves."""
    return Hybrid(mechanism, chain_between(mechanism, frame, reference, task))


def closed_configuration(hybrid: Hybrid, held: Any) -> np.ndarray:
    """Return the configuration (n_q,) of the joints that a pose does not determine: given, or the reference.

    Loops that the chain does not move must be closed there.
    """
    mechanism = hybrid.mechanism
    if held is None:
        return selection(mechanism).q
    q = held_configuration(mechanism, held)
    names, moved = row_names(mechanism), {loop.label for loop in hybrid.loops}
    value = abs(closure_kernel(mechanism)(q)[0]) / scaled(mechanism).lengths
    for k in np.flatnonzero(value > max(1e-6, 10.0 * hybrid.open_by)).tolist():
        if names[k].rsplit(" ", 1)[0] not in moved:
            raise ZvenoError(
                f"does not close {names[k]}: {value[k]:.3g} of the loop's size are left",
                element="held",
                remedy="Close it with zveno.loops.close(robot, motors)",
            )
    return q


def hybrid_answer(
    hybrid: Hybrid,
    poses: Any,
    limits: Any,
    held: Any,
    near: Any,
    solve_chain: Callable[[np.ndarray, np.ndarray], Solutions],
) -> Solutions:
    """Find the configurations of poses (..., 4, 4), within limits.

    Args:
        hybrid: the chain and its loops.
        poses: checked by `poses_asked`.
        limits: as `Robot.ik` takes them.
        held: q (n_q,) of joints that the pose does not determine; None for the closed reference.
        near: q (n_q,) or (..., n_q) from which one solution is found; None for all solutions.
        solve_chain: solves the chain of the tree alone for a pose without limits, with other joints held at q.
    """
    mechanism, chain = hybrid.mechanism, hybrid.chain
    targets = checked_targets(chain, poses)
    start = closed_configuration(hybrid, held)
    lower, upper = coordinate_limits(mechanism, limits)
    balls = limited_balls(mechanism) if limits is not False else ()
    if near is not None:
        starts = mechanism.checked_q(near, "q0").astype(float)
        starts = np.broadcast_to(starts, (*targets.batch, mechanism.n_q)).reshape(-1, mechanism.n_q)
    k, n_q = len(targets.T), mechanism.n_q
    rows, codes, notes, methods = [], np.full(k, UNDECIDED), {}, []
    self_motions: dict[int, tuple[SelfMotion, ...]] = {}
    excess = np.zeros((k, n_q))
    for i, T in enumerate(targets.T):
        if time_is_over():
            rows.append(np.zeros((0, n_q)))
            notes[i] = OVER
            continue
        if near is None:
            found = hybrid.found(start, T, lambda T: solve_chain(T, start))
        else:
            found = hybrid.near(np.where(hybrid.found_places, starts[i], start), T)
        q = _turned(found.q, lower, upper, hybrid.turning)
        over = np.maximum(np.maximum(lower - q, q - upper), 0.0)
        for place, most in balls:
            over[:, place.start] = np.maximum(over[:, place.start], ball_angle(q[:, place]) - most)
        inside = (over <= SLACK).all(axis=1)
        code = found.code
        if code == COMPLETE and not inside.any():
            code = EXCLUDED if len(q) else UNREACHABLE
        if code == SAMPLED and not inside.any():
            code = UNDECIDED
        if len(q) and not inside.any():
            best = np.argmin(over.max(axis=1))
            excess[i] = np.where(over[best] > SLACK, over[best], 0.0)
        q = q[inside]
        if hybrid.freedom and len(q):
            q = q[:LISTED]
            self_motions[i] = (SelfMotion(hybrid.freedom, q),)
        q = q[np.lexsort([*q.T[::-1], np.rint(q[:, chain.places[0]] * 1e6)])] if len(q) else q
        rows.append(q)
        codes[i] = code
        methods.append(found.method)
        if found.note:
            notes[i] = found.note
    return _solutions(hybrid, targets, rows, codes, notes, self_motions, excess, (lower, upper), start, methods)


def _turned(q: np.ndarray, lower: np.ndarray, upper: np.ndarray, turning: np.ndarray) -> np.ndarray:
    """Return q (s, n_q) with turning coordinates nearest to the middle of their limits."""
    ends = zip(lower.tolist(), upper.tolist(), strict=True)
    middle = np.array([middle_of(low, high) for low, high in ends])
    turns = np.ceil((q - middle) / TURN - 0.5) * turning
    return q - TURN * turns


def _solutions(
    hybrid: Hybrid,
    targets: Any,
    rows: Sequence[np.ndarray],
    codes: np.ndarray,
    notes: dict[int, str],
    self_motions: dict[int, tuple[SelfMotion, ...]],
    excess: np.ndarray,
    box: tuple[np.ndarray, np.ndarray],
    start: np.ndarray,
    methods: Sequence[str],
) -> Solutions:
    mechanism, chain, batch = hybrid.mechanism, hybrid.chain, targets.batch
    count = np.array([len(q) for q in rows])
    most, n_q, k = int(count.max(initial=0)), mechanism.n_q, len(rows)
    q, residual, condition = np.full((k, most, n_q), np.nan), np.full((k, most), np.nan), np.full((k, most), np.nan)
    for i, part in enumerate(rows):
        if len(part):
            T = np.broadcast_to(targets.T[i], (len(part), 4, 4))
            q[i, : len(part)] = part
            residual[i, : len(part)] = hybrid.missed(part, T)
            condition[i, : len(part)] = conditions(hybrid, part, T)
    missing = count == 0
    nearest = np.full((k, n_q), np.nan)
    distance = np.where(missing[:, None], np.nan, np.zeros((k, 2)))
    lower, upper = box
    own = chain.places >= 0
    of_chain = [np.where(own, side[chain.places], bound) for side, bound in ((lower, -np.inf), (upper, np.inf))]
    others = hybrid.turning.copy()
    others[chain.places[own]] = False
    places = np.flatnonzero(others)
    turning = np.array([places, lower[places], upper[places]], dtype=float)
    question = Question(chain.reference, chain.task, of_chain[0], of_chain[1], start, turning)
    shaped = {
        name: value.reshape(batch + value.shape[1:])
        for name, value in {
            "q": q, "count": count, "codes": codes, "residual": residual, "condition": condition,
            "density": np.zeros(k, dtype=int), "nearest": nearest, "distance": distance, "limit_excess": excess,
            "value": np.where(missing, np.nan, 0.0), "target": targets.T,
        }.items()
    }  # fmt: skip
    return Solutions(
        **shaped,
        method=", ".join(dict.fromkeys(methods)) or "blocks",
        joint_names=mechanism.coordinate_names,
        batch=batch,
        self_motions=self_motions,
        inputs_hash=hash_of(mechanism.fingerprint, chain.frame, targets.T, lower, upper, start, repr(chain.task)),
        notes=notes,
        mechanism=mechanism,
        frame=chain.frame,
        chain=tuple(np.flatnonzero(hybrid.found_places).tolist()),
        question=question,
    )


def conditions(hybrid: Hybrid, q: np.ndarray, T: np.ndarray) -> np.ndarray:
    """Return ‖J‖ ‖J⁺‖ / rank (s,) of the task's Jacobian J for motions that keep the loops closed."""
    _, A = hybrid.equations(q, T)
    n_task, free = hybrid.chain.task.n_rows, len(hybrid.columns) - len(hybrid.rows)
    if free <= 0:
        return np.full(len(q), np.inf)
    N = np.swapaxes(np.linalg.svd(A[:, n_task:])[2][:, -free:], 1, 2)
    s = np.linalg.svd(A[:, :n_task] @ N, compute_uv=False)
    return np.sqrt((s**2).sum(axis=1) * (1.0 / np.maximum(s, 1e-150) ** 2).sum(axis=1)) / s.shape[1]
