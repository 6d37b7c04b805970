"""Operators of document 004 on any workers: the same bits, and files to go on from."""

import numpy as np
import pytest

import scale_work
import zveno
from zveno import numbers
from zveno.errors import ZvenoError

GRID = numbers.Grid.by_count([-1.0, -1.0], [1.0, 1.0], 40, ends=True)
LINE = numbers.Grid.by_count([-3.0], [3.0], 900, ends=True)


def scanned(**where):
    """Bytes of what П1 to П8 give on one small problem."""
    bounded = [(scale_work.ring, 0.2, 0.7)]
    mask = numbers.admissible(GRID, bounded)
    table = numbers.CellTable.of(GRID, scale_work.pair_of_rings, **where)
    low, high = table.cells([0.5, 0.3])
    found = numbers.dichotomies(scale_work.pair_of_rings, [0.5, 0.3], low, high, **(where | {"piece": 5}))
    return {
        "П1–П4": numbers.compress(GRID, mask, **where).numbers,
        "П5": numbers.extrema(GRID, scale_work.waves, mask=mask, **where).values,
        "П5 printed": numbers.flat_extrema(LINE, scale_work.wave, **where).numbers,
        "П6": numbers.global_extremum(GRID, scale_work.waves, mask=mask, **where).numbers,
        "П7": np.stack([table.low, table.high]),
        "П7 printed": numbers.ExtremumTable.of(LINE, scale_work.wave, **where).values,
        "П8": np.array([[*one.alpha, one.percent] for one in found]),
    }


@pytest.fixture(scope="module")
def alone():
    return scanned(piece=1 << 20)


@pytest.mark.parametrize("on", ["here", "threads", pytest.param(2, marks=pytest.mark.slow)])
def test_the_same_bits_on_any_workers(on, alone):
    there = scanned(on=on, piece=300)
    assert {name: value.tobytes() for name, value in there.items()} == {
        name: value.tobytes() for name, value in alone.items()
    }
    assert all(value.size for value in alone.values())


def test_boxes_are_solved_as_one_by_one(alone):
    table = numbers.CellTable.of(GRID, scale_work.pair_of_rings)
    low, high = table.cells([0.5, 0.3])
    one = numbers.dichotomy(scale_work.pair_of_rings, [0.5, 0.3], low[3], high[3])
    np.testing.assert_array_equal(alone["П8"][3], [*one.alpha, one.percent])
    assert (alone["П8"][:, 2] < 1e-3).any()


def test_both_procedures_go_on_from_a_file(tmp_path, alone):
    table = numbers.CellTable.of(GRID, scale_work.pair_of_rings)
    low, high = table.cells([0.5, 0.3])

    def stop(done, _total):
        if done == 2:
            raise KeyboardInterrupt

    asked = (scale_work.pair_of_rings, [0.5, 0.3], low, high)
    with pytest.raises(KeyboardInterrupt):
        numbers.dichotomies(*asked, checkpoint=tmp_path / "boxes.json", piece=3, progress=stop)
    calls = []
    again = numbers.dichotomies(
        *asked, checkpoint=tmp_path / "boxes.json", piece=3, progress=lambda *at: calls.append(at)
    )
    assert calls[0][0] == 3
    np.testing.assert_array_equal([[*one.alpha, one.percent] for one in again], alone["П8"])
    for _ in range(2):
        printed = numbers.ExtremumTable.of(LINE, scale_work.wave, checkpoint=tmp_path / "line.json", piece=300)
        np.testing.assert_array_equal(printed.values, alone["П7 printed"])


def test_bad_boxes_are_refused():
    for low, high in (([0.0, 0.0], [[1.0]]), (np.zeros((0, 2)), np.zeros((0, 2)))):
        with pytest.raises(ZvenoError, match="boxes"):
            numbers.dichotomies(scale_work.pair_of_rings, [0.5, 0.3], low, high)
    with pytest.raises(zveno.ZvenoError, match="whole number"):
        numbers.dichotomies(scale_work.pair_of_rings, [0.5, 0.3], [[0.0, 0.0]], [[1.0, 1.0]], piece=0)
