"""A settled quadruped against MuJoCo's elliptic cone, in stiff contacts: heights and forces within 1 %."""

import numpy as np
import pytest
from benchmarks.mujoco_walkers import mjcf
from stepped import G, standing_quadruped, stepped

import zveno

KP, KD, FRICTION, RADIUS = 300.0, 8.0, 0.6, 0.02


def test_a_settled_quadruped_stands_as_in_mujoco():
    mujoco = pytest.importorskip("mujoco")
    robot, q, contacts = standing_quadruped(0.005)
    run = stepped(
        robot,
        q,
        duration=3.0,
        control=zveno.simulation.PD(q, KP, KD, gravity=False),
        constraints=contacts,
        sample_time=0.5,
    )
    spheres = [(contact.frame, (0.0, 0.0, 0.0), RADIUS) for contact in contacts]
    option = 'integrator="implicitfast" cone="elliptic" impratio="100"'
    text = mjcf(robot.mechanism, spheres, friction=FRICTION, kp=KP, kd=KD, option=option, solref="0.004 1")
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    data.qpos[:], data.ctrl[:] = q, q[7:]
    mujoco.mj_step(model, data, 3000)
    normals = {}
    for k in range(data.ncon):
        force = np.zeros(6)
        mujoco.mj_contactForce(model, data, k, force)
        normals[int(max(data.contact[k].geom))] = force[0]
    assert len(normals) == 4
    ours = run.reactions[-1, ::3]
    theirs = np.array([normals[geom] for geom in sorted(normals)])
    assert abs(ours - theirs).max() < 0.01 * theirs.min()
    assert abs(ours.sum() - G * sum(link.inertia[0] for link in robot.mechanism.links)) < 1e-2
    assert abs(run.q[-1, 2] - data.qpos[2]) < 0.01 * q[2]
    assert abs(run.q[-1, 7:] - data.qpos[7:]).max() < 0.01
