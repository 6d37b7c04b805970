"""Loops laid across lanes: one state computes several trips at once, and the same numbers come out."""

from __future__ import annotations

import pickle
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from structured_programs import WIDTH, Recipe, random_program

from tiers import examples
from zveno.kernels import _lower as across_lanes
from zveno.kernels import ops as zm
from zveno.kernels._lower import laid_across
from zveno.kernels.builder import Builder, structured_program
from zveno.kernels.compile import compiled_structured
from zveno.kernels.evaluate import evaluate
from zveno.kernels.program import check

TOLERANCE = 1e-12
"""Lanes fuse multiplications and additions; the programs keep their digits."""


def worked(a, b):
    """Some dozen operations, so that the loop is worth the lanes."""
    for _ in range(10):
        a = np.array([zm.sin(a[0]) + b[1], 0.5 * a[1] * b[0] - zm.cos(a[2]), 0.25 * a[2] + b[2] * b[2]])
    return a, np.array([zm.less(1.0, zm.abs(a[0]) + 3.0)])


def shrunk(a):
    a = 0.5 * a
    return a, np.array([zm.less(0.1, zm.abs(a[0]))])


def reversed_rank(c):
    """Where a trip writes its row: outside the array for some, which means the first or last."""
    return np.array([2.0 - c[0]])


def as_it_is(a):
    return a


def row_by_row(program: Builder, n: int) -> None:
    """Every trip: work on a row and a constant, a loop of as many steps as it needs, and two rows of results."""
    x, y = program.input("x", (n, 3), 3), program.output("y", (n, 3), 3)
    ranked = program.output("ranked", (4, 3), 3, zero=True)
    constants = program.table("constants", np.sin(np.arange(3.0 * n)).reshape(n, 3))
    order = program.index("order", np.arange(n)[::-1])
    own, again, place = (
        program.scratch(name, 1, width) for name, width in (("own", 3), ("again", 1), ("place", 1))
    )
    with program.each(n) as i:
        own[0], again[0] = program.step(worked, x[order[i]], constants[i])
        with program.repeat_while(again, 7):
            own[0], again[0] = program.step(shrunk, own[0])
        place[0] = program.step(reversed_rank, own[0])
        y[i] = program.step(as_it_is, own[0])
        ranked[place.lane()] = program.step(as_it_is, own[0])


@pytest.mark.parametrize("n", [0, 1, 3, 4, 5, 17])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_one_state_and_batches_compute_the_same(n, dtype):
    """No trip, fewer than lanes, tails; lanes that take more steps than others; a row that several choose."""
    structured, _ = structured_program(row_by_row, n)
    check(structured)
    assert len(laid_across(structured)) == 1
    kernel = compiled_structured(row_by_row, n, dtype=dtype, state_by_state=True)
    x = np.random.default_rng(n).normal(size=(9, n, 3)).astype(dtype)
    x[4] *= 1e3
    expected = evaluate(structured, x.astype(float))
    tolerance = TOLERANCE if dtype == "float64" else 3e-3
    for batch in (slice(0, 9), slice(0, 4), slice(5, 8), slice(2, 3)):
        for received, reference in zip(kernel(x[batch]), expected, strict=True):
            np.testing.assert_allclose(received, reference[batch], rtol=tolerance, atol=tolerance)
    for k in range(9):
        for received, reference in zip(kernel(x[k].copy()), expected, strict=True):
            np.testing.assert_allclose(received, reference[k], rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("special", [np.nan, np.inf, -0.0])
def test_a_special_number_stays_in_its_trip(special):
    structured, _ = structured_program(row_by_row, 6)
    kernel = compiled_structured(row_by_row, 6, state_by_state=True)
    x = np.random.default_rng(0).normal(size=(6, 3))
    x[2, 1] = special
    with np.errstate(all="ignore"):
        for received, reference in zip(kernel(x), evaluate(structured, x), strict=True):
            np.testing.assert_allclose(received, reference, rtol=TOLERANCE, atol=TOLERANCE)


def test_one_state_is_bit_by_bit_that_of_a_batch_of_itself():
    kernel = compiled_structured(row_by_row, 7, state_by_state=True)
    x = np.random.default_rng(1).normal(size=(10, 7, 3))
    for alone, together in zip(zip(*map(kernel, x), strict=True), kernel(x), strict=True):
        assert np.array_equal(np.stack(alone), together)


def test_it_survives_pickling():
    kernel = compiled_structured(row_by_row, 5, state_by_state=True)
    x = np.random.default_rng(1).normal(size=(5, 3))
    copy = pickle.loads(pickle.dumps(kernel))
    assert all(map(np.array_equal, copy(x), kernel(x)))


CARRIED = (
    "nothing",
    "the row before",
    "a sum",
    "read before it is written",
    "written by a loop that may not run",
    "begins at zero",
    "read after the loop",
    "two writes of an output",
    "an output at one row",
    "backwards",
    "a case by counter",
)


def carrying(program: Builder, case: str) -> None:
    """`row_by_row`, and one thing more that ties a trip to others, or may."""
    n = 6
    x, y, z = (
        program.input("x", (n, 3), 3),
        program.output("y", (n + 1, 3), 3, zero=True),
        program.output("z", (3,), 3),
    )
    own = program.scratch("own", 1, 3, zero=case == "begins at zero")
    again, sums = program.scratch("again", 1, 1), program.scratch("sums", 1, 3, zero=True)
    adds = program.index("adds", [0, 1, 1, 1, 1, 1])
    cases = program.index("cases", [0, 1, 0, 1, 0, 1])
    z[0] = program.step(as_it_is, x[0])
    with program.each(n, reverse=case == "backwards") as i:
        if case == "read before it is written":
            y[i] = program.step(as_it_is, own[0])
        other = y[i] if case == "the row before" else x[i]
        own[0], again[0] = program.step(worked, x[i], other)
        if case == "written by a loop that may not run":
            with program.repeat_while(again, 2):
                sums[0], again[0] = program.step(shrunk, own[0])
        if case == "a case by counter":
            for k in program.switch(cases[i], range(2)):
                own[0], again[0] = program.step(worked if k else lambda a, b: worked(b, a), own[0], x[i])
        if case == "a sum":
            sums[0] = program.step(as_it_is, own[0]).added_if(adds[i])
        y[i + 1] = program.step(as_it_is, sums[0] if case.startswith(("written", "a sum")) else own[0])
        if case == "two writes of an output":
            y[i] = program.step(as_it_is, own[0])
        if case == "an output at one row":
            z[0] = program.step(as_it_is, own[0])
    if case == "read after the loop":
        z[0] = program.step(as_it_is, own[0])


@pytest.mark.parametrize("case", CARRIED)
def test_a_loop_that_may_carry_something_runs_trip_by_trip(case):
    structured, _ = structured_program(carrying, case)
    check(structured)
    assert len(laid_across(structured)) == (case == "nothing")
    x = np.random.default_rng(0).normal(size=(5, 6, 3))
    with np.errstate(all="ignore"):
        expected = evaluate(structured, x)
        received = compiled_structured(carrying, case, state_by_state=True)(x)
    known = slice(1, None) if case == "read before it is written" else slice(None)  # its first row is anything
    np.testing.assert_allclose(received[0][:, known], expected[0][:, known], rtol=TOLERANCE, atol=TOLERANCE)
    np.testing.assert_allclose(received[1], expected[1], rtol=TOLERANCE, atol=TOLERANCE)


def test_little_work_is_not_worth_the_lanes():
    def copied(program: Builder, n: int) -> None:
        x, y = program.input("x", (n,)), program.output("y", (n,))
        with program.each(n) as i:
            y[i] = program.step(as_it_is, x[i])

    assert not laid_across(structured_program(copied, 5)[0])


@examples(2, 8)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 5), batch=st.integers(1, 6))
def test_random_programs_state_by_state(seed, n, batch):
    """With every loop laid across lanes that can be, however short."""
    recipe = Recipe(seed, n)
    structured, _ = structured_program(random_program, recipe)
    x = np.random.default_rng(seed).normal(size=(batch, n, WIDTH))
    with np.errstate(all="ignore"), patch.object(across_lanes, "LEAST_WORK", 0):
        received = compiled_structured(random_program, recipe, state_by_state=True)(x)
        expected = evaluate(structured, x)
    np.testing.assert_allclose(received, expected, rtol=TOLERANCE, atol=TOLERANCE)
