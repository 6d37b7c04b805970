"""`solve_ik`: all solutions for one pose or a batch, by the best method that applies, checked and judged."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import time
from collections.abc import Mapping
from concurrent.futures import Executor
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..clearance import Clearance
from ..clearance.capsules import acceptance
from ..errors import ZvenoError, unknown_name
from ..mechanism import Mechanism
from ..progress import Progress
from ..robot_functions import RobotFunctions
from ..spatial.exact_numbers import required_flint
from . import scan
from .accept import Accept
from .answer import checked_answer, from_near_start, local_answer
from .ik_problem import IkProblem
from .native.answer import NativeSolver, native_solver
from .parts import AT_ONCE, SolveCall, checked_seconds, in_pieces, within_seconds
from .redundant.locked_joints import without_locked
from .redundant.sampled_answer import sampled_answer
from .request import IkRequest, request_of
from .solutions import Solutions, Solver, checked_miss
from .targets import Targets, checked_targets, poses_asked
from .task import task_named
from .within import Tolerance, within_answer

METHODS = {
    "closed_form": "zveno.ik.closed_form",
    "six_revolute": "zveno.ik.six_revolute",
    "scan": "zveno.ik.scan",
}
"""Solvers by name, in the order in which `method="auto"` tries them. Each module has an object named `solver`."""
_NDARRAY, _POSE, _FLOAT = np.ndarray, (4, 4), np.dtype(float)


def solve_ik(
    robot: RobotFunctions | Mechanism,
    target: ArrayLike | Mapping[str, Any],
    frame: str | None = None,
    relative_to: str | None = None,
    limits: Any = True,
    task: Any = "pose",
    method: str = "auto",
    *,
    windings: bool = False,
    start: ArrayLike | None = None,
    samples: int | None = None,
    redundant_joint: str | None = None,
    tolerance: Tolerance | tuple[float, float] | Mapping[str, tuple[float, float]] | None = None,
    held: ArrayLike | None = None,
    center_of_mass: ArrayLike | None = None,
    accept: Accept | Clearance | None = None,
    timeout: float | None = None,
    executor: Executor | None = None,
    progress: Progress = None,
) -> Solutions:
    """Do what `Robot.ik` documents."""
    # Whether something is a mapping takes 0.6 µs to find out, and arrays are none.
    if center_of_mass is not None or (type(target) is not np.ndarray and isinstance(target, Mapping)):
        refused = {
            "frame": frame,
            "relative_to": relative_to,
            "samples": samples,
            "redundant_joint": redundant_joint,
        }
        refused |= {"held": held, "timeout": timeout, "executor": executor}
        refused |= {"task": None if task == "pose" else task, "method": None if method == "auto" else method}
        refused |= {"windings": windings or None}
        return _postures(robot, target, center_of_mass, refused)(
            limits=limits, q0=start, tolerance=tolerance, where=accept
        )
    mechanism = robot if isinstance(robot, Mechanism) else robot.mechanism
    if mechanism.loops:
        from .hybrid import closed_configuration, hybrid_answer, hybrid_of  # half a second, for loops only

        hybrid = hybrid_of(mechanism, frame, relative_to, task if type(task) is str else task_named(task))
        if hybrid.loops:
            refused = {"samples": samples, "redundant_joint": redundant_joint, "executor": executor}
            _refuse_with_loops(refused | {"tolerance": tolerance}, method, start)
            near = (mechanism.neutral() if start is None else start) if method == "local" else None
            solve_chain = partial(_of_tree, hybrid.tree, frame, relative_to, task)

            def closed(poses: np.ndarray) -> Solutions:
                return hybrid_answer(hybrid, poses, limits, held, near, solve_chain)

            poses = poses_asked(hybrid.chain, target)
            answer = closed(poses) if timeout is None else within_seconds(poses, timeout, closed)
            answer = answer.windings() if windings else answer
            accepted = acceptance(robot, accept)
            return answer if accepted is None else answer.where(accepted)
        held = closed_configuration(hybrid, held)
    request, accepted = request_of(robot, frame, relative_to, limits, task, held), acceptance(robot, accept)
    if method == "certified":
        unused = {"start": start, "samples": samples, "redundant_joint": redundant_joint, "tolerance": tolerance}
        for name, given in unused.items():
            if given is not None:
                raise ZvenoError('is not for method "certified"', element=name, remedy=f"Leave {name} out")
        if executor is None and timeout is None:  # what poses mean is read from the way they were given
            answer = certified_solutions(request.problem, target, windings)
            return answer if accepted is None else answer.where(accepted)
    T = poses_asked(request.chain, target)
    if executor is not None or T.size > 16 * AT_ONCE:
        options = {
            "windings": windings,
            "samples": samples,
            "redundant_joint": redundant_joint,
            "tolerance": tolerance,
        }
        deadline = None if timeout is None else time.time() + checked_seconds(timeout)
        asked = (frame, relative_to, limits, task, method)
        call = SolveCall(robot, asked, options | {"held": held, "accept": accept}, deadline)
        return _in_parts(call, request.problem, T, start, executor, progress)
    if method != "certified" and (
        start is not None or windings or samples is not None or redundant_joint is not None
    ):
        given = {
            "start": start,
            "windings": windings or None,
            "samples": samples,
            "redundant_joint": redundant_joint,
        }
        _refuse_unused(request.chain, method, [name for name, value in given.items() if value is not None])
    region = tolerance if isinstance(tolerance, Tolerance) else None
    near_enough = None if tolerance is None or region is not None else checked_miss(tolerance)

    def solve(poses: np.ndarray, start: Any = start) -> Solutions:
        if method == "certified":
            return certified_solutions(request.problem, poses, windings)
        if region is not None:
            return _within(request, poses, region, method)
        if method == "local":
            answer = _local(request, poses, start)
        elif request.chain.redundancy:
            answer = _redundant(request, poses, method, samples, redundant_joint, progress)
        else:
            answer = _all(request, poses, method)
        answer = answer.windings() if windings else answer
        return answer if near_enough is None else answer.within(*near_enough)

    if timeout is None:
        answer = solve(T)
    elif T.ndim > 2 and start is not None and np.ndim(start) > 1:
        n = np.shape(start)[-1]
        starts = iter(np.broadcast_to(np.asarray(start), (*T.shape[:-2], n)).reshape(-1, n))
        answer = within_seconds(T, timeout, lambda poses: solve(poses, np.array([next(starts) for _ in poses])))
    else:
        answer = within_seconds(T, timeout, solve)
    return answer if accepted is None else answer.where(accepted)


def _refuse_with_loops(refused: dict[str, Any], method: str, start: Any) -> None:
    """Raise an error for arguments that mean nothing where the chain moves closed loops."""
    if method not in ("auto", "local"):
        raise ZvenoError(
            f"{method!r} is not for chains that move closed loops", element="method", remedy='Use "auto" or "local"'
        )
    for name, value in (refused | {"start": start if method != "local" else None}).items():
        if value is not None:
            raise ZvenoError(
                "is not for chains that move closed loops" if name != "start" else 'is for method "local"',
                element=name,
                remedy=f"Leave {name} out",
            )


def _of_tree(
    tree: RobotFunctions, frame: Any, relative_to: Any, task: Any, T: np.ndarray, held: np.ndarray
) -> Solutions:
    """Solve the chain of a tree without limits."""
    return solve_ik(tree, T, frame, relative_to, False, task, held=held)


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


def _postures(robot: Any, targets: Any, center_of_mass: Any, refused: Mapping[str, Any]) -> Any:
    """Call `whole_body` for these targets; refuse arguments that it does not take."""
    if not isinstance(targets, Mapping):
        raise ZvenoError("is for targets by frame name", element="center_of_mass", remedy="Give {frame: target}")
    for name, value in refused.items():
        if value is not None:
            raise ZvenoError("is not for targets by frame name", element=name, remedy=f"Leave {name} out")
    postures = importlib.import_module("zveno.ik._whole_body.postures")
    return partial(postures.whole_body, robot, targets, center_of_mass=center_of_mass)


def _hash(problem: IkProblem, targets: Targets) -> str:
    """Return the hash of the inputs of an answer."""
    return hashlib.blake2b(targets.T.tobytes(), key=problem.identity, digest_size=8).hexdigest()


def certified_solutions(problem: IkProblem, poses: Any, windings: bool = False) -> Solutions:
    """Find all solutions with a proof; poses as `solve_ik` takes them, or texts of elementary transforms."""
    required_flint()
    certified = importlib.import_module("zveno.ik.certified.answer")
    return certified.certified_answer(problem, poses, windings, partial(_hash, problem))


def _refuse_unused(problem: IkProblem, method: str, given: list[str]) -> None:
    """Raise an error for the first given argument that this method does not use for this chain."""
    local, redundant = method == "local", problem.redundancy > 0
    used = {"start": local, "windings": not local and not redundant}
    used |= dict.fromkeys(("samples", "redundant_joint"), not local and redundant)
    users = {"start": 'method "local"', "windings": 'chains that are not redundant, by other methods than "local"'}
    for name in given:
        if not used[name]:
            who = users.get(name, 'redundant chains, by other methods than "local"')
            here = f"{problem.n} coordinates, {problem.task.n_rows} equations and method {method!r}"
            raise ZvenoError(f"is for {who}; here are {here}", element=name, remedy=f"Leave {name} out")


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

        size = poses_a_piece(problem, call.asked[-1], T.size // 16)
    return in_pieces(call, problem, T, start, size, executor, progress)


def one_natively(
    robot: Any, T: Any, frame: Any, relative_to: Any, limits: Any, task: Any, windings: bool, accept: Any
) -> Solutions | None:
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
    answer = solver.one(T, request, careful)
    if answer is not None and windings:
        answer = answer.windings()
    accepted = None if answer is None else acceptance(robot, accept)
    return answer if answer is None or accepted is None else answer.where(accepted)


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
            raise unknown_name("method", method, ("auto", *METHODS, "local", "certified"))
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
