"""Where names exist they decide: DataFrames are matched by name or refused, and nothing is dropped in silence."""

import numpy as np
import pytest

import zveno
from mechanisms import random_mechanism
from tiers import few
from zveno import calibration
from zveno.errors import ShapeError, ZvenoError

pd = pytest.importorskip("pandas")


@pytest.mark.parametrize("seed", few(range(6), 1))
def test_columns_are_matched_by_name(seed):
    robot = zveno.Robot(random_mechanism(seed, 5))
    rng = np.random.default_rng(seed)
    q, v = robot.random(4, seed), rng.normal(size=(4, robot.n_v))
    names, speeds = robot.mechanism.coordinate_names, zveno.mechanism.units.velocity_names(robot.mechanism)
    frame = pd.DataFrame(q, columns=list(names)).sample(frac=1.0, axis=1, random_state=seed)
    rates = pd.DataFrame(v, columns=list(speeds)).sample(frac=1.0, axis=1, random_state=seed)
    assert np.array_equal(robot.link_poses(frame), robot.link_poses(q))
    assert np.array_equal(robot.link_poses(frame.iloc[0]), robot.link_poses(q[0]))
    assert np.array_equal(robot.momentum(frame, rates), robot.momentum(q, v))
    assert np.array_equal(robot.momentum(q, rates), robot.momentum(q, v))
    assert np.array_equal(robot.mechanism.checked_q(frame), q)
    with pytest.raises(ShapeError, match="its columns are"):
        robot.link_poses(frame.rename(columns={names[0]: "other"}))


def test_what_is_no_measurement_is_one_error():
    robot = zveno.load("planar2")
    frame = pd.DataFrame(np.zeros((3, 2)), columns=["joint1", "joint2"])
    with pytest.raises(ZvenoError, match="is not a path"):
        calibration.read_dataset(frame, robot, "position")
    with pytest.raises(ZvenoError, match="is not a dataset"):
        robot.calibrate(frame)


def test_complex_numbers_are_refused():
    with pytest.raises(ShapeError, match="real numbers"):
        zveno.load("planar2").simulate([1j, 0.0], duration=0.01)


def sheet(path, numbers) -> None:
    """A workbook of two columns whose rows have these numbers in the file."""
    import zipfile

    import openpyxl

    book = openpyxl.Workbook()
    book.active.append(["joint1", "joint2", "x", "y", "z"])
    for k in range(len(numbers)):
        book.active.append([0.1 * k, 0.2 * k, 0.3, 0.1 * k, 0.0])
    plain = path.with_name("plain.xlsx")
    book.save(plain)
    with zipfile.ZipFile(plain) as source, zipfile.ZipFile(path, "w") as target:
        for name in source.namelist():
            data = source.read(name)
            if name.endswith("sheet1.xml"):
                for k, number in enumerate(numbers, start=2):
                    data = data.replace(f'<row r="{k}"'.encode(), f'<row r="{number}"'.encode())
            target.writestr(name, data)


@pytest.mark.parametrize("numbers", [[2, 3, 100, 5, 6], [2, 3, 1000000000, 5, 6], [2, 3, 3, 4, 5]])
def test_rows_of_a_sheet_out_of_order_are_refused(tmp_path, numbers):
    file = tmp_path / "rows.xlsx"
    sheet(file, numbers)
    with pytest.raises(ZvenoError, match="stands behind row"):
        calibration.read_dataset(file, zveno.load("planar2"), "position")


def test_rows_of_a_sheet_in_order_are_read(tmp_path):
    sheet(tmp_path / "rows.xlsx", [2, 3, 4, 5, 6])
    assert len(calibration.read_dataset(tmp_path / "rows.xlsx", zveno.load("planar2"), "position").q) == 5


@pytest.mark.parametrize("tensor", [np.diag([-1.0, 0, 0]), np.diag([1.0, 1.0, 5.0]), np.full((3, 3), np.nan)])
def test_impossible_payloads_are_refused(tensor):
    with pytest.raises(ZvenoError, match=r"payload|inertia"):
        zveno.load("ur5").with_payload(1.0, inertia=tensor)


def test_samples_that_no_memory_holds_are_refused_before_they_are_made():
    with pytest.raises(ZvenoError, match="more than memory holds"):
        zveno.load("planar2").simulate(np.zeros(2), duration=1.0, sample_time=1e-12)
    with pytest.raises(ZvenoError, match="more than memory holds"):
        zveno.load("planar2").simulate(np.zeros((1000, 2)), duration=1e4)


def masked(x):
    """Return x with its first entry masked."""
    mask = np.zeros(np.shape(x), dtype=bool)
    mask.flat[0] = True
    return np.ma.masked_array(x, mask)


@pytest.mark.parametrize("spoilt", [lambda x: x + 1e-3j, masked], ids=["imaginary parts", "masks"])
def test_no_function_drops_what_numpy_drops(spoilt):
    """NumPy does, with a warning only for imaginary parts: of 24 arguments 17 were taken without them."""
    robot = zveno.load("puma560")
    q, t, rest = robot.random(20, 1), 0.01 * np.arange(50), np.zeros((50, 6))
    T = robot.forward_kinematics(q)
    tensor, body = spoilt(np.diag([0.1, 0.1, 0.1])), spoilt(np.array([1.0, 0, 0, 0, 1, 0, 1, 0, 0, 1]))
    calls = {
        "log": lambda: zveno.identification.Log.of(robot, t, spoilt(rest), rest),
        "torques of a log": lambda: zveno.identification.Log.of(robot, t, rest, spoilt(rest)),
        "times of a log": lambda: zveno.identification.Log.of(robot, spoilt(t), rest, rest),
        "postures": lambda: robot.calibrate(calibration.Dataset(calibration.Position(), spoilt(q), T[:, :3, 3])),
        "readings": lambda: robot.calibrate(calibration.Dataset(calibration.Position(), q, spoilt(T[:, :3, 3]))),
        "candidates": lambda: calibration.plan_poses(robot, "position", 12, candidates=spoilt(q)),
        "pose": lambda: robot.ik(spoilt(T[0])),
        "poses": lambda: robot.ik(spoilt(T)),
        "position": lambda: robot.ik(spoilt(T[0, :3, 3]), task="position"),
        "path": lambda: robot.ik_path(spoilt(T[:3])),
        "box": lambda: zveno.ik.workspace_map(robot, box=(spoilt(np.zeros(3)), np.ones(3)), cell=0.5),
        "tool": lambda: robot.with_tool(spoilt(np.eye(4))),
        "gravity": lambda: robot.with_gravity(spoilt(np.zeros(3))),
        "payload": lambda: robot.with_payload(1.0, spoilt(np.zeros(3))),
        "tensor": lambda: robot.with_payload(1.0, np.zeros(3), tensor),
        "inertia": lambda: robot.with_inertia({robot.link_names[1]: body}),
        "gain": lambda: robot.simulate(
            q[0], duration=0.01, control=zveno.simulation.PD(q[0], kp=spoilt(np.ones(6)))
        ),
        "state": lambda: robot.simulate(spoilt(q[0]), duration=0.01),
        "function": lambda: robot.forward_kinematics(spoilt(q)),
    }
    for name, call in calls.items():
        with pytest.raises(zveno.ZvenoError):
            print(name, call())
