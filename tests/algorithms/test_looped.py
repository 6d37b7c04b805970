"""Loops over bodies compute what the straight-line algorithms compute, for any tree and every joint type."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

import zveno
from kernels.test_export_c import build, needs_compiler
from mechanisms import random_mechanism, relative_error
from tiers import few
from zveno.algorithms.bodies import bodies_of
from zveno.algorithms.looped import write
from zveno.algorithms.references import REFERENCES
from zveno.algorithms.tree import VELOCITIES, tree_of
from zveno.errors import BuildError, ModelError, TraceError
from zveno.functions import FUNCTIONS, function_named
from zveno.kernels import compile as door
from zveno.kernels.builder import structured_program
from zveno.kernels.evaluate import evaluate
from zveno.kernels.export_c import export_c
from zveno.kernels.program import check
from zveno.mechanism import Fixed, Joint, Link, Mechanism, Revolute, assemble
from zveno.programs import MANY_BODIES, composed, is_regular, loop_program, prefers_loop
from zveno.robots.chain import chain

TOLERANCE = 1e-11
"""Forward dynamics of random trees loses some digits; the others agree to rounding."""
INVERTED = 1e-9
"""The condition of a large mass matrix, some 1e5, multiplies roundings of its inverse."""


def states(mechanism: Mechanism, batch: int = 3) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    rates = {name: rng.normal(size=(batch, mechanism.n_v)) for name in ("v", "a", "tau")}
    return {"q": mechanism.random(rng, (batch,)), **rates}


def by_algorithm(mechanism: Mechanism, name: str, given: dict[str, np.ndarray], **options) -> np.ndarray:
    """The function of `algorithms` in plain NumPy, state by state; several outputs are stacked."""
    function = function_named(name)
    rows = zip(*(given[key] for key in function.inputs), strict=True)
    return np.array([np.array(function.compute(mechanism, *row, **options)) for row in rows])


LOOPS = [name for name, function in FUNCTIONS.items() if function.loop is not None]
OF_FRAMES = {
    "frame_poses": [{"frames": ("tool", "mark", "link0")}],
    "forward_kinematics": [{"frame": frame} for frame in ("tool", "mark", "link5")],
} | {
    name: [{"frame": "tool", "reference": reference} for reference in REFERENCES]
    for name in ("jacobian", "jacobian_derivative", "frame_velocity", "frame_acceleration")
}


def difference(mechanism: Mechanism, name: str, received, given: dict[str, np.ndarray], **options) -> float:
    """The largest relative difference from the algorithm in plain NumPy, over all outputs."""
    function = function_named(name)
    rows = [
        function.compute(mechanism, *row, **options)
        for row in zip(*(given[key] for key in function.inputs), strict=True)
    ]
    if len(function.outputs) == 1:
        received, rows = (received,), [(row,) for row in rows]
    return max(relative_error(x, np.array(y)) for x, y in zip(received, zip(*rows, strict=True), strict=True))


@pytest.mark.laws(after=3)
@pytest.mark.parametrize("name", LOOPS)
@pytest.mark.parametrize("seed", few(range(4)))
def test_loops_equal_algorithms_on_every_joint_type(seed, name):
    mechanism = random_mechanism(seed, 11, mimic=0.0, drives=seed % 2 == 1)
    given = states(mechanism)
    for options in OF_FRAMES.get(name, [{}]):
        program = loop_program(mechanism, name, options)
        check(program)
        received = evaluate(program, *(given[key] for key in function_named(name).inputs))
        assert difference(mechanism, name, received, given, **options) < TOLERANCE


@pytest.mark.laws(after=7)
@pytest.mark.parametrize("name", LOOPS)
def test_compiled_loops_equal_algorithms(name):
    mechanism = random_mechanism(5, 9, kinds=("revolute", "free", "prismatic", "fixed"), mimic=0.0, drives=True)
    given = states(mechanism, 5)
    for options in OF_FRAMES.get(name, [{}])[:1]:
        kernel = zveno.Robot(mechanism).kernel(name, engine="loop", **options)
        assert kernel.program.n_loops
        received = kernel(*(given[key] for key in function_named(name).inputs))
        assert difference(mechanism, name, received, given, **options) < TOLERANCE


@pytest.mark.laws(after=3)
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
    given = states(mechanism)
    options: dict[str, Any] = {"joint_friction": True} if friction else {}
    wrenches = np.random.default_rng(1).normal(size=(mechanism.n_links, 6))
    kernel = zveno.Robot(mechanism).kernel(name, engine="loop", external=external, **options)
    assert kernel.program.n_loops
    received = kernel(*(given[key] for key in function_named(name).inputs), *[wrenches][:external])
    expected = by_algorithm(mechanism, name, given, **options, **({"external": wrenches} if external else {}))
    assert relative_error(received, expected) < TOLERANCE
    assert relative_error(received, by_algorithm(mechanism, name, given)) > 1e-3


def test_the_jacobian_of_a_long_chain_is_a_loop():
    mechanism = dense_tree(300, 2)
    robot, q = zveno.Robot(mechanism), states(mechanism, 1)["q"]
    assert robot.kernel("jacobian", frame="link300").program.n_loops
    expected = by_algorithm(mechanism, "jacobian", {"q": q}, frame="link300")
    assert relative_error(robot.jacobian(q, "link300"), expected) < TOLERANCE


@pytest.mark.laws
def test_the_mass_matrix_of_a_chain_of_any_length():
    n = 4000
    robot = zveno.Robot(chain(n))
    rng = np.random.default_rng(0)
    q, a = 0.01 * rng.normal(size=n), rng.normal(size=n)
    torques = robot.inverse_dynamics(q, np.zeros(n), a) - robot.gravity_torque(q)
    assert relative_error(robot.mass_matrix(q) @ a, torques) < TOLERANCE


def test_a_frame_on_the_base_has_no_loop():
    with pytest.raises(BuildError, match="does not move"):
        zveno.Robot(dense_tree(5, 0)).kernel("jacobian", engine="loop", frame="link0")


def test_trees_of_one_structure_share_their_code():
    first, second = (dense_tree(n, seed) for n, seed in ((5, 0), (40, 1)))
    found = door._code.cache_info().hits
    kernels = [zveno.Robot(mechanism).kernel("inverse_dynamics", engine="loop") for mechanism in (first, second)]
    assert kernels[0].program.n_loops
    assert kernels[1].program.n_loops
    assert door._code.cache_info().hits > found  # one code for both
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
    assert robot.kernel("forward_dynamics").program.n_loops


@pytest.mark.parametrize("name", LOOPS)
def test_long_chains_are_loops(name):
    """A planar chain has few operations per body, but its straight-line code takes seconds to build."""
    mechanism = chain(MANY_BODIES)
    key = "frames" if name == "frame_poses" else "frame"
    for frame, looped in (("tool", True), ("rod5", name not in OF_FRAMES)):
        assert prefers_loop(mechanism, name, {key: (frame,) if key == "frames" else frame}) == looped


COMPOSED = [name for name, function in FUNCTIONS.items() if function.composed is not None]


@pytest.mark.parametrize("name", COMPOSED)
@pytest.mark.parametrize(
    ("seed", "friction"), [(2, False), pytest.param(3, True, marks=pytest.mark.laws)], ids=["plain", "friction"]
)
def test_functions_that_invert_the_mass_matrix_of_a_large_tree(name, seed, friction):
    """The function composed from loops, and the algorithm itself in NumPy."""
    mechanism = random_mechanism(
        seed, 40, mimic=0.0, drives=True, kinds=("revolute", "prismatic", "spherical", "free")
    )
    robot, given = zveno.Robot(mechanism), states(mechanism, 2)
    taken = friction and "joint_friction" in function_named(name).options
    options: dict[str, Any] = {"joint_friction": True} if taken else {}
    assert composed(mechanism, name, options) is not None
    received = getattr(robot, name)(*(given[key] for key in function_named(name).inputs), **options)
    assert difference(mechanism, name, received, given, **options) < INVERTED
    single = received if isinstance(received, np.ndarray) else received[-1]
    assert (single == np.swapaxes(single, -1, -2)).all()
    target = tuple(map(np.zeros_like, received)) if isinstance(received, tuple) else np.zeros_like(received)
    arrays = [given[key] for key in function_named(name).inputs]
    assert getattr(robot, name)(*arrays, **options, out=target) is target
    assert relative_error(np.array(target), np.array(received)) == 0.0
    with pytest.raises(BuildError, match="too long"):
        robot.kernel(name, **options)


@pytest.mark.parametrize("robot", ["ur5", "quadruped"])
def test_functions_of_usual_robots_are_not_composed(robot):
    assert not any(composed(zveno.load(robot).mechanism, name, {}) for name in COMPOSED)


def test_derivatives_of_a_long_chain():
    """Identities for 400 links, whose straight-line code would never be built."""
    n = 400
    robot, rng = zveno.Robot(chain(n)), np.random.default_rng(0)
    q, v, tau = 0.01 * rng.normal(size=(3, n))
    by_q, _, M_inverse = robot.forward_dynamics_derivatives(q, v, tau)
    at_rest = robot.forward_dynamics(q, np.zeros(n), robot.gravity_torque(q) + tau)
    assert relative_error(M_inverse @ tau, at_rest) < 1e-7
    slopes = robot.inverse_dynamics_derivatives(q, v, robot.forward_dynamics(q, v, tau))
    assert relative_error(-slopes[2] @ by_q, slopes[0]) < INVERTED


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
        ({}, {"inputs": ("gravity",)}, "gravity"),
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
    with pytest.raises(BuildError, match="drive_regressor"):
        robot.kernel("drive_regressor", engine="loop")
    assert not robot.kernel("inverse_dynamics", engine="straight").program.n_loops


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


@pytest.mark.laws
@needs_compiler
def test_a_large_tree_in_c(tmp_path):
    """Code that does not grow with the tree, compiled without a warning; the same numbers as the kernel."""
    mechanism = dense_tree(60, 0)
    robot = zveno.Robot(mechanism)
    exported = robot.export_c(["forward_dynamics"], tmp_path, timed=True)
    assert (exported.functions[0].nanoseconds or 0) > 0
    function = build(export_c(loop_program(mechanism, "forward_dynamics", {})), tmp_path)
    given = states(mechanism)
    expected = robot.forward_dynamics(given["q"], given["v"], given["tau"])
    memory, out = np.full(100_000, np.nan), np.zeros(60)
    for k in range(3):
        arrays = [memory, *(given[key][k] for key in ("q", "v", "tau")), out]
        function(*(ctypes.c_void_p(array.ctypes.data) for array in arrays))
        assert relative_error(out, expected[k]) < TOLERANCE


def running_total(mechanism, q):
    """Wrong on purpose: the sum is carried in a variable."""
    tree = tree_of(mechanism)
    out, at, total = tree.result("out", VELOCITIES), tree.positions(q), 0.0
    for i in tree.outward():
        total = total + at[i][0]
        out[i] = [total]
    return out.whole()


def counted(mechanism, q):
    """Wrong on purpose: a number that is not traced is carried in a variable."""
    tree = tree_of(mechanism)
    out, at, count = tree.result("out", VELOCITIES), tree.positions(q), 1.0
    for i in tree.outward():
        count = count + 1.0
        out[i] = count * at[i]
    return out.whole()


def used_after_its_loop(mechanism, q):
    """Wrong on purpose: a value of one loop is used in the next."""
    tree = tree_of(mechanism)
    out, at, last = tree.result("out", VELOCITIES), tree.positions(q), np.zeros(1)
    for i in tree.outward():
        last = at[i]
    for i in tree.inward():
        out[i] = last + at[i]
    return out.whole()


@pytest.mark.parametrize("algorithm", [running_total, counted, used_after_its_loop])
def test_a_value_carried_in_a_variable_is_refused(algorithm):
    mechanism = dense_tree(3, 0)
    assert algorithm(mechanism, np.arange(3.0)).shape == (3,)
    with pytest.raises(TraceError, match="in a column or a cell"):
        structured_program(write, algorithm, bodies_of(mechanism), None, ("q",), ())
