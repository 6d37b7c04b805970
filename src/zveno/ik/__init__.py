"""Inverse kinematics: all solutions of any chain, by scanning in functions of numbers and faster routes."""

from .ik_problem import IkProblem as IkProblem
from .ik_problem import Task as Task
from .ik_problem import problem_of as problem_of
from .solutions import Family as Family
from .solutions import Raw as Raw
from .solutions import Solutions as Solutions
from .solve import solve_ik as solve_ik
from .solve import solver_for as solver_for
