"""`Solutions` from the compiled program of an arm's class; poses it is not sure of take the careful way."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from ...kernels.structured.kernel import compiled_structured
from ..checks.draft import blank, question_of
from ..closed_form import forms
from ..ik_problem import IkProblem
from ..parts import PER_POSE, PER_SOLUTION
from ..solutions import COMPLETE, Solutions
from .arm_tables import ArmTables, arm_tables
from .program import all_solutions, in_order, one_branch
from .verdicts import N_ROW

Careful = Callable[[np.ndarray], Solutions]
"""Poses (k, 4, 4) → their answer by the checks of `zveno.ik.checks`."""
_POSE, _FLOAT = (4, 4), np.dtype(float)


def solved_natively(problem: IkProblem, T: Any, careful: Careful) -> Solutions | None:
    """All solutions of poses T (..., 4, 4); None where there is no program for the arm, or no pose is sure.

    Statuses, numbers of solutions and their order are those of the careful way, values are to rounding.
    """
    if type(T) is not np.ndarray or T.shape[-2:] != _POSE:
        return None
    if T.dtype is not _FLOAT and T.dtype != _FLOAT:  # arrays from other processes have a dtype object of their own
        return None
    solver = native_solver(problem)
    if solver is None:
        return None
    return solver.one(T) if T.ndim == 2 else solver.many(T, careful)


@lru_cache(maxsize=64)
def native_solver(problem: IkProblem) -> NativeSolver | None:
    """The program for a problem, None where its arm is of no class that has one."""
    if not (problem.simple and forms.solver.applies(problem)):
        return None
    form = forms.form_of_problem(problem)
    return NativeSolver(problem, arm_tables(problem, form)) if isinstance(form, forms.Form) else None


class NativeSolver:
    """The programs of one arm, each built when it is first needed."""

    def __init__(self, problem: IkProblem, arm: ArmTables):
        self.problem, self.arm = problem, arm
        self._n_rows = arm.of_class.n_branches
        self._count, self._sure = N_ROW * self._n_rows, N_ROW * self._n_rows + 1
        self._signs = arm.of_class.signs

    @cached_property
    def _batches(self) -> Any:
        return compiled_structured(all_solutions, self.arm, name="ik_closed_form")

    @cached_property
    def _branches(self) -> Any:
        return compiled_structured(one_branch, self.arm, name="ik_branch")

    @cached_property
    def _order(self) -> Any:
        return compiled_structured(in_order, self.arm.of_class, name="ik_order")

    def one(self, T: np.ndarray) -> Solutions | None:
        """The answer for one pose (4, 4), None where it is not sure."""
        table = self._order(*self._branches(T, self._signs))
        if not table.item(self._sure):
            return None
        n, poses = int(table.item(self._count)), T.tobytes()
        answer = Solutions.deferred(
            lambda _: self._fields(table[:n], np.array(n), np.array(COMPLETE), poses, ()),
        )
        # What everybody reads is made at once: a missing attribute costs more.
        q = table[:n, : self.problem.n]
        answer.__dict__.update(q=self.problem.to_q(q), count=np.array(n), codes=np.array(COMPLETE))
        return answer

    def many(self, T: np.ndarray, careful: Careful) -> Solutions | None:
        """The answer for poses (..., 4, 4), None where none is sure."""
        batch, given = T.shape[:-2], T.reshape(-1, 4, 4)
        table = self._batches(given)
        last = table[:, self._n_rows]
        sure = last[:, 1] != 0
        if not sure.any() or not last[:, 3].all():
            return None  # poses that are not rigid are refused, or made so, with their numbers in the batch
        count, poses = last[:, 0].astype(int), given.tobytes()
        if sure.all():
            rows = table[:, : int(count.max())].reshape(*batch, -1, table.shape[-1])
            return Solutions.deferred(
                lambda _: self._fields(rows, count.reshape(batch), np.full(batch, COMPLETE), poses, batch)
            )
        rest = (~sure).nonzero()[0]
        explained = careful(given[rest])
        return Solutions.deferred(lambda _: self._merged(table, count, poses, batch, rest, explained))

    def _fields(self, rows: np.ndarray, count: Any, codes: Any, poses: bytes, batch: tuple) -> dict[str, Any]:
        """All fields of `Solutions`, for rows (*batch, m, 8) of the program's answer."""
        problem = self.problem
        nearest, distance, exceeded, value, density = blank(batch, len(problem.held))
        n = problem.n
        return {
            "q": problem.to_q(rows[..., :n]),
            "count": count,
            "codes": codes,
            "residual": rows[..., n].copy(),
            "condition": rows[..., n + 1].copy(),
            "method": forms.solver.name,
            "density": density,
            "nearest": nearest,
            "distance": distance,
            "exceeded": exceeded,
            "joint_names": problem.mechanism.coordinate_names,
            "batch": batch,
            "families": {},
            "inputs": hashlib.blake2b(poses, key=problem.identity, digest_size=8).hexdigest(),
            "objective": "squares",
            "value": value,
            "notes": {},
            "mechanism": problem.mechanism,
            "frame": problem.frame,
            "chain": problem.chain,
            "target": np.frombuffer(poses).reshape(*batch, 4, 4),
            "question": question_of(problem),
            "radius": None,
            "unique": None,
            "exact_problem": "",
        }

    def _merged(
        self,
        table: np.ndarray,
        count: np.ndarray,
        poses: bytes,
        batch: tuple,
        rest: np.ndarray,
        careful: Solutions,
    ) -> dict[str, Any]:
        """The same where the poses `rest` were solved with care."""
        k = len(table)
        count = count.copy()
        count[rest] = careful.count
        most = int(count.max(initial=0))
        rows = np.full((k, max(most, self._n_rows), table.shape[-1]), np.nan)
        rows[:, : self._n_rows] = table[:, : self._n_rows]
        fields = self._fields(rows[:, :most], count, np.full(k, COMPLETE), poses, (k,))
        for name in PER_POSE:
            values = fields[name] = fields[name].copy()
            values[rest] = getattr(careful, name)
        for name in PER_SOLUTION:
            solved = getattr(careful, name)
            fields[name][rest] = np.nan
            fields[name][rest, : solved.shape[1]] = solved
        for name in ("families", "notes"):
            fields[name] = {int(rest[i]): said for i, said in getattr(careful, name).items()}
        for name in (*PER_POSE, *PER_SOLUTION):
            fields[name] = fields[name].reshape(batch + fields[name].shape[1:])
        return fields | {"batch": batch}
