"""The one door: kernels are found by what determines them, and by nothing else."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace

import numpy as np
import pytest

import zveno
from kernels.programs import copied_package
from mechanisms import random_mechanism, random_state
from zveno.calibration.measurements import Distance, Position
from zveno.calibration.models import redundant_model
from zveno.errors import BuildError
from zveno.ik._judge import mark
from zveno.ik.ik_problem import problem_of
from zveno.kernels import cache
from zveno.kernels import compile as door
from zveno.kernels.compile import compiled, compiled_program
from zveno.kernels.trace import trace
from zveno.mechanism import Drive, Joint, Link, Revolute, assemble
from zveno.spatial.transforms import inverse
from zveno.spatial.vectors import cross

THREE = {"a": (3,), "b": (3,)}


@pytest.fixture(autouse=True)
def fresh(monkeypatch, tmp_path):
    """An empty disk cache and an empty memory."""
    monkeypatch.setenv("ZVENO_CACHE_DIR", str(tmp_path / "cache"))
    forget()
    yield
    forget()


def forget():
    door._kernel.cache_clear()
    door._program_kernel.cache_clear()


@pytest.fixture
def traces(monkeypatch):
    """How often something was traced by the door, as a list of names."""
    names = []

    def counted(function, *arguments, **options):
        names.append(function.__name__)
        return trace(function, *arguments, **options)

    monkeypatch.setattr(door, "trace", counted)
    return names


# --- identity


@dataclass(frozen=True, eq=False)
class Parts:
    """A dataclass outside the package."""

    x: np.ndarray


def scaled(factor, a, b):
    return factor * cross(a, b)


def different_constants():
    first = random_mechanism(1, 3)
    moved = replace(first, gravity=first.gravity + np.array([0.0, 0.0, 1e-15]))
    model = redundant_model(zveno.load("ur5").mechanism)
    return [
        *(1, 1.0, True, "1", b"1", None, 0.0, -0.0, np.float64(1.0), np.float32(1.0), np.ones(1), np.ones((1, 1))),
        *((), (1,), ((1,),), (1, 1), [1], ("a", "b"), ("ab",), (("a",), "b"), np.array([1, 0]), np.array([0, 1])),
        *(first, moved, random_mechanism(2, 3), model, redundant_model(model.mechanism, joint_terms=("gear",))),
        *(inverse, cross, Distance, Position, Drive(1.0, 2.0), Drive(2.0, 1.0)),
        problem_of(zveno.load("ur5")),
        problem_of(zveno.load("ur5"), task="position"),
        problem_of(zveno.load("ur10")),
    ]


def test_different_constants_never_share_a_kernel():
    modules: set[str] = set()
    identities = [repr(door.identity(constant, modules)) for constant in different_constants()]
    assert len(set(identities)) == len(identities)
    again = [repr(door.identity(constant, modules)) for constant in different_constants()]
    assert again == identities


def test_equal_problems_have_one_program_whatever_base_tool_and_limits():
    robot = zveno.load("ur5")
    one = problem_of(robot)
    other = problem_of(robot.with_tool(np.diag([1.0, 1, 1, 1])), "tool", limits=False)
    assert one.fingerprint == other.fingerprint
    first, second = (trace(mark, {"x": (6,)}, constants=(problem,)) for problem in (one, other))
    assert door._Content(first) == door._Content(second)


def test_what_cannot_be_identified_is_refused():
    with pytest.raises(BuildError, match="nothing determines"):
        compiled(cross, THREE, constants=(object(),))
    inner = functools.partial(cross)
    with pytest.raises(BuildError, match="nothing determines"):
        compiled(inner, THREE)
    local = type("f", (), {"__module__": "zveno.ik", "__qualname__": "make.<locals>.f"})
    with pytest.raises(BuildError, match="inside another"):
        compiled(cross, THREE, constants=(local,))


# --- memory and disk


def test_a_kernel_is_traced_once(traces):
    first = compiled(cross, THREE)
    assert compiled(cross, THREE) is first
    assert not first.from_cache
    forget()
    again = compiled(cross, THREE)
    assert again is not first
    assert again.from_cache
    assert traces == ["cross"]
    a, b = np.random.default_rng(0).normal(size=(2, 7, 3))
    assert np.allclose(again(a, b), np.cross(a, b), atol=1e-15)
    assert len(again.program.graph.op)
    assert traces == ["cross", "cross"]


def test_options_names_types_and_lanes_are_kernels_of_their_own(traces):
    kinds = [
        compiled(cross, THREE),
        compiled(cross, THREE, name="other"),
        compiled(cross, THREE, outputs=("c",)),
        compiled(cross, THREE, dtype="float32"),
        compiled(cross, THREE, lanes=2),
        compiled(cross, {"b": (3,), "a": (3,)}),
    ]
    assert len({id(kernel) for kernel in kinds}) == len(kinds)
    assert [kernel.from_cache for kernel in kinds] == [False] * len(kinds)
    assert (kinds[3].dtype, kinds[4].lanes, kinds[2].outputs[0].name) == (np.float32, 2, "c")


def test_a_warm_robot_never_traces(traces):
    mechanism = random_mechanism(5, 4)
    zveno.Robot(mechanism).inverse_dynamics(*random_state(mechanism, 0))
    forget()
    assert zveno.Robot(mechanism).kernel("inverse_dynamics", joint_friction=False).from_cache
    assert traces == ["evaluated"]


def test_code_from_outside_is_known_by_its_program(traces):
    first = compiled(scaled, THREE, constants=(2.0,))
    assert compiled(scaled, THREE, constants=(2.0,)) is first  # traced again, and the same program
    assert traces == ["scaled", "scaled"]
    other = compiled(scaled, THREE, constants=(3.0,))
    assert other is not first
    twins = [compiled(lambda a, b, k=k: k * a[0] + b[0], THREE) for k in (1.0, 2.0)]
    assert [float(kernel(np.ones(3), np.zeros(3))) for kernel in twins] == [1.0, 2.0]
    assert not compiled(cross, THREE, constants=()).from_cache
    with pytest.raises(TypeError):
        compiled(cross, THREE, constants=(Parts(np.ones(3)),))  # traced, and cross takes no constant


def test_joint_types_of_users_are_not_confused():
    """Two classes of one name, with the same numbers."""
    poses = []
    for factor in (1.0, 2.0):

        class Geared(Revolute):
            def motion(self, q, factor=factor):
                return super().motion(factor * q)

        links = [Link("base"), Link("arm")]
        joint = Joint("joint", "base", "arm", Geared())
        poses.append(zveno.Robot(assemble("geared", links, [joint])).forward_kinematics(np.array([0.3]))[0, 0])
    assert np.allclose(poses, np.cos([0.3, 0.6]))


def test_changed_sources_never_meet_an_old_kernel(tmp_path, monkeypatch, traces):
    compiled(cross, THREE)
    root = copied_package(tmp_path)
    (root / "spatial" / "vectors.py").write_text((root / "spatial" / "vectors.py").read_text() + "\n# changed\n")
    monkeypatch.setattr(cache, "ROOT", root)
    forget()
    assert not compiled(cross, THREE).from_cache
    assert traces == ["cross", "cross"]


def test_a_kernel_of_another_version_is_never_used(monkeypatch, traces):
    compiled(cross, THREE)
    monkeypatch.setattr(cache, "__version__", "0")
    forget()
    assert not compiled(cross, THREE).from_cache
    assert traces == ["cross", "cross"]


def test_programs_are_found_by_their_content():
    first, second = (trace(cross, THREE) for _ in range(2))
    kernel = compiled_program(first)
    assert compiled_program(second) is kernel
    forget()
    assert compiled_program(second).from_cache
    assert compiled_program(second, "float32").dtype == np.float32
    assert cache.info().entries == 2


def test_memory_is_bounded(monkeypatch):
    assert door._kernel.cache_info().maxsize == door._program_kernel.cache_info().maxsize == door.KEPT
