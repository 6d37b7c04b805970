"""The machine the code runs on: its vector width, its C library, and LLVM's compiler and loader for it."""

from __future__ import annotations

import ctypes
import functools
import os
import platform
from dataclasses import dataclass

import llvmlite
import llvmlite.binding as llvm

from ..errors import BuildError
from ._elementary import LIBRARY

_OPTIMISATION = 1


@dataclass(frozen=True)
class Host:
    """Properties of this machine that the generated code depends on."""

    triple: str
    cpu: str
    features: str
    vector_bytes: int
    fma: bool

    def lanes(self, itemsize: int) -> int:
        """Return the number of states per vector, for elements of `itemsize` bytes."""
        return self.vector_bytes // itemsize

    def fingerprint(self) -> str:
        """Return a text that differs between machines whose object code may differ."""
        return f"{self.triple} {self.cpu} {self.features} llvmlite {llvmlite.__version__}"


@functools.cache
def host() -> Host:
    """Query LLVM for this machine, once."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    _add_symbols()
    features = llvm.get_host_cpu_features()
    if features.get("avx512f") and features.get("avx512dq"):
        width = 64
    elif features.get("avx2"):
        width = 32
    else:
        width = 16
    width = _forced_width() or width
    fma = bool(features.get("fma")) or platform.machine().lower() in ("arm64", "aarch64")
    return Host(llvm.get_process_triple(), llvm.get_host_cpu_name(), features.flatten(), width, fma)


def _forced_width() -> int | None:
    """Return the vector size in bytes set by `ZVENO_LANES`, 8 per lane, or None.

    LLVM splits wide vectors into several registers. Results have the same bits for any number of lanes; this
    setting lets tests compare them.
    """
    lanes = os.environ.get("ZVENO_LANES", "")
    if lanes and lanes not in ("2", "4", "8"):
        raise BuildError(f"must be 2, 4 or 8, got {lanes!r}", element="ZVENO_LANES", remedy="Correct or unset it")
    return 8 * int(lanes) if lanes else None


def c_library() -> ctypes.CDLL:
    """Return the C library with its mathematical functions."""
    if os.name == "nt":
        return ctypes.CDLL("ucrtbase")
    here = ctypes.CDLL(None)
    return here if hasattr(here, "atan2f") and hasattr(here, "fetestexcept") else ctypes.CDLL("libm.so.6")


def _add_symbols() -> None:
    """Register with LLVM the addresses of the functions that generated code calls, under names of our own."""
    library = c_library()
    names = [name + suffix for name in LIBRARY.values() for suffix in ("", "f")]
    for name in names:
        llvm.add_symbol(f"zveno_{name}", _address(getattr(library, name)))
    for name in ("fegetexceptflag", "fesetexceptflag"):
        llvm.add_symbol(f"zveno_{name}", _address(getattr(library, name)))
    llvm.add_symbol("zveno_interrupt", _address(ctypes.pythonapi.PyErr_SetInterrupt))
    for name in ("malloc", "free"):
        function = getattr(library if os.name == "nt" else ctypes.CDLL(None), name)
        llvm.add_symbol(f"zveno_{name}", _address(function))


def _address(function) -> int:
    address = ctypes.cast(function, ctypes.c_void_p).value
    assert address is not None
    return address


def _target_machine(**options) -> llvm.TargetMachine:
    target = llvm.Target.from_triple(host().triple)
    return target.create_target_machine(opt=_OPTIMISATION, reloc="pic", codemodel="small", **options)


def compile_object(assembly: str) -> bytes:
    """Compile a module to object code.

    No optimisation passes run. Programs have no common subexpressions, and the code generator does the rest:
    fusing, instruction selection and scheduling.
    """
    machine = _target_machine(cpu=host().cpu, features=host().features)
    with llvm.create_context() as context:
        try:
            module = llvm.parse_assembly(assembly, context)
        except RuntimeError as error:
            raise BuildError(f"LLVM rejects the generated code: {error}") from error
        with module:
            return machine.emit_object(module)


class Code:
    """Object code in executable memory. The memory is freed with this object."""

    def __init__(self, data: bytes):
        # One block for all sections, because the small code model needs them within 2 GB of each other.
        empty = llvm.parse_assembly("")
        self._engine = llvm.create_mcjit_compiler(empty, _target_machine(), use_lmm=True)
        self._engine.remove_module(empty)  # or it is compiled too, which takes longer than loading
        self._engine.add_object_file(llvm.ObjectFileRef.from_data(data))
        self._engine.finalize_object()
        self._addresses: dict[str, int] = {}

    def address(self, name: str) -> int:
        """Return the address of a function or variable of the object code, 0 if the name is unknown."""
        if name not in self._addresses:
            self._addresses[name] = self._engine.get_function_address(name)
        return self._addresses[name]

    def set_word(self, name: str, number: int, value: int) -> None:
        """Set one of the words of a variable in the object code."""
        ctypes.c_int64.from_address(self.address(name) + 8 * number).value = value
