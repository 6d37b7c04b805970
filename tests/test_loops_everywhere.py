"""Every public function takes closed loops into account, or refuses a mechanism that has them."""

import inspect
from pathlib import Path

import numpy as np
import pytest

import zveno
from zveno.errors import ModelError

FUNCTIONS = {
    "apply_deviations",
    "assembly_modes",
    "close",
    "constrained_dynamics",
    "constrained_dynamics_derivatives",
    "evaluate_constraints",
    "identifiability",
    "impact",
    "local",
    "mobility",
    "whole_body",
    "simulate_dataset",
}
METHODS = {
    "base_parameters",
    "calibrate",
    "center_of_mass",
    "difference",
    "energy",
    "forward_kinematics",
    "frame_acceleration",
    "frame_poses",
    "frame_velocity",
    "identify",
    "ik",
    "integrate",
    "kernel",
    "link_poses",
    "momentum",
    "neutral",
    "opened",
    "pack",
    "plot",
    "simulate",
    "unpack",
    "with_base",
    "with_gravity",
    "with_inertia",
    "with_payload",
    "with_tool",
    "write",
}
"""Names that do not refuse: tests of their own say that loops act, or that the answer does not depend on them."""


def four_bar() -> zveno.Robot:
    body = zveno.inertia.parameters(1.0, np.array([0.1, 0.0, 0.0]), 0.01 * np.eye(3))
    links = [zveno.Link(name, body) for name in ("ground", "crank", "coupler", "rocker")]

    def at(x):
        return zveno.transforms.transform(None, [x, 0, 0])

    joints = [
        zveno.Joint("crank", "ground", "crank", zveno.joints.Revolute()),
        zveno.Joint("coupler", "crank", "coupler", zveno.joints.Revolute(), at(0.3)),
        zveno.Joint("rocker", "ground", "rocker", zveno.joints.Revolute(), at(0.5)),
    ]
    frames = [zveno.Frame("end", "coupler", at(0.5)), zveno.Frame("top", "rocker", at(0.3))]
    loops = [zveno.Loop("end", "top", ("x", "y"))]
    return zveno.Robot(zveno.assemble("four_bar", links, joints, frames, loops=loops))


ROBOT = four_bar()


def takes_a_robot(function) -> bool:
    names = list(inspect.signature(function).parameters)
    return bool(names) and names[0] in ("robot", "mechanism", "arm")


def arguments(function, skip: int) -> list:
    """Something for every argument that has no default."""
    given = []
    for name, parameter in list(inspect.signature(function).parameters.items())[skip:]:
        if parameter.default is not parameter.empty or parameter.kind in (
            parameter.VAR_POSITIONAL,
            parameter.VAR_KEYWORD,
        ):
            continue
        if parameter.kind is parameter.KEYWORD_ONLY:
            continue
        given.append({"q": np.array([0.5, -0.5, 0.5]), "name": "mass_matrix"}.get(name, np.zeros(3)))
    return given


def test_functions():
    wrong = []
    jobs = (zveno.ik, zveno.simulation, zveno.calibration, zveno.identification, zveno.walking, zveno.loops)
    named = {name: getattr(place, name) for place in (zveno, *jobs) for name in place.__all__}
    functions = {name: one for name, one in named.items() if inspect.isfunction(one) and takes_a_robot(one)}
    assert set(functions) >= FUNCTIONS
    for name in sorted(set(functions) - FUNCTIONS):
        function = functions[name]
        with pytest.raises(ModelError, match="does not know closed loops") as refusal:
            function(ROBOT, *arguments(function, 1))
        if f"{name} does not know" not in str(refusal.value):
            wrong.append(name)
        assert "constrained_dynamics" in str(refusal.value), "the remedy says what works"
    assert not wrong


def test_methods():
    names = [name for name, one in inspect.getmembers(zveno.Robot, inspect.isfunction) if name[0] != "_"]
    assert set(names) >= METHODS
    for name in sorted(set(names) - METHODS):
        method = getattr(ROBOT, name)
        with pytest.raises(ModelError, match="does not know closed loops"):
            method(*arguments(method, 0))


def test_inverse_kinematics_of_an_elbow_with_a_rod():
    """Arms of three joints have a program of their own, which called four configurations complete; none closes."""

    def place(x, z=0.0, turned=False):
        return zveno.transforms.transform(zveno.rotations.exp([np.pi / 2 * turned, 0, 0]), [x, 0, z])

    revolute = zveno.joints.Revolute()
    joints = [
        zveno.Joint("q1", "ground", "turn", revolute),
        zveno.Joint("q2", "turn", "upper", revolute, place(0, 0.3, turned=True)),
        zveno.Joint("q3", "upper", "fore", revolute, place(0.4)),
        zveno.Joint("q4", "turn", "rod", revolute, place(0, 0.1, turned=True)),
    ]
    frames = [("tool", "fore", 0.35), ("pin", "fore", -0.1), ("rodend", "rod", 0.4)]
    robot = zveno.Robot(
        zveno.assemble(
            "elbow",
            [zveno.Link(name) for name in ("ground", "turn", "upper", "fore", "rod")],
            joints,
            [zveno.Frame(name, link, place(x)) for name, link, x in frames],
            loops=[zveno.Loop("pin", "rodend", "point")],
        )
    )
    T = np.eye(4)
    T[:3, 3] = 0.3, 0.2, 0.6
    assert robot.opened().ik(T, frame="tool", task="position").status == "complete"
    for target in (T, T[None], T[:3, 3]):
        assert not np.any(robot.ik(target, frame="tool", task="position").count)


@pytest.mark.parametrize("name", ["mass_matrix", "jacobian", "inverse_dynamics", "regressor"])
def test_kernels(name):
    with pytest.raises(ModelError, match=f"{name} does not know closed loops"):
        ROBOT.kernel(name)


def test_the_tree_with_its_loops_open():
    """The remedy of the error works."""
    tree = ROBOT.opened()
    assert "opened on purpose" in tree.mechanism.notes[-1]
    assert tree.mass_matrix(np.zeros(3)).shape == (3, 3)
    assert tree.random(2, 0).shape == (2, 3)


@pytest.mark.laws
def test_what_works_knows_the_loop():
    q = np.array([0.5, -0.5, 0.5])
    found = zveno.simulation.constrained_dynamics(ROBOT, q, np.zeros(3), np.zeros(3), [])
    assert np.allclose(found.a, found.a[0] * np.array([1, -1, 1]))
    run = ROBOT.simulate(q, duration=0.05)
    assert run.status == "finished"
    assert run.max_violation < 1e-8


@pytest.mark.parametrize("name", ["four_bar.xml", "five_bar.xml", "three_rpr.xml"])
def test_models_from_files(name):
    file = Path(__file__).parents[2] / "shared" / "cases" / "loops" / name
    if not file.exists():
        pytest.skip("models of loops are not there")
    robot = zveno.load(file)
    assert robot.mechanism.loops
    with pytest.raises(ModelError, match="does not know closed loops"):
        robot.ik_path(np.eye(4)[None])
