"""`solve_ik`: all solutions for one pose or a batch, by the best method that applies, checked and judged."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import time
from collections.abc import Mapping
from concurrent.futures import Executor
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ZvenoError, unknown_name
from ..mechanism import Mechanism
from ..progress import Progress
from ..robot_functions import RobotFunctions
from ..spatial.exact_numbers import required_flint
from . import scan
from .answer import checked_answer, from_near_start, local_answer
from .ik_problem import IkProblem
from .native.answer import NativeSolver, native_solver
from .parts import AT_ONCE, SolveCall, checked_seconds, in_pieces, within_seconds
from .redundant.locked_joints import without_locked
from .redundant.sampled_answer import sampled_answer
from .request import IkRequest, request_of
from .solutions import Solutions, Solver
from .targets import Targets, checked_targets, poses_asked
from .task import PoseTask, task_named
from .within import Tolerance, within_answer

if TYPE_CHECKING:
    from .hybrid import Hybrid

Method = Literal["auto", "closed_form", "six_revolute", "scan", "certified"]
METHODS = {
    "closed_form": "zveno.ik.closed_form",
    "six_revolute": "zveno.ik.six_revolute",
    "scan": "zveno.ik.scan",
}
"""Solvers by name, in the order in which `method="auto"` tries them. Each module has an object named `solver`."""
_NDARRAY, _POSE, _FLOAT = np.ndarray, (4, 4), np.dtype(float)


def solve_ik(
    robot: RobotFunctions | Mechanism,
    target: ArrayLike,
    frame: str | None = None,
    *,
    relative_to: str | None = None,
    limits: Any = True,
    task: PoseTask | ArrayLike = "pose",
    fixed: ArrayLike | Mapping[str, float] | None = None,
    samples: int | None = None,
    redundant_joint: str | None = None,
    tolerance: Tolerance | None = None,
    method: Method = "auto",
    timeout: float | None = None,
    executor: Executor | None = None,
    progress: Progress = None,
) -> Solutions:
    """Do what `Robot.ik` documents."""
    if type(target) is not np.ndarray and isinstance(target, Mapping):
        raise ZvenoError(
            "must be poses, got targets by name", element="target", remedy="Use zveno.ik.whole_body(robot, targets)"
        )
    if tolerance is not None and not isinstance(tolerance, Tolerance):
        raise ZvenoError(
            f"must be a Tolerance, got {tolerance!r:.60}",
            element="tolerance",
            remedy="Give zveno.ik.Tolerance(…), or use solutions.within(metres, radians)",
        )
    hybrid = _hybrid(robot, frame, relative_to, task)
    if hybrid is not None and hybrid.loops:
        unused = {"samples": samples, "redundant_joint": redundant_joint, "executor": executor}
        _refuse_with_loops(unused | {"tolerance": tolerance}, method)
        return _with_loops(hybrid, target, frame, relative_to, limits, task, fixed, None, timeout)
    fixed = fixed if hybrid is None else _closed(hybrid, fixed)
    request = request_of(robot, frame, relative_to, limits, task, fixed)
    if method == "certified":
        unused = {"samples": samples, "redundant_joint": redundant_joint, "tolerance": tolerance}
        for name, given in unused.items():
            if given is not None:
                raise ZvenoError('is not for method "certified"', element=name, remedy=f"Leave {name} out")
        if executor is None and timeout is None:  # what poses mean is read from the way they were given
            return certified_solutions(request.problem, target)
    T = poses_asked(request.chain, target)
    if executor is not None or T.size > 16 * AT_ONCE:
        options = {"relative_to": relative_to, "limits": limits, "task": task, "fixed": fixed, "method": method}
        options |= {"samples": samples, "redundant_joint": redundant_joint, "tolerance": tolerance}
        call = SolveCall(solve_ik, robot, frame, options, deadline_of(timeout))
        return _in_parts(call, request.problem, T, None, executor, progress)
    if samples is not None or redundant_joint is not None:
        given = {"samples": samples, "redundant_joint": redundant_joint}
        _refuse_unused(request.chain, method, [name for name, value in given.items() if value is not None])

    def solve(poses: np.ndarray) -> Solutions:
        if method == "certified":
            return certified_solutions(request.problem, poses)
        if tolerance is not None:
            return _within(request, poses, tolerance, method)
        if request.chain.redundancy:
            return _redundant(request, poses, method, samples, redundant_joint, progress)
        return _all(request, poses, method)

    return solve(T) if timeout is None else within_seconds(T, timeout, solve)


def solve_near(
    robot: RobotFunctions | Mechanism,
    target: ArrayLike,
    frame: str | None = None,
    *,
    start: ArrayLike | None = None,
    relative_to: str | None = None,
    limits: Any = True,
    task: PoseTask | ArrayLike = "pose",
    fixed: ArrayLike | Mapping[str, float] | None = None,
    timeout: float | None = None,
    executor: Executor | None = None,
    progress: Progress = None,
) -> Solutions:
    """Find one solution per pose by Newton's method from a start (n_q,) or (..., n_q), then from random ones."""
    hybrid = _hybrid(robot, frame, relative_to, task)
    if hybrid is not None and hybrid.loops:
        _refuse_with_loops({"executor": executor}, "auto")
        near = hybrid.mechanism.neutral() if start is None else start
        return _with_loops(hybrid, target, frame, relative_to, limits, task, fixed, near, timeout)
    fixed = fixed if hybrid is None else _closed(hybrid, fixed)
    request = request_of(robot, frame, relative_to, limits, task, fixed)
    T = poses_asked(request.chain, target)
    if executor is not None or T.size > 16 * AT_ONCE:
        options = {"relative_to": relative_to, "limits": limits, "task": task, "fixed": fixed}
        call = SolveCall(solve_near, robot, frame, options, deadline_of(timeout))
        return _in_parts(call, request.problem, T, start, executor, progress)
    if timeout is None:
        return _local(request, T, start)
    if T.ndim > 2 and start is not None and np.ndim(start) > 1:
        n = np.shape(start)[-1]
        starts = iter(np.broadcast_to(np.asarray(start), (*T.shape[:-2], n)).reshape(-1, n))
        return within_seconds(
            T, timeout, lambda poses: _local(request, poses, np.array([next(starts) for _ in poses]))
        )
    return within_seconds(T, timeout, lambda poses: _local(request, poses, start))


def deadline_of(timeout: float | None) -> float | None:
    """Return the moment of `time.time()` at which a call must be over; None for no limit."""
    return None if timeout is None else time.time() + checked_seconds(timeout)


def _hybrid(robot: RobotFunctions | Mechanism, frame: Any, relative_to: Any, task: Any) -> Hybrid | None:
    """Return the chain of a mechanism with closed loops, and those of its loops that it moves."""
    mechanism = robot if isinstance(robot, Mechanism) else robot.mechanism
    if not mechanism.loops:
        return None
    from .hybrid import hybrid_of  # half a second, for loops only

    return hybrid_of(mechanism, frame, relative_to, task if type(task) is str else task_named(task))


def _closed(hybrid: Hybrid, fixed: Any) -> np.ndarray:
    """Return q of the joints that a pose does not determine, where the loops are closed."""
    from .hybrid import closed_configuration

    return closed_configuration(hybrid, fixed)


def _with_loops(
    hybrid: Hybrid,
    target: Any,
    frame: Any,
    relative_to: Any,
    limits: Any,
    task: Any,
    fixed: Any,
    near: Any,
    timeout: float | None,
) -> Solutions:
    """Solve a chain that moves closed loops: all solutions, or one from each of the configurations `near`."""
    from .hybrid import hybrid_answer

    def solve_chain(T: np.ndarray, q: np.ndarray) -> Solutions:
        return solve_ik(hybrid.tree, T, frame, relative_to=relative_to, limits=False, task=task, fixed=q)

    def closed(poses: np.ndarray) -> Solutions:
        return hybrid_answer(hybrid, poses, limits, fixed, near, solve_chain)

    poses = poses_asked(hybrid.chain, target)
    return closed(poses) if timeout is None else within_seconds(poses, timeout, closed)


def _refuse_with_loops(refused: dict[str, Any], method: str) -> None:
    """Raise an error for arguments that mean nothing where the chain moves closed loops."""
    if method != "auto":
        raise ZvenoError(
            f"{method!r} is not for chains that move closed loops", element="method", remedy='Use "auto"'
        )
    for name, value in refused.items():
        if value is not None:
            raise ZvenoError("is not for chains that move closed loops", element=name, remedy=f"Leave {name} out")


def _all(request: IkRequest, T: np.ndarray, method: str = "auto") -> Solutions:
    """Find all solutions of poses T (..., 4, 4) for a chain that is not redundant."""
    solver = native_solver(request.chain) if method == "auto" else None
    if solver is not None:
        answer = (solver.one if T.ndim == 2 else solver.many)(T, request, partial(_checked, request, solver.method))
        if answer is not None:
            return answer
        method = solver.method
    return _checked(request, method, T)


def _checked(request: IkRequest, method: str, T: np.ndarray) -> Solutions:
    """Solve in NumPy, with the checks of `zveno.ik.answer`."""
    problem = request.problem
    targets = checked_targets(problem, T)
    return checked_answer(problem, targets, solver_for(problem, method), _hash(problem, targets))


def _redundant(
    request: IkRequest, T: np.ndarray, method: str, slices: int | None, redundant: str | None, progress: Progress
) -> Solutions:
    """Solve a redundant chain; find all solutions if locked joints leave it without redundancy."""
    problem = without_locked(request.problem)
    if not problem.redundancy:
        if slices is not None or redundant is not None:
            _refuse_unused(problem, method, ["slices" if slices is not None else "redundant"])
        return _all(IkRequest(problem, problem.limits, problem.held), T, method)
    targets = checked_targets(problem, T)
    inputs = _hash(problem, targets)
    return sampled_answer(problem, targets, slices, redundant, method, inputs, progress)


def _local(request: IkRequest, T: np.ndarray, start: Any) -> Solutions:
    """Find one solution per pose, from a start."""
    if T.ndim == 2 and start is not None:
        answer = from_near_start(request, T, start)
        if answer is not None:
            return answer
    targets = checked_targets(request.problem, T)
    return local_answer(request.problem, targets, start, _hash(request.problem, targets))


def _within(request: IkRequest, T: np.ndarray, region: Tolerance, method: str) -> Solutions:
    """Find every local nearest configuration inside a region about each pose."""
    problem = request.problem
    exact = _all(request, T, method) if problem.n == problem.task.n_rows else None
    targets = checked_targets(problem, T)
    return within_answer(problem, targets, region, exact, _hash(problem, targets))


def _hash(problem: IkProblem, targets: Targets) -> str:
    """Return the hash of the inputs of an answer."""
    return hashlib.blake2b(targets.T.tobytes(), key=problem.identity, digest_size=8).hexdigest()


def certified_solutions(problem: IkProblem, poses: Any) -> Solutions:
    """Find all solutions with a proof; poses as `solve_ik` takes them, or texts of elementary transforms."""
    required_flint()
    certified = importlib.import_module("zveno.ik.certified.answer")
    return certified.certified_answer(problem, poses, partial(_hash, problem))


def _refuse_unused(problem: IkProblem, method: str, given: list[str]) -> None:
    """Raise an error for the first given argument that this method does not use for this chain."""
    for name in given:
        if problem.redundancy <= 0:
            here = f"{problem.n} coordinates, {problem.task.n_rows} equations and method {method!r}"
            raise ZvenoError(f"is for redundant chains; here are {here}", element=name, remedy=f"Leave {name} out")


def _in_parts(
    call: SolveCall, problem: IkProblem, T: np.ndarray, start: Any, executor: Executor | None, progress: Any
) -> Solutions:
    """Solve many poses in parts, by the workers of an executor if there is one."""
    if not T.size:
        raise ZvenoError("there are no poses", element="target", remedy="Give at least one")
    if not np.isfinite(T).all():
        checked_targets(problem, T)
    size = AT_ONCE
    if executor is not None:
        from .maps.pieces import poses_a_piece

        size = poses_a_piece(problem, call.options.get("method", "local"), T.size // 16)
    return in_pieces(call, problem, T, start, size, executor, progress)


def one_natively(robot: Any, T: Any, frame: Any, relative_to: Any, limits: Any, task: Any) -> Solutions | None:
    """Find all solutions of one pose T (4, 4) by a compiled program; None if there is none or it is uncertified.

    For calls of `solve_ik` that give nothing but these arguments: every lookup here is repeated for every
    pose, and takes as long as a fifth of the solving.
    """
    if type(T) is not _NDARRAY or T.shape != _POSE or type(limits) is not bool or type(task) is not str:
        return None
    prepared = _prepared(getattr(robot, "mechanism", robot), frame, relative_to, limits, task)
    # Arrays from other processes have a dtype object of their own.
    if prepared is None or (T.dtype is not _FLOAT and T.dtype != _FLOAT):
        return None
    solver, request, careful = prepared
    return solver.one(T, request, careful)


@lru_cache(maxsize=32)
def _prepared(mechanism, frame, relative_to, limits, task) -> tuple[NativeSolver, IkRequest, Any] | None:
    if mechanism.loops:  # `solve_ik` closes them
        return None
    request = request_of(mechanism, frame, relative_to, limits, task)
    solver = native_solver(request.chain)
    return None if solver is None else (solver, request, partial(_checked, request, solver.method))


@lru_cache(maxsize=64)
def solver_for(problem: IkProblem, method: str = "auto") -> Solver:
    """Return the solver that `method` means for a problem."""
    if method != "auto":
        if method not in METHODS:
            raise unknown_name("method", method, ("auto", *METHODS, "certified"))
        solver = _solver(method)
        if solver is None or not solver.applies(problem):
            raise ZvenoError(
                f"method {method!r} does not apply to a chain {problem.kinds} with {problem.task.n_rows} equations",
                element="method",
                remedy='Use "auto" or "scan"',
            )
        return solver
    for name in METHODS:
        solver = _solver(name)
        if solver is not None and solver.applies(problem):
            return solver
    return scan.solver


@lru_cache(maxsize=8)
def _solver(name: str) -> Solver | None:
    module = METHODS[name]
    if importlib.util.find_spec(module) is None:
        return None
    return getattr(importlib.import_module(module), "solver", None)
