"""xacro files are what they expand to; robots of robot_descriptions are found by name."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import zveno
from zveno.errors import MissingExtraError, ModelError, UnknownNameError

URDF = """<robot name="two"><link name="base"/><link name="upper"/><link name="lower"/>
<joint name="j1" type="continuous"><parent link="base"/><child link="upper"/><origin xyz="0 0 {z}"/>
<axis xyz="0 0 1"/></joint>
<joint name="j2" type="continuous"><parent link="upper"/><child link="lower"/><origin xyz="0.6 0 {z}"/>
<axis xyz="0 0 1"/></joint></robot>"""
XACRO = """<robot name="two" xmlns:xacro="http://www.ros.org/wiki/xacro">
<xacro:arg name="height" default="0.3"/><xacro:property name="z" value="$(arg height)"/>
<xacro:macro name="joint" params="n parent child x">
<joint name="j${n}" type="continuous"><parent link="${parent}"/><child link="${child}"/>
<origin xyz="${x} 0 ${z}"/><axis xyz="0 0 1"/></joint></xacro:macro>
<link name="base"/><link name="upper"/><link name="lower"/>
<xacro:joint n="1" parent="base" child="upper" x="0"/>
<xacro:joint n="2" parent="upper" child="lower" x="${2 * 0.3}"/></robot>"""
pytestmark = pytest.mark.filterwarnings("ignore:.*inertia:zveno.ZvenoWarning")


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "two.urdf.xacro"
    path.write_text(XACRO)
    return path


def poses(robot):
    return robot.forward_kinematics(np.array([[0.1, 0.2], [1.0, -2.0]]))


@pytest.mark.parametrize(("words", "z"), [("", 0.3), (" height:=0.7", 0.7)])
def test_a_xacro_file_is_what_it_expands_to(file, tmp_path, words, z):
    pytest.importorskip("xacro")
    expanded = tmp_path / "two.urdf"
    expanded.write_text(URDF.format(z=z))
    assert np.allclose(poses(zveno.load(f"{file}{words}")), poses(zveno.load(expanded)), atol=1e-12)
    if not words:
        assert np.allclose(poses(zveno.load(file)), poses(zveno.load(expanded)), atol=1e-12)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("2 * 0.3", "2 * nothing", "nothing"),
        ("<xacro:joint n", "<xacro:jiont n", "jiont"),
        ("$(arg height)", "$(find no_such_package)", "substitution args not supported|no_such_package"),
        ("</robot>", "", "no element found"),
        ('x="${2 * 0.3}"', 'x="a"', "'a'"),
    ],
)
def test_what_cannot_be_expanded_is_one_clear_error(file, capsys, old, new, message):
    pytest.importorskip("xacro")
    assert old in XACRO
    file.write_text(XACRO.replace(old, new))
    with pytest.raises(ModelError, match=message) as caught:
        zveno.load(file)
    assert caught.value.file == file


def test_without_the_package_the_extra_is_named(file, monkeypatch):
    monkeypatch.setitem(sys.modules, "xacro", None)
    with pytest.raises(MissingExtraError, match=r"zveno\[xacro\]"):
        zveno.load(file)
    with pytest.raises(MissingExtraError, match=r"zveno\[xacro\]"):
        zveno.load(f"{file} height:=1")


# --- robot_descriptions


@pytest.fixture
def descriptions(tmp_path, monkeypatch, file):
    """A package like robot_descriptions: a module a robot, which names its file once it is imported."""
    package = tmp_path / "site" / "robot_descriptions"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    model = tmp_path / "model.urdf"
    model.write_text(URDF.format(z=0.3))
    (package / "two_description.py").write_text(
        f"import warnings\nwarnings.warn('old', FutureWarning)\nURDF_PATH = {str(model)!r}\n"
    )
    (package / "tall_description.py").write_text(f"XACRO_PATH = {str(file)!r}\nXACRO_ARGS = {{'height': '0.9'}}\n")
    (package / "far_description.py").write_text("raise OSError('no route to host')\n")
    (package / "_empty_description.py").write_text("")
    for name in [name for name in sys.modules if name.partition(".")[0] == "robot_descriptions"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(str(package.parent))
    yield package
    for name in [name for name in sys.modules if name.partition(".")[0] == "robot_descriptions"]:
        del sys.modules[name]


def test_a_description_is_its_file(descriptions, tmp_path):
    assert np.array_equal(poses(zveno.load("two_description")), poses(zveno.load(tmp_path / "model.urdf")))


def test_a_description_in_xacro_has_its_arguments(descriptions):
    pytest.importorskip("xacro")
    assert poses(zveno.load("tall_description"))[0, 2, 3] == pytest.approx(1.8)


def test_unknown_and_unreachable_descriptions(descriptions):
    with pytest.raises(UnknownNameError, match="Did you mean two_description") as caught:
        zveno.load("tow_description")
    assert "_empty" not in str(caught.value)
    with pytest.raises(ModelError, match=r"far_description: its files could not be fetched: no route to host"):
        zveno.load("far_description")


def test_without_the_package_it_is_named(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match="pip install robot_descriptions"):
        zveno.load("two_description")
