"""Built-in robots: one data file per robot, which cites its source, and generators with arguments.

The data files are Denavit–Hartenberg tables as `zveno.io.dh` describes them. A value marked as nominal is a round
figure that completes the model, not a measurement.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

from ..errors import unknown_name
from ..mechanism import Mechanism
from .chain import chain
from .walking import biped, quadruped

_FOLDER = Path(__file__).parent

generators: dict[str, Callable[..., Mechanism]] = {"chain": chain, "biped": biped, "quadruped": quadruped}
"""Generator functions of robots by name: `generators["chain"](20)`."""


@cache
def data_names() -> tuple[str, ...]:
    """Return the names of the robots that have a data file."""
    return tuple(sorted(path.stem for path in _FOLDER.glob("*.toml")))


def names() -> tuple[str, ...]:
    """Return the names of all built-in robots, generators included."""
    return data_names() + tuple(generators)


def data_file(name: str) -> Path:
    """Return the path of the data file of a built-in robot."""
    if name not in data_names():
        raise unknown_name("built-in robot with a data file", name, data_names())
    return _FOLDER / f"{name}.toml"
