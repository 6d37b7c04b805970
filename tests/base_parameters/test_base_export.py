"""Inverse dynamics in base parameters as C: compiled, run, and compared with the robot's own torques."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from dataclasses import replace

import numpy as np
import pytest

import zveno
from mechanisms import random_mechanism
from tiers import few
from zveno.base_parameters import BaseModel
from zveno.base_parameters.base_model import compared_operations
from zveno.base_parameters.drives import drive_vector
from zveno.errors import ZvenoError
from zveno.export import COMPILE, export_c
from zveno.mechanism import Drive, Mimic

compiler = shutil.which("cc") or shutil.which("gcc")
needs_compiler = pytest.mark.skipif(compiler is None, reason="no C compiler on this machine")


@pytest.mark.laws(after=2)
@needs_compiler
@pytest.mark.parametrize(
    ("name", "single"), [("puma560", False), ("puma560", True), ("tx40", False), ("scara", False)]
)
def test_compiled_torques_are_the_robots(tmp_path, name, single):
    robot = zveno.load(name)
    done = export_c(robot, ("base_inverse_dynamics",), tmp_path, single=single, timed=False)
    assert f"{name}_base_parameters.h" in {path.name for path in done.files}
    shim = f"""#include "{name}.h"
#include "{name}_base_parameters.h"
void torques(const {"float" if single else "double"} *q, const {"float" if single else "double"} *v,
             const {"float" if single else "double"} *a, {"float" if single else "double"} *tau)
{{ {name}_base_inverse_dynamics(q, v, a, {name}_base_parameters, tau); }}
"""
    (tmp_path / "shim.c").write_text(shim)
    files = ("shim.c", f"{name}_base_inverse_dynamics.c")
    command = [compiler, *COMPILE, "-shared", "-fPIC", *files, "-lm", "-o", "lib.so"]
    subprocess.run(command, cwd=tmp_path, check=True)
    library = ctypes.CDLL(str(tmp_path / "lib.so"))
    dtype, kind = (np.float32, ctypes.c_float) if single else (np.float64, ctypes.c_double)
    rng = np.random.default_rng(0)
    for _ in range(5):
        q, v, a = rng.normal(size=(3, robot.n_v)).astype(dtype)
        tau = np.zeros(robot.n_v, dtype)
        library.torques(*(x.ctypes.data_as(ctypes.POINTER(kind)) for x in (q, v, a, tau)))
        expected = robot.inverse_dynamics(*(x.astype(float) for x in (q, v, a)))
        assert abs(tau - expected).max() < (3e-5 if single else 1e-12) * abs(expected).max()


@needs_compiler
def test_the_example_passes_the_robots_parameters_and_the_page_counts(tmp_path):
    robot = zveno.load("puma560")
    export_c(robot, ("base_inverse_dynamics", "gravity_torque"), tmp_path, timed=False)
    command = [compiler, *COMPILE, "example_puma560.c", "puma560_base_inverse_dynamics.c", "-lm", "-o", "example"]
    subprocess.run(command, cwd=tmp_path, check=True)
    printed = subprocess.run(["./example"], cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    at_rest = robot.gravity_torque(robot.neutral())
    name, *numbers = printed.split()
    assert name == "tau:"
    np.testing.assert_allclose([float(number) for number in numbers], at_rest, atol=1e-6)
    page = (tmp_path / "README_puma560.md").read_text()
    base, whole = compared_operations(robot)
    assert base <= 489 < whole <= 582
    assert f"{base} multiplications and additions, {whole} with all parameters" in page
    assert "629" in page


def test_names_of_other_models_hold_no_figure_of_the_puma(tmp_path):
    export_c(zveno.load("ur5"), ("base_inverse_dynamics",), tmp_path, timed=False)
    assert "629" not in (tmp_path / "README_ur5.md").read_text()


@pytest.mark.parametrize("seed", few(range(6)))
def test_all_drive_parameters_of_random_trees(seed):
    mechanism = random_mechanism(seed, n=3 + seed, mimic=0.3 * (seed % 2), drives=True)
    robot = zveno.Robot(mechanism)
    rng = np.random.default_rng(seed)
    q, (v, a) = robot.random((3,), rng), rng.normal(size=(2, 3, robot.n_v))
    model = BaseModel(robot, drives=True)
    torques = robot.inverse_dynamics(q, v, a, joint_friction=True)
    np.testing.assert_allclose(model.inverse_dynamics(q, v, a), torques, atol=1e-9 * abs(torques).max())


def test_a_follower_adds_its_drive_to_the_leader():
    robot = zveno.load("planar2")
    first, second = robot.mechanism.joints
    drives = Drive(0.01, 50.0, 0.3, 0.2, 0.1), Drive(0.02, -30.0, 0.4, 0.5, 0.6)
    joints = (replace(first, drive=drives[0]), replace(second, drive=drives[1], mimic=Mimic(first.name, -2.0, 0.1)))
    led = zveno.Robot(replace(robot.mechanism, joints=joints))
    np.testing.assert_allclose(
        drive_vector(led.mechanism), [0.01 + 0.02 * (2 * 30 / 50) ** 2, 0.3 + 4 * 0.4, 0.2 + 2 * 0.5, 0.1 - 2 * 0.6]
    )
    q, v, a = np.random.default_rng(0).normal(size=(3, 4, 1))
    expected = led.inverse_dynamics(q, v, a, joint_friction=True)
    np.testing.assert_allclose(BaseModel(led, drives=True).inverse_dynamics(q, v, a), expected, atol=1e-10)


def test_couplings_are_refused():
    with pytest.raises(ZvenoError, match="coupling"):
        BaseModel(zveno.load("tx40"), drives=("rotor", "coupling"))
