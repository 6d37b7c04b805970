"""Joints that share coordinates and loops that move in proportion, in exact arithmetic."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from base_loops import LOOP, NORMAL, PARALLEL, PLANE, four_bar
from base_oracle import rank_of, residual, sampled

from tiers import few
from zveno.base_parameters._nodes import nodes_of
from zveno.base_parameters.analyse import base_parameters
from zveno.errors import ZvenoWarning
from zveno.mechanism import Helical, Joint, Link, Mimic, Prismatic, Revolute, assemble
from zveno.spatial.rotations import elementary
from zveno.spatial.transforms import transform

pytest.importorskip("flint")

from zveno.base_parameters._exact import exact_recursion
from zveno.base_parameters._exact_samples import complex_power, exact_samples, followers
from zveno.base_parameters._recursion import Problem
from zveno.base_parameters._samples import advance_sampled
from zveno.base_parameters.exact_field import basis


def tied_tree(seed: int, step: float = 90.0):
    """A tree with one joint that follows another."""
    rng = np.random.default_rng(seed)
    links, joints = [Link("link0")], []
    for k in range(1, 4 + seed % 3):
        axis = np.eye(3)[rng.integers(3)] * rng.choice([1.0, -1.0])
        kind = (Revolute(axis), Prismatic(axis), Helical(axis, 0.25))[rng.choice(3, p=(0.5, 0.4, 0.1))]
        R = elementary("xyz"[rng.integers(3)], math.radians(step) * rng.integers(360 // int(step)))
        T = transform(R, rng.choice([0.0, 0.3, 0.5], 3))
        joints.append(Joint(f"joint{k}", f"link{rng.integers(k)}", f"link{k}", kind, T))
        links.append(Link(f"link{k}", np.ones(10)))
    leader, follower = rng.choice(len(joints), 2, replace=False)
    both = isinstance(joints[follower].type, Revolute)
    ratio, offset = rng.choice([1.0, -1.0, 2.0, 0.5]), math.radians(90) * rng.integers(3) if both else 0.0
    joints[follower] = replace(joints[follower], mimic=Mimic(joints[leader].name, ratio, offset))
    return assemble("tied", links, joints, gravity=rng.choice([0.0, 1.0], 3))


def both_ways(mechanism, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ZvenoWarning)
        return [base_parameters(mechanism, exact=flag, **options) for flag in (None, False)]


@pytest.mark.laws
@pytest.mark.parametrize("start", few(range(0, 24, 8), 1))
def test_followers_exactly_and_in_floating_point(start):
    certified = 0
    for seed in range(start, start + 8):
        tree = tied_tree(seed)
        exact, floating = both_ways(tree)
        certified += exact.certified
        np.testing.assert_array_equal(exact.columns, floating.columns, err_msg=str(seed))
        np.testing.assert_allclose(exact.matrix, floating.matrix, atol=1e-8)
        W = sampled(tree)
        assert exact.rank == rank_of(W)
        assert residual(W, exact) < 1e-10
    assert certified >= 5


@pytest.mark.laws
def test_roots_and_massless_links_among_followers():
    links = [Link("ground"), *(Link(f"link{k}", np.ones(10)) for k in (1, 2, 3))]
    turned = transform(elementary("x", math.radians(30)), np.array([0.1, 0.2, 0.0]))
    joints = [
        Joint("a", "ground", "link1", Revolute((0, 1, 0)), turned),
        Joint("b", "link1", "link2", Revolute((0, 0, 1)), turned),
        Joint("c", "link2", "link3", Revolute((1, 0, 0)), turned, mimic=Mimic("b", -1.0, math.radians(45))),
    ]
    tree = assemble("roots", links, joints, gravity=(0.0, 0.0, -9.81))
    for massless in ((), ("link2",)):
        exact, floating = both_ways(tree, massless=massless)
        assert exact.certified
        np.testing.assert_array_equal(exact.columns, floating.columns)
        np.testing.assert_allclose(exact.matrix, floating.matrix, atol=1e-10)


def test_there_are_enough_points_for_a_proof():
    bar = four_bar(*PARALLEL, PLANE)
    joints = tuple(
        replace(joint, mimic=None if joint.name == "a" else Mimic("a", {"b": -1.0, "c": 1.0}[joint.name]))
        for joint in bar.joints
    )
    tied = replace(bar, joints=joints)
    (node,) = nodes_of(tied)
    # Two turns lead to the coupler, squared in the energy: degree 4, which nine points decide.
    samples = exact_samples(followers(tied, node, None))
    assert len(samples) == 9
    assert len({sample.T[node.bodies.index(2)].rows for sample in samples}) == 9


def test_rows_of_a_rack_and_pinion_are_sampled_apart():
    links = [Link("ground"), Link("pinion", np.ones(10)), Link("rack", np.ones(10))]
    joints = [
        Joint("turn", "ground", "pinion", Revolute((0, 0, 1))),
        Joint("slide", "ground", "rack", Prismatic((1, 0, 0)), mimic=Mimic("turn", 0.05)),
    ]
    tree = assemble("rack", links, joints, gravity=(0.0, -9.0, 0.0))
    exact, _ = both_ways(tree)
    W = sampled(tree)
    assert exact.certified
    assert exact.rank == rank_of(W)
    assert residual(W, exact) < 1e-10
    assert "I1zz + 0.0025·m2" in exact.expressions


def test_a_ratio_that_is_no_small_fraction_is_left_to_floating_point():
    bar = four_bar(*PARALLEL, PLANE)
    joints = tuple(
        joint if joint.name == "a" else replace(joint, mimic=Mimic("a", 0.7318234)) for joint in bar.joints
    )
    found, _ = both_ways(replace(bar, joints=joints))
    assert "too many exact samples" in found.why_not_certified


def test_powers_on_the_circle():
    c, s = Fraction(3, 5), Fraction(4, 5)
    angle = math.atan2(4, 3)
    for n in (-3, -1, 0, 1, 4):
        x, y = complex_power(c, s, n)
        assert (float(x), float(y)) == pytest.approx((math.cos(n * angle), math.sin(n * angle)))
        assert x * x + y * y == 1


@pytest.mark.laws
@pytest.mark.parametrize("gravity", [PLANE, NORMAL])
def test_a_parallelogram_in_a_tree_is_certified(gravity):
    bar = four_bar(*PARALLEL, gravity)
    links = [Link("world"), *bar.links, Link("hand", np.ones(10))]
    joints = [
        Joint("turn", "world", "ground", Revolute((0, 1, 0))),
        *bar.joints,
        Joint("wrist", "coupler", "hand", Revolute((1, 0, 0)), transform(None, np.array([0.2, 0.1, 0.3]))),
    ]
    whole = assemble("tree", links, joints, bar.frames, gravity=gravity)
    exact, floating = both_ways(whole, loops=[LOOP], q0=(0.0, 1.0, -1.0, 0.0, 1.0))
    assert exact.certified
    np.testing.assert_array_equal(exact.columns, floating.columns)
    np.testing.assert_allclose(exact.matrix, floating.matrix, atol=1e-9)


@pytest.mark.laws
def test_a_loop_that_closes_only_nearly_is_not_certified():
    nearly = four_bar(0.3, 0.6, 0.3, 0.6 + 1e-11, PLANE)
    exact, _ = both_ways(nearly, loops=[LOOP], q0=(1.0, -1.0, 1.0))
    assert not exact.certified
    assert "close exactly" in exact.why_not_certified or "proportion" in exact.why_not_certified


@pytest.mark.parametrize("seed", few(range(8)))
def test_sampling_a_joint_of_its_own_gives_what_the_closure_gives(seed):
    tree = tied_tree(seed)
    free = replace(tree, joints=tuple(replace(joint, mimic=None) for joint in tree.joints))
    recursion = exact_recursion(Problem(free, drives=False, massless=None, loops=(), q0=None))
    for node, block in zip(recursion.problem.nodes, recursion.node_blocks, strict=True):
        (i,) = node.bodies
        samples = exact_samples(followers(free, node, None))
        (states,), rows = advance_sampled(recursion.K, recursion.states[node.parent], samples, None)
        assert rows.numbers() == block.numbers()
        for kind in range(4):
            assert basis(states[kind]).numbers() == basis(recursion.states[i][kind]).numbers(), kind
