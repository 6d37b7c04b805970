"""What columns of a recording are: told by their names, by the user, by their sizes; units, clocks and motors."""

import numpy as np
import pytest
from log_tables import TAU, Q, T, V, check, csv_text, plain, said, table

import zveno
from zveno.errors import ModelError, UnknownNameError, ZvenoError
from zveno.io.logs._columns import guessed
from zveno.io.logs._units import joint_side
from zveno.io.logs.read import read_log


@pytest.fixture(scope="module")
def robot():
    return zveno.load("planar2")


@pytest.mark.parametrize(
    ("name", "role", "number", "unit"),
    [
        ("t", "time", None, ""),
        ("time [ms]", "time", None, "ms"),
        ("t_s", "time", None, "s"),
        ("actual_q_0", "position", 0, ""),
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
        ("header.stamp.sec", "unread", None, ""),
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
        ("elbow_joint_omega", "unread"),
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


def test_columns_without_a_header_are_said(robot, tmp_path):
    file = tmp_path / "log.txt"
    file.write_bytes(b"# a comment\n\n" + csv_text(plain(), " ").split("\n", 1)[1].encode())
    with pytest.raises(
        ModelError, match=r"no columns for the position.*Understood: nothing\. Columns: column 1, column 2"
    ):
        read_log(file, robot)
    names = [f"column {k}" for k in range(1, 8)]
    spoken = {"time": names[0], "position": names[1:3], "velocity": names[3:5], "torque": names[5:]}
    check(read_log(file, robot, columns=spoken))


def test_the_error_lists_what_was_understood(robot, tmp_path):
    file = tmp_path / "log.csv"
    file.write_text(csv_text(table(t=T, q1=Q[:, 0], q2=Q[:, 1], load1=TAU[:, 0], load2=TAU[:, 1])))
    with pytest.raises(
        ModelError, match=r"no columns for the torque.*Understood: time: t; position: q1, q2\. Columns: "
    ):
        read_log(file, robot)


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
    log = read_log(file, robot)
    check(log, atol=1e-12)
    for sentence in ("time in milliseconds", "position in degrees", "velocity in rpm", "torque in mN·m"):
        assert sentence in log.account
    bare = {name.split()[0]: values for name, values in scaled.items()}
    file.write_text(csv_text(bare))
    with pytest.raises(ModelError, match="more than a joint turns"):
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
    log = read_log(tmp_path / "log.csv", robot)
    check(log)
    told = {1e9: "time in nanoseconds", 1e6: "time in microseconds", 1e3: "time in milliseconds", 1.0: ""}[factor]
    assert [sentence for sentence in log.account if sentence.startswith("time in")] == [told] * bool(told)


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


def test_motor_side_with_gears_that_are_given(robot, tmp_path):
    """The same power at motors and joints, for a model without a transmission."""
    file = tmp_path / "log.csv"
    ratios = {"q": [100.0, -50.0], "dq": [100.0, -50.0], "tau": [0.01, -0.02]}
    motors = plain() | {
        f"{word}{j + 1}": plain()[f"{word}{j + 1}"] * r[j] for word, r in ratios.items() for j in (0, 1)
    }
    file.write_text(csv_text(motors))
    log = read_log(file, robot, side="motor", gears=[100.0, -50.0], units={"position": "rad"})
    check(log, atol=1e-10)
    assert "motors are turned into joints by the gears that are given" in log.account
    for options, words in (
        ({"gears": 100.0}, r"gears.*at the joints.*side='motor'"),
        ({"gears": [100.0, 0.0], "side": "motor"}, "gears.*are zero"),
        ({"gears": [1.0, 2.0, 3.0], "side": "motor"}, "gears are"),
        ({"side": "motor"}, "no gear ratios.*--gears"),
    ):
        with pytest.raises(ZvenoError, match=words):
            read_log(file, robot, **options)
    with pytest.raises(ModelError, match="transmission of its own"):
        joint_side(zveno.load("tx40").mechanism, zveno.load("tx40").joint_names, "motor", gears=2.0)


def test_numbers_count_all_joints_or_all_but_a_gripper(tmp_path):
    """Seven columns are the Panda's arm; six of them are another robot's."""
    from zveno.io.logs._columns import choose_columns

    fingers = ("joint1", "joint2", "finger_joint1", "finger_joint2")
    head = ["t", "q1", "q2", "tau1", "tau2"]
    chosen = choose_columns([head], ["log.csv"], fingers, counts={2, 4})
    assert chosen.joint_names == ("joint1", "joint2")
    assert "not recorded: finger_joint1, finger_joint2" in chosen.account
    file = tmp_path / "log.csv"
    file.write_text(csv_text(plain()))
    with pytest.raises(ModelError, match="q1 … q2: 2 columns"):
        read_log(file, zveno.load("puma560"))
