"""Recordings from files: every format gives the same log, files of one log go together, bad rows are named."""

import dataclasses
import sys

import numpy as np
import pytest
from log_tables import TAU, N, Q, T, V, check, csv_text, plain, said, table

import zveno
from zveno.errors import MissingExtraError, ModelError
from zveno.io.logs import _tables as text_module
from zveno.io.logs import log as log_module
from zveno.io.logs.read import read_log, read_logs


@pytest.fixture(scope="module")
def robot():
    return zveno.load("planar2")


# --- formats


def joint_states(robot, stamped=True):
    from rosbags.typesys import Stores, get_typestore

    def made(store, k):
        kinds = store.types
        sec, nanosec = divmod(round((1.7e9 + T[k]) * 1e9), 10**9) if stamped else (0, 0)
        stamp = kinds["builtin_interfaces/msg/Time"](sec, nanosec)
        header = kinds["std_msgs/msg/Header"]
        its = {"seq": k, "stamp": stamp, "frame_id": ""} if "seq" in header.__dataclass_fields__ else None
        top = header(**its) if its else header(stamp, "")
        return kinds["sensor_msgs/msg/JointState"](top, list(robot.joint_names), Q[k], V[k], TAU[k])

    return get_typestore, Stores, made


def write_bag2(path, robot, plugin, stamped=True):
    from rosbags.rosbag2 import Writer

    get_typestore, Stores, made = joint_states(robot, stamped)
    store = get_typestore(Stores.LATEST)
    with Writer(path, version=9, storage_plugin=plugin) as bag:
        topic = bag.add_connection("/joint_states", "sensor_msgs/msg/JointState", typestore=store)
        for k in range(N):
            message = store.serialize_cdr(made(store, k), "sensor_msgs/msg/JointState")
            bag.write(topic, round((1.7e9 + T[k]) * 1e9), message)


def write_bag1(path, robot):
    from rosbags.rosbag1 import Writer

    get_typestore, Stores, made = joint_states(robot)
    store = get_typestore(Stores.ROS1_NOETIC)
    with Writer(path) as bag:
        topic = bag.add_connection("/arm/joint_states", "sensor_msgs/msg/JointState", typestore=store)
        for k in range(N):
            message = store.serialize_ros1(made(store, k), "sensor_msgs/msg/JointState")
            bag.write(topic, round((1.7e9 + T[k]) * 1e9), message)


@pytest.mark.parametrize("kind", ["csv", "tsv", "semicolons", "blanks", "utf16", "parquet", "npz", "mat", "struct"])
def test_every_format_gives_the_same_log(robot, tmp_path, kind):
    file = tmp_path / "log.csv"
    if kind == "parquet":
        import polars

        file = tmp_path / "log.parquet"
        polars.DataFrame(plain()).write_parquet(file)
    elif kind == "npz":
        file = tmp_path / "log.npz"
        np.savez(file, t=T, q=Q, dq=V, tau=TAU, name="arm")
    elif kind in ("mat", "struct"):
        from scipy.io import savemat

        file = tmp_path / "log.mat"
        data = {"time": T, "q": Q.T, "qd": V.T, "torque": TAU.T}
        savemat(file, {"data": data} if kind == "struct" else data, do_compression=kind == "mat")
    else:
        options = {"tsv": ("\t", "."), "semicolons": (";", ","), "blanks": (" ", ".")}.get(kind, (",", "."))
        file.write_text(csv_text(plain(), *options), encoding="utf-16" if kind == "utf16" else "utf-8")
    check(read_log(file, robot))


@pytest.mark.parametrize("kind", ["ros1", "sqlite", "mcap", "mcap file", "no stamps"])
def test_bags_give_the_same_log(robot, tmp_path, kind):
    from rosbags.rosbag2 import StoragePlugin

    if kind == "ros1":
        path = tmp_path / "log.bag"
        write_bag1(path, robot)
    else:
        path = tmp_path / "log"
        write_bag2(
            path, robot, StoragePlugin.SQLITE3 if kind == "sqlite" else StoragePlugin.MCAP, kind != "no stamps"
        )
        if kind == "mcap file":
            path = next(path.glob("*.mcap"))
    log = read_log(path, robot)
    check(log)
    assert ("time of recording" if kind == "no stamps" else "headers") in said(log)
    with pytest.raises(ModelError, match="no joint states on /other"):
        read_log(path, robot, columns={"topic": "/other"})


def test_joint_states_of_two_robots_in_one_bag(robot, tmp_path):
    """One topic is read, the other is said; if it is that of another robot, the message says how to choose."""
    pytest.importorskip("rosbags")
    from rosbags.rosbag2 import StoragePlugin, Writer

    get_typestore, Stores, made = joint_states(robot)
    store, kind = get_typestore(Stores.LATEST), "sensor_msgs/msg/JointState"
    path = tmp_path / "bag"
    with Writer(path, version=9, storage_plugin=StoragePlugin.MCAP) as bag:
        ours, theirs = (bag.add_connection(topic, kind, typestore=store) for topic in ("/left", "/right"))
        for k in range(N):
            stamp, message = round((1.7e9 + T[k]) * 1e9), made(store, k)
            bag.write(ours, stamp, store.serialize_cdr(message, kind))
            other = dataclasses.replace(message, name=[f"right_{name}" for name in "ab"])
            for late in (0, 100):
                bag.write(theirs, stamp + late, store.serialize_cdr(other, kind))
    with pytest.raises(ModelError, match=r"no columns.*position right_a.*") as caught:
        read_log(path, robot)
    assert "other joint states, not read: /left" in str(caught.value)
    log = read_log(path, robot, columns={"topic": "/left"})
    check(log)
    assert "other joint states, not read: /right" in said(log)


def test_pieces_of_any_size_give_the_same_log(robot, tmp_path, monkeypatch):
    """Also where nothing is kept in memory and every pass reads the file again."""
    file = tmp_path / "log.csv"
    text = csv_text(plain()).splitlines(keepends=True)
    text.insert(50, "# a comment\n")
    text.insert(100, "1,2\n")
    file.write_text("".join(text))
    expected = read_log(file, robot)
    assert "line 101 holds no usable" in said(expected)
    monkeypatch.setattr(log_module, "KEPT_BYTES", 1000)
    for size in (200, 1000, 100_000):
        monkeypatch.setattr(text_module, "PIECE_BYTES", size)
        log = read_log(file, robot)
        assert log.account == expected.account
        for _ in range(2):
            assert np.array_equal(log.arrays().tau, expected.arrays().tau)
    check(expected)


def test_without_polars_text_is_read_and_parquet_refused(robot, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "polars", None)
    file = tmp_path / "log.csv"
    text = csv_text(plain())
    file.write_text(text)
    check(read_log(file, robot))
    lines = text.splitlines()
    lines[7] = lines[7].replace(lines[7].split(",")[2], "broken")
    file.write_text("\n".join(lines))
    assert "line 8 holds no usable" in said(read_log(file, robot))
    (tmp_path / "log.parquet").write_bytes(b"PAR1")
    with pytest.raises(MissingExtraError, match=r"zveno\[identify\]"):
        read_log(tmp_path / "log.parquet", robot)


# --- several files


def test_files_of_one_log(robot, tmp_path):
    parts = {"positions": ("", Q), "velocities": ("", V), "torques": ("", TAU)}
    files = []
    for word, (_, values) in parts.items():
        files.append(tmp_path / f"{word}.csv")
        files[-1].write_text(csv_text(table(t=T, joint_1=values[:, 0], joint_2=values[:, 1])))
    check(read_log(files, robot))
    whole = tmp_path / "whole.csv"
    whole.write_text(csv_text(plain()))
    logs = read_logs([whole, *files, whole], robot)
    assert len(logs) == 3
    for log in logs:
        check(log)
    with pytest.raises(ModelError, match="has no columns for the torque"):
        read_logs([whole, files[0]], robot)


def test_files_with_clocks_of_their_own(robot, tmp_path):
    slow = 5e-3 * np.arange(140)
    line = np.stack([1.0 + slow, 2.0 - slow], axis=1)
    (tmp_path / "q.csv").write_text(csv_text(table(t=T, q1=Q[:, 0], q2=Q[:, 1])))
    (tmp_path / "tau.csv").write_text(csv_text(table(t=slow, tau1=line[:, 0], tau2=line[:, 1])))
    log = read_log([tmp_path / "q.csv", tmp_path / "tau.csv"], robot)
    assert log.arrays().tau == pytest.approx(np.stack([1.0 + T, 2.0 - T], axis=1))
    (tmp_path / "tau.csv").write_text(csv_text(table(tau1=line[:, 0], tau2=line[:, 1])))
    with pytest.raises(ModelError, match=r"has 140 rows, and q\.csv has 300"):
        read_log([tmp_path / "q.csv", tmp_path / "tau.csv"], robot)


# --- bad files


def test_rows_of_garbage_are_named_and_the_rest_kept(robot, tmp_path):
    lines = csv_text(plain()).splitlines()
    spoilt = {
        5: "1,2,3",
        17: lines[17].replace(lines[17].split(",")[3], "1e293"),
        30: "\x00\x01 broken",
        44: lines[44] + ",7,8",
        60: ",".join(["nan"] * 7),
        80: lines[80].replace(lines[80].split(",")[1], '"half'),
    }
    for k, text in spoilt.items():
        lines[k] = text
    file = tmp_path / "log.csv"
    file.write_text("\n".join(lines) + "\n")
    log = read_log(file, robot)
    assert len(log) == N - len(spoilt)
    assert "line 6, 18, 31, 45, 61, 81 holds no usable numbers" in said(log)
    kept = np.setdiff1d(np.arange(N), np.array(list(spoilt)) - 1)
    assert np.array_equal(log.arrays().q, Q[kept])


BAD = {
    "empty": ("log.csv", b"", "is empty"),
    "binary": ("log.csv", bytes(range(256)) * 10, "not a text file"),
    "header only": ("log.csv", b"t,q1,q2,tau1,tau2\n", "has no rows"),
    "too short": ("log.csv", b"t,q1,q2,tau1,tau2\n" + b"0,1,2,3,4\n" * 3, "rows that can be used"),
    "time": ("log.csv", b"t,q1,q2,tau1,tau2\n" + b"0,1,2,3,4\n" * 30, "time does not increase"),
    "no time": ("log.csv", b"q1,q2,tau1,tau2\n" + b"1,2,3,4\n" * 30, "no column of time.*rate"),
    "another robot": ("log.csv", b"t,q1,q2,q3,tau1,tau2,tau3\n" + b"0,1,2,3,4,5,6\n" * 30, r"q1 … q3: 3 columns"),
    "no torque": ("log.csv", b"t,q1,q2\n" + b"0,1,2\n" * 30, "no columns for the torque"),
    "npz": ("log.npz", b"PK nothing", "it is damaged, or not a zip archive"),
    "mat": ("log.mat", b"nothing" * 50, "damaged, or not a MAT file"),
    "mat 7.3": ("log.mat", b"MATLAB 7.3 MAT-file, Platform: x" + bytes(600), "version 7.3.*-v7"),
    "parquet": ("log.parquet", b"PAR1 nothing PAR1", "damaged"),
    "bag": ("log.bag", b"#ROSBAG V2.0\nnothing", "damaged, or no bag"),
    "mcap": ("log.mcap", b"\x89MCAP0\r\nnothing", "damaged, or no bag"),
    "db3": ("log.db3", b"SQLite format 3\x00nothing", "damaged, or no bag"),
}


@pytest.mark.parametrize("kind", BAD)
def test_one_clear_message(robot, tmp_path, kind):
    name, data, words = BAD[kind]
    (tmp_path / name).write_bytes(data)
    with pytest.raises(ModelError, match=words) as caught:
        read_log(tmp_path / name, robot)
    assert name in str(caught.value)


def test_columns_of_one_name_are_told_apart(robot, tmp_path):
    """Two sets of positions, as of motor and joint encoders, with the same names: refused, and the remedy works."""
    lines = csv_text(plain()).splitlines()
    twice = [f"{line},{','.join(line.split(',')[1:3])}" for line in lines]
    twice[1:] = [f"{line.rpartition(',')[0]},0.5" for line in twice[1:]]
    file = tmp_path / "log.csv"
    file.write_text("\n".join(twice) + "\n")
    with pytest.raises(ModelError, match=r"may both be the position.*'q\*_one'"):
        read_log(file, robot)
    check(read_log(file, robot, columns={"position": "q*_one"}))
    other = read_log(file, robot, columns={"position": "q*_two"}).arrays()
    assert (other.q[:, 1] == 0.5).all()


@pytest.mark.parametrize("written", ["2024-01-31T23:59:59.{:06d}", "2024-01-31 23:59:59.{:06d}+01:00"])
def test_times_may_be_dates(robot, tmp_path, written):
    rows = [line.split(",") for line in csv_text(plain()).splitlines()]
    for k, row in enumerate(rows[1:]):
        row[0] = written.format(2000 * k)
    file = tmp_path / "log.csv"
    file.write_text("\n".join(map(",".join, rows)) + "\n")
    check(read_log(file, robot))


def test_lines_with_more_cells_than_names_are_named(robot, tmp_path):
    """Commas in numbers and between them: nothing can be read, and the message shows why."""
    file = tmp_path / "log.csv"
    file.write_text(csv_text(plain(), decimal=","))
    with pytest.raises(ModelError, match=r"line 2 has 1[34] cells, and line 1 7"):
        read_log(file, robot)


def test_a_position_without_a_torque_is_said(robot, tmp_path):
    columns = plain()
    del columns["tau2"], columns["dq1"], columns["dq2"]
    first, second = robot.joint_names[:2]
    named = {"q1": f"q_{first}", "q2": f"q_{second}", "tau1": f"tau_{first}"}
    file = tmp_path / "log.csv"
    file.write_text(csv_text({named.get(name, name): values for name, values in columns.items()}))
    assert f"positions without a torque: {second}" in said(read_log(file, robot))


def test_what_is_no_file(robot, tmp_path):
    with pytest.raises(ModelError, match="no such file"):
        read_log(tmp_path / "none.csv", robot)
    with pytest.raises(ModelError, match="directory"):
        read_log(tmp_path, robot)
    with pytest.raises(ModelError, match="no file was given"):
        read_log([], robot)
    with pytest.raises(ModelError, match="not the path"):
        read_log([3], robot)


def test_a_file_that_changes_is_noticed(robot, tmp_path, monkeypatch):
    monkeypatch.setattr(log_module, "KEPT_BYTES", 1000)
    file = tmp_path / "log.csv"
    file.write_text(csv_text(plain()))
    log = read_log(file, robot)
    with file.open("a") as stream:
        stream.write("1,2,3,4,5,6,7\n")
    with pytest.raises(ModelError, match="changed while it was read"):
        log.arrays()
