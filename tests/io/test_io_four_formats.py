"""One robot, written by hand in four formats: the poses must be the same.

Six joints, the third prismatic and the last counted backwards, with offsets in every one of them that may have any.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from zveno.algorithms.forward_kinematics import frame_pose
from zveno.algorithms.jacobian import jacobian
from zveno.io.dh import read_dh
from zveno.io.elementary import read_elementary
from zveno.io.mjcf import read_mjcf
from zveno.io.urdf import read_urdf

POSE = 1e-12

DH = """
name = "six"
convention = "standard"
unit = "mm"
angle = "deg"
base = "Tx(200) Rz(15deg) Tz(670)"
tool = "Tz(70) Rx(20deg)"

[[joint]]
theta = 30
d = 400
a = 100
alpha = -90

[[joint]]
theta = -90
d = 150
a = 350
alpha = 90

[[joint]]
type = "prismatic"
theta = 45
d = 200
a = 50
alpha = -60

[[joint]]
d = 300
a = 0
alpha = 90

[[joint]]
theta = 60
d = 20
a = 30
alpha = -90

[[joint]]
sign = -1
d = 80
a = 0
alpha = 0
"""

MODIFIED_DH = """
name = "six"
convention = "modified"
unit = "m"
angle = "rad"
base = "Tx(0.2) Rz(15deg) Tz(0.67)"
tool = "Tz(70mm) Rx(20deg)"
joint = [
    { theta = "pi/6", d = 0.4, a = 0, alpha = 0 },
    { theta = "-pi/2", d = 0.15, a = 0.1, alpha = "-pi/2" },
    { theta = "45deg", d = 0.2, a = 0.35, alpha = "pi/2", type = "prismatic" },
    { d = 0.3, a = 0.05, alpha = "-pi/3" },
    { theta = "pi/3", d = 0.02, a = 0, alpha = "pi/2" },
    { sign = -1, d = 0.08, a = 0.03, alpha = "-90deg" },
]
"""

ELEMENTARY = """
name: six
Tx(0.2) Rz(15deg) Tz(0.67)
Rz(q1 + 30deg) Tz(0.4) Tx(0.1) Rx(-90deg)
Rz(q2 - 90deg) Tz(150mm) Tx(350mm) Rx(pi/2)
Rz(pi/4) Tz(q3 + 0.2) Tx(0.05) Rx(-60deg)
Rz(q4) Tz(0.3) Rx(90deg)
Rz(q5 + pi/3) Tz(0.02) Tx(0.03) Rx(-90deg)
Rz(-q6) Tz(0.08)
Tz(0.07) Rx(20deg)
"""

# Each link's frame is on its joint's axis; Rx(∓90°) Rz(θ) = Ry(±θ) Rx(∓90°) gives roll, pitch and yaw.
URDF = """
<robot name="six">
  <link name="base"/>
  <joint name="q1" type="continuous">
    <parent link="base"/> <child link="link1"/> <axis xyz="0 0 1"/>
    <origin xyz="0.2 0 0.67" rpy="0 0 0.7853981633974483"/>
  </joint>
  <link name="link1">INERTIAL</link>
  <joint name="q2" type="continuous">
    <parent link="link1"/> <child link="link2"/> <axis xyz="0 0 1"/>
    <origin xyz="0.1 0 0.4" rpy="-1.5707963267948966 -1.5707963267948966 0"/>
  </joint>
  <link name="link2">INERTIAL</link>
  <joint name="q3" type="prismatic">
    <parent link="link2"/> <child link="link3"/> <axis xyz="0 0 1"/>
    <origin xyz="0.35 -0.2 0.15" rpy="1.5707963267948966 -0.7853981633974483 0"/>
    <limit lower="-1" upper="1" effort="100" velocity="1"/>
  </joint>
  <link name="link3">INERTIAL</link>
  <joint name="q4" type="continuous">
    <parent link="link3"/> <child link="link4"/> <axis xyz="0 0 1"/>
    <origin xyz="0.05 0 0" rpy="-1.0471975511965976 0 0"/>
  </joint>
  <link name="link4">INERTIAL</link>
  <joint name="q5" type="continuous">
    <parent link="link4"/> <child link="link5"/> <axis xyz="0 0 1"/>
    <origin xyz="0 0 0.3" rpy="1.5707963267948966 -1.0471975511965976 0"/>
  </joint>
  <link name="link5">INERTIAL</link>
  <joint name="q6" type="continuous">
    <parent link="link5"/> <child link="link6"/> <axis xyz="0 0 -1"/>
    <origin xyz="0.03 0 0.02" rpy="-1.5707963267948966 0 0"/>
  </joint>
  <link name="link6">INERTIAL</link>
  <joint name="flange" type="fixed">
    <parent link="link6"/> <child link="tool"/> <origin xyz="0 0 0.15" rpy="0.3490658503988659 0 0"/>
  </joint>
  <link name="tool"/>
</robot>
""".replace(
    "INERTIAL",
    '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>',
)

# Offsets of joints 1 and 3 are written as `ref`. Joints 4 and 5 are on one body, whose frame is link 5's at q = 0:
# there the axis of joint 4 is (sin 60°, cos 60°, 0), through the body's origin.
MJCF = """
<mujoco model="six">
  <compiler angle="degree" eulerseq="xyz"/>
  <default><joint axis="0 0 1"/><geom size="0.05"/></default>
  <worldbody>
    <body name="link1" pos="0.2 0 0.67" euler="0 0 15">
      <joint name="q1" ref="-30"/> <geom/>
      <body name="link2" pos="0.1 0 0.4" euler="-90 0 -90">
        <joint name="q2"/> <geom/>
        <body name="link3" pos="0.35 0 0.15" euler="90 0 45">
          <joint name="q3" type="slide" ref="-0.2"/> <geom/>
          <body name="link5" pos="0.05 0.25980762113533157 0.15" euler="30 0 60">
            <joint name="q4" axis="0.8660254037844386 0.5 0" pos="-0.25980762113533157 -0.15 0"/>
            <joint name="q5"/> <geom/>
            <body name="link6" pos="0.03 0 0.02" euler="-90 0 0">
              <joint name="q6" axis="0 0 -1"/> <geom/>
              <site name="tool" pos="0 0 0.15" euler="20 0 0"/>
            </body>
          </body>
        </body>
      </body>
    </body>
  </worldbody>
</mujoco>
"""


FORMATS = {
    "dh": (DH, read_dh),
    "modified dh": (MODIFIED_DH, read_dh),
    "elementary": (ELEMENTARY, read_elementary),
    "urdf": (URDF, read_urdf),
    "mjcf": (MJCF, read_mjcf),
}


@pytest.fixture
def read(tmp_path):
    def read(kind: str):
        if kind == "mjcf":
            pytest.importorskip("mujoco")
        text, reader = FORMATS[kind]
        (tmp_path / kind).write_text(text, encoding="utf-8")
        return reader(tmp_path / kind)

    return read


def turn(axis: int, degrees: float) -> np.ndarray:
    c, s = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    T, (i, j) = np.eye(4), [(1, 2), (2, 0), (0, 1)][axis]
    T[[i, i, j, j], [i, j, i, j]] = c, -s, s, c
    return T


def shift(x: float, y: float, z: float) -> np.ndarray:
    T = np.eye(4)
    T[:3, 3] = x, y, z
    return T


def by_hand(q) -> np.ndarray:
    """The tool's pose from the table, in the few lines of a textbook."""
    rows = (
        (30, 0.4, 0.1, -90),
        (-90, 0.15, 0.35, 90),
        (45, 0.2, 0.05, -60),
        (0, 0.3, 0, 90),
        (60, 0.02, 0.03, -90),
        (0, 0.08, 0, 0),
    )
    T = shift(0.2, 0, 0) @ turn(2, 15) @ shift(0, 0, 0.67)
    for k, (theta, d, a, alpha) in enumerate(rows):
        angle = theta + (0 if k == 2 else math.degrees(q[k]) * (-1 if k == 5 else 1))
        T = T @ turn(2, angle) @ shift(0, 0, d + (q[2] if k == 2 else 0)) @ shift(a, 0, 0) @ turn(0, alpha)
    return T @ shift(0, 0, 0.07) @ turn(0, 20)


@pytest.mark.parametrize("kind", FORMATS)
def test_every_format_gives_the_pose_computed_by_hand(read, kind):
    mechanism = read(kind)
    assert mechanism.n_q == 6
    assert mechanism.name == "six"
    for q in np.random.default_rng(0).uniform(-3, 3, (50, 6)):
        np.testing.assert_allclose(frame_pose(mechanism, q, "tool"), by_hand(q), atol=POSE)


@pytest.mark.parametrize("kind", list(FORMATS)[1:])
def test_every_format_gives_the_same_jacobian(read, kind):
    one, other = read("dh"), read(kind)
    for q in np.random.default_rng(1).uniform(-3, 3, (10, 6)):
        np.testing.assert_allclose(jacobian(one, q, "tool"), jacobian(other, q, "tool"), atol=POSE)


@pytest.mark.parametrize("kind", FORMATS)
def test_exact_angles_leave_no_notes(read, kind):
    assert read(kind).notes == ()
