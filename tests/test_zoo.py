"""Compiled functions equal the plain algorithms in NumPy, and their C equals both, on the mechanisms of the zoo."""

from __future__ import annotations

import ctypes
import shutil
import subprocess

import numpy as np
import pytest

import zoo
from mechanisms import relative_error
from tiers import few
from zveno.export import COMPILE, export_c
from zveno.functions import FUNCTIONS, evaluated, sizes

compiler = shutil.which("cc") or shutil.which("gcc")
SAME = 1e-12
"""Kernels fuse products and sums, so they differ from NumPy by some roundings."""
SOLVED = 1e-10
"""Where a mass matrix is inverted, its condition multiplies them."""
SINGLE = 2e-5
OPTIONS = {
    "forward_kinematics": [{"frame": None}, {"frame": "mark"}],
    "frame_poses": [{"frames": ("tool", "link2", "mark")}],
    "jacobian": [{"frame": None, "reference": reference} for reference in ("aligned", "local", "world")],
    "frame_velocity": [{"frame": "mark", "reference": "local"}],
    "frame_acceleration": [{"frame": None, "reference": "aligned"}],
    "inverse_dynamics": [{}, {"joint_friction": True}, {"external": True}],
    "forward_dynamics": [{}, {"joint_friction": True}, {"external": True, "joint_friction": True}],
    "bias": [{}, {"external": True}],
    "joint_wrenches": [{}, {"external": True}],
}
"""Options tried on the first mechanism, whose frames they name."""
FIRST, *OTHERS = zoo.ZOO
MAIN = ("forward_kinematics", "jacobian", "inverse_dynamics", "forward_dynamics", "mass_matrix", "energy")
"""Functions compared on every mechanism of the zoo in the tier `test`; in `laws`, all of them are."""


def framed(mechanism: str, name: str) -> dict[str, str]:
    """The last frame of a mechanism, for functions of a frame."""
    last = zoo.robot(mechanism).mechanism.frame_names[-1]
    return {"frame": last} if "frame" in FUNCTIONS[name].options else {}


def arrays_for(robot, name, q, v, a, external=False):
    pool = {"q": q, "q0": q, "q1": q[::-1], "v": v, "a": a, "tau": a}
    arrays = [pool[key] for key in FUNCTIONS[name].inputs]
    if external:
        arrays.append(np.random.default_rng(0).normal(size=(len(q), robot.mechanism.n_links, 6)))
    return arrays


def compare(mechanism: str, name: str, options: dict) -> None:
    """A compiled function on a batch, and the same algorithm in NumPy state by state."""
    robot, states = zoo.robot(mechanism), zoo.states(mechanism)
    arrays = arrays_for(robot, name, *states, options.get("external"))
    results = robot.kernel(name, **options)(*arrays)
    tolerance = SOLVED if "forward_dynamics" in name else SAME
    names = sizes(robot.mechanism, options.get("frames", ()))
    shapes = [tuple(names.get(size, size) for size in shape) for shape in FUNCTIONS[name].outputs.values()]
    assert [np.shape(x)[1:] for x in (results if isinstance(results, tuple) else (results,))] == shapes
    for k in range(len(states[0])):
        expected = evaluated(robot.mechanism, name, (), tuple(options.items()), *(array[k] for array in arrays))
        many = isinstance(results, tuple)
        for got, want in zip(results if many else (results,), expected if many else (expected,), strict=True):
            error = relative_error(got[k], np.asarray(want, dtype=float))
            assert error < tolerance, f"{name} {options} of {mechanism}: {error:.1e}"


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_equals_numpy(name):
    for options in OPTIONS.get(name, [{}]):
        compare(FIRST, name, options)


@pytest.mark.parametrize("mechanism", OTHERS)
def test_main_functions_equal_numpy_on_the_zoo(mechanism):
    for name in MAIN:
        compare(mechanism, name, framed(mechanism, name))


@pytest.mark.laws
@pytest.mark.parametrize("mechanism", OTHERS)
def test_all_functions_equal_numpy_on_the_zoo(mechanism):
    for name in FUNCTIONS:
        if name not in (*MAIN, "frame_poses"):
            compare(mechanism, name, framed(mechanism, name))


@pytest.mark.laws
@pytest.mark.skipif(compiler is None, reason="no C compiler on this machine")
@pytest.mark.parametrize("single", [False, True], ids=["double", "single"])
@pytest.mark.parametrize("mechanism", few(["puma560", FIRST, "arm on a free base"], 1))
def test_c_equals_the_kernels(tmp_path, mechanism, single):
    robot = zoo.robot(mechanism)
    exported = [name for name in MAIN if name != "energy"]
    done = export_c(robot, exported, tmp_path, single=single, timed=mechanism == "puma560")
    assert len(done.functions) == len(exported)
    assert mechanism != "puma560" or all(function.nanoseconds > 0 for function in done.functions)
    sources = [path for path in done.files if path.suffix == ".c" and not path.stem.startswith("example_")]
    command = [compiler, *COMPILE, "-shared", "-fPIC", *map(str, sources), "-lm", "-o", str(tmp_path / "lib.so")]
    subprocess.run(command, check=True)
    library = ctypes.CDLL(str(tmp_path / "lib.so"))
    dtype = np.float32 if single else np.float64
    for name, function in zip(exported, done.functions, strict=True):
        arrays = arrays_for(robot, name, *zoo.states(mechanism))
        expected = getattr(robot, name)(*arrays)
        for k in range(len(expected)):
            given = [np.ascontiguousarray(array[k], dtype) for array in arrays]
            out = np.zeros(expected[k].shape, dtype)
            getattr(library, function.name)(*(ctypes.c_void_p(array.ctypes.data) for array in (*given, out)))
            tolerance = (SINGLE if single else SAME) * (100 if name == "forward_dynamics" else 1)
            assert abs(out - expected[k]).max() < tolerance * abs(expected[k]).max(), name
