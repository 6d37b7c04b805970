"""Operators П1–П8 on grids."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .. import api
from ..cases import Case
from ..store import Archive

N = api.scanning_names()


def _bumpy(a: np.ndarray) -> np.ndarray:
    """Many minima."""
    return np.cos(3 * a[:, 0]) + np.sin(2 * a[:, 1]) * np.cos(a[:, 2]) + 0.1 * a[:, 0] ** 2


def _round(a: np.ndarray) -> np.ndarray:
    return (a**2).sum(axis=1)


def _arm(a: np.ndarray) -> np.ndarray:
    """Tip of two rods."""
    first, second = a[:, 0], a[:, 0] + a[:, 1]
    return np.stack([np.cos(first) + 0.7 * np.cos(second), np.sin(first) + 0.7 * np.sin(second)], axis=1)


def cases(archive: Archive) -> Iterator[Case]:
    """Every operator."""
    grid = N.Grid.by_count([-2.0, -2.0, -1.0], [2.0, 2.0, 1.0], 21)
    mask = N.admissible(grid, constraints=[(_round, 0.5, 3.0)])
    yield Case("operators/coding", _coding)
    yield Case("operators/grid", lambda: {"points": grid.points([1, 7, 500, grid.size]), "size": grid.size})
    yield Case("operators/steps", lambda: {"": [N.step_from_resolution(0.01), N.step_from_bandwidth(3.0)]})
    yield Case("operators/values", lambda: {"": api.evaluate(grid, _bumpy, 100, 400)})
    yield Case("operators/П1–П3", lambda: {"": mask(1, grid.size + 1)})

    def compressed() -> dict[str, Any]:
        found = N.compress(grid, mask)
        return {"numbers": found.numbers, "size": found.size, "coefficient": found.coefficient}

    yield Case("operators/П4", compressed)
    for kind in ("min", "max"):
        yield Case(f"operators/П5 {kind}", lambda kind=kind: _found(N.extrema(grid, _bumpy, kind)))
        yield Case(f"operators/П5 {kind}, masked", lambda kind=kind: _found(N.extrema(grid, _bumpy, kind, mask)))
        yield Case(f"operators/П5 {kind}, in a row", lambda kind=kind: _found(N.flat_extrema(grid, _bumpy, kind)))
        yield Case(f"operators/П6 {kind}", lambda kind=kind: _found(N.global_extremum(grid, _bumpy, kind, mask)))
    line = N.Grid.by_count([-3.0], [3.0], 200)
    table = N.ExtremumTable.of(line, lambda a: np.sin(3 * a[:, 0]) + a[:, 0])
    yield Case("operators/П7", lambda: {"numbers": table.numbers, "intervals": table.intervals(0.3)})
    plane = N.Grid.by_count([-3.0, -3.0], [3.0, 3.0], 25)
    cells = N.CellTable.of(plane, _arm)
    yield Case("operators/П7 cells", lambda: dict(zip("ab", cells.cells([0.9, 0.4]), strict=True)))

    def halved() -> dict[str, Any]:
        end = N.dichotomy(_arm, [0.9, 0.4], [-0.8, 1.0], [0.2, 2.2])
        return {"alpha": end.alpha, "converged": end.converged}

    yield Case("operators/П8", halved, 1e-9)

    def compiled() -> dict[str, Any]:
        function = api.compile_function(lambda a: api.ops.cos(a[0]) * a[1] + a[2], 3)
        return {"": api.evaluate(grid, function, 1, 300)}

    yield Case("operators/compiled", compiled)


def _coding() -> dict[str, Any]:
    theta = N.decode([1, 2, 99, 1000], (7, 13, 20))
    return {"theta": theta, "numbers": N.encode(theta, (7, 13, 20))}


def _found(extrema: Any) -> dict[str, Any]:
    return {"numbers": extrema.numbers, "values": extrema.values}
