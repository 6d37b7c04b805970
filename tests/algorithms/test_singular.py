"""Mechanisms without forward dynamics are refused by name, and all others are not."""

from dataclasses import replace

import numpy as np
import pytest

from mechanisms import random_mechanism
from tiers import few
from zveno.algorithms.mass_matrix import mass_matrix
from zveno.algorithms.singular import refuse_singular
from zveno.errors import ModelError
from zveno.io.load import load_mechanism
from zveno.mechanism import Drive, Free, Joint, Link, Mimic, Prismatic, Revolute, Spherical, assemble
from zveno.mechanism.base import with_base
from zveno.robots import biped, chain
from zveno.spatial import inertia
from zveno.spatial.transforms import transform

X, Y, Z = np.eye(3)
BODY = inertia.parameters(2.0, (0.1, 0.2, 0.3), np.diag([0.02, 0.03, 0.04]))
AWAY = transform(None, (0.3, -0.2, 0.5))


def point(mass, where):
    return inertia.parameters(mass, np.array(where, dtype=float), np.zeros((3, 3)))


def made(*parts, drives=None, transmission=None):
    """A chain of (joint type, inertia) parts, links away from each other."""
    links, joints = [Link("base")], []
    for k, (kind, parameters) in enumerate(parts, start=1):
        drive = (drives or {}).get(k)
        joints.append(Joint(f"j{k}", links[-1].name, f"l{k}", kind, AWAY, drive=drive))
        links.append(Link(f"l{k}", parameters))
    return assemble("made", links, joints, transmission=transmission)


def refused(mechanism, link, joint):
    with pytest.raises(ModelError, match=rf"singular: link {link} .*joint {joint}\b.*rotor inertia") as caught:
        refuse_singular(mechanism)
    # What the error claims is true anywhere.
    for seed in range(3):
        M = mass_matrix(mechanism, mechanism.random(seed))
        assert np.linalg.eigvalsh(M)[0] < 1e-12 * max(1.0, np.linalg.norm(M))
    return str(caught.value)


@pytest.mark.parametrize("seed", few(range(20), 4))
@pytest.mark.parametrize("options", [{}, {"drives": True}, {"mimic": 0.0}], ids=str)
def test_random_mechanisms_are_never_refused(seed, options):
    mechanism = random_mechanism(seed, n=9, **options)
    for base in ("fixed", "free", "trunk"):
        refuse_singular(with_base(mechanism, base))


@pytest.mark.parametrize("seed", few(range(20), 4))
@pytest.mark.parametrize("mimic", [0.0, 0.5])
def test_random_mechanisms_with_a_massless_leaf_are_always_refused(seed, mimic):
    mechanism = random_mechanism(seed, n=8, mimic=mimic)
    leaf = np.random.default_rng(seed).choice(mechanism.tree.leaves)
    leaf_name = mechanism.links[leaf].name
    more = Joint("loose", leaf_name, "feather", [Free(), Revolute(), Spherical(), Prismatic()][seed % 4], AWAY)
    broken = assemble("broken", [*mechanism.links, Link("feather")], [*mechanism.joints, more])
    text = refused(broken, "feather", "loose")
    assert "the same holds" not in text


def test_chains_of_any_length_are_not_refused():
    for n in (1, 10, 300):
        refuse_singular(chain(n))
    refuse_singular(load_mechanism("puma560"))
    refuse_singular(biped())
    refuse_singular(with_base(biped(), "trunk"))


def test_massless_links_within_a_chain_are_fine():
    refuse_singular(made((Revolute(Z), np.zeros(10)), (Revolute(Y), np.zeros(10)), (Revolute(X), BODY)))
    refuse_singular(made((Prismatic(X), np.zeros(10)), (Prismatic(Y), np.zeros(10)), (Revolute(Z), BODY)))


def test_limits_that_hold_a_joint_at_a_special_place_do_not_matter():
    mechanism = made((Revolute(Z), np.zeros(10)), (Revolute(Y), np.zeros(10)), (Revolute(Z), BODY))
    joints = tuple(replace(joint, limits=type(joint.limits)(0.0, 0.0)) for joint in mechanism.joints)
    refuse_singular(replace(mechanism, joints=joints))


def test_joint_about_the_axis_of_a_point_mass():
    refused(made((Revolute(Y), BODY), (Revolute(Z), point(1.0, (0, 0, 0.7)))), "l2", "j2")
    refuse_singular(made((Revolute(Y), BODY), (Revolute(Z), point(1.0, (1e-3, 0, 0.7)))))


def test_frames_far_from_the_axis_hide_nothing():
    """The point mass again, its frame moved away: the zero is now a difference of large numbers."""
    away = transform(None, (3.0, -4.0, 5.0))
    links = [Link("base"), Link("l1", inertia.moved(point(1.0, (0, 0, 0.7)), np.linalg.inv(away)))]
    refused(assemble("far", links, [Joint("j1", "base", "l1", Revolute(Z), AWAY, away)]), "l1", "j1")


def test_point_mass_and_thin_rod_on_joints_that_turn_every_way():
    rod = inertia.parameters(1.0, (0.5, 0, 0), np.diag([0.0, 0.1, 0.1]))
    refused(made((Free(), point(1.0, (0.1, 0.2, 0.3)))), "l1", "j1")
    refused(made((Spherical(), rod)), "l1", "j1")
    refuse_singular(made((Spherical(), BODY)))


def test_one_joint_too_many():
    refused(made(*[(Prismatic(axis), np.zeros(10)) for axis in (X, Y, Z)], (Prismatic(X + Y), BODY)), "l1", "j1")
    # A massless link between two hinges about one axis.
    links = [Link("base"), Link("between"), Link("end", BODY)]
    joints = [Joint("first", "base", "between", Revolute(Z)), Joint("second", "between", "end", Revolute(Z))]
    refused(assemble("double", links, joints), "between", "first")


def test_a_rotor_is_the_remedy():
    weightless = ((Revolute(Y), BODY), (Revolute(Z), np.zeros(10)))
    refused(made(*weightless), "l2", "j2")
    refused(made(*weightless, drives={2: Drive(0.0, 100.0)}), "l2", "j2")
    refuse_singular(made(*weightless, drives={2: Drive(1e-6, 100.0)}))


def test_every_singular_joint_is_named():
    text = refused(made((Revolute(Z), BODY), (Revolute(Y), np.zeros(10)), (Revolute(X), np.zeros(10))), "l3", "j3")
    assert "the same holds for joint j2" in text


def test_coupled_rotors_and_mimic_joints():
    N = np.array([[40.0, 0.0], [30.0, 30.0]])
    weightless = ((Revolute(Y), BODY), (Revolute(Z), np.zeros(10)))
    refuse_singular(made(*weightless, drives={1: Drive(1e-5), 2: Drive(1e-5)}, transmission=N))
    # One rotor for two weightless joints.
    both = ((Revolute(Y), np.zeros(10)), (Revolute(Z), np.zeros(10)))
    refused(made(*both, drives={1: Drive(0.0), 2: Drive(1e-5)}, transmission=N), "l1", "j1")
    # A weightless joint is carried along by its leader, and a weightless leader by its follower.
    links = [Link("base"), Link("l1", BODY), Link("l2")]
    joints = [
        Joint("j1", "base", "l1", Revolute(Z), AWAY),
        Joint("j2", "l1", "l2", Revolute(Y), AWAY, mimic=Mimic("j1", 0.5)),
    ]
    refuse_singular(assemble("follower", links, joints))
    refused(assemble("nothing", [Link("base"), Link("l1"), Link("l2")], joints), "l1", "j1")
