"""The closure of twists: exact numbers, every type of joint, and what certification means."""

import numpy as np
import pytest

import zveno
from zveno.calibration._counts import FloatRows, Step, _block, _walked, prove, steps_between
from zveno.calibration._identifiability import identifiability
from zveno.calibration.models import redundant_model
from zveno.mechanism import Frame, Joint, Limits, Link, assemble
from zveno.mechanism.joints import Free, Helical, Planar, Prismatic, Revolute, Spherical, Universal
from zveno.spatial.exact_numbers import flint
from zveno.spatial.rotations import exp
from zveno.spatial.transforms import adjoint, inverse, transform

exact = pytest.mark.skipif(flint() is None, reason="python-flint is not installed")
TYPES = (
    Revolute(),
    Prismatic(),
    Helical(pitch=0.02),
    Universal(),
    Universal(np.array([0.0, 0.0, 1.0]), np.array([1.0, 0.0, 0.0])),
    Planar(),
    Spherical(),
    Free(),
)


def _chain(seed: int, exact: bool):
    """Two to four joints of any type; with right angles and decimal lengths, or with anything."""
    rng = np.random.default_rng(seed)
    links, joints = [Link("base")], []
    for k in range(1, int(rng.integers(2, 5)) + 1):
        kind = TYPES[rng.integers(len(TYPES))]
        p = np.round(rng.uniform(-0.4, 0.4, 3), 2) * (rng.random(3) < 0.6)
        R = np.eye(3)
        if rng.random() < 0.7:
            turn = np.pi / 2 * np.eye(3)[rng.integers(3)] if exact else rng.normal(size=3)
            R = np.round(exp(turn)) if exact else exp(turn)
        limits = Limits(-2.0, 2.0) if kind.n_v == 1 else Limits()
        joints.append(Joint(f"j{k}", links[-1].name, f"l{k}", kind, transform(R, p), limits=limits))
        links.append(Link(f"l{k}"))
    p = np.round(rng.uniform(-0.3, 0.3, 3), 2) * (rng.random(3) < 0.5)
    return assemble(f"chain{seed}", links, joints, [Frame("tool", links[-1].name, transform(None, p))])


@pytest.mark.laws(after=1)
@pytest.mark.parametrize("kind", ["pose", "position", "relative_pose", "relative_position"])
@pytest.mark.parametrize("decimal", [True, False])
def test_joints_of_every_type_have_the_rank_the_closure_proves(kind, decimal):
    """120 chains: the rank of a sampled Jacobian, which knows nothing of twists and closures."""
    for seed in range(15):
        found = identifiability(zveno.Robot(_chain(seed, decimal)), kind, rng=seed)
        assert found.counts is not None
        assert found.rank == found.counts.proved, seed
        if decimal and flint() is not None:
            assert found.certified, found.counts.obstacle


def test_what_a_joint_adds_at_most():
    expected = (4, 2, 4, 6, 6, 5, 6, 6)
    for kind, most in zip(TYPES, expected, strict=True):
        links = [Link("base"), Link("hand")]
        limits = Limits(-1.0, 1.0) if kind.n_v == 1 else Limits()
        chain = assemble("one", links, [Joint("j", "base", "hand", kind, limits=limits)], [Frame("tool", "hand")])
        proof = prove(redundant_model(chain))
        assert proof.saturated == (most,), kind
        assert proof.rank == 6 + most == identifiability(zveno.Robot(chain), "pose").rank


@pytest.mark.parametrize("kind", TYPES, ids=lambda kind: kind.kind)
def test_rows_of_a_joint_are_what_its_motions_change(kind):
    """cl(S ad) for one row S, where the order of twists matters, is the span of S (Ad(T⁻¹) − 1) over motions."""
    rng = np.random.default_rng(1)
    lower, upper = np.full(kind.n_q, -1.0), np.full(kind.n_q, 1.0)
    motions = [kind.motion(kind.random(rng, lower, upper)) for _ in range(40)]
    changes = [adjoint(inverse(T)) - np.eye(6) for T in motions]
    algebra = FloatRows(1.0)
    twists = algebra.brackets(Step("joint", None, tuple(kind.subspace(kind.neutral()).T)))
    for k in range(6):
        S = np.eye(6)[k : k + 1]
        sampled = np.concatenate([S @ change for change in changes])
        assert len(_block(algebra, S, twists)) == np.linalg.matrix_rank(sampled, tol=1e-9), k


@exact
def test_exact_and_floating_closures_agree():
    for seed in range(40):
        model = redundant_model(_chain(seed, True))
        for point in (None, np.zeros(3), np.array([0.01, 0.02, 0.03])):
            steps = steps_between(model, point)
            floating = _walked(FloatRows(model.scale), steps, point is not None, "floats")
            proof = prove(model, point)
            assert proof.certified
            assert (proof.rank, proof.base, proof.saturated) == (floating.rank, floating.base, floating.saturated)


@exact
def test_a_proof_has_no_tolerance():
    """A point 1e-11 m beside the last axis: exactly beside it, though no floating point rank would say so."""
    arm = "Rz(q1) Rx(-90deg) Rz(q2) Tx(0.4) Tz(0.1) Rz(q3) Rx(90deg) Tz(0.4) Rz(q4)"
    on, beside = (
        prove(redundant_model(zveno.load(f"{arm}{tool}").mechanism), np.zeros(3)) for tool in ("", " Tx(1e-11)")
    )
    assert (on.rank, beside.rank) == (17, 19)
    assert on.certified
    assert beside.certified
    found = identifiability(zveno.load(f"{arm} Tx(1e-11)"), "position")
    assert not found.certified
    assert found.status == "uncertain"


@exact
def test_roots_of_two_and_three_are_exact():
    text = "Rz(q1) Rx(45deg) Tx(0.3) Rz(q2) Ry(30deg) Tz(0.21) Rz(q3) Rx(-15deg) Tx(0.1) Tz(0.2)"
    found = identifiability(zveno.load(text), "position")
    assert found.certified
    assert found.rank == 15


def test_what_is_not_exact_is_named():
    found = identifiability(zveno.load("Rz(q1) Rx(0.3) Tx(0.3) Rz(q2) Tx(0.1)"), "pose")
    assert not found.certified
    assert found.counts is not None
    assert "15°" in found.counts.obstacle or "flint" in found.counts.obstacle
    assert found.status == "certain"


@exact
@pytest.mark.parametrize("name", ["puma560", "ur5", "ur10", "panda", "iiwa14", "tx40", "stanford", "scara"])
def test_built_in_arms_are_proved(name):
    for kind in ("pose", "relative_position"):
        assert identifiability(zveno.load(name), kind).status == "proved"
