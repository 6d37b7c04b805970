"""MJCF files with their parts, and files nobody should write: one clear error each."""

from __future__ import annotations

import os
import sys

import pytest
from mjcf_models import (
    INERTIAL,
    model_of,
)

from zveno.errors import MissingExtraError, ModelError
from zveno.io.files import MAX_BYTES
from zveno.io.mjcf import parse_mjcf, read_mjcf

mujoco = pytest.importorskip("mujoco")


ARM = model_of(
    f'<body name="arm">{INERTIAL}<geom type="mesh" mesh="shape" material="paint"/><joint name="j"/>'
    f'<geom name="ball" size="1" contype="0"/></body><geom type="hfield" hfield="ground"/>',
    '<asset><mesh name="shape" file="missing.stl"/><texture name="skin" type="2d" file="missing.png"/>'
    '<texture type="skybox" fileright="sky.png"/><material name="paint" texture="skin"/>'
    '<hfield name="ground" file="ground.png" size="1 1 1 1"/></asset>',
    '<contact><exclude body1="world" body2="arm"/></contact>',
)


def test_missing_shapes_and_pictures_are_not_needed(tmp_path):
    (tmp_path / "arm.xml").write_text(ARM)
    mechanism = read_mjcf(tmp_path / "arm.xml")
    assert mechanism.link_names == ("world", "arm")
    assert mechanism.links[1].inertia.tolist() == [1, 0, 0, 0, 1, 0, 1, 0, 0, 1]
    assert "missing.stl" in mechanism.notes[0]


@pytest.mark.parametrize(
    ("geom", "needed"),
    [
        ('<geom type="mesh" mesh="shape"/>', True),
        ('<geom type="mesh" mesh="shape" mass="0"/>', False),
        ('<geom type="mesh" mesh="shape" density="0"/>', False),
        ('<geom type="mesh" mesh="shape" group="2"/>', False),
        ('<geom class="visual"/>', False),
    ],
)
def test_missing_meshes_matter_only_where_they_have_mass(geom, needed):
    text = model_of(
        f'<body name="arm"><geom size="1" mass="3"/>{geom}<joint name="j"/></body>',
        '<compiler inertiagrouprange="0 1"/><asset><mesh name="shape" file="missing.stl"/></asset>'
        '<default><default class="visual"><geom type="mesh" mesh="shape" group="3"/></default></default>',
    )
    if needed:
        with pytest.raises(ModelError, match=r"missing\.stl.*<inertial>"):
            parse_mjcf(text)
    else:
        assert parse_mjcf(text).links[1].inertia[0] == 3


def test_includes_are_found_beside_the_file(tmp_path, monkeypatch):
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "arm.xml").write_text(
        f'<mujocoinclude><body name="arm">{INERTIAL}<joint/></body></mujocoinclude>'
    )
    (tmp_path / "robot.xml").write_text(model_of('<include file="parts/arm.xml"/>'))
    assert read_mjcf(tmp_path / "robot.xml").link_names == ("world", "arm")
    monkeypatch.chdir(tmp_path)
    assert read_mjcf("robot.xml").link_names == ("world", "arm")
    with pytest.raises(ModelError, match="part of a model"):
        read_mjcf("parts/arm.xml")
    (tmp_path / "broken.xml").write_text(model_of('<include file="parts/leg.xml"/>'))
    with pytest.raises(ModelError, match=r"broken\.xml.*include.*leg\.xml.*must exist"):
        read_mjcf("broken.xml")


def test_entities_of_included_files_are_not_expanded(tmp_path):
    """MuJoCo's own XML reader meets these files: it knows no entities."""
    (tmp_path / "part.xml").write_text(
        f'<!DOCTYPE m [<!ENTITY x "1">]><mujocoinclude><body name="arm" pos="&x; 0 0">{INERTIAL}<joint/></body>'
        "</mujocoinclude>"
    )
    (tmp_path / "robot.xml").write_text(model_of('<include file="part.xml"/>'))
    with pytest.raises(ModelError, match=r"robot\.xml: "):
        read_mjcf(tmp_path / "robot.xml")


def test_memory_that_mujoco_cannot_have_is_an_error():
    refuse("allocate memory.*Lower the sizes", model_of("", '<size memory="1000000G"/>'))


def test_reading_prints_nothing_and_leaves_no_files(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    parse_mjcf(ARM)
    handler = mujoco.get_mju_user_warning()
    with pytest.raises(ModelError, match=r"arm.*not finite"):
        parse_mjcf(model_of(f'<body name="arm" pos="nan 0 0">{INERTIAL}<joint/></body>'))
    assert mujoco.get_mju_user_warning() is handler
    assert os.listdir(tmp_path) == []
    assert capfd.readouterr() == ("", "")


# --- bad input: one clear error


def refuse(words: str, text: str):
    with pytest.raises(ModelError, match=words) as caught:
        parse_mjcf(text, "bad.xml")
    assert str(caught.value).startswith("bad.xml: ")


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("empty", ""),
        ("not XML", "hello"),
        ("malformed", "<mujoco><worldbody></mujoco>"),
        ("URDF.*read_urdf", '<robot name="r"><link name="a"/></robot>'),
        ("root element is <sdf>", "<sdf/>"),
        ("document type", '<!DOCTYPE m [<!ENTITY a "b"><!ENTITY c "&a;&a;">]><mujoco model="&c;"/>'),
        ("document type", '<!DOCTYPE m [<!ENTITY x SYSTEM "file:///etc/passwd">]><mujoco model="&x;"/>'),
        ("mass and inertia.*<inertial>", model_of('<body name="arm"><joint/></body>')),
        ("body.*line 1.*unrecognized attribute: 'poss'", model_of('<body poss="1 0 0"/>')),
        ("body.*bad format|problem reading", model_of('<body pos="1 0 o"/>')),
        ("not have enough data", model_of('<body pos="1 0"/>')),
        ("repeated name 'a'", model_of('<body name="a"/><body name="a"/>')),
        ("axis too small", model_of(f'<body>{INERTIAL}<joint axis="0 0 0"/></body>')),
        ("joint j.*not finite", model_of(f'<body>{INERTIAL}<joint name="j" pos="0 inf 0"/></body>')),
        ("body b.*not finite", model_of('<body name="b" pos="inf 0 0"/>')),
        ("body b.*out of range", model_of('<body name="b" pos="1e200 0 0"/>')),
        ("joint j.*not finite", model_of(f'<body>{INERTIAL}<joint name="j" type="slide" ref="nan"/></body>')),
        ("joint j.*not finite", model_of(f'<body>{INERTIAL}<joint name="j" damping="inf"/></body>')),
        ("site s.*not finite", model_of('<site name="s" pos="0 0 nan"/>')),
        (
            "mass and inertia",
            model_of('<body><inertial pos="0 0 0" mass="-1" diaginertia="1 1 1"/><joint/></body>'),
        ),
        (
            "A \\+ B >= C.*balance",
            model_of('<body><inertial pos="0 0 0" mass="1" diaginertia="1 1 9"/><joint/></body>'),
        ),
        ("range", model_of(f'<body>{INERTIAL}<joint limited="true" range="2 1"/></body>')),
        ("joint type|invalid keyword", model_of(f'<body>{INERTIAL}<joint type="hing"/></body>')),
        ("zz", model_of("", after='<actuator><motor joint="zz"/></actuator>')),
        ("[Pp]lugin.*take them out", "<mujoco><extension><plugin plugin='no.such'/></extension></mujoco>"),
    ],
)
def test_bad_text_is_refused(words, text):
    refuse(words, text)


@pytest.mark.parametrize("number", ["nan", "inf"])
def test_bad_gravity_is_refused(number):
    refuse("gravity", f'<mujoco><option gravity="0 0 {number}"/></mujoco>')


@pytest.mark.parametrize("text", [None, 3, b"<mujoco/>"])
def test_text_must_be_text(text):
    with pytest.raises(ModelError, match="where text is needed"):
        parse_mjcf(text)


def test_bad_paths_are_refused(tmp_path):
    with pytest.raises(ModelError, match="no such file"):
        read_mjcf(tmp_path / "nothing.xml")
    with pytest.raises(ModelError, match="directory"):
        read_mjcf(tmp_path)
    large = tmp_path / "large.xml"
    with large.open("wb") as stream:
        stream.truncate(MAX_BYTES + 1)
    with pytest.raises(ModelError, match=r"large\.xml.*MB"):
        read_mjcf(large)
    binary = tmp_path / "binary.xml"
    binary.write_bytes(bytes(range(256)))
    with pytest.raises(ModelError, match=r"binary\.xml"):
        read_mjcf(binary)


def test_deep_nesting_is_refused():
    refuse("nested|nesting", model_of("<body>" * 5000 + "</body>" * 5000))


def test_without_mujoco_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(MissingExtraError, match=r"zveno\[mjcf\]"):
        parse_mjcf("<mujoco/>")


def test_an_old_mujoco_is_refused(monkeypatch):
    monkeypatch.setattr(mujoco, "__version__", "3.2.7")
    with pytest.raises(MissingExtraError, match=r"3\.2\.7 is too old"):
        parse_mjcf("<mujoco/>")
