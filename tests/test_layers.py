"""Modules import only from layers above their own, wherever the import stands in the file."""

from __future__ import annotations

import ast
from pathlib import Path

import zveno

LAYERS = (
    "errors",
    "progress",
    "kernels",
    "spatial",
    "mechanism",
    "robots",
    "io",
    "algorithms",
    "functions",
    "programs",
    "function_methods",
    "robot_functions",
    "report",
    "fit",
    "_executor",
    "motion_limits",
    "scanning",
    "geometry",
    "clearance",
    "loops",
    "ik",
    "simulation",
    "walking",
    "base_parameters",
    "export_texts",
    "export",
    "closed_robot",
    "calibration",
    "identification",
    "robot",
    "documents",
    "studio",
    "cli",
)
"""Top-level packages and modules; each may import those before it. A new one is put where it belongs."""
ANYWHERE = ("_version", "_lazy")
ROOTS = ("__init__", "__main__")
"""These gather everything, so they may import from every layer."""
FACADE = "robot"
"""The only exception: it may import every layer in its functions, and others may name it where types are meant."""
USERS_OF_THE_PACKAGE = ("cli", "studio")
"""These may use the public names of the package itself, as any user does."""
ONLY_OPS_OF_KERNELS = ("spatial", "mechanism", "algorithms")
WRITES_PROGRAMS = Path("algorithms/looped.py")
"""The tree that turns the loops of algorithms into a program."""
SOURCE = Path(zveno.__file__).parent


def imported_modules(path: Path, root: Path, facade: bool = True) -> list[tuple[int, str]]:
    """(line, dotted name below the package) of every import of the package in a file; "" is the package itself.

    `from x import y` counts as x.y if that is a module, since y may be one, and as x otherwise. Without `facade`
    the exception is taken out.
    """
    own = (root.name, *path.relative_to(root).with_suffix("").parts)
    package = own[:-1]  # the package a file or an __init__ belongs to
    found = []
    tree = ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
    spared = () if facade else set(_spared(tree, own[1] == FACADE))
    for node in ast.walk(tree):
        if node in spared:
            continue
        if isinstance(node, ast.Import):
            found += [(node.lineno, tuple(alias.name.split("."))) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            base += tuple(node.module.split(".")) if node.module else ()
            found += [(node.lineno, _module(root, (*base, alias.name))) for alias in node.names]
    return [(line, ".".join(name[1:])) for line, name in found if name[0] == root.name]


def _spared(tree: ast.Module, is_facade: bool):
    """Imports the exception covers: those for types of the facade, and the facade's own inside functions."""
    for block in ast.walk(tree):
        types_only = isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING"
        if types_only or (is_facade and isinstance(block, ast.FunctionDef)):
            for node in ast.walk(block):
                if isinstance(node, ast.ImportFrom) and (is_facade or (node.module or "").strip(".") == FACADE):
                    yield node


def _module(root: Path, name: tuple[str, ...]) -> tuple[str, ...]:
    """The name itself if it is a module of the package, otherwise the module it is taken from."""
    place = root.parent.joinpath(*name)
    return name if place.is_dir() or place.with_suffix(".py").is_file() else name[:-1]


def violations(root: Path) -> list[str]:
    """What breaks the rule in a package, one line each."""
    problems = []
    for path in sorted(root.rglob("*.py")):
        inside = path.relative_to(root)
        layer = inside.parts[0].removesuffix(".py")
        if layer in ROOTS or layer in ANYWHERE:
            continue
        if layer not in LAYERS:
            problems.append(f"{inside}: {layer} has no place among the layers")
            continue
        for line, name in imported_modules(path, root, facade=False):
            target, _, rest = name.partition(".")
            where = f"{inside}:{line} imports {name or root.name}"
            if target in ANYWHERE or target == layer or (not name and layer in USERS_OF_THE_PACKAGE):
                continue
            if target not in LAYERS:
                problems.append(f"{where}, which is not a layer")
            elif LAYERS.index(target) > LAYERS.index(layer):
                problems.append(f"{where}, which is below {layer}")
            elif target == "documents":
                problems.append(f"{where}, which no part of the product uses")
            elif (
                target == "kernels"
                and layer in ONLY_OPS_OF_KERNELS
                and inside != WRITES_PROGRAMS
                and rest.partition(".")[0] != "ops"
            ):
                problems.append(f"{where}, but takes only kernels.ops")
    return problems


def test_modules_import_only_from_layers_above():
    assert violations(SOURCE) == []


def test_something_was_checked():
    # A checker that resolves nothing would be content with everything.
    jacobian = imported_modules(SOURCE / "algorithms" / "jacobian.py", SOURCE)
    names = {name for _, name in jacobian}
    assert {"mechanism", "spatial.vectors", "algorithms.references"} <= names
    assert any(name == "io.load" for _, name in imported_modules(SOURCE / "robot.py", SOURCE))


def test_the_checker_finds_what_it_should(tmp_path):
    root = tmp_path / "zveno"
    files = {
        "__init__.py": "from .robot import Robot",
        "errors.py": "from . import _version\n",
        "_version.py": "",
        "robot.py": "from . import io\nfrom .studio import text\ndef plot():\n    from .studio import draw\n",
        "robot_functions.py": "if TYPE_CHECKING:\n    from .robot import Robot\n    from .ik import Solutions\n",
        "kernels/__init__.py": "from ..errors import ZvenoError\n",
        "kernels/ops.py": "import zveno.spatial\n",
        "kernels/tape.py": "import numpy\nfrom .ops import sin\n",
        "spatial/__init__.py": "",
        "spatial/rotations.py": "from ..kernels.ops import sin\nfrom ..kernels import ops\n",
        "spatial/vectors.py": "from ..kernels.tape import Tape\n",
        "io/__init__.py": "def read():\n    if True:\n        from ..robot import Robot\n    return Robot\n",
        "io/urdf.py": "from .. import load\n",
        "io/deep/inner.py": "from ...cli import main\nfrom ..urdf import read\n",
        "cli/__init__.py": "from .. import load\nfrom ..io.urdf import read\n",
        "cli/ik.py": "from ..documents.first import read\n",
        "documents/__init__.py": "from . import first\n",
        "documents/first.py": "from ..robot import Robot\n",
        "tools.py": "",
    }
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    assert violations(root) == [
        "cli/ik.py:1 imports documents.first, which no part of the product uses",
        "io/__init__.py:3 imports robot, which is below io",
        "io/deep/inner.py:1 imports cli, which is below io",
        "io/urdf.py:1 imports zveno, which is not a layer",
        "kernels/ops.py:1 imports spatial, which is below kernels",
        "robot.py:2 imports studio, which is below robot",
        "robot_functions.py:3 imports ik, which is below robot_functions",
        "spatial/vectors.py:1 imports kernels.tape, but takes only kernels.ops",
        "tools.py: tools has no place among the layers",
    ]
