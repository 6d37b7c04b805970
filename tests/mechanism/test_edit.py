"""Editing keeps what it should: poses, masses and names."""

import numpy as np
import pytest

from mechanisms import random_inertia, random_mechanism, random_state, relative_error
from tiers import few
from zveno.algorithms.center_of_mass import center_of_mass, total_mass
from zveno.algorithms.forward_kinematics import frame_pose, link_poses
from zveno.algorithms.inverse_dynamics import inverse_dynamics
from zveno.algorithms.jacobian import jacobian
from zveno.errors import ModelError, ShapeError, UnknownNameError
from zveno.mechanism import Fixed, Joint, Link, Mimic, Prismatic, Revolute, assemble
from zveno.mechanism.base import with_base
from zveno.mechanism.edit import (
    attach,
    cut,
    fix_joints,
    scaled,
    subtree,
    with_frame,
    with_gravity,
    with_inertia,
    with_payload,
    with_tool,
)
from zveno.mechanism.reduce import merge_fixed, reduced
from zveno.mechanism.units import coordinate_units
from zveno.spatial import inertia
from zveno.spatial.rotations import exp, to_quaternion
from zveno.spatial.transforms import inverse, transform

seeds = pytest.mark.parametrize("seed", few(range(6)))
ROUNDING = 1e-13


def poses(mechanism, q):
    return dict(zip(mechanism.link_names, link_poses(mechanism, q), strict=True))


def same_poses(a, b, names=None):
    for name in names or a:
        assert relative_error(a[name], b[name]) < ROUNDING, name


def restricted_q(mechanism, q, smaller):
    """q of a mechanism with fewer joints, by name."""
    return smaller.pack({name: q[mechanism.q_slices[name]] for name in smaller.joint_names})


@seeds
def test_fixed_joints_keep_the_pose(seed):
    mechanism = random_mechanism(seed, n=10, mimic=0.5)
    q, *_ = random_state(mechanism, seed)
    names = mechanism.joint_names[::2]
    locked = fix_joints(mechanism, {name: q[mechanism.q_slices[name]] for name in names})
    assert set(locked.joint_names) == set(mechanism.joint_names) - set(names)
    same_poses(poses(mechanism, q), poses(locked, restricted_q(mechanism, q, locked)))
    neutral = fix_joints(mechanism, names)
    q0 = mechanism.pack({name: q[mechanism.q_slices[name]] for name in neutral.joint_names})
    same_poses(poses(mechanism, q0), poses(neutral, restricted_q(mechanism, q, neutral)))


@seeds
def test_attached_mechanism_moves_with_its_carrier(seed):
    carrier, other = random_mechanism(seed, n=6), random_mechanism(seed + 50, n=5)
    T = transform(exp(np.array([0.1, 0.2, 0.3])), [0.4, 0.5, 0.6])
    both = attach(carrier, other, to="mark", T_frame_base=T, prefix="left_")
    q1, q2 = random_state(carrier, seed)[0], random_state(other, seed)[0]
    q = both.pack(
        {name: q1[carrier.q_slices[name]] for name in carrier.joint_names}
        | {f"left_{name}": q2[other.q_slices[name]] for name in other.joint_names}
    )
    T_mount = frame_pose(carrier, q1, "mark") @ T
    same_poses(poses(carrier, q1), poses(both, q))
    for name, pose in poses(other, q2).items():
        assert relative_error(T_mount @ pose, poses(both, q)["left_" + name]) < ROUNDING
    assert total_mass(both) == pytest.approx(total_mass(carrier) + total_mass(other))
    assert "left_tool" in both.frame_names


def test_attaching_without_prefix_refuses_equal_names():
    with pytest.raises(ModelError, match="two links are named 'link0'"):
        attach(random_mechanism(0), random_mechanism(1))


def test_transmission_follows_the_order_of_joints():
    def arm(name, ratio):
        links = [Link(f"{name}{k}") for k in range(3)]
        joints = [Joint(f"{name}_j{k}", f"{name}{k - 1}", f"{name}{k}", Revolute()) for k in (1, 2)]
        return assemble(name, links, joints, transmission=[[ratio, 0], [1, ratio]])

    both = attach(arm("a", 10), arm("b", 20), to="a1")
    blocks = {name: both.v_slices[name].start for name in both.joint_names}
    N = both.transmission_matrix
    for name, ratio in (("a", 10), ("b", 20)):
        i, j = blocks[f"{name}_j1"], blocks[f"{name}_j2"]
        assert (N[i, i], N[j, j], N[j, i], N[i, j]) == (ratio, ratio, 1, 0)
    assert np.array_equal(fix_joints(both, ["a_j1"]).transmission_matrix[0], [10, 0, 0])
    assert np.array_equal(with_base(both, "free").transmission_matrix[6:, 6:], N)


@seeds
def test_cut_and_subtree_split_the_links(seed):
    mechanism = random_mechanism(seed, n=10, mimic=0.0)
    q, *_ = random_state(mechanism, seed)
    link = mechanism.link_names[4]
    rest, part = cut(mechanism, link), subtree(mechanism, link)
    assert set(rest.link_names) | set(part.link_names) == set(mechanism.link_names)
    assert not set(rest.link_names) & set(part.link_names)
    whole = poses(mechanism, q)
    same_poses(whole, poses(rest, restricted_q(mechanism, q, rest)), rest.link_names)
    for name, pose in poses(part, restricted_q(mechanism, q, part)).items():
        assert relative_error(whole[link] @ pose, whole[name]) < ROUNDING


def test_cutting_a_leader_off_is_refused():
    links = [Link("a"), Link("b"), Link("c")]
    joints = [Joint("j", "a", "b", Revolute()), Joint("k", "a", "c", Revolute(), mimic=Mimic("j"))]
    with pytest.raises(ModelError, match="joint k: it mimics joint 'j'"):
        cut(assemble("hand", links, joints), "b")
    with pytest.raises(ModelError, match="link a: link 0"):
        cut(assemble("hand", links, joints), "a")


@seeds
def test_merging_fixed_joints_changes_no_motion(seed):
    mechanism = random_mechanism(seed, n=12, kinds=("fixed", "revolute", "prismatic"))
    q, *_ = random_state(mechanism, seed)
    merged = merge_fixed(mechanism)
    assert not any(isinstance(joint.type, Fixed) for joint in merged.joints)
    for name in mechanism.frame_names:
        assert relative_error(frame_pose(mechanism, q, name), frame_pose(merged, q, name)) < ROUNDING
    assert np.allclose(center_of_mass(mechanism, q), center_of_mass(merged, q))


@seeds
def test_reduced_mechanism_moves_and_weighs_the_same(seed):
    mechanism = random_mechanism(seed, n=12)
    q, v, a = random_state(mechanism, seed)
    smaller, carriers = reduced(mechanism)
    T, T_smaller = link_poses(mechanism, q), link_poses(smaller, q)
    for i, (k, T_new_old) in enumerate(carriers):
        assert relative_error(T_smaller[k] @ T_new_old, T[i]) < ROUNDING
    for name in ("tool", "mark"):
        assert relative_error(frame_pose(mechanism, q, name), frame_pose(smaller, q, name)) < ROUNDING
    assert relative_error(inverse_dynamics(smaller, q, v, a), inverse_dynamics(mechanism, q, v, a)) < ROUNDING
    for joint in smaller.joints:
        assert np.array_equal(joint.T_joint_child, np.eye(4))
        if hasattr(joint.type, "axis"):
            assert np.count_nonzero(joint.type.axis) == 1


@seeds
def test_scaling_scales_poses(seed):
    mechanism = random_mechanism(seed, n=10, mimic=0.4)
    q, *_ = random_state(mechanism, seed)
    large = scaled(mechanism, length=2.0, mass=3.0)
    longer = np.where(np.array(coordinate_units(mechanism)) == "m", 2.0, 1.0) * q
    for a, b in zip(link_poses(mechanism, q), link_poses(large, longer), strict=True):
        assert relative_error(np.column_stack([a[:3, :3], 2 * a[:3, 3]]), b[:3]) < ROUNDING
    assert total_mass(large) == pytest.approx(3 * total_mass(mechanism))
    for a, b in zip(mechanism.links, large.links, strict=True):
        assert np.allclose(inertia.tensor_at_center(b.inertia), 12 * inertia.tensor_at_center(a.inertia))


@pytest.mark.parametrize("base", ["free", "trunk"])
def test_base_moves_the_whole_and_comes_off_again(base):
    mechanism = random_mechanism(2, n=6)
    q, *_ = random_state(mechanism, 2)
    floating = with_base(mechanism, base)
    assert floating.n_v == mechanism.n_v + 6
    R, p = exp(np.array([0.3, -0.4, 0.5])), np.array([1.0, 2.0, 3.0])
    if base == "free":
        q_base = np.concatenate([p, to_quaternion(R)])
    else:
        pitch = -np.arcsin(R[2, 0])
        q_base = np.concatenate([p, [np.arctan2(R[1, 0], R[0, 0]), pitch, np.arctan2(R[2, 1], R[2, 2])]])
        assert floating.n_links == mechanism.n_links + 6
        assert total_mass(floating) == total_mass(mechanism)
    T = transform(R, p)
    moved = poses(floating, np.concatenate([q_base, q]))
    for name, pose in poses(mechanism, q).items():
        assert relative_error(T @ pose, moved[name]) < ROUNDING
    again = with_base(floating, "fixed")
    assert again.link_names == mechanism.link_names
    same_poses(poses(mechanism, q), poses(again, q))
    assert with_base(with_base(floating, "trunk"), "free").n_q == mechanism.n_q + 7


def test_a_link_called_world_does_not_stand_in_the_way():
    body = assemble("cell", [Link("world"), Link("arm")], [Joint("j", "world", "arm", Revolute())])
    assert with_base(body, "free").link_names == ("world2", "world", "arm")


def test_trunk_is_singular_only_where_axes_align():
    body = with_base(assemble("body", [Link("body")], []), "trunk")
    rank = {
        pitch: np.linalg.matrix_rank(jacobian(body, [0, 0, 0, 0.3, pitch, 0.2]), tol=1e-9)
        for pitch in (0.0, np.pi / 2)
    }
    assert rank == {0.0: 6, np.pi / 2: 5}


def test_tool_frame_and_payload():
    arm = assemble(
        "arm",
        [Link("base"), Link("hand", random_inertia(np.random.default_rng(0)))],
        [Joint("j", "base", "hand", Revolute())],
    )
    T = transform(exp(np.array([0.0, 0.5, 0.0])), [0, 0, 0.2])
    tooled = with_tool(arm, T)
    q = np.array([0.4])
    assert np.allclose(frame_pose(tooled, q), frame_pose(arm, q) @ T)
    assert np.allclose(frame_pose(with_tool(tooled, T), q), frame_pose(arm, q) @ T @ T)
    assert np.allclose(frame_pose(with_frame(arm, "eye", "base", T), q, "eye"), T)
    loaded = with_payload(tooled, 2.0, (0.1, 0.0, 0.0), np.diag([0.1, 0.1, 0.1]))
    load = inertia.parameters(2.0, np.array([0.1, 0, 0]), np.diag([0.1, 0.1, 0.1]))
    assert np.allclose(loaded.links[1].inertia - arm.links[1].inertia, inertia.moved(load, T))
    assert np.allclose(with_inertia(arm, {"hand": np.arange(10.0)}).links[1].inertia, np.arange(10.0))
    assert np.array_equal(with_gravity(arm, (0, 9.81, 0)).gravity, [0, 9.81, 0])
    assert np.allclose(inverse(frame_pose(arm, q)) @ frame_pose(tooled, q), T)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda m: fix_joints(m, ["jont1"]), UnknownNameError, "jont1"),
        (lambda m: attach(m, m, to="nowhere", prefix="b_"), UnknownNameError, "nowhere"),
        (lambda m: attach(m, m, T_frame_base=np.zeros((4, 4)), prefix="b_"), ModelError, "T_frame_base"),
        (lambda m: with_tool(m, np.eye(3)), ShapeError, r"T_frame_tool: must have shape .*got \(3, 3\)"),
        (lambda m: with_payload(m, -1), ModelError, "payload's mass must be .*got -1"),
        (lambda m: with_payload(m, 1, (0, 0)), ShapeError, "center_of_mass"),
        (lambda m: with_payload(m, 1, (0, 0, np.nan)), ModelError, "center_of_mass: must be finite"),
        (lambda m: with_inertia(m, {"link1": np.ones(9)}), ShapeError, "link link1"),
        (lambda m: scaled(m, 0), ModelError, "length scale must be .*got 0"),
        (lambda m: with_base(m, "flying"), UnknownNameError, "fixed, free, trunk"),
        (lambda m: with_base(m, np.eye(4)), ModelError, 'base: must be a name, got ndarray. Give "fixed"'),
        (lambda m: with_gravity(m, "down"), ShapeError, "gravity"),
    ],
)
def test_bad_edits(call, error, words):
    with pytest.raises(error, match=words):
        call(random_mechanism(1, n=4))


def test_mimic_keeps_its_ratio_between_angle_and_length():
    links = [Link("a"), Link("b"), Link("c")]
    joints = [
        Joint("turn", "a", "b", Revolute()),
        Joint("slide", "b", "c", Prismatic(), mimic=Mimic("turn", 0.01, 0.1)),
    ]
    mimic = scaled(assemble("screw", links, joints), length=10).joint("slide").mimic
    assert (mimic.multiplier, mimic.offset) == (pytest.approx(0.1), pytest.approx(1.0))
