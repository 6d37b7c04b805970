"""The names users are promised exist, and nothing is exported by accident."""

from __future__ import annotations

import ast
import importlib
import inspect
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import zveno
from zveno import calibration

ROOT = Path(zveno.__file__).parent
JOBS = (
    "ik",
    "loops",
    "simulation",
    "calibration",
    "identification",
    "walking",
    "base_parameters",
    "scanning",
    "documents",
)
"""Modules of `zveno` with the names of one job each."""
MODULES = (zveno, *(getattr(zveno, job) for job in JOBS))
NAMES = [(module, name) for module in MODULES for name in module.__all__]
MODEL = "mechanism name n_q n_v joint_names link_names frame_names lower upper mass neutral random pack unpack"
DERIVED = "with_payload with_tool with_gravity with_inertia with_base opened"
KINEMATICS = """integrate difference forward_kinematics frame_poses link_poses jacobian jacobian_derivative
    frame_velocity frame_acceleration center_of_mass center_of_mass_jacobian"""
DYNAMICS = """inverse_dynamics forward_dynamics mass_matrix inverse_mass_matrix coriolis_matrix bias gravity_torque
    joint_wrenches energy momentum centroidal_matrix regressor inverse_dynamics_derivatives
    forward_dynamics_derivatives"""
TASKS = "ik ik_path simulate calibrate identify base_parameters export_c write plot"
ROBOT = f"{MODEL} {DERIVED} {KINEMATICS} {DYNAMICS} kernel {TASKS}".split()
"""Members of a robot, all of them."""
METHODS = {
    "ik": "ik.solve.solve_ik",
    "ik_path": "ik.paths.solve_path.solve_path",
    "simulate": "simulation.simulate.simulate",
    "base_parameters": "base_parameters.analyse.base_parameters",
    "calibrate": "calibration.calibrate.calibrate",
    "identify": "identification.identify.identify",
    "export_c": "export.export_c",
}
"""Tasks of a robot, and the functions that do them with the robot as first argument."""
ERRORS = ("ModelError", "ShapeError", "UnknownNameError", "TraceError", "BuildError", "MissingExtraError")


@pytest.mark.parametrize(("module", "name"), NAMES, ids=[f"{module.__name__}.{name}" for module, name in NAMES])
def test_every_public_name_is_there_and_is_called_so(module, name):
    value = getattr(module, name)
    assert name in dir(module)
    if inspect.isclass(value) or inspect.isfunction(value):
        assert value.__name__ == name
        assert inspect.getdoc(value), "a public name says what it is"


def test_no_name_is_public_twice():
    names = [name for module, name in NAMES if module is not zveno.documents and name != "Distance"]
    assert len(names) == len(set(names))
    with pytest.raises(AttributeError, match="no attribute 'simulation_of'"):
        zveno.simulation_of  # noqa: B018


@pytest.mark.parametrize("first", ["zveno.base_parameters.analyse", "zveno.simulation.simulate", "zveno.cli"])
def test_importing_a_module_takes_no_name_away(first):
    """A module of the same name as a function would hide it as soon as it is imported."""
    program = (
        f"import {first}, zveno\n"
        f"jobs = [getattr(zveno, job) for job in {JOBS!r}]\n"
        "import zveno.studio, zveno.documents\n"
        "print([n for job in jobs[:-1] for n in job.__all__ if 'module' in type(getattr(job, n)).__name__])"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_the_members_of_a_robot():
    assert sorted(name for name in dir(zveno.load("planar2")) if not name.startswith("_")) == sorted(ROBOT)


@pytest.mark.parametrize(("method", "function"), METHODS.items())
def test_a_method_takes_what_its_function_takes(method, function):
    module, _, function = f"zveno.{function}".rpartition(".")
    robot, *expected = inspect.signature(getattr(importlib.import_module(module), function)).parameters.values()
    self, *given = inspect.signature(getattr(zveno.Robot, method)).parameters.values()
    assert (robot.name, self.name) == ("robot", "self")
    as_plain = lambda parameters: [(one.name, one.kind, one.default) for one in parameters]  # noqa: E731
    assert as_plain(given) == as_plain(expected), "change src/zveno/robot.py with the function"


def test_the_methods_call_their_functions(tmp_path):
    robot = zveno.load("puma560")
    q = robot.random((), 1)
    T = robot.forward_kinematics(q)
    assert robot.ik(T).count > 0
    assert robot.ik_path(np.stack([T, T])).q.shape == (2, 6)
    assert robot.simulate(q, duration=0.01).finished
    assert robot.base_parameters().rank == 36
    tracker = calibration.Position(sigma=1e-4)
    deviating = calibration.apply_deviations(robot, {"Tx2": 1e-3})
    postures = robot.random(40, 2)
    data = calibration.Dataset(tracker, postures, deviating.forward_kinematics(postures)[:, :3, 3])
    assert isinstance(robot.calibrate(data, folds=0).robot, zveno.Robot)
    assert robot.export_c(("gravity_torque",), tmp_path / "c", timed=False).files
    assert zveno.load(robot.write(tmp_path / "puma.urdf")).n_q == 6
    assert robot.plot().axes


def test_derived_robots_stay_robots():
    robot = zveno.load("puma560")
    for derived in (robot.with_payload(1.0), robot.with_gravity((0, 0, -1)), robot.with_base("free")):
        assert type(derived) is zveno.Robot


def test_a_robot_is_loaded_from_any_path_like(tmp_path):
    class Place:
        def __fspath__(self):
            return str(tmp_path / "arm.ets")

    (tmp_path / "arm.ets").write_text("Rz(q1) Tx(0.3) Rz(q2)")
    assert zveno.load(Place()).n_q == 2
    with pytest.raises(zveno.errors.UnknownNameError, match="a name or a path, not by bytes"):
        zveno.load(bytes(tmp_path / "arm.ets"))  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ERRORS)
def test_every_error_is_a_zveno_error(name):
    assert issubclass(getattr(zveno.errors, name), zveno.ZvenoError)


def test_arguments_of_the_main_functions():
    def arguments(function):
        return list(inspect.signature(function).parameters)

    assert arguments(zveno.load)[0] == "name_or_path"
    assert {"snap", "format"} <= set(arguments(zveno.load))
    assert arguments(zveno.Robot.forward_kinematics)[1:3] == ["q", "frame"]
    assert arguments(zveno.Robot.jacobian)[1:4] == ["q", "frame", "reference"]
    assert arguments(zveno.Robot.inverse_dynamics)[1:4] == ["q", "v", "a"]
    assert arguments(zveno.Robot.forward_dynamics)[1:4] == ["q", "v", "tau"]


def test_every_kind_that_users_choose_from_is_public():
    from zveno.calibration.measurements import KINDS

    assert {kind.__name__ for kind in KINDS.values()} <= set(calibration.__all__)
    assert {kind.__name__ for kind in zveno.joints.JOINT_TYPES.values()} <= set(dir(zveno.joints))


def test_signatures_name_every_argument():
    """No public function passes on what it does not name, so that its signature is the truth."""
    functions = [value for module, name in NAMES if inspect.isfunction(value := getattr(module, name))]
    assert len(functions) > 20
    for function in functions:
        parameters = inspect.signature(function).parameters.values()
        open_ended = [parameter.name for parameter in parameters if parameter.kind is parameter.VAR_KEYWORD]
        assert open_ended == [], function.__name__


def test_nothing_is_imported_with_a_star():
    starred = [
        f"{path}:{node.lineno}"
        for path in ROOT.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and any(alias.name == "*" for alias in node.names)
    ]
    assert starred == []


def test_the_version_is_the_installed_one():
    from importlib.metadata import version

    assert version("zveno") == zveno.__version__
