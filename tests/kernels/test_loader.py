"""The loader aborts the process on objects whose only references outside are calls: ours are never like that."""

from __future__ import annotations

import subprocess
import sys

import pytest

PLAIN = """
from zveno.kernels._host import Code, compile_object, host
text = f'''target triple = "{host().triple}"
declare double @zveno_sin(double)
define void @loop(ptr %x) nounwind {{
  %a = load double, ptr %x, align 8
  %y = call double @zveno_sin(double %a)
  store double %y, ptr %x, align 8
  ret void
}}
'''
print("loaded", Code(compile_object(text)).address("loop") > 0)
"""
"""Assembly without an address taken through the global offset table."""

OURS = """
import numpy as np
from zveno.kernels._assembly import Function, Module, Types
from zveno.kernels._host import Code, compile_object, host
module = Module(Types(np.dtype(float), 4))
f = Function(module, "void @loop(ptr %x)")
y = f.let(f"call double {module.declare('zveno_sin', 'double', ['double'])}(double {f.load('double', '%x', 8)})")
f.store("double", y, "%x", 8)
f.finish()
print("loaded", Code(compile_object(module.text(host().triple))).address("loop") > 0)
"""
"""The same calls through `Module`."""


def loaded(script: str) -> bool:
    """Whether a process that loads the object lives to say so."""
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    return run.returncode == 0 and "loaded True" in run.stdout


def test_a_module_of_calls_alone_is_loaded():
    assert loaded(OURS)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="seen on Linux only")
def test_the_trap_is_still_there():
    """If this fails, llvmlite reserves the table by itself now: `assembly._ANCHOR` can go."""
    assert not loaded(PLAIN)
