"""Bad URDF: one clear error with file, element and remedy; nothing else escapes, nothing hangs."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, example, given
from hypothesis import strategies as st
from urdf_models import ARM, joint_text

from growth import grows_linearly
from tiers import examples
from zveno.errors import ModelError, ZvenoError, ZvenoWarning
from zveno.io import _xml
from zveno.io.urdf import parse_urdf, read_urdf

BOMB = '<!DOCTYPE b [<!ENTITY a "aaaaaaaaaa">{}]><robot name="&i;"/>'.format(
    "".join(f'<!ENTITY {name} "{f"&{before};" * 10}">' for before, name in zip("abcdefgh", "bcdefghi", strict=True))
)


def arm(old: str, new: str) -> str:
    assert old in ARM
    return ARM.replace(old, new, 1)


def one(inside: str, kind: str = "revolute", attributes: str = "") -> str:
    return joint_text(kind, inside, attributes)


CASES = {
    # text: words of the error
    "malformed": (arm("</robot>", ""), "line 30, column 0: the XML is malformed"),
    "mismatched": (arm("</link>", "</lnk>"), "mismatched tag"),
    "empty": (" \n ", "is empty"),
    "not XML": ("robot: arm\n", "not XML"),
    "binary": ("\x7fELF\x02\x01\x00", "not XML"),
    "no declared prefix": (arm("<material", "<sensor:camera/><material"), "prefix"),
    "entity bomb": (BOMB, "document type definition or entities"),
    "external entity": (
        '<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]><robot name="&x;"/>',
        "document type definition or entities",
    ),
    "external DTD": ('<!DOCTYPE robot SYSTEM "http://example.com/a.dtd"><robot/>', "document type definition"),
    "unknown entity": ('<robot name="&x;"/>', "undefined entity"),
    "MJCF": ("<mujoco/>", "this is an MJCF model.*read_mjcf"),
    "SDF": ("<sdf version='1.7'/>", "this is an SDF model"),
    "another root": ("<html/>", "root element is <html>"),
    "no links": ("<robot name='r'/>", "no links"),
    "xacro element": (
        '<robot xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:macro name="m"/></robot>',
        r"macro \(line 1\): this is a xacro file.*xacro robot.urdf.xacro > robot.urdf",
    ),
    "xacro expression": (arm('xyz="0.3 0 0"', 'xyz="${a} 0 0"'), r"origin \(line 2[0-9]\): this is a xacro file"),
    "xacro substitution": (arm("package://nowhere", "$(find nowhere)"), "this is a xacro file"),
    "cycle": (
        arm('<parent link="base"/>', '<parent link="fore"/>').replace('<link name="base"/>', ""),
        "form a cycle",
    ),
    "two roots": (
        arm('<link name="base"/>', '<link name="base"/><link name="b2"/>'),
        "several root links: base, b2",
    ),
    "two parents": (
        arm('<child link="tool0"/>', '<child link="upper"/>'),
        "joint flange .*'upper'.*joint 'shoulder'",
    ),
    "missing parent": (
        arm('<parent link="fore"/>', '<parent link="fourarm"/>'),
        r"joint flange \(line \d+\): its parent link 'fourarm' does not exist",
    ),
    "no parent": (arm('<parent link="fore"/>', ""), "joint flange .*names no parent link"),
    "empty child": (arm('<child link="fore"/>', "<child/>"), "joint elbow .*names no child link"),
    "joint to itself": (arm('<child link="tool0"/>', '<child link="fore"/>'), "to itself"),
    "negative mass": (
        arm('value="1.5"', 'value="-1.5"'),
        r"link upper, mass value \(line \d+\): the mass is negative",
    ),
    "NaN mass": (arm('value="1.5"', 'value="nan"'), "link upper, mass value .*'nan' is not a finite number"),
    "infinite mass": (arm('value="1.5"', 'value="1e999"'), "link upper, mass value .*not a finite number"),
    "huge mass": (arm('value="1.5"', 'value="1e200"'), "link upper, mass value .*out of range"),
    "no mass": (arm('<mass value="1.5"/>', ""), "link upper, inertial .*no <mass>"),
    "no ixx": (arm('ixx="0.02" ', ""), "link upper, inertia ixx .*missing"),
    "NaN inertia": (arm('ixz="-0.002"', 'ixz="NaN"'), "link upper, inertia ixz .*'NaN' is not"),
    "two inertials": (arm("</link>", "<inertial/></link>"), "2 <inertial>"),
    "zero axis": (arm('xyz="0 0 1"', 'xyz="0 0 0"'), r"joint shoulder, axis xyz \(line \d+\): the axis is zero"),
    "NaN axis": (arm('xyz="0 0 1"', 'xyz="0 0 nan"'), "joint shoulder, axis xyz .*'nan' is not"),
    "short axis": (arm('xyz="0 0 1"', 'xyz="0 0"'), "joint shoulder, axis xyz .*2 value.* where 3 are needed"),
    "empty axis": (arm('xyz="0 0 1"', 'xyz=""'), "joint shoulder, axis xyz .*0 value.* where 3"),
    "axis without xyz": (arm('<axis xyz="0 0 1"/>', "<axis/>"), "joint shoulder, axis xyz .*missing"),
    "two axes": (arm('<axis xyz="0 0 1"/>', "<axis/><axis/>"), "joint shoulder .*there are 2 <axis>"),
    "decimal comma": (arm('xyz="0 0 0.4"', 'xyz="0 0 0,4"'), r"origin xyz .*'0,4' is not.*decimal point \(0.4\)"),
    "two numbers": (
        arm('rpy="0.1 -0.2 0.3"', 'rpy="0.1 0.2"'),
        r"joint shoulder, origin rpy \(line \d+\).*2 value",
    ),
    "infinite angle": (arm('rpy="0.1', 'rpy="inf'), "origin rpy .*'inf' is not"),
    "underscore": (arm('rpy="0.1', 'rpy="1_0'), "origin rpy .*'1_0' is not"),
    "other digits": (arm('rpy="0.1', 'rpy="٣'), "origin rpy .*is not a finite number"),
    "hexadecimal": (arm('rpy="0.1', 'rpy="0x1p3'), "origin rpy .*is not a finite number"),
    "unit": (arm('rpy="0.1', 'rpy="10deg'), "origin rpy .*'10deg' is not"),
    "unknown type": (arm('type="prismatic"', 'type="telescopic"'), "joint elbow .*'telescopic' is unknown.*planar"),
    "no type": (arm('type="prismatic"', ""), "joint elbow .*no type"),
    "no link name": (arm('<link name="base"/>', "<link/>"), "link on line 4: it has no name"),
    "no joint name": (arm('name="elbow" ', ""), r"joint on line \d+: it has no name"),
    "same link twice": (
        arm('name="fore"', 'name="upper"'),
        r"link upper \(line \d+\): line \d+ has a link of the same",
    ),
    "same joint twice": (arm('name="elbow"', 'name="shoulder"'), "joint shoulder .*of the same name"),
    "reversed limits": (arm('lower="-2"', 'lower="3"'), r"joint shoulder \(line \d+\): its limits are reversed"),
    "negative velocity limit": (arm('velocity="3"', 'velocity="-3"'), "joint shoulder .*limits"),
    "infinite limit": (arm('upper="2.5"', 'upper="inf"'), "joint shoulder, limit upper .*leave a limit out"),
    "negative damping": (arm('damping="0.7"', 'damping="-1"'), "joint shoulder, dynamics damping .*negative"),
    "mimic of itself": (one('<mimic joint="j"/>'), r"joint j \(line 3\): it mimics itself"),
    "mimic of nothing": (one('<mimic joint="k"/>'), "joint j, mimic: there is no joint named 'k'"),
    "mimic without joint": (one("<mimic/>"), "joint j, mimic .*names no joint"),
    "mimic of a ball": (one('<mimic joint="j"/>', "spherical"), "joint j"),
    "mimic NaN": (one('<mimic joint="j" multiplier="nan"/>'), "joint j, mimic multiplier"),
    "no pitch": (one("", "helical"), r"joint j, pitch \(line 3\): the attribute is missing"),
    "no second axis": (one("", "universal"), "joint j, axis2 xyz .*missing"),
    "parallel axes": (one('<axis xyz="0 1 0"/><axis2 xyz="0 -1 0"/>', "universal"), "joint j .*parallel"),
    "two rotations": (one('<origin rpy="0 0 1" quat_xyzw="0 0 0 1"/>'), "joint j, origin .*both"),
    "no unit quaternion": (one('<origin quat_xyzw="0 0 0 2"/>'), "joint j, origin quat_xyzw .*norm 2"),
    "too many limits": (one('<limit lower="1 2 3" upper="4"/>'), "joint j, limit lower .*3 value"),
    "zero gear": (
        one("").replace(
            "</robot>",
            '<transmission name="t"><joint name="j"/><actuator name="m">'
            "<mechanicalReduction>0</mechanicalReduction></actuator></transmission></robot>",
        ),
        r"transmission t \(line 3\): a gear ratio is zero",
    ),
    "gravity": (one("").replace("</robot>", '<gravity xyz="0 0 down"/></robot>'), "robot, gravity xyz .*'down'"),
}


@pytest.mark.parametrize("case", CASES)
def test_bad_text(case, tmp_path):
    text, words = CASES[case]
    path = tmp_path / "bad.urdf"
    path.write_text(text, encoding="utf-8")
    for read, file in ((lambda: parse_urdf(text, file="bad.urdf"), "bad.urdf"), (lambda: read_urdf(path), path)):
        with pytest.raises(ZvenoError, match=f"(?s){words}") as caught:
            read()
        assert caught.value.file == file
        assert str(caught.value).startswith(f"{file}: ")
        assert caught.value.remedy
        assert "\n" not in str(caught.value)


def test_bad_bytes():
    for data, words in (
        (ARM.encode().replace(b"arm", b"\xff\xfe\xfa", 1), "byte 35 is not UTF-8"),
        (b"\x1f\x8b\x08\x00" + bytes(range(200)), "not XML; byte 1 is not UTF-8.*unpack it first"),
        (b'<?xml version="1.0" encoding="klingon"?><robot/>', "unknown encoding|cannot be decoded"),
        (b'<?xml version="1.0" encoding="utf-7"?><robot/>', "malformed|cannot be decoded"),
        (b"\xff\xfe<\x00r\x00", "malformed"),
    ):
        with pytest.raises(ModelError, match=words):
            parse_urdf(data)
    with pytest.raises(ModelError, match="cannot be decoded"):
        parse_urdf("<robot name='\ud800'/>")


def test_declared_encodings_are_read():
    text = ARM.replace('<?xml version="1.0"?>', '<?xml version="1.0" encoding="iso-8859-1"?>').replace(
        "tool0", "pièce"
    )
    assert "pièce" in parse_urdf(text.encode("latin-1")).link_names


def test_bad_paths(tmp_path):
    for source, words in (
        (tmp_path, "this is a directory"),
        (tmp_path / "no.urdf", "there is no such file"),
        (tmp_path / "no" / "no.urdf", "there is no such file"),
        ("nul\x00.urdf", "cannot be read"),
        ("a" * 5000, "cannot be read"),
        (ARM, "XML text was given where a path is needed"),
        (None, "None is not the path of a file"),
        (3, "3 is not the path of a file"),
        (b"arm.urdf", "is not the path of a file"),
    ):
        with pytest.raises(ModelError, match=words):
            read_urdf(source)
    with pytest.raises(ModelError, match="int was given where text is needed"):
        parse_urdf(3)  # pyright: ignore[reportArgumentType]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
def test_a_pipe_does_not_hang(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ModelError, match="not a regular file"):
        read_urdf(tmp_path / "pipe")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission(tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_text(ARM)
    path.chmod(0)
    with pytest.raises(ModelError, match="cannot be read: Permission denied"):
        read_urdf(path)


def test_a_file_of_50_megabytes_is_refused_before_it_is_read(tmp_path, monkeypatch):
    path = tmp_path / "large.urdf"
    with path.open("wb") as stream:
        stream.truncate(50 * 2**20)
    with monkeypatch.context() as patch:
        patch.setattr("zveno.io.files.os.open", None)  # it is not even opened
        with pytest.raises(ModelError, match=r"50 MB.* at most 32 MB are read.*meshes"):
            read_urdf(path)
    with pytest.raises(ModelError, match="at most 32 MB"):
        parse_urdf(" " * (_xml.MAX_BYTES + 1))


BOMBS: dict[str, tuple[Callable[[int], str], int, str]] = {
    "deep, open": (lambda n: "<robot>" + "<a>" * n, 25_000, "nested too deep"),
    "deep, closed": (lambda n: "<robot>" + "<a>" * n + "</a>" * n + "</robot>", 25_000, "nested too deep"),
    "text": (lambda n: "<robot>" + "text\n" * n + "</robot>", 500_000, "no links"),
    "long name": (lambda n: f"<robot name='{'x' * n}'/>", 2_500_000, "no links"),
    "long number": (lambda n: arm('xyz="0 0 1"', f'xyz="0 0 {"1" * n}"'), 500_000, "axis xyz .*is not a finite"),
    "many numbers": (lambda n: arm('xyz="0 0 1"', f'xyz="{"0 " * n}"'), 500_000, "000 value"),
    "many attributes": (lambda n: "<robot " + " ".join(f'a{i}=""' for i in range(n)) + "/>", 50_000, "no links"),
}


@pytest.mark.laws(after=1)
@pytest.mark.parametrize("name", BOMBS)
def test_bombs_are_cheap(name):
    text_of, n, words = BOMBS[name]

    def task(size: int) -> Callable[[], None]:
        text = text_of(size)

        def read() -> None:
            with pytest.raises(ModelError, match=words) as caught:
                parse_urdf(text)
            assert len(str(caught.value)) < 1000

        return read

    assert grows_linearly(task, n)


def test_the_number_of_elements_is_bounded(monkeypatch):
    monkeypatch.setattr(_xml, "MAX_ELEMENTS", 1000)
    with pytest.raises(ModelError, match="more than 1000 elements"):
        parse_urdf("<robot>" + "<a/>" * 1000 + "</robot>")


# --- anything at all

QUIET = examples(20, 300, suppress_health_check=[HealthCheck.too_slow])


def read_or_refuse(data):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ZvenoWarning)
        try:
            parse_urdf(data)
        except ZvenoError as error:
            refusal = error
        else:
            return
    assert refusal.file == "URDF text"
    assert refusal.remedy


@QUIET
@given(st.lists(st.tuples(st.integers(0, len(ARM) - 1), st.binary(max_size=4)), min_size=1, max_size=4))
def test_mutated_bytes(changes):
    data = bytearray(ARM.encode())
    for place, new in changes:
        data[place : place + len(new)] = new
    read_or_refuse(bytes(data))


PIECES = [piece + ">" for piece in ARM.split(">")]


@QUIET
@given(st.lists(st.sampled_from(range(len(PIECES))), max_size=6), st.randoms(use_true_random=False))
def test_elements_moved_doubled_and_dropped(chosen, random):
    pieces = list(PIECES)
    for k in chosen:
        piece = pieces.pop(k % len(pieces))
        for _ in range(random.randrange(3)):
            pieces.insert(random.randrange(len(pieces)), piece)
    read_or_refuse("".join(pieces))


VALUES = [start for start in range(len(ARM)) if ARM[start] == '"' and ARM[start - 1] == "="]
WILD = [
    "",
    "0",
    "-1",
    "1e308",
    "-1e308",
    "1e-320",
    "nan",
    "1 2 3",
    "1e49 1e49 1e49",
    "1e-300 0 0",
    "base",
    "fore",
    "elbow",
]


@QUIET
@given(
    st.lists(
        st.tuples(st.sampled_from(VALUES), st.sampled_from(WILD) | st.text(max_size=5)), min_size=1, max_size=3
    )
)
@example([(VALUES[3], "")])
def test_wild_values(changes):
    text = ARM
    for start, value in sorted(changes, reverse=True):
        end = text.index('"', start + 1)
        escaped = value.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")
        text = text[: start + 1] + escaped + text[end:]
    read_or_refuse(text)


@QUIET
@given(st.binary(max_size=200) | st.text(max_size=200))
def test_noise(data):
    read_or_refuse(data)
