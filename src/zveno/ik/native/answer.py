"""`Solutions` from the compiled program of an arm's class; uncertified poses fall back to the NumPy solver."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from ...kernels.compile import compiled_structured
from .._judge import has_regular_configuration
from .._rows import blank, question_of
from ..ik_problem import IkProblem
from ..parts import PER_POSE, PER_SOLUTION
from ..request import IkRequest
from ..solutions import COMPLETE, EXCLUDED, UNREACHABLE, Solutions
from .choice import ArmProgram, program_of
from .verdicts import N_ROW

Careful = Callable[[np.ndarray], Solutions]
"""Poses (k, 4, 4) → their answer by the checks of `zveno.ik.answer`."""
_new = object.__new__


def _constant(value: int) -> np.ndarray:
    number = np.array(value)
    number.setflags(write=False)
    return number


SOLVED = (*PER_SOLUTION, "count", "codes")
"""Fields made together when one of them is read; the others take as long again and few read them."""
EXPLAINED = ("nearest", "distance", "limit_excess", "value", "notes")
"""Fields that explain poses without solutions."""
_COMPLETE, _EXCLUDED, _UNREACHABLE, _NONE = (_constant(code) for code in (COMPLETE, EXCLUDED, UNREACHABLE, 0))
"""Status of one pose, like numbers of solutions the same array in all answers: to make one takes as long as a call
of a kernel."""


@lru_cache(maxsize=64)
def native_solver(chain: IkProblem) -> NativeSolver | None:
    """Return the program for a chain, whatever its limits; None if the class of its arm has none."""
    program = program_of(chain)
    return None if program is None else NativeSolver(chain, program)


class NativeSolver:
    """The programs of one arm, each built when it is first needed.

    Args:
        chain: the arm; limits are given with the poses.
        program: the program that solves it.
    """

    def __init__(self, chain: IkProblem, program: ArmProgram):
        self.chain: IkProblem = chain
        self._is_q = chain.is_q
        self.method, self._write, self.arm, self._again = program
        self._n_rows: int = self.arm.of_class.n_branches
        self._count, self._sure = N_ROW * self._n_rows, N_ROW * self._n_rows + 1
        self._every = N_ROW * self._n_rows + 4
        self._n = chain.n
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

    def one(self, T: np.ndarray, request: IkRequest, careful: Careful) -> Solutions | None:
        """Solve one pose, an array (4, 4) of doubles; None if uncertified."""
        table = self._single(T, request.limits)
        if not table.item(self._sure):
            if table.item(self._every):
                return self._none(table, T.tobytes(), request, careful)
            if self._again is None:
                return None
            table = self._single_again(T, request.limits)
            if not table.item(self._sure):
                every = table.item(self._every)
                return self._none(table, T.tobytes(), request, careful) if every else None
        part, count = self._of_count[table.item(self._count)]
        q, pose = table[part], T.tobytes()
        answer = _new(Solutions)
        # Fields that are always read are set at once: a missing attribute costs more.
        fields = answer.__dict__
        fields["q"] = q if self._is_q else request.problem.to_q(q)
        fields["count"], fields["codes"], fields["batch"] = count, _COMPLETE, ()
        fields["_make"] = lambda name: (
            self._solved(request.problem, table[part[0]], count, _COMPLETE)
            if name in SOLVED
            else explained(self.method, request, pose, (), name)
        )
        return answer

    def _none(self, table: np.ndarray, pose: bytes, request: IkRequest, careful: Careful) -> Solutions | None:
        """Return the answer for one pose that certainly has no solution, explained when it is read."""
        if not self._counts:
            return None
        code = _EXCLUDED if table.item(self._sure + 1) else _UNREACHABLE

        def make(name: str) -> dict[str, Any]:
            if name in SOLVED:
                return self._solved(request.problem, table[:0], _NONE, code)
            if name in EXPLAINED:
                told = careful(np.frombuffer(pose).reshape(4, 4))
                return {field: getattr(told, field) for field in EXPLAINED}
            fields = explained(self.method, request, pose, (), name)
            return {field: value for field, value in fields.items() if field not in EXPLAINED}

        answer = Solutions.deferred(make)
        answer.__dict__.update(count=_NONE, codes=code, batch=())
        return answer

    @cached_property
    def _counts(self) -> bool:
        """True if counting roots is valid: of an arm that is singular everywhere one may have been lost."""
        return has_regular_configuration(self.chain)

    def many(self, T: np.ndarray, request: IkRequest, careful: Careful) -> Solutions | None:
        """Solve poses (..., 4, 4); None if none is certified."""
        batch, given = T.shape[:-2], T.reshape(-1, 4, 4)
        table = self._batches(given, request.limits)
        last = table[:, self._n_rows]
        if not last[:, 3].all():
            return None  # poses that are not rigid are refused, or made so, with their numbers in the batch
        rest = (last[:, 4] == 0).nonzero()[0]
        if len(rest) and self._again is not None:
            table[rest] = self._batches_again(given[rest], request.limits)
            rest = rest[last[rest, 4] == 0]
        count, poses = last[:, 0].astype(int), given.tobytes()
        none = ((last[:, 4] != 0) & (count == 0)).nonzero()[0]
        if len(none) and not self._counts:
            rest, none = np.sort(np.concatenate([rest, none])), none[:0]
        if len(rest) == len(table):
            return None
        if not len(rest) and not len(none):
            rows, counts = table[:, : int(count.max())].reshape(*batch, -1, table.shape[-1]), count.reshape(batch)

            def make(name: str) -> dict[str, Any]:
                if name in SOLVED:
                    return self._solved(request.problem, rows, counts, np.full(batch, COMPLETE))
                return explained(self.method, request, poses, batch, name)

            return Solutions.deferred(make)
        answer = _Merged(self, request, table, count, poses, batch, rest, none, careful)
        return Solutions.deferred(lambda name: answer.solved() if name in SOLVED else answer.explained())

    def _solved(self, problem: IkProblem, rows: np.ndarray, count: Any, codes: Any) -> dict[str, Any]:
        """Return the fields `SOLVED`, as views of rows (*batch, m, 8) of the program's answer."""
        n = self._n
        q = rows[..., :n] if self._is_q else problem.to_q(rows[..., :n])
        return {"q": q, "residual": rows[..., n], "condition": rows[..., n + 1], "count": count, "codes": codes}


def explained(method: str, request: IkRequest, poses: bytes, batch: tuple, name: str = "") -> dict[str, Any]:
    """Return the other fields of an answer to poses that need no explanation; `inputs` and `target` take longer."""
    if name in ("self_motions", "notes", "radius"):  # what operations on answers read, which should be quick
        return {"self_motions": {}, "notes": {}, "radius": None}
    problem = request.problem
    if name in ("mechanism", "frame", "question"):
        return {"mechanism": problem.mechanism, "frame": problem.frame, "question": question_of(problem)}
    nearest, distance, exceeded, value, density = blank(batch, len(problem.held))
    fields = {
        "method": method,
        "density": density,
        "nearest": nearest,
        "distance": distance,
        "limit_excess": exceeded,
        "joint_names": problem.mechanism.coordinate_names,
        "batch": batch,
        "self_motions": {},
        "value": value,
        "notes": {},
        "mechanism": problem.mechanism,
        "frame": problem.frame,
        "chain": problem.chain,
        "question": question_of(problem),
        "radius": None,
        "unique": None,
        "exact_problem": "",
    }
    if name in ("", "inputs_hash", "target"):
        fields["inputs_hash"] = hashlib.blake2b(poses, key=problem.identity, digest_size=8).hexdigest()
        fields["target"] = np.frombuffer(poses).reshape(*batch, 4, 4)
    return fields


class _Merged:
    """An answer for k poses, given in the shape `batch`, of which some were solved by the fallback solver.

    Args:
        solver, request: of the others.
        table: (k, n_rows + 1, 8) of the program.
        count: (k,) number of solutions it found.
        poses: all poses, as bytes.
        batch: shape of the batch.
        rest: the poses for the fallback solver.
        none: those that certainly have no solution, explained by the fallback solver when read.
        careful: fallback solver for them.
    """

    def __init__(
        self,
        solver: NativeSolver,
        request: IkRequest,
        table: np.ndarray,
        count: np.ndarray,
        poses: bytes,
        batch: tuple,
        rest: np.ndarray,
        none: np.ndarray,
        careful: Careful,
    ):
        self.solver, self.request, self.table, self.count, self.poses = solver, request, table, count, poses
        self.batch, self.rest, self.none, self._careful = batch, rest, none, careful
        self.careful: Solutions | None = self._of(rest) if len(rest) else None

    def solved(self) -> dict[str, Any]:
        """Return the fields `SOLVED`."""
        k, n_rows = len(self.table), self.table.shape[1] - 1
        count, careful = self.count.copy(), self.careful
        if careful is not None:
            count[self.rest] = careful.count
        most = int(count.max(initial=0))
        rows = self.table[:, : min(most, n_rows)]
        if most > n_rows:
            rows = np.full((k, most, rows.shape[-1]), np.nan)
            rows[:, :n_rows] = self.table[:, :n_rows]
        fields = self.solver._solved(self.request.problem, rows, count, np.full(k, COMPLETE))
        excluded = self.table[self.none, n_rows, 2] > 0
        fields["codes"][self.none] = np.where(excluded, EXCLUDED, UNREACHABLE)
        if careful is not None:
            fields["codes"][self.rest] = careful.codes
        for name in PER_SOLUTION if careful is not None else ():
            solutions = getattr(careful, name)
            fields[name][self.rest] = np.nan
            fields[name][self.rest, : solutions.shape[1]] = solutions
        return {name: self._shaped(values) for name, values in fields.items()}

    def explained(self) -> dict[str, Any]:
        """Return all other fields of `Solutions`."""
        fields = explained(self.solver.method, self.request, self.poses, (len(self.table),))
        told = [(self.rest, self.careful), (self.none, self._of(self.none) if len(self.none) else None)]
        for name in PER_POSE:
            if name not in SOLVED:
                values = fields[name].copy()
                for poses, careful in told:
                    if careful is not None:
                        values[poses] = getattr(careful, name)
                fields[name] = self._shaped(values)
        for name in ("self_motions", "notes"):
            fields[name] = {
                int(poses[i]): said
                for poses, careful in told
                if careful is not None
                for i, said in getattr(careful, name).items()
            }
        return fields | {"batch": self.batch}

    def _of(self, poses: np.ndarray) -> Solutions:
        """Solve some of the poses by the fallback solver."""
        return self._careful(np.frombuffer(self.poses).reshape(-1, 4, 4)[poses])

    def _shaped(self, values: np.ndarray) -> np.ndarray:
        return values.reshape(self.batch + values.shape[1:])
