"""An armature on a free joint acts in world axes in MuJoCo: what differs is said, with its size."""

from __future__ import annotations

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")

from zveno import Robot  # noqa: E402
from zveno.io.mjcf import parse_mjcf  # noqa: E402

ARMATURE = 0.3


def text(options: str) -> str:
    return f"""<mujoco><option gravity="0 0 0"/><worldbody><body>
    <joint type="free" {options}/><inertial pos="0.1 0.2 0.3" mass="2" diaginertia="0.1 0.2 0.25"/>
    </body></worldbody></mujoco>"""


@pytest.mark.parametrize("options", [f'armature="{ARMATURE}"', 'frictionloss="0.2"'])
def test_the_difference_is_said(options):
    notes = parse_mjcf(text(options)).notes
    assert any("along those of the world" in note and "(w × v)" in note for note in notes)
    assert not any("along those of the world" in note for note in parse_mjcf(text("")).notes)


def test_the_difference_is_armature_times_w_cross_v():
    model = mujoco.MjModel.from_xml_string(text(f'armature="{ARMATURE}"'))
    data = mujoco.MjData(model)
    robot = Robot(parse_mjcf(text(f'armature="{ARMATURE}"')))
    q = robot.random(rng=1)
    v, w = np.random.default_rng(2).normal(size=(2, 3))
    R = robot.forward_kinematics(q)[:3, :3]
    data.qpos[:], data.qvel[:3], data.qvel[3:] = q, R @ v, w
    data.qacc[:3], data.qacc[3:] = R @ np.cross(w, v), 0.0  # the acceleration of a twist constant in body axes
    mujoco.mj_inverse(model, data)
    ours = robot.inverse_dynamics(q, np.concatenate([v, w]), np.zeros(6))
    theirs = np.concatenate([R.T @ data.qfrc_inverse[:3], data.qfrc_inverse[3:]])
    expected = np.concatenate([ARMATURE * np.cross(w, v), np.zeros(3)])
    assert np.allclose(theirs - ours, expected, atol=1e-12)
