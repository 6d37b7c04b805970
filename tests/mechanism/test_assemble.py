"""What assemble refuses, in what words, and the order it makes."""

import pickle

import numpy as np
import pytest

from mechanisms import random_mechanism, random_state
from tiers import few
from zveno.errors import ModelError, ShapeError, UnknownNameError, ZvenoError
from zveno.mechanism import (
    Drive,
    Frame,
    Free,
    Joint,
    Limits,
    Link,
    Mimic,
    Prismatic,
    Revolute,
    Spherical,
    Universal,
    assemble,
)

LINKS = [Link("base"), Link("arm"), Link("hand")]


def mimicking(*mimics):
    """Revolute joints j1, j2, … on links, each with the mimic relation given for it."""
    joints = [
        Joint(f"j{k}", "base" if k == 1 else f"l{k - 1}", f"l{k}", Revolute(), mimic=mimic)
        for k, mimic in enumerate(mimics, start=1)
    ]
    return [Link("base")] + [Link(f"l{k}") for k in range(1, len(joints) + 1)], joints


def chain(*joints):
    return [Joint("a", "base", "arm", Revolute()), Joint("b", "arm", "hand", Revolute()), *joints]


@pytest.mark.parametrize(
    ("links", "joints", "words"),
    [
        ([], [], "no links"),
        ([*LINKS, Link("arm")], chain(), "two links are named 'arm'"),
        (LINKS, [*chain(), Joint("a", "arm", "hand")], "two joints are named 'a'"),
        (LINKS, [Joint("a", "base", "arm")], "several root links: base, hand"),
        (LINKS, [Joint("a", "bse", "arm")], "joint a: its parent link 'bse' does not exist"),
        (LINKS, [Joint("a", "base", "am")], "joint a: its child link 'am' does not exist"),
        (LINKS, [*chain(), Joint("c", "base", "hand")], "joint c: link 'hand' is already the child of joint 'b'"),
        (LINKS, [Joint("a", "arm", "hand"), Joint("b", "hand", "arm")], "links arm, hand form a cycle"),
        (LINKS, [Joint("a", "hand", "arm"), Joint("b", "arm", "base"), Joint("c", "base", "hand")], "form a cycle"),
        (LINKS, [Joint("a", "arm", "arm")], "joint a: it connects link 'arm' to itself"),
        ([Link("base", [-1.0] + [0.0] * 9)], [], "link base: its mass is negative"),
        ([Link("base", [np.nan] + [0.0] * 9)], [], "link base: its mass, .* not finite"),
        ([Link("")], [], "link has no name"),
        (LINKS, chain()[:1] + [Joint("b", "arm", "hand", T_parent_joint=2 * np.eye(4))], "joint b: .*rigid"),
        (
            LINKS,
            chain()[:1] + [Joint("b", "arm", "hand", T_joint_child=np.full((4, 4), np.inf))],
            "joint b: .*finite",
        ),
        (LINKS, chain()[:1] + [Joint("b", "arm", "hand", Revolute(), limits=Limits(1, -1))], "joint b: .*reversed"),
        (LINKS, chain()[:1] + [Joint("b", "arm", "hand", Revolute(), limits=Limits(np.nan))], "joint b: .*NaN"),
        (LINKS, chain()[:1] + [Joint("b", "arm", "hand", Revolute(), drive=Drive(-1))], "joint b: .*rotor_inertia"),
        (
            LINKS,
            chain()[:1] + [Joint("b", "arm", "hand", Revolute(), drive=Drive(viscous=np.inf))],
            "joint b: .*visc",
        ),
        (*mimicking(None, Mimic("j2")), "joint j2: it mimics itself"),
        (*mimicking(None, Mimic("j3"), Mimic("j2")), "joint j2: it mimics itself through j3"),
        (*mimicking(None, Mimic("j9")), "joint j2, mimic: there is no joint named 'j9'"),
        (*mimicking(None, Mimic("j1", np.nan)), "joint j2, mimic: its multiplier"),
    ],
)
def test_refused(links, joints, words):
    with pytest.raises(ZvenoError, match=words):
        assemble("robot", links, joints)


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"limits": Limits(-1j, 1)}, "the lower limit"),
        ({"limits": Limits(-1, [1 + 0j])}, "the upper limit"),
        ({"limits": Limits(velocity="fast")}, "the velocity limit"),
        ({"limits": Limits(angle=1j)}, "the angle limit"),
        ({"drive": Drive(1j)}, "the drive's rotor_inertia"),
        ({"T_parent_joint": 1j * np.eye(4)}, "the joint's placement"),
    ],
)
def test_numbers_of_joints_are_real(parts, words):
    """Imaginary parts were dropped."""
    with pytest.raises(ModelError, match=f"joint b: {words} must be real numbers, got"):
        Joint("b", "arm", "hand", Revolute(), **parts)


def test_only_single_joints_mimic():
    links, joints = mimicking(None, None)
    joints[1] = Joint("j2", "l1", "l2", Universal(), mimic=Mimic("j1"))
    with pytest.raises(ModelError, match=r"joint j2, mimic: joint j2 is universal"):
        assemble("robot", links, joints)


def test_joint_type_must_be_one():
    with pytest.raises(ModelError, match="joint b: its type must be a joint type, got 'hinge'"):
        Joint("b", "arm", "hand", "hinge")


def test_frames_and_gravity_are_checked():
    with pytest.raises(UnknownNameError, match="frame tip: there is no link named 'tip'"):
        assemble("robot", LINKS, chain(), [Frame("tip", "tip")])
    with pytest.raises(ModelError, match="two frames are named 'arm'"):
        assemble("robot", LINKS, chain(), [Frame("arm", "hand")])
    with pytest.raises(ModelError, match="gravity"):
        assemble("robot", LINKS, chain(), gravity=(0, 0, np.nan))


def test_order_is_depth_first_in_the_order_of_joints():
    links = [Link(name) for name in "zyxwvu"]
    joints = [
        Joint("1", "u", "v"),
        Joint("2", "u", "w"),
        Joint("3", "v", "x"),
        Joint("4", "w", "y"),
        Joint("5", "v", "z"),
    ]
    mechanism = assemble("tree", links, joints)
    assert mechanism.link_names == ("u", "v", "x", "z", "w", "y")
    assert [joint.name for joint in mechanism.joints] == ["1", "3", "5", "2", "4"]
    assert all(mechanism.tree.depth_first_number(i) == i for i in range(6))


def test_mimic_chains_are_resolved():
    mechanism = assemble("fingers", *mimicking(None, Mimic("j1", 2.0, 0.1), Mimic("j2", -3.0, 0.5)))
    assert mechanism.n_q == 1
    assert mechanism.joint_names == ("j1",)
    own = mechanism.joint_positions(np.array([0.7]))
    assert own[2][0] == pytest.approx(1.5)
    assert own[3][0] == pytest.approx(-3 * 1.5 + 0.5)
    assert mechanism.gather_velocities([np.zeros(0), *np.ones((3, 1))])[0] == pytest.approx(1 + 2 - 6)


@pytest.mark.laws
def test_long_mimic_chain_in_any_order():
    links, joints = mimicking(None, *(Mimic(f"j{k}", -1.0, 0.001) for k in range(1, 3000)))
    for order in (joints, joints[::-1]):
        mechanism = assemble("chain", links, order)
        assert mechanism.joint("j3000").mimic == Mimic("j1", -1.0, pytest.approx(0.001))


@pytest.mark.parametrize("seed", few(range(4)))
def test_gather_is_the_transpose_of_joint_velocities(seed):
    mechanism = random_mechanism(seed, n=12)
    _, v, _ = random_state(mechanism, seed)
    rng = np.random.default_rng(seed)
    efforts = [rng.normal(size=len(part)) for part in mechanism.joint_velocities(v)]
    power = sum(a @ b for a, b in zip(efforts, mechanism.joint_velocities(v), strict=True))
    assert mechanism.gather_velocities(efforts) @ v == pytest.approx(power)


def test_pack_and_unpack_by_name():
    mechanism = assemble(
        "robot", LINKS, [Joint("slide", "base", "arm", Prismatic()), Joint("ball", "arm", "hand", Spherical())]
    )
    q = mechanism.pack({"slide": 0.3})
    assert np.array_equal(q, [0.3, 1, 0, 0, 0])
    assert mechanism.unpack(q)["slide"] == 0.3
    assert np.array_equal(mechanism.unpack(q)["ball"], [1, 0, 0, 0])
    batch = mechanism.unpack(np.stack([q, q]))
    assert batch["slide"].shape == (2,)
    assert batch["ball"].shape == (2, 4)
    assert mechanism.coordinate_names == ("slide", "ball.qw", "ball.qx", "ball.qy", "ball.qz")
    with pytest.raises(UnknownNameError, match="slid"):
        mechanism.pack({"slid": 1})
    with pytest.raises(ShapeError, match=r"joint ball.*4 number"):
        mechanism.pack({"ball": [1, 2]})
    with pytest.raises(ShapeError, match=r"q: must have 5 numbers.*got shape \(3,\)"):
        mechanism.checked_q(np.zeros(3))
    with pytest.raises(ShapeError, match="q: must be an array"):
        mechanism.checked_q("abc")


def test_default_frame():
    one = assemble("chain", LINKS, chain())
    assert one.frame().name == "hand"
    two = assemble("fork", LINKS, [Joint("a", "base", "arm"), Joint("b", "base", "hand")])
    with pytest.raises(UnknownNameError, match=r"2 end links.*base, arm, hand"):
        two.frame()
    assert assemble("fork", LINKS, two.joints, [Frame("tool", "arm")]).frame().link == "arm"


def test_arrays_cannot_be_written():
    mechanism = random_mechanism(0)
    for array in (mechanism.gravity, mechanism.links[0].inertia, mechanism.joints[0].T_parent_joint):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0


def test_fingerprint_sees_every_change_and_survives_pickling():
    mechanism = random_mechanism(3, drives=True)
    assert pickle.loads(pickle.dumps(mechanism)).fingerprint == mechanism.fingerprint
    assert random_mechanism(3, drives=True).fingerprint == mechanism.fingerprint
    prints = {random_mechanism(seed, drives=True).fingerprint for seed in range(20)}
    assert len(prints) == 20
    again = assemble("x", mechanism.links, mechanism.joints, mechanism.frames, mechanism.gravity)
    heavier = assemble("x", mechanism.links, mechanism.joints, mechanism.frames, mechanism.gravity * (1 + 1e-15))
    assert again.fingerprint != heavier.fingerprint


def test_errors_pickle_with_their_words():
    error = ModelError("broken", file="a.urdf", element="joint a", remedy="Mend it")
    assert str(error) == "a.urdf: joint a: broken. Mend it"
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_repr_counts_joints():
    mechanism = assemble("robot", LINKS, [Joint("a", "base", "arm", Free()), Joint("b", "arm", "hand", Revolute())])
    assert repr(mechanism) == "<Mechanism robot: 3 links, joints: 1 revolute, 1 free, n_v = 7>"
    assert mechanism.sigma(2) == 1
    with pytest.raises(ModelError, match="joint a: σ is defined for"):
        mechanism.sigma(1)
