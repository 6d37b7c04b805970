"""`Solutions` from the compiled program of an arm's class; poses it is not sure of take the careful way."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from ...kernels.structured.kernel import compiled_structured
from ..checks.draft import blank, question_of
from ..ik_problem import IkProblem
from ..parts import PER_POSE, PER_SOLUTION
from ..solutions import COMPLETE, Solutions
from ..targets import pose_array
from .choice import ArmProgram, program_of
from .verdicts import N_ROW

Careful = Callable[[np.ndarray, str], Solutions]
"""Poses (k, 4, 4) and the name of a method → their answer by the checks of `zveno.ik.checks`."""
_POSE, _FLOAT, _NDARRAY = (4, 4), np.dtype(float), np.ndarray
_new = object.__new__


def _constant(value: int) -> np.ndarray:
    number = np.array(value)
    number.setflags(write=False)
    return number


SOLVED = (*PER_SOLUTION, "count", "codes")
"""What is made when one of these fields is asked for; the others take as long again and few read them."""
_COMPLETE = _constant(COMPLETE)
"""Status of one pose, like numbers of solutions the same array in all answers: to make one takes as long as a call
of a kernel."""


def _is_float(dtype: np.dtype) -> bool:
    return dtype is _FLOAT or dtype == _FLOAT  # arrays from other processes have a dtype object of their own


def many_natively(problem: IkProblem, T: Any, careful: Careful) -> Solutions | None:
    """All solutions of poses T (..., 4, 4); None where there is no program for the arm, or no pose is sure.

    Statuses, numbers of solutions and their order are those of the careful way, values are to rounding.
    """
    if type(T) is not _NDARRAY or not _is_float(T.dtype):
        return None
    if T.ndim and T.shape[-1] == 3 and T.shape[-2:] != _POSE and problem.task.position and problem.task.n_rows == 3:
        T = pose_array(T, points=True)
        if T.ndim == 2:
            solver = native_solver(problem)
            return None if solver is None else solver.one(T)
    if T.ndim < 3 or T.shape[-2:] != _POSE:
        return None
    solver = native_solver(problem)
    return None if solver is None else solver.many(T, careful)


@lru_cache(maxsize=64)
def native_solver(problem: IkProblem) -> NativeSolver | None:
    """The program for a problem, None where its arm is of no class that has one."""
    program = program_of(problem)
    return None if program is None else NativeSolver(problem, program)


class NativeSolver:
    """The programs of one arm, each built when it is first needed.

    Args:
        problem: the chain.
        program: what solves it.
    """

    def __init__(self, problem: IkProblem, program: ArmProgram):
        self.problem: IkProblem = problem
        self._is_q = problem.is_q
        self.method, self._write, self.arm, self._again = program
        self._n_rows: int = self.arm.of_class.n_branches
        self._count, self._sure = N_ROW * self._n_rows, N_ROW * self._n_rows + 1
        self._n = problem.n
        # By the number of solutions as the table has it: which part of the table their q is, and that number.
        self._of_count: dict[float, Any] = {
            float(n): ((slice(n), slice(self._n)), _constant(n)) for n in range(self._n_rows + 1)
        }

    @cached_property
    def _batches(self) -> Any:
        return self._of_batches(self.arm)

    @cached_property
    def _batches_again(self) -> Any:
        return self._of_batches(self._again)

    @cached_property
    def _single(self) -> Any:
        return self._of_one(self.arm)

    @cached_property
    def _single_again(self) -> Any:
        return self._of_one(self._again)

    def _of_batches(self, arm: Any) -> Any:
        return compiled_structured(self._write, arm, name=f"ik_{self.method}")

    def _of_one(self, arm: Any) -> Any:
        return compiled_structured(self._write, arm, name=f"ik_{self.method}_one", state_by_state=True)

    def one(self, T: np.ndarray) -> Solutions | None:
        """The answer for one pose, an array (4, 4); None where it holds no doubles, or the answer is not sure."""
        if not _is_float(T.dtype):
            return None
        table = self._single(T)
        if not table.item(self._sure):
            if self._again is None:
                return None
            table = self._single_again(T)
            if not table.item(self._sure):
                return None
        part, count = self._of_count[table.item(self._count)]
        q, pose = table[part], T.tobytes()
        answer = _new(Solutions)
        # What everybody reads is there at once: a missing attribute costs more.
        fields = answer.__dict__
        fields["q"] = q if self._is_q else self.problem.to_q(q)
        fields["count"], fields["codes"], fields["batch"] = count, _COMPLETE, ()
        fields["_make"] = lambda _: self._solved(table[part[0]], count, _COMPLETE) | self._explained(pose, ())
        return answer

    def many(self, T: np.ndarray, careful: Careful) -> Solutions | None:
        """The answer for poses (..., 4, 4), None where none is sure."""
        batch, given = T.shape[:-2], T.reshape(-1, 4, 4)
        table = self._batches(given)
        last = table[:, self._n_rows]
        if not last[:, 3].all():
            return None  # poses that are not rigid are refused, or made so, with their numbers in the batch
        rest = (last[:, 1] == 0).nonzero()[0]
        if len(rest) and self._again is not None:
            table[rest] = self._batches_again(given[rest])
            rest = rest[last[rest, 1] == 0]
        if len(rest) == len(table):
            return None
        count, poses = last[:, 0].astype(int), given.tobytes()
        if not len(rest):
            rows, counts = table[:, : int(count.max())].reshape(*batch, -1, table.shape[-1]), count.reshape(batch)

            def make(name: str) -> dict[str, Any]:
                if name in SOLVED:
                    return self._solved(rows, counts, np.full(batch, COMPLETE))
                return self._explained(poses, batch)

            return Solutions.deferred(make)
        answer = _Merged(self, table, count, poses, batch, rest, careful(given[rest], self.method))
        return Solutions.deferred(lambda name: answer.solved() if name in SOLVED else answer.explained())

    def _solved(self, rows: np.ndarray, count: Any, codes: Any) -> dict[str, Any]:
        """The fields `SOLVED`, from rows (*batch, m, 8) of the program's answer; they are views of it."""
        n = self._n
        q = rows[..., :n] if self._is_q else self.problem.to_q(rows[..., :n])
        return {"q": q, "residual": rows[..., n], "condition": rows[..., n + 1], "count": count, "codes": codes}

    def _explained(self, poses: bytes, batch: tuple) -> dict[str, Any]:
        """All other fields of `Solutions`."""
        problem = self.problem
        nearest, distance, exceeded, value, density = blank(batch, len(problem.held))
        return {
            "method": self.method,
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


class _Merged:
    """An answer for k poses, given in the shape `batch`, of which some were solved with care.

    Args:
        solver: of the others.
        table: (k, n_rows + 1, 8) of the program.
        count: (k,) how many solutions it found.
        poses: all poses, as bytes.
        batch: shape of the batch.
        rest: the poses that were solved with care.
        careful: their answer.
    """

    def __init__(
        self,
        solver: NativeSolver,
        table: np.ndarray,
        count: np.ndarray,
        poses: bytes,
        batch: tuple,
        rest: np.ndarray,
        careful: Solutions,
    ):
        self.solver, self.table, self.count, self.poses = solver, table, count, poses
        self.batch, self.rest, self.careful = batch, rest, careful

    def solved(self) -> dict[str, Any]:
        """The fields `SOLVED`."""
        k, n_rows = len(self.table), self.table.shape[1] - 1
        count = self.count.copy()
        count[self.rest] = self.careful.count
        most = int(count.max(initial=0))
        rows = self.table[:, : min(most, n_rows)]
        if most > n_rows:
            rows = np.full((k, most, rows.shape[-1]), np.nan)
            rows[:, :n_rows] = self.table[:, :n_rows]
        fields = self.solver._solved(rows, count, np.full(k, COMPLETE))
        fields["codes"][self.rest] = self.careful.codes
        for name in PER_SOLUTION:
            solutions = getattr(self.careful, name)
            fields[name][self.rest] = np.nan
            fields[name][self.rest, : solutions.shape[1]] = solutions
        return {name: self._shaped(values) for name, values in fields.items()}

    def explained(self) -> dict[str, Any]:
        """All other fields of `Solutions`."""
        fields = self.solver._explained(self.poses, (len(self.table),))
        for name in PER_POSE:
            if name not in SOLVED:
                values = fields[name].copy()
                values[self.rest] = getattr(self.careful, name)
                fields[name] = self._shaped(values)
        for name in ("families", "notes"):
            fields[name] = {int(self.rest[i]): said for i, said in getattr(self.careful, name).items()}
        return fields | {"batch": self.batch}

    def _shaped(self, values: np.ndarray) -> np.ndarray:
        return values.reshape(self.batch + values.shape[1:])
