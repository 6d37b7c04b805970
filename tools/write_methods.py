"""Writes src/zveno/function_methods.py: one method for each function of the table in `zveno.functions`."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from zveno.functions import FUNCTIONS, OPTIONS, Function

TARGET = Path(__file__).resolve().parents[1] / "src" / "zveno" / "function_methods.py"
HEAD = '''"""Methods of a robot for every function of `functions.FUNCTIONS`; written by tools/write_methods.py."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .algorithms.references import Reference

Outputs = tuple[np.ndarray | None, ...] | None
"""Arrays for the results of a function that has several."""


class FunctionMethods:
    """The compiled functions of a robot."""

    def _run(self, key: tuple, arrays: tuple, out: Any, external: ArrayLike | None = None) -> Any:
        raise NotImplementedError
'''
POSITIONAL = {"frame": "frame: str | None = None", "frames": "frames: Sequence[str]"}
KEYWORDS = {
    "reference": 'reference: Reference = "aligned"',
    "joint_friction": "joint_friction: bool = False",
    "external": "external: ArrayLike | None = None",
}
VALUES = {"frames": "tuple(frames)"}


def method(function: Function) -> str:
    """The source of a method."""
    several = len(function.outputs) > 1
    result = "np.ndarray" if not several else f"tuple[{', '.join(['np.ndarray'] * len(function.outputs))}]"
    before = [f"{name}: ArrayLike" for name in function.inputs]
    before += [POSITIONAL[name] for name in function.options if name in POSITIONAL]
    after = [KEYWORDS[name] for name in function.options if name in KEYWORDS]
    after.append("out: Outputs = None" if several else "out: np.ndarray | None = None")
    key = [f'"{function.name}"', *(VALUES.get(name, name) for name in function.options if name != "external")]
    values = listed(key), listed(function.inputs), "out"
    values += ("external",) if "external" in function.options else ()
    return (
        f"    def {function.name}(self, {', '.join(before)}, *, {', '.join(after)}) -> {result}:\n"
        f'        """{documentation(function)}"""\n'
        f"        return self._run({', '.join(values)})\n"
    )


def listed(items: Sequence[str]) -> str:
    """A tuple as source."""
    return f"({items[0]},)" if len(items) == 1 else f"({', '.join(items)})"


def documentation(function: Function) -> str:
    """The docstring of a method: its first line, its options, and the shapes of what it returns."""
    indent = "\n        "
    lines = [function.doc, ""]
    if function.options:
        lines += ["Args:", *(f"    {name}: {OPTIONS[name]}" for name in function.options), ""]
    returned = ", ".join(f"{name} {shape(sizes)}" for name, sizes in function.outputs.items())
    lines += ["Returns:", f"    {returned}"]
    return indent.join(lines).replace(f"{indent}\n", "\n\n") + indent


def shape(sizes: tuple[str | int, ...]) -> str:
    """The shape of an output with its batch axes."""
    return f"({', '.join(['...', *map(str, sizes)])})" if sizes else "(...)"


def module() -> str:
    """The source of the module, formatted."""
    text = HEAD + "".join("\n" + method(function) for function in FUNCTIONS.values() if function.method)
    ruff = [sys.executable, "-m", "ruff", "format", "--stdin-filename", str(TARGET), "-"]
    return subprocess.run(ruff, input=text, capture_output=True, text=True, check=True).stdout


if __name__ == "__main__":
    TARGET.write_text(module())
