"""The key of a kernel covers the packages that its trace runs through, and no others."""

from __future__ import annotations

import functools
import gc
import sys

import pytest

import zveno
from kernels.programs import copied_package, interpreted
from mechanisms import random_mechanism
from zveno import programs
from zveno.base_parameters.regressor import base_kernel
from zveno.calibration import CalibrationModel
from zveno.calibration.measurements import KINDS as MEASUREMENTS
from zveno.calibration.measurements._fit_problem import residual_kernel
from zveno.calibration.planning._information import PlannedRows
from zveno.functions import FUNCTIONS
from zveno.kernels import cache
from zveno.kernels import compile as door

IN_KEY = {
    "functions": ("mechanism/joints", "spatial/transforms", "algorithms/articulated", "kernels/tape", "functions"),
    "ik.six_revolute.arm": ("ik/six_revolute/equations", "kernels/ops", "fit/triangle"),
    "kernels.cache": ("kernels/ops", "kernels/builder"),
}
ELSEWHERE = ("calibration/_diagnose", "cli/export", "io/urdf", "simulation/simulate")


@pytest.mark.parametrize("module", IN_KEY)
def test_a_change_in_compiled_packages_changes_the_key_and_none_elsewhere_does(tmp_path, monkeypatch, module):
    monkeypatch.setattr(cache, "ROOT", copied_package(tmp_path))

    def key():
        cache._folder_digest.cache_clear()
        return cache.entry_name("key", [f"zveno.{module}"])

    def changed(name):
        file = cache.ROOT / f"{name}.py"
        file = file if file.exists() else cache.ROOT / name / "__init__.py"
        text = file.read_text()
        file.write_text(text + "\n# changed\n")
        after = key()
        file.write_text(text)
        return after != before

    before = key()
    assert [name for name in IN_KEY[module] if not changed(name)] == []
    assert [name for name in ELSEWHERE if changed(name)] == []
    (cache.ROOT / "kernels" / "new.py").touch()
    assert key() != before
    cache._folder_digest.cache_clear()


@pytest.fixture
def uncovered(monkeypatch):
    """Files of the package whose code ran while something was traced, and that its key does not cover."""
    missing, build, kernel = [], door._Request.code, door._Request.kernel

    def code(request):
        """Compile loops; the rest is interpreted."""
        files, own = set(), {module.split(".")[1] for module in request.modules}
        gc.disable()  # generators of other tests that are collected would run here
        sys.setprofile(lambda frame, event, arg: files.add(frame.f_code.co_filename))
        try:
            made = request.make(None)
        finally:
            sys.setprofile(None)
            gc.enable()
        folders = own.union(cache.COMPILED, *(cache.BUILT_ON.get(folder, ()) for folder in own))
        inside = [file.removeprefix(f"{cache.ROOT}/") for file in files if file.startswith(f"{cache.ROOT}/")]
        missing.extend(file for file in inside if "/" in file and file.split("/")[0] not in folders)
        assert inside
        return build(request) if made[0].n_loops else None

    monkeypatch.setattr(door._Request, "code", code)
    monkeypatch.setattr(
        door._Request, "kernel", lambda request, code: kernel(request, code) if code else interpreted(request)
    )
    forget_everything()
    yield missing
    forget_everything()


def forget_everything():
    """Empty every cache of the package: kernels are kept in some."""
    for thing in gc.get_objects():
        if isinstance(thing, functools._lru_cache_wrapper) and thing.__module__.startswith("zveno"):
            thing.cache_clear()


@pytest.mark.laws
def test_what_runs_in_a_trace_is_in_the_key_robot(uncovered):
    for name in FUNCTIONS:
        mechanism = random_mechanism(3, 5)
        options = {"frames": mechanism.frame_names[:2]} if name == "frame_poses" else {}
        programs.kernel(mechanism, name, **options)
    assert uncovered == []


@pytest.mark.laws
def test_what_runs_in_a_trace_is_in_the_key_tasks(uncovered):
    for name in ("ur5", "puma560", "scara"):
        robot = zveno.load(name)
        T = robot.forward_kinematics(robot.random((2,), rng=1))
        robot.ik(T)
    zveno.load("puma560").ik(T[:, :3, 3], task="position")
    for kind in MEASUREMENTS.values():
        residual_kernel(kind)
    base = zveno.load("puma560").base_parameters(drives=True)
    base_kernel(base)
    rows = PlannedRows(zveno.load("puma560"), "position", model=CalibrationModel(joint_terms=("compliance",)))
    q = rows.robot.random((2,), rng=0)
    rows.pullback(q, rows.jacobians(q))
    rows.tool(q)
    assert uncovered == []
