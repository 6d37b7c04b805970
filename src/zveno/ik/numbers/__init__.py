"""Scanning in functions of numbers: document 004's method for any many-dimensional problem.

A grid over J parameters is numbered by one integer i = 1 … I, so that a function of J parameters becomes a function
of a number, and every question about it an operator on ranges of numbers:

    grid = Grid.by_count(lower, upper, 20)
    good = admissible(grid, constraints=[(phi, 0.0, 1.0)])            # П1–П3
    kept = compress(grid, good)                                        # П4
    best = global_extremum(grid, f)                                    # П6
    every = extrema(grid, f)                                           # П5

All operators stream: memory does not grow with I. All take `on=` (processes, threads, a cluster: `zveno.scale`) and
`checkpoint=`, and give the same answer for any workers.
"""

from .coding import decode as decode
from .coding import encode as encode
from .extrema import Extrema as Extrema
from .extrema import extrema as extrema
from .extrema import flat_extrema as flat_extrema
from .extrema import global_extremum as global_extremum
from .grid import Grid as Grid
from .grid import step_from_bandwidth as step_from_bandwidth
from .grid import step_from_resolution as step_from_resolution
from .operators import Compressed as Compressed
from .operators import admissible as admissible
from .operators import compiled as compiled
from .operators import compress as compress
from .operators import values as values
from .unimodal import CellTable as CellTable
from .unimodal import Dichotomy as Dichotomy
from .unimodal import ExtremumTable as ExtremumTable
from .unimodal import dichotomies as dichotomies
from .unimodal import dichotomy as dichotomy
