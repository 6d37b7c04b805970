"""The names users are promised exist, and nothing is exported by accident."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import pytest

import zveno

PACKAGE = (
    "__version__",
    "load",
    "load_result",
    "Robot",
    "Mechanism",
    "ZvenoError",
    "ZvenoWarning",
    "get_threads",
    "set_threads",
    "base_parameters",
    "solve_ik",
    "simulate",
    "identifiability",
    "calibrate",
    "plan_poses",
    "export_c",
)
"""Promised in `zveno`. Grow the list; a name that is taken out breaks somebody's program."""
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
    "bias",
    "gravity_torque",
    "energy",
    "regressor",
    "with_payload",
    "with_tool",
    "parametric",
    "constrained_dynamics",
    "base_regressor",
    "partitioned",
)
"""Promised of a robot."""
ERRORS = (
    "ZvenoError",
    "ModelError",
    "ShapeError",
    "UnknownNameError",
    "TraceError",
    "BuildError",
    "MissingExtraError",
)


@pytest.mark.parametrize("name", PACKAGE)
def test_the_package_has(name):
    assert getattr(zveno, name) is not None


@pytest.mark.parametrize("name", ROBOT)
def test_a_robot_has(name):
    assert getattr(zveno.load("planar2"), name) is not None


@pytest.mark.parametrize("name", ERRORS)
def test_every_error_is_a_zveno_error(name):
    from zveno import errors

    assert issubclass(getattr(errors, name), zveno.ZvenoError)


def test_arguments_of_the_main_functions():
    def arguments(function):
        return list(inspect.signature(function).parameters)

    assert arguments(zveno.load)[0] == "name_or_path"
    assert {"snap", "format"} <= set(arguments(zveno.load))
    assert arguments(zveno.Robot.forward_kinematics)[1:3] == ["q", "frame"]
    assert arguments(zveno.Robot.jacobian)[1:4] == ["q", "frame", "reference"]
    assert arguments(zveno.Robot.inverse_dynamics)[1:6] == ["q", "v", "a", "external", "friction"]
    assert arguments(zveno.Robot.forward_dynamics)[1:6] == ["q", "v", "tau", "external", "friction"]


def test_nothing_is_imported_with_a_star():
    starred = [
        f"{path}:{node.lineno}"
        for path in Path(zveno.__file__).parent.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and any(alias.name == "*" for alias in node.names)
    ]
    assert starred == []


def test_the_version_is_the_installed_one():
    from importlib.metadata import version

    assert version("zveno") == zveno.__version__
