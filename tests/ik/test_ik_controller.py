"""Inverse kinematics in C: what it claims is what Python says, with sanitizers on, in double and float."""

from __future__ import annotations

import shutil
import subprocess

import numpy as np
import pytest
from arm_classes import arm_classes
from ik_answers import robot_of, wrapped
from ik_arms import general_arms
from ik_edges import edge_poses
from sliding_arms import sliding_edges

import zveno
from zveno.ik.ik_problem import problem_of
from zveno.ik.native.controller import controller_ik
from zveno.ik.native.held_joint import usable_joints, without_joint
from zveno.ik.redundant import seven_revolute
from zveno.ik.solutions import COMPLETE, EXCLUDED, UNDECIDED, UNREACHABLE
from zveno.kernels.structured.evaluate import evaluate
from zveno.mechanism import Frame, Free, Joint, Limits, Link, Revolute, assemble
from zveno.mechanism.edit import fix_joints

COMPILER = shutil.which("cc") or shutil.which("gcc")
STRICT = ("-std=c99", "-O1", "-Wall", "-Wextra", "-Wconversion", "-Werror")
SANITIZED = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")
NO_POSE = -1


def run(
    robot, folder, inputs: list[np.ndarray], single: bool = False, redundant: str | None = None
) -> list[np.ndarray]:
    """The outputs (k, …) of the exported function for k states of its inputs."""
    if COMPILER is None:
        pytest.skip("there is no C compiler")
    options = {"single": single, "redundant": redundant, "timed": False, "force": True}
    robot.export_c(["inverse_kinematics"], folder, **options)
    program, scalar = controller_ik(robot, None, single, redundant).program, "float" if single else "double"
    dtype, name = np.dtype(np.float32 if single else np.float64), f"{robot.name}_inverse_kinematics"
    declared = "".join(f"static {scalar} {a.name}[{max(a.size, 1)}];" for a in (*program.inputs, *program.outputs))
    calls = ", ".join(argument.name for argument in (*program.inputs, *program.outputs))
    reads = " && ".join(f"fread({a.name}, sizeof {a.name}, 1, stdin) == 1" for a in program.inputs)
    writes = "".join(f"fwrite({a.name}, sizeof {a.name}, 1, stdout);" for a in program.outputs)
    text = f"""#include <stdio.h>
#include "{name}.h"
static {name}_memory memory;
{declared}
int main(void) {{ while ({reads}) {{ {name}(&memory, {calls}); {writes} }} return 0; }}
"""
    (folder / "main.c").write_text(text)
    command = [COMPILER, *STRICT, *SANITIZED, "main.c", f"{name}.c", "-lm", "-o", "main"]
    built = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    k = len(inputs[0])
    given = np.concatenate([part.reshape(k, -1) for part in inputs], axis=1).astype(dtype).tobytes()
    done = subprocess.run(["./main"], cwd=folder, input=given, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    flat = np.frombuffer(done.stdout, dtype).reshape(k, -1).astype(float)
    sizes = np.cumsum([max(argument.size, 1) for argument in program.outputs])[:-1]
    shapes = [argument.shape for argument in program.outputs]
    return [part.reshape(k, *shape) for part, shape in zip(np.split(flat, sizes, axis=1), shapes, strict=True)]


@pytest.mark.parametrize("name", ["puma560", "ur5", "scara", pytest.param("stanford", marks=pytest.mark.slow)])
def test_claims_in_c_are_those_of_python(name, tmp_path):
    robot = zveno.load(name)
    T = (edge_poses if name in ("puma560", "ur5") else sliding_edges)(robot, 12, seed=5)
    q, count, status = run(robot, tmp_path, [T])
    careful = robot.ik(T, method="closed_form")
    assert set(status) <= {COMPLETE, UNREACHABLE, EXCLUDED, UNDECIDED}
    assert (status == COMPLETE).mean() > 0.3
    sure = status != UNDECIDED
    np.testing.assert_array_equal(status[sure], careful.codes[sure])
    np.testing.assert_array_equal(count[sure], careful.count[sure])
    for i in np.flatnonzero(status == COMPLETE):
        n = int(count[i])
        assert abs(wrapped(q[i, :n] - careful.q[i, :n])).max() < 1e-9
    listed = np.arange(q.shape[1]) < count[:, None]
    np.testing.assert_array_equal(np.isnan(q).any(axis=2), ~listed)
    assert abs(robot.forward_kinematics(q[listed]) - T[np.nonzero(listed)[0]]).max() < 1e-8
    assert ((q[listed] >= robot.lower) & (q[listed] <= robot.upper)).all()


def test_general_arms_have_a_program_too():
    robot = robot_of(general_arms(1, seed=500)[0])
    T = robot.forward_kinematics(robot.random(6, 1))
    q, count, status = evaluate(controller_ik(robot, None, False).program, T)
    careful = robot.ik(T, method="six_revolute")
    assert (status == COMPLETE).all()
    np.testing.assert_array_equal(count, careful.count)
    most = careful.q.shape[1]
    np.testing.assert_allclose(q[:, :most], careful.q, atol=1e-9)
    assert np.isnan(q[:, most:]).all()


@pytest.mark.slow  # sanitizers take long over a megabyte of C
@pytest.mark.parametrize("limits", [None, Limits(-2.5, 2.0)], ids=["endless", "limited"])
def test_claims_in_c_of_general_arms_are_those_of_python(limits, tmp_path):
    robot = robot_of(general_arms(1, seed=500)[0], limits)
    T = edge_poses(robot, 4, seed=5)
    q, count, status = run(robot, tmp_path, [T])
    careful = robot.ik(T, method="six_revolute")
    assert q.shape[1:] == (16, 6)
    sure = status != UNDECIDED
    assert (status == COMPLETE).mean() > 0.2
    np.testing.assert_array_equal(status[sure], careful.codes[sure])
    np.testing.assert_array_equal(count[sure], careful.count[sure])
    for i in np.flatnonzero(status == COMPLETE):
        assert abs(wrapped(q[i, : int(count[i])] - careful.of(i))).max() < 1e-9
    assert "at most 24 roots narrowed down" in (tmp_path / "README.md").read_text()


def test_wrists_behind_any_three_joints_have_a_program_too():
    of_class = arm_classes()["spherical wrist behind any RRP"]
    robot = of_class.limited
    T = of_class.poses(robot, 60, 1)
    written = controller_ik(robot, None, False)
    q, count, status = evaluate(written.program, T)
    careful = robot.ik(T, method="closed_form")
    sure = status != UNDECIDED
    assert sure.mean() > 0.7
    np.testing.assert_array_equal(status[sure], careful.codes[sure])
    np.testing.assert_array_equal(count[sure], careful.count[sure])
    complete = status == COMPLETE
    most = careful.q.shape[1]
    np.testing.assert_allclose(q[complete, :most], careful.q[complete], atol=1e-9)
    assert "at most 4 roots narrowed down" in " ".join(written.page.split())


def test_float_solves_general_arms_from_a_seed(tmp_path):
    program = controller_ik(robot_of(general_arms(1, seed=500)[0]), None, single=True).program
    assert [argument.name for argument in program.inputs] == ["T", "q0"]


def test_c_and_numpy_give_the_same_numbers(tmp_path):
    robot = zveno.load("ur5")
    T = robot.forward_kinematics(robot.random(60, 1))
    q, count, status = run(robot, tmp_path, [T])
    expected = evaluate(controller_ik(robot, None, False).program, T)
    sure = (status == COMPLETE) & (expected[2] == COMPLETE)
    assert sure.mean() > 0.95
    np.testing.assert_array_equal(count[sure], expected[1][sure])
    np.testing.assert_allclose(q[sure], expected[0][sure], atol=1e-9)


def test_float_claims_less_and_nothing_wrong(tmp_path):
    robot = zveno.load("puma560")
    T = robot.forward_kinematics(robot.random(300, 2))
    q, count, status = run(robot, tmp_path, [T], single=True)
    careful = robot.ik(T)
    complete = status == COMPLETE
    assert 0.6 < complete.mean() < 1.0
    np.testing.assert_array_equal(count[complete], careful.count[complete])
    for i in np.flatnonzero(complete):
        n = int(count[i])
        assert abs(wrapped(q[i, :n] - careful.q[i, :n])).max() < 5e-3  # 4e-6 over the least singular value


def test_what_is_no_pose_is_told(tmp_path):
    robot = zveno.load("puma560")
    T = np.repeat(robot.forward_kinematics(robot.random(1, 0)), 4, axis=0)
    T[1, 0, 3], T[2, :3, :3], T[3, 3, 0] = np.nan, 2 * T[2, :3, :3], 1e-3
    _, _, status = run(robot, tmp_path, [T])
    assert status[0] >= 0
    assert (status[1:] == NO_POSE).all()


def five_joints():
    return zveno.Robot(fix_joints(zveno.load("puma560").mechanism, ["joint4"]))


def eight_joints():
    arm = zveno.load("iiwa14").mechanism
    wrist = [Joint("joint8", "link7", "link8", Revolute(), limits=Limits(-2.0, 2.0))]
    frames = [Frame("tool", "link8", np.eye(4))]
    joints = [joint for joint in arm.joints if joint.child in arm.link_names]
    return zveno.Robot(assemble("eight", [*arm.links, Link("link8")], [*joints, *wrist], frames))


def test_other_chains_are_solved_from_a_seed(tmp_path):
    robot = five_joints()
    truth = robot.random(200, 3)
    T = robot.forward_kinematics(truth)
    seed = truth + np.random.default_rng(0).normal(0, 0.15, truth.shape)
    q, status = run(robot, tmp_path, [T, seed])
    reached = status == 0
    assert reached.mean() > 0.8
    assert abs(robot.forward_kinematics(q[reached]) - T[reached]).max() < 1e-8
    assert ((q >= robot.lower - 1e-12) & (q <= robot.upper + 1e-12)).all()
    missed = robot.forward_kinematics(q[~reached])
    assert len(missed) == 0 or abs(missed - T[~reached]).max(axis=(1, 2)).min() > 1e-10


def compared_with_slices(robot, coordinate, T, angles, q, count, status):
    """Claims of C for one angle against the slice that Python cuts there."""
    problem = problem_of(robot)
    np.testing.assert_array_equal(np.isnan(q).any(axis=2), ~(np.arange(q.shape[1]) < count[:, None]))
    assert (status == COMPLETE).mean() > 0.5
    for i in range(len(T)):
        slices = seven_revolute.solve_slices(problem, T[i : i + 1], coordinate, angles[i : i + 1])
        own = q[i, : int(count[i])]
        if status[i] != UNDECIDED:
            assert len(slices.x) == count[i]
        if status[i] == COMPLETE:
            assert abs(wrapped(own[:, None] - slices.x)).max(2).min(1).max() < 1e-8
        assert (own[:, coordinate] == angles[i]).all()
        assert len(own) == 0 or abs(robot.forward_kinematics(own) - T[i]).max() < 1e-8


@pytest.mark.parametrize("name", ["panda", pytest.param("iiwa14", marks=pytest.mark.slow)])
def test_seven_joints_with_the_redundant_one_as_an_argument(name, tmp_path):
    robot = zveno.load(name)
    truth = robot.random(30, 3)
    T, angles = robot.forward_kinematics(truth), truth[:, 6].copy()
    q, count, status = run(robot, tmp_path, [T, angles])
    compared_with_slices(robot, 6, T, angles, q, count, status)
    _, nothing, outside = run(robot, tmp_path, [T[:2], np.array([9.0, np.nan])])
    assert (outside == NO_POSE).all()
    assert (nothing == 0).all()
    page = (tmp_path / "README.md").read_text()
    assert "Joint `joint7` is the redundant one" in page
    assert "`joint6`, `joint7`" in page


MIDDLE = [("panda", "joint6"), ("panda", "joint4"), ("iiwa14", "joint3")]
"""With a meeting point that moves along the axes, with axes that turn, and walked forwards."""


@pytest.mark.parametrize(("name", "joint"), MIDDLE)
def test_a_joint_in_the_middle_can_be_the_argument(name, joint):
    robot = zveno.load(name)
    coordinate = robot.joint_names.index(joint)
    truth = robot.random(12, 4)
    T, angles = robot.forward_kinematics(truth), truth[:, coordinate].copy()
    q, count, status = evaluate(controller_ik(robot, None, False, joint).program, T, angles)
    compared_with_slices(robot, coordinate, T, angles, q, count, status)
    found = abs(wrapped(q - truth[:, None])).max(2)
    assert np.nanmin(found[status == COMPLETE], axis=1).max() < 1e-8


@pytest.mark.slow
@pytest.mark.parametrize("single", [False, True])
def test_a_joint_in_the_middle_in_c(single, tmp_path):
    robot = zveno.load("panda")
    truth = robot.random(200, 4)
    T, angles = robot.forward_kinematics(truth), truth[:, 3].copy()
    q, count, status = run(robot, tmp_path, [T, angles], single, "joint4")
    if not single:
        compared_with_slices(robot, 3, T, angles, q, count, status)
    found = np.nanmin(abs(wrapped(q - truth[:, None])).max(2)[status == COMPLETE], axis=1)
    assert len(found) > (100 if single else 190)
    assert found.max() < (5e-3 if single else 1e-8)
    assert (count[status == COMPLETE] >= 1).all()


@pytest.mark.slow
@pytest.mark.parametrize(("name", "joint"), [("gen3", "joint7"), ("panda", "joint3")])
def test_seven_joints_without_a_closed_form(name, joint):
    """In NumPy: sanitizers take long over a megabyte of C. A link that turns is eliminated at run time."""
    robot = zveno.load(name)
    truth = robot.random(4, 3)
    coordinate = int(joint[-1]) - 1
    T, angles = robot.forward_kinematics(truth), truth[:, coordinate].copy()
    written = controller_ik(robot, None, False, joint)
    q, count, status = evaluate(written.program, T, angles)
    compared_with_slices(robot, coordinate, T, angles, q, count, status)
    assert "roots of a polynomial" in written.page


@pytest.mark.parametrize("coordinate", [0, 2, 6])
def test_six_joints_are_what_is_left_of_seven(coordinate):
    problem = problem_of(zveno.load("iiwa14"))
    assert coordinate in usable_joints(problem)
    q = np.random.default_rng(2).uniform(-1, 1, 7)
    six = without_joint(problem, coordinate, q[coordinate])
    np.testing.assert_allclose(six.forward(np.delete(q, coordinate)), problem.forward(q), atol=1e-12)


def test_a_joint_that_cannot_be_the_argument_is_refused(tmp_path):
    export = zveno.load("iiwa14").export_c
    with pytest.raises(zveno.ZvenoError, match="Name one of joint1, joint2, joint3, joint5"):
        export(["inverse_kinematics"], tmp_path, redundant="joint4", timed=False)  # the elbow alone sets the reach
    with pytest.raises(zveno.ZvenoError, match="joint9"):
        export(["inverse_kinematics"], tmp_path, redundant="joint9", timed=False)
    with pytest.raises(zveno.ZvenoError, match="Leave it out"):
        zveno.load("ur5").export_c(["inverse_kinematics"], tmp_path, redundant="joint1", timed=False)
    with pytest.raises(zveno.ZvenoError, match="is for inverse_kinematics"):
        export(["jacobian"], tmp_path, redundant="joint4", timed=False)


@pytest.mark.parametrize("kinds", ["five", "eight"])
def test_chains_without_a_list_have_a_bounded_iteration(kinds):
    """Fewer joints than a pose has numbers, and more than seven."""
    robot = five_joints() if kinds == "five" else eight_joints()
    truth = robot.random(20, 3)
    T, seed = robot.forward_kinematics(truth), truth + 0.05
    written = controller_ik(robot, None, False)
    q, status = evaluate(written.program, T, seed)
    assert (status == 0).mean() > 0.7
    assert abs(robot.forward_kinematics(q[status == 0]) - T[status == 0]).max() < 1e-8
    assert "at most 60 steps" in written.page


def test_page_says_worst_case_and_meaning(tmp_path):
    robot = zveno.load("ur5")
    done = robot.export_c(["inverse_kinematics", "jacobian"], tmp_path, timed=False)
    page = (tmp_path / "README.md").read_text()
    assert "at most 32 steps" in page
    assert "undecided" in page
    assert len(done.functions) == 2
    example = (tmp_path / "example.c").read_text()
    assert "ur5_inverse_kinematics" in example


def test_a_chain_that_cannot_be_exported_says_why(tmp_path):
    floating = zveno.Robot(
        assemble("floating", [Link("base"), Link("body")], [Joint("free", "base", "body", Free())])
    )
    with pytest.raises(zveno.ZvenoError, match="ball and free joints"):
        floating.export_c(["inverse_kinematics"], tmp_path)
    assert problem_of(floating).has_balls
