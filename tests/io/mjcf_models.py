"""Random MJCF models in every spelling, and MuJoCo as the judge of what is read from them."""

from __future__ import annotations

import numpy as np
import pytest

from zveno.algorithms.forward_kinematics import frame_pose, link_poses
from zveno.algorithms.velocities import body_motions
from zveno.spatial import inertia
from zveno.spatial.rotations import from_quaternion

mujoco = pytest.importorskip("mujoco")

POSE = 1e-12
INERTIAL = '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>'


def model_of(body: str, before: str = "", after: str = "") -> str:
    return f"<mujoco>{before}<worldbody>{body}</worldbody>{after}</mujoco>"


def numbers(values) -> str:
    return " ".join(repr(float(value)) for value in np.atleast_1d(values))


# --- random models in every spelling of MJCF, and MuJoCo as the judge


class Generator:
    """Random MJCF trees: all joint types, several a body, anchors, refs, roots, classes, angle conventions."""

    def __init__(self, seed: int):
        self.rng = np.random.default_rng(seed)
        self.degrees = bool(self.rng.integers(2))
        self.sequence = str(self.rng.choice(["xyz", "zyx", "XYZ", "zxz", "ZYX"]))
        self.count = 0
        self.sites = 0

    def angle(self, radians) -> str:
        return numbers(np.degrees(radians) if self.degrees else radians)

    def placement(self) -> str:
        rng = self.rng
        text = f'pos="{numbers(rng.uniform(-0.5, 0.5, 3))}"'
        match rng.integers(6):
            case 0:
                return text
            case 1:
                return f'{text} euler="{self.angle(rng.uniform(-3, 3, 3))}"'
            case 2:
                return f'{text} quat="{numbers(rng.normal(size=4))}"'
            case 3:
                return f'{text} axisangle="{numbers(rng.normal(size=3))} {self.angle(rng.uniform(-3, 3))}"'
            case 4:
                return f'{text} zaxis="{numbers(rng.normal(size=3))}"'
        return f'{text} xyaxes="{numbers(rng.normal(size=6))}"'

    def joint(self, kind: str, k: int) -> str:
        rng = self.rng
        if kind == "free":
            return f'<joint type="free" name="free{k}" armature="0.3"/>'
        text = f'<joint type="{kind}" name="{kind}{k}" pos="{numbers(rng.uniform(-0.3, 0.3, 3))}"'
        if rng.random() < 0.3:
            text += ' class="geared"'
        if kind != "ball":
            ref = rng.uniform(-1, 1) if rng.random() < 0.5 else 0.0
            axis = np.eye(3)[rng.integers(3)] if rng.random() < 0.5 else rng.normal(size=3)
            text += f' axis="{numbers(axis)}" ref="{self.angle(ref) if kind == "hinge" else numbers(ref)}"'
        return text + "/>"

    def body(self, depth: int) -> str:
        rng, k = self.rng, self.count
        self.count += 1
        kinds = rng.choice(["hinge", "slide", "ball"], size=rng.integers(4)).tolist()
        if "ball" in kinds:  # MuJoCo wants nothing that turns after a ball
            kinds = kinds[: kinds.index("ball") + 1]
            kinds = [kind for kind in kinds if kind != "hinge"]
        if depth == 0 and rng.random() < 0.3:
            kinds = ["free"]
        joints = "".join(self.joint(kind, 10 * k + n) for n, kind in enumerate(kinds))
        A = rng.normal(size=(3, 3))
        I = A @ A.T + np.trace(A @ A.T) * np.eye(3)
        full = numbers([I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]])
        shape = (
            f'<inertial pos="{numbers(rng.normal(size=3))}" mass="{rng.uniform(1, 2)!r}" fullinertia="{full}"/>'
            if rng.random() < 0.5
            else f'<geom type="box" size="0.1 0.2 0.3" {self.placement()}/>'
            f'<geom type="capsule" size="0.1" fromto="{numbers(rng.normal(size=6))}"/>'
        )
        site = f'<site name="site{k}" {self.placement()}/>'
        self.sites += 1
        branches = int(rng.integers(0, 3)) if depth < 4 and self.count < 12 else 0
        inside = "".join(self.body(depth + 1) for _ in range(branches))
        if rng.random() < 0.3:
            inside = f"<frame {self.placement()}>{inside}</frame>"
        return f'<body name="b{k}" {self.placement()}>{shape}{joints}{site}{inside}</body>'

    def text(self) -> str:
        head = (
            f'<compiler angle="{"degree" if self.degrees else "radian"}" eulerseq="{self.sequence}"/>'
            '<default><joint armature="0.02" damping="0.1"/>'
            '<default class="geared"><joint armature="0.5" frictionloss="0.7"/></default></default>'
        )
        roots = "".join(self.body(0) for _ in range(self.rng.integers(1, 4)))
        return model_of(roots + '<site name="home" pos="1 2 3"/>', head)


def random_state(model, rng):
    """Random qpos and qvel, by taking a step from the reference so that quaternions stay unit."""
    q, v = model.qpos0.copy(), rng.normal(size=model.nv)
    mujoco.mj_integratePos(model, q, rng.normal(size=model.nv), 1.0)
    return q, v


def own_velocity(model, q, v):
    """Our velocities from MuJoCo's: a free joint's linear velocity is turned into body axes."""
    v = v.copy()
    for j in np.flatnonzero(model.jnt_type == mujoco.mjtJoint.mjJNT_FREE):
        at, start = model.jnt_dofadr[j], model.jnt_qposadr[j]
        v[at : at + 3] = from_quaternion(q[start + 3 : start + 7]).T @ v[at : at + 3]
    return v


def body_names(mechanism):
    return [name for name in mechanism.link_names if "/" not in name]


def assert_same_kinematics(model, mechanism, rng, states: int = 4):
    data = mujoco.MjData(model)
    assert body_names(mechanism) == [model.body(k).name or f"body{k}" for k in range(model.nbody)]
    assert mechanism.n_q == model.nq
    assert mechanism.n_v == model.nv
    for _ in range(states):
        q, v = random_state(model, rng)
        data.qpos[:], data.qvel[:] = q, v
        mujoco.mj_forward(model, data)
        own = own_velocity(model, q, v)
        poses = link_poses(mechanism, q)
        motions = body_motions(mechanism, q, own, np.zeros(model.nv))
        for b, name in enumerate(body_names(mechanism)):
            i = mechanism.link_number(name)
            np.testing.assert_allclose(poses[i][:3, 3], data.xpos[b], atol=POSE)
            np.testing.assert_allclose(poses[i][:3, :3], data.xmat[b].reshape(3, 3), atol=POSE)
            twist = np.zeros(6)
            mujoco.mj_objectVelocity(model, data, mujoco.mjtObj.mjOBJ_XBODY, b, twist, 1)
            np.testing.assert_allclose(motions[i].w, twist[:3], atol=1e-11)
            np.testing.assert_allclose(motions[i].v, twist[3:], atol=1e-11)
        for s in range(model.nsite):
            T = frame_pose(mechanism, q, model.site(s).name)
            np.testing.assert_allclose(T[:3, 3], data.site_xpos[s], atol=POSE)
            np.testing.assert_allclose(T[:3, :3], data.site_xmat[s].reshape(3, 3), atol=POSE)
        momentum = np.zeros(model.nv)
        mujoco.mj_mulM(model, data, momentum, v)
        assert kinetic_energy(mechanism, motions, own) == pytest.approx(0.5 * v @ momentum, rel=1e-10)


def kinetic_energy(mechanism, motions, v) -> float:
    energy = 0.0
    for i, _, joint in mechanism.outward():
        p, m = mechanism.links[i].inertia, motions[i]
        energy += 0.5 * p[0] * m.v @ m.v + m.v @ np.cross(m.w, p[1:4]) + 0.5 * m.w @ inertia.tensor(p) @ m.w
        if joint.drive is not None:
            own = v[mechanism.v_slices[joint.name]]
            energy += 0.5 * np.sum(joint.drive.gear_ratio**2 * joint.drive.rotor_inertia * own**2)
    return energy
