"""Document 003: the partitioned equations of a floating base, and the trunk's singularity."""

from dataclasses import replace

import numpy as np
import pytest

from mechanisms import SINGLE, random_mechanism, random_state, relative_error
from zveno.algorithms.forward_dynamics import forward_dynamics
from zveno.algorithms.jacobian import jacobian
from zveno.documents.trees import has_trunk, near_trunk_singularity, partitioned, trunk_regularity
from zveno.errors import ModelError, ZvenoWarning
from zveno.mechanism import Drive, Joint, Link, Prismatic, Revolute, assemble
from zveno.mechanism.base import with_base
from zveno.robot import Robot
from zveno.robots import chain
from zveno.spatial import inertia
from zveno.spatial.rotations import elementary
from zveno.spatial.transforms import transform

ROUNDING = 1e-10
"""Relative; the mass matrices of these random trees have conditions up to 1e4."""


@pytest.mark.parametrize("base", ["free", "trunk"])
@pytest.mark.parametrize("seed", range(4))
def test_blocks_solve_the_last_equation_of_document_003(seed, base):
    mechanism = with_base(random_mechanism(seed, n=6, kinds=SINGLE, mimic=0.0), base)
    q, v, _ = random_state(mechanism, seed)
    tau = np.random.default_rng(seed).normal(size=mechanism.n_v - 6)
    parts = partitioned(Robot(mechanism), q, v)
    a = forward_dynamics(mechanism, q, v, np.concatenate([np.zeros(6), tau]))
    free, driven = a[:6], a[6:]
    # The two rows as the document writes them, with I_IR on the lower left.
    assert relative_error(parts.I_II @ free + parts.I_IR.T @ driven, -parts.H_I) < ROUNDING
    assert relative_error(parts.I_IR @ free + parts.I_RR @ driven, tau - parts.H_R) < ROUNDING


def test_batch_axes_lead():
    robot = Robot(with_base(chain(2), "free"))
    q, v = robot.random((2, 3), 0), np.random.default_rng(0).normal(size=(2, 3, 8))
    parts = partitioned(robot, q, v)
    assert [part.shape for part in parts] == [(2, 3, 6, 6), (2, 3, 2, 6), (2, 3, 2, 2), (2, 3, 6), (2, 3, 2)]
    one = partitioned(robot, q[1, 2], v[1, 2])
    for whole, single in zip(parts, one, strict=True):
        assert np.array_equal(whole[1, 2], single)


def test_a_fixed_base_is_refused():
    with pytest.raises(ModelError, match=r"its base is fixed.*with_base"):
        partitioned(Robot(chain(3)), np.zeros(3), np.zeros(3))


def test_what_is_a_trunk():
    trunk = with_base(chain(2), "trunk")
    assert has_trunk(trunk)
    assert not has_trunk(chain(2))
    assert not has_trunk(with_base(chain(2), "free"))
    heavy = list(trunk.links)
    heavy[2] = Link(heavy[2].name, inertia.parameters(1.0, np.zeros(3), np.eye(3)))
    assert not has_trunk(replace(trunk, links=tuple(heavy)))
    driven = (replace(trunk.joints[0], drive=Drive(1.0)), *trunk.joints[1:])
    assert not has_trunk(replace(trunk, joints=driven))


def test_trunk_is_singular_at_a_pitch_of_ninety_degrees():
    mechanism = with_base(random_mechanism(0, n=3, kinds=SINGLE), "trunk")
    pitch = np.array([0.0, 0.3, np.pi / 2 - 2e-3, np.pi / 2 - 5e-4, -np.pi / 2, 3 * np.pi / 2 + 1e-4])
    q = np.zeros((len(pitch), mechanism.n_q))
    q[:, 4] = pitch
    assert np.allclose(trunk_regularity(mechanism, q), abs(np.cos(pitch)), rtol=0, atol=1e-15)
    assert near_trunk_singularity(mechanism, q).tolist() == [False, False, False, True, True, True]
    assert not near_trunk_singularity(mechanism, q[0])
    with pytest.warns(ZvenoWarning, match=r"floating_base_pitch near ±90°.*free"):
        partitioned(Robot(mechanism), q, np.zeros(mechanism.n_v))
    partitioned(Robot(mechanism), q[:3], np.zeros(mechanism.n_v))
    free = with_base(mechanism, "free")
    assert not near_trunk_singularity(free, free.neutral())


def test_regularity_is_the_determinant_of_the_turning_axes():
    """On a trunk written by hand, with frames turned between the axes, as a DH table has them."""
    x, z = np.eye(3)[0], np.eye(3)[2]
    turn = transform(elementary("x", np.pi / 2) @ elementary("z", 0.4))
    links = [Link(f"l{k}") for k in range(6)] + [Link("body", inertia.parameters(1.0, np.ones(3), np.eye(3)))]
    types = [Prismatic(z)] * 3 + [Revolute(z), Revolute(x + z), Revolute(z)]
    joints = [
        Joint(f"j{k}", links[k].name, links[k + 1].name, one, turn, turn if k % 2 else np.eye(4))
        for k, one in enumerate(types)
    ]
    mechanism = assemble("by hand", links, joints)
    assert has_trunk(mechanism)
    q = mechanism.random(1)
    J = jacobian(mechanism, q, "body")
    assert trunk_regularity(mechanism, q) == pytest.approx(abs(np.linalg.det(J[3:, 3:])), rel=1e-12)
