"""A function of many parameters as a plane curve: its value against its number."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from .figure import new_figure, plain, saved
from .mechanism import INK, TRAIL, checked_picture

LINE = "#3d7dca"
_MOST = 200_000


def draw_numbers(
    values: Any,
    file: Any,
    *,
    marked: Any = (),
    names: tuple[str, str] = ("number", "value"),
    caption: str = "",
    logarithmic: bool = False,
    size: tuple[float, float] = (9.0, 4.0),
) -> Path:
    """Draw f(i) against i = 1 … I and save the picture; returns the file.

    Args:
        values: (I,) the function of the number.
        file: .png or .svg.
        marked: numbers (from 1) to mark.
        names: of the two axes.
        caption: a line above.
        logarithmic: whether the values' axis is.
        size: inches.
    """
    file, values = checked_picture(file), np.asarray(values, dtype=float)
    figure = new_figure(size)
    axes = figure.add_subplot()
    step = max(1, len(values) // _MOST)
    axes.plot(np.arange(1, len(values) + 1)[::step], values[::step], color=LINE, linewidth=0.5)
    marked = np.asarray(marked, dtype=int)
    if marked.size:
        axes.plot(marked, values[marked - 1], "o", color=TRAIL, markersize=5, fillstyle="none")
    if logarithmic:
        axes.set_yscale("log")
    axes.set_xlabel(names[0], color=INK)
    axes.set_ylabel(names[1], color=INK)
    axes.set_title(caption, loc="left", color=INK, fontsize=10)
    plain(axes)
    return saved(figure, file)


def draw_scan(problem: Any, T: Any, q: Any, file: Any) -> Path:
    """The residual of one pose against the number of the scan's grid; cells of the solutions q (s, n_q) marked."""
    from ...ik.newton import lanes_of
    from ...ik.scan_table import table_of

    table = table_of(problem)
    distance = np.sqrt(np.maximum(table.distances(lanes_of(problem, np.asarray(T)[None]))[0], 1e-12))
    marked = []
    if table.grid.size == table.size and table.size > 1:
        index = {step.coordinate: step.index for step in problem.steps}
        scanned = [
            k for k in range(problem.n) if not (table.first and k == 0) and not (table.last and k == problem.n - 1)
        ]
        x = (
            np.stack([problem.wrapped(_row(solution, index, problem.n)) for solution in q])
            if len(q)
            else np.zeros((0, problem.n))
        )
        marked = table.grid.number_of(x[:, scanned] / problem.units[scanned]) if len(x) else []
    caption = (
        f"{problem.mechanism.name}: distance from the pose over {table.size} numbers; circles: cells of solutions"
    )
    return draw_numbers(distance, file, marked=marked, names=("number i", "distance"), caption=caption)


def _row(q, index, n: int) -> np.ndarray:
    return np.array([0.0 if index[k] is None else q[index[k]] for k in range(n)])
