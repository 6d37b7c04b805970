"""Scanning in functions of numbers: document 004's method for multidimensional problems.

A grid over J parameters is numbered by one integer i = 1 … I. A function of J parameters becomes a function of a
number, and each analysis of it becomes an operator on ranges of numbers:

    grid = Grid.by_count(lower, upper, 20)
    good = admissible(grid, constraints=[(phi, 0.0, 1.0)])            # П1–П3
    kept = compress(grid, good)                                        # П4
    best = global_extremum(grid, f)                                    # П6
    every = extrema(grid, f)                                           # П5

All operators stream: memory does not grow with I. All take `executor=` (any `concurrent.futures.Executor`:
processes, threads, a cluster), and the result does not depend on the workers.
"""

from .extrema import Extrema as Extrema
from .extrema import extrema as extrema
from .extrema import flat_extrema as flat_extrema
from .extrema import global_extremum as global_extremum
from .grid import Grid as Grid
from .grid import decode as decode
from .grid import encode as encode
from .grid import step_from_bandwidth as step_from_bandwidth
from .grid import step_from_resolution as step_from_resolution
from .operators import Compressed as Compressed
from .operators import admissible as admissible
from .operators import compile_function as compile_function
from .operators import compress as compress
from .operators import evaluate as evaluate
from .tables import CellTable as CellTable
from .tables import Dichotomy as Dichotomy
from .tables import ExtremumTable as ExtremumTable
from .tables import dichotomies as dichotomies
from .tables import dichotomy as dichotomy

__all__ = [
    "CellTable",
    "Compressed",
    "Dichotomy",
    "Extrema",
    "ExtremumTable",
    "Grid",
    "admissible",
    "compile_function",
    "compress",
    "decode",
    "dichotomies",
    "dichotomy",
    "encode",
    "evaluate",
    "extrema",
    "flat_extrema",
    "global_extremum",
    "step_from_bandwidth",
    "step_from_resolution",
]
