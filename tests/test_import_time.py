"""`import zveno` stays quick because it leaves heavy packages alone; `zveno --help` too."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = (
    "matplotlib",
    "mujoco",
    "scipy.optimize",
    "scipy.sparse",
    "llvmlite",
    "rich",
    "tyro",
    "pinocchio",
    "defusedxml",
    "multiprocessing",
)


def modules_after(program: str) -> set[str]:
    text = f"import sys\n{program}\nprint('|'.join(sys.modules))"
    run = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    return set(run.stdout.splitlines()[-1].split("|"))


@pytest.fixture(scope="module")
def imported():
    return modules_after("import zveno")


@pytest.mark.parametrize("name", HEAVY)
def test_importing_the_package_does_not_import(name, imported):
    assert "zveno" in imported
    assert name not in imported


def test_help_does_not_draw_or_compile():
    imported = modules_after("from zveno.cli import main\nassert main(['info', '--help']) == 0")
    assert "tyro" in imported
    assert not imported & {"matplotlib", "mujoco", "llvmlite", "scipy.optimize", "zveno.report.figure"}


@pytest.mark.parametrize(
    "verb", ["info", "fk", "ik", "calibrate", "identify", "plan", "simulate", "excite", "export"]
)
def test_help_of_a_verb_needs_neither_numpy_nor_a_checker_of_types(verb):
    imported = modules_after(f"from zveno.cli import main\nassert main([{verb!r}, '--help']) == 0")
    assert not imported & {"numpy", "typeguard", "asyncio"}, "0.1 s each"


def test_what_a_built_in_robot_is_needs_no_other_reader():
    imported = modules_after("from zveno.cli import main\nassert main(['info', 'puma560', '--quiet']) == 0")
    assert "zveno.io.dh" in imported
    assert not imported & {"typeguard", "zveno.io.urdf", "zveno.io.mjcf", "zveno.functions", "zveno.robot"}


def test_singular_poses_import_no_masked_arrays():
    """The sets and quantiles of NumPy do, which takes 12 ms when it is first done."""
    imported = modules_after(
        "import zveno\n"
        "for name, q in (('puma560', [0.1, 0.2, 0.3, 0.4, 0.0, 0.5]), ('ur5', [0.1, -1.0, 0.0, 0.4, 0.3, 0.5])):\n"
        "    robot = zveno.load(name)\n"
        "    assert robot.ik(robot.forward_kinematics(q)).count"
    )
    assert "zveno.ik._singular_rows" in imported
    assert "numpy.ma" not in imported


def test_inverse_kinematics_of_one_process_knows_no_others():
    imported = modules_after(
        "import zveno\nrobot = zveno.load('puma560')\n"
        "assert robot.ik(robot.forward_kinematics(robot.neutral())) is not None"
    )
    assert "zveno.ik.solve" in imported
    assert not imported & {"multiprocessing", "concurrent.futures.process"}, "10 ms"
