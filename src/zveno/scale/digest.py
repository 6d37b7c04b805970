"""What identifies work: the function with everything bound to it, its pieces, the sources and the version.

Pickles are no identity: equal objects can have different ones. Functions are named by module and source text,
mechanisms by their fingerprint, robots by what they are made of, dataclasses by their fields.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import inspect
import pickle
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .._version import __version__
from ..kernels.sources import Sources
from ..mechanism import Mechanism
from ..robot_functions import RobotFunctions


@functools.cache
def sources() -> str:
    """A hash of the version and of all files of this package: equal where results can be equal bit by bit."""
    package = Sources(Path(__file__).parents[1])
    return hashlib.sha256(f"{__version__} {package.digest(package.files)}".encode()).hexdigest()


@functools.cache
def arithmetic() -> str:
    """What the last bits of results depend on beside the sources: arithmetic of the processor, numeric packages."""
    import platform

    import scipy

    from ..kernels.host import host

    fused = "fused multiply-add" if host().fma else "no fused multiply-add"
    return f"{platform.machine()} with {fused}, numpy {np.__version__}, scipy {scipy.__version__}"


def digest_of(work: Callable[..., Any], pieces: Sequence[Any], merge: Callable[..., Any]) -> str:
    """A hash of a fold."""
    digest = hashlib.sha256(sources().encode())
    for item in (work, merge, len(pieces), *pieces):
        for part in _parts(item):
            digest.update(f"{len(part)} ".encode() + part)
    return digest.hexdigest()


def _parts(value: Any) -> Iterator[bytes]:
    """Bytes that tell values apart, the same in every process."""
    yield type(value).__qualname__.encode()
    if isinstance(value, functools.partial):
        for item in (value.func, value.args, value.keywords):
            yield from _parts(item)
    elif inspect.ismethod(value):
        yield value.__name__.encode()
        yield from _parts(value.__self__)
    elif inspect.isfunction(value) or inspect.isbuiltin(value):
        yield f"{value.__module__} {value.__qualname__}".encode()
        yield _text(value)
        for cell in getattr(value, "__closure__", None) or ():
            yield from _parts(cell.cell_contents)
    elif isinstance(value, type):
        yield f"{value.__module__} {value.__qualname__}".encode()
    elif isinstance(value, np.ndarray) and value.dtype.kind != "O":
        yield f"{value.dtype.str} {value.shape}".encode()
        yield value.tobytes()
    elif isinstance(value, str | bytes | int | float | complex | None.__class__ | np.generic | Path):
        yield repr(value).encode()
    elif isinstance(value, tuple | list):
        yield str(len(value)).encode()
        for item in value:
            yield from _parts(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _parts(key)
            yield from _parts(item)
    elif isinstance(value, RobotFunctions):
        yield from _parts(value.__getstate__())
    elif isinstance(value, Mechanism):
        yield value.fingerprint.encode()
    elif dataclasses.is_dataclass(value):
        for item in dataclasses.fields(value):
            yield from _parts(getattr(value, item.name))
    else:
        yield pickle.dumps(value, 5)


def _text(function: Any) -> bytes:
    try:
        return inspect.getsource(function).encode()
    except (OSError, TypeError):  # built in, or typed at a prompt
        return getattr(getattr(function, "__code__", None), "co_code", b"")
