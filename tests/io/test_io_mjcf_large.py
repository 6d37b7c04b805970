"""MJCF of many parts: attached models, time in proportion to the size, numbers that are finite."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from growth import grows_linearly
from zveno.errors import ModelError
from zveno.io.mjcf import actuators_by_joint, limits_of, parse_mjcf, read_mjcf

mujoco = pytest.importorskip("mujoco")

ARM = '<body name="arm"><inertial mass="1" pos="0 0 0" diaginertia="1 1 1"/><joint name="j"/></body>'


def model_of(world: str = ARM, other: str = "") -> str:
    return f"<mujoco>{other}<worldbody>{world}</worldbody></mujoco>"


def test_an_ordinary_model_can_be_attached(tmp_path):
    (tmp_path / "hand.xml").write_text(model_of(ARM.replace("arm", "hand")))
    asset = '<asset><model name="m" file="hand.xml"/><model name="n" file="hand.xml"/></asset>'
    world = (
        ARM
        + '<frame><attach model="m" body="hand" prefix="x_"/><attach model="n" body="hand" prefix="y_"/></frame>'
    )
    (tmp_path / "robot.xml").write_text(model_of(world, asset))
    assert read_mjcf(tmp_path / "robot.xml").joint_names == ("j", "x_j", "y_j")


@pytest.mark.laws
def test_many_joints_take_linear_time():
    """The reader's own part, after MuJoCo's."""

    def task(n: int):
        bodies = "".join(ARM.replace('"arm"', f'"b{k}"').replace('"j"', f'"j{k}"') for k in range(n))
        text = model_of(bodies)
        return lambda: parse_mjcf(text)

    assert grows_linearly(task, 400)


@pytest.mark.laws
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
