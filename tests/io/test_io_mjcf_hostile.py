"""MJCF of strangers: what crashes, hangs or fills MuJoCo's compiler is one error here, and the next model reads."""

from __future__ import annotations

import os
from types import SimpleNamespace

import numpy as np
import pytest

from growth import grows_linearly
from zveno.errors import ModelError
from zveno.io import mjcf_process
from zveno.io.mjcf import parse_mjcf, read_mjcf
from zveno.io.mjcf_extras import actuators_by_joint, limits_of

mujoco = pytest.importorskip("mujoco")

ARM = '<body name="arm"><inertial mass="1" pos="0 0 0" diaginertia="1 1 1"/><joint name="j"/></body>'


def model_of(world: str = ARM, other: str = "") -> str:
    return f"<mujoco>{other}<worldbody>{world}</worldbody></mujoco>"


@pytest.fixture(autouse=True)
def limits(monkeypatch):
    monkeypatch.setattr(mjcf_process, "MAX_CPU_SECONDS", 5.0)
    monkeypatch.setattr(mjcf_process, "MAX_MODEL_BYTES", 64 * 2**20)


@pytest.fixture(autouse=True)
def and_then_an_ordinary_model():
    yield
    assert parse_mjcf(model_of()).joint_names == ("j",)


def test_a_model_that_attaches_itself(tmp_path):
    asset = '<asset><model name="m" file="self.xml"/></asset>'
    frame = ARM + '<frame><attach model="m" body="arm" prefix="x_"/></frame>'
    (tmp_path / "self.xml").write_text(model_of(frame, asset))
    with pytest.raises(ModelError, match=r"self\.xml.*attaches the model 'self.xml', which it is a part of"):
        read_mjcf(tmp_path / "self.xml")
    (tmp_path / "one.xml").write_text(model_of(frame, asset.replace("self", "two")))
    (tmp_path / "two.xml").write_text(model_of(frame, asset.replace("self", "one")))
    with pytest.raises(ModelError, match=r"which it is a part of"):
        read_mjcf(tmp_path / "one.xml")


def test_a_crash_of_the_compiler_is_an_error(monkeypatch, tmp_path):
    """Without the look at the files before, the compiler itself meets the model that attaches itself."""
    monkeypatch.setattr("zveno.io.mjcf_compile.check_parts", lambda *_: None)
    asset = '<asset><model name="m" file="self.xml"/></asset>'
    frame = ARM + '<frame><attach model="m" body="arm" prefix="x_"/></frame>'
    (tmp_path / "self.xml").write_text(model_of(frame, asset))
    with pytest.raises(ModelError, match=r"self\.xml.*(crashes on it \(SIG|needs more than|refuses it)"):
        read_mjcf(tmp_path / "self.xml")


def test_an_ordinary_model_can_be_attached(tmp_path):
    (tmp_path / "hand.xml").write_text(model_of(ARM.replace("arm", "hand")))
    asset = '<asset><model name="m" file="hand.xml"/><model name="n" file="hand.xml"/></asset>'
    world = (
        ARM
        + '<frame><attach model="m" body="hand" prefix="x_"/><attach model="n" body="hand" prefix="y_"/></frame>'
    )
    (tmp_path / "robot.xml").write_text(model_of(world, asset))
    assert read_mjcf(tmp_path / "robot.xml").joint_names == ("j", "x_j", "y_j")


@pytest.mark.parametrize(
    ("where", "part"),
    [("100 copies of 1000", 1000), ("200000 copies", 200_000)],
)
def test_copies_in_included_files_count(tmp_path, monkeypatch, where, part):
    outer = int(where.split()[0]) if "of" in where else 1
    (tmp_path / "part.xml").write_text(
        f'<mujocoinclude><replicate count="{part}"><body><geom size="1"/></body></replicate></mujocoinclude>'
    )
    inner = f'<replicate count="{outer}"><include file="part.xml"/></replicate>'
    (tmp_path / "robot.xml").write_text(model_of(ARM + inner))
    monkeypatch.setattr(mjcf_process, "compiled", None)  # it is refused before MuJoCo sees it
    with pytest.raises(ModelError, match=r"part\.xml: replicate \(line 1\).*copies"):
        read_mjcf(tmp_path / "robot.xml")


HUGE = [
    '<size nkey="2000000000"/>',
    '<size nkey="1e8"/>',
    '<size nuser_body="2000000000"/>',
    '<size nuser_jnt="500000000"/>',
    '<asset><hfield name="h" nrow="60000" ncol="60000" size="1 1 1 1"/></asset>',
    '<asset><texture name="t" type="2d" builtin="flat" width="60000" height="60000"/></asset>',
]


@pytest.mark.parametrize("other", HUGE)
def test_sizes_without_measure_are_refused_before_compiling(other):
    with pytest.raises(ModelError, match=r"robot\.xml: (size|hfield|texture) \(line 1\): it asks for \w+ = "):
        parse_mjcf(model_of(other=other), "robot.xml")


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ('<size memory="1000000G"/>', "allocate memory"),
        (HUGE[4], "allocate memory"),  # after which MuJoCo itself hangs at the next model
        (HUGE[5], "allocate memory"),
        ('<asset><texture name="t" type="2d" builtin="flat" width="8000" height="8000"/></asset>', "at most 64 MB"),
    ],
)
def test_memory_is_bounded(other, words, monkeypatch):
    monkeypatch.setattr("zveno.io.mjcf_compile.check_parts", lambda *_: None)
    with pytest.raises(ModelError, match=rf"robot\.xml.*{words}"):
        parse_mjcf(model_of(other=other), "robot.xml")


def test_time_is_bounded(monkeypatch):
    monkeypatch.setattr("zveno.io.mjcf_compile.check_parts", lambda *_: None)
    monkeypatch.setattr(mjcf_process, "MAX_CPU_SECONDS", 1.0)
    with pytest.raises(ModelError, match=r"robot\.xml: MuJoCo needs more than 1 s"):
        parse_mjcf(model_of(ARM + '<replicate count="2000000"><body/></replicate>'), "robot.xml")


@pytest.mark.parametrize(
    ("other", "world"),
    [
        ("", '<include file="pipe"/>'),
        ('<asset><mesh name="m" file="pipe"/></asset>', '<geom type="mesh" mesh="m"/>'),
        ('<compiler meshdir="."/><asset><mesh name="m" file="pipe"/></asset>', '<geom type="mesh" mesh="m"/>'),
        ('<asset><texture name="t" type="2d" file="pipe"/></asset>', ""),
        ('<asset><texture name="t" type="cube" fileup="pipe"/></asset>', ""),
        ('<asset><hfield name="t" file="pipe" size="1 1 1 1"/></asset>', ""),
        ('<asset><model name="t" file="pipe"/></asset>', ""),
    ],
)
def test_pipes_in_place_of_parts_do_not_block(tmp_path, other, world):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "robot.xml").write_text(model_of(ARM + world, other))
    with pytest.raises(ModelError, match="not a regular file"):
        read_mjcf(tmp_path / "robot.xml")


def test_what_waits_for_ever_is_ended(tmp_path, monkeypatch):
    monkeypatch.setattr("zveno.io.mjcf_compile.check_parts", lambda *_: None)
    monkeypatch.setattr(mjcf_process, "MAX_SECONDS", 3.0)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "robot.xml").write_text(model_of(ARM + '<include file="pipe"/>'))
    with pytest.raises(ModelError, match=r"robot\.xml: MuJoCo does not compile it within 3 s"):
        read_mjcf(tmp_path / "robot.xml")


def test_a_process_that_ended_meanwhile_is_started_again():
    worker = mjcf_process._current()
    assert worker.process.stdin is not None
    worker.process.stdin.close()  # it ends as after a minute without work
    worker.process.wait()
    assert parse_mjcf(model_of()).n_q == 1


def test_many_joints_take_linear_time():
    """The reader's own part, after MuJoCo's."""

    def task(n: int):
        bodies = "".join(ARM.replace('"arm"', f'"b{k}"').replace('"j"', f'"j{k}"') for k in range(n))
        text = model_of(bodies)
        return lambda: parse_mjcf(text)

    assert grows_linearly(task, 400)


def test_joints_and_actuators_are_brought_together_in_linear_time():
    """Arrays as MuJoCo has them, because its compiler would take minutes for this many."""

    def task(n: int):
        joints, ones = np.arange(n), np.ones(n)
        kinds = SimpleNamespace(
            njnt=n,
            nv=n,
            jnt_type=np.full(n, int(mujoco.mjtJoint.mjJNT_HINGE)),
            jnt_limited=np.zeros(n),
            jnt_actfrclimited=np.zeros(n),
            jnt_dofadr=joints,
            dof_armature=0 * ones,
            dof_damping=0 * ones,
            dof_frictionloss=0 * ones,
            actuator_trntype=np.full(n, int(mujoco.mjtTrn.mjTRN_JOINT)),
            actuator_trnid=np.stack([joints[::-1], joints], axis=1),
            actuator_gear=np.ones((n, 6)),
            actuator_forcelimited=ones,
            actuator_forcerange=np.stack([-ones, joints], axis=1),
            actuator_gaintype=0 * joints,
            actuator_biastype=0 * joints,
            actuator_ctrllimited=0 * ones,
        )

        def read():
            actuators = actuators_by_joint(kinds)
            efforts = [float(limits_of(kinds, j, actuators.get(j, [])).effort) for j in range(n)]
            assert efforts == [max(1.0, float(j)) for j in reversed(range(n))]

        return read

    assert grows_linearly(task, 10_000)


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ('<actuator><motor joint="j" gear="inf"/></actuator>', "actuator 0: .*actuator_gear"),
        ('<actuator><motor joint="j" gear="1e200"/></actuator>', "actuator 0: .*actuator_gear"),
        (
            '<actuator><general joint="j" gainprm="1e200" ctrllimited="true" ctrlrange="-1e200 1"/></actuator>',
            "actuator 0: .*actuator_gainprm",
        ),
    ],
)
def test_numbers_of_actuators_are_finite(other, words):
    text = model_of(other=other)
    with pytest.raises(ModelError, match=words):
        parse_mjcf(text)
