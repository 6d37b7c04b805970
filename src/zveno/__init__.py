"""zveno: robot mechanisms, from a drawing or URDF to all the equations.

`__all__` is the whole public surface. The names and the modules they come from stand in `__init__.pyi`, which type
checkers read too; each is imported on first use, so that importing zveno stays quick.
"""

from __future__ import annotations

import ast
import importlib
from pathlib import Path
from typing import Any

from . import base_parameters
from ._version import __version__ as __version__

# The package of base parameters has the name of its function. Imported once, it is never bound to that name again:
# the name is free for the function.
del base_parameters


def _places() -> dict[str, tuple[str, str]]:
    """(module, attribute) of every public name; some of them are modules."""
    stub = ast.parse(Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    return {
        alias.asname or alias.name: (f".{node.module or ''}", alias.name)
        for node in stub.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


_PLACES = _places()
__all__ = list(_PLACES)  # pyright: ignore[reportUnsupportedDunderAll]  (the stub has the names)


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, attribute = _PLACES[name]
    if module == ".":  # a module of this package, which is not looked for in itself
        return importlib.import_module(f".{attribute}", __name__)
    place = importlib.import_module(module, __name__)
    if not hasattr(place, attribute):  # a module of that package, which nobody imported yet
        importlib.import_module(f"{place.__name__}.{attribute}")
    value = globals()[name] = getattr(place, attribute)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
