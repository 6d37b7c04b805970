"""The names users are promised exist, and nothing is exported by accident."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import zveno

ROOT = Path(zveno.__file__).parent
FUNCTIONS = (
    "load",
    "load_result",
    "base_parameters",
    "solve_ik",
    "solve_path",
    "simulate",
    "constrained_dynamics",
    "identifiability",
    "calibrate",
    "identify",
    "plan_poses",
    "export_c",
    "prove",
    "open_studio",
    "manipulability",
    "get_threads",
    "set_threads",
)
"""Functions promised in `zveno`. Grow the list; a name that is taken out breaks somebody's program."""
ROBOT = (
    "name",
    "mechanism",
    "n_q",
    "n_v",
    "joint_names",
    "link_names",
    "frame_names",
    "pack",
    "unpack",
    "neutral",
    "random",
    "integrate",
    "difference",
    "forward_kinematics",
    "jacobian",
    "inverse_dynamics",
    "forward_dynamics",
    "mass_matrix",
    "coriolis_matrix",
    "jacobian_derivative",
    "bias",
    "gravity_torque",
    "energy",
    "regressor",
    "with_payload",
    "with_tool",
    "with_deviations",
    "parametric",
    "base_regressor",
    "partitioned",
    "write",
    "plot",
    "studio",
)
"""Promised of a robot, beside the methods that are tasks."""
METHODS = {
    "ik": "solve_ik",
    "ik_path": "solve_path",
    "simulate": "simulate",
    "constrained_dynamics": "constrained_dynamics",
    "base_parameters": "base_parameters",
    "identifiability": "identifiability",
    "calibrate": "calibrate",
    "identify": "identify",
    "plan_poses": "plan_poses",
    "export_c": "export_c",
    "joint_path": "joint_path",
}
"""Methods of a robot that are functions of `zveno` with the robot as first argument."""
ERRORS = (
    "ZvenoError",
    "ModelError",
    "ShapeError",
    "UnknownNameError",
    "TraceError",
    "BuildError",
    "MissingExtraError",
)


@pytest.mark.parametrize("name", zveno.__all__)
def test_every_public_name_is_there_and_is_called_so(name):
    value = getattr(zveno, name)
    assert name in dir(zveno)
    if inspect.isclass(value) or inspect.isfunction(value):
        assert value.__name__ == name
        assert inspect.getdoc(value), "a public name says what it is"


def test_the_promised_functions_are_public():
    assert set(FUNCTIONS) <= set(zveno.__all__)
    assert len(zveno.__all__) == len(set(zveno.__all__))
    with pytest.raises(AttributeError, match="no attribute 'simulation_of'"):
        zveno.simulation_of  # noqa: B018


@pytest.mark.parametrize("first", ["zveno.base_parameters.analyse", "zveno.simulation", "zveno.cli"])
def test_importing_a_module_takes_no_name_away(first):
    """`zveno.base_parameters` is the function and a package; whichever comes first, the name is the function."""
    names = f"[inspect.isfunction(getattr(zveno, name)) for name in {FUNCTIONS!r}]"
    program = f"import {first}, zveno, inspect; print(all({names}))"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "True"


@pytest.mark.parametrize("name", [*ROBOT, *METHODS])
def test_a_robot_has(name):
    assert getattr(zveno.load("planar2"), name) is not None


@pytest.mark.parametrize(("method", "function"), METHODS.items())
def test_a_method_takes_what_its_function_takes(method, function):
    robot, *expected = inspect.signature(getattr(zveno, function)).parameters.values()
    self, *given = inspect.signature(getattr(zveno.Robot, method)).parameters.values()
    assert (robot.name, self.name) == ("robot", "self")
    as_plain = lambda parameters: [(one.name, one.kind, one.default) for one in parameters]  # noqa: E731
    assert as_plain(given) == as_plain(expected), "change src/zveno/robot.py with the function"


def test_the_methods_call_their_functions(tmp_path):
    robot = zveno.load("puma560")
    q = robot.random((), 1)
    T = robot.forward_kinematics(q)
    assert robot.ik(T).count == zveno.solve_ik(robot, T).count > 0
    assert robot.ik_path(np.stack([T, T])).q.shape == (2, 6)
    assert robot.simulate(q, duration=0.01).finished
    assert robot.base_parameters().rank == 36
    assert robot.constrained_dynamics(q, 0 * q, 0 * q, []).a.shape == (6,)
    assert robot.identifiability("position").rank == zveno.identifiability(robot, "position").rank
    tracker = zveno.Position(sigma=1e-4)
    assert robot.plan_poses(tracker, 12, candidates=100, refine=False).q.shape == (12, 6)
    deviating = robot.with_deviations({"Tx2": 1e-3})
    postures = robot.random(40, 2)
    campaign = zveno.Campaign(tracker, postures, deviating.forward_kinematics(postures)[:, :3, 3])
    assert isinstance(robot.calibrate(campaign, folds=0).robot, zveno.Robot)
    assert robot.export_c(("gravity_torque",), tmp_path / "c", timed=False).files
    assert zveno.load(robot.write(tmp_path / "puma.urdf")).n_q == 6
    assert robot.plot(tmp_path / "puma.png").stat().st_size > 1000


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
    with pytest.raises(zveno.UnknownNameError, match="a name or a path, not by bytes"):
        zveno.load(bytes(tmp_path / "arm.ets"))  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ERRORS)
def test_every_error_is_a_zveno_error(name):
    assert issubclass(getattr(zveno, name), zveno.ZvenoError)


def test_arguments_of_the_main_functions():
    def arguments(function):
        return list(inspect.signature(function).parameters)

    assert arguments(zveno.load)[0] == "name_or_path"
    assert {"snap", "format"} <= set(arguments(zveno.load))
    assert arguments(zveno.Robot.forward_kinematics)[1:3] == ["q", "frame"]
    assert arguments(zveno.Robot.jacobian)[1:4] == ["q", "frame", "reference"]
    assert arguments(zveno.Robot.inverse_dynamics)[1:6] == ["q", "v", "a", "external", "friction"]
    assert arguments(zveno.Robot.forward_dynamics)[1:6] == ["q", "v", "tau", "external", "friction"]


def test_every_kind_that_users_choose_from_is_public():
    from zveno.calibration.measurements import KINDS

    for kinds in (KINDS, zveno.JOINT_TYPES):
        assert {kind.__name__ for kind in kinds.values()} <= set(zveno.__all__)


def test_signatures_name_every_argument():
    """No public function passes on what it does not name, so that its signature is the truth."""
    functions = [getattr(zveno, name) for name in zveno.__all__ if inspect.isfunction(getattr(zveno, name))]
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
