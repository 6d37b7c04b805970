"""Public names that are imported on first use, as the stub of a package lists them."""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any


def attach(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return `__getattr__`, `__dir__` and `__all__` of a package, from the imports in its `__init__.pyi`.

    Type checkers read the same stub, so names and places are written once. Importing a package stays quick: a
    module is read when one of its names is used.
    """
    module = sys.modules[package]
    stub = Path(module.__file__ or "").with_suffix(".pyi")
    places = {
        alias.asname or alias.name: (f"{'.' * node.level}{node.module or ''}", alias.name)
        for node in ast.parse(stub.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }

    def get(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        place, attribute = places[name]
        if place == ".":
            return importlib.import_module(f".{attribute}", package)
        source = importlib.import_module(place, package)
        if not hasattr(source, attribute):  # a module that nobody imported yet
            importlib.import_module(f"{source.__name__}.{attribute}")
        value = getattr(source, attribute)
        setattr(module, name, value)
        return value

    return get, lambda: sorted({*vars(module), *places}), list(places)
