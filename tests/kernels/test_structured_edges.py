"""Edges of structured programs, each by name, in NumPy, in lanes, state by state and in C: the same numbers."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from kernels.test_export_c import build, needs_compiler
from zveno.kernels import ops as zm
from zveno.kernels.builder import Builder, structured_program
from zveno.kernels.compile import compiled_structured
from zveno.kernels.evaluate import evaluate
from zveno.kernels.export_c import export_c
from zveno.kernels.program import check

DEPTH = 3
N = 6


def _pushed(x, top, full):
    """Where x goes, the top after it, and whether the stack was full: x is kept only where it is positive."""
    wanted, room = zm.less(0.0, x[0]), zm.less(top[0], float(DEPTH))
    row = zm.where(zm.logical_and(wanted, room), top[0], float(DEPTH))  # the last row takes what is not kept
    lost = zm.logical_and(wanted, zm.logical_not(room))
    return np.array([row]), top + zm.logical_and(wanted, room), zm.maximum(full, np.array([lost])), x


def stack(program: Builder, n: int) -> None:
    """Push the positive numbers of x; the stack holds `DEPTH`, and a flag says whether some found no room."""
    x = program.input("x", (n,))
    kept = program.output("kept", (DEPTH + 1,), zero=True)
    before, behind = program.output("before", (), zero=True), program.output("behind", (), zero=True)
    overflow = program.output("overflow", (), zero=True)
    top, row = program.scratch("top", 1, 1, zero=True), program.scratch("row", 1, 1)
    with program.each(n) as i:
        row[0], top[0], overflow[0], value = program.step(_pushed, x[i], top[0], overflow[0])
        kept[row.lane()] = value
    before[0], behind[0] = program.step(lambda top: (0.0 * top, top), top[0])


def _halved(x):
    return 0.5 * x


def _negative(x):
    return np.array([zm.less(x[0], 0.0)])


def without_trips(program: Builder, n: int) -> None:
    """Loops that run no time: over nothing, with a bound of nothing, and with no flag; then one that runs."""
    x, y = program.input("x", ()), program.output("y", (4,), zero=True)
    flag = program.scratch("flag", 1, 1)
    with program.each(n) as _:
        y[0] = program.step(_halved, x[0])
    flag[0] = program.step(lambda x: np.ones(1), x[0])
    with program.repeat_while(flag, n):
        y[1] = program.step(_halved, x[0])
    flag[0] = program.step(_negative, x[0])
    with program.repeat_while(flag, 5):
        y[2], flag[0] = program.step(lambda x: (0.5 * x, np.zeros(1)), x[0])
    y[3] = program.step(_halved, x[0])


def counted_down(program: Builder, bound: int) -> None:
    """Lanes leave at trips of their own: x less 1 as long as it is above 0, at most `bound` times."""
    x, y = program.input("x", ()), program.output("y", ())
    flag = program.scratch("flag", 1, 1)
    y[0], flag[0] = program.step(lambda x: (x, np.array([zm.less(0.0, x[0])])), x[0])
    with program.repeat_while(flag, bound):
        y[0], flag[0] = program.step(lambda y: (y - 1.0, np.array([zm.less(1.0, y[0])])), y[0])


def summed_while(program: Builder, n: int) -> None:
    """Rows by the number of the trip: the first `count` of x are summed up, in every lane as many as it wants."""
    x, count = program.input("x", (n,)), program.input("count", ())
    y, left = program.output("y", (), zero=True), program.scratch("left", 1, 1)
    left[0] = program.step(lambda c: c, count[0])
    with program.repeat_while(left, n) as i:
        y[0], left[0] = program.step(lambda y, x, left: (y + x, left - 1.0), y[0], x[i], left[0])


def chosen_rows(program: Builder, n: int) -> None:
    """A row by a number of any kind: NaN and negative mean the first, too large the last."""
    x, place = program.input("x", (n,)), program.input("place", ())
    y, row = program.output("y", ()), program.scratch("row", 1, 1)
    row[0] = program.step(lambda p: p, place[0])
    y[0] = program.step(lambda v: v, x[row.lane()])


def exchanged(program: Builder, n: int) -> None:
    """Two rows that a step exchanges: it reads all before it writes."""
    x, y = program.input("x", (2,)), program.output("y", (2,))
    first, second = program.scratch("first", 1, 1), program.scratch("second", 1, 1)
    first[0], second[0] = program.step(lambda a, b: (a, b), x[0], x[1])
    with program.each(n) as _:
        first[0], second[0] = program.step(lambda a, b: (b, a), first[0], second[0])
    y[0], y[1] = program.step(lambda a, b: (a, b), first[0], second[0])


X = np.array(
    [
        [1.0, 2.0, 3.0, -1.0, -2.0, -3.0],  # full to the brim
        [1.0, 2.0, 3.0, 4.0, 5.0, 6.0],  # three too many
        [-1.0, -2.0, -3.0, -4.0, -5.0, -6.0],  # empty
        [np.nan, 1.0, np.nan, 2.0, -0.0, 0.0],  # what is not a number is not positive
        [np.inf, 1.0, -np.inf, 2.0, 3.0, 4.0],
    ]
)
CASES = {
    "overflow of a stack": (stack, N, (X,)),
    "zero trips": (without_trips, 0, (np.array([1.0, -2.0, 0.0, np.nan, 4.0]),)),
    "divergent lanes": (counted_down, 4, (np.array([0.0, 1.0, 2.5, 3.0, 9.0, np.nan, -1.0, np.inf]),)),
    "rows by trips": (
        summed_while,
        N,
        (np.tile(2.0 ** np.arange(6.0), (5, 1)), np.array([0.0, 1.0, 3.0, 6.0, 2.0])),
    ),
    "two rows exchanged": (exchanged, 3, (np.array([[1.0, 2.0], [3.0, 4.0], [np.nan, 5.0]]),)),
    "NaN as a row": (
        chosen_rows,
        N,
        (np.tile(np.arange(6.0), (7, 1)), np.array([np.nan, -3.0, 0.0, 2.9, 5.0, 99.0, np.inf])),
    ),
}
EXPECTED = {
    "overflow of a stack": {
        "kept": [[1, 2, 3], [1, 2, 3], [0, 0, 0], [1, 2, 0], [np.inf, 1, 2]],
        "behind": [3, 3, 0, 2, 3],
        "overflow": [0, 1, 0, 0, 1],
    },
    "zero trips": {"y": [[0, 0, 0, 0.5], [0, 0, -1, -1], [0, 0, 0, 0], [0, 0, 0, np.nan], [0, 0, 0, 2]]},
    "rows by trips": {"y": [0, 1, 7, 63, 3]},
    "divergent lanes": {"y": [0, 0, -0.5, 0, 5, np.nan, -1, np.inf]},
    "two rows exchanged": {"y": [[2, 1], [4, 3], [5, np.nan]]},
    "NaN as a row": {"y": [0, 0, 0, 2, 5, 5, 5]},
}


def results(structured, outputs) -> dict[str, np.ndarray]:
    names = [argument.name for argument in structured.outputs]
    return dict(zip(names, outputs if len(names) > 1 else (outputs,), strict=True))


def assert_expected(name: str, received: dict[str, np.ndarray], states=slice(None)) -> None:
    for key, values in EXPECTED[name].items():
        expected = np.array(values, float)[states]
        shown = received[key][..., :DEPTH] if key == "kept" else received[key]
        np.testing.assert_array_equal(shown, expected)


@pytest.mark.parametrize("name", CASES)
def test_in_numpy_and_in_lanes(name):
    write, size, given = CASES[name]
    structured, _ = structured_program(write, size)
    check(structured)
    assert_expected(name, results(structured, evaluate(structured, *given)))
    for state_by_state in (False, True):
        kernel = compiled_structured(write, size, state_by_state=state_by_state)
        for tail in range(1, len(given[0]) + 1):  # every remainder of a batch by the lanes
            received = results(structured, kernel(*(x[:tail] for x in given)))
            assert_expected(name, received, slice(0, tail))
        for k in range(len(given[0])):
            assert_expected(name, results(structured, kernel(*(np.array(x[k]) for x in given))), k)


@needs_compiler
@pytest.mark.parametrize("name", CASES)
def test_in_c(name, tmp_path):
    write, size, given = CASES[name]
    structured, _ = structured_program(write, size)
    function = build(export_c(structured), tmp_path)
    for k in range(len(given[0])):
        arrays = [np.array(x[k], float) for x in given]
        outputs = [np.zeros(argument.shape) for argument in structured.outputs]
        memory = np.full(10_000, np.nan)
        function(*(ctypes.c_void_p(array.ctypes.data) for array in (memory, *arrays, *outputs)))
        assert_expected(name, dict(zip([a.name for a in structured.outputs], outputs, strict=True)), k)
