"""Exported C compiles without a warning, runs, and gives what the robot gives."""

import shutil
import subprocess
from dataclasses import replace

import numpy as np
import pytest

import zveno
from mechanisms import random_mechanism
from zveno.errors import BuildError, UnknownNameError
from zveno.export import COMPILE, export_c
from zveno.robot import Robot

compiler = shutil.which("cc") or shutil.which("gcc")
needs_compiler = pytest.mark.skipif(compiler is None, reason="no C compiler on this machine")


@needs_compiler
def test_example_runs(tmp_path):
    robot = zveno.load("ur5")
    done = export_c(robot, ("gravity_torque",), tmp_path)
    command = [compiler, *COMPILE, "example_ur5.c", "ur5_gravity_torque.c", "-lm", "-o", "example"]
    subprocess.run(command, cwd=tmp_path, check=True)
    printed = subprocess.run(["./example"], cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    name, *numbers = printed.split()
    assert name == "tau:"
    assert np.allclose([float(line) for line in numbers], robot.gravity_torque(robot.neutral()), atol=1e-6)
    assert "| `ur5_gravity_torque` |" in (tmp_path / "README_ur5.md").read_text()
    assert done.summary.startswith("1 function(s) in ")


@needs_compiler
def test_two_robots_in_one_directory_keep_all_they_have(tmp_path):
    first = export_c(zveno.load("ur5"), ("gravity_torque", "jacobian"), tmp_path, timed=False)
    before = {path: path.read_bytes() for path in first.files}
    second = export_c(zveno.load("scara"), ("jacobian",), tmp_path, timed=False)
    assert {path: path.read_bytes() for path in first.files} == before
    assert not set(first.files) & set(second.files)
    for stem in ("ur5", "scara"):
        page = (tmp_path / f"README_{stem}.md").read_text()
        command = next(line for line in page.splitlines() if line.startswith("    cc "))
        assert subprocess.run(command, shell=True, cwd=tmp_path, check=True, capture_output=True).stdout
    both = '#include "ur5.h"\n#include "scara.h"\nint main(void) { return 0; }\n'
    (tmp_path / "both.c").write_text(both)
    sources = [
        path.name for path in (*first.files, *second.files) if path.suffix == ".c" and "example" not in path.name
    ]
    subprocess.run([compiler, *COMPILE, "both.c", *sources, "-lm", "-o", "both"], cwd=tmp_path, check=True)


def test_a_second_export_of_a_robot_goes_on_including_the_first(tmp_path):
    robot = zveno.load("ur5")
    export_c(robot, ("gravity_torque",), tmp_path, timed=False)
    export_c(robot, ("jacobian",), tmp_path, single=True, timed=False)
    header = (tmp_path / "ur5.h").read_text()
    assert '#include "ur5_gravity_torque.h"' in header
    assert '#include "ur5_jacobian.h"' in header
    page = (tmp_path / "README_ur5.md").read_text()
    assert "Exported before, with the constants and the number type of then: `ur5_gravity_torque`." in page
    export_c(robot, ("gravity_torque", "jacobian"), tmp_path, timed=False)
    assert "Exported before" not in (tmp_path / "README_ur5.md").read_text()


def test_robots_whose_names_are_the_same_in_c_are_told_apart(tmp_path):
    arms = [Robot(replace(zveno.load("ur5").mechanism, name=name)) for name in ("left arm", "left-arm", "left arm")]
    export_c(arms[0], ("jacobian",), tmp_path, timed=False)
    with pytest.raises(BuildError, match=r"of another robot, left arm, .*another directory"):
        export_c(arms[1], ("jacobian",), tmp_path, timed=False)
    export_c(arms[2], ("jacobian",), tmp_path, timed=False)


@needs_compiler
def test_any_mechanism_and_parameters_as_arguments(tmp_path):
    robot = Robot(random_mechanism(4, n=9, drives=True))
    done = export_c(robot, ("inverse_dynamics",), tmp_path, inputs=("gravity",), timed=False)
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
