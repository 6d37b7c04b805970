"""Closed forms by canonical subproblems, where the geometry of an arm admits them."""

from .forms import all_solutions as all_solutions
from .forms import form_of as form_of
from .forms import solver as solver
