"""Runs exported inverse kinematics in C, strictly compiled and with sanitizers."""

from __future__ import annotations

import shutil
import subprocess

import numpy as np
import pytest

from zveno.ik.native.controller import controller_ik

COMPILER = shutil.which("cc") or shutil.which("gcc")
STRICT = ("-std=c99", "-O1", "-Wall", "-Wextra", "-Wconversion", "-Werror")
SANITIZED = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")
NO_POSE = -1


def run(
    robot, folder, inputs: list[np.ndarray], single: bool = False, redundant: str | None = None
) -> list[np.ndarray]:
    """The outputs (k, …) of exported inverse kinematics for k states of its inputs."""
    program = controller_ik(robot, None, single, redundant).program
    return run_exported(robot, program, folder, inputs, single, redundant_joint=redundant)


def run_exported(robot, program, folder, inputs: list[np.ndarray], single: bool = False, **options):
    """The outputs (k, …) of an exported function, which `program` writes, for k states of its inputs."""
    if COMPILER is None:
        pytest.skip("there is no C compiler")
    robot.export_c([program.name], folder, single=single, timed=False, overwrite=True, **options)
    scalar = "float" if single else "double"
    dtype, name = np.dtype(np.float32 if single else np.float64), f"{robot.name}_{program.name}"
    declared = "".join(f"static {scalar} {a.name}[{max(a.size, 1)}];" for a in (*program.inputs, *program.outputs))
    calls = ", ".join(argument.name for argument in (*program.inputs, *program.outputs))
    reads = " && ".join(f"fread({a.name}, sizeof {a.name}, 1, stdin) == 1" for a in program.inputs)
    writes = "".join(f"fwrite({a.name}, sizeof {a.name}, 1, stdout);" for a in program.outputs)
    text = f"""#include <stdio.h>
#include "{name}.h"
static {name}_memory memory;
{declared}
int main(void) {{ while ({reads}) {{ {name}(&memory, {calls}); {writes} }} return 0; }}
"""
    (folder / "main.c").write_text(text)
    command = [COMPILER, *STRICT, *SANITIZED, "main.c", f"{name}.c", "-lm", "-o", "main"]
    built = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    k = len(inputs[0])
    given = np.concatenate([part.reshape(k, -1) for part in inputs], axis=1).astype(dtype).tobytes()
    done = subprocess.run(["./main"], cwd=folder, input=given, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    flat = np.frombuffer(done.stdout, dtype).reshape(k, -1).astype(float)
    sizes = np.cumsum([max(argument.size, 1) for argument in program.outputs])[:-1]
    shapes = [argument.shape for argument in program.outputs]
    return [part.reshape(k, *shape) for part, shape in zip(np.split(flat, sizes, axis=1), shapes, strict=True)]
