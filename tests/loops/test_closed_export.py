"""Functions of closed machines in C close the loops, give what kernels give, and say what is left."""

import ctypes
import shutil
import subprocess

import numpy as np
import pytest
from closed_machines import ankle, four_bar

from zveno.closed_robot import ClosedRobot
from zveno.errors import ModelError
from zveno.export import COMPILE

compiler = shutil.which("cc") or shutil.which("gcc")
needs_compiler = pytest.mark.skipif(compiler is None, reason="no C compiler on this machine")


def in_c(folder, name):
    """A function of (inputs…) → outputs of given sizes, from the exported source."""
    library = folder / f"{name}.so"
    command = [compiler, *COMPILE, "-shared", "-fPIC", "-o", str(library), str(folder / f"{name}.c"), "-lm"]
    subprocess.run(command, check=True)
    function = getattr(ctypes.CDLL(str(library)), name)
    function.restype = None

    def call(inputs, sizes):
        arrays = [np.ascontiguousarray(x, dtype=float) for x in inputs] + [np.zeros(max(1, n)) for n in sizes]
        function(*(x.ctypes.data_as(ctypes.POINTER(ctypes.c_double)) for x in arrays))
        return arrays[len(inputs) :]

    return call


@needs_compiler
@pytest.mark.parametrize("make", [four_bar, pytest.param(ankle, marks=pytest.mark.laws)])
def test_c_closes_the_loops_and_gives_what_the_kernel_gives(make, tmp_path):
    closed = ClosedRobot(make())
    names = ("inverse_dynamics", "forward_dynamics")
    done = closed.export_c(names, tmp_path, timed=False)
    assert "after 2\nNewton steps" in next(path for path in done.files if path.suffix == ".md").read_text()
    stem, n, n_tau = closed.name, closed.n_v, len(closed.torque_names)
    call = in_c(tmp_path, f"{stem}_inverse_dynamics")
    near = closed.mechanism.integrate(closed.q, whole(closed, 1e-3))
    v, a = np.full(n, 0.7), np.full(n, -0.3)
    tau, q, left = call((near, v, a), (n_tau, closed.n_q, 1))
    assert left[0] < 1e-11
    driven = list(closed.division.independent)
    assert np.array_equal(q[driven], near[driven]), "motors stay where they are"
    assert np.allclose(tau, closed.inverse_dynamics(q, v, a), rtol=1e-12)
    again, _, _ = in_c(tmp_path, f"{stem}_forward_dynamics")((near, v, tau), (n, closed.n_q, 1))
    assert np.allclose(again, a, rtol=1e-9)
    _, _, left = call((closed.mechanism.integrate(closed.q, whole(closed, 0.5)), v, a), (n_tau, closed.n_q, 1))
    assert left[0] > 1e-9, "two steps are not enough from far away, and it says so"


def whole(closed, step):
    """A motion of the independent joints alone, as a controller puts its measurements in."""
    change = np.zeros(closed.mechanism.n_v)
    change[list(closed.division.independent)] = step
    return change


@needs_compiler
def test_a_singular_configuration_is_said(tmp_path):
    closed = ClosedRobot(four_bar(motors=("rocker",)))
    closed.export_c(["gravity_torque"], tmp_path, steps=0, timed=False)
    # crank and coupler in line: the rocker stands still there, and does not determine the crank
    reach, ground, rocker = 1.2, 1.0, 0.8
    crank = np.arccos((reach**2 + ground**2 - rocker**2) / (2 * reach * ground))
    end = reach * np.array([np.cos(crank), np.sin(crank)]) - [ground, 0]
    q = closed.mechanism.pack({"crank": crank, "coupler": 0.0, "rocker": np.arctan2(end[1], end[0])})
    _, _, left = in_c(tmp_path, "four_bar_gravity_torque")((q,), (1, 3, 1))
    assert left[0] == np.inf


def test_what_cannot_be_exported_is_refused(tmp_path):
    closed = ClosedRobot(four_bar())
    with pytest.raises(ModelError, match="joint_wrenches does not exist"):
        closed.export_c(["joint_wrenches"], tmp_path)
    with pytest.raises(ModelError, match="needs functions to export"):
        closed.export_c([], tmp_path)
