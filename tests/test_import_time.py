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
    assert not imported & {"matplotlib", "mujoco", "llvmlite", "scipy.optimize", "zveno.report.pictures.mechanism"}
