"""The one door: kernels are found by what determines them, and by nothing else."""

from __future__ import annotations

import functools
import gc
import shutil
import sys
from dataclasses import dataclass, replace

import numpy as np
import pytest

import zveno
from kernels.programs import interpreted
from mechanisms import random_mechanism, random_state
from test_layers import imported_modules
from zveno import programs
from zveno.base_parameters.regressor import base_kernel
from zveno.calibration.measurements import KINDS as MEASUREMENTS
from zveno.calibration.measurements import Distance, Position
from zveno.calibration.measurements.residual_slopes import residual_kernel
from zveno.calibration.model.models import redundant_model
from zveno.design.planned_rows import PlannedRows
from zveno.errors import BuildError
from zveno.functions import FUNCTIONS
from zveno.ik.checks.judgement import mark
from zveno.ik.ik_problem import problem_of
from zveno.kernels import cache, door
from zveno.kernels.door import compiled, compiled_program
from zveno.kernels.sources import SOURCES, Sources
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


# --- imports


def by_ast(path):
    """Modules of the package that a file imports, found by the parser."""
    package = SOURCES.package
    names = {name for _, name in imported_modules(path, SOURCES.root)}
    return {f"{package}.{name}" if name else package for name in names}


def test_imports_are_those_that_the_parser_finds():
    modules = SOURCES.files
    assert len(modules) > 200
    for module, file in modules.items():
        expected = {name for name in by_ast(SOURCES.root.parent / file) if name in modules}
        assert set(SOURCES.imports(module)) & set(modules) == expected, module


def package(tmp_path, **files):
    root = tmp_path / "zveno"
    root.mkdir()
    for name, text in files.items():
        file = root.joinpath(*name.split("__")).with_suffix(".py")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    for folder in {file.parent for file in root.rglob("*.py")}:
        (folder / "__init__.py").touch()
    return Sources(root)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("from .other import f", {"part.other"}),
        ("from . import other", {"part.other"}),
        ("from . import other as o, third", {"part.other", "part.third"}),
        ("from ..top import g as h", {"top"}),
        ("import zveno.top, numpy", {"top"}),
        ("import zveno.part.other as o", {"part.other"}),
        ("from zveno.part import other", {"part.other"}),
        ("if x:\n    if y:\n        from .other import (\n  a,  # one\n  b,\n)", {"part.other"}),
        ("from . import (\n    other,\n    third,\n)", {"part.other", "part.third"}),
        ("from . \\\n    import other", set()),  # the formatter never writes it
        ("from . import other, \\\n    third", {"part.other", "part.third"}),
        ("from .. import something", {""}),
        ("from . import something", {"part"}),
        ("import numpy\nfrom numpy import sin\n# from .other import f", set()),
        ("x = 'from .other import f'", set()),
    ],
)  # fmt: skip
def test_ways_to_import(tmp_path, text, expected):
    sources = package(tmp_path, top="", part__other="", part__third="", part__here=text)
    assert {name.removeprefix("zveno").removeprefix(".") for name in sources.imports("zveno.part.here")} == expected


def test_a_package_counts_where_a_name_is_taken_from_it(tmp_path):
    files = {"a__x": "from ..b import name", "b__y": "", "c__z": "from .w import v", "c__w": ""}
    sources = package(tmp_path, **files)
    (sources.root / "b" / "__init__.py").write_text("from .y import name\n")
    (sources.root / "c" / "__init__.py").write_text("from ..b import name\n")
    assert sources.closure(["zveno.a.x"]) == {"zveno.a.x", "zveno.b", "zveno.b.y"}
    assert sources.closure(["zveno.c.z"]) == {"zveno.c.z", "zveno.c.w"}


def copied(tmp_path):
    root = tmp_path / "zveno"
    shutil.copytree(SOURCES.root, root, ignore=shutil.ignore_patterns("__pycache__", "data"))
    return root


REACHED = {
    "functions": ("mechanism/joints", "spatial/transforms", "algorithms/articulated", "kernels/tape"),
    "calibration.model.kinematics": (
        "mechanism/joints",
        "calibration/model/joint_terms",
        "spatial/rotations",
        "kernels/math",
    ),
    "ik.six_revolute.arm": ("ik/six_revolute/equations", "kernels/math", "kernels/trace"),
    "ik.targets": ("spatial/transforms",),
    "ik.checks.judgement": ("ik/pose_error", "algorithms/linear"),
    "base_parameters.regressor": ("algorithms/velocities", "base_parameters/coupling"),
}
ELSEWHERE = ("calibration/advice/verdict", "calibration/fit/solve", "cli/export", "io/urdf", "simulation/simulate")


@pytest.mark.parametrize("module", REACHED)
def test_a_change_in_what_is_reached_changes_the_key_and_none_elsewhere_does(tmp_path, module):
    root = copied(tmp_path)
    roots = [f"zveno.{module}", "zveno.kernels.door"]
    before = Sources(root).digest(roots)
    assert before == Sources(root).digest(roots) == SOURCES.digest(roots)

    def changed(name):
        file = root / f"{name}.py"
        file = file if file.exists() else root / name / "__init__.py"
        text = file.read_text()
        file.write_text(text + "\n# changed\n")
        after = Sources(root).digest(roots)
        file.write_text(text)
        return after != before

    assert [name for name in REACHED[module] if not changed(name)] == []
    assert [name for name in ELSEWHERE if changed(name)] == []


@pytest.fixture
def unreached(monkeypatch):
    """(function, file) of code of the package that ran while the door traced, and that its key does not cover."""
    missing, plain = [], door._Request.program

    def recorded(request):
        files = set()
        sys.setprofile(lambda frame, event, arg: files.add(frame.f_code.co_filename))
        try:
            program = plain(request)
        finally:
            sys.setprofile(None)
        reached = {SOURCES.files.get(name) for name in SOURCES.closure({door.__name__, *request.modules})}
        inside = {file for file in files if file.startswith(str(SOURCES.root))}
        missing.extend((request.arguments[0].__name__, file) for file in inside - reached)
        assert inside
        return program

    monkeypatch.setattr(door._Request, "program", recorded)
    monkeypatch.setattr(door, "load_or_build", interpreted)
    forget_everything()
    yield missing
    forget_everything()


def forget_everything():
    """Empty every cache of the package: kernels are kept in some."""
    for thing in gc.get_objects():
        if isinstance(thing, functools._lru_cache_wrapper) and thing.__module__.startswith("zveno"):
            thing.cache_clear()


def test_what_runs_in_a_trace_is_reached_robot(unreached):
    for name in FUNCTIONS:
        mechanism = random_mechanism(3, 5)
        options = {"frames": mechanism.frame_names[:2]} if name == "frame_poses" else {}
        programs.kernel(mechanism, name, **options)
    assert unreached == []


def test_what_runs_in_a_trace_is_reached_tasks(unreached):
    for name in ("ur5", "puma560", "scara"):
        robot = zveno.load(name)
        T = robot.forward_kinematics(robot.random((2,), rng=1))
        zveno.solve_ik(robot, T)
    zveno.solve_ik(zveno.load("puma560"), T[:, :3, 3], task="position")
    for kind in MEASUREMENTS.values():
        residual_kernel(kind)
    base = zveno.base_parameters(zveno.load("puma560"), drives=True)
    base_kernel(base)
    rows = PlannedRows(zveno.load("puma560"), "position", joint_terms=("compliance",))
    q = rows.robot.random((2,), rng=0)
    rows.pullback(q, rows.jacobians(q))
    rows.tool(q)
    assert unreached == []


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
    assert len(again.program.op)
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
    assert zveno.Robot(mechanism).kernel("inverse_dynamics", friction=False).from_cache
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
    root = copied(tmp_path)
    (root / "spatial" / "vectors.py").write_text((root / "spatial" / "vectors.py").read_text() + "\n# changed\n")
    monkeypatch.setattr(door, "SOURCES", Sources(root))
    forget()
    assert not compiled(cross, THREE).from_cache
    assert traces == ["cross", "cross"]


def test_without_sources_the_program_is_the_key(tmp_path, monkeypatch, traces):
    monkeypatch.setattr(door, "SOURCES", Sources(tmp_path / "zveno"))
    assert not compiled(cross, THREE).from_cache
    forget()
    assert compiled(cross, THREE).from_cache
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
