"""The exact recursion against one without any shortcut: no state may stop growing too early."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tiers import few
from zveno.base_parameters._arithmetic import FULL, WIDTHS
from zveno.base_parameters._recursion import Problem
from zveno.base_parameters._views import DEGREES
from zveno.mechanism import Free, Helical, Joint, Link, Planar, Prismatic, Revolute, Spherical, Universal, assemble
from zveno.spatial.rotations import elementary
from zveno.spatial.transforms import transform

pytest.importorskip("flint")

from zveno.base_parameters._exact import exact_arithmetic, exact_recursion
from zveno.base_parameters._recursion import floating_recursion
from zveno.base_parameters.exact_field import basis
from zveno.spatial.exact_numbers import as_array

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


def recursion_of(mechanism):
    return exact_recursion(Problem(mechanism, drives=False, massless=None, loops=(), q0=None))


def same(A, B) -> bool:
    """Echelon forms are unique, so equal spaces have equal ones."""
    return A.shape == B.shape and A.numbers() == B.numbers()


def closed(rows, operator):
    """The closure by brute force: as many steps as any space could need."""
    for _ in range(ENOUGH):
        rows = basis(rows, rows @ operator)
    return rows


def plain(recursion) -> tuple[dict, dict]:
    """Blocks and states by the recursion without stopping early and without full states."""
    K = recursion.K
    c, b, a, p = recursion.states[0]
    states = {0: (c, b, a, K.matrix([[*map(int, recursion.problem.mechanism.gravity), 0]], 4))}
    found = {}
    for node in recursion.problem.nodes:
        (i,) = node.bodies
        step = recursion.steps[i]
        c, b, a, p = _placed(states[node.parent], step.before)
        rows = [K.matrix([], 10)]
        for twist in step.twists:
            B = closed(basis(c @ twist.c.once, b @ twist.b_to_c, a @ twist.a_to_c), twist.c.once)
            P = closed(basis(p @ twist.p.once), twist.p.once)
            ten, four = (B, P) if step.after is None else (B @ step.after.ten, P @ step.after.four)
            rows += [ten @ K.weights, four @ K.moments]
            b = closed(basis(b, a @ twist.a_to_b), twist.b.once)
            a, c, p = closed(a, twist.c.once), basis(c, B), basis(p, P)
        states[i] = _placed((c, b, a, p), step.after)
        found[i] = basis(*rows)
    return found, states


def _placed(states, A):
    if A is None:
        return tuple(basis(rows) for rows in states)
    return tuple(
        basis(rows @ operator) for rows, operator in zip(states, (A.ten, A.sixteen, A.ten, A.four), strict=True)
    )


@pytest.mark.laws(after=4)
@pytest.mark.parametrize("step", [90.0, 45.0, 30.0])
@pytest.mark.parametrize("start", range(0, 24, 8))
def test_blocks_and_states_are_those_of_the_plain_recursion(step, start):
    for seed in range(start, start + (8 if step == 90.0 else 2)):
        mechanism = exact_tree(seed, step)
        recursion = recursion_of(mechanism)
        blocks, states = plain(recursion)
        for node, block in zip(recursion.problem.nodes, recursion.node_blocks, strict=True):
            (i,) = node.bodies
            assert same(block, blocks[i]), (seed, i)
            for kind in range(4):
                assert same(basis(recursion.states[i][kind]), states[i][kind]), (seed, i, kind)


@pytest.mark.parametrize("kind", range(4))
def test_a_full_state_is_the_same_behind_every_joint_and_in_every_frame(kind):
    space = exact_arithmetic().full(kind)
    assert space.shape == (FULL[kind], WIDTHS[kind])
    for step in recursion_of(exact_tree(5, 90.0)).steps.values():
        for A in filter(None, (step.before, step.after)):
            operator = (A.ten, A.sixteen, A.ten, A.four)[kind]
            assert same(basis(space @ operator), space)
        for twist in step.twists:
            operator = (twist.c, twist.b, twist.c, twist.p)[kind].once
            assert same(basis(space, space @ operator), space)


@pytest.mark.parametrize("seed", few(range(6)))
def test_both_arithmetics_run_the_same_recursion(seed):
    mechanism = exact_tree(seed, 45.0)
    problem = Problem(mechanism, drives=False, massless=None, loops=(), q0=None)
    for exact, floating in zip(
        *(make(problem).node_blocks for make in (exact_recursion, floating_recursion)), strict=True
    ):
        scaled = as_array(exact.numbers(), 10) * problem.scale ** -DEGREES.astype(float)
        both = np.linalg.matrix_rank(np.concatenate([scaled, floating]), tol=1e-9)
        assert both == len(exact) == np.linalg.matrix_rank(floating, tol=1e-9)
