"""What a loop computes once: the same bits as before, in fewer operations."""

from __future__ import annotations

from itertools import product
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from structured_programs import WIDTH, Recipe, random_program

from tiers import examples
from zveno.kernels import once
from zveno.kernels import ops as zm
from zveno.kernels.builder import Builder, structured_program
from zveno.kernels.evaluate import evaluate
from zveno.kernels.program import Program, check, count_operations

SIGNS = np.array(list(product((1.0, -1.0), repeat=3)))


@examples(6, 60)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 5))
def test_random_programs_keep_every_bit(seed, n):
    structured, _ = structured_program(random_program, Recipe(seed, n))
    with patch.object(once, "WORTH", 1):
        apart = once.computed_once(structured)
    check(apart)
    x = np.random.default_rng(seed).normal(size=(4, n, WIDTH))
    x[3, 0] = np.nan
    with np.errstate(all="ignore"):
        expected, received = evaluate(structured, x), evaluate(apart, x)
    np.testing.assert_array_equal(received.view(np.int64), expected.view(np.int64))
    assert count_operations(apart).total <= count_operations(structured).total


def by_signs(x, signs):
    first = zm.sin(x)  # 3 sines in the first trip only
    second = zm.cos(first * signs[0])  # 3 in two trips
    third = zm.sin(second + signs[1])  # 3 in four trips
    return zm.cos(third * signs[2])  # 3 in all of the eight


def every_branch(program: Builder, table: np.ndarray) -> None:
    x, y = program.input("x", (WIDTH,), WIDTH), program.output("y", (len(table), WIDTH), WIDTH)
    signs = program.table("signs", table)
    with program.each(len(table)) as i:
        y[i] = program.step(by_signs, x[0], signs[i])


def apart(table: np.ndarray) -> tuple[Program, Program]:
    structured, _ = structured_program(every_branch, table)
    with patch.object(once, "WORTH", 3):
        return structured, once.computed_once(structured)


def test_branches_share_what_their_signs_share():
    structured, shared = apart(SIGNS)
    assert count_operations(structured).sincos == 8 * 12
    assert count_operations(shared).sincos == 3 * (1 + 2 + 4 + 8)
    x = np.random.default_rng(0).normal(size=(5, WIDTH))
    np.testing.assert_array_equal(evaluate(shared, x), evaluate(structured, x))


@pytest.mark.parametrize("signs", [SIGNS[::-1], SIGNS[[0, 5, 2, 7, 1, 6, 3, 4]], SIGNS[:, ::-1], 0.0 * SIGNS])
def test_tables_in_any_order(signs):
    """0 and −0 are different numbers, whose inverses are."""
    structured, shared = apart(signs)
    x = np.random.default_rng(0).normal(size=(5, WIDTH))
    np.testing.assert_array_equal(evaluate(shared, x).view(np.int64), evaluate(structured, x).view(np.int64))


def test_what_the_loop_writes_is_computed_again():
    def running(program: Builder) -> None:
        x, y = program.input("x", (WIDTH,), WIDTH), program.output("y", (4, WIDTH), WIDTH)
        memory = program.scratch("memory", 1, WIDTH)
        memory[0] = program.step(lambda a: 1.0 * a, x[0])
        with program.each(4) as i:
            y[i] = program.step(lambda a, b: zm.sin(a) + zm.sin(b), memory[0], x[0])
            memory[0] = program.step(lambda a: a + 1.0, memory[0])

    structured, _ = structured_program(running)
    with patch.object(once, "WORTH", 1):
        shared = once.computed_once(structured)
    x = np.random.default_rng(0).normal(size=(5, WIDTH))
    np.testing.assert_array_equal(evaluate(shared, x), evaluate(structured, x))
    assert count_operations(shared).sincos == 3 * (4 + 1)


def test_what_is_not_worth_its_place_stays():
    structured, _ = structured_program(every_branch, SIGNS)
    assert len(once.computed_once(structured).arrays) == len(structured.arrays)
