"""Recordings from files: every format gives the same log, columns are understood or asked for, bad rows named."""

import sys

import numpy as np
import pytest

import zveno
from zveno.errors import MissingExtraError, ModelError, UnknownNameError, ZvenoError
from zveno.io.logs import log as log_module
from zveno.io.logs import text as text_module
from zveno.io.logs.read import read_log, read_logs
from zveno.io.logs.roles import guessed

N = 300
T = 2e-3 * np.arange(N)
Q = np.stack([np.sin(T), np.cos(3 * T)], axis=1)
V = np.stack([np.cos(T), -3 * np.sin(3 * T)], axis=1)
TAU = np.stack([5.0 + Q[:, 0], 3.0 * Q[:, 1]], axis=1)


@pytest.fixture(scope="module")
def robot():
    return zveno.load("planar2")


def table(**columns):
    return {name: np.asarray(values, dtype=float) for name, values in columns.items()}


def plain():
    return table(t=T, q1=Q[:, 0], q2=Q[:, 1], dq1=V[:, 0], dq2=V[:, 1], tau1=TAU[:, 0], tau2=TAU[:, 1])


def csv_text(columns, delimiter=",", decimal=".", end="\n"):
    rows = [delimiter.join(columns)]
    rows += [
        delimiter.join(repr(float(x)).replace(".", decimal) for x in row)
        for row in zip(*columns.values(), strict=True)
    ]
    return end.join(rows) + end


def check(log, velocity=True, atol=0.0):
    whole = log.arrays()
    assert whole.t == pytest.approx(T - T[0], abs=1e-6)
    assert abs(whole.q - Q).max() <= atol
    assert abs(whole.tau - TAU).max() <= atol
    assert log.has_velocity == velocity
    if velocity:
        assert abs(whole.v - V).max() <= atol


def said(log):
    return "\n".join(log.account)


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


# --- columns


@pytest.mark.parametrize(
    ("name", "role", "number", "unit"),
    [
        ("t", "time", None, ""),
        ("time [ms]", "time", None, "ms"),
        ("t_s", "time", None, "s"),
        ("header.stamp.nanosec", "nanoseconds", None, ""),
        ("actual_q_0", "position", 0, ""),
        ("jointPositions3", "position", 3, ""),
        ("A1 [deg]", "position", 1, "deg"),
        ("Joint_1", "", 1, ""),
        ("dq1", "velocity", 1, ""),
        ("dq_1_deg/s", "velocity", 1, "deg/s"),
        ("qd_2", "velocity", 2, ""),
        ("tau_J_3", "torque", 3, ""),
        ("Axis 3 torque (Nm)", "torque", 3, "nm"),
        ("current_1_A", "current", 1, "a"),
        ("robot0_joint_pos_1", "position", 1, ""),
        ("target_q_0", "unread", 0, ""),
        ("tau_J_d_3", "unread", 3, ""),
        ("tau_ext_hat_filtered_2", "unread", 2, ""),
        ("ddq1", "unread", 1, ""),
        ("temperature_2", "unread", 2, ""),
        ("x", "unread", None, ""),
    ],
)
def test_names(name, role, number, unit):
    guess = guessed(name, ("elbow_joint",))
    assert (guess.role, guess.number, guess.unit) == (role, number, unit)


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("elbow_joint", ""),
        ("q_elbow_joint", "position"),
        ("- elbow_joint_position", "position"),
        ("/joint_states/elbow_joint/velocity", "velocity"),
        ("effort elbow-joint", "torque"),
        ("elbow_joint_cmd", "unread"),
    ],
)
def test_names_with_the_joint(name, role):
    guess = guessed(name, ("shoulder", "elbow_joint"))
    assert (guess.role, guess.joint) == (role, "elbow_joint")


@pytest.mark.parametrize("style", ["{}{}", "{}_{}", "{}[{}]", "actual {} {}"])
@pytest.mark.parametrize(
    "words", [("pos", "vel", "effort"), ("q", "qd", "tau"), ("position", "velocity", "torque")]
)
@pytest.mark.parametrize("first", [0, 1])
def test_numbered_columns_in_many_styles(robot, tmp_path, style, words, first):
    columns = table(timestamp=1.7e9 + T)
    for word, values in zip(words, (Q, V, TAU), strict=True):
        columns |= {style.format(word, k + first): values[:, k] for k in (1, 0)}
    columns |= {style.format("target_q", first): Q[:, 0] + 1.0, "comment": T * 0}
    (tmp_path / "log.csv").write_text(csv_text(columns))
    log = read_log(tmp_path / "log.csv", robot)
    check(log)
    assert "columns not read" in said(log)
    assert "comment" in said(log)


def test_two_candidates_are_asked_for(robot, tmp_path):
    columns = table(t=T, angle1=Q[:, 0], angle2=Q[:, 1], theta1=Q[:, 0], theta2=Q[:, 1])
    columns |= table(tau1=TAU[:, 0], tau2=TAU[:, 1])
    file = tmp_path / "log.csv"
    file.write_text(csv_text(columns))
    with pytest.raises(ModelError, match="angle1, angle2 and theta1, theta2 may both be the position"):
        read_log(file, robot)
    check(read_log(file, robot, columns={"position": "angle*"}), velocity=False)
    check(read_log(file, robot, columns={"position": ["angle1", "angle2"]}), velocity=False)
    by_name = dict(zip(robot.joint_names, ("theta1", "theta2"), strict=True))
    check(read_log(file, robot, columns={"position": by_name}), velocity=False)


def test_what_the_user_says_counts(robot, tmp_path):
    file = tmp_path / "log.csv"
    columns = dict(zip(("a", "b", "c", "d", "e", "f", "g"), plain().values(), strict=True))
    file.write_text(csv_text(columns))
    with pytest.raises(ModelError, match="has no columns for the position of 2 joints"):
        read_log(file, robot)
    spoken = {"time": "a", "position": "b,c", "velocity": ["d", "e"], "torque": ("f", "g")}
    check(read_log(file, robot, columns=spoken))
    check(read_log(file, robot, columns=spoken | {"velocity": None}), velocity=False)
    for wrong, words in (
        ({"position": "b,x"}, "no column 'x'"),
        ({"positions": "b"}, "'positions' is nothing that is read"),
        ({"position": "z*"}, "no column is like"),
        ({"position": {"hip": "b"}}, "no joint 'hip'"),
        ({"position": "b,c,d"}, "3 columns are given"),
        ({"time": "x"}, "no column 'x'"),
    ):
        with pytest.raises((ModelError, UnknownNameError), match=words):
            read_log(file, robot, columns=spoken | wrong)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_no_header(robot, tmp_path, end):
    file = tmp_path / "log.txt"
    file.write_bytes(b"# a comment\n\n" + csv_text(plain(), " ", end=end).split(end, 1)[1].encode())
    log = read_log(file, robot)
    check(log)
    assert "has no header" in said(log)


# --- units, gears, gains


def test_units_by_name_and_by_argument(robot, tmp_path):
    file = tmp_path / "log.csv"
    columns = plain()
    scaled = {
        "time [ms]": 1e3 * columns["t"],
        "q1 [deg]": np.degrees(columns["q1"]),
        "q2 (deg)": np.degrees(columns["q2"]),
        "dq1 [rpm]": columns["dq1"] * 30 / np.pi,
        "dq2 [rpm]": columns["dq2"] * 30 / np.pi,
        "tau1 [mNm]": 1e3 * columns["tau1"],
        "tau2 [mNm]": 1e3 * columns["tau2"],
    }
    file.write_text(csv_text(scaled))
    check(read_log(file, robot), atol=1e-12)
    bare = {name.split()[0]: values for name, values in scaled.items()}
    file.write_text(csv_text(bare))
    with pytest.raises(ModelError, match="which no joint turns"):
        read_log(file, robot)
    with pytest.raises(ModelError, match=r"2 s apart.*units"):
        read_log(file, robot, units={"position": "deg"})
    units = {"time": "ms", "position": "deg", "velocity": "rpm", "torque": 1e-3}
    check(read_log(file, robot, units=units), atol=1e-12)
    second = csv_text(bare).split("\n", 1)
    file.write_text(f"{second[0]}\nms,deg,deg,rpm,rpm,mNm,mNm\n{second[1]}")
    check(read_log(file, robot), atol=1e-12)
    for wrong in ({"position": "parsec"}, {"colour": "deg"}, {"torque": "deg"}, {"time": 0.0}, {"time": np.nan}):
        with pytest.raises(ModelError, match="units"):
            read_log(file, robot, units=wrong)


@pytest.mark.parametrize("factor", [1e9, 1e6, 1e3, 1.0])
def test_stamps_since_1970_are_told_by_their_size(robot, tmp_path, factor):
    columns = plain() | table(t=np.round((1.7e9 + T) * factor, 6 if factor == 1.0 else 0))
    (tmp_path / "log.csv").write_text(csv_text(columns))
    check(read_log(tmp_path / "log.csv", robot))


def test_seconds_and_nanoseconds(robot, tmp_path):
    columns = plain()
    stamp = np.round((columns.pop("t") + 5.0) * 1e9).astype(int)
    columns = {"header.stamp.sec": stamp // 10**9, "header.stamp.nanosec": stamp % 10**9} | columns
    (tmp_path / "log.csv").write_text(csv_text(columns))
    check(read_log(tmp_path / "log.csv", robot))


def test_motor_side_with_coupling(tmp_path):
    """TX40: motor 6 turns with joint 5 too; power is the same on both sides."""
    robot = zveno.load("tx40")
    rng = np.random.default_rng(0)
    t = 1e-3 * np.arange(200)
    q = rng.normal(size=6) + np.sin(t[:, None] * rng.uniform(1, 3, 6))
    v, tau = rng.normal(size=(2, 200, 6))
    gear = robot.mechanism.transmission_matrix
    gains, offsets = rng.uniform(0.5, 2.0, 6), rng.normal(size=6)
    file = tmp_path / "log.npz"
    currents = np.linalg.solve(gear.T, tau.T).T / gains
    np.savez(file, t=t, position=(q - offsets) @ gear.T, velocity=v @ gear.T, current=currents)
    log = read_log(
        file, robot, side="motor", gains=gains, offsets=dict(zip(robot.joint_names, offsets, strict=True))
    )
    whole = log.arrays()
    assert np.allclose(whole.q, q, atol=1e-12)
    assert np.allclose(whole.v, v, atol=1e-12)
    assert np.allclose(whole.tau, tau, atol=1e-12)
    power = (currents * gains * (v @ gear.T)).sum(axis=1)
    assert np.allclose((whole.tau * whole.v).sum(axis=1), power)
    with pytest.raises(ModelError, match=r"are currents.*gains"):
        read_log(file, robot, side="motor")
    with pytest.raises(ModelError, match="no side 'gear'"):
        read_log(file, robot, side="gear", gains=1.0)
    with pytest.raises(ZvenoError, match="gains are"):
        read_log(file, robot, side="motor", gains=[1.0, 2.0])
    with pytest.raises(ModelError, match="no gear ratios"):
        read_log(file, zveno.load("ur5"), side="motor", gains=1.0)


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
    "npz": ("log.npz", b"PK nothing", "cut off or damaged"),
    "mat": ("log.mat", b"nothing" * 50, "damaged, or no MAT file"),
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


def test_numbers_count_all_joints_or_all_but_a_gripper(tmp_path):
    """Seven columns are the Panda's arm; six of them are another robot's."""
    from zveno.io.logs.columns import choose_columns

    fingers = ("joint1", "joint2", "finger_joint1", "finger_joint2")
    head = ["t", "q1", "q2", "tau1", "tau2"]
    chosen = choose_columns([head], ["log.csv"], fingers, counts={2, 4})
    assert chosen.joint_names == ("joint1", "joint2")
    assert "not recorded: finger_joint1, finger_joint2" in chosen.account
    file = tmp_path / "log.csv"
    file.write_text(csv_text(plain()))
    with pytest.raises(ModelError, match="q1 … q2: 2 columns"):
        read_log(file, zveno.load("puma560"))
