"""Texts of an export: the robot's header, an example that calls a function, and the README page."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from .errors import visible
from .kernels.export_c import CSource
from .kernels.program import Program
from .mechanism import Mechanism

TITLE = ": functions in C"
"""Suffix of the robot's name in the first line of the page."""


class Exportable(Protocol):
    """Robot whose functions are exported, open or closed."""

    @property
    def name(self) -> str:
        """Name of the robot."""
        ...

    @property
    def mechanism(self) -> Mechanism:
        """Mechanism of the robot."""
        ...

    @property
    def n_q(self) -> int:
        """Number of coordinates."""
        ...

    def neutral(self) -> np.ndarray:
        """Return the configuration of the example."""
        ...


def common_header(stem: str, functions: Sequence[str]) -> str:
    """Return the header of a robot, which includes those of its functions."""
    guard = f"{stem.upper()}_H"
    includes = "\n".join(f'#include "{name}.h"' for name in functions)
    title = f"/* All exported functions of {stem}, written by zveno. */"
    return f"{title}\n#ifndef {guard}\n#define {guard}\n\n{includes}\n\n#endif\n"


def arrays(program: Program, source: CSource, scalar: str, given: dict) -> tuple[str, str]:
    """Return declarations of arrays for a call, with the given values, and the arguments of the call."""
    lines, names = [], []
    if source.memory is not None:
        lines, names = [f"    static {source.memory} memory_;"], ["&memory_"]
    for argument in (*program.inputs, *program.outputs):
        name = f"{argument.name.replace(':', '_')}_"
        values = np.ravel(given.get(argument.name, 0)).tolist()
        filled = ", ".join(f"({scalar}){value!r}" for value in values) if argument.name in given else "0"
        lines.append(f"    {scalar} {name}[{max(1, argument.size)}] = {{{filled}}};")
        names.append(name)
    return "\n".join(lines), ", ".join(names)


def example(robot: Exportable, stem: str, program: Program, source: CSource, single: bool, given: dict) -> str:
    """Return a program that calls one function once."""
    scalar = "float" if single else "double"
    declared, names = arrays(program, source, scalar, given)
    printed = "\n".join(
        f"""    puts("{output.name}:");
    for (i = 0; i < {max(1, output.size)}; ++i) {{
        printf("%.9g%c", (double){output.name}_[i], (i + 1) % {(output.shape[1:] or (1,))[-1]} ? ' ' : '\\n');
    }}"""
        for output in program.outputs
    )
    first, neutral = program.inputs[0].name, ", ".join(f"{value:.17g}" for value in robot.neutral())
    declared = declared.replace(f"{first}_[{robot.n_q}] = {{0}}", f"{first}_[{robot.n_q}] = {{{neutral}}}")
    return f"""/* Calls {source.name} once and prints what it returns; written by zveno. */
#include <stdio.h>

#include "{stem}.h"

int main(void)
{{
{declared}
    int i;

    {source.name}({names});
{printed}
    return 0;
}}
"""


def readme(
    robot: Exportable,
    stem: str,
    programs: Sequence[Any],
    exported: Sequence[Any],
    single: bool,
    before: Sequence[str],
) -> str:
    """Return the README page: how to compile, and arguments, results and cost of every function.

    `before` lists functions of an earlier export of the same robot that still exist.
    """
    scalar = "float" if single else "double"
    rows = []
    for program, function in zip(programs, exported, strict=True):
        inputs = ", ".join(f"{argument.name} {list(argument.shape)}" for argument in program.inputs)
        outputs = ", ".join(f"{argument.name} {list(argument.shape)}" for argument in program.outputs)
        count = function.operations
        time = "not measured" if function.nanoseconds is None else f"{function.nanoseconds:.0f} ns"
        rows.append(
            f"| `{function.name}` | {inputs} | {outputs} | {count.adds} | {count.multiplies} | {count.divides} "
            f"| {count.sincos} | {time} |"
        )
    joints = ", ".join(f"`{plain(name)}`" for name in robot.mechanism.coordinate_names)
    table = "\n".join(rows)
    name = plain(robot.name)
    return f"""# {name}{TITLE}

Written by zveno for {name}, in `{scalar}`. No allocation, no dependencies but `math.h`, reentrant.

    cc -std=c99 -O2 example_{stem}.c {stem}_*.c -lm -o example_{stem} && ./example_{stem}

Arrays are row-major; metres, radians, seconds, kilograms. Order of q: {joints or "no joints"}.
Gravity is {robot.mechanism.gravity.tolist()} m/s². Payload, tool and inertia are constants in the code.

| function | inputs | outputs | adds | multiplies | divides | sincos | time a call |
|---|---|---|---|---|---|---|---|
{table}

Times are of one call on the machine that exported, compiled with `-O2`.
{_kept(before)}"""


def _kept(before: Sequence[str]) -> str:
    if not before:
        return ""
    listed = ", ".join(f"`{name}`" for name in before)
    return f"\nExported before, with the constants and the number type of then: {listed}.\n"


def plain(name: str) -> str:
    """Return a name for Markdown, without line breaks, control characters and markup."""
    return re.sub(r"[\\`*\[\]<>|#]", lambda mark: f"\\{mark[0]}", visible(" ".join(name.split())))
