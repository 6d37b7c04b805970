"""The recursion over the nodes of a mechanism in one arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import drives as driving
from .arithmetic import Arithmetic, Matrix
from .blocks import Block, grouped
from .closure import States, Step, advance, advance_ball, root_states, steps_of
from .motors import Motors
from .nodes import Node
from .problem import Problem
from .sampled import Sample, advance_sampled


class Recursion:
    """Blocks of all nodes in one arithmetic.

    Attributes:
        K: the arithmetic.
        samples: of every node that is not simple, by its first body; after the constants, which are quicker.
        states: row spaces of every link, 0 being the ground.
        steps: operators of the simple nodes, by link number.
        poses: of every link in its node's parent at the reference configuration.
        node_blocks: (rows, 10 n + drive columns) of every node.
        blocks: the same joined across massless links.
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
        """Across the joint of link i."""
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
        """Of every node, (states, n_e, m): driven velocities for each of its independent ones."""
        mechanism, driven = self.problem.mechanism, list(motors.place)
        rates: list[Any] = []
        for node in self.problem.nodes:
            if node.simple:
                part = mechanism.v_slices[mechanism.joints[node.bodies[0] - 1].name]
                rates.append(np.eye(mechanism.n_v, dtype=int)[None, driven, part])
            else:
                rates.append(np.array([sample.rates for sample in self.samples[node.bodies[0]]]))
        return rates
