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
from zveno.functions import FUNCTIONS, shapes
from zveno.kernels import compile as door

SAME = 1e-11


@pytest.fixture
def quick(monkeypatch):
    """Kernels are interpreted."""
    monkeypatch.setattr(door._Request, "code", lambda request: None)
    monkeypatch.setattr(door._Request, "kernel", interpreted)
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
    options = FUNCTIONS[name].options
    if "frame" in options:
        yield arrays, {"frame": "mark"}
    if "joint_friction" in options:
        yield arrays, {"joint_friction": True}
    if "external" in options:
        yield [*arrays, rng.normal(size=(mechanism.n_links, 6))], {"external": True}


def by_method(robot, name, arrays, options):
    options = dict(options)
    if options.pop("external", False):
        *arrays, options["external"] = arrays
    method = getattr(robot, name, None)
    if method is None:  # a function without a method of its own
        return robot.kernel(name, **options)(*arrays)
    return method(*arrays, **options)


def assert_same(got, want, name):
    several = isinstance(want, tuple)
    for x, y in zip(got if several else (got,), want if several else (want,), strict=True):
        assert relative_error(x, y) < SAME * (1e3 if FUNCTIONS[name].inverts else 1), name


@pytest.mark.laws(after=6)
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
        if FUNCTIONS[name].inverts:
            constants = {key: value for key, value in constants.items() if key in ("gravity", "tool")}
        want = fresh.kernel(name, tuple(constants), **options)(*arrays, *constants.values())
        got = changed.kernel(name, tuple(constants), **options)(*arrays, *constants.values())
        assert_same(got, want, name)


@pytest.mark.usefixtures("quick")
def test_the_order_of_inputs_does_not_matter():
    robot = zveno.Robot(random_mechanism(1, n=4))
    q = robot.random(rng=0)
    rng = np.random.default_rng(0)
    P, load = rng.normal(size=(robot.mechanism.n_links, 10)), rng.normal(size=10)
    first = robot.kernel("gravity_torque", inputs=["inertia", "payload"])(q, P, load)
    assert np.array_equal(first, robot.kernel("gravity_torque", inputs=["payload", "inertia"])(q, load, P))
    assert not np.allclose(first, robot.kernel("gravity_torque", inputs=["inertia"])(q, P))


@pytest.mark.usefixtures("quick")
def test_puma_with_five_kilograms():
    robot = zveno.load("puma560").with_payload(5.0)
    q = robot.random((3,), rng=1)
    want = robot.gravity_torque(q)
    moon = robot.kernel("gravity_torque", inputs=["gravity"])(q, [0.0, 0.0, -9.81])
    assert np.allclose(moon, want, atol=1e-12)
    assert np.allclose(robot.kernel("gravity_torque")(q), want, atol=1e-12)


def test_copies_of_derived_robots():
    rng = np.random.default_rng(3)
    robot = derived(zveno.Robot(random_mechanism(3, n=4)), rng)
    state = random_state(robot.mechanism, 0)
    want = robot.inverse_dynamics(*state)
    for other in (pickle.loads(pickle.dumps(robot)), copy.deepcopy(robot)):
        assert np.array_equal(other.inverse_dynamics(*state), want)


@pytest.mark.laws
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
    assert np.array_equal(*[base.regressor(*state) for base in bases])
    for one, place in ((changed, "a"), (fresh, "b")):
        one.export_c(("inverse_dynamics", "forward_kinematics"), tmp_path / place, timed=False)
    names = sorted(file.name for file in (tmp_path / "a").iterdir())
    assert any(name.endswith(".c") for name in names)
    for name in names:
        assert (tmp_path / "a" / name).read_text() == (tmp_path / "b" / name).read_text()


def test_constants_that_make_no_sense():
    robot = zveno.load("planar2")
    with pytest.raises(UnknownNameError, match="wind"):
        robot.kernel("gravity_torque", inputs=["wind"])
    with pytest.raises(UnknownNameError):
        robot.kernel("gravity_torque", inputs=["gravity:link1"])
    with pytest.raises(UnknownNameError, match="nowhere"):
        robot.kernel("gravity_torque", inputs=["payload:nowhere"])
    with pytest.raises(ShapeError, match="twice"):
        robot.kernel("gravity_torque", inputs=["payload", f"payload:{robot.mechanism.default_frame.link}"])
    with pytest.raises(ShapeError, match="gravity"):
        robot.kernel("gravity_torque", inputs=["gravity"])(np.zeros(2), [1.0, 2.0])
