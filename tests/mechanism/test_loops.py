"""Loops of a mechanism: checked when it is assembled, and kept by every edit, by files and by pickles."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from mechanisms import random_mechanism
from zveno.errors import ZvenoError
from zveno.io.results import decode, encode
from zveno.mechanism import Loop
from zveno.mechanism.base import with_base
from zveno.mechanism.edit import (
    attach,
    cut,
    fix_joints,
    rebuilt,
    scaled,
    subtree,
    with_frame,
    with_gravity,
    with_inertia,
    with_payload,
    with_tool,
)
from zveno.mechanism.reduce import merge_fixed


@pytest.fixture
def closed():
    """A random tree with a frame on its last link, held to link 1."""
    mechanism = random_mechanism(3, n=6, mimic=0.0)
    last, first = mechanism.link_names[-1], mechanism.link_names[1]
    return rebuilt(with_frame(mechanism, "end", last), loops=[Loop("end", first, "hinge")])


def test_words_stand_for_directions():
    assert Loop("a", "b").locked == ("x", "y", "z")
    assert Loop("a", "b", "hinge").locked == ("x", "y", "z", "rx", "ry")
    assert Loop("a", "b", ("rz", "x")) == Loop("a", "b", ("x", "rz"))


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Loop("a", "b", "glue"), "weld"),
        (lambda: Loop("a", "b", ("x", "w")), "direction"),
        (lambda: Loop("a", "b", ("x", "x")), "twice"),
        (lambda: Loop("a", "b", ()), "no direction"),
    ],
)
def test_directions_are_checked(make, says):
    with pytest.raises(ZvenoError, match=says):
        make()


@pytest.mark.parametrize(
    ("loop", "says"),
    [(Loop("end", "nowhere"), "nowhere"), (Loop("end", "end"), "same link"), ("end", "must be a zveno.Loop")],
)
def test_frames_are_checked(closed, loop, says):
    with pytest.raises(ZvenoError, match=says):
        rebuilt(closed, loops=[loop])


def test_edits_keep_loops(closed):
    name = closed.joint_names[0]
    for edited in (
        fix_joints(closed, [name]),
        with_frame(closed, "mark", closed.link_names[1]),
        with_tool(closed, np.eye(4), frame="end"),
        with_payload(closed, 2.0, frame="end"),
        with_inertia(closed, {closed.link_names[1]: np.ones(10)}),
        with_gravity(closed, (0.0, 0.0, 0.0)),
        scaled(closed, length=2.0),
        merge_fixed(closed),
        with_base(closed, "free"),
        with_base(with_base(closed, "free"), "fixed"),
    ):
        assert edited.loops == closed.loops


def test_attached_mechanisms_bring_theirs(closed):
    both = attach(closed, closed, to="end", prefix="left_")
    first = closed.link_names[1]
    assert both.loops == (Loop("end", first, "hinge"), Loop("left_end", f"left_{first}", "hinge"))


def test_a_cut_through_a_loop_opens_it_and_says_so(closed):
    last = closed.link_names[-1]
    for part in (cut(closed, last), subtree(closed, last)):
        assert part.loops == ()
        assert any("opened" in note for note in part.notes)
    whole = subtree(closed, closed.link_names[0])
    assert whole.loops == closed.loops
    assert whole.notes == closed.notes


def test_loops_are_part_of_the_identity(closed):
    opened = rebuilt(closed, loops=())
    other = rebuilt(closed, loops=[Loop("end", closed.link_names[1], "weld")])
    assert len({closed.fingerprint, opened.fingerprint, other.fingerprint}) == 3
    for again in (pickle.loads(pickle.dumps(closed)), decode(encode(closed))):
        assert again.loops == closed.loops
        assert again.fingerprint == closed.fingerprint
