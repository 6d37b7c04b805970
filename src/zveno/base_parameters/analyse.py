"""The analysis from a mechanism to its base parameters."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..errors import ModelError, ShapeError, ZvenoWarning
from ..io.results import hash_of
from ..mechanism import Loop, Mechanism
from ..robot_functions import RobotFunctions
from . import diagnosis, friction
from . import drives as driving
from .blocks import RANK_TOLERANCE, Block, Solved, grouped, solve_blocks
from .closure import States, Step, advance, root_states, steps_of, twist_matrices
from .closure_ball import advance_ball, gyroscopic_rows
from .exact import NotExact, flint, required_flint
from .exact_closure import ExactGroup, ExactRecursion, as_array, as_texts
from .exact_drives import ExactDriven
from .loops import loops_of
from .motors import Motors
from .nodes import Node, massless_links, nodes_of
from .result import BaseParameters, Group
from .sampled import advance_sampled
from .samples import Samples, node_samples
from .views import DEGREES, View, carried, carried_in, view_named

MOST_DRIVEN = 12
"""Drives that are analysed exactly without being asked to."""
SEED = 0
"""Of the generic states at which nodes with shared coordinates or loops are sampled."""


def base_parameters(
    robot: RobotFunctions | Mechanism,
    gravity=None,
    drives: bool | Sequence[str] = False,
    *,
    view: str = "inertia",
    massless: Sequence[str] | None = None,
    loops: Sequence[Loop] | None = None,
    q0=None,
    exact: bool | None = None,
) -> BaseParameters:
    """The smallest set of parameters that decides a robot's dynamics, and what each is made of.

    Args:
        robot: the robot, or its mechanism.
        gravity: (3,) acceleration of free fall, the robot's own if not given; zeros for none.
        drives: True counts rotor inertia, viscous and Coulomb friction and offset of every joint with one
            coordinate, and of joints with several that the model gives a drive, beside the links' parameters; or
            the kinds: ("rotor", "viscous", "coulomb", "offset") and
            "coupling", what motors that two joints turn add (see `coupling_regressor`).
        view: how a link's parameters are counted: "inertia", "pseudo" (document 000) or "center".
        massless: names of links without inertia; by default those whose inertia is stated to be zero.
        loops: what closes the mechanism's loops, its own if not given; () leaves them open.
        q0: a state on the branch of the loops that is meant; neutral if not given.
        exact: True demands exact arithmetic, False does without; by default it is used where the constants have an
            exact meaning (angles that are multiples of 15°) and python-flint is installed.
    """
    mechanism = robot.mechanism if isinstance(robot, RobotFunctions) else robot
    if not isinstance(mechanism, Mechanism):
        raise ModelError(f"a {type(robot).__name__} is not a robot", remedy="Give zveno.load(...) or a Mechanism")
    direction = checked_gravity(mechanism, gravity)
    if not np.array_equal(direction, mechanism.gravity):
        mechanism = replace(mechanism, gravity=direction)
    chosen = view_named(view)
    options = {"drives": drives, "massless": massless, "loops": loops_of(mechanism, loops), "q0": q0}
    problem = Problem(mechanism, **options)
    solved, drive = problem.solve(chosen)
    certificate = Certificate(problem, chosen, exact)
    rank = sum(len(one.pivots) for one in solved) if certificate.groups is None else certificate.rank
    notes = _second_looks(problem, solved, rank, certificate, options)
    for note in notes:
        warnings.warn(note, ZvenoWarning, stacklevel=2)
    return problem.result(chosen, solved, drive, certificate, tuple(notes))


def _second_looks(
    problem: Problem, solved: list[Solved], rank: int, certificate: Certificate, options
) -> list[str]:
    """Sentences about near-degenerate geometry, with its cause where it is found."""
    floating = sum(len(one.pivots) for one in solved)
    ranks = certificate.ranks or [len(one.pivots) for one in solved]
    small = [
        (one.gap(r)[0], block)
        for one, r, block in zip(solved, ranks, problem.blocks, strict=True)
        if one.gap(r)[0] < diagnosis.NEAR
    ]
    if not small and floating == rank:
        return []

    def rank_of(mechanism: Mechanism) -> int:
        other = Problem(mechanism, **options)
        return sum(len(one.pivots) for one in other.solve(view_named("pseudo"))[0])

    found = diagnosis.causes(problem.mechanism, rank, rank_of)
    if found:
        return found
    if floating != rank:
        return [
            f"{rank} base parameters in exact arithmetic, {floating} if what is below {RANK_TOLERANCE:g} is zero"
        ]
    value, block = min(small, key=lambda pair: pair[0])
    names = ", ".join(problem.mechanism.link_names[i] for i in block.bodies)
    return [f"near-degenerate geometry at link {names}: the smallest value kept is {value:.1e}"]


def checked_gravity(mechanism: Mechanism, gravity) -> np.ndarray:
    """Gravity as three finite numbers."""
    if gravity is None:
        return mechanism.gravity
    try:
        vector = np.array(gravity, dtype=float)
    except (TypeError, ValueError):
        vector = np.full(1, np.nan)
    if vector.shape != (3,) or not np.isfinite(vector).all():
        raise ShapeError(f"is {gravity!r}", element="gravity", remedy="Give three finite numbers, m/s²")
    return vector


class Problem:
    """A mechanism taken apart into nodes, with their blocks."""

    def __init__(self, mechanism: Mechanism, drives, massless, loops: Sequence[Loop], q0):
        self.mechanism = mechanism
        self.kinds = driving.counted_kinds(drives)
        driving.refuse_coupling(self.kinds, loops)
        for joint in mechanism.joints:
            if not (np.isfinite(joint.T_parent_joint).all() and np.isfinite(joint.T_joint_child).all()):
                raise ModelError("its placement is not finite", element=f"joint {joint.name}")
        self.massless = massless_links(mechanism, massless)
        self.nodes = nodes_of(mechanism, loops)
        self.scale = _length(mechanism)
        self.loops, self.q0 = loops, q0
        self.motors: Motors | None = None
        if not {"viscous", "coulomb"}.issuperset(self.kinds):
            self.motors = driving.motors_of(mechanism, self.kinds, mechanism.gravity, self.scale)
        self.poses: dict[int, np.ndarray] = {}
        """Pose of every link in its node's parent at the reference configuration."""
        self.samples: dict[int, Samples] = {}
        """Of every node that is not simple, by its first body."""
        self.gyroscopic: list[np.ndarray] = []
        """Rows over the drives alone that ball and free joints add."""
        self.blocks = self._recursion()

    def _recursion(self) -> list[Block]:
        mechanism, motors = self.mechanism, self.motors
        steps = steps_of(mechanism, self.nodes, self.scale)
        n_driven = 0 if motors is None else len(motors.place)
        states: dict[int, States] = {0: root_states(mechanism.gravity, motors is not None, n_driven)}
        rng = np.random.default_rng(SEED)
        B = []
        for node in self.nodes:
            if node.simple:
                (i,) = node.bodies
                joint = mechanism.joints[i - 1]
                states[i], block = self._advance(states[node.parent], i, steps[i])
                self.poses[i] = joint.T_parent_joint @ joint.T_joint_child
            else:
                block = self._cross(node, states, rng)
            B.append(block)
        scaled = {i: _shrunk(T, self.scale) for i, T in self.poses.items()}
        return grouped(self.nodes, B, scaled, self.massless, carried)

    def _advance(self, states: States, i: int, step: Step) -> tuple[States, np.ndarray]:
        """Across the joint of link i."""
        joint, motors = self.mechanism.joints[i - 1], self.motors
        part = self.mechanism.v_slices[joint.name]
        own = range(part.start, part.stop)
        if motors is None or part.start not in motors.place:
            return advance(states, step, motors, [None] * len(own))
        if joint.type.n_q == joint.type.n_v:
            return advance(states, step, motors, own)
        columns = joint.type.subspace(joint.type.neutral()).T
        D = twist_matrices(columns, self.scale)
        self.gyroscopic.append(gyroscopic_rows(D, motors, own))
        return advance_ball(states, step, D, motors, own)

    def _cross(self, node: Node, states: dict[int, States], rng) -> np.ndarray:
        samples = node_samples(self.mechanism, node, self.loops, self.q0, rng)
        for k, i in enumerate(node.bodies):
            self.poses[i] = samples.T[0, k].copy()
        units = [unit for joint in self.mechanism.joints if joint.mimic is None for unit in joint.type.units]
        self.samples[node.bodies[0]] = samples = samples.scaled(self.scale, np.array(units) == "m")
        bodies, block = advance_sampled(states[node.parent], samples, self.motors)
        states.update(zip(node.bodies, bodies, strict=True))
        return block

    def solve(self, view: View) -> tuple[list[Solved], Solved | None]:
        """Every block solved, and the drives with what is left of them."""
        solved = solve_blocks(self.blocks, view.matrix)
        if self.motors is None:
            return solved, None
        coupled = driving.coupled_rows(self.nodes, self._rates(self.motors), self.motors)
        return solved, driving.solve_drives(solved, coupled, *self.gyroscopic)

    def _rates(self, motors: Motors) -> list[np.ndarray]:
        """Of every node, (states, n_e, m): driven velocities for each of its independent ones."""
        found, driven = [], list(motors.place)
        for node in self.nodes:
            if node.simple:
                part = self.mechanism.v_slices[self.mechanism.joints[node.bodies[0] - 1].name]
                found.append(np.eye(self.mechanism.n_v)[None, driven, part])
            else:
                found.append(self.samples[node.bodies[0]].velocities[:, driven])
        return found

    def frictions(self) -> tuple[list[int], list[int], Solved | None]:
        """Columns of frictions that are base parameters by themselves; those in loops, and how these merge."""
        rates = [one.velocities for one in self.samples.values() if one.closed]
        tied = friction.tied_velocities(self.mechanism, rates)
        alone = driving.frictions(self.mechanism, self.kinds, tied)
        rng = np.random.default_rng(SEED)
        return alone, *friction.tied_frictions(self.mechanism, self.kinds, rates, rng)

    def result(
        self,
        view: View,
        solved: list[Solved],
        drive: Solved | None,
        certificate: Certificate,
        notes: tuple[str, ...],
    ) -> BaseParameters:
        """The result, with lengths as they are."""
        mechanism = self.mechanism
        power = self.scale ** DEGREES.astype(float)
        paths = np.concatenate([np.zeros((0, 4, 4)), *(block.paths for block in self.blocks)])
        paths[:, :3, 3] *= self.scale
        carrying = carried_in(view, paths)
        groups, start = [], 0
        for n, (block, one) in enumerate(zip(self.blocks, solved, strict=True)):
            width = 10 * len(block.bodies)
            unit = np.tile(power, len(block.bodies))
            rows = unit[one.pivots][:, None]
            K = carrying[start : start + len(block.bodies)]
            start += len(block.bodies)
            exact = certificate.groups[n] if certificate.groups is not None else None
            X = one.Y[:, width:] * rows
            if exact is None:
                pivots, Y, texts = one.pivots, one.Y[:, :width] * rows / unit, {}
            else:
                pivots, Y = np.array(exact.pivots, dtype=int), as_array(exact.Y).reshape(len(exact.pivots), width)
                texts = {"exact_Y": as_texts(exact.Y), "exact_K": tuple(as_texts(k) for k in exact.K)}
                if exact.X is not None:
                    X, texts["exact_X"] = (
                        as_array(exact.X).reshape(len(exact.pivots), X.shape[1]),
                        as_texts(exact.X),
                    )
            groups.append(
                Group(
                    block.bodies,
                    block.parent,
                    pivots,
                    Y,
                    X,
                    K,
                    *one.gap(len(pivots)),
                    **texts,
                )
            )
        alone, tied, merged = self.frictions()
        columns = driving.drive_columns(mechanism, self.kinds) + tied
        pivots, grouping = driving.side_by_side(drive, merged)
        exact_drives = None
        if certificate.drive is not None:
            pivots, grouping = np.array(certificate.drive[0], dtype=int), as_array(certificate.drive[1])
            grouping, exact_drives = grouping.reshape(len(pivots), len(columns)), as_texts(certificate.drive[1])
        return BaseParameters(
            mechanism=mechanism,
            view=view.name,
            groups=tuple(groups),
            kinds=self.kinds,
            drive_columns=np.array(columns, dtype=int),
            drive_pivots=pivots,
            drive_grouping=grouping,
            friction_columns=np.array(alone, dtype=int),
            massless=tuple(mechanism.link_names[i] for i in sorted(self.massless)),
            loops=tuple(self.loops),
            q0=None if self.q0 is None else np.array(self.q0, dtype=float),
            length=self.scale,
            certified=certificate.groups is not None,
            why_not_certified=certificate.why_not,
            notes=notes,
            inputs=hash_of(mechanism.fingerprint, view.name, list(self.kinds), sorted(self.massless)),
            exact_drive_grouping=exact_drives,
        )


class Certificate:
    """The exact analysis of a problem where there is one, and otherwise why not."""

    def __init__(self, problem: Problem, view: View, wanted: bool | None):
        self.groups: list[ExactGroup] | None = None
        self.drive: tuple[list[int], list[list]] | None = None
        """Pivots and grouping among the drives, where they are counted."""
        self.why_not = self._obstacle(problem) if wanted is not False else "exact arithmetic was not wanted"
        if not self.why_not and wanted is None and problem.motors and len(problem.motors.place) > MOST_DRIVEN:
            self.why_not = f"with more than {MOST_DRIVEN} drives it takes seconds: ask for it with exact=True"
        if not self.why_not:
            try:
                if problem.motors is None:
                    exactly = ExactRecursion(problem.mechanism, problem.nodes, problem.samples, problem.loops)
                    self.groups = exactly.groups(problem.massless, view)
                else:
                    driven = ExactDriven(problem.mechanism, problem.nodes, problem.kinds)
                    self.groups = driven.groups(problem.massless, view)
                    self.drive = driven.drive
            except NotExact as obstacle:
                self.why_not = str(obstacle)
        if wanted and self.groups is None:
            required_flint()
            raise ModelError(f"exact arithmetic cannot be used: {self.why_not}", remedy="Leave out exact=True")

    @staticmethod
    def _obstacle(problem: Problem) -> str:
        if flint() is None:
            return "python-flint is not installed (pip install 'zveno[exact]')"
        if problem.motors is not None and not all(node.simple for node in problem.nodes):
            return "drives of joints that share coordinates or close loops are analysed in floating point"
        return ""

    @property
    def ranks(self) -> list[int] | None:
        """Rank of every group."""
        return None if self.groups is None else [len(group.pivots) for group in self.groups]

    @property
    def rank(self) -> int:
        """Number of base parameters."""
        return sum(self.ranks or ())


def _length(mechanism: Mechanism) -> float:
    """The largest step between neighbouring frames: lengths are divided by it so that they are of size 1."""
    steps = [
        np.linalg.norm(T[:3, 3]) for joint in mechanism.joints for T in (joint.T_parent_joint, joint.T_joint_child)
    ]
    largest = max(steps, default=0.0)
    return float(largest) if largest > 0 else 1.0


def _shrunk(T: np.ndarray, scale: float) -> np.ndarray:
    T = T.copy()
    T[:3, 3] /= scale
    return T
