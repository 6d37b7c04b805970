"""An armature on a free joint: the same accelerations as in MuJoCo, whose velocities are in world axes."""

from __future__ import annotations

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")

from zveno import Robot  # noqa: E402
from zveno.io.mjcf import parse_mjcf  # noqa: E402


def text(options: str, arm: str = "") -> str:
    """A free body, perhaps with an arm."""
    return f"""<mujoco><option gravity="0 1 -9"/><worldbody><body>
    <joint type="free" {options}/><inertial pos="0.1 0.2 0.3" mass="2" diaginertia="0.1 0.2 0.25"/>{arm}
    </body></worldbody></mujoco>"""


ARM = """<body pos="0.1 0 0.2"><joint type="ball" armature="0.2"/>
    <inertial pos="0.1 0 0" mass="1" diaginertia="0.1 0.1 0.05"/>
    <body pos="0.3 0 0"><joint axis="0 1 0" armature="0.1"/>
    <inertial pos="0.1 0 0" mass="0.5" diaginertia="0.01 0.01 0.005"/></body></body>"""


@pytest.mark.parametrize("arm", ["", ARM])
@pytest.mark.parametrize("armature", [0.0, 0.3, 5.0])
def test_accelerations_are_those_of_mujoco(armature, arm):
    """Forward and inverse dynamics at random states; a scalar armature is all that the format knows."""
    source = text(f'armature="{armature}"', arm)
    model = mujoco.MjModel.from_xml_string(source)
    data = mujoco.MjData(model)
    robot = Robot(parse_mjcf(source))
    rng = np.random.default_rng(3)
    for _ in range(5):
        q, v, tau = robot.random(rng=rng), rng.normal(size=robot.n_v), rng.normal(size=robot.n_v)
        R = robot.frame_poses(q, frames=[robot.mechanism.links[1].name])[0, :3, :3]
        data.qpos[:], data.qvel[:3], data.qvel[3:] = q, R @ v[:3], v[3:]
        data.qfrc_applied[:3], data.qfrc_applied[3:] = R @ tau[:3], tau[3:]
        mujoco.mj_forward(model, data)
        turned = R.T @ data.qacc[:3] - np.cross(v[3:6], v[:3])
        theirs = np.concatenate([turned, data.qacc[3:]])
        assert robot.forward_dynamics(q, v, tau) == pytest.approx(theirs, rel=1e-9, abs=1e-9)
        assert robot.inverse_dynamics(q, v, theirs) == pytest.approx(tau, rel=1e-9, abs=1e-9)


def test_friction_loss_is_said():
    said = "along those of the world"
    assert any(said in note for note in parse_mjcf(text('frictionloss="0.2"')).notes)
    assert not any(said in note for note in parse_mjcf(text('armature="0.2"')).notes)
