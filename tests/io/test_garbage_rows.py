"""One garbage row of a recording loses that row, wherever it stands, and the account names its line."""

import numpy as np
import pytest

import zveno

ROWS = 300
GARBAGE = {
    "time 1e300": lambda cells: ["1e300", *cells[1:]],
    "time -1e300": lambda cells: ["-1e300", *cells[1:]],
    "time 1e18": lambda cells: ["1e18", *cells[1:]],
    "time -1e5": lambda cells: ["-1e5", *cells[1:]],
    "time inf": lambda cells: ["inf", *cells[1:]],
    "no time": lambda cells: ["abc", *cells[1:]],
    "position 1e293": lambda cells: [cells[0], "1e293", *cells[2:]],
    "position far away": lambda cells: [cells[0], "50", *cells[2:]],
    "torque 1e9": lambda cells: [*cells[:-1], "1e9"],
    "too few cells": lambda cells: cells[:3],
    "too many cells": lambda cells: [*cells, "1", "2"],
    "no numbers": lambda cells: ['\0\1\xff,,;"'],
    "open quotation mark": lambda cells: ['"', *cells],
    "empty cells": lambda cells: [""] * len(cells),
}


@pytest.mark.laws(after=12)
@pytest.mark.parametrize("start", [0.0, 1.7e9])
@pytest.mark.parametrize("kind", GARBAGE)
def test_a_garbage_row_loses_that_row(kind, start, tmp_path):
    robot = zveno.load("planar2")
    t = 0.002 * np.arange(ROWS)
    table = np.column_stack([t + start, np.sin(t[:, None] * [3.0, 4.0]), np.cos(t[:, None] * [3.0, 4.0])])
    file = tmp_path / "log.csv"
    for row in (0, 1, 2, ROWS // 2, ROWS - 3, ROWS - 2, ROWS - 1):
        lines = [[f"{x:.9f}" for x in numbers] for numbers in table]
        lines[row] = GARBAGE[kind](lines[row])
        text = "\n".join(["t,q1,q2,tau1,tau2", *(",".join(cells) for cells in lines)])
        file.write_text(text + "\n", encoding="latin-1")
        log = zveno.identification.read_log(file, robot)
        assert len(log) == ROWS - 1, row
        assert len(log.segments) == 1
        assert log.duration == pytest.approx(0.002 * (ROWS - 1), abs=0.0021)
        assert any(f"line {row + 2} " in words and "left out" in words for words in log.account), log.account
