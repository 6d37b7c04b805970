"""Counts never follow rounding: what was meant is recognised, and what depends on noise is not certified."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace

import numpy as np
import pytest

import zveno
from mechanisms import random_mechanism
from tiers import few
from zveno.base_parameters.analyse import base_parameters
from zveno.errors import ZvenoWarning
from zveno.mechanism import Helical, Joint, Link, Mechanism, Prismatic, Revolute, assemble
from zveno.spatial.exact_numbers import exact_direction
from zveno.spatial.rotations import elementary
from zveno.spatial.transforms import transform

pytest.importorskip("flint")
DOWN = np.array([0.0, 0.0, -9.81])
STEP = math.radians(15)


def quiet(mechanism, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ZvenoWarning)
        return base_parameters(mechanism, **options)


def chain(*joints) -> Mechanism:
    """Joints (type, placement) in a row."""
    links = [Link("link0"), *(Link(f"link{k}", np.ones(10)) for k in range(1, len(joints) + 1))]
    placed = [Joint(f"q{k}", f"link{k - 1}", f"link{k}", kind, T) for k, (kind, T) in enumerate(joints, 1)]
    return assemble("chain", links, placed)


def at(x=0.0, y=0.0, z=0.0, tilt=0.0):
    return transform(elementary("x", tilt), np.array([x, y, z]))


@pytest.mark.parametrize("drives", [False, True])
def test_gravity_with_rounding_is_along_the_axis(drives):
    puma = zveno.load("puma560")
    meant = base_parameters(puma, drives=drives)
    noisy = base_parameters(puma, gravity=(0.0, 6e-16, -9.81), drives=drives)
    assert noisy.certified
    assert noisy.notes == ()
    assert noisy.expressions == meant.expressions


@pytest.mark.parametrize("size", [6e-14, 6e-12, 6e-10])
def test_gravity_that_differs_by_less_than_noise_is_not_certified(size):
    with pytest.warns(ZvenoWarning, match="36 parameters if aligned, 38 if not"):
        found = base_parameters(zveno.load("puma560"), gravity=(0.0, 9.81 * size, -9.81))
    assert not found.certified
    assert "36" in found.why_not_certified
    assert "38" in found.why_not_certified
    assert len(found.expressions) == found.rank == found.matrix.shape[0]


def test_gravity_that_is_hardly_there_is_said():
    with pytest.warns(ZvenoWarning, match="34 parameters of links without it, 36 with it"):
        found = base_parameters(zveno.load("puma560"), gravity=(0.0, 0.0, -1e-15))
    assert not found.certified


def test_exact_arithmetic_as_demanded_is_whole_but_not_certified():
    found = quiet(zveno.load("puma560"), gravity=(0.0, 6e-12, -9.81), exact=True)
    assert (found.rank, found.certified) == (38, False)
    assert len(found.expressions) == 38


@pytest.mark.parametrize(
    "mechanism",
    [
        chain((Revolute(), at()), (Prismatic((1, 0, 0)), at(0.3)), (Revolute((0, 1, 0)), at(0.2, 1e-12))),
        chain((Revolute(), at()), (Prismatic(), at(0.3)), (Revolute(), at(1e-12))),
        chain(
            (Revolute((0, 1, 0)), at()), (Helical((0, 0, 1), 1e-11), at(0.3)), (Revolute((1, 0, 0)), at(0.2, 0.1))
        ),
    ],
)
def test_lengths_and_pitches_of_rounding_do_not_crash(mechanism):
    exact, floating = quiet(mechanism), quiet(mechanism, exact=False)
    assert exact.rank == floating.rank
    np.testing.assert_array_equal(exact.columns, floating.columns)
    assert len(exact.expressions) == exact.rank
    demanded = quiet(mechanism, exact=True)
    assert demanded.certified == (demanded.rank == exact.rank)


@pytest.mark.parametrize("tilt", [1e-6, 1e-5, 1e-4])
def test_nearly_parallel_axes_are_noted_however_small_the_tilt(tilt):
    arm = chain((Revolute(), at()), (Revolute(), at(0.3, tilt=tilt)), (Revolute(), at(0.2)))
    for gravity in (DOWN, np.zeros(3)):
        straight = quiet(chain((Revolute(), at()), (Revolute(), at(0.3)), (Revolute(), at(0.2))), gravity=gravity)
        with pytest.warns(ZvenoWarning, match=f"as typed, {straight.rank} as meant"):
            base_parameters(arm, gravity=gravity)


def test_gravity_at_recognised_angles_is_exact():
    for around in range(24):
        for above in (-5, -3, 0, 2, 4):
            a, e = around * STEP, above * STEP
            vector = np.array([np.cos(e) * np.cos(a), np.cos(e) * np.sin(a), np.sin(e)])
            for turned in (vector, vector[[1, 2, 0]], vector[[2, 0, 1]]):
                found = np.array([float(x) for x in exact_direction(9.81 * turned)])
                np.testing.assert_allclose(found / np.linalg.norm(found), turned, atol=1e-15)


def rotated(mechanism: Mechanism, R: np.ndarray) -> Mechanism:
    """The mechanism and gravity turned together in the world."""
    T = transform(R, np.zeros(3))
    joints = tuple(
        replace(joint, T_parent_joint=T @ joint.T_parent_joint)
        if joint.parent == mechanism.links[0].name
        else joint
        for joint in mechanism.joints
    )
    return replace(mechanism, joints=joints, gravity=R @ mechanism.gravity)


@pytest.mark.parametrize("letter", "xyz")
@pytest.mark.parametrize("steps", [1, 2, 3, 6, -4])
def test_turning_base_and_gravity_together_changes_nothing(letter, steps):
    puma = zveno.load("puma560").mechanism
    R = elementary(letter, steps * STEP)
    arm = chain((Revolute(), at()), (Revolute((0, 1, 0)), at(0.3)), (Prismatic((1, 0, 0)), at(0.2, 0.1)))
    for mechanism in (puma, arm):
        expected, found = quiet(mechanism), quiet(rotated(mechanism, R))
        assert found.certified
        assert found.rank == expected.rank
        np.testing.assert_allclose(found.matrix, expected.matrix, atol=1e-12)


def right_angled(seed: int) -> Mechanism:
    """A random tree at right angles and small decimals, where many counts are special."""
    rng = np.random.default_rng(seed)
    links, joints = [Link("link0")], []
    for k in range(1, 5):
        axis = np.eye(3)[rng.integers(3)]
        kind = (Revolute(axis), Prismatic(axis), Helical(axis, 0.25))[rng.choice(3, p=(0.7, 0.2, 0.1))]
        T = transform(elementary("xyz"[rng.integers(3)], math.pi / 2 * rng.integers(4)), rng.choice([0.0, 0.3], 3))
        joints.append(Joint(f"q{k}", f"link{rng.integers(max(0, k - 2), k)}", f"link{k}", kind, T))
        links.append(Link(f"link{k}", np.ones(10)))
    return assemble("tree", links, joints, gravity=(DOWN, np.zeros(3), np.array([0.0, 4.905, -4.905]))[seed % 3])


def perturbations(mechanism: Mechanism, size: float):
    """The mechanism with every length, angle, axis and component of gravity changed in turn."""
    for k in range(3):
        g = mechanism.gravity.copy()
        g[k] += size * max(1.0, abs(g[k]))
        yield replace(mechanism, gravity=g)
    for n, joint in enumerate(mechanism.joints):
        changed = []
        for k in range(3):
            moved = joint.T_parent_joint.copy()
            moved[k, 3] += size * (abs(moved[k, 3]) or 1.0)
            turned = joint.T_parent_joint @ transform(elementary("xyz"[k], size), np.zeros(3))
            changed += [replace(joint, T_parent_joint=moved), replace(joint, T_parent_joint=turned)]
        axis = joint.type.parameters().get("axis")
        if isinstance(axis, np.ndarray):
            off = axis + size * np.roll(axis, 1)
            changed.append(replace(joint, type=joint.type.about(off / np.linalg.norm(off))))
        for one in changed:
            yield replace(mechanism, joints=(*mechanism.joints[:n], one, *mechanism.joints[n + 1 :]))


@pytest.mark.laws
@pytest.mark.parametrize("seed", few(range(6)))
def test_noise_never_changes_a_certified_count(seed):
    mechanism = right_angled(seed)
    exact = quiet(mechanism)
    assert exact.certified
    for size in (1e-16, 1e-13):
        for noisy in perturbations(mechanism, size):
            found = quiet(noisy)
            assert len(found.expressions) == found.rank
            assert not found.certified or found.rank == exact.rank


@pytest.mark.parametrize("seed", few(range(4)))
def test_noise_changes_no_count_of_generic_mechanisms(seed):
    mechanism = random_mechanism(seed, n=4)
    expected = quiet(mechanism)
    for noisy in list(perturbations(mechanism, 1e-13))[::3]:
        found = quiet(noisy)
        assert found.rank == expected.rank
        assert not found.certified or expected.certified
