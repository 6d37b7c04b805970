"""Random straight-line computations that run alike on numbers, arrays and traced scalars.

`expressions()` is a hypothesis strategy, `random_expression(rng)` draws one from a NumPy generator. An
expression maps a sequence of `n_inputs` values, each a number, an array or a scalar, to a list of values.
Denominators and radicands are kept away from zero, so that finite inputs of order one seldom overflow;
:meth:`Expression.values` gives every intermediate result to check that.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from zveno.kernels import ops as zm

CONSTANTS = (0.0, 1.0, -1.0, 2.0, 0.5, 3.0, -0.7)

ARITHMETIC = {
    "add": lambda a, b, c: a + b,
    "sub": lambda a, b, c: a - b,
    "mul": lambda a, b, c: a * b,
    "neg": lambda a, b, c: -a,
    "div": lambda a, b, c: a / (b * b + 0.5),
    "halve": lambda a, b, c: a / 4.0 - b / -3.0,
    "difference": lambda a, b, c: (a - b) * (b - a),
}
SMOOTH = ARITHMETIC | {
    "sin": lambda a, b, c: zm.sin(a),
    "cos": lambda a, b, c: zm.cos(a),
    "tan": lambda a, b, c: zm.tan(0.5 * zm.tanh(a)),
    "tanh": lambda a, b, c: zm.tanh(a),
    "asin": lambda a, b, c: zm.asin(0.9 * zm.sin(a)),
    "acos": lambda a, b, c: zm.acos(0.9 * zm.sin(a)),
    "atan": lambda a, b, c: zm.atan(a),
    "atan2": lambda a, b, c: zm.atan2(a, b * b + 0.5),
    "sqrt": lambda a, b, c: zm.sqrt(a * a + 0.1),
    "exp": lambda a, b, c: zm.exp(zm.sin(a)),
    "log": lambda a, b, c: zm.log(a * a + 0.1),
}
ALL = SMOOTH | {
    "abs": lambda a, b, c: zm.abs(a),
    "sign": lambda a, b, c: zm.sign(a),
    "floor": lambda a, b, c: zm.floor(3.0 * zm.sin(a)),
    "minimum": lambda a, b, c: zm.minimum(a, b),
    "maximum": lambda a, b, c: zm.maximum(a, b),
    "less": lambda a, b, c: zm.where(zm.less(a, b), a, c),
    "less_equal": lambda a, b, c: zm.where(zm.less_equal(a, b), b, c),
    "equal": lambda a, b, c: zm.where(zm.equal(a, b), b, c),
    "truth": lambda a, b, c: zm.where(a, b, -b),
    "logic": lambda a, b, c: zm.where(
        zm.logical_and(zm.logical_or(zm.less(a, b), zm.less(c, 0.5)), zm.logical_not(zm.less(a, c))), a, -b
    ),
}


@dataclass(frozen=True)
class Expression:
    """Steps (operation, three operands); operands count from the newest value back, and wrap around."""

    steps: tuple[tuple[str, int, int, int], ...]
    n_inputs: int = 3
    n_outputs: int = 3

    def values(self, inputs, number=float) -> list:
        """Inputs, constants (made by `number`) and the result of every step."""
        values = [*inputs, *map(number, CONSTANTS)]
        for name, *places in self.steps:
            values.append(ALL[name](*[values[-1 - place % len(values)] for place in places]))
        return values

    def __call__(self, inputs, number=float) -> list:
        return self.values(inputs, number)[-self.n_outputs :]


def expressions(operations=ALL, max_steps: int = 25):
    """Expressions over the given operations."""
    place = st.integers(0, 30)
    step = st.tuples(st.sampled_from(sorted(operations)), place, place, place)
    return st.lists(step, min_size=1, max_size=max_steps).map(lambda steps: Expression(tuple(steps)))


def random_expression(rng: np.random.Generator, operations=ALL, n_steps: int = 40) -> Expression:
    """One expression of `n_steps` steps that mostly use recent values."""
    names = sorted(operations)
    steps = [(names[rng.integers(len(names))], *rng.integers(0, 12, 3).tolist()) for _ in range(n_steps)]
    return Expression(tuple(steps))
