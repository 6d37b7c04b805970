"""Products of elementary transforms: grammar, units, mimic joints, snapping; the writer; malformed text."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mechanisms import random_mechanism
from tiers import examples
from zveno.algorithms.forward_kinematics import frame_pose
from zveno.errors import ModelError, ZvenoError
from zveno.io.elementary import (
    constant_terms,
    elementary_mechanism,
    read_elementary,
    to_elementary,
)
from zveno.io.write import write_model
from zveno.mechanism import Fixed, Helical, Joint, Link, Prismatic, Revolute, assemble
from zveno.spatial.rotations import elementary as rotation
from zveno.spatial.transforms import transform

pytestmark = pytest.mark.filterwarnings("ignore:.*elementary transforms cannot hold:zveno.errors.ZvenoWarning")

POSE = 1e-12


def product(text: str, **joints) -> np.ndarray:
    """The pose of the tool at named joint values."""
    m = elementary_mechanism(text)
    return frame_pose(m, m.pack(joints))


def term(kind: str, value: float) -> np.ndarray:
    if kind[0] == "R":
        return transform(rotation(kind[1], value))
    return transform(None, np.eye(3)["xyz".index(kind[1])] * value)


# --- reading


@pytest.mark.parametrize("kind", ["Tx", "Ty", "Tz", "Rx", "Ry", "Rz"])
def test_terms_are_what_they_say(kind):
    assert abs(product(f"Rz(q) {kind}(0.3)", q=0.2) - term("Rz", 0.2) @ term(kind, 0.3)).max() < 1e-15
    assert abs(product(f"{kind}(a) Tx(2)", a=0.2) - term(kind, 0.2) @ term("Tx", 2)).max() < 1e-15


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("90deg", math.pi / 2),
        ("-90 deg", -math.pi / 2),
        ("90°", math.pi / 2),
        ("pi/2", math.pi / 2),
        ("-pi/4", -math.pi / 4),
        ("2*pi/3", 2 * math.pi / 3),
        ("π", math.pi),
        ("1.2e-1rad", 0.12),
        (".5", 0.5),
        ("--+1", 1.0),
        ("(1 + 2)*0.5 - 1/4", 1.25),
        ("(80+10)deg", math.pi / 2),
        ("90deg + 0.1", math.pi / 2 + 0.1),
        ("2*10deg", math.radians(20)),
        ("−1", -1.0),
    ],
)
def test_arithmetic_of_constants(argument, value):
    m = elementary_mechanism(f"Tz(q) Rz({argument})", snap=False)
    assert abs(frame_pose(m, np.zeros(1)) - term("Rz", value)).max() < 1e-15


@pytest.mark.parametrize(
    ("argument", "metres"), [("1", 1), ("1m", 1), ("431.8mm", 0.4318), ("5cm", 0.05), ("1cm+1mm", 0.011)]
)
def test_lengths(argument, metres):
    assert product(f"Rz(q) Tx({argument})")[0, 3] == metres


def test_header_sets_name_units_and_gravity():
    m = elementary_mechanism(
        "# a comment\nname: my robot\nunit = mm\nangle: deg\ngravity: 0 -9.8 0\n\n"
        "Tz(670) Rz(q1 - 90) # first\nRx(pi/2)Ty(q2)\n"
    )
    assert m.name == "my robot"
    assert m.gravity.tolist() == [0, -9.8, 0]
    want = term("Tz", 0.67) @ term("Rz", 0.3 - math.pi / 2) @ term("Rx", math.pi / 2) @ term("Ty", 0.2)
    assert abs(frame_pose(m, np.array([0.3, 0.2])) - want).max() < POSE


def test_signs_and_offsets_of_joints():
    text = "Rz(-q1) Tx(1) Ry(q2 + 30deg) Tz(0.5 - slide)"
    want = term("Rz", -0.3) @ term("Tx", 1) @ term("Ry", 0.2 + math.pi / 6) @ term("Tz", 0.5 - 0.1)
    assert abs(product(text, q1=0.3, q2=0.2, slide=0.1) - want).max() < POSE
    assert elementary_mechanism(text).joint_names == ("q1", "q2", "slide")


def test_a_joint_that_comes_back_is_a_mimic():
    text = "Rz(-q1) Tx(1) Rz(2*q1 + 0.1) Tx(1) Tz(q2) Tz(-q2/4) Tz(0.01*q1)"
    m = elementary_mechanism(text)
    assert m.n_q == 2
    want = term("Rz", -0.3) @ term("Tx", 1) @ term("Rz", 0.7) @ term("Tx", 1) @ term("Tz", 0.2 * 0.75 + 0.003)
    assert abs(product(text, q1=0.3, q2=0.2) - want).max() < POSE
    # The number that follows an angle with a length is in the file's units of both.
    assert elementary_mechanism("unit: mm\nangle: deg\nRz(q) Tz(3*q)").joints[1].mimic.multiplier == pytest.approx(
        0.003 / math.radians(1)
    )


def test_links_frames_and_tool():
    m = elementary_mechanism("Tz(1) Rz(q1) Tx(2) Rz(q2) Tx(3)")
    assert m.link_names == ("base", "link1", "link2")
    assert m.joints[1].T_parent_joint[0, 3] == 2
    assert m.frame().name == "tool"
    assert m.frame("tool").T_link_frame[0, 3] == 3
    assert not any(link.inertia_given for link in m.links)


def test_near_exact_angles_are_snapped_and_listed():
    text = "Rz(q1)\nRx(1.5708) Rz(q2 - 0.5236) Ry(1.571) Tx(1.5708)"
    m = elementary_mechanism(text)
    assert m.notes == (
        "line 2, Rx: 1.5708 rad was taken to be 90°",
        "line 2, Rz: -0.5236 rad was taken to be -30°",
    )
    assert elementary_mechanism(text, snap=False).notes == ()
    assert elementary_mechanism("snap: no\n" + text).notes == ()
    assert elementary_mechanism("snap: no\n" + text, snap=True).notes != ()


# --- writing


@pytest.mark.parametrize("seed", range(60))
def test_written_chains_read_back(seed, tmp_path):
    kinds = ("revolute", "prismatic", "continuous", "fixed", "revolute", "prismatic")
    m = random_mechanism(seed, n=7, kinds=kinds, branching=0.3, mimic=0.0)
    end = m.link_number("link7")
    if all(m.joint_of(i).type.n_q == 0 for i in (*m.tree.ancestors(end)[1:], end)):
        pytest.skip("its tool does not move")
    path = tmp_path / "robot.ets"
    write_model(m, path)
    back = read_elementary(path)
    assert back.name == m.name
    rng = np.random.default_rng(seed)
    for _ in range(3):
        q = m.random(rng)
        own = back.pack({name: q[m.q_slices[name]] for name in back.joint_names})
        assert abs(frame_pose(back, own) - frame_pose(m, q)).max() < POSE


def test_mimic_joints_read_back():
    for seed in range(12):
        m = random_mechanism(seed, n=6, kinds=("revolute", "prismatic"), branching=0.0, mimic=0.5)
        back = elementary_mechanism(to_elementary(m))
        q = m.random(seed)
        assert abs(frame_pose(back, q) - frame_pose(m, q)).max() < POSE


@pytest.mark.parametrize("mimic", [0.0, 0.5])
def test_screws_read_back_as_rotations_with_a_translation_that_follows(mimic):
    for seed in range(8):
        m = random_mechanism(seed, n=5, kinds=("helical", "revolute"), branching=0.0, mimic=mimic)
        back = elementary_mechanism(to_elementary(m))
        assert back.n_q == m.n_q
        q = m.random(seed)
        assert abs(frame_pose(back, q) - frame_pose(m, q)).max() < POSE
    links = [Link("a"), Link("b")]
    down = assemble("x", links, [Joint("q", "a", "b", Helical((0, 0, -1), 0.002))])
    assert to_elementary(down).split("\n")[1] == "Rz(-q) Tz(-0.002*q)"


def test_only_the_chain_to_the_frame_is_written():
    m = elementary_mechanism("Rz(q1) Tx(1) Rz(q2) Tx(1)")
    assert to_elementary(m, "link1").split("\n")[1:] == ["Rz(q1)", ""]


def test_constants_are_written_with_the_fewest_terms():
    right = math.pi / 2
    assert constant_terms(np.eye(4)) == []
    assert constant_terms(term("Ty", 0.1) @ term("Rx", -right)) == ["Ty(0.1)", "Rx(-90deg)"]
    assert constant_terms(term("Rx", math.pi)) == ["Rx(180deg)"]
    assert constant_terms(term("Ry", 0.25)) == ["Ry(0.25)"]
    rng = np.random.default_rng(0)
    for _ in range(500):
        axes = rng.permutation(["Rx", "Ry", "Rz"])[: rng.integers(1, 4)]
        T = term("Tx", 0.0)
        for axis in axes:
            near = right + float(rng.choice([1.0, -1.0])) * 10.0 ** rng.integers(-16, -1)
            T = T @ term(axis, rng.choice([rng.normal(), rng.integers(-12, 13) * math.pi / 12, near]))
        terms = constant_terms(T)
        assert len(terms) <= len(axes)
        again = elementary_mechanism("snap: no\nTz(q) " + " ".join(terms))
        assert abs(frame_pose(again, np.zeros(1)) - T).max() < 1e-14


def test_a_near_exact_angle_survives_writing():
    m = elementary_mechanism("Rz(q1) Rx(1.5708) Tx(1)", snap=False)
    assert (
        abs(frame_pose(elementary_mechanism(to_elementary(m)), np.ones(1)) - frame_pose(m, np.ones(1))).max()
        < 1e-15
    )


def test_names_that_are_no_words_are_written_as_words():
    links = [Link("a"), Link("b"), Link("c"), Link("d")]
    joints = [
        Joint("joint 1", "a", "b", Revolute()),
        Joint("deg", "b", "c", Prismatic((1, 2, 3))),
        Joint("held", "c", "d", Fixed(), transform(None, np.ones(3))),
    ]
    m = assemble("x", links, joints)
    back = elementary_mechanism(to_elementary(m))
    q = np.array([0.3, 0.4])
    assert abs(frame_pose(back, q) - frame_pose(m, q)).max() < POSE


def test_chains_without_this_form_are_refused():
    with pytest.raises(ModelError, match="spherical joint is not an elementary transform"):
        to_elementary(random_mechanism(0, n=1, kinds=("spherical",), mimic=0.0))
    with pytest.raises(ModelError, match="no joint that moves"):
        to_elementary(elementary_mechanism("Rz(q)"), "base")


# --- malformed input

BAD = [
    ("", "no joint", "Rz(q1)"),
    ("Tx(1) Rz(2)", "no joint", ""),
    ("Qz(q1)", "line 1, column 1: an elementary transform was expected, not 'Qz'", "Did you mean"),
    ("Rz(q1)\n  tx(1)", "line 2, column 3", "'Tx'"),
    ("Rz q1", "'(' was expected", ""),
    ("Rz(q1", "')' was expected, not 'the end'", ""),
    ("Rz()", "a number or a joint was expected, not ')'", ""),
    ("Rz(q1))", "not ')'", ""),
    ("Rz(q1 q2)", "')' was expected, not 'q2'", ""),
    ("Rz(q1+q2)", "two joint variables", "one transform for each"),
    ("Rz(q1*q1)", "product of two quantities", ""),
    ("Rz(1/q1)", "only a plain number can divide", ""),
    ("Rz(q1/0)", "divides by zero", ""),
    ("Rz(2*q1)", "factor 2 where it comes first", "Write q1 or -q1"),
    ("Tz(q) Tx(90deg)", "'deg' is a unit of angle, and a unit of length is needed", ""),
    ("Tz(q) Rx(3mm)", "'mm' is a unit of length, and a unit of angle is needed", ""),
    ("Tz(q) Tx(3 inch)", "'inch' is not a unit", "Known: m, mm, cm"),
    ("Tz(q) Tx(3m m)", "')' was expected", ""),
    ("Tz(q) Tx((3m)m)", "follows something that has a unit", ""),
    ("Tz(q) Tx(deg)", "'deg' cannot stand here", ""),
    ("Tz(q) Tx(0,5)", "',' is not understood", "decimal point"),
    ("Tz(q) Tx(1e400)", "too large", ""),
    ("Tz(q) Tx(1e40*1e40)", "too large", ""),
    ("Tz(q) Tx(1e50+1e50)", "too large", ""),
    ("Tz(q) Tx(__import__('os'))", "is not understood", ""),
    ("Tz(q) Tx(nan)", "nan is not a finite number", "name the joint"),
    ("Rz(q1) $", "'$' is not understood", ""),
    ("Tz(q) Tx(" + "(" * 100 + "1" + ")" * 100 + ")", "nested too deeply", ""),
    ("Tz(q) " + "Tx(1)" * 20_001, "more than 20000", ""),
    ("unit: furlong\nRz(q)", "unit: 'furlong' is not a unit of length", "mm"),
    ("units: mm\nRz(q)", "line 1: 'units' is not a header entry", "'unit'"),
    ("unit: mm\nunit: m\nRz(q)", "line 2: 'unit' is given twice", ""),
    ("gravity: 1 2\nRz(q)", "gravity: '1 2' is not three numbers", ""),
    ("gravity: 1 2 nan\nRz(q)", "not finite", ""),
    ("snap: maybe\nRz(q)", "neither yes nor no", ""),
    ("name:\nRz(q)", "'name' has no value", ""),
]


@pytest.mark.parametrize(("text", "problem", "remedy"), BAD)
def test_malformed_text_is_refused_with_place_and_remedy(text, problem, remedy):
    if problem == "two":  # nan is a word, so it is a joint like any other
        assert elementary_mechanism(text).joint_names == ("q", "nan")
        return
    with pytest.raises(ModelError) as caught:
        elementary_mechanism(text, file="robot.ets")
    message = str(caught.value)
    assert message.startswith("robot.ets")
    assert problem in message
    assert remedy in message


PIECES = [
    "Rz(",
    "Tx(",
    "q1",
    "q2",
    ")",
    "(",
    "+",
    "-",
    "*",
    "/",
    "90deg",
    "mm",
    "0.5",
    "pi",
    "1e9",
    " ",
    "\n",
    "#",
    "unit: mm\n",
    "°",
]


@examples(30, 300)
@given(st.one_of(st.text(max_size=40), st.lists(st.sampled_from(PIECES), max_size=25).map("".join)))
def test_only_our_errors_escape(text):
    try:
        m = elementary_mechanism(text)
    except ZvenoError:
        return
    assert np.isfinite(frame_pose(m, np.zeros(m.n_q))).all()


@examples(20, 200)
@given(
    st.recursive(
        st.floats(0.1, 9).map(repr),
        lambda inner: st.tuples(inner, st.sampled_from("+-*/"), inner).map(lambda t: f"({t[0]}{t[1]}{t[2]})"),
        max_leaves=8,
    )
)
def test_arithmetic_agrees_with_python(expression):
    try:
        want = eval(expression)
    except ZeroDivisionError:
        return
    if abs(want) > 1e6:
        return
    assert product(f"Rz(q) Tx({expression})")[0, 3] == pytest.approx(want, rel=1e-12, abs=1e-12)
