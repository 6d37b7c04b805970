"""The law of writers: what is read back is what was written, and whatever is not is named in a warning."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest

from mechanisms import random_mechanism
from zveno.algorithms.forward_kinematics import frame_pose
from zveno.algorithms.mass_matrix import mass_matrix
from zveno.errors import ZvenoWarning
from zveno.io.dh import dh_mechanism
from zveno.io.elementary import elementary_mechanism
from zveno.io.urdf import parse_urdf
from zveno.io.write import model_text
from zveno.mechanism import Continuous, Extra, Limits, Loop, Mechanism, assemble

POSES = 1e-9
"""Metres and radians: tables move frames, and rotations of 2e-15 become 1e-12 over a chain."""
READERS = {"urdf": parse_urdf, "dh": dh_mechanism, "elementary": elementary_mechanism}
KINDS = {
    "urdf": ("revolute", "continuous", "prismatic", "fixed", "helical", "universal", "spherical", "planar", "free"),
    "dh": ("revolute", "continuous", "prismatic", "fixed"),
    "elementary": ("revolute", "continuous", "prismatic", "fixed"),
}
DRIVE_FIELDS = {"rotor_inertia": 0.0, "gear_ratio": 1.0, "viscous": 0.0, "coulomb": 0.0, "offset": 0.0}


def with_everything(seed: int, format: str) -> Mechanism:
    """A random mechanism that has, each with an even chance, whatever a mechanism can have."""
    rng = np.random.default_rng(seed)
    branching = 0.0 if format == "dh" else 0.3
    made = random_mechanism(
        seed, 6, KINDS[format], branching, 0.2 if format == "urdf" else 0.0, bool(rng.integers(2))
    )
    has = rng.random(8) < 0.5
    joints, links = list(made.joints), list(made.links)
    for k, joint in enumerate(joints):
        limits = joint.limits if has[0] else Limits()
        if has[1] and isinstance(joint.type, Continuous):
            limits = Limits(-1.0, np.inf, 2.0)
        joints[k] = replace(joint, limits=limits)
    if has[2]:
        links = [replace(link, inertia=np.zeros(10), inertia_given=False) for link in links]
    if has[3]:
        links[3] = replace(links[3], inertia=np.array([0, 0.1, 0, 0, 1, 0, 1, 0, 0, 1.0]))
    loops = [Loop("mark", "tool")] if has[4] and made.frame("mark").link != made.frame("tool").link else []
    extras = [Extra("<visual />", link="link1"), Extra("<calibration />", joint=joints[2].name)] if has[5] else []
    return assemble(
        made.name,
        links,
        joints,
        made.frames if has[6] else made.frames[:1],
        made.gravity,
        transmission=rng.normal(size=(made.n_v, made.n_v)) if has[7] and made.n_v else None,
        loops=loops if has[6] else [],
        extras=extras,
    )


def by_joint(mechanism: Mechanism, names: list[str], part: str, defaults: dict[str, float]) -> list[list[float]]:
    """Numbers of a part of the joints named; its defaults where a joint has none."""
    joints = [mechanism.joint(name) for name in names]
    return [
        np.ravel(
            np.full(joint.type.n_v, default) if getattr(joint, part) is None else getattr(getattr(joint, part), key)
        ).tolist()
        for joint in joints
        for key, default in defaults.items()
    ]


def bodies_of(mechanism: Mechanism) -> Mechanism:
    """The mechanism without rotors and gears, so that its mass matrix is that of the links."""
    joints = tuple(replace(joint, drive=None) for joint in mechanism.joints)
    return replace(mechanism, joints=joints, transmission=None)


def off_the_chain(mechanism: Mechanism) -> set[str]:
    """Links that do not lead to the tool."""
    number = mechanism.link_number(mechanism.default_frame.link)
    kept = {*mechanism.tree.ancestors(number), number}
    return {name for k, name in enumerate(mechanism.link_names) if k not in kept}


def differences(one: Mechanism, two: Mechanism, rng: np.random.Generator) -> set[str]:
    """What of `one` is not in `two`, in the words that warnings use."""
    lost = set()
    q = one.random(rng)
    if two.coordinate_names != one.coordinate_names:
        return {"links off the chain"}
    moving = [joint.name for joint in one.joints if joint.type.n_q]
    limits = {"lower": -np.inf, "upper": np.inf, "velocity": np.inf, "effort": np.inf}
    if by_joint(one, moving, "limits", limits) != by_joint(two, moving, "limits", limits):
        lost.add("limits")
    if by_joint(one, moving, "drive", DRIVE_FIELDS) != by_joint(two, moving, "drive", DRIVE_FIELDS):
        lost.add("drives")
    if not np.allclose(mass_matrix(bodies_of(one), q), mass_matrix(bodies_of(two), q), rtol=1e-6, atol=1e-9):
        lost.add("inertia")
    if not np.array_equal(one.gravity, two.gravity):
        lost.add("gravity")
    if (one.transmission is None) != (two.transmission is None):
        lost.add("coupling matrix")
    if len(one.loops) != len(two.loops):
        lost.add("loop ")
    if not {extra.text for extra in one.extras} <= {extra.text for extra in two.extras}:
        lost.add("shape(s)")
    for frame in one.frames:
        if frame.name not in two.frame_names:
            lost.add("frames")
        elif abs(frame_pose(one, q, frame.name) - frame_pose(two, q, frame.name)).max() > POSES:
            lost.add(f"the pose of {frame.name}")
    return lost


WORDS = ("limits", "drives", "inertia", "coupling matrix", "loop ", "shape(s)", "frames", "links off the chain")


@pytest.mark.parametrize("format", READERS)
@pytest.mark.parametrize("seed", range(25))
def test_what_is_not_read_back_was_named(seed, format):
    one = with_everything(seed, format)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        text = model_text(one, format)
    said = " ".join(str(warning.message) for warning in caught)
    assert len(caught) <= 1, "one warning names everything"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ZvenoWarning)
        two = READERS[format](text)
    rng = np.random.default_rng(seed)
    lost = differences(one, two, rng)
    if format == "elementary" and off_the_chain(one):
        assert "links off the chain" in said
        return  # what they carry goes with them
    for words in lost:
        found = "first moments" if words == "inertia" and "first moments" in said else words
        assert found in said, f"{words} lost in silence; said: {said!r}"
    for words in set(WORDS) - lost:
        assert words not in said, f"{words} said to be lost and are not: {said!r}"


def test_a_robot_that_the_format_holds_is_written_without_a_word():
    planar = elementary_mechanism("Rz(q1) Tx(1) Rz(q2) Tx(1)")
    for format in READERS:
        model_text(planar, format)  # a warning would be an error here
