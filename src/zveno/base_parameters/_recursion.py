"""Recursion over the nodes of a mechanism in one arithmetic, from the problem to pivots and grouping."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..errors import ModelError
from ..mechanism import Loop, Mechanism
from . import drives as driving
from ._arithmetic import Arithmetic, Matrix
from ._blocks import Block, Solved, grouped, solve_blocks
from ._closure import States, Step, advance, advance_ball, root_states, steps_of
from ._floating import floating_arithmetic
from ._nodes import Node, massless_links, nodes_of
from ._samples import Sample, Samples, advance_sampled, floating_samples, node_samples
from ._views import DEGREES, View, carried_in
from .drives import Motors, tied_frictions, tied_velocities
from .result import Group

SEED = 0
"""Random seed of the generic states at which nodes with shared coordinates or loops are sampled."""


class Problem:
    """Input of the analysis: the mechanism, the parameters that count, and the branch of its loops."""

    loops: Sequence[Loop]
    q0: np.ndarray | None

    def __init__(
        self,
        mechanism: Mechanism,
        drives: bool | Sequence[str] | None,
        massless: Sequence[str] | None,
        loops: Sequence[Loop],
        q0: np.ndarray | None,
    ):
        self.mechanism = mechanism
        self.kinds: tuple[str, ...] = driving.counted_kinds(mechanism, drives)
        driving.reject_coupling(self.kinds, loops)
        for joint in mechanism.joints:
            if not (np.isfinite(joint.T_parent_joint).all() and np.isfinite(joint.T_joint_child).all()):
                raise ModelError(
                    "its placement is not finite", element=f"joint {joint.name}", remedy="Give a finite placement"
                )
        self.massless: frozenset[int] = massless_links(mechanism, massless)
        self.nodes: list[Node] = nodes_of(mechanism, loops)
        self.scale: float = _length(mechanism)
        self.loops, self.q0 = loops, q0
        self.driven: bool = bool(driving.drive_columns(mechanism, self.kinds))
        """True if rotors, couplings or offsets are counted, which can merge with link parameters."""
        rng = np.random.default_rng(SEED)
        self.samples: dict[int, Samples] = {
            node.bodies[0]: node_samples(mechanism, node, loops, q0, rng) for node in self.nodes if not node.simple
        }
        """Samples of every node that is not simple, by its first body, in m and rad."""

    def frictions(self) -> tuple[list[int], list[int], Solved | None]:
        """Friction columns that are base parameters by themselves, those in loops, and the grouping in loops."""
        rates = [sample.velocities for sample in self.samples.values() if sample.closed]
        tied = tied_velocities(self.mechanism, rates)
        alone = driving.frictions(self.mechanism, self.kinds, tied)
        rng = np.random.default_rng(SEED)
        return alone, *tied_frictions(self.mechanism, self.kinds, rates, rng)


def _length(mechanism: Mechanism) -> float:
    """Largest distance between adjacent frames, by which lengths are divided."""
    steps = [
        np.linalg.norm(T[:3, 3]) for joint in mechanism.joints for T in (joint.T_parent_joint, joint.T_joint_child)
    ]
    largest = max(steps, default=0.0)
    return float(largest) if largest > 0 else 1.0


class Recursion:
    """Blocks of all nodes in one arithmetic.

    Attributes:
        K: the arithmetic.
        samples: samples of every node that is not simple, by its first body.
        states: row spaces of every link, where link 0 is the ground.
        steps: operators of the simple nodes, by link number.
        poses: pose of every link in its node's parent at the reference configuration.
        node_blocks: (rows, 10 n + drive columns) of every node.
        blocks: node blocks joined across massless links.
        drive_rows: rows over the drives alone.
    """

    problem: Problem
    motors: Motors | None
    steps: dict[int, Step]
    poses: dict[int, Any]

    def __init__(
        self, K: Arithmetic, problem: Problem, motors: Motors | None, samples_of: Callable[[Node], Sequence[Sample]]
    ):
        self.K, self.problem, self.motors = K, problem, motors
        mechanism = problem.mechanism
        self.steps, self.poses = steps_of(K, mechanism, problem.nodes)
        tied = [node for node in problem.nodes if not node.simple]
        self.samples: dict[int, Sequence[Sample]] = {node.bodies[0]: samples_of(node) for node in tied}
        self.states: dict[int, States] = {0: root_states(K, mechanism.gravity, motors)}
        self.drive_rows: list[Matrix] = []
        self.node_blocks: list[Matrix] = []
        for node in problem.nodes:
            above = self.states[node.parent]
            if node.simple:
                (i,) = node.bodies
                self.states[i], block = self._advance(above, i, self.steps[i])
            else:
                samples = self.samples[node.bodies[0]]
                self.poses |= zip(node.bodies, samples[0].T, strict=True)
                bodies, block = advance_sampled(K, above, samples, motors)
                self.states |= zip(node.bodies, bodies, strict=True)
            self.node_blocks.append(block)
        self.blocks: list[Block] = grouped(K, problem.nodes, self.node_blocks, self.poses, problem.massless)
        if motors is not None:
            self.drive_rows.append(driving.coupled_rows(K, problem.nodes, self._rates(motors), motors))

    def _advance(self, states: States, i: int, step: Step) -> tuple[States, Matrix]:
        """Advance the states across the joint of link i."""
        mechanism, motors = self.problem.mechanism, self.motors
        joint = mechanism.joints[i - 1]
        part = mechanism.v_slices[joint.name]
        velocities = range(part.start, part.stop)
        if motors is None or part.start not in motors.place:
            return advance(self.K, states, step, motors, [None] * len(velocities))
        if joint.type.n_q == joint.type.n_v:
            return advance(self.K, states, step, motors, velocities)
        return advance_ball(self.K, states, step, motors, velocities)

    def _rates(self, motors: Motors) -> list[np.ndarray]:
        """Driven velocities per independent velocity, (states, n_e, m), for every node."""
        mechanism, driven = self.problem.mechanism, list(motors.place)
        rates: list[Any] = []
        for node in self.problem.nodes:
            if node.simple:
                part = mechanism.v_slices[mechanism.joints[node.bodies[0] - 1].name]
                rates.append(np.eye(mechanism.n_v, dtype=int)[None, driven, part])
            else:
                rates.append(np.array([sample.rates for sample in self.samples[node.bodies[0]]]))
        return rates


class Solution(NamedTuple):
    """Grouping of the parameters of all links and drives."""

    groups: tuple[Group, ...]
    drive_pivots: np.ndarray
    drive_grouping: np.ndarray
    exact_drive_grouping: tuple[tuple[str, ...], ...] | None = None

    @property
    def rank(self) -> int:
        """Number of base parameters of links and drives, without friction."""
        return sum(len(group.pivots) for group in self.groups) + len(self.drive_pivots)


class FloatingSolution(NamedTuple):
    """Grouping in floating point, and the blocks with their singular values."""

    solution: Solution
    blocks: list[Block]
    solved: list[Solved]


def floating_recursion(problem: Problem) -> Recursion:
    """Run the recursion in floating point."""
    mechanism, motors = problem.mechanism, None
    if problem.driven:
        size = float(np.linalg.norm(mechanism.gravity))
        motors = driving.motors_of(mechanism, problem.kinds, float, problem.scale, size if size > 0 else 1.0)
    driven = None if motors is None else list(motors.place)
    return Recursion(
        floating_arithmetic(problem.scale),
        problem,
        motors,
        lambda node: floating_samples(mechanism, problem.samples[node.bodies[0]], problem.scale, driven),
    )


def floating_solution(problem: Problem, view: View) -> FloatingSolution:
    """Compute the grouping in floating point, with lengths in m."""
    recursion = floating_recursion(problem)
    solved = solve_blocks(recursion.blocks, view.matrix)
    power = problem.scale ** DEGREES.astype(float)
    paths = np.array([path for block in recursion.blocks for path in block.paths]).reshape(-1, 4, 4)
    paths[:, :3, 3] *= problem.scale
    carrying, groups, start = carried_in(view, paths), [], 0
    for block, block_solution in zip(recursion.blocks, solved, strict=True):
        n = len(block.bodies)
        unit = np.tile(power, n)
        rows = unit[block_solution.pivots][:, None]
        Y, X = block_solution.Y[:, : 10 * n] * rows / unit, block_solution.Y[:, 10 * n :] * rows
        K = carrying[start : start + n]
        start += n
        groups.append(Group(block.bodies, block.parent, block_solution.pivots, Y, X, K, *block_solution.gap()))
    drive = driving.solve_drives(solved, *recursion.drive_rows) if problem.driven else None
    solution = Solution(tuple(groups), *driving.side_by_side(drive, problem.frictions()[2]))
    return FloatingSolution(solution, recursion.blocks, solved)
