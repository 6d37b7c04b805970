"""Random structured programs: nested loops, switches, masked loops, rows by number, counter, table and lane."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from zveno.kernels import ops as zm
from zveno.kernels.builder import Builder

WIDTH = 3


@dataclass(frozen=True)
class Recipe:
    """What a random program is made from; equal recipes give equal programs."""

    seed: int
    n: int
    depth: int = 2
    masks: bool = True

    def choices(self) -> np.random.Generator:
        return np.random.default_rng(self.seed)


def mixed(a, b):
    """Smooth, bounded and without loss of digits, so that all interpretations agree to rounding."""
    return zm.sin(a) * b[::-1] + 0.5 * a, 0.25 * b - zm.cos(a)


def folded(a):
    return np.array([a[0] * a[1] - 0.5 * a[2], zm.where(zm.less(a[0], a[1]), a[2], 0.0), 0.5 * a[1]])


def compared(a):
    """A flag that falls sooner or later, and a number that tells how late; NaN counts as down."""
    return np.array([zm.where(zm.less(0.1, zm.abs(a[0])), 1.0, 0.0)]), 0.5 * a


def chosen_row(a):
    """A row of its own for every lane, some of them outside."""
    return np.array([2.5 * a[0] + 1.0])


def halved(a, b):
    return 0.5 * (a + b)


def random_program(program: Builder, recipe: Recipe) -> None:
    """Write a program from a recipe."""
    rng, n = recipe.choices(), recipe.n
    x = program.input("x", (n, WIDTH), WIDTH)
    y = program.output("y", (n + 1, WIDTH), WIDTH, zero=True)
    memory = program.scratch("memory", n + 2, WIDTH, zero=True)
    flag = program.scratch("flag", 1, 1, zero=True)
    row = program.scratch("row", 1, 1, zero=True)
    constants = program.table("constants", np.round(rng.normal(size=(n + 1, WIDTH)), 2))
    order = program.index("order", rng.integers(0, n + 1, n + 1))
    adds = program.index("adds", rng.integers(0, 2, n + 1))
    which = program.index("which", rng.integers(-1, 4, n + 1))

    def some_row(counters):
        kind = rng.integers(5)
        if kind == 0 or not counters:
            return int(rng.integers(n + 1))
        i = counters[rng.integers(len(counters))]
        return (i, i + 1, order[i], order[order[i]])[kind - 1]

    def some_read(counters):
        kind = rng.integers(5)
        if kind == 0 and counters:
            return x[counters[-1]]
        if kind == 1:
            return constants[some_row(counters)]
        if kind == 2:
            return memory[row.lane()]
        return memory[some_row(counters)]

    def statement(counters, depth):
        kind = int(rng.integers(8 if depth else 4))
        if kind < 2:
            a, b = program.step(mixed, some_read(counters), some_read(counters))
            memory[some_row(counters)] = a
            if counters and rng.random() < 0.5:
                b = b.added_if(adds[counters[-1]])
            y[some_row(counters)] = b
        elif kind == 2:
            row[0] = program.step(chosen_row, some_read(counters))
            memory[row.lane()] = program.step(halved, some_read(counters), memory[row.lane()])
        elif kind == 3:
            y[some_row(counters)] = program.step(folded, some_read(counters))
        elif kind < 6:
            with program.each(int(rng.integers(n + 1)), reverse=bool(rng.integers(2))) as i:
                block([*counters, i], depth - 1)
        elif kind == 6 and counters:
            for _ in program.switch(which[counters[-1]], range(3)):
                block(counters, depth - 1)
        elif recipe.masks:
            start = some_read(counters)
            flag[0], memory[0] = program.step(compared, start)
            with program.repeat_while(flag, int(rng.integers(5))):
                block(counters, depth - 1)
                flag[0], memory[0] = program.step(compared, memory[0])

    def block(counters, depth):
        for _ in range(int(rng.integers(1, 4))):
            statement(counters, depth)

    for _ in range(3):
        block([], recipe.depth)
    with program.each(n) as i:
        y[i] = program.step(halved, memory[i + 1], x[i])
