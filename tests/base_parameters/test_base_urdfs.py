"""Every URDF of the package `example-robot-data`, on a fixed and on a floating base.

The ranks were measured once with Pinocchio's sampled regressors, each moving body with all its parameters and mimic
joints on their own; the smaller models are sampled again here.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from importlib.metadata import files
from pathlib import Path

import pytest
from base_oracle import rank_of, residual, sampled

from zveno.base_parameters.analyse import base_parameters
from zveno.errors import ZvenoWarning
from zveno.io.urdf import read_urdf
from zveno.mechanism.base import with_base
from zveno.mechanism.reduce import merge_fixed

RANKS = {
    "TwoDofs": (4, 24),
    "a1": (68, 94),
    "alexander_v1.lowerBodyOnly": (77, 101),
    "allegro_right_hand": (94, 122),
    "anymal": (68, 94),
    "anymal-kinova": (104, 136),
    "b1-z1": (111, 143),
    "baxter": (103, 131),
    "bolt": (34, 52),
    "centauro": (243, 283),
    "double_pendulum": (6, 24),
    "finger_edu": (17, 31),
    "g1_29dof_rev_1_0": (189, 213),
    "go2": (68, 94),
    "human": (234, 262),
    "hyq_no_sensors": (68, 94),
    "icub_reduced": (191, 213),
    "iris": (4, 38),
    "laikago": (68, 94),
    "panda": (51, 67),
    "pr2": (182, 217),
    "romeo": (361, 395),
    "simple_humanoid": (191, 213),
    "so100": (36, 52),
    "so101": (36, 52),
    "solo12": (68, 94),
    "talos_reduced": (206, 234),
    "tiago": (310, 343),
    "ur10_robot": (36, 52),
    "ur5_robot": (36, 52),
    "xarm7": (43, 59),
}
URDFS = {
    Path(str(file)).stem: Path(str(file.locate()))
    for file in files("example-robot-data") or ()
    if file.suffix == ".urdf" and "robots" in file.parts
}


def mechanism_of(name: str, base: str, snap: bool = True):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ZvenoWarning)
        mechanism = read_urdf(URDFS[name], snap=snap)
    joints = tuple(replace(joint, mimic=None) for joint in mechanism.joints)
    return with_base(replace(mechanism, joints=joints), base)


@pytest.mark.laws(after=7)
@pytest.mark.parametrize("name", RANKS)
def test_rank(name):
    for base, rank in zip(("fixed", "free"), RANKS[name], strict=True):
        found = base_parameters(mechanism_of(name, base), massless=(), exact=False)
        assert found.rank == rank
        kept, dropped = found.gap
        assert kept > 1e-3
        assert dropped < 1e-11


@pytest.mark.parametrize("name", ["ur5_robot", "finger_edu", "double_pendulum", "iris", "so100", "bolt", "panda"])
def test_rank_and_row_space_against_samples(name):
    for base in ("fixed", "free"):
        mechanism = merge_fixed(mechanism_of(name, base))
        found = base_parameters(mechanism, massless=(), exact=False)
        W = sampled(mechanism)
        assert found.rank == rank_of(W)
        assert residual(W, found) < 1e-10


@pytest.mark.parametrize("name", ["ur5_robot", "talos_reduced", "human", "bolt", "solo12"])
def test_exact_where_the_angles_are(name):
    found = base_parameters(mechanism_of(name, "free"), exact=True)
    assert found.rank == RANKS[name][1]
    assert found.certified


def test_links_stated_to_have_no_mass_are_not_counted():
    # Romeo's fingers have an inertial element that says zero.
    found = base_parameters(mechanism_of("romeo", "fixed"), exact=False)
    assert len(found.massless) > 40
    assert found.rank == 193
    assert f"{len(found.massless)} links are without inertia and not counted" in found.summary
    assert "massless" not in base_parameters(mechanism_of("romeo", "fixed"), exact=False, massless=()).summary


@pytest.mark.parametrize("name", ["so100", "so101"])
def test_five_digit_angles_as_typed(name):
    with pytest.warns(ZvenoWarning, match="38 parameters as typed, 36 as meant"):
        found = base_parameters(mechanism_of(name, "fixed", snap=False))
    assert found.rank == 38
