"""Malformed Denavit–Hartenberg tables: one error with place and remedy, and no other error escapes."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from dh_tables import ROW, TOP
from hypothesis import given
from hypothesis import strategies as st

from tiers import examples
from zveno.errors import ModelError, ZvenoError, ZvenoWarning
from zveno.io.dh import dh_mechanism

BAD = [
    ("not [ toml", "not TOML", "line 1"),
    ("a = " + "[" * 5000, "not TOML", ""),
    ("x = 1\n", "not a Denavit", "convention"),
    (TOP, "no joint", "[[joint]]"),
    (ROW + TOP, "'convention' is missing", "Add convention"),
    (TOP.replace("standard", "standart") + ROW, "'standart' is not known", "'standard'"),
    (TOP.replace('"mm"', '"mn"') + ROW, "unit: 'mn' is not a unit of length", "Did you mean"),
    (TOP.replace('"deg"', '"degrees"') + ROW, "angle: 'degrees' is not a unit of angle", "'deg'"),
    (TOP.replace('unit = "mm"\n', "") + ROW, "'unit' is missing", ""),
    (TOP.replace('"mm"', "3") + ROW, "unit: 3 is not a text", ""),
    (TOP + "gravty = [0, 0, 1]\n" + ROW, "'gravty' is not a key here", "'gravity'"),
    (TOP + "gravity = [0, 1]\n" + ROW, "gravity: it has 2 entries where 3", ""),
    (TOP + "gravity = [0, 0, nan]\n" + ROW, "gravity: nan is not finite", ""),
    (TOP + ROW + "alfa = 3\n", "joint 1: 'alfa' is not a key here", "'alpha'"),
    (TOP + ROW + "offset = 3\n", "joint 1: 'offset' is not a key here", "offset is theta"),
    (TOP + ROW + ROW.replace("alpha = -90\n", ""), "joint 2: 'alpha' is missing", ""),
    (TOP + ROW.replace("d = 20\n", ""), "joint 1: 'd' is missing", ""),
    (TOP + ROW.replace("-90", "nan"), "joint 1, alpha: nan is not finite", ""),
    (TOP + ROW.replace("-90", '"90degs"'), "joint 1, alpha, column 3: 'degs' is not a unit", "'deg'"),
    (TOP + ROW.replace("-90", '"10mm"'), "joint 1, alpha, column 3: 'mm' is a unit of length", ""),
    (TOP + ROW.replace("-90", '"q1"'), "joint 1, alpha, column 1: 'q1' is not a number", ""),
    (TOP + ROW.replace("-90", "true"), "joint 1, alpha: True is not a number", ""),
    (TOP + ROW.replace("-90", "[1]"), "joint 1, alpha: [1] is not a number", ""),
    (TOP + ROW.replace("-90", "1e300"), "too large", ""),
    (TOP + ROW.replace("-90", "9" * 400), "too large", ""),
    (TOP + ROW.replace("-90", "9" * 5000), "not TOML", ""),
    (TOP + ROW + 'type = "revolut"\n', "joint 1, type: 'revolut' is not known", "'revolute'"),
    (TOP + ROW + "sign = 2\n", "joint 1, sign: 2 is not a sign", ""),
    (TOP + ROW + 'parent = "nowhere"\n', "'nowhere' does not exist", ""),
    (TOP + ROW + 'parent = "link1"\n', "to itself", ""),
    (TOP + ROW + 'name = "j"\n' + ROW + 'name = "j"\n', "two joints are named 'j'", ""),
    (TOP + ROW + 'at = "Qx(3)"\n', "joint 1, at, column 1", "Tx"),
    (TOP + ROW + 'at = "Rx(q)"\n', "joint 1, at, column 1: joint 'q' stands in a constant", ""),
    (TOP + ROW + "limits = [3, 1]\n", "reversed", ""),
    (TOP + ROW + "limits = 3\n", "limits: it is not a list", ""),
    (TOP + ROW + "limits = [nan, 1]\n", "limits: nan is not finite", ""),
    (TOP + ROW + "mass = -1\n", "mass is negative", ""),
    (TOP + ROW + "mass = inf\n", "mass: inf is not finite", ""),
    (TOP + ROW + "center_of_mass = [0, 0, 0]\n", "'mass' is missing", ""),
    (TOP + ROW + "mass = 1\ninertia = [1, 2]\n", "inertia: it has 2 entries where 3 or 6", ""),
    (TOP + ROW + 'mass = 1\ninertia_about = "centre"\n', "'centre' is not known", "'center'"),
    (TOP + ROW + "drive = { gear = 2 }\n", "joint 1, drive: 'gear' is not a key", "gear_ratio"),
    (TOP + ROW + "drive = { rotor_inertia = -2 }\n", "rotor_inertia is negative", ""),
    (TOP + ROW + "drive = 3\n", "joint 1, drive: 3 is not a table", ""),
    (TOP + 'joint = "x"\n', "joint: it is not an array of tables", "[[joint]]"),
    (TOP + "joint = [1]\n", "1 is not a table", ""),
    (TOP + "transmission = [[1, 2]]\n" + ROW, "transmission: it has 2 entries where 1", ""),
    (TOP + 'tool = "Tz(1"\n' + ROW, "tool, column 5: ')' was expected", ""),
    (TOP + "snap = 1\n" + ROW, "snap: 1 is neither", ""),
    (TOP + "notes = 1\n" + ROW, "notes: it is not a list of texts", ""),
    (TOP + ROW + '[[frame]]\nname = "f"\nlink = "nope"\n', "no link named 'nope'", ""),
    (TOP + '[[joint]]\ntype = "fixed"\ntheta = 0\nd = 0\na = 0\nalpha = 0\nlimits = [0, 1]\n', "does not move", ""),
]


@pytest.mark.parametrize(("text", "problem", "remedy"), BAD)
def test_malformed_tables_are_refused_with_place_and_remedy(text, problem, remedy):
    with pytest.raises(ZvenoError) as caught:
        dh_mechanism(text, file="robot.toml")
    message = str(caught.value)
    assert message.startswith("robot.toml")
    assert problem in message
    assert remedy in message


KEYS = [
    "alpha",
    "a",
    "d",
    "theta",
    "type",
    "sign",
    "limits",
    "mass",
    "center_of_mass",
    "inertia",
    "at",
    "parent",
    "drive",
]
VALUES = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(),
        st.text(max_size=8),
        st.just("Rz(1)"),
        st.just("-90deg"),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=6), st.dictionaries(st.text("abc", max_size=3), inner, max_size=3)
    ),
    max_leaves=6,
)


def _toml(value) -> str:
    match value:
        case None:
            return "1979-05-27"
        case bool():
            return str(value).lower()
        case str():
            return '"' + "".join(f"\\U{ord(c):08X}" for c in value) + '"'
        case list():
            return "[" + ", ".join(_toml(one) for one in value) + "]"
        case dict():
            return "{" + ", ".join(f"{_toml(key)} = {_toml(one)}" for key, one in value.items()) + "}"
    return repr(value)


def test_the_number_of_rows_is_bounded():
    rows = "[[joint]]\na = 1\nd = 0\nalpha = 0\n" * 20_001
    with pytest.raises(ModelError, match=r"big\.toml: joint: it has 20001 rows, and at most 20000 are read"):
        dh_mechanism(f'convention = "standard"\nunit = "m"\nangle = "rad"\n{rows}', file="big.toml")


@examples(15, 150)
@given(st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=5))
def test_only_our_errors_escape(entries):
    row = {"alpha": 0, "a": 0, "d": 0, "theta": 0} | entries
    text = TOP + "[[joint]]\n" + "\n".join(f"{key} = {_toml(value)}" for key, value in row.items())
    _harmless(lambda: dh_mechanism(text))


@examples(10, 100)
@given(st.text(max_size=60))
def test_any_text_is_read_or_refused(text):
    _harmless(lambda: dh_mechanism(text))


def _harmless(read):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ZvenoWarning)
        try:
            m = read()
        except ZvenoError:
            return
        assert all(np.isfinite(joint.T_joint_child).all() for joint in m.joints)
