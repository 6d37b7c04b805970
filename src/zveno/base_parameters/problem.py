"""A mechanism taken apart into nodes: what is asked, before any arithmetic."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..errors import ModelError
from ..mechanism import Loop, Mechanism
from . import drives as driving
from . import friction
from .blocks import Solved
from .nodes import Node, massless_links, nodes_of
from .samples import Samples, node_samples

SEED = 0
"""Of the generic states at which nodes with shared coordinates or loops are sampled."""


class Problem:
    """What is asked: a mechanism, what of it counts as a parameter, and the branch of its loops."""

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
        driving.refuse_coupling(self.kinds, loops)
        for joint in mechanism.joints:
            if not (np.isfinite(joint.T_parent_joint).all() and np.isfinite(joint.T_joint_child).all()):
                raise ModelError("its placement is not finite", element=f"joint {joint.name}")
        self.massless: frozenset[int] = massless_links(mechanism, massless)
        self.nodes: list[Node] = nodes_of(mechanism, loops)
        self.scale: float = _length(mechanism)
        self.loops, self.q0 = loops, q0
        self.driven: bool = bool(driving.drive_columns(mechanism, self.kinds))
        """Whether rotors, couplings or offsets are counted, which can merge with the links' parameters."""
        rng = np.random.default_rng(SEED)
        self.samples: dict[int, Samples] = {
            node.bodies[0]: node_samples(mechanism, node, loops, q0, rng) for node in self.nodes if not node.simple
        }
        """Of every node that is not simple, by its first body, in m and rad."""

    def frictions(self) -> tuple[list[int], list[int], Solved | None]:
        """Columns of frictions that are base parameters by themselves; those in loops, and how these merge."""
        rates = [sample.velocities for sample in self.samples.values() if sample.closed]
        tied = friction.tied_velocities(self.mechanism, rates)
        alone = driving.frictions(self.mechanism, self.kinds, tied)
        rng = np.random.default_rng(SEED)
        return alone, *friction.tied_frictions(self.mechanism, self.kinds, rates, rng)


def _length(mechanism: Mechanism) -> float:
    """The largest step between neighbouring frames: lengths are divided by it so that they are of size 1."""
    steps = [
        np.linalg.norm(T[:3, 3]) for joint in mechanism.joints for T in (joint.T_parent_joint, joint.T_joint_child)
    ]
    largest = max(steps, default=0.0)
    return float(largest) if largest > 0 else 1.0
