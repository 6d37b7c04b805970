"""What is built and installed on a machine that has nothing else of ours: wheel and sdist, without extras."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
EXTRAS = ("matplotlib", "mujoco", "polars", "flint", "distributed", "openpyxl", "xacro")
NEEDED = ("zveno/py.typed", "zveno/__init__.pyi", "zveno/robots/puma560.toml", "zveno/report/bundle/")
"""Files that are not Python sources, and are easily forgotten."""
SMOKE = f"""
import importlib.util
import numpy as np
import zveno
assert not any(importlib.util.find_spec(name) for name in {EXTRAS!r}), "an extra was installed"
robot = zveno.load("puma560")
q = np.radians([20, -40, 30, 0, 60, 0])
T = robot.forward_kinematics(q)
solutions = robot.ik(T)
assert solutions.status == "complete", solutions.summary
assert np.abs(solutions.q - q).max(axis=-1).min() < 1e-9
states = np.random.default_rng(0).uniform(-1, 1, (3, 1000, 6))
assert np.allclose(robot.forward_dynamics(*states[:2], robot.inverse_dynamics(*states)), states[2])
robot.base_parameters().report("page.html")
try:
    robot.plot()
except zveno.errors.MissingExtraError as error:
    assert "zveno[plot]" in str(error)
print(zveno.__file__)
"""


def ran(*words: str | Path, cwd: Path) -> str:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(list(map(str, words)), cwd=cwd, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    """A folder with wheel and sdist, and a clean environment in which the wheel is installed."""
    folder = tmp_path_factory.mktemp("package")
    ran(sys.executable, "-m", "venv", folder / "build", cwd=folder)
    pip = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-c", ROOT / "constraints.txt")
    ran(folder / "build/bin/python", *pip, "hatchling", cwd=folder)
    targets = ("-t", "sdist", "-t", "wheel", "-d", folder / "dist")
    ran(folder / "build/bin/python", "-m", "hatchling", "build", *targets, cwd=ROOT)
    ran(sys.executable, "-m", "venv", folder / "clean", cwd=folder)
    ran(folder / "clean/bin/python", *pip, *(folder / "dist").glob("*.whl"), cwd=folder)
    return folder


@pytest.mark.attack
@pytest.mark.skipif(os.name == "nt", reason="paths of an environment are those of POSIX here")
def test_the_wheel_works_alone(built):
    home = ran(built / "clean/bin/python", "-c", SMOKE, cwd=built)
    assert str(built / "clean") in home
    said = ran(built / "clean/bin/zveno", "--version", cwd=built)
    assert said == ran(built / "clean/bin/python", "-m", "zveno", "--version", cwd=built)
    assert "complete" in ran(built / "clean/bin/zveno", "ik", "ur5", "--at", *"123456", cwd=built)


@pytest.mark.attack
@pytest.mark.skipif(os.name == "nt", reason="paths of an environment are those of POSIX here")
def test_wheel_and_sdist_hold_what_is_needed(built):
    (wheel,), (sdist,) = (built / "dist").glob("*-py3-none-any.whl"), (built / "dist").glob("*.tar.gz")
    inside = zipfile.ZipFile(wheel).namelist()
    assert all(any(name.startswith(needed) for name in inside) for needed in NEEDED)
    sources = {f"zveno/{path.relative_to(ROOT / 'src/zveno')}" for path in (ROOT / "src/zveno").rglob("*.py")}
    assert sources <= set(inside)
    assert not any(name.startswith(("tests/", "docs/")) for name in inside)
    with tarfile.open(sdist) as archive:
        packed = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "README.md", "LICENSE", "tests/test_packaging.py"} <= packed
    assert not any(name.startswith((".venv", "out/")) for name in packed)
