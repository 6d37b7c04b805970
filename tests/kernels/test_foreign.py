"""Arguments that are no plain arrays are converted before the kernel, or refused."""

from __future__ import annotations

import numpy as np
import pytest

import zveno
from kernels.programs import compile
from zveno.errors import ShapeError
from zveno.kernels.trace import trace


class Frame:
    """Computes in a way of its own, as data frames do."""

    def __init__(self, values):
        self.values = np.asarray(values)

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.values, dtype)

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        return "something else"


class Quantity(np.ndarray):
    """An array with a unit."""

    unit = "deg"


class Silent(np.ndarray):
    """An array of another class."""


@pytest.fixture(scope="module")
def robot():
    return zveno.load("planar2")


@pytest.fixture(scope="module")
def kernel():
    return compile(trace(lambda a, b: a * b[0], {"a": (2,), "b": (2,)}))


Q = np.array([[0.1, 0.2], [0.3, -0.4]])


@pytest.mark.parametrize(
    "foreign",
    [
        Q.tolist(),
        tuple(map(tuple, Q.tolist())),
        Frame(Q),
        Q.view(Silent),
        np.ma.array(Q, mask=False),
        np.ma.array(Q),
        [np.array([0.1, 0.2]), np.array([0.3, -0.4])],
    ],
    ids=["list", "tuple", "own arithmetic", "subclass", "unmasked", "nomask", "list of arrays"],
)
def test_converted(robot, kernel, foreign):
    for got, want in (
        (robot.forward_kinematics(foreign), robot.forward_kinematics(Q)),
        (robot.inverse_dynamics(Q, foreign, Q), robot.inverse_dynamics(Q, Q, Q)),
        (robot.with_gravity((1, 2, 3)).gravity_torque(foreign), robot.with_gravity((1, 2, 3)).gravity_torque(Q)),
        (kernel(foreign, Q), kernel(Q, Q)),
        (kernel(Q, foreign), kernel(Q, Q)),
    ):
        assert type(got) is np.ndarray
        assert np.array_equal(got, want)
    out = np.empty((2, 2))
    assert robot.gravity_torque(foreign, out=out) is out
    assert np.array_equal(out, robot.gravity_torque(Q))
    torque = robot.kernel("gravity_torque", inputs=["gravity"])
    assert np.array_equal(torque(Q, np.ma.array([1.0, 2.0, 3.0])), torque(Q, [1, 2, 3]))


@pytest.mark.parametrize(
    ("foreign", "words"),
    [
        (np.ma.array(Q, mask=[[0, 1], [0, 0]]), "masked entries"),
        ([np.ma.array([1.0, 2.0], mask=[0, 1]), np.array([1.0, 2.0])], "masked entries"),
        (Q.view(Quantity), "units"),
        (Frame("x"), "expected real numbers"),
        (np.ma.array(["a", "b"]), "expected real numbers"),
    ],
)
def test_refused(robot, kernel, foreign, words):
    with pytest.raises(ShapeError, match=words) as caught:
        robot.gravity_torque(foreign)
    assert "argument q of gravity_torque" in str(caught.value)
    robot.gravity_torque(Q)
    with pytest.raises(ShapeError, match=words):  # the same when the function was called before
        robot.gravity_torque(foreign)
    with pytest.raises(ShapeError, match=words):
        kernel(Q, foreign)


def test_results_are_written_to_plain_arrays_only(robot, tmp_path):
    for out in (np.ma.array(np.zeros((2, 2))), Frame(np.zeros((2, 2))), [[0.0, 0.0], [0.0, 0.0]]):
        with pytest.raises(ShapeError, match="expected an array"):
            robot.gravity_torque(Q, out=out)
    mapped = np.memmap(tmp_path / "torques", float, "w+", shape=(2, 2))
    assert robot.gravity_torque(Q, out=mapped) is mapped
    assert np.array_equal(mapped, robot.gravity_torque(Q))
    kinetic = np.empty(2)
    assert robot.energy(Q, Q, out=(kinetic, None))[0] is kinetic


@pytest.mark.laws
def test_data_frames(robot):
    pandas = pytest.importorskip("pandas")
    square = np.random.default_rng(0).normal(size=(2, 2))
    frame = pandas.DataFrame(square, columns=["joint2", "joint1"], index=[5, 3])
    other = pandas.DataFrame(square, columns=["joint1", "joint2"])
    by_name = square[:, ::-1]
    for got, want in (
        (robot.gravity_torque(frame), robot.gravity_torque(by_name)),
        (robot.inverse_dynamics(frame, other, square), robot.inverse_dynamics(by_name, square, square)),
    ):
        assert type(got) is np.ndarray
        assert np.array_equal(got, want)
    for wrong in (
        pandas.DataFrame(square, columns=["a", "b"]),
        pandas.DataFrame({"joint1": ["x"], "joint2": [1.0]}),
    ):
        with pytest.raises(ShapeError):
            robot.gravity_torque(wrong)
