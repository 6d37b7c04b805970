"""Document 000's example, and what rounded angles and tilted gravity do to it."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from reproduction.base_parameters import PRINTED, in_millimetres, printed_terms

import zveno
from zveno.base_parameters.analyse import base_parameters
from zveno.errors import ZvenoError, ZvenoWarning
from zveno.mechanism import (
    Fixed,
    Free,
    Helical,
    Joint,
    Link,
    Planar,
    Prismatic,
    Revolute,
    Spherical,
    Universal,
    assemble,
)
from zveno.spatial.exact_numbers import Surd, cosine, decimal, from_text
from zveno.spatial.rotations import elementary
from zveno.spatial.transforms import transform

pytest.importorskip("flint")


def test_all_36_expressions_are_the_printed_ones():
    ours = in_millimetres(base_parameters(zveno.load("puma560"), view="pseudo"))
    assert len(ours) == len(PRINTED) == 36
    rounded = {Fraction(187576): Fraction("187575.61"), Fraction(186451): Fraction("186451.24")}
    for text in PRINTED:
        printed = {
            name: math.copysign(1, x) * rounded.get(abs(x), abs(x)) for name, x in printed_terms(text).items()
        }
        own = ours[next(iter(printed))]
        assert {name: float(x) for name, x in own.items()} == pytest.approx(printed, rel=1e-15)


def test_the_expression_the_documentation_shows():
    base = base_parameters(zveno.load("puma560"), view="pseudo")
    assert base.certified
    assert "I3zz + I4yy - 0.8662·S4y + 0.18757561·(m4 + m5 + m6)" in base.expressions
    assert base.status == "certified"
    assert "36 base parameters of 60 (derived in exact arithmetic)" in base.summary


def test_exact_and_floating_point_agree():
    for name in ("puma560", "ur5", "stanford", "scara", "iiwa14", "quadruped"):
        exact, floating = (base_parameters(zveno.load(name), exact=flag) for flag in (True, False))
        assert exact.certified
        assert not floating.certified
        np.testing.assert_array_equal(exact.columns, floating.columns)
        np.testing.assert_allclose(exact.matrix, floating.matrix, atol=1e-12)


@pytest.mark.laws(after=1)
@pytest.mark.parametrize("start", range(0, 60, 20))
def test_exact_and_floating_point_agree_on_right_angled_trees(start):
    kinds = ("revolute", "prismatic", "helical", "universal", "spherical", "planar", "free", "fixed")
    for seed in range(start, start + 20):
        rng = np.random.default_rng(seed)
        links, joints = [Link("link0")], []
        for k in range(1, 2 + seed % 6):
            x, y, _ = np.eye(3)[rng.permutation(3)]
            types = (
                *(Revolute(x), Prismatic(x), Helical(x, 0.25), Universal(x, y)),
                *(Spherical(), Planar(x), Free(), Fixed()),
            )
            kind = types[rng.choice(len(kinds), p=(0.4, 0.3, 0.1, 0.04, 0.04, 0.04, 0.04, 0.04))]
            R = elementary("xyz"[rng.integers(3)], math.pi / 2 * rng.integers(4))
            T = transform(R, rng.choice([0.0, 0.3, 0.5], 3))
            joints.append(Joint(f"joint{k}", f"link{rng.integers(k)}", f"link{k}", kind, T))
            links.append(Link(f"link{k}", np.ones(10)))
        tree = assemble("tree", links, joints, gravity=rng.choice([0.0, 1.0], 3))
        exact, floating = (base_parameters(tree, exact=flag) for flag in (True, False))
        np.testing.assert_array_equal(exact.columns, floating.columns)
        np.testing.assert_allclose(exact.matrix, floating.matrix, atol=1e-11)


def turned_chain(angles, name="turned"):
    links = [Link("ground")] + [Link(f"link{k}", np.ones(10)) for k in range(1, len(angles) + 1)]
    joints = [
        Joint(
            f"joint{k}",
            links[k - 1].name,
            links[k].name,
            Revolute((0, 0, 1)),
            transform(elementary("x", math.radians(angle)), np.array([0.3, 0.0, 0.2])),
        )
        for k, angle in enumerate(angles, start=1)
    ]
    return assemble(name, links, joints)


@pytest.mark.parametrize("angles", [(0, 45, 30), (15, 60, 75, 0), (0, 30, -45, 120)])
def test_multiples_of_15_degrees_are_exact_too(angles):
    exact, floating = (base_parameters(turned_chain(angles), exact=flag) for flag in (True, False))
    np.testing.assert_array_equal(exact.columns, floating.columns)
    np.testing.assert_allclose(exact.matrix, floating.matrix, atol=1e-12)
    assert any(isinstance(x, Surd) for terms in exact.terms for x in terms.values())
    assert any("√" in text for text in exact.expressions)


def test_axes_with_simple_ratios_are_exact():
    links = [Link("a"), Link("b", np.ones(10)), Link("c", np.ones(10))]
    joints = [
        Joint("1", "a", "b", Revolute((1, 1, 1))),
        Joint("2", "b", "c", Revolute((3, 0, 4)), transform(None, np.ones(3))),
    ]
    exact, floating = (base_parameters(assemble("axes", links, joints), exact=flag) for flag in (True, False))
    np.testing.assert_array_equal(exact.columns, floating.columns)
    np.testing.assert_allclose(exact.matrix, floating.matrix, atol=1e-12)


def test_what_is_not_exact_says_so():
    base = base_parameters(turned_chain((0, 10)))
    assert not base.certified
    assert "joint2" in base.why_not_certified
    with pytest.raises(ZvenoError, match="joint2"):
        base_parameters(turned_chain((0, 10)), exact=True)


@pytest.mark.parametrize("snapped", [True, False])
def test_rounded_right_angles_leave_36(snapped):
    puma = zveno.load("puma560").mechanism
    joints = []
    for joint in puma.joints:
        T = joint.T_joint_child
        alpha = math.atan2(T[2, 1], T[2, 2])
        typed = math.copysign(1.570796325, alpha) if alpha else 0.0
        c, s = (round(math.cos(typed)), round(math.sin(typed))) if snapped else (math.cos(typed), math.sin(typed))
        R = np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])
        joints.append(replace(joint, T_joint_child=transform(R, T[:3, 3])))
    base = base_parameters(replace(puma, joints=tuple(joints)))
    assert base.rank == 36
    assert base.certified == snapped
    kept, dropped = base.gap
    assert kept > 1e-2
    assert dropped < 1e-13


@pytest.mark.parametrize("exact", [None, False])
def test_gravity_tilted_by_a_nanoradian_is_named(exact):
    with pytest.warns(
        ZvenoWarning, match="gravity is 1e-9 rad off joint 1's axis: 36 parameters if aligned, 38 if not"
    ):
        base = base_parameters(zveno.load("puma560"), gravity=(9.81e-9, 0.0, -9.81), exact=exact)
    assert base.rank == 38
    assert base.status == "near-degenerate"
    assert base.gap[0] < 1e-8


def test_five_digit_angles_are_named():
    links = [Link("ground")] + [Link(f"link{k}", np.ones(10)) for k in (1, 2, 3)]
    tilt = transform(elementary("x", 1.57079), np.zeros(3))
    joints = [
        Joint("lift", "ground", "link1", Revolute((0, 1, 0)), tilt),
        Joint("shoulder", "link1", "link2", Revolute((1, 0, 0)), transform(None, np.array([0.1, 0.0, 0.0]))),
        Joint("elbow", "link2", "link3", Revolute((1, 0, 0)), transform(None, np.array([0.0, 0.3, 0.0]))),
    ]
    typed = assemble("typed", links, joints)
    meant = base_parameters(
        replace(
            typed, joints=(replace(joints[0], T_parent_joint=transform(elementary("x", math.pi / 2))), *joints[1:])
        )
    )
    with pytest.warns(ZvenoWarning, match="as typed"):
        literal = base_parameters(typed)
    assert literal.rank == meant.rank + 2
    assert literal.notes[0].endswith(f"{literal.rank} parameters as typed, {meant.rank} as meant")


def test_long_chains_stay_clear():
    # The reach of the chain must not eat the digits that decide a rank.
    for name, rank in (("chain(200)", 3 * 200), ("chain(1)", 3)):
        base = base_parameters(zveno.load(name), exact=False)
        assert base.rank == rank
        assert base.gap[0] > 1e-3
    turned = base_parameters(turned_chain([(0, 90, -90)[k % 3] for k in range(120)]), exact=False)
    assert turned.rank == base_parameters(turned.mechanism, exact=True).rank
    assert turned.gap[0] > 1e-3


def test_exact_numbers():
    root2, root3 = cosine(3) + cosine(3), cosine(2) + cosine(2)
    assert root2 * root2 == Surd((2, 0, 0, 0))
    assert root2 * root3 == Surd((0, 0, 0, 1))
    assert all(abs(float(cosine(k)) - math.cos(math.radians(15 * k))) < 1e-15 for k in range(-30, 30))
    assert decimal(431.8 * 0.001) == Fraction("0.4318")
    assert decimal(1 / 3) == Fraction(1 / 3)
    assert from_text("1/2") == Fraction(1, 2)
    assert from_text("0 1/2 0 0") == cosine(3)


def test_no_warning_without_reason():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        base_parameters(zveno.load("panda"), gravity=(1.0, 2.0, 3.0))
