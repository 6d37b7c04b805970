"""The one door: names, generators, suffixes, root elements, texts, and what is refused."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from zveno import robots
from zveno.algorithms.forward_kinematics import frame_pose
from zveno.errors import ModelError, UnknownNameError
from zveno.io import load_mechanism
from zveno.io.dh import to_dh
from zveno.io.elementary import to_elementary
from zveno.io.load import FORMATS
from zveno.io.write import write_model
from zveno.mechanism import Joint, Link, Revolute, assemble

URDF = (
    '<?xml version="1.0"?>\n<!-- <mujoco> is only mentioned here -->\n'
    '<robot name="r"><link name="a"/><link name="b"/>'
    '<joint name="j" type="continuous"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/></joint></robot>'
)
MJCF = "<mujoco><worldbody><body name='b'><joint name='j'/><geom size='1'/></body></worldbody></mujoco>"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.filterwarnings("ignore:.*elementary transforms cannot hold:zveno.errors.ZvenoWarning")
def test_every_file_format_by_suffix(folder):
    m = load_mechanism("puma560")
    write_model(m, folder / "a.toml")
    for name in ("b.ets", "c.txt", "D.ETS"):
        (folder / name).write_text(to_elementary(m), encoding="utf-8")
    q = np.linspace(-1, 1, 6)
    for path in ("a.toml", folder / "b.ets", str(folder / "c.txt"), "D.ETS"):
        assert abs(frame_pose(load_mechanism(path), q) - frame_pose(m, q)).max() < 1e-12


@pytest.mark.filterwarnings("ignore::zveno.errors.ZvenoWarning")
def test_xml_is_told_apart_by_its_root(folder):
    Path("u.xml").write_text(URDF)
    Path("u.urdf").write_text(URDF)
    assert load_mechanism("u.xml").joint_names == load_mechanism("u.urdf").joint_names == ("j",)
    pytest.importorskip("mujoco")
    Path("m.xml").write_text(MJCF)
    assert "b" in load_mechanism("m.xml").link_names
    assert "b" in load_mechanism("m.xml", format="mjcf").link_names


def test_texts_and_generators():
    assert load_mechanism("Rz(q1) Tx(1)").joint_names == ("q1",)
    assert load_mechanism("chain(7)").n_v == 7
    assert load_mechanism(" chain ( 3 ) ").n_v == 3
    assert load_mechanism("chain").n_v == 10
    assert load_mechanism("biped").n_q == load_mechanism("biped").n_v + 1


def test_the_format_can_be_said(folder):
    Path("table").write_text(to_dh(load_mechanism("planar2")), encoding="utf-8")
    assert load_mechanism("table", format="dh").n_v == 2
    Path("odd name (1)").write_text("Rz(q1) Tx(1)")
    assert load_mechanism("odd name (1)", format="elementary").n_v == 1


def test_snap_is_passed_on(folder):
    text = "Rz(q1) Rx(1.5708) Tx(1)"
    assert load_mechanism(text).notes
    assert not load_mechanism(text, snap=False).notes
    Path("a.ets").write_text(text)
    assert load_mechanism("a.ets").notes
    assert not load_mechanism("a.ets", snap=False).notes


BAD = [
    ("pumma560", UnknownNameError, "Did you mean puma560"),
    ("chan(3)", UnknownNameError, "Did you mean chain"),
    ("chain(x)", UnknownNameError, "'x' is not a number"),
    ("chain(1, 2)", UnknownNameError, "does not take 2"),
    ("chain(0)", ModelError, "n must be an integer from 1 to 10000, got 0"),
    ("chain(2.5)", ModelError, "n must be an integer from 1 to 10000, got 2.5"),
    ("chain(99999999999)", ModelError, "n must be an integer"),
    ("", UnknownNameError, "no robot named ''"),
    ("missing.urdf", ModelError, "no such file"),
    ("folder/missing", ModelError, "no such file"),
    ("a.stl", ModelError, ".toml"),
    ("nothing", ModelError, "it has no suffix"),
    (".", ModelError, "Known"),
    ("x.xml", ModelError, "root element is <html>"),
    ("empty.xml", ModelError, "no XML element"),
    ("latin.toml", ModelError, "UTF-8"),
    ("big.ets", ModelError, "MB"),
    ("Rz(q1", ModelError, "')' was expected"),
    ("a\0b.toml", ModelError, "no such file"),
    ("Tx" * 5000 + "(1)", ModelError, "elementary transform was expected"),
    (3, UnknownNameError, "not by int"),
    (None, UnknownNameError, "not by NoneType"),
]


@pytest.mark.parametrize(("what", "kind", "fragment"), BAD)
def test_what_is_refused(what, kind, fragment, folder):
    for name in ("a.stl", "nothing", "empty.xml"):
        Path(name).touch()
    Path("x.xml").write_text("<html><robot/></html>")
    Path("latin.toml").write_bytes(b'name = "\xe9"')
    with Path("big.ets").open("wb") as stream:
        os.truncate(stream.fileno(), 33 * 2**20)
    with pytest.raises(kind) as caught:
        load_mechanism(what)
    assert fragment in str(caught.value)


def test_unknown_formats_are_refused():
    with pytest.raises(UnknownNameError, match="Known: urdf, xacro, mjcf, dh, elementary, gepetto"):
        load_mechanism("puma560", format="sdf")
    assert set(FORMATS) == {"urdf", "xacro", "mjcf", "dh", "elementary", "gepetto"}


def test_names_are_no_paths(folder):
    """A built-in name wins over a file of that name, and a path to the file still reaches it."""
    Path("chain").write_text("not a model")
    assert load_mechanism("chain").n_v == 10
    with pytest.raises(ModelError, match="no suffix"):
        load_mechanism(Path("chain"))
    assert "chain" in robots.names()


def test_a_reader_is_found_by_its_line_and_its_errors_name_the_file(tmp_path, monkeypatch):
    def read_screws(path, *, snap=None):
        return assemble("r", [Link("a"), Link("b")], [Joint("j", "a", "b", Revolute([0.0, 0.0, 0.0]))])

    monkeypatch.setitem(sys.modules, "zveno.io.screws", SimpleNamespace(read_screws=read_screws))
    monkeypatch.setitem(FORMATS, "screws", (".screws",))
    file = tmp_path / "arm.screws"
    file.write_text("")
    with pytest.raises(ModelError, match=r"arm\.screws: the axis is zero"):
        load_mechanism(file)
    with pytest.raises(ModelError, match=r"Known: .*\.screws.*'screws'"):
        load_mechanism(file.rename(tmp_path / "arm.other"))
