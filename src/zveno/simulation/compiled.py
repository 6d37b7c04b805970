"""Kernels of programs that are made on the fly: kept by what the program computes."""

from __future__ import annotations

import hashlib
from functools import lru_cache

from ..kernels.kernel import Kernel, load_or_build
from ..kernels.program import Program


def compiled(program: Program) -> Kernel:
    """The kernel of a program, from memory or from the disk cache if the same program was compiled before.

    The key is the program itself, so that functions of the user may take part; tracing is repeated, which takes
    milliseconds, building is not.
    """
    return _kernel(_Identified(program))


class _Identified:
    """A program that equals any other which computes the same in the same way."""

    def __init__(self, program: Program):
        self.program = program
        digest = hashlib.sha256(repr((program.name, program.inputs, program.outputs)).encode())
        for part in (program.op, program.args, program.value, *program.results):
            digest.update(part.tobytes())
        self.key = digest.hexdigest()

    def __eq__(self, other):
        return self.key == other.key

    def __hash__(self):
        return hash(self.key)


@lru_cache(maxsize=128)
def _kernel(identified: _Identified) -> Kernel:
    return load_or_build(f"simulation {identified.key}", lambda: identified.program)
