"""Operations, constants and names of programs as C99."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

from .plan import live_nodes
from .program import Op, Program

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
STATIC = {
    Op.MINIMUM: "static {t} {p}minimum({t} a, {t} b) {{ {t} least = a < b ? a : b; return a != a ? a : least; }}",
    Op.MAXIMUM: "static {t} {p}maximum({t} a, {t} b) {{ {t} most = a > b ? a : b; return a != a ? a : most; }}",
    Op.SIGN: "static {t} {p}sign({t} a) {{ return a > 0 ? 1 : a < 0 ? -1 : a == 0 ? 0 : a; }}",
}
"""Functions that C does not have or defines otherwise, as definitions for a type `t` and a prefix `p` of names."""


def identifier(text: str, taken: set[str]) -> str:
    """A C name made of a text, different from those taken already."""
    stem = re.sub(r"\W", "_", text, flags=re.ASCII)
    if not stem or _RESERVED.fullmatch(stem) or stem[0].isdigit():
        stem = f"x_{stem.strip('_')}"
    name, count = stem, 2
    while name in taken:
        name, count = f"{stem}_{count}", count + 1
    taken.add(name)
    return name


class Expressions:
    """How C writes the operations of one element type.

    Args:
        dtype: float64 or float32.
        prefix: of the names of static functions.
    """

    dtype: np.dtype
    prefix: str

    def __init__(self, dtype: np.dtype, prefix: str):
        self.dtype, self.prefix = dtype, prefix
        self.type: str = "double" if dtype == np.float64 else "float"
        self._suffix = "" if dtype == np.float64 else "f"

    def definitions(self, used: set[Op]) -> list[str]:
        """Static functions for the operations that need one."""
        return [STATIC[op].format(t=self.type, p=f"{self.prefix}_") for op in sorted(STATIC) if op in used]

    def assignments(self, program: Program, element: Callable[[int, int], str]) -> tuple[list[str], dict[int, str]]:
        """A statement for every operation that a result depends on, and the text of every node.

        `element` gives the text of an element of an input, from the numbers of both.
        """
        op, args = program.op.tolist(), program.args.tolist()
        lines: list[str] = []
        text: dict[int, str] = {}
        for node in np.flatnonzero(live_nodes(program)).tolist():
            kind = Op(op[node])
            if kind is Op.CONST:
                text[node] = self.number(program.value[node])
                continue
            if kind is Op.INPUT:
                expression = element(*args[node][:2])
            else:
                expression = self.operation(kind, [text[k] for k in args[node] if k >= 0])
            lines.append(f"const {self.type} t{node} = {expression};")
            text[node] = f"t{node}"
        return lines, text

    def operation(self, op: Op, operands: list[str]) -> str:
        """An operation on texts of its operands."""
        a, b, c = (*operands, "", "", "")[:3]
        if op in (Op.LESS, Op.LESS_EQUAL, Op.EQUAL):
            return f"({self.type})({a} {_INFIX[op]} {b})"
        if op in _INFIX:
            return f"{a} {_INFIX[op]} {b}"
        if op is Op.NEG:
            return f"-({a})"
        if op in _FUNCTIONS:
            return f"{_FUNCTIONS[op]}{self._suffix}({', '.join(x for x in (a, b) if x)})"
        if op in STATIC:
            return f"{self.prefix}_{op.name.lower()}({', '.join(x for x in (a, b) if x)})"
        if op in (Op.AND, Op.OR):
            return f"({self.type})({a} != 0 {'&&' if op is Op.AND else '||'} {b} != 0)"
        if op is Op.NOT:
            return f"({self.type})({a} == 0)"
        assert op is Op.SELECT, op
        return f"{a} != 0 ? {b} : {c}"

    def number(self, value: float) -> str:
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
        text += self._suffix
        return f"({text})" if text.startswith("-") else text
