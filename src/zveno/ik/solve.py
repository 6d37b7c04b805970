"""`solve_ik`: all solutions for one pose or a batch, by the best method that applies, checked and judged."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
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
from ..scale.fold import On
from ..spatial.exact_numbers import required_flint
from . import scan
from .answer import checked_answer, local_answer
from .ik_problem import IkProblem, problem_of
from .objectives import aim_of
from .parts import AT_ONCE, Accept, SolveCall, accepted, in_parts, solved_on, within_seconds
from .redundant.locked_joints import without_locked
from .redundant.sampled_answer import sampled_answer
from .solutions import Solutions, Solver
from .targets import Targets, checked_targets, pose_array
from .within import Tolerance, within_answer

METHODS = {
    "closed_form": "zveno.ik.closed_form",
    "six_revolute": "zveno.ik.six_revolute",
    "scan": "zveno.ik.scan",
}
"""Solvers by name, in the order in which `method="auto"` tries them. Each module has an object named `solver`."""
_NDARRAY, _POSE = np.ndarray, (4, 4)


def solve_ik(
    robot: RobotFunctions | Mechanism,
    T_world_tool: ArrayLike | Mapping[str, Any],
    frame: str | None = None,
    relative_to: str | None = None,
    limits: Any = True,
    task: Any = "pose",
    method: str = "auto",
    *,
    windings: bool = False,
    start: ArrayLike | None = None,
    slices: int | None = None,
    redundant: str | Sequence[str] | None = None,
    objective: str = "squares",
    tolerance: Tolerance | tuple[float, float] | Mapping[str, tuple[float, float]] | None = None,
    percent: float | None = None,
    held: ArrayLike | None = None,
    center_of_mass: ArrayLike | None = None,
    accept: Accept | Clearance | None = None,
    seconds: float | None = None,
    on: On = None,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: Progress = None,
) -> Solutions:
    """All configurations that put a frame of the robot where it is asked for; or postures for several frames.

    Args:
        robot: the robot.
        T_world_tool: poses (..., 4, 4) of the frame; points (..., 3) for task "position". Targets by frame name are
            those of `solve_postures`, which then answers with `Postures`.
        frame: the frame to be placed; the default one if not given.
        relative_to: the frame in which the poses are given; the world if not given.
        limits: True for the model's, False for none; {joint: (lower, upper)} or (lower, upper) narrow the model's.
        task: "pose", "position", "position+axis" (the frame's z axis), "rotation", or six zeros and ones: x, y, z
            and rotation about x, y, z in the target's axes.
        method: "auto"; a solver by name, see `METHODS`; "local": one solution, from `start`; or "certified": all
            with a proof, pose by pose, for six revolute joints (seven with one held by its limits, five for
            "position+axis"); poses may then be texts of elementary transforms, "Tx(0.4) Ry(90deg)".
        windings: also return the solutions that differ by whole turns, where limits allow several.
        start: q for method "local", (n_q,) or (..., n_q); random starts if not given.
        slices: for redundant robots, at how many values of the redundant joint to solve; at how many points of a
            grid, where several joints are redundant: as many values a joint as make no more points than this. If
            not given, self-motions of seven revolute joints are followed to their ends; others are sampled at 16.
        redundant: name of that joint, or names. If not given those that move most in self-motions, or the one
            whose slices have a closed form.
        objective: what a scan compares numbers by, and what the nearest configuration makes least where there is no
            solution: "squares", "norm" or "absolute", formulas (13), (11) and (12) of document 004.
        tolerance: a `Tolerance`: every local nearest configuration inside that region about the pose, for any
            number of joints. Or (metres, radians): without an exact solution, the nearest one counts if it misses
            by no more. With targets by name as `solve_postures` takes it.
        percent: the same in the document's percent: of the distances of the frame's origin, and of the points one
            metre from it along its axes, from the reference's origin. With both, both must hold.
        held: q of the joints outside the chain; neutral if not given.
        center_of_mass: where it is to be, (3,), with targets by name.
        accept: (s, n_q) → (s,) booleans: which configurations may be used, such as those free of collisions; or a
            `Clearance` that they must keep. Others are left out; where none is left, the status is "not accepted",
            or undecided where solutions are a sample.
        seconds: time after which the answer is what is known by then: what is not finished, or not looked at, is
            undecided and says so. Steps are short, but kernels that must first be compiled are waited for.
        on: workers that share the poses of a batch, as in `zveno.scale.fold`; this process if None.
        checkpoint: file that keeps what is solved of a batch; the same call goes on from there.
        progress: for these two, and for self-motions of many poses: whether a bar is shown, by default on a
            terminal after a second; or a function of (done, total).

    Solutions of a pose are ordered by their first coordinate, then by a fixed function of all, whatever batch they
    were solved in. Large batches are solved in parts. An argument that the method does not use is refused.
    """
    plain = method == "auto" and not windings and objective == "squares"
    plain = plain and (tolerance is percent is accept is seconds is start is slices is redundant is on is None)
    plain = plain and checkpoint is None
    if plain and (held is center_of_mass is None):
        answer = one_natively(robot, T_world_tool, frame, relative_to, limits, task)
        if answer is not None:
            return answer
    # Whether something is a mapping takes 0.6 µs to find out, and arrays are none.
    if center_of_mass is not None or (type(T_world_tool) is not np.ndarray and isinstance(T_world_tool, Mapping)):
        refused = {"frame": frame, "relative_to": relative_to, "slices": slices, "redundant": redundant}
        refused |= {"percent": percent, "held": held, "seconds": seconds, "on": on, "checkpoint": checkpoint}
        refused |= {"task": None if task == "pose" else task, "method": None if method == "auto" else method}
        refused |= {"windings": windings or None, "objective": None if objective == "squares" else objective}
        return _postures(robot, T_world_tool, center_of_mass, refused)(
            limits=limits, start=start, tolerance=tolerance, accept=accept
        )
    problem = _problem(robot, frame, relative_to, limits, task, held)
    if on is not None or checkpoint is not None:
        options = {"windings": windings, "slices": slices, "redundant": redundant, "objective": objective}
        options |= {"tolerance": tolerance, "percent": percent, "held": held, "accept": accept}
        asked = SolveCall(robot, (frame, relative_to, limits, task, method), options)
        return solved_on(asked, problem, T_world_tool, start, seconds, on, checkpoint, progress)
    if accept is not None or seconds is not None:
        options = {"windings": windings, "start": start, "slices": slices, "redundant": redundant}
        options |= {"objective": objective, "tolerance": tolerance, "percent": percent, "held": held}
        options |= {"progress": progress}
        asked = (robot, frame, relative_to, limits, task, method)
        return _narrowed(problem, T_world_tool, asked, options, acceptance(robot, accept), seconds)
    if method == "certified":
        unused = {"start": start, "slices": slices, "redundant": redundant, "tolerance": tolerance}
        for name, given in (unused | {"percent": percent}).items():
            if given is not None:
                raise ZvenoError('is not for method "certified"', element=name, remedy=f"Leave {name} out")
        return certified_solutions(problem, T_world_tool, windings)
    if isinstance(T_world_tool, np.ndarray) and T_world_tool.size > 16 * AT_ONCE:
        options = {"windings": windings, "slices": slices, "redundant": redundant, "objective": objective}
        options |= {"tolerance": tolerance, "percent": percent, "held": held, "progress": progress}
        asked = (robot, frame, relative_to, limits, task, method)
        answer = _in_parts(problem, T_world_tool, start, asked, options)
        if answer is not None:
            return answer
    if plain:

        def careful(poses: np.ndarray, name: str) -> Solutions:
            return solve_ik(robot, poses, frame, relative_to, limits, task, name, held=held)

        answer = _natively().many_natively(problem, T_world_tool, careful)
        if answer is not None:
            return answer
    region = tolerance if isinstance(tolerance, Tolerance) else None
    aim = aim_of(objective, None if isinstance(tolerance, Tolerance) else tolerance, percent)
    if problem.redundancy and method != "local" and region is None:
        problem = without_locked(problem)
    targets = checked_targets(problem, T_world_tool)
    inputs = _hash(problem, targets)
    if start is not None or windings or slices is not None or redundant is not None:
        given = {"start": start, "windings": windings or None, "slices": slices, "redundant": redundant}
        _refuse_unused(problem, method, [name for name, value in given.items() if value is not None])
    if region is not None:
        exact = None
        if problem.n == problem.task.n_rows:
            exact = solve_ik(robot, targets.T, frame, relative_to, limits, task, method, held=held)
        return within_answer(problem, targets, region, exact, aim, inputs)
    if method == "local":
        return local_answer(problem, targets, start, aim, inputs)
    if problem.redundancy:
        return sampled_answer(problem, targets, slices, redundant, method, aim, inputs, progress)
    solver = solver_for(problem, method)
    if solver is scan.solver and objective != scan.solver.objective:
        solver = replace(scan.solver, objective=objective)
    return checked_answer(problem, targets, solver, windings, aim, inputs)


def _postures(robot: Any, targets: Any, center_of_mass: Any, refused: Mapping[str, Any]) -> Any:
    """`solve_postures` for these targets; arguments that it does not take are refused."""
    if not isinstance(targets, Mapping):
        raise ZvenoError("is for targets by frame name", element="center_of_mass", remedy="Give {frame: target}")
    for name, value in refused.items():
        if value is not None:
            raise ZvenoError("is not for targets by frame name", element=name, remedy=f"Leave {name} out")
    postures = importlib.import_module("zveno.ik.whole_body.postures")
    return partial(postures.solve_postures, robot, targets, center_of_mass=center_of_mass)


def _hash(problem: IkProblem, targets: Targets) -> str:
    """What an answer is computed from."""
    return hashlib.blake2b(targets.T.tobytes(), key=problem.identity, digest_size=8).hexdigest()


def certified_solutions(problem: IkProblem, poses: Any, windings: bool = False) -> Solutions:
    """All solutions with a proof; poses as `solve_ik` takes them, or texts of elementary transforms."""
    required_flint()
    certified = importlib.import_module("zveno.ik.certified.answer")
    return certified.certified_answer(problem, poses, windings, partial(_hash, problem))


def _narrowed(problem: IkProblem, T, asked: tuple, options: dict, accept, seconds) -> Solutions:
    robot, *rest = asked

    def solve(poses) -> Solutions:
        return solve_ik(robot, poses, *rest, **options)

    if seconds is None:
        answer = solve(T)
    else:
        points = not problem.task.rotation and not problem.task.axis
        answer = within_seconds(pose_array(T, points=points), seconds, solve)
    return answer if accept is None else accepted(answer, accept)


def _refuse_unused(problem: IkProblem, method: str, given: list[str]) -> None:
    """An error for the first of the arguments given that this method does not use for this chain."""
    local, redundant = method == "local", problem.redundancy > 0
    used = {"start": local, "windings": not local and not redundant}
    used |= dict.fromkeys(("slices", "redundant"), not local and redundant)
    users = {"start": 'method "local"', "windings": 'chains that are not redundant, by other methods than "local"'}
    for name in given:
        if not used[name]:
            who = users.get(name, 'redundant chains, by other methods than "local"')
            here = f"{problem.n} coordinates, {problem.task.n_rows} equations and method {method!r}"
            raise ZvenoError(f"is for {who}; here are {here}", element=name, remedy=f"Leave {name} out")


def _in_parts(problem: IkProblem, poses: np.ndarray, start, asked: tuple, options: dict) -> Solutions | None:
    """The answer for a large batch, solved in parts; None where the batch is not one of poses or points."""
    shape = (4, 4) if poses.shape[-2:] == (4, 4) else (3,)
    batch = poses.shape[: -len(shape)]
    if poses.dtype.kind not in "fiu" or poses.shape[-len(shape) :] != shape or np.prod(batch) <= AT_ONCE:
        return None
    if not np.isfinite(poses).all():
        return None  # refused with the number of the pose
    robot, frame, relative_to, limits, task, method = asked
    starts = None if start is None else problem.mechanism.checked_q(start, "start")
    if starts is not None and starts.ndim > 1:
        starts = np.broadcast_to(starts, (*batch, starts.shape[-1])).reshape(-1, starts.shape[-1])

    def solve(T: np.ndarray, places: slice) -> Solutions:
        first = starts if starts is None or starts.ndim == 1 else starts[places]
        return solve_ik(robot, T, frame, relative_to, limits, task, method, start=first, **options)

    return in_parts(poses.reshape(-1, *shape), batch, solve)


def one_natively(robot: Any, T: Any, frame: Any, relative_to: Any, limits: Any, task: Any) -> Solutions | None:
    """All solutions of one pose T (4, 4) by a compiled program, None where there is none for it or it is not sure.

    For calls of `solve_ik` that give nothing but these arguments: what is looked up here is looked up for every
    pose, and takes as long as a fifth of the solving.
    """
    if type(T) is not _NDARRAY or T.shape != _POSE or type(limits) is not bool or type(task) is not str:
        return None
    solver = _native_solver(getattr(robot, "mechanism", robot), frame, relative_to, limits, task)
    return None if solver is None else solver.one(T)


@lru_cache(maxsize=32)
def _native_solver(mechanism, frame, relative_to, limits, task) -> Any:
    return _natively().native_solver(_remembered(mechanism, frame, relative_to, limits, task, None))


@lru_cache(maxsize=1)
def _natively() -> Any:
    return importlib.import_module("zveno.ik.native.answer")


@lru_cache(maxsize=64)
def solver_for(problem: IkProblem, method: str = "auto") -> Solver:
    """The solver that `method` means for a problem."""
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


def _problem(robot, frame, relative_to, limits, task, held) -> IkProblem:
    """The problem, remembered while the same robot is asked again, so that its tables are."""
    mechanism = getattr(robot, "mechanism", robot)
    if limits is True and held is None and type(task) is str:
        return _remembered(mechanism, frame, relative_to, True, task, None)
    try:
        values = _as_values(limits), _as_values(task), _as_values(held)
    except (TypeError, ValueError):  # refused with the name of the argument
        return problem_of(robot, frame, relative_to, limits, task, held)
    return _remembered(mechanism, frame, relative_to, *values)


@lru_cache(maxsize=64)
def _remembered(mechanism, frame, relative_to, limits, task, held) -> IkProblem:
    by_name = isinstance(limits, _ByName)
    return problem_of(mechanism, frame, relative_to, dict(limits) if by_name else limits, task, held)


class _ByName(tuple):
    """Items of a mapping."""


def _as_values(given: Any) -> Any:
    """An argument as nested tuples of plain numbers: equal where the values are."""
    if given is None or isinstance(given, bool | str):
        return given
    if isinstance(given, Mapping):
        return _ByName((name, _as_values(pair)) for name, pair in given.items())
    if isinstance(given, np.ndarray):
        given = given.tolist()
    if isinstance(given, list | tuple):
        return tuple(_as_values(part) for part in given)
    return float(given)
