"""Drive parameters, and closed loops against closed forms."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from base_loops import GENERIC, LOOP, NORMAL, PARALLEL, PLANE, closed_form, four_bar
from base_oracle import energy_rows, merging_rotors, rank_of, residual, sampled

import zveno
from mechanisms import random_mechanism
from tiers import few
from zveno.algorithms.regressor import drive_regressor
from zveno.base_parameters._samples import closed_states, closure
from zveno.base_parameters.analyse import base_parameters
from zveno.base_parameters.drives import coupling_regressor
from zveno.base_parameters.regressor import base_kernel
from zveno.errors import ZvenoError, ZvenoWarning
from zveno.mechanism import Joint, Link, Loop, Revolute, assemble
from zveno.mechanism.edit import rebuilt
from zveno.spatial.transforms import transform


@pytest.mark.parametrize(
    ("drives", "rank"),
    [(("rotor",), 40), (("rotor", "offset"), 46), (True, 58), (("viscous", "coulomb"), 48), (False, 36)],
)
def test_puma_with_drives(drives, rank):
    base = base_parameters(zveno.load("puma560"), drives=drives)
    assert base.rank == rank
    if drives == ("rotor",):
        assert [name for name in base.names if name.startswith("Ia")] == ["Ia3", "Ia4", "Ia5", "Ia6"]
        # Rotors 1 and 2 are seen with the square of their gear ratio beside the links' inertia.
        assert any("3920.15·Ia1" in text or "3920.1" in text for text in base.expressions)


@pytest.mark.parametrize(
    ("rows", "rank", "kept"),
    [
        ({}, 40, "3456"),
        ({(2, 1): 1.0}, 39, "456"),
        ({(1, 0): 0.5, (2, 1): 1.0}, 40, "2456"),
        ({(4, 3): 0.7, (5, 4): -0.4}, 40, "3456"),
    ],
)
def test_coupled_motors_of_the_puma(rows, rank, kept):
    N = np.eye(6)
    for place, value in rows.items():
        N[place] = value
    base = base_parameters(replace(zveno.load("puma560").mechanism, transmission=N), drives=("rotor",))
    assert base.rank == rank
    assert "".join(name[2] for name in base.names if name.startswith("Ia")) == kept


def test_tx40_with_its_coupled_wrist():
    robot = zveno.load("tx40")
    base = base_parameters(robot, drives=("rotor", "viscous", "coulomb", "offset", "coupling"))
    assert base.rank == 61
    assert base.names[-3:] == ("Iam6", "Fvm6", "Fcm6")
    rng = np.random.default_rng(0)
    rows = []
    for _ in range(60):
        q, v, a = rng.normal(size=(3, 6)) * 2.0
        parts = (
            robot.regressor(q, v, a),
            robot.kernel("drive_regressor")(v, a),
            coupling_regressor(robot.mechanism, v, a),
        )
        rows.append(np.concatenate(parts, axis=1))
    W = np.concatenate(rows)
    assert rank_of(W) == 61
    assert residual(W, base) < 1e-10
    np.testing.assert_allclose(base_kernel(base)(q, v, a), rows[-1][:, base.columns], atol=1e-10)


def test_a_rotor_that_two_joints_turn_is_its_own_inertia_and_a_coupling():
    mechanism = zveno.load("tx40").mechanism
    N = mechanism.transmission_matrix
    a = np.random.default_rng(0).normal(size=6)
    rotor = drive_regressor(mechanism, a, a)[:, 5]
    own = np.zeros(6)
    own[4], own[5] = N[5, 4] ** 2 * a[4], N[5, 5] ** 2 * a[5]
    np.testing.assert_allclose(rotor - own, N[5, 4] * N[5, 5] * coupling_regressor(mechanism, a, a)[:, 0])


def test_a_motor_that_couples_two_branches_is_seen():
    links = [Link("ground"), Link("left", np.ones(10)), Link("right", np.ones(10))]
    joints = [Joint("l", "ground", "left", Revolute()), Joint("r", "ground", "right", Revolute())]
    apart = assemble("branches", links, joints)
    coupled = replace(apart, transmission=np.array([[1.0, 0.0], [0.5, 1.0]]))
    for mechanism, rank in ((apart, 2), (coupled, 3)):
        base = base_parameters(mechanism, drives=("rotor",))
        W = sampled(mechanism, drives=True)
        assert base.rank == rank_of(W[:, list(base.counted)]) == rank
        assert residual(W, base) < 1e-12


def test_scara_and_tilted_gravity_with_drives():
    scara = zveno.load("scara")
    assert [base_parameters(scara, drives=kinds).rank for kinds in (("rotor",), ("rotor", "offset"))] == [11, 14]
    puma = zveno.load("puma560")
    assert base_parameters(puma, drives=("rotor",), gravity=(1.0, 2.0, 3.0)).rank == 42
    assert base_parameters(puma, drives=("rotor",), gravity=(0.0, 0.0, 0.0)).rank == 38


@pytest.mark.parametrize("seed", few(range(24), 4))
def test_drives_of_random_trees_against_samples(seed):
    mechanism = random_mechanism(seed, n=2 + seed % 5, mimic=0.3 * (seed % 2), drives=True)
    rng = np.random.default_rng(seed)
    if seed % 3 == 0:
        N = np.diag(rng.uniform(1.0, 3.0, mechanism.n_v))
        N[rng.integers(mechanism.n_v), rng.integers(mechanism.n_v)] += 0.7
        mechanism = replace(mechanism, transmission=N)
    if seed % 5 == 0:
        mechanism = replace(mechanism, gravity=np.zeros(3))
    W = sampled(mechanism, drives=True)
    for kinds in (("rotor",), ("rotor", "offset"), True):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ZvenoWarning)
            base = base_parameters(mechanism, drives=kinds)
        assert base.rank == rank_of(W[:, list(base.counted)])
        assert residual(W, base) < 1e-9
        p = rng.normal(size=base.n_parameters)
        p[[k for k in range(base.n_parameters) if k not in base.counted]] = 0.0
        np.testing.assert_allclose(base.project(p), base.matrix @ p, atol=1e-9)
        np.testing.assert_allclose(W @ base.lift(base.project(p)), W @ p, atol=1e-8 * abs(W @ p).max())


@pytest.mark.parametrize("seed", few(range(30), 4))
def test_the_rule_of_what_merges(seed):
    kinds = ("revolute", "prismatic")
    mechanism = random_mechanism(seed, n=1 + seed % 6, kinds=kinds, mimic=0.0, drives=True)
    base = base_parameters(mechanism, drives=("rotor",))
    kept = {int(name[2:].rstrip("*")) for name in base.names if name.startswith("Ia")}
    assert merging_rotors(mechanism) == set(range(1, mechanism.n_links)) - kept


@pytest.mark.laws(after=1)
@pytest.mark.parametrize("kind", few(["point", "hinge"], 1))
@pytest.mark.parametrize(
    ("lengths", "q0", "gravity", "rank"),
    [
        (GENERIC, (1.0, -0.3, 1.5), PLANE, 8),
        (GENERIC, (1.0, -0.3, 1.5), NORMAL, 4),
        (PARALLEL, (1.0, -1.0, 1.0), PLANE, 3),
        (PARALLEL, (1.0, -1.0, 1.0), NORMAL, 1),
    ],
)
def test_four_bar_and_parallelogram(lengths, q0, gravity, rank, kind):
    base = base_parameters(four_bar(*lengths, gravity), loops=[replace(LOOP, locked=kind)], q0=q0)
    assert base.rank == rank
    # The parallelogram moves in constant proportion, which has an exact meaning; the general four-bar does not.
    assert base.certified == (lengths == PARALLEL)
    assert ("proportion" in base.why_not_certified) == (lengths == GENERIC)


def test_the_parallelogram_in_words():
    base = base_parameters(four_bar(*PARALLEL, PLANE), loops=[LOOP], q0=(1.0, -1.0, 1.0))
    assert base.expressions == ("I1zz + I3zz + 0.09·m2", "h1x + h3x + 0.3·m2", "h1y + h3y")


def test_the_walk_turns_back_before_branches_meet():
    bar = four_bar(*PARALLEL, PLANE)
    crossed = (1.0, -2.3, -2.0)
    q, G = closed_states(bar, [LOOP], np.array(crossed), 60, np.random.default_rng(0), np.ones(3, dtype=bool))
    for one, basis in zip(q, G, strict=True):
        rows = closure(bar, [LOOP], one)
        assert abs(rows.value).max() < 1e-9
        assert abs(rows.J @ basis).max() < 1e-8
        s = np.linalg.svd(rows.J, compute_uv=False)
        assert s[1] >= 0.02 * s[0]
    # Crossed and parallel differ in how the rocker turns with the crank.
    assert np.ptp(q[:, 0]) > 0.3
    assert abs(q[:, 2] - q[:, 0]).min() > 0.01


@pytest.mark.laws
def test_the_other_branch_of_equal_sides_has_more():
    # Crossed: the same lengths, the rocker turning the other way.
    crossed = base_parameters(four_bar(*PARALLEL, PLANE), loops=[LOOP], q0=(1.0, -2.3, -2.0))
    assert crossed.rank > 3


@pytest.mark.laws
def test_four_bar_rows_against_the_closed_form():
    mechanism = four_bar(*GENERIC, PLANE)
    rng = np.random.default_rng(0)
    states, h = [], 1e-6
    for u in rng.uniform(0.3, 2.5, 40):
        q = closed_form(GENERIC, u).real
        slope = (closed_form(GENERIC, u + h).real - closed_form(GENERIC, u - h).real) / (2 * h)
        states.append((q, slope * rng.normal()))
    base = base_parameters(mechanism, loops=[LOOP], q0=states[0][0])
    W = energy_rows(mechanism, states, states[0][0])
    assert base.rank == rank_of(W, 1e-7) == 8
    assert residual(W, base) < 1e-7


@pytest.mark.laws
@pytest.mark.parametrize("locked", few(["point", (("x", "y"),), (("y", "x", "rx"),)], 1))
def test_the_mechanisms_own_loops_are_the_default(locked):
    bar = four_bar(*GENERIC, PLANE)
    closed = rebuilt(bar, loops=[Loop("coupler_end", "rocker_end", locked)])
    base = base_parameters(closed, q0=(1.0, -0.3, 1.5))
    assert base.rank == 8
    assert base.loops == closed.loops
    assert base_parameters(closed, loops=()).rank == base_parameters(bar).rank > 8


@pytest.mark.laws
def test_a_loop_inside_a_tree_stays_local():
    bar = four_bar(*PARALLEL, NORMAL)
    links = [Link("world"), *bar.links, Link("hand", np.ones(10))]
    joints = [
        Joint("turn", "world", "ground", Revolute((0, 1, 0))),
        *bar.joints,
        Joint("wrist", "coupler", "hand", Revolute((1, 0, 0)), transform(None, np.array([0.2, 0.1, 0.3]))),
    ]
    whole = assemble("tree", links, joints, bar.frames, gravity=NORMAL)
    base = base_parameters(whole, loops=[LOOP], q0=(0.0, 1.0, -1.0, 0.0, 1.0))
    assert [len(group.bodies) for group in base.groups] == [1, 3, 1]
    rng = np.random.default_rng(1)
    states = []
    for u in rng.uniform(0.3, 2.5, 90):
        turn, wrist = rng.uniform(-3.0, 3.0, 2)
        rates = rng.normal(size=3)
        q = whole.pack({"turn": turn, "a": u, "b": -u, "c": u, "wrist": wrist})
        v = whole.pack({"turn": rates[0], "a": rates[1], "b": -rates[1], "c": rates[1], "wrist": rates[2]})
        states.append((q, v))
    W = energy_rows(whole, states, states[0][0])
    assert base.rank == rank_of(W)
    assert residual(W, base) < 1e-10


def test_bad_loops_are_named():
    bar = four_bar(*GENERIC, PLANE)
    for loops, says in (
        ([Loop("coupler_end", "nowhere")], "nowhere"),
        ([Loop("coupler_end", "coupler")], "same link"),
        ([LOOP, LOOP], "two loops join the same frames"),
        (["coupler_end"], "must be a zveno.Loop"),
    ):
        with pytest.raises(ZvenoError, match=says):
            base_parameters(bar, loops=loops, q0=(1.0, -0.3, 1.5))
    with pytest.raises(ZvenoError, match="cannot be closed"):
        base_parameters(four_bar(0.3, 0.1, 0.1, 0.9, PLANE), loops=[LOOP], q0=(1.0, -0.3, 1.5))
    with pytest.raises(ZvenoError, match="coupling"):
        base_parameters(bar, loops=[LOOP], q0=(1.0, -0.3, 1.5), drives=("rotor", "coupling"))
