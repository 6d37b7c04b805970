"""Bags of ROS 1 and ROS 2 and MCAP, written by rosbags and identified by the command line."""

import json

import numpy as np
import pytest
from simulated_logs import Friction, simulated_logs

import zveno
from zveno.cli import main

pytest.importorskip("rosbags")
START = 1.7e9
"""s since 1970."""
STATE = "sensor_msgs/msg/JointState"


@pytest.fixture(scope="module")
def robot():
    puma = zveno.load("puma560").mechanism
    return zveno.Robot(zveno.edit.fix_joints(puma, puma.joint_names[3:]))


@pytest.fixture(scope="module")
def recorded(robot, tmp_path_factory):
    """The model's file, and the rows of a recording."""
    model = tmp_path_factory.mktemp("bags") / "arm.urdf"
    robot.write(model)
    (run,) = simulated_logs(robot, Friction(viscous=3.0, coulomb=4.0), seconds=16.0, rate=200.0, rng=5)
    return model, run.log.arrays()


def message(store, names, k, block):
    """A joint state with its names in another order, as drivers send them, and one joint that the robot lacks."""
    kinds = store.types
    sec, nanosec = divmod(round((START + block.t[k]) * 1e9), 10**9)
    header = kinds["std_msgs/msg/Header"]
    stamp = kinds["builtin_interfaces/msg/Time"](sec, nanosec)
    top = header(k, stamp, "") if "seq" in header.__dataclass_fields__ else header(stamp, "")
    order = [2, 0, 1]
    return kinds[STATE](
        top,
        [*(names[j] for j in order), "gripper"],
        np.append(block.q[k, order], 0.01),
        np.zeros(0),
        np.append(block.tau[k, order], 0.0),
    )


def write_bag(path, kind, names, block):
    from rosbags.rosbag1 import Writer as Writer1
    from rosbags.rosbag2 import StoragePlugin
    from rosbags.rosbag2 import Writer as Writer2
    from rosbags.typesys import Stores, get_typestore

    store = get_typestore(Stores.ROS1_NOETIC if kind == "ros1" else Stores.LATEST)
    plugin = StoragePlugin.MCAP if kind == "mcap" else StoragePlugin.SQLITE3
    writer = Writer1(path) if kind == "ros1" else Writer2(path, version=9, storage_plugin=plugin)
    with writer as bag:
        topic = bag.add_connection("/joint_states", STATE, typestore=store)
        for k in range(len(block.t)):
            made = message(store, names, k, block)
            raw = store.serialize_ros1(made, STATE) if kind == "ros1" else store.serialize_cdr(made, STATE)
            bag.write(topic, round((START + block.t[k]) * 1e9), raw)


@pytest.mark.parametrize("kind", ["ros1", "ros2", "mcap"])
def test_a_bag_is_identified_from_the_command_line(robot, recorded, tmp_path, capsys, kind):
    model, block = recorded
    path = tmp_path / ("log.bag" if kind == "ros1" else "log")
    write_bag(path, kind, robot.joint_names[:3], block)
    words = ["identify", str(model), str(path), "--friction-terms", "basic", "--json"]
    assert main(words) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["status"] == "usable"
    arm = zveno.load(model)
    same = arm.identify(zveno.identification.Log.of(arm, block.t, block.q, block.tau), friction_terms="basic")
    np.testing.assert_allclose(
        [data["parameters"][name]["value"] for name in same.names], same.values, rtol=1e-4, atol=1e-5
    )  # stamps are in nanoseconds since 1970
