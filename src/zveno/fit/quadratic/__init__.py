"""Strictly convex quadratic programs of a few dozen unknowns, in batches, by a dual active-set method."""

from .solve import QuadraticAnswer as QuadraticAnswer
from .solve import quadratic_kernel as quadratic_kernel
from .solve import solve_quadratic as solve_quadratic
