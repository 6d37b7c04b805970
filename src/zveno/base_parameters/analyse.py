"""The analysis from a mechanism to its base parameters."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..errors import ModelError, ShapeError, ZvenoWarning
from ..io.results import hash_of
from ..mechanism import Mechanism
from ..robot import Robot
from . import drives as driving
from .blocks import Block, Solved, grouped, solve_blocks
from .closure import Motors, States, advance, root_states, steps_of
from .loops import Loop
from .nodes import Node, massless_links, nodes_of
from .result import BaseParameters, Group
from .sampled import advance_sampled
from .samples import node_samples
from .views import DEGREES, carried, carried_in, view_named

SEED = 0
"""Of the generic states at which nodes with shared coordinates or loops are sampled."""


def base_parameters(
    robot: Robot | Mechanism,
    gravity=None,
    drives: bool | Sequence[str] = False,
    *,
    view: str = "inertia",
    massless: Sequence[str] | None = None,
    loops: Sequence[Loop] = (),
    q0=None,
) -> BaseParameters:
    """The smallest set of parameters that decides a robot's dynamics, and what each is made of.

    Args:
        robot: the robot, or its mechanism.
        gravity: (3,) acceleration of free fall, the robot's own if not given; zeros for none.
        drives: True counts rotor inertia, viscous and Coulomb friction and offset of every joint with one
            coordinate beside the links' parameters; or the kinds: ("rotor", "viscous", "coulomb", "offset").
        view: how a link's parameters are counted: "inertia", "pseudo" (document 000) or "center".
        massless: names of links without inertia; by default those whose inertia is stated to be zero.
        loops: what closes the mechanism's loops, as a cut tree.
        q0: a state on the branch of the loops that is meant; neutral if not given.
    """
    mechanism = robot.mechanism if isinstance(robot, Robot) else robot
    direction = checked_gravity(mechanism, gravity)
    if not np.array_equal(direction, mechanism.gravity):
        mechanism = replace(mechanism, gravity=direction)
    chosen = view_named(view)
    problem = Problem(mechanism, drives, massless, loops, q0)
    solved, drive = problem.solve(chosen.matrix)
    return problem.result(chosen.name, solved, drive)


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
        driving.refuse_loops(self.kinds, loops)
        for joint in mechanism.joints:
            if not (np.isfinite(joint.T_parent_joint).all() and np.isfinite(joint.T_joint_child).all()):
                raise ModelError("its placement is not finite", element=f"joint {joint.name}")
        self.massless = massless_links(mechanism, massless)
        self.nodes = nodes_of(mechanism, loops)
        self.scale = _length(mechanism)
        self.loops, self.q0 = loops, q0
        self.motors: Motors | None = None
        if self.kinds:
            self.motors = driving.motors_of(mechanism, self.kinds, mechanism.gravity, self.scale)
        self.poses: dict[int, np.ndarray] = {}
        """Pose of every link in its node's parent at the reference configuration."""
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
                v = mechanism.v_slices[joint.name].start
                driven = motors is not None and joint.mimic is None and v in motors.place and joint.type.n_v == 1
                states[i], block = advance(states[node.parent], steps[i], motors, v if driven else None)
                self.poses[i] = joint.T_parent_joint @ joint.T_joint_child
            else:
                block = self._cross(node, states, rng)
            B.append(block)
        scaled = {i: _shrunk(T, self.scale) for i, T in self.poses.items()}
        return grouped(self.nodes, B, scaled, self.massless, carried)

    def _cross(self, node: Node, states: dict[int, States], rng) -> np.ndarray:
        samples = node_samples(self.mechanism, node, self.loops, self.q0, rng)
        for k, i in enumerate(node.bodies):
            self.poses[i] = samples.T[0, k].copy()
        samples.T[..., :3, 3] /= self.scale
        samples.dT[..., :3, 3] /= self.scale
        bodies, block = advance_sampled(states[node.parent], samples, self.motors)
        states.update(zip(node.bodies, bodies, strict=True))
        return block

    def solve(self, to_view: np.ndarray) -> tuple[list[Solved], Solved | None]:
        """Every block solved, and the drives with what is left of them."""
        solved = solve_blocks(self.blocks, to_view)
        if self.motors is None:
            return solved, None
        coupled = driving.coupled_rows(self.mechanism, self.nodes, self.motors)
        return solved, driving.solve_drives(solved, coupled)

    def result(self, view: str, solved: list[Solved], drive: Solved | None) -> BaseParameters:
        """The result, with lengths as they are."""
        mechanism = self.mechanism
        chosen = view_named(view)
        power = self.scale ** DEGREES.astype(float)
        groups = []
        n_drive = 0 if self.motors is None else self.motors.n_columns
        for block, one in zip(self.blocks, solved, strict=True):
            width = 10 * len(block.bodies)
            unit = np.tile(power, len(block.bodies))
            rows = unit[one.pivots]
            paths = block.paths.copy()
            paths[:, :3, 3] *= self.scale
            groups.append(
                Group(
                    block.bodies,
                    block.parent,
                    one.pivots,
                    one.Y[:, :width] * rows[:, None] / unit,
                    one.Y[:, width:] * rows[:, None],
                    carried_in(chosen, paths),
                    one.kept,
                    one.dropped,
                )
            )
        columns = np.array(driving.drive_columns(mechanism, self.kinds), dtype=int)
        always = np.array(driving.frictions(mechanism, self.kinds), dtype=int)
        grouping = np.zeros((0, n_drive)) if drive is None else drive.Y
        pivots = np.zeros(0, dtype=int) if drive is None else drive.pivots
        return BaseParameters(
            mechanism=mechanism,
            view=view,
            groups=tuple(groups),
            kinds=self.kinds,
            drive_columns=columns,
            drive_pivots=pivots,
            drive_grouping=grouping,
            friction_columns=always,
            massless=tuple(mechanism.link_names[i] for i in sorted(self.massless)),
            certified=False,
            notes=(),
            inputs=hash_of(mechanism.fingerprint, view, list(self.kinds), sorted(self.massless)),
        )


def _length(mechanism: Mechanism) -> float:
    """The largest step between neighbouring frames: lengths are divided by it so that they are of size 1."""
    steps = [np.linalg.norm(T[:3, 3]) for joint in mechanism.joints for T in (joint.T_parent_joint, joint.T_joint_child)]
    largest = max(steps, default=0.0)
    return float(largest) if largest > 0 else 1.0


def _shrunk(T: np.ndarray, scale: float) -> np.ndarray:
    T = T.copy()
    T[:3, 3] /= scale
    return T


def warn(notes: Sequence[str]):
    """Say what deserves a second look."""
    for note in notes:
        warnings.warn(note, ZvenoWarning, stacklevel=3)
