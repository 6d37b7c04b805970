"""Inputs for fuzzing: seeds of every format that zveno itself or NumPy reads, and what must hold of each reader.

A reader either raises a `ZvenoError` or returns something whose numbers are finite. Everything else, a traceback, a
crash, a hang or a number that is not finite, is a finding. What MuJoCo, SciPy, polars, openpyxl and rosbags make of
files that were made to crash them is not promised, and not tried.
"""

from __future__ import annotations

import io
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import zveno
from zveno.errors import ZvenoError, ZvenoWarning
from zveno.mechanism import Mechanism

from . import fuzz_logs


class Finding(Exception):
    """Something that must hold of what was read does not."""


def must(holds: bool, what: str) -> None:
    """Raise a `Finding` unless it holds."""
    if not holds:
        raise Finding(what)


@dataclass(frozen=True)
class Target:
    """A reader: seeds, and what is done with a file of that suffix."""

    suffix: str
    seeds: Callable[[], list[bytes]]
    read: Callable[[Path], object]
    share: int
    """Of a hundred inputs, how many go to this reader."""


def outcome(target: Target, data: bytes, folder: Path) -> str:
    """ "read" or "refused"; whatever is not ours escapes."""
    path = folder / f"input{target.suffix}"
    path.write_bytes(data)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # of NumPy: overflow and invalid values are findings
        warnings.simplefilter("ignore", ZvenoWarning)
        try:
            target.read(path)
        except ZvenoError as error:
            must(len(str(error)) < 20_000, "an error without end")
            return "refused"
    return "read"


# --- models


def _examined(mechanism: Mechanism) -> None:
    """Everything about the mechanism is finite, its poses are, and a text of it reads as the same."""
    from zveno.algorithms.forward_kinematics import link_poses
    from zveno.io.urdf import parse_urdf
    from zveno.io.write_urdf import to_urdf

    rng = np.random.default_rng(0)
    for q in (mechanism.neutral(), mechanism.random(rng)):
        must(bool(np.isfinite(np.array(link_poses(mechanism, q))).all()), "poses are not finite")
    must(bool(np.isfinite([link.inertia for link in mechanism.links]).all()), "inertia is not finite")
    again = parse_urdf(to_urdf(mechanism))
    must(bool(again.joint_names == mechanism.joint_names), "joints are lost in a URDF")
    must({extra.text for extra in again.extras} >= _kept(mechanism), "extras are lost in a URDF")


def _kept(mechanism: Mechanism) -> set[str]:
    """Texts of the extras that a URDF keeps to the letter: transmissions follow the joint's drive."""
    return {extra.text for extra in mechanism.extras if "transmission" not in extra.text[:30]}


def _read_model(path: Path) -> None:
    from zveno.io import load_mechanism

    _examined(load_mechanism(path))


FEATURES = """<?xml version="1.0"?>
<robot name="two" xmlns:drake="http://drake.mit.edu">
  <material name="blue"><color rgba="0 0 1 1"/></material>
  <link name="a"><visual><geometry><box size="1 1 1"/></geometry><material name="blue"/></visual></link>
  <link name="b"><inertial><origin xyz="0 0 1" rpy="0 0 0.1"/><mass value="2"/>
    <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
  <link name="c"/>
  <joint name="one" type="revolute"><parent link="a"/><child link="b"/><origin xyz="0 0 1" rpy="1.5708 0 0"/>
    <axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="5" velocity="2"/>
    <dynamics damping="1" friction="0.1"/></joint>
  <joint name="two" type="prismatic"><parent link="b"/><child link="c"/><axis xyz="0 0 1"/>
    <limit lower="0" upper="1" effort="5" velocity="2"/><mimic joint="one" multiplier="2" offset="0.1"/></joint>
  <transmission name="t"><type>x</type><joint name="one"/><actuator name="m">
    <mechanicalReduction>50</mechanicalReduction><drake:rotor_inertia value="0.1"/></actuator></transmission>
  <gravity xyz="0 0 -9.81"/>
</robot>
"""
EXTRAS = """<?xml version="1.0"?>
<robot name="three" xmlns:drake="http://drake.mit.edu" xmlns:x="urn:x">
  <link name="a"><collision name="hull"><origin xyz="0 0 1" rpy="0 0 1"/><geometry><mesh filename="package://m/a.stl"
    scale="1 1 1"/></geometry></collision><x:note kept="yes">text &amp; more</x:note></link>
  <link name="b"/><link name="c"/>
  <joint name="one" type="continuous"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/>
    <safety_controller k_velocity="10" soft_lower_limit="-1"/><calibration rising="0.1"/></joint>
  <joint name="two" type="floating"><parent link="b"/><child link="c"/><limit effort="1" velocity="1"/></joint>
  <transmission name="t"><type>s</type><joint name="one"><hardwareInterface>e</hardwareInterface></joint>
    <actuator name="m"><drake:gear_ratio value="3"/><mechanicalReduction>3</mechanicalReduction></actuator>
  </transmission>
  <transmission name="d"><joint name="one"/><joint name="two"/><actuator name="n"/></transmission>
  <gazebo reference="a"><material>Gazebo/Red</material>
    <sensor name="s" type="imu"><pose>0 0 0 0 0 0</pose></sensor></gazebo>
  <ros2_control name="r" type="system"><joint name="one"><command_interface name="position"/></joint></ros2_control>
  <sensor name="cam"><parent link="c"/><camera><image width="1" height="1"/></camera></sensor>
</robot>
"""
ETS = """name: two links
unit: mm
angle: deg
gravity: 0 0 -9.81
Tz(670) Rz(q1) Rx(-90deg)  # shoulder
Tx(431.8) Rz(-elbow + pi/2) Tz(2*(3+1)) Rz(0.5*q1)
"""


def _texts(*texts: str) -> list[bytes]:
    return [text.encode() for text in texts]


def _urdf_seeds() -> list[bytes]:
    from zveno.io.write import model_text

    return _texts(FEATURES, EXTRAS, model_text(zveno.load("stanford").mechanism, "urdf"))


def _dh_seeds() -> list[bytes]:
    from zveno.io.write import model_text

    return _texts(*(model_text(zveno.load(name).mechanism, "dh") for name in ("puma560", "stanford")))


# --- measurements


CSV = """# kind = position
# unit = mm
# angle = deg
joint1,joint2,joint3,joint4,joint5,joint6,x,y,z,group
10.0,20.0,30,40,50,60,412.31,83.20,100,front
11.0,21.0,31,41,51,61,413.31,84.20,101,front
12.0,22.0,32,42,52,,414.31,85.20,,back
"""


def _read_campaign(path: Path) -> None:
    from zveno.calibration import read_dataset

    errors = []
    for kind in (None, "pose"):
        try:
            campaign = read_dataset(path, _puma(), kind)
            must(not np.isinf(campaign.q).any(), "joint values are infinite")
        except ZvenoError as error:
            errors.append(error)
    if len(errors) == 2:
        raise errors[-1]


@cache
def _puma() -> Mechanism:
    return zveno.load("puma560").mechanism


def _json_seeds() -> list[bytes]:
    q = "[[1, 2, 3, 0.4, 0.5, 0.6], [2, 1, 3, 0.4, 0.5, 0.6]]"
    pose = "[[1, 0, 0, 0.5], [0, 1, 0, 0.5], [0, 0, 1, 0.5], [0, 0, 0, 1]]"
    return _texts(
        f'{{"q": {q}, "T": [{pose}, {pose}], "kind": "pose", "unit": "mm"}}',
        f'[{{"q": [1, 2, 3, 4, 5, 6], "pose": {pose}}}, {{"q": [1, 2, 3, 4, 5, 6], "pose": {pose}}}]',
    )


def _npz_seeds() -> list[bytes]:
    found = []
    for save in (np.savez, np.savez_compressed):
        stream = io.BytesIO()
        save(stream, q=np.ones((3, 6)), T=np.tile(np.eye(4), (3, 1, 1)), name=np.array("text"))
        found.append(stream.getvalue())
    return found


# --- results and poses


@cache
def _result_seeds() -> list[bytes]:
    robot = zveno.load("puma560")
    results: list[Any] = [
        robot.ik(robot.forward_kinematics(np.full(6, 0.3))),
        robot.simulate(np.zeros(6), duration=0.01, sample_time=0.005),
        robot.base_parameters(),
    ]
    with tempfile.TemporaryDirectory() as folder:
        return [result.save(Path(folder) / f"{k}.json").read_bytes() for k, result in enumerate(results)]


@cache
def _trajectory_seeds() -> list[bytes]:
    run = zveno.load("puma560").simulate(np.zeros(6), duration=0.01, sample_time=0.005)
    with tempfile.TemporaryDirectory() as folder:
        return [run.save(Path(folder) / "run.npz").read_bytes()]


def _read_result(path: Path) -> None:
    result = zveno.load_result(path)
    repr(result)
    if hasattr(result, "to_dict"):
        result.to_dict()


def _read_poses(path: Path) -> None:
    from zveno.ik.paths.pose_files import read_poses

    must(bool(np.isfinite(read_poses(path)).all()), "poses are not finite")


def _read_log(path: Path) -> None:
    wrong = fuzz_logs.read_log(path)
    must(wrong is None, wrong or "")


def _npy_seeds() -> list[bytes]:
    stream = io.BytesIO()
    np.save(stream, np.tile(np.eye(4), (3, 1, 1)))
    return [stream.getvalue()]


TARGETS = {
    "urdf": Target(".urdf", _urdf_seeds, _read_model, 20),
    "xml": Target(".xml", lambda: _texts(FEATURES), _read_model, 5),
    "dh": Target(".toml", _dh_seeds, _read_model, 15),
    "elementary": Target(".ets", lambda: _texts(ETS), _read_model, 15),
    "csv": Target(".csv", lambda: _texts(CSV, CSV.replace(",", ";"), CSV.split("group\n")[1]), _read_campaign, 10),
    "json": Target(".json", _json_seeds, _read_campaign, 5),
    "npz": Target(".npz", _npz_seeds, _read_campaign, 5),
    "result": Target(".json", _result_seeds, _read_result, 7),
    "trajectory": Target(".npz", _trajectory_seeds, _read_result, 3),
    "poses": Target(".csv", lambda: _texts("x y z\n1 2 3\n# c\n0.1,0.2,0.3\n", "1 2 3 1 0 0 0\n"), _read_poses, 3),
    "poses_npy": Target(".npy", _npy_seeds, _read_poses, 2),
    "log": Target(".csv", fuzz_logs.text_seeds, _read_log, 10),
    "log_npz": Target(".npz", fuzz_logs.npz_seeds, _read_log, 3),
}
