"""Drives in exact arithmetic against floating point, which has samples as its oracle, and in words."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import zveno
from tiers import few
from zveno.base_parameters.analyse import base_parameters
from zveno.errors import ZvenoError
from zveno.mechanism import Drive, Helical, Joint, Link, Mimic, Planar, Prismatic, Revolute, Universal, assemble
from zveno.spatial.rotations import elementary
from zveno.spatial.transforms import transform

pytest.importorskip("flint")
KINDS = (("rotor",), ("rotor", "offset"), True)


@pytest.mark.parametrize(
    ("name", "ranks"), [("puma560", (40, 46, 58)), ("scara", (11, 14, 22)), ("tx40", (40, 46, 58))]
)
def test_arms_are_certified_with_drives(name, ranks):
    robot = zveno.load(name)
    for kinds, rank in zip(KINDS, ranks, strict=True):
        exact, floating = (base_parameters(robot, drives=kinds, exact=flag) for flag in (True, False))
        assert exact.certified
        assert exact.rank == rank
        np.testing.assert_array_equal(exact.columns, floating.columns)
        np.testing.assert_allclose(exact.matrix, floating.matrix, atol=1e-10, rtol=1e-10)


def driven_tree(seed: int, step: float):
    rng = np.random.default_rng(seed)
    links, joints = [Link("link0")], []
    for k in range(1, 3 + seed % 4):
        x, y, _ = np.eye(3)[rng.permutation(3)]
        kind = (Revolute(x), Prismatic(x), Helical(x, 0.25), Universal(x, y), Planar(x))[
            rng.choice(5, p=(0.4, 0.3, 0.1, 0.1, 0.1))
        ]
        R = elementary("xyz"[rng.integers(3)], math.radians(step) * rng.integers(360 // int(step)))
        drive = Drive(1.0, rng.choice([1.0, -2.5, 50.0], kind.n_v))
        T = transform(R, rng.choice([0.0, 0.3, 0.5], 3))
        joints.append(Joint(f"joint{k}", f"link{rng.integers(k)}", f"link{k}", kind, T, drive=drive))
        links.append(Link(f"link{k}", np.ones(10)))
    tree = assemble("tree", links, joints, gravity=rng.choice([0.0, 9.81], 3))
    if seed % 3 == 0:
        N = tree.transmission_matrix.copy()
        N[rng.integers(tree.n_v), rng.integers(tree.n_v)] += 0.5
        tree = replace(tree, transmission=N)
    return tree


@pytest.mark.laws(after=1)
@pytest.mark.parametrize(
    ("step", "seeds"), few([(90.0, range(6)), (45.0, range(3)), (30.0, range(3, 6)), (90.0, range(6, 24))], 3)
)
def test_trees_with_exact_angles(step, seeds):
    for seed in seeds:
        tree = driven_tree(seed, step)
        massless = tree.link_names[1:2] if seed % 4 == 1 else ()
        for kinds in KINDS[1:]:
            options = {"drives": kinds, "massless": massless}
            exact, floating = (base_parameters(tree, exact=flag, **options) for flag in (True, False))
            assert exact.certified
            np.testing.assert_array_equal(exact.columns, floating.columns, err_msg=str(seed))
            np.testing.assert_allclose(exact.matrix, floating.matrix, atol=1e-9, rtol=1e-9)


def test_the_expressions_are_exact_and_survive_a_file(tmp_path):
    base = base_parameters(zveno.load("puma560"), drives=True, view="pseudo")
    # 62.6111² and the document's own coefficient, in full.
    assert any("3920.14984321·Ia1" in text for text in base.expressions)
    assert any("0.18757561" in text for text in base.expressions)
    again = zveno.load_result(base.save(tmp_path / "base.json"))
    assert again.expressions == base.expressions


def test_weight_along_a_slide_is_an_offset_exactly():
    links = [Link("ground"), Link("slide", np.ones(10))]
    lift = assemble("lift", links, [Joint("z", "ground", "slide", Prismatic((0, 0, 1)))])
    base = base_parameters(lift, drives=("rotor", "offset"))
    assert base.certified
    assert set(base.expressions) == {"m1 + 100/981·off1", "Ia1 - 100/981·off1"}


def test_what_is_not_exact_says_so():
    links = [Link("ground"), Link("arm", np.ones(10)), Link("hand", np.ones(10))]
    joints = [
        Joint("lead", "ground", "arm", Revolute((0, 0, 1)), drive=Drive(0.1)),
        Joint("follow", "arm", "hand", Revolute((0, 1, 0)), mimic=Mimic("lead", 0.5)),
    ]
    base = base_parameters(assemble("led", links, joints), drives=("rotor",))
    assert not base.certified
    assert base.why_not_certified
    with pytest.raises(ZvenoError, match="exact arithmetic cannot be used"):
        base_parameters(base.mechanism, drives=("rotor",), exact=True)


def test_many_drives_are_exact_only_if_asked_for():
    chain = zveno.load("chain(13)")
    base = base_parameters(chain, drives=("rotor",))
    assert not base.certified
    assert "exact=True" in base.why_not_certified
    asked = base_parameters(chain, drives=("rotor",), exact=True)
    assert asked.certified
    np.testing.assert_array_equal(asked.columns, base.columns)
