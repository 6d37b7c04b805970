"""A derived robot is, through every door, the robot built with its numbers from the start."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import zveno
from kernels.programs import interpreted
from mechanisms import random_inertia, random_mechanism, random_state, random_transform, relative_error
from zveno.errors import ShapeError, UnknownNameError
from zveno.function_methods import is_of_one_frame
from zveno.functions import FUNCTIONS, shapes
from zveno.kernels import door

SAME = 1e-11
INVERTING = ("forward_dynamics", "inverse_mass_matrix", "forward_dynamics_derivatives")
DYNAMICS = ("inverse_dynamics", "forward_dynamics", "joint_wrenches", "bias")
WITH_FRICTION = ("inverse_dynamics", "forward_dynamics", "inverse_dynamics_derivatives")


@pytest.fixture
def quick(monkeypatch):
    """Kernels are interpreted."""
    monkeypatch.setattr(door, "load_or_build", interpreted)
    door._kernel.cache_clear()
    yield
    door._kernel.cache_clear()


def derived(robot, rng, n=4):
    """A robot after some random derivations; frames and links are any."""
    for _ in range(n):
        frame = str(rng.choice(robot.frame_names))
        match rng.integers(4):
            case 0:
                robot = robot.with_payload(rng.uniform(0, 5), rng.normal(size=3), np.eye(3), frame)
            case 1:
                robot = robot.with_tool(random_transform(rng), frame)
            case 2:
                robot = robot.with_gravity(rng.normal(size=3))
            case _:
                robot = robot.with_inertia({str(rng.choice(robot.link_names)): random_inertia(rng)})
    return robot


def calls(robot, name, rng):
    """Arrays and options of some calls of a function, as every door takes them."""
    mechanism = robot.mechanism
    q, v, a = random_state(mechanism, int(rng.integers(100)))
    pool = {"q": q, "q0": q, "q1": mechanism.random(rng), "v": v, "a": a, "tau": a}
    arrays = [pool[key] for key in FUNCTIONS[name].inputs]
    yield arrays, {}
    if is_of_one_frame(name):
        yield arrays, {"frame": "mark"}
    if name in WITH_FRICTION:
        yield arrays, {"friction": True}
    if name in DYNAMICS:
        yield [*arrays, rng.normal(size=(mechanism.n_links, 6))], {"external": True}


def by_method(robot, name, arrays, options, **constants):
    options = dict(options)
    if options.pop("external", False):
        *arrays, options["external"] = arrays
    if name == "frame_poses":
        return robot.forward_kinematics(*arrays, frames=options["frames"], **constants)
    return getattr(robot, name)(*arrays, **options, **constants)


def assert_same(got, want, name):
    several = isinstance(want, tuple)
    for x, y in zip(got if several else (got,), want if several else (want,), strict=True):
        assert relative_error(x, y) < SAME * (1e3 if name in INVERTING else 1), name


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_through_every_door(seed, name):
    rng = np.random.default_rng(seed)
    changed = derived(zveno.Robot(random_mechanism(seed, n=5, drives=True)), rng)
    fresh = zveno.Robot(changed.mechanism)
    kinds = [str(kind) for kind in rng.permutation(["gravity", "inertia", "tool", "payload", "geometry"])][:2]
    # "payload" alone acts on the default frame's link; half of the time another is named.
    parameters = [
        f"{kind}:{rng.choice(changed.link_names)}" if kind == "payload" and rng.random() < 0.5 else kind
        for kind in kinds
    ]
    sizes = shapes(changed.mechanism, parameters)
    constants = {key: rng.normal(size=shape) for key, shape in sizes.items()}
    for arrays, options in calls(fresh, name, rng):
        if name == "frame_poses":
            options = {"frames": ("mark", "link2")}
        want = fresh.kernel(name, **options)(*arrays)
        assert_same(by_method(changed, name, arrays, options), want, name)
        assert_same(changed.kernel(name, **options)(*arrays), want, name)
        assert_same(by_method(changed.parametric(), name, arrays, options), want, name)
        if name in INVERTING:
            constants = {key: value for key, value in constants.items() if key in ("gravity", "tool")}
        want = fresh.kernel(name, tuple(constants), **options)(*arrays, *constants.values())
        for robot in (changed.parametric(*constants), changed):
            assert_same(by_method(robot, name, arrays, options, **constants), want, name)


@pytest.mark.usefixtures("quick")
def test_the_order_of_parameters_does_not_matter():
    robot = zveno.Robot(random_mechanism(1, n=4))
    q = robot.random(rng=0)
    rng = np.random.default_rng(0)
    P, load = rng.normal(size=(robot.mechanism.n_links, 10)), rng.normal(size=10)
    results = [
        robot.parametric(*order).gravity_torque(q, inertia=P, payload=load)
        for order in (("inertia", "payload"), ("payload", "inertia"))
    ]
    assert np.array_equal(*results)
    assert not np.allclose(results[0], robot.gravity_torque(q, inertia=P))


@pytest.mark.usefixtures("quick")
def test_puma_with_five_kilograms():
    robot = zveno.load("puma560").with_payload(5.0)
    q = robot.random((3,), rng=1)
    want = robot.gravity_torque(q)
    moon = robot.parametric("gravity").gravity_torque(q, gravity=[0.0, 0.0, -9.81])
    assert np.allclose(moon, want, atol=1e-12)
    assert np.allclose(robot.kernel("gravity_torque")(q), want, atol=1e-12)


@pytest.mark.usefixtures("quick")
def test_partitioned_takes_constants_too():
    robot = zveno.Robot(random_mechanism(2, n=4)).with_base("free")
    q, v, _ = random_state(robot.mechanism, 0)
    g = [1.0, 2.0, 3.0]
    parts = robot.parametric("gravity").partitioned(q, v, gravity=g)
    assert np.allclose(parts.H_I, robot.with_gravity(g).partitioned(q, v).H_I)


def test_copies_of_derived_robots():
    rng = np.random.default_rng(3)
    robot = derived(zveno.Robot(random_mechanism(3, n=4)), rng)
    state = random_state(robot.mechanism, 0)
    want = robot.inverse_dynamics(*state)
    for other in (pickle.loads(pickle.dumps(robot)), copy.deepcopy(robot)):
        assert np.array_equal(other.inverse_dynamics(*state), want)


def test_tasks_of_derived_robots(tmp_path):
    rng = np.random.default_rng(4)
    robot = zveno.load("puma560")
    tool = np.eye(4)
    tool[:3, 3] = 0.1, 0.0, 0.05
    changed = robot.with_payload(2.0, (0.1, 0.0, 0.0)).with_gravity((0.0, 3.0, -9.0)).with_tool(tool)
    changed = changed.with_inertia({"link2": random_inertia(rng)})
    fresh = zveno.Robot(changed.mechanism)
    q = robot.random(rng=2)
    T = fresh.forward_kinematics(q)
    assert np.allclose(changed.ik(T).q, fresh.ik(T).q)
    runs = [one.simulate(q, duration=0.05) for one in (changed, fresh)]
    assert np.array_equal(runs[0].q, runs[1].q)
    bases = [one.base_parameters() for one in (changed, fresh)]
    assert bases[0].expressions == bases[1].expressions
    state = random_state(changed.mechanism, 1)
    assert np.array_equal(changed.base_regressor(*state), fresh.base_regressor(*state))
    for one, place in ((changed, "a"), (fresh, "b")):
        one.export_c(("inverse_dynamics", "forward_kinematics"), tmp_path / place, timed=False)
    names = sorted(file.name for file in (tmp_path / "a").iterdir())
    assert any(name.endswith(".c") for name in names)
    for name in names:
        assert (tmp_path / "a" / name).read_text() == (tmp_path / "b" / name).read_text()


def test_constants_that_make_no_sense():
    robot = zveno.load("planar2")
    q = np.zeros(2)
    with pytest.raises(UnknownNameError, match="wind"):
        robot.gravity_torque(q, wind=[1.0, 0.0, 0.0])
    with pytest.raises(UnknownNameError):
        robot.parametric("gravity:link1")
    with pytest.raises(UnknownNameError, match="nowhere"):
        robot.parametric("payload:nowhere")
    with pytest.raises(ShapeError, match="twice"):
        robot.parametric("payload", f"payload:{robot.mechanism.default_frame.link}")
    with pytest.raises(ShapeError, match="gravity"):
        robot.gravity_torque(q, gravity=[1.0, 2.0])
