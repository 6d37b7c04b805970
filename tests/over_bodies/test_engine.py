"""Loops over bodies compute what the straight-line algorithms compute, for any tree and every joint type."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

import zveno
from kernels.test_export_c import build, needs_compiler
from mechanisms import random_mechanism, relative_error
from zveno.errors import BuildError, ModelError
from zveno.functions import function_named
from zveno.kernels.structured.build import structured_program
from zveno.kernels.structured.check import check
from zveno.kernels.structured.code import compiled_code
from zveno.kernels.structured.evaluate import evaluate
from zveno.kernels.structured.export_c import export_structured
from zveno.kernels.structured.kernel import StructuredKernel
from zveno.mechanism import Fixed, Joint, Link, Mechanism, Revolute, assemble
from zveno.over_bodies.bodies import bodies_of
from zveno.over_bodies.engine import is_regular, prefers_loop
from zveno.over_bodies.loops import LOOPS, OPTIONS

TOLERANCE = 1e-11
"""Forward dynamics of random trees loses some digits; the others agree to rounding."""


def states(mechanism: Mechanism, batch: int = 3) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    rates = {name: rng.normal(size=(batch, mechanism.n_v)) for name in ("v", "a", "tau")}
    return {"q": mechanism.random(rng, (batch,)), **rates}


def by_algorithm(mechanism: Mechanism, name: str, given: dict[str, np.ndarray], **options) -> np.ndarray:
    """The function of `algorithms` in plain NumPy, state by state; several outputs are stacked."""
    function = function_named(name)
    rows = zip(*(given[key] for key in function.inputs), strict=True)
    return np.array([np.array(function.compute(mechanism, *row, **options)) for row in rows])


OF_THE_TREE = [name for name in LOOPS if not {"frame", "frames"} & set(OPTIONS.get(name, ()))]


def joined(outputs) -> np.ndarray:
    return np.stack(outputs, axis=-1) if isinstance(outputs, tuple) else outputs


@pytest.mark.parametrize("name", OF_THE_TREE)
@pytest.mark.parametrize("seed", range(4))
def test_loops_equal_algorithms_on_every_joint_type(seed, name):
    mechanism = random_mechanism(seed, 11, mimic=0.0, drives=seed % 2 == 1)
    given = states(mechanism)
    structured, _ = structured_program(LOOPS[name], bodies_of(mechanism))
    check(structured)
    received = joined(evaluate(structured, *(given[key] for key in function_named(name).inputs)))
    assert relative_error(received, by_algorithm(mechanism, name, given)) < TOLERANCE


@pytest.mark.parametrize("name", OF_THE_TREE)
def test_compiled_loops_equal_algorithms(name):
    mechanism = random_mechanism(5, 9, kinds=("revolute", "free", "prismatic", "fixed"), mimic=0.0, drives=True)
    given = states(mechanism, 5)
    kernel = zveno.Robot(mechanism).kernel(name, engine="loop")
    assert isinstance(kernel, StructuredKernel)
    received = joined(kernel(*(given[key] for key in function_named(name).inputs)))
    assert relative_error(received, by_algorithm(mechanism, name, given)) < TOLERANCE


@pytest.mark.parametrize(
    ("name", "external", "friction"),
    [
        ("forward_dynamics", True, False),
        ("forward_dynamics", True, True),
        ("inverse_dynamics", True, True),
        ("inverse_dynamics", False, True),
        ("bias", True, False),
    ],
)
def test_wrenches_on_links_and_friction(name, external, friction):
    mechanism = random_mechanism(6, 9, mimic=0.0, drives=True)
    given, options = states(mechanism), {"friction": True} if friction else {}
    wrenches = np.random.default_rng(1).normal(size=(mechanism.n_links, 6))
    kernel = zveno.Robot(mechanism).kernel(name, engine="loop", external=external, **options)
    assert isinstance(kernel, StructuredKernel)
    received = kernel(*(given[key] for key in function_named(name).inputs), *[wrenches][:external])
    expected = by_algorithm(mechanism, name, given, **options, **({"external": wrenches} if external else {}))
    assert relative_error(received, expected) < TOLERANCE
    assert relative_error(received, by_algorithm(mechanism, name, given)) > 1e-3


@pytest.mark.parametrize("reference", ["aligned", "local", "world"])
@pytest.mark.parametrize("frame", ["tool", "mark", "link5"])
def test_frames_of_a_tree(frame, reference):
    mechanism = random_mechanism(7, 9, mimic=0.0)
    robot, given = zveno.Robot(mechanism), states(mechanism)
    for name, options in (
        ("jacobian", {"frame": frame, "reference": reference}),
        ("forward_kinematics", {"frame": frame}),
        ("frame_poses", {"frames": (frame, "mark", "link0")}),
    ):
        kernel = robot.kernel(name, engine="loop", **options)
        assert isinstance(kernel, StructuredKernel)
        assert relative_error(kernel(given["q"]), by_algorithm(mechanism, name, given, **options)) < TOLERANCE


def test_the_jacobian_of_a_long_chain_is_a_loop():
    mechanism = dense_tree(300, 2)
    robot, q = zveno.Robot(mechanism), states(mechanism, 1)["q"]
    assert isinstance(robot.kernel("jacobian", frame="link300"), StructuredKernel)
    expected = by_algorithm(mechanism, "jacobian", {"q": q}, frame="link300")
    assert relative_error(robot.jacobian(q, "link300"), expected) < TOLERANCE


def test_a_frame_on_the_base_has_no_loop():
    with pytest.raises(BuildError, match="does not move"):
        zveno.Robot(dense_tree(5, 0)).kernel("jacobian", engine="loop", frame="link0")


def test_trees_of_one_structure_share_their_code():
    first, second = (dense_tree(n, seed) for n, seed in ((5, 0), (40, 1)))
    kernels = [zveno.Robot(mechanism).kernel("inverse_dynamics", engine="loop") for mechanism in (first, second)]
    assert isinstance(kernels[0], StructuredKernel)
    assert isinstance(kernels[1], StructuredKernel)
    assert compiled_code(kernels[0]._request) is compiled_code(kernels[1]._request)
    given = states(second)
    received = kernels[1](*(given[key] for key in ("q", "v", "a")))
    assert relative_error(received, by_algorithm(second, "inverse_dynamics", given)) < TOLERANCE


def dense_tree(n: int, seed: int) -> Mechanism:
    """A tree of revolute joints placed in no special way."""
    base = random_mechanism(seed, n, kinds=("revolute",), mimic=0.0)
    rng = np.random.default_rng(seed)
    joints = []
    for joint in base.joints:
        Q, _ = np.linalg.qr(rng.normal(size=(3, 3)))
        T = np.eye(4)
        T[:3, :3], T[:3, 3] = Q * np.linalg.det(Q), rng.normal(size=3)
        joints.append(Joint(joint.name, joint.parent, joint.child, Revolute(), T))
    return assemble("dense", base.links, joints, gravity=base.gravity)


@pytest.mark.parametrize("robot", ["ur5", "puma560", "panda"])
def test_arms_stay_straight_line(robot):
    mechanism = zveno.load(robot).mechanism
    assert not any(prefers_loop(mechanism, name) for name in LOOPS)


def test_humanoids_stay_straight_line():
    """Thirty joints whose axes are parallel to those of the links, on a free base, as in most humanoids."""
    base = random_mechanism(0, 31, kinds=("free", *["revolute"] * 30), mimic=0.0)
    axes = np.eye(3)
    joints = [
        Joint(joint.name, joint.parent, joint.child, joint.type if joint.type.n_v > 1 else Revolute(axes[k % 3]))
        for k, joint in enumerate(base.joints)
    ]
    mechanism = assemble("humanoid", base.links, joints)
    assert not any(prefers_loop(mechanism, name) for name in LOOPS)


def test_large_trees_are_loops():
    mechanism = dense_tree(60, 0)
    assert prefers_loop(mechanism, "forward_dynamics")
    assert prefers_loop(mechanism, "regressor")
    robot = zveno.Robot(mechanism)
    q, v, a = (states(mechanism)[key] for key in ("q", "v", "a"))
    tau = robot.bias(q, v) + np.einsum("nij,nj->ni", robot.mass_matrix(q), a)
    assert relative_error(robot.forward_dynamics(q, v, tau), a) < 1e-8
    assert isinstance(robot.kernel("forward_dynamics"), StructuredKernel)


def test_a_payload_on_a_large_tree_is_in_its_tables():
    mechanism = dense_tree(60, 0)
    loaded = zveno.Robot(mechanism).with_payload(3.0, (0.1, 0.2, 0.3), frame="link60").with_gravity((1.0, 2.0, 3.0))
    q, v, tau = (states(mechanism)[key] for key in ("q", "v", "tau"))
    expected = by_algorithm(loaded.mechanism, "forward_dynamics", {"q": q, "v": v, "tau": tau})
    assert relative_error(loaded.forward_dynamics(q, v, tau), expected) < TOLERANCE


@pytest.mark.parametrize(
    ("change", "options", "reason"),
    [
        ({"mimic": 1.0}, {}, "mimic"),
        ({}, {"parameters": ("gravity",)}, "gravity"),
    ],
)
def test_what_does_not_fit_a_loop_is_refused_when_asked_for(change, options, reason):
    mechanism = random_mechanism(3, 6, kinds=("revolute",), **({"mimic": 0.0} | change))
    with pytest.raises(BuildError, match=reason):
        zveno.Robot(mechanism).kernel("inverse_dynamics", engine="loop", **options)


def test_unknown_engines_and_functions_are_named():
    robot = zveno.load("ur5")
    with pytest.raises(BuildError, match="straight"):
        robot.kernel("inverse_dynamics", engine="fast")
    with pytest.raises(BuildError, match="center_of_mass"):
        robot.kernel("center_of_mass", engine="loop")
    assert not isinstance(robot.kernel("inverse_dynamics", engine="straight"), StructuredKernel)


def test_a_massless_leaf_of_a_large_tree_is_named():
    mechanism = dense_tree(60, 0)
    assert is_regular(mechanism)
    links = [*mechanism.links, Link("empty")]
    joints = [*mechanism.joints, Joint("loose", "link60", "empty", Revolute())]
    broken = assemble("broken", links, joints)
    assert not is_regular(broken)
    zeros = np.zeros(61)
    with pytest.raises(ModelError, match="loose"):
        zveno.Robot(broken).forward_dynamics(zeros, zeros, zeros)


def test_a_mechanism_that_does_not_move_has_no_loop():
    mechanism = assemble("rigid", [Link("base"), Link("link")], [Joint("joint", "base", "link", Fixed())])
    with pytest.raises(BuildError, match="nothing moves"):
        zveno.Robot(mechanism).kernel("energy", engine="loop")


@needs_compiler
def test_a_large_tree_in_c(tmp_path):
    """Code that does not grow with the tree, compiled without a warning; the same numbers as the kernel."""
    mechanism = dense_tree(60, 0)
    robot = zveno.Robot(mechanism)
    exported = zveno.export_c(robot, ["forward_dynamics"], tmp_path, timed=True)
    assert (exported.functions[0].nanoseconds or 0) > 0
    structured, _ = structured_program(LOOPS["forward_dynamics"], bodies_of(mechanism), name="loop")
    function = build(export_structured(structured), tmp_path)
    given = states(mechanism)
    expected = robot.forward_dynamics(*(given[key] for key in ("q", "v", "tau")))
    memory, out = np.full(100_000, np.nan), np.zeros(60)
    for k in range(3):
        arrays = [memory, *(given[key][k] for key in ("q", "v", "tau")), out]
        function(*(ctypes.c_void_p(array.ctypes.data) for array in arrays))
        assert relative_error(out, expected[k]) < TOLERANCE
