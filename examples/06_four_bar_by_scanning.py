"""A four-bar linkage designed by scanning in functions of numbers, document 004's method on a problem of its own.

The coupler point of a crank-rocker should pass near ten points of a straight line. Five lengths are scanned: every
design is one number. Grashof's condition compresses the range; the objective, traced and compiled, is evaluated on
what is left; the best numbers are refined by dichotomy.

Run it with `python examples/06_four_bar_by_scanning.py`.
"""

from __future__ import annotations

import numpy as np

from zveno import ops as math
from zveno import scanning

cos, maximum, sin, sqrt = math.cos, math.maximum, math.sin, math.sqrt

ANGLES = np.linspace(np.radians(-60.0), np.radians(60.0), 10) + np.pi
"""Crank angles at which the coupler point is asked to be on the line y = const, at equal distances."""


def coupler(alpha, angle):
    """The coupler point of a linkage (crank, coupler, rocker, point along and off the coupler) on a base of 1."""
    crank, link, rocker, along, off = (alpha[k] for k in range(5))
    x, y = crank * cos(angle), crank * sin(angle)
    dx, dy = 1.0 - x, -y
    d2 = dx * dx + dy * dy
    d = sqrt(d2)
    c = (link * link + d2 - rocker * rocker) / (2.0 * link * d)
    s = sqrt(maximum(1.0 - c * c, 0.0))
    ux, uy = (dx * c - dy * s) / d, (dy * c + dx * s) / d
    return x + along * ux - off * uy, y + along * uy + off * ux


def unevenness(alpha):
    """Root mean square distance of the points from their straight line with equal steps, relative to its length."""
    points = [coupler(alpha, angle) for angle in ANGLES]
    n = len(points)
    t = [k - (n - 1) / 2 for k in range(n)]
    scale = sum(v * v for v in t)
    total = 0.0
    length = 0.0
    for axis in (0, 1):
        mean = sum(p[axis] for p in points) / n
        slope = sum(v * p[axis] for v, p in zip(t, points, strict=True)) / scale
        total = total + sum((p[axis] - mean - slope * v) ** 2 for v, p in zip(t, points, strict=True))
        length = length + slope * slope
    return sqrt(total / n) / sqrt(length) / (n - 1)


def main():
    np.set_printoptions(precision=4, suppress=True)
    grid = scanning.Grid.by_count(
        [0.2, 0.8, 0.8, 0.4, -1.0], [0.6, 2.0, 2.0, 3.0, 1.0], [9, 13, 13, 14, 9], ends=True
    )
    print(f"{grid.size} designs; coding one of them costs {grid.n_parameters} divisions")

    def crank_turns(a):
        """Grashof: crank and the longest together are shorter than the other two."""
        sides = np.stack([np.ones(len(a)), a[:, 1], a[:, 2]], axis=1)
        return sides.sum(axis=1) - 2 * sides.max(axis=1) - a[:, 0]

    kept = scanning.compress(grid, scanning.admissible(grid, constraints=[(crank_turns, 0.05, np.inf)]))
    print(f"compressed to {kept.size} of them, {kept.coefficient:.2f} times fewer")

    objective = scanning.compile_function(unevenness, 5)
    values = objective(kept.points())
    best = kept.points()[np.argmin(values)]
    print(f"best on the grid: {best}, off the line by {100 * values.min():.2f} % of its length")

    turning = scanning.admissible(grid, [(crank_turns, 0.05, np.inf)])
    minima = scanning.extrema(grid, objective, mask=turning, neighbours="axes")
    designs = set()
    for number in minima.numbers[np.argsort(minima.values)[:5]]:
        start, reach = grid.points(number), 2 * grid.step
        refined = scanning.dichotomy(
            lambda a: 1.0 + objective(a)[:, None], [1.0], start - reach, start + reach, percent=1e-9, iterations=80
        )
        designs.add((round(100 * float(objective(refined.alpha)), 3), tuple(np.round(refined.alpha, 3).tolist())))
    print(f"{len(minima)} local minima; the best of them, refined by dichotomy:")
    for percent, lengths in sorted(designs):
        print(f"  {percent:.3f} %  crank, coupler, rocker, point along and off the coupler: {lengths}")


if __name__ == "__main__":
    main()
