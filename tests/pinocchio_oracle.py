"""Any zveno mechanism as a Pinocchio model: the one place that maps between the two conventions."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from zveno.mechanism import Mechanism
from zveno.spatial import inertia
from zveno.spatial.rotations import about_axis_by


def se3(T) -> pin.SE3:
    return pin.SE3(np.array(T[:3, :3], dtype=float), np.array(T[:3, 3], dtype=float))


def body_inertia(parameters) -> pin.Inertia:
    """Also of bodies that cannot exist: files have them. The order of the ten numbers is the same on both sides."""
    if parameters[0] == 0:
        return pin.Inertia(0.0, np.zeros(3), inertia.tensor(parameters))
    return pin.Inertia.FromDynamicParameters(np.array(parameters, dtype=float))


def _joint_model(joint):
    kind = joint.type
    match kind.kind:
        case "revolute" | "continuous":
            return pin.JointModelRevoluteUnaligned(kind.axis.copy())
        case "prismatic":
            return pin.JointModelPrismaticUnaligned(kind.axis.copy())
        case "helical":
            return pin.JointModelHelicalUnaligned(kind.axis.copy(), kind.pitch)
        case "universal":
            return pin.JointModelUniversal(kind.first.copy(), kind.second.copy())
        case "spherical":
            return pin.JointModelSpherical()
        case "planar":
            return pin.JointModelPlanar()
        case "free":
            return pin.JointModelFreeFlyer()
    raise ValueError(kind.kind)


class Oracle:
    """A Pinocchio model of a mechanism, every mimic joint given a coordinate of its own."""

    def __init__(self, mechanism: Mechanism):
        self.mechanism = mechanism
        self.model = pin.Model()
        self.model.gravity = pin.Motion(mechanism.gravity.copy(), np.zeros(3))
        self.frames = {}
        # (Pinocchio joint, pose of the link in that joint's moved frame) of every link
        carrier = [(0, np.eye(4))]
        self.index = [0]
        for i, f, joint in mechanism.outward():
            parent, T = carrier[f]
            T_joint = T @ joint.T_parent_joint
            if joint.type.kind == "fixed":
                carrier.append((parent, T_joint @ joint.T_joint_child))
                self.index.append(0)
            else:
                # Pinocchio's planar joint moves in its own xy plane; turn it into ours before and back after.
                turn = np.eye(4)
                if joint.type.kind == "planar":
                    turn[:3, :2], turn[:3, 2] = joint.type.in_plane, joint.type.normal
                k = self.model.addJoint(parent, _joint_model(joint), se3(T_joint @ turn), joint.name)
                carrier.append((k, turn.T @ joint.T_joint_child))
                self.index.append(k)
            k, T = carrier[-1]
            self.model.appendBodyToJoint(k, body_inertia(mechanism.links[i].inertia), se3(T))
        for i, link in enumerate(mechanism.links):
            k, T = carrier[i]
            self.frames[link.name] = self._add_frame(link.name, k, T)
        for frame in mechanism.frames:
            k, T = carrier[mechanism.link_number(frame.link)]
            self.frames[frame.name] = self._add_frame(frame.name, k, T @ frame.T_link_frame)
        self.data = self.model.createData()

    def _add_frame(self, name, joint, T):
        return self.model.addFrame(pin.Frame(f"zveno/{name}", joint, 0, se3(T), pin.FrameType.OP_FRAME))

    def q(self, q) -> np.ndarray:
        own = self.mechanism.joint_positions(q)
        out = pin.neutral(self.model)
        for i, _, joint in self.mechanism.outward():
            if joint.type.n_q:
                model = self.model.joints[self.index[i]]
                out[model.idx_q : model.idx_q + model.nq] = self._coordinates(joint.type.kind, own[i])
        return out

    @staticmethod
    def _coordinates(kind, x):
        match kind:
            case "spherical":
                return np.roll(x, -1)
            case "free":
                return np.concatenate([x[:3], np.roll(x[3:], -1)])
            case "planar":
                return np.array([x[0], x[1], np.cos(x[2]), np.sin(x[2])])
        return x

    def G(self, q) -> np.ndarray:
        """(nv of Pinocchio, n_v): Pinocchio's velocities are G(q) v."""
        own = self.mechanism.joint_positions(q)
        G = np.zeros((self.model.nv, self.mechanism.n_v))
        for i, _, joint in self.mechanism.outward():
            if joint.type.n_v:
                model = self.model.joints[self.index[i]]
                block = np.eye(joint.type.n_v)
                if joint.type.kind == "planar":
                    block[:2, :2] = about_axis_by(np.array([0.0, 0.0, 1.0]), own[i][2])[:2, :2].T
                factor = 1.0 if joint.mimic is None else joint.mimic.multiplier
                G[model.idx_v : model.idx_v + model.nv, self.mechanism.v_slices[joint.name]] += factor * block
        return G

    def v(self, q, v) -> np.ndarray:
        return self.G(q) @ v

    def a(self, q, v, a) -> np.ndarray:
        """Pinocchio's accelerations: G a + Ġ v."""
        h = 1e-30
        own, rate = self.mechanism.joint_positions(q), self.mechanism.joint_velocities(v)
        out = self.G(q) @ a
        for i, _, joint in self.mechanism.outward():
            if joint.type.kind == "planar":
                k = self.model.joints[self.index[i]].idx_v
                turned = about_axis_by(np.array([0.0, 0.0, 1.0]), own[i][2] + 1j * h * rate[i][2])[:2, :2].T
                out[k : k + 2] += np.imag(turned) / h @ rate[i][:2]
        return out

    def pose(self, frame) -> np.ndarray:
        """T_world_frame after a call of `forward`."""
        return self.data.oMf[self.frames[frame]].homogeneous

    def forward(self, q, v=None, a=None):
        if v is None:
            pin.framesForwardKinematics(self.model, self.data, self.q(q))
        else:
            pin.forwardKinematics(self.model, self.data, self.q(q), self.v(q, v), self.a(q, v, a))
            pin.updateFramePlacements(self.model, self.data)
        return self
