"""Exported C compiles without a warning, runs, and gives what the robot gives."""

import ctypes
import shutil
import subprocess

import numpy as np
import pytest

import zveno
from mechanisms import random_mechanism
from zveno.errors import BuildError, UnknownNameError
from zveno.export import COMPILE, export_c
from zveno.robot import Robot

compiler = shutil.which("cc") or shutil.which("gcc")
needs_compiler = pytest.mark.skipif(compiler is None, reason="no C compiler on this machine")
FUNCTIONS = (
    "inverse_dynamics",
    "gravity_torque",
    "forward_kinematics",
    "jacobian",
    "forward_dynamics",
    "mass_matrix",
)


def call(library, name, single, output_shape, *arrays):
    dtype = np.float32 if single else np.float64
    kind = ctypes.c_float if single else ctypes.c_double
    arrays = [np.ascontiguousarray(array, dtype) for array in arrays]
    out = np.zeros(output_shape, dtype)
    pointers = [array.ctypes.data_as(ctypes.POINTER(kind)) for array in (*arrays, out)]
    getattr(library, name)(*pointers)
    return out


@needs_compiler
@pytest.mark.parametrize("single", [False, True])
def test_exported_functions_equal_the_robot(tmp_path, single):
    robot = zveno.load("puma560").with_payload(2.0, (0.0, 0.0, 0.1))
    done = export_c(robot, FUNCTIONS, tmp_path, single=single)
    assert len(done.functions) == len(FUNCTIONS)
    assert all(function.nanoseconds > 0 for function in done.functions)
    shared = [
        "-shared",
        "-fPIC",
        *(str(path) for path in done.files if path.suffix == ".c" and path.stem != "example"),
    ]
    subprocess.run([compiler, *COMPILE, *shared, "-lm", "-o", str(tmp_path / "lib.so")], check=True)
    library = ctypes.CDLL(str(tmp_path / "lib.so"))
    rng = np.random.default_rng(0)
    q, v, a = rng.normal(size=(3, 6))
    tolerance = 2e-5 if single else 1e-12
    cases = {
        "inverse_dynamics": ((6,), (q, v, a)),
        "gravity_torque": ((6,), (q,)),
        "forward_kinematics": ((4, 4), (q,)),
        "jacobian": ((6, 6), (q,)),
        "forward_dynamics": ((6,), (q, v, a)),
        "mass_matrix": ((6, 6), (q,)),
    }
    for name, (shape, arrays) in cases.items():
        expected = getattr(robot, name)(*arrays)
        got = call(library, f"puma560_{name}", single, shape, *arrays)
        scale = abs(expected).max()
        assert abs(got - expected).max() < tolerance * scale * (100 if name == "forward_dynamics" else 1)


@needs_compiler
def test_example_runs(tmp_path):
    robot = zveno.load("ur5")
    done = export_c(robot, ("gravity_torque",), tmp_path)
    command = [compiler, *COMPILE, "example.c", "ur5_gravity_torque.c", "-lm", "-o", "example"]
    subprocess.run(command, cwd=tmp_path, check=True)
    printed = subprocess.run(["./example"], cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    name, *numbers = printed.split()
    assert name == "tau:"
    assert np.allclose([float(line) for line in numbers], robot.gravity_torque(robot.neutral()), atol=1e-6)
    assert "| `ur5_gravity_torque` |" in (tmp_path / "README.md").read_text()
    assert done.summary.startswith("1 function(s) in ")


@needs_compiler
def test_any_mechanism_and_parameters_as_arguments(tmp_path):
    robot = Robot(random_mechanism(4, n=9, drives=True))
    done = export_c(robot, ("inverse_dynamics",), tmp_path, parameters=("gravity",), timed=False)
    assert "gravity" in (tmp_path / f"{done.functions[0].name}.h").read_text()
    command = [compiler, *COMPILE, "-c", f"{done.functions[0].name}.c", "-o", "o.o"]
    subprocess.run(command, cwd=tmp_path, check=True)


def test_bad_requests(tmp_path):
    robot = zveno.load("scara")
    with pytest.raises(UnknownNameError, match="inverse_dynamic"):
        export_c(robot, ("inverse_dynamic",), tmp_path)
    with pytest.raises(BuildError, match="no functions"):
        export_c(robot, (), tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(BuildError, match="cannot be written"):
        export_c(robot, ("jacobian",), tmp_path / "file" / "below", timed=False)


def test_zeros_are_said_where_there_are_no_masses(tmp_path):
    arm = zveno.load("Rz(q1) Tx(0.5) Rz(q2) Tx(0.4)")
    with pytest.warns(zveno.ZvenoWarning, match="has no masses: inverse_dynamics in C gives zeros"):
        arm.export_c(["inverse_dynamics"], tmp_path, timed=False)
    arm.export_c(["jacobian"], tmp_path, timed=False)  # kinematics needs none: warnings are errors here
