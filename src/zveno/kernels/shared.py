"""Object code that all kernels use, built once for a machine and kept in the cache."""

from __future__ import annotations

import contextlib

from .._version import __version__
from . import cache as disk
from .host import Code, compile_object, host

_LOADED: list[Code] = []
"""Never freed: kernels keep addresses."""


def load_shared(assembly: str) -> Code:
    """The code of a module, from the cache or compiled now."""
    entry = disk.digest("shared", assembly, host().fingerprint(), __version__)
    stored = disk.read(entry)
    code = None
    if stored is not None:
        with contextlib.suppress(Exception):  # whatever is wrong with an entry, the code is compiled anew
            code = Code(stored[1])
    if code is None:
        data = compile_object(assembly)
        disk.write(entry, {}, data)
        code = Code(data)
    _LOADED.append(code)
    return code
