"""Drives of joints with several coordinates, of joints that follow others, and of joints in closed loops."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from base_loops import GENERIC, LOOP, PARALLEL, PLANE, closed_form, four_bar
from base_oracle import rank_of, residual, sampled

import zveno
from mechanisms import random_mechanism
from tiers import every, few
from zveno.algorithms.regressor import drive_regressor, regressor
from zveno.base_parameters.analyse import base_parameters
from zveno.errors import ZvenoWarning
from zveno.mechanism import Drive, Free, Joint, Link, Planar, Revolute, Spherical, Universal, assemble
from zveno.mechanism.base import with_base
from zveno.spatial.rotations import from_rpy
from zveno.spatial.transforms import transform

KINDS = (("rotor",), ("rotor", "offset"), True)


def analysed(mechanism, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ZvenoWarning)
        return base_parameters(mechanism, **options)


def driven_everywhere(mechanism, seed):
    """A drive on every joint, whatever its number of coordinates."""
    rng = np.random.default_rng(seed)
    joints = tuple(
        replace(joint, drive=Drive(*(rng.uniform(0.5, 2.0, joint.type.n_v) for _ in range(5))))
        for joint in mechanism.joints
    )
    return replace(mechanism, joints=joints)


@pytest.mark.laws(after=10)
@pytest.mark.parametrize("kind", [Universal((1, 0, 0), (0, 0.6, 0.8)), Planar((0, 0.6, 0.8)), Spherical(), Free()])
@pytest.mark.parametrize("place", ["on the ground", "on a link"])
@pytest.mark.parametrize("gravity", [(0.0, 0.0, -9.81), (0.0, 0.0, 0.0)])
def test_one_joint_of_several_coordinates(kind, place, gravity):
    T = transform(from_rpy((0.3, 0.4, 0.5)), np.array([0.2, 0.1, 0.3]))
    links = [Link("ground"), Link("arm", np.ones(10)), Link("hand", np.ones(10)), Link("finger", np.ones(10))]
    joints = [
        Joint("lift", "ground", "arm", Revolute((0, 0, 1))),
        Joint("many", "arm" if place == "on a link" else "ground", "hand", kind, T),
        Joint("grip", "hand", "finger", Revolute((0, 1, 0)), T),
    ]
    mechanism = driven_everywhere(assemble("several", links, joints, gravity=gravity), 0)
    W = sampled(mechanism, drives=True)
    for kinds in KINDS:
        base = base_parameters(mechanism, drives=kinds)
        assert base.rank == rank_of(W[:, list(base.counted)])
        assert residual(W, base) < 1e-10


@pytest.mark.laws
@pytest.mark.parametrize("start", few(range(0, 40, 10), 1))
def test_random_trees_driven_everywhere(start):
    for seed in range(start, start + 10):
        mechanism = random_mechanism(100 + seed, n=2 + seed % 4, mimic=0.3 * (seed % 2))
        mechanism = driven_everywhere(mechanism, seed)
        rng = np.random.default_rng(seed)
        if seed % 3 == 0:
            N = np.diag(rng.uniform(1.0, 3.0, mechanism.n_v))
            N[rng.integers(mechanism.n_v), rng.integers(mechanism.n_v)] += 0.7
            mechanism = replace(mechanism, transmission=N)
        W = sampled(mechanism, drives=True)
        for kinds in KINDS:
            base = analysed(mechanism, drives=kinds)
            assert base.rank == rank_of(W[:, list(base.counted)]), (seed, kinds)
            assert residual(W, base) < 1e-9, (seed, kinds)


def test_a_floating_base_has_no_motors_unless_it_is_given_some():
    robot = zveno.load("planar2")
    floating = with_base(robot.mechanism, "free")
    assert base_parameters(floating, drives=("viscous",)).rank == base_parameters(floating).rank + 2
    driven = driven_everywhere(floating, 0)
    assert base_parameters(driven, drives=("viscous",)).rank == base_parameters(floating).rank + 8


def test_rotors_on_a_ball_joint_merge_with_the_link():
    """Rotors along axes fixed on the link have its gyroscopic torques too."""
    links = [Link("ground"), Link("ball", np.ones(10))]
    drive = Drive(0.1, (2.0, 3.0, 4.0))
    mechanism = assemble("ball", links, [Joint("ball", "ground", "ball", Spherical(), drive=drive)])
    base = base_parameters(mechanism, drives=("rotor",))
    assert base.certified
    assert base.rank == base_parameters(mechanism).rank
    assert "Ia}_{1.2}" in base.to_latex()
    W = sampled(mechanism, drives=True)
    for inertia, rotor, squared_gear in (("I1xx", "Ia1.1", 4), ("I1yy", "Ia1.2", 9), ("I1zz", "Ia1.3", 16)):
        alike = np.zeros(base.n_parameters)
        alike[base.parameter_names.index(inertia)] = 1.0
        alike[base.parameter_names.index(rotor)] = -1 / squared_gear
        assert abs(W @ alike).max() < 1e-12
        assert abs(base.project(alike)).max() < 1e-12


def loop_regressor(mechanism, states):
    """Gᵀ [W, D] of a loop with one freedom, from (q, dq/du, d²q/du²) along it."""
    rows = []
    rng = np.random.default_rng(3)
    for q, slope, bend in states:
        for _ in range(2):
            du, ddu = rng.normal(size=2) * 2.0
            v, a = slope * du, slope * ddu + bend * du * du
            whole = np.concatenate([regressor(mechanism, q, v, a), drive_regressor(mechanism, v, a)], axis=1)
            rows.append(slope @ whole)
    return np.array(rows)


def parallel_states():
    slope = np.array([1.0, -1.0, 1.0])
    return [(slope * u, slope, np.zeros(3)) for u in np.random.default_rng(0).uniform(-3.0, 3.0, 40)]


def bent_states():
    h, found = 1e-4, []
    for u in np.random.default_rng(0).uniform(0.3, 2.5, 60):
        before, here, after = (closed_form(GENERIC, x).real for x in (u - h, u, u + h))
        near, far = ((closed_form(GENERIC, u + k * h) - closed_form(GENERIC, u - k * h)).real for k in (1, 2))
        found.append((here, (8 * near - far) / (12 * h), (before - 2 * here + after) / h**2))
    return found


@pytest.mark.laws
@pytest.mark.parametrize(
    ("lengths", "states", "tolerance"), [(PARALLEL, parallel_states(), 1e-9), (GENERIC, bent_states(), 1e-6)]
)
@pytest.mark.parametrize("kinds", every([(kinds,) for kinds in (*KINDS, ("viscous",), ("coulomb",), ("offset",))]))
def test_drives_of_a_four_bar(lengths, states, tolerance, kinds):
    bar = driven_everywhere(four_bar(*lengths, PLANE), 1)
    W = loop_regressor(bar, states)
    base = base_parameters(bar, loops=[LOOP], q0=states[0][0], drives=kinds)
    assert base.rank == rank_of(W[:, list(base.counted)], tolerance)
    assert residual(W, base) < 10 * tolerance
    p = np.zeros(base.n_parameters)
    p[list(base.counted)] = np.random.default_rng(5).normal(size=len(base.counted))
    np.testing.assert_allclose(base.project(p), base.matrix @ p, atol=1e-12)
    torque = W @ p
    np.testing.assert_allclose(W @ base.lift(base.project(p)), torque, atol=10 * tolerance * abs(torque).max())


@pytest.mark.laws
def test_frictions_of_a_parallelogram_merge_and_say_so():
    base = base_parameters(four_bar(*PARALLEL, PLANE), loops=[LOOP], q0=(1.0, -1.0, 1.0), drives=True)
    assert base.rank == 3 + 3
    assert {"Fv1 + Fv2 + Fv3", "Fc1 + Fc2 + Fc3", "off1 - off2 + off3"} <= set(base.expressions)


@pytest.mark.laws
def test_a_driven_loop_inside_a_tree():
    bar = four_bar(*PARALLEL, PLANE)
    links = [Link("world"), *bar.links, Link("hand", np.ones(10))]
    joints = [
        Joint("turn", "world", "ground", Revolute((0, 1, 0))),
        *bar.joints,
        Joint("wrist", "coupler", "hand", Revolute((1, 0, 0)), transform(None, np.array([0.2, 0.1, 0.3]))),
    ]
    whole = driven_everywhere(assemble("tree", links, joints, bar.frames, gravity=PLANE), 2)
    # The motor of the wrist turns with the rocker's joint too, which is not among the wrist's ancestors.
    N = whole.transmission_matrix.copy()
    N[3, 4] = 0.7
    slope = np.zeros((5, 3))
    slope[0, 0], slope[[1, 2, 4], 1], slope[3, 2] = 1.0, (1.0, -1.0, 1.0), 1.0
    rng = np.random.default_rng(1)
    for mechanism in (whole, replace(whole, transmission=N)):
        rows = []
        for _ in range(90):
            u, du, ddu = rng.uniform(-3.0, 3.0, (3, 3))
            q, v, a = slope @ u, slope @ du, slope @ ddu
            both = np.concatenate([regressor(mechanism, q, v, a), drive_regressor(mechanism, v, a)], axis=1)
            rows.append(slope.T @ both)
        W = np.concatenate(rows)
        for kinds in KINDS:
            base = base_parameters(mechanism, loops=[LOOP], q0=(0.0, 1.0, -1.0, 0.0, 1.0), drives=kinds)
            assert base.rank == rank_of(W[:, list(base.counted)])
            assert residual(W, base) < 1e-9
