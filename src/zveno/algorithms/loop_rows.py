"""Rows of closed loops, each in the axes of the link that carries both its ends.

Joints that carry a whole loop do not enter its rows: their columns of J are exactly zero, and a direction in which
a plane loop cannot move is zero to rounding. In world axes the same rows would hold 1e-17 instead, which the
scaling of a solver can blow up to a direction of its own. Rows also cost fewer operations this way.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ..mechanism import Loop, Mechanism, assemble
from .constraints import Kinematics, Rows, closing, stacked


class Source(NamedTuple):
    """Entry of the whole q or v that a coordinate of a part follows; multiplier and offset are of mimic joints."""

    entry: int
    multiplier: float = 1.0
    offset: float = 0.0

    def of(self, x: Any) -> Any:
        """Return the coordinate from the whole x."""
        value = x[self.entry] if self.multiplier == 1.0 else self.multiplier * x[self.entry]
        return value + self.offset if self.offset else value


class LoopPart(NamedTuple):
    """Chain of joints that one loop closes, as a mechanism whose link 0 carries both ends of the loop."""

    loop: Loop
    mechanism: Mechanism
    """the joints between the two ends; mimic joints have coordinates of their own here"""
    q: tuple[Source, ...]
    """source in the whole q of every coordinate of the part"""
    v: tuple[Source, ...]
    """source in the whole v of every velocity of the part"""

    def rows(self, q: Any, v: Any, n_v: int) -> Rows:
        """Return φ, J (rows, n_v) and P of the loop for q and v of the whole mechanism."""
        state = Kinematics(
            self.mechanism,
            np.array([source.of(q) for source in self.q]),
            np.array([source.of(v) for source in self.v]),
        )
        A, B = state.frame(self.loop.frame), state.frame(self.loop.other)
        rows = closing(A, B, self.loop.locked, self.mechanism.n_v)
        J = np.zeros((len(rows.J), n_v), dtype=rows.J.dtype)
        for k, (column, factor, _) in enumerate(self.v):  # a joint and its mimics share a column
            J[:, column] = J[:, column] + (rows.J[:, k] if factor == 1.0 else factor * rows.J[:, k])
        return rows._replace(J=J)


@lru_cache(maxsize=256)
def loop_parts(mechanism: Mechanism) -> tuple[LoopPart, ...]:
    """Return the chain of every loop of a mechanism."""
    return tuple(_part(mechanism, loop) for loop in mechanism.loops)


def _part(mechanism: Mechanism, loop: Loop) -> LoopPart:
    chains = []
    for link in map(mechanism.link_number, mechanism.loop_links(loop)):
        chains.append([*mechanism.tree.ancestors(link), link])
    common = max(set(chains[0]) & set(chains[1]))
    numbers = sorted(i for chain in chains for i in chain if i > common)
    originals = [mechanism.joints[i - 1] for i in numbers]
    links = [mechanism.links[i] for i in (common, *numbers)]
    frames = [mechanism.frame(name) for name in (loop.frame, loop.other)]
    frames = [frame for frame in frames if frame.name not in mechanism.link_names]
    part = assemble(loop.label, links, [replace(joint, mimic=None) for joint in originals], frames)
    q, v = [], []
    for joint in part.joints:
        mimic = mechanism.joint(joint.name).mimic
        at_q = range(mechanism.n_q)[mechanism.q_slices[joint.name]]
        at_v = range(mechanism.n_v)[mechanism.v_slices[joint.name]]
        if mimic is None:
            q += [Source(k) for k in at_q]
            v += [Source(k) for k in at_v]
        else:
            q += [Source(k, mimic.multiplier, mimic.offset) for k in at_q]
            v += [Source(k, mimic.multiplier) for k in at_v]
    return LoopPart(loop, part, tuple(q), tuple(v))


def loop_rows(mechanism: Mechanism, q: Any, v: Any) -> Rows:
    """Return the rows of all closed loops of a mechanism, in the order of its loops: φ, J (m, n_v) and P.

    Translations are in m along the axes of `other`, rotations in rad, both as seen from the link that carries the
    two ends. J and P are those of `zveno.algorithms.constraints`: φ̇ = J v and φ̈ = J a + P.
    """
    return stacked([part.rows(q, v, mechanism.n_v) for part in loop_parts(mechanism)], mechanism.n_v)


def row_names(mechanism: Mechanism) -> tuple[str, ...]:
    """Return a name for every row of `loop_rows`: the loop and the locked direction."""
    return tuple(f"{loop.label} {direction}" for loop in mechanism.loops for direction in loop.locked)
