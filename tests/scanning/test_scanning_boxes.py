"""П8 in each of many boxes of document 004."""

import numpy as np
import pytest

import executor_work
import zveno
from zveno import scanning
from zveno.errors import ZvenoError

GRID = scanning.Grid.by_count([-1.0, -1.0], [1.0, 1.0], 40, ends=True)


def test_boxes_are_solved_as_one_by_one():
    table = scanning.CellTable.of(GRID, executor_work.pair_of_rings)
    low, high = table.cells([0.5, 0.3])
    found = np.array(
        [
            [*one.alpha, one.percent]
            for one in scanning.dichotomies(executor_work.pair_of_rings, [0.5, 0.3], low, high, piece=5)
        ]
    )
    one = scanning.dichotomy(executor_work.pair_of_rings, [0.5, 0.3], low[3], high[3])
    np.testing.assert_array_equal(found[3], [*one.alpha, one.percent])
    assert (found[:, 2] < 1e-3).any()


def test_bad_boxes_are_refused():
    for low, high in (([0.0, 0.0], [[1.0]]), (np.zeros((0, 2)), np.zeros((0, 2)))):
        with pytest.raises(ZvenoError, match="boxes"):
            scanning.dichotomies(executor_work.pair_of_rings, [0.5, 0.3], low, high)
    with pytest.raises(zveno.ZvenoError, match="whole number"):
        scanning.dichotomies(executor_work.pair_of_rings, [0.5, 0.3], [[0.0, 0.0]], [[1.0, 1.0]], piece=0)
