"""The key of a kernel covers the sources that its trace runs through, and no others."""

from __future__ import annotations

import functools
import gc
import sys

import pytest

import zveno
from kernels.programs import copied_package, interpreted
from mechanisms import random_mechanism
from test_layers import imported_modules
from zveno import programs
from zveno.base_parameters.regressor import base_kernel
from zveno.calibration.measurements import KINDS as MEASUREMENTS
from zveno.calibration.measurements.residual_slopes import residual_kernel
from zveno.design.planned_rows import PlannedRows
from zveno.functions import FUNCTIONS
from zveno.kernels import door
from zveno.kernels.sources import SOURCES, Sources


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


def test_imports_are_remembered_until_a_file_changes(tmp_path, monkeypatch):
    monkeypatch.setenv("ZVENO_CACHE_DIR", str(tmp_path / "cache"))
    root = package(tmp_path, a="from .b import f", b="f = 1", c="g = 1", d="").root
    named_by, parsed = Sources._named_by, []
    monkeypatch.setattr(Sources, "_named_by", lambda self, m: parsed.append(m.split(".")[-1]) or named_by(self, m))

    def digest() -> str | None:
        parsed.clear()
        return Sources(root).digest({"zveno.a"})

    first = digest()
    assert sorted(parsed) == ["a", "b"]
    (root / "d.py").write_text("not reached")
    assert (digest(), parsed) == (first, [])
    (root / "b.py").write_text("from .c import g as f")
    second = digest()
    assert sorted(parsed) == ["b", "c"]
    (root / "c.py").write_text("g = 2")
    third = digest()
    assert parsed == ["c"]
    (root / "c.py").unlink()
    fourth = digest()  # other names: what imports mean is found out anew
    assert {"a", "b"} <= set(parsed)
    assert len({first, second, third, fourth}) == 4


def test_a_package_counts_where_a_name_is_taken_from_it(tmp_path):
    files = {"a__x": "from ..b import name", "b__y": "", "c__z": "from .w import v", "c__w": ""}
    sources = package(tmp_path, **files)
    (sources.root / "b" / "__init__.py").write_text("from .y import name\n")
    (sources.root / "c" / "__init__.py").write_text("from ..b import name\n")
    assert sources.closure(["zveno.a.x"]) == {"zveno.a.x", "zveno.b", "zveno.b.y"}
    assert sources.closure(["zveno.c.z"]) == {"zveno.c.z", "zveno.c.w"}


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
    root = copied_package(tmp_path)
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
