"""A program as C99: one function, no allocation, nothing needed but <math.h>.

The same operations in the same order as the kernel, so the results differ by rounding only (the kernel fuses
multiplications and additions where it can).
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import DTypeLike

from .._version import __version__
from ..errors import BuildError
from .operations import count_operations
from .plan import check, live_nodes
from .program import Argument, Op, Program

_RESERVED = re.compile(
    # keywords of C99 and of C++, where the header must be readable too
    "auto|break|case|char|const|continue|default|do|double|else|enum|extern|float|for|goto|if|inline|int|long|"
    "register|restrict|return|short|signed|sizeof|static|struct|switch|typedef|union|unsigned|void|volatile|"
    "while|class|delete|new|operator|private|protected|public|template|this|throw|try|catch|virtual|namespace|"
    "using|bool|true|false|and|or|not|xor|export|friend|typename|main|"
    # what the function itself uses, and names <math.h> may declare
    r"a?(sin|cos|tan)h?f?|atan2f?|expf?|logf?|sqrtf?|fabsf?|floorf?|[jy][01n]|gamma|signgam|NAN|INFINITY|t\d+|_.*"
)
_INFIX = {
    Op.ADD: "+",
    Op.SUB: "-",
    Op.MUL: "*",
    Op.DIV: "/",
    Op.LESS: "<",
    Op.LESS_EQUAL: "<=",
    Op.EQUAL: "==",
}
_FUNCTIONS = {
    **{op: op.name.lower() for op in (Op.SIN, Op.COS, Op.TAN, Op.ASIN, Op.ACOS, Op.ATAN, Op.ATAN2, Op.EXP)},
    **{op: op.name.lower() for op in (Op.LOG, Op.TANH, Op.SQRT, Op.FLOOR)},
    Op.ABS: "fabs",
}
_STATIC = {
    Op.MINIMUM: "static {t} {p}minimum({t} a, {t} b) {{ return (a < b || a != a) ? a : b; }}",
    Op.MAXIMUM: "static {t} {p}maximum({t} a, {t} b) {{ return (a > b || a != a) ? a : b; }}",
    Op.SIGN: "static {t} {p}sign({t} a) {{ return a > 0 ? 1 : a < 0 ? -1 : a == 0 ? 0 : a; }}",
}


@dataclass(frozen=True)
class CSource:
    """The two files of an exported function."""

    name: str
    """The function, and the stem of both files."""
    header: str
    source: str

    def write(self, directory: str | Path) -> tuple[Path, Path]:
        """Write header and source into a directory, which is made if it does not exist.

        Raises:
            BuildError: a file cannot be written.
        """
        place = Path(directory)
        paths = place / f"{self.name}.h", place / f"{self.name}.c"
        try:
            place.mkdir(parents=True, exist_ok=True)
            for path, text in zip(paths, (self.header, self.source), strict=True):
                # Written beside and renamed: a failure leaves what was there, and links are not followed.
                partial = path.with_name(f".{path.name}.{os.urandom(8).hex()}")
                try:
                    with open(partial, "x", encoding="utf-8", newline="\n") as stream:
                        stream.write(text)
                    os.replace(partial, path)
                finally:
                    partial.unlink(missing_ok=True)
        except OSError as error:
            raise BuildError(f"cannot be written: {error.strerror}", file=error.filename or place) from error
        return paths


def export_c(
    program: Program, dtype: DTypeLike = np.float64, name: str | None = None, returns: str | None = None
) -> CSource:
    """The program as C99 text. The same program always gives the same text.

    Args:
        program: what to compute.
        dtype: float64 for `double`, float32 for `float`.
        name: the function; the program's name if None. Characters C does not allow become underscores.
        returns: an output that holds one whole number, which the function returns as an int, such as a status.

    Raises:
        BuildError: the program, the dtype or `returns` is not valid.
    """
    element = np.dtype(dtype)
    if element not in (np.float64, np.float32):
        raise BuildError(f"C is exported for float64 or float32, not {element}", element="dtype")
    check(program)
    if returns is not None and Argument(returns, ()) not in program.outputs:
        raise BuildError(f"has no output {returns!r} of one number to return", element=program.name)
    return _Writer(program, element, _identifier(name or program.name, set()), returns).source()


def _identifier(text: str, taken: set[str]) -> str:
    """A C name made of a text, different from those taken already."""
    stem = re.sub(r"\W", "_", text, flags=re.ASCII)
    if not stem or _RESERVED.fullmatch(stem) or stem[0].isdigit():
        stem = f"x_{stem.strip('_')}"
    name, count = stem, 2
    while name in taken:
        name, count = f"{stem}_{count}", count + 1
    taken.add(name)
    return name


class _Writer:
    """Turns the nodes of a program into statements."""

    def __init__(self, program: Program, dtype: np.dtype, name: str, returns: str | None = None):
        self.program, self.dtype, self.name, self.returns = program, dtype, name, returns
        self.type = "double" if dtype == np.float64 else "float"
        self.suffix = "" if dtype == np.float64 else "f"
        taken = {name, *(f"{name}_{op.name.lower()}" for op in _STATIC)}
        self.names = [_identifier(a.name, taken) for a in (*program.inputs, *program.outputs)]
        self.text: list[str] = [""] * program.n_nodes

    def source(self) -> CSource:
        """Header and source."""
        statements = self._statements()
        used = {Op(code) for code in self.program.op[live_nodes(self.program)].tolist()}
        definitions = [_STATIC[op].format(t=self.type, p=f"{self.name}_") for op in sorted(_STATIC) if op in used]
        lines = [
            f"/* {self.name}: see {self.name}.h */",
            f'#include "{self.name}.h"',
            "",
            "#include <math.h>",
            "",
            *(f"{text}\n" for text in definitions),
            f"{self._prototype()} {{",
            *(f"    {line}" for line in statements),
            "}",
            "",
        ]
        return CSource(self.name, self._header(), "\n".join(lines))

    def _prototype(self) -> str:
        n = len(self.program.inputs)
        parts = [
            f"{'const ' if k < n else ''}{self.type} {name}[{max(argument.size, 1)}]"
            for k, (name, argument) in enumerate(zip(self.names, self._arguments(), strict=True))
            if k < n or argument.name != self.returns
        ]
        return f"{'void' if self.returns is None else 'int'} {self.name}({', '.join(parts)})"

    def _arguments(self) -> tuple[Argument, ...]:
        return (*self.program.inputs, *self.program.outputs)

    def _header(self) -> str:
        guard = f"{self.name.upper()}_H"
        n = len(self.program.inputs)
        listed = []
        for k, (name, argument) in enumerate(zip(self.names, self._arguments(), strict=True)):
            if k >= n and argument.name == self.returns:
                listed.append(f" *   returns      {name}")
                continue
            shape = " x ".join(map(str, argument.shape)) or "1"
            order = ", row-major" if len(argument.shape) > 1 else ""
            unused = "" if argument.size else ", not read" if k < n else ", not written"
            listed.append(f" *   {name:<12} {'in ' if k < n else 'out'}  {shape}{order}{unused}")
        return "\n".join(
            [
                f"/* {self.name}, generated by zveno {__version__}.",
                " *",
                *listed,
                " *",
                f" * Operations: {count_operations(self.program)}.",
                " * No allocation, no state; outputs may overlap inputs.",
                " */",
                f"#ifndef {guard}",
                f"#define {guard}",
                "",
                "#ifdef __cplusplus",
                'extern "C" {',
                "#endif",
                "",
                f"{self._prototype()};",
                "",
                "#ifdef __cplusplus",
                "}",
                "#endif",
                "",
                "#endif",
                "",
            ]
        )

    def _statements(self) -> list[str]:
        program, lines = self.program, []
        op, args = program.op.tolist(), program.args.tolist()
        read: set[int] = set()
        for node in np.flatnonzero(live_nodes(program)).tolist():
            kind = Op(op[node])
            if kind is Op.CONST:
                self.text[node] = self._number(program.value[node])
                continue
            if kind is Op.INPUT:
                read.add(args[node][0])
            lines.append(f"const {self.type} t{node} = {self._expression(kind, args[node])};")
            self.text[node] = f"t{node}"
        silent = [f"(void){self.names[k]};" for k in range(len(program.inputs)) if k not in read]
        first = len(program.inputs)
        stores, returned = [], []
        for name, argument, nodes in zip(self.names[first:], program.outputs, program.results, strict=True):
            if argument.name == self.returns:
                returned = [f"return (int){self.text[int(nodes.ravel()[0])]};"]
                continue
            if not argument.size:
                silent.append(f"(void){name};")
            stores += [f"{name}[{j}] = {self.text[node]};" for j, node in enumerate(nodes.tolist())]
        return [*silent, *lines, *stores, *returned]

    def _expression(self, op: Op, args: list[int]) -> str:
        if op is Op.INPUT:
            return f"{self.names[args[0]]}[{args[1]}]"
        a, b, c = (self.text[k] if k >= 0 else "" for k in args)
        if op in (Op.LESS, Op.LESS_EQUAL, Op.EQUAL):
            return f"({self.type})({a} {_INFIX[op]} {b})"
        if op in _INFIX:
            return f"{a} {_INFIX[op]} {b}"
        if op is Op.NEG:
            return f"-({a})"
        if op in _FUNCTIONS:
            return f"{_FUNCTIONS[op]}{self.suffix}({', '.join(x for x in (a, b) if x)})"
        if op in _STATIC:
            return f"{self.name}_{op.name.lower()}({', '.join(x for x in (a, b) if x)})"
        if op in (Op.AND, Op.OR):
            return f"({self.type})({a} != 0 {'&&' if op is Op.AND else '||'} {b} != 0)"
        if op is Op.NOT:
            return f"({self.type})({a} == 0)"
        assert op is Op.SELECT, op
        return f"{a} != 0 ? {b} : {c}"

    def _number(self, value: float) -> str:
        """A constant that reads back as exactly the same number."""
        with np.errstate(all="ignore"):
            number = self.dtype.type(value)
        if np.isnan(number):
            return f"({self.type})NAN"
        if np.isinf(number):
            return f"({'-' if number < 0 else ''}({self.type})INFINITY)"
        text = repr(float(number)) if self.type == "double" else str(number)
        if "e" not in text and "." not in text:
            text += ".0"
        text += self.suffix
        return f"({text})" if text.startswith("-") else text
