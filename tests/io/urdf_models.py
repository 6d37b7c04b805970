"""URDF texts and the mapping to Pinocchio that several tests share."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np

from zveno.mechanism import Mechanism

INERTIAL = """<inertial><origin xyz="0.01 -0.02 0.03" rpy="0.3 -0.2 0.1"/><mass value="1.5"/>
  <inertia ixx="0.02" ixy="0.001" ixz="-0.002" iyy="0.03" iyz="0.003" izz="0.025"/></inertial>"""

ARM = f"""<?xml version="1.0"?>
<robot name="arm">
  <material name="grey"><color rgba="0.5 0.5 0.5 1"/></material>
  <link name="base"/>
  <link name="upper">{INERTIAL}
    <visual><geometry><mesh filename="package://nowhere/upper.stl"/></geometry></visual>
  </link>
  <link name="fore">{INERTIAL}</link>
  <link name="tool0"/>
  <joint name="shoulder" type="revolute">
    <parent link="base"/><child link="upper"/>
    <origin xyz="0 0 0.4" rpy="0.1 -0.2 0.3"/>
    <axis xyz="0 0 1"/>
    <limit lower="-2" upper="2.5" velocity="3" effort="40"/>
    <dynamics damping="0.7" friction="0.2"/>
  </joint>
  <joint name="elbow" type="prismatic">
    <parent link="upper"/><child link="fore"/>
    <origin xyz="0.3 0 0"/>
    <axis xyz="0 0.6 0.8"/>
    <limit lower="0" upper="0.5" velocity="1" effort="10"/>
  </joint>
  <joint name="flange" type="fixed">
    <parent link="fore"/><child link="tool0"/>
    <origin xyz="0 0 0.1" rpy="0 1.5707963267948966 0"/>
  </joint>
</robot>
"""


def joint_text(kind: str, inside: str = "", attributes: str = "") -> str:
    """A robot of two links and one joint."""
    return f"""<robot name="one"><link name="a"/><link name="b">{INERTIAL}</link>
<joint name="j" type="{kind}" {attributes}><parent link="a"/><child link="b"/>{inside}</joint></robot>"""


class PinocchioTwin:
    """The same URDF in Pinocchio, every joint free to move by itself; coordinates mapped by joint name.

    Mimic relations are taken from the text, not from our mechanism.
    """

    def __init__(self, mechanism: Mechanism, text: str):
        import pinocchio

        self.pin = pinocchio
        self.mechanism = mechanism
        self.model = pinocchio.buildModelFromXML(text)
        self.data = self.model.createData()
        self.mimics = {
            joint.get("name"): mimic.attrib
            for joint in ElementTree.fromstring(text.encode()).findall("joint")
            if (mimic := joint.find("mimic")) is not None and joint.get("type") != "fixed"
        }

    def leader(self, name: str) -> tuple[str, float, float]:
        """The joint that a joint follows in the end (itself if none), with multiplier and offset."""
        if name not in self.mimics:
            return name, 1.0, 0.0
        own = self.mimics[name]
        multiplier, offset = float(own.get("multiplier", 1)), float(own.get("offset", 0))
        leader, above, shift = self.leader(own["joint"])
        return leader, multiplier * above, multiplier * shift + offset

    def joints(self, q):
        """Of every moving joint: itself, Pinocchio's, its coordinates, where our velocity has it, multiplier."""
        for joint in self.mechanism.joints:
            if joint.type.n_q:
                leader, multiplier, offset = self.leader(joint.name)
                own = q[self.mechanism.q_slices[leader]]
                if leader != joint.name:
                    own = multiplier * own + offset
                place = self.model.joints[self.model.getJointId(joint.name)]
                yield joint, place, own, self.mechanism.v_slices[leader], multiplier

    def q(self, q) -> np.ndarray:
        """Pinocchio's coordinates: continuous joints as (cos, sin), quaternions xyzw."""
        q_pin = self.pin.neutral(self.model)
        for joint, place, own, _, _ in self.joints(q):
            match joint.type.kind:
                case "continuous":
                    values = [np.cos(own[0]), np.sin(own[0])]
                case "planar":
                    values = [own[0], own[1], np.cos(own[2]), np.sin(own[2])]
                case "free":
                    values = [*own[:3], *own[4:], own[3]]
                case _:
                    values = own
            q_pin[place.idx_q : place.idx_q + place.nq] = values
        return q_pin

    def velocity_map(self, q) -> np.ndarray:
        """(nv of Pinocchio, n_v) matrix: Pinocchio's velocities from ours, mimic relations applied."""
        G = np.zeros((self.model.nv, self.mechanism.n_v))
        for joint, place, own, ours, multiplier in self.joints(q):
            block = np.eye(joint.type.n_v) * multiplier
            if joint.type.kind == "planar":  # theirs is in the moved axes, ours in the parent's
                c, s = np.cos(own[2]), np.sin(own[2])
                block = np.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]])
            G[place.idx_v : place.idx_v + place.nv, ours] = block
        return G

    def link_pose(self, name: str) -> np.ndarray:
        """T_world_link after `move`."""
        return self.data.oMf[self.frame(name)].homogeneous

    def jacobian(self, name: str) -> np.ndarray:
        """(6, nv) after `move`, world axes at the link's origin, linear part first."""
        if self.model.nv == 0:  # Pinocchio 4.1 crashes
            return np.zeros((6, 0))
        return self.pin.getFrameJacobian(self.model, self.data, self.frame(name), self.pin.LOCAL_WORLD_ALIGNED)

    def frame(self, name: str) -> int:
        return self.model.getFrameId(name, self.pin.FrameType.BODY)

    def move(self, q):
        """All poses and Jacobians at our coordinates q."""
        q_pin = self.q(q)
        self.pin.computeJointJacobians(self.model, self.data, q_pin)
        self.pin.updateFramePlacements(self.model, self.data)
