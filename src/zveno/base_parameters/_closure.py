"""Forward recursion over the functions of the coordinates that multiply a link's inertial parameters.

The pose of link k is T_k = T_parent M exp(D q) E with a constant twist D, so every function of the motion is a sum
of exp(Dᵀq) X exp(Dq). The span of its values over all q is the span of X, dX, d²X, … with dX = DᵀX + XD. No table
of functions per joint type is needed. Four small row spaces are propagated outward (document 000's Û and Â without
their 5^N indices):

    a: TᵀT (symmetric, at most 5 dimensions)     b: T,iᵀT for every coordinate i before (at most 10)
    c: T,iᵀT,j (symmetric, at most 10)           p: [gᵀ 0] T (4)

The block B_k holds the rows of link k that are not constant in its own coordinate. Parameters of link k and of all
links it carries affect the motion through B_k alone, so each block is an independent problem and the total is O(N).

With drives, a row also holds the constant part of its function, because rotors (through a and b) and offsets
(through p) can only be confused with constants.

All functions work in one arithmetic K, floating point or exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ..mechanism import Mechanism
from ._arithmetic import FULL, WIDTHS, Arithmetic, Congruence, Matrix, Twist
from ._nodes import Node
from .drives import Motors


class States(NamedTuple):
    """Row spaces of one body; with drives, the constant parts follow the columns of `WIDTHS`."""

    c: Matrix
    b: Matrix
    """State b, with one constant part per driven coordinate."""
    a: Matrix
    """State a, with one constant part."""
    p: Matrix
    """State p, with one constant part."""


@dataclass(frozen=True)
class Step:
    """Operators of a link on one joint: constant transforms before and after it, and the twists between."""

    before: Congruence | None
    twists: tuple[Twist, ...]
    after: Congruence | None


def steps_of(K: Arithmetic, mechanism: Mechanism, nodes: Sequence[Node]) -> tuple[dict[int, Step], dict[int, Any]]:
    """Build the operators of every simple node by link number, and the link poses in their parents at q = 0."""
    joints = {node.bodies[0]: mechanism.joints[node.bodies[0] - 1] for node in nodes if node.simple}
    poses = [
        (K.pose(joint.T_parent_joint, f"joint {joint.name}"), K.pose(joint.T_joint_child, f"joint {joint.name}"))
        for joint in joints.values()
    ]
    before, after = (K.congruences([pair[k] for pair in poses]) for k in (0, 1))
    steps, placed = {}, {}
    for n, (i, joint) in enumerate(joints.items()):
        columns = joint.type.subspace(joint.type.neutral()).T
        twists = tuple(K.twist(column, f"joint {joint.name}") for column in columns)
        steps[i] = Step(before[n], twists, after[n])
        placed[i] = poses[n][0] @ poses[n][1]
    return steps, placed


def root_states(K: Arithmetic, gravity: np.ndarray, motors: Motors | None) -> States:
    """States of the ground: a = 1 and p = direction of gravity."""
    constant, n = ([] if motors is None else [1]), (0 if motors is None else len(motors.place))
    a = K.matrix([[1, 1, 1, 0, 0, 0, 0, 0, 0, 1, *constant]], 10 + len(constant))
    # Without gravity only the constant function is left, which cannot be told from offsets.
    rows = [[*K.gravity(gravity, motors is not None), 0, *constant]] if gravity.any() or motors is not None else []
    return States(K.matrix([], 10), K.matrix([], 16 + n), a, K.matrix(rows, 4 + len(constant)))


def advance(
    K: Arithmetic, states: States, step: Step, motors: Motors | None, coordinates: Sequence[int | None]
) -> tuple[States, Matrix]:
    """Compute the states of a link from its parent's, and its block B_k (rows, 10 + drive columns).

    Args:
        K: the arithmetic.
        states: states of the parent.
        step: operators of the joint.
        motors: contributions of drives, or None.
        coordinates: driven velocity coordinate of every twist, or None.
    """
    states = moved(K, states, step.before)
    kinetic, potential = [], []
    for twist, coordinate in zip(step.twists, coordinates, strict=True):
        if all(rows is K.full(kind) for kind, rows in enumerate(states)):
            B, P = _saturated_rows(K, twist)  # depends on the joint alone
        else:
            states, B, P = _apply_twist(K, states, twist, motors, coordinate)
        kinetic.append(B)
        potential.append(P)
    return moved(K, states, step.after), placed(K, kinetic, potential, step.after, motors)


def moved(K: Arithmetic, states: States, A: Congruence | None) -> States:
    """Transform the states to another frame of the same body; full states stay."""
    if A is None:
        return states
    spaces = []
    for kind, rows in enumerate(states):
        if rows is not K.full(kind) and len(rows):
            operator = A.sixteen if kind == 1 else A.four if kind == 3 else A.ten
            rows = on(K, rows, operator, WIDTHS[kind])
        spaces.append(rows)
    return States(*spaces)


def on(K: Arithmetic, rows: Matrix, operator: Matrix, width: int) -> Matrix:
    """Apply an operator to the first `width` columns; the constant parts after them stay."""
    if rows.shape[1] == width:
        return rows @ operator
    return K.beside(rows[:, :width] @ operator, rows[:, width:])


def _apply_twist(
    K: Arithmetic, states: States, twist: Twist, motors: Motors | None, coordinate: int | None
) -> tuple[States, Matrix, Matrix]:
    """Compute the states after a twist, and its rows of kinetic (10 + drives) and potential energy (4 + drives)."""
    c, b, a, p = states
    if motors is None:
        kinetic = [c @ twist.c.once, b @ twist.b_to_c, a @ twist.a_to_c]
        rates, weight = a @ twist.a_to_b, p @ twist.p.once
    else:
        kinetic = [
            motors.behind(K, c @ twist.c.once),
            K.beside(b[:, :16] @ twist.b_to_c, b[:, 16:] @ motors.pairs(K, coordinate)),
            K.beside(a[:, :10] @ twist.a_to_c, a[:, 10:] @ motors.squares(K, coordinate, coordinate)),
        ]
        rates = K.beside(a[:, :10] @ twist.a_to_b, a[:, 10:] @ motors.unit(K, coordinate))
        weight = K.beside(p[:, :4] @ twist.p.once, p[:, 4:] @ motors.offset(K, coordinate))
    B = K.closed(kinetic, [twist.c], 10, 10)
    P = K.closed([weight], [twist.p], 4, 4)
    after = States(
        c if c is K.full(0) else K.state(0, c, B[:, :10]),
        b if b is K.full(1) else K.state(1, K.closed([b, rates], [twist.b], 16, FULL[1])),
        a if a is K.full(2) else K.state(2, K.closed([a], [twist.c], 10, FULL[2])),
        p if p is K.full(3) or not len(p) else K.state(3, K.closed([p], [twist.p], 4, 4)),
    )
    return after, B, P


@lru_cache(maxsize=512)
def _saturated_rows(K: Arithmetic, twist: Twist) -> tuple[Matrix, Matrix]:
    """Rows of a twist after joints with full rotation."""
    return _apply_twist(K, States(*(K.full(kind) for kind in range(4))), twist, None, None)[1:]


def placed(
    K: Arithmetic,
    kinetic: Sequence[Matrix],
    potential: Sequence[Matrix],
    after: Congruence | None,
    motors: Motors | None,
) -> Matrix:
    """Express the block in the link's own frame, after the joint, over its ten parameters and the drives."""
    blocks = [K.matrix([], 10 + (0 if motors is None else motors.n_columns))]
    for rows in kinetic:
        if len(rows):
            blocks.append(on(K, rows if after is None else on(K, rows, after.ten, 10), K.weights, 10))
    for rows in potential:
        if len(rows):
            blocks.append(on(K, rows if after is None else on(K, rows, after.four, 4), K.moments, 4))
    return K.reduced(*blocks)


def advance_ball(
    K: Arithmetic, states: States, step: Step, motors: Motors, coordinates: Sequence[int]
) -> tuple[States, Matrix]:
    """Advance, as `advance` does, across a driven ball or free joint, whose velocities are not coordinate rates.

    The joint's pose is an element R of a group, and its velocity is Ω = Σ ω_a D_a in its own axes. A motor on ω_a
    adds a constant to the mass matrix in these velocities, so the functions of R are expressed with them: RᵀXR,
    RᵀXR D_a, D_aᵀRᵀXR D_b. The span of RᵀXR over the group is X under all products of the operators
    X → D_aᵀX + XD_a; only the empty product sees the constant function.
    """
    twists = step.twists
    c, b, a, p = moved(K, states, step.before)
    b, a, p = (
        K.closed([rows], [getattr(twist, name) for twist in twists], width, most)
        for rows, name, width, most in ((b, "b", 16, FULL[1]), (a, "c", 10, FULL[2]), (p, "p", 4, 4))
    )
    grown = K.closed([c @ twist.c.once for twist in twists], [twist.c for twist in twists], 10, 10)
    kinetic, potential, behind = [motors.behind(K, grown)], [], [b]
    for x, twist in enumerate(twists):
        k = coordinates[x]
        kinetic.append(K.beside(b[:, :16] @ twist.b_to_c, b[:, 16:] @ motors.pairs(K, k)))
        for y in range(x, len(twists)):
            both = K.double @ K.kron(twist.D, twists[y].D) @ K.symmetric
            kinetic.append(K.beside(a[:, :10] @ both, a[:, 10:] @ motors.squares(K, k, coordinates[y])))
        behind.append(K.beside(a[:, :10] @ twist.a_to_b, a[:, 10:] @ motors.unit(K, k)))
        potential.append(K.beside(p[:, :4] @ twist.p.once, p[:, 4:] @ motors.offset(K, k)))
    B = K.reduced(*kinetic)
    after = States(K.state(0, c, B[:, :10]), K.state(1, *behind), a, p)
    return moved(K, after, step.after), placed(K, [B], potential, step.after, motors)
