"""The exact recursion against one without any shortcut: no state may stop growing too early."""

from __future__ import annotations

import math

import numpy as np
import pytest

from zveno.base_parameters.nodes import nodes_of
from zveno.mechanism import Free, Helical, Joint, Link, Planar, Prismatic, Revolute, Spherical, Universal, assemble
from zveno.spatial.rotations import elementary
from zveno.spatial.transforms import transform

pytest.importorskip("flint")

from zveno.base_parameters.exact_closure import FULL, ExactRecursion, full_space
from zveno.base_parameters.exact_operators import congruence, field_of, in_moments, operators, weighted

ENOUGH = 17
"""No space here has more dimensions than this, so that as many steps close it whatever it is."""


def exact_tree(seed: int, step: float):
    """A tree whose angles are multiples of `step` degrees, with every joint type."""
    rng = np.random.default_rng(seed)
    links, joints = [Link("link0")], []
    for k in range(1, 4 + seed % 4):
        x, y, _ = np.eye(3)[rng.permutation(3)]
        types = (Revolute(x), Prismatic(x), Helical(x, 0.25), Universal(x, y), Spherical(), Planar(x), Free())
        kind = types[rng.choice(len(types), p=(0.4, 0.2, 0.2, 0.05, 0.05, 0.05, 0.05))]
        R = elementary("xyz"[rng.integers(3)], math.radians(step) * rng.integers(360 // int(step)))
        T = transform(R, rng.choice([0.0, 0.3, 0.5], 3))
        joints.append(Joint(f"joint{k}", f"link{max(0, k - 1 - int(rng.integers(2)))}", f"link{k}", kind, T))
        links.append(Link(f"link{k}", np.ones(10)))
    return assemble("tree", links, joints, gravity=rng.choice([0.0, 1.0], 3))


def same(A, B) -> bool:
    """Echelon forms are unique, so equal spaces have equal ones."""
    return A.nrows() == B.nrows() and A.entries() == B.entries()


def closed(field, rows, operator):
    """The closure by brute force: as many steps as any space could need."""
    for _ in range(ENOUGH):
        rows = field.basis(rows, rows * operator)
    return rows


def plain(recursion: ExactRecursion, field) -> tuple[dict, dict]:
    """Blocks and states by the recursion in one field, without stopping early and without full states."""
    one = field.matrix([[field.number(int((i == j and i < 3) or s == 9)) for s, (i, j) in enumerate(PAIRS)]], 10)
    gravity = recursion.mechanism.gravity
    p = field.matrix([[field.number(int(x)) for x in (*gravity, 0)]], 4)
    states = {0: (field.empty(10), field.empty(16), field.basis(one), field.basis(p))}
    found = {}
    for node in recursion.nodes:
        (i,) = node.bodies
        before, after = recursion.placements[i]
        c, b, a, p = _placed(field, states[node.parent], before)
        rows = [field.empty(10)]
        for twist in recursion.twists[i]:
            op = operators(field, twist)
            B = closed(field, field.basis(c * op.c, b * op.b_to_c, a * op.a_to_c), op.c)
            P = closed(field, field.basis(p * op.p), op.p)
            rows += [
                weighted(field, B * congruence(field, after, 10)),
                in_moments(field, P * congruence(field, after, 4)),
            ]
            b = closed(field, field.basis(b, a * op.a_to_b), op.b)
            a, c, p = closed(field, a, op.c), field.basis(c, B), field.basis(p, P)
        states[i] = _placed(field, (c, b, a, p), after)
        found[i] = field.basis(*rows)
    return found, states


PAIRS = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2), (0, 3), (1, 3), (2, 3), (3, 3))


def _placed(field, states, A):
    return tuple(field.basis(x * congruence(field, A, w)) for x, w in zip(states, (10, 16, 10, 4), strict=True))


@pytest.mark.parametrize("step", [90.0, 45.0, 30.0])
@pytest.mark.parametrize("start", range(0, 24, 8))
def test_blocks_and_states_are_those_of_the_plain_recursion(step, start):
    for seed in range(start, start + (8 if step == 90.0 else 2)):
        mechanism = exact_tree(seed, step)
        recursion = ExactRecursion(mechanism, nodes_of(mechanism))
        every = {k for pair in recursion.placements.values() for A in pair for k in A.roots}
        field = field_of(frozenset(every))
        blocks, states = plain(recursion, field)
        for i, expected in blocks.items():
            block = recursion.blocks[i]
            assert same(field.lifted(block.B, block.field), expected), (seed, i)
            for name, space in zip("cbap", states[i], strict=True):
                own = recursion.states[i][name]
                assert same(field.lifted(own.rows, own.field), space), (seed, i, name)


@pytest.mark.parametrize("name", FULL)
def test_a_full_state_is_the_same_behind_every_joint_and_in_every_frame(name):
    space = full_space(name)
    assert space.rank == FULL[name]
    field = space.field
    width = {"c": 10, "b": 16, "a": 10, "p": 4}[name]
    mechanism = exact_tree(5, 90.0)
    recursion = ExactRecursion(mechanism, nodes_of(mechanism))
    for pair in recursion.placements.values():
        for A in pair:
            assert field.basis(space.rows * congruence(field, A, width)).entries() == space.rows.entries()
    for own in recursion.twists.values():
        for D in own:
            op = operators(field, D)
            step = space.rows * {"c": op.c, "b": op.b, "a": op.c, "p": op.p}[name]
            assert field.basis(space.rows, step).entries() == space.rows.entries()
