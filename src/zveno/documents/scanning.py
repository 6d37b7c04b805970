"""Document 004: inverse kinematics by scanning in functions of numbers.

- `pose_vector`, `pose_system`, `objective`: the pose vector u = [P | S] of formulas (8) to (10), and the measures
  (11) to (13) of its difference from a target.
- `percentages`, `axis_percentages`, `within_percent`: relative errors δP and δS in percent.
- `around`, `reduced_scan`, `rotation_constraints`: tricks 1 to 3. Trick 4 shares a range of numbers among workers,
  as the operators of `zveno.scanning` do.
- `refined`: stage 2, dichotomy (П8) followed by Newton.
- `plot_numbers`: the flat graphs f(i) and ζ(i) of a function of many parameters.
- `printed_dichotomy`, `printed_intervals`, `counted_encoding`, `counted_decoding`: procedures as they are printed,
  where the library has a corrected form.

Use `robot.ik` to solve for a pose. This module is the method as written, corrected if necessary, for study and
comparison.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ModelError, ZvenoError, unknown_name
from ..ik._local_solution import local
from ..ik._rows import distinct
from ..ik.ik_problem import TASKS, IkProblem, problem_of
from ..ik.newton import lanes_of, newton
from ..ik.scan import ACCEPTED
from ..ik.scan import solver as scan
from ..robot_functions import RobotFunctions
from ..scanning import Dichotomy, Grid, decode, dichotomy, evaluate, flat_extrema
from ..scanning.operators import Bounds, Function, Mask
from ..scanning.tables import System, relative_error

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ALONG = np.full(3, 1.0 / np.sqrt(3.0))
"""Characteristic vector s of the document, fixed in the output link's frame."""
POSITION_AND_DIRECTION = (slice(0, 3), slice(3, 6))
"""Parts P and S of the pose vector, each with its own tolerance."""
OBJECTIVES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "squares": lambda d: np.sum(d * d, axis=-1),
    "norm": lambda d: np.linalg.norm(d, axis=-1),
    "absolute": lambda d: np.sum(np.abs(d), axis=-1),
}
"""Objectives Φ of formulas (13), (11) and (12), of differences (..., m). Formula (13) is damaged in the text."""


# --- pose vectors, objectives and percentages


def pose_vector(T: np.ndarray, s: ArrayLike = ALONG, unit: float = 1.0) -> np.ndarray:
    """Pose vector u = [P | S] (..., 6) of poses (..., 4, 4), (8) to (10): S = P + R s, lengths in m over `unit`.

    It does not determine the pose: rotation about s leaves it unchanged (rank 5 of 6).
    """
    p = T[..., :3, 3] / unit
    return np.concatenate([p, p + T[..., :3, :3] @ np.asarray(s)], axis=-1)


def pose_system(
    robot: RobotFunctions, frame: str | None = None, *, s: ArrayLike = ALONG, unit: float = 1.0
) -> System:
    """Return the function u(q) of configurations (k, n_q) → (k, 6), the pose vector of a frame of the robot."""
    return lambda q: pose_vector(robot.forward_kinematics(np.asarray(q), frame), s, unit)


def objective(
    robot: RobotFunctions,
    T: np.ndarray,
    kind: str = "norm",
    frame: str | None = None,
    *,
    s: ArrayLike = ALONG,
    unit: float = 1.0,
) -> Function:
    """Return the objective Φ(q) of configurations (k, n_q), which the document minimises, for one target (4, 4).

    Args:
        robot: any robot; `frame` is the frame to be placed, by default the default frame.
        T: the target.
        kind: "norm" (11), "absolute" (12) or "squares" (13).
        frame, s, unit: as in `pose_system`.
    """
    if kind not in OBJECTIVES:
        raise unknown_name("objective", kind, OBJECTIVES)
    system, goal = pose_system(robot, frame, s=s, unit=unit), pose_vector(T, s, unit)
    return lambda q: OBJECTIVES[kind](system(q) - goal)


def percentages(u: np.ndarray, goal: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Relative errors δP and δS (...) of the document, in percent of |P_0| and of |S_0|."""
    d = u - goal
    first, second = (
        100.0 * np.linalg.norm(d[..., part], axis=-1) / np.linalg.norm(goal[..., part], axis=-1)
        for part in POSITION_AND_DIRECTION
    )
    return first, second


def axis_percentages(T: np.ndarray, T_goal: np.ndarray) -> np.ndarray:
    """Return δP and then δS for S along each axis of the frame, (..., 4), of poses (..., 4, 4), in percent.

    δP = 100 |P − P_0| / |P_0| and δS = 100 |S − S_0| / |S_0| with S = P + R s. A single direction s would miss
    rotations about it. Here s is each axis of the frame, one metre long.
    """
    points = [T[..., :3, 3], *(T[..., :3, 3] + T[..., :3, k] for k in range(3))]
    goals = [T_goal[..., :3, 3], *(T_goal[..., :3, 3] + T_goal[..., :3, k] for k in range(3))]
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = [
            np.linalg.norm(point - goal, axis=-1) / np.linalg.norm(goal, axis=-1)
            for point, goal in zip(points, goals, strict=True)
        ]
    return 100.0 * np.nan_to_num(np.stack(parts, axis=-1), nan=0.0, posinf=np.inf)


def within_percent(
    robot: RobotFunctions, q: ArrayLike, T: np.ndarray, percent: float, frame: str | None = None
) -> np.ndarray:
    """Return True (...) if configurations (..., n_q) reach poses (..., 4, 4) within a percentage of distances."""
    return axis_percentages(robot.forward_kinematics(np.asarray(q), frame), T).max(axis=-1) <= percent


# --- the tricks


def around(robot: RobotFunctions, q: ArrayLike, width: float) -> dict[str, tuple[float, float]]:
    """Build limits for `Robot.ik` about a taught configuration: trick 1, teach coarsely and search narrowly."""
    return {
        name: (float(np.min(value)) - width, float(np.max(value)) + width)
        for name, value in robot.unpack(q).items()
    }


def reduced_scan(
    robot: RobotFunctions,
    T: np.ndarray,
    frame: str | None = None,
    *,
    limits: Any = True,
    counts: int = 12,
    survivors: int = 256,
) -> np.ndarray:
    """Return the configurations (m, n_q) that trick 2, formulas (14) and (15), finds for one pose (4, 4).

    For every value of the first three joints, the last three are solved for the position alone. The resulting
    orientation is compared with the target, and the best numbers start the refinement. Method "scan" of `Robot.ik`
    is better: it solves for the first and the last joint instead.

    Args:
        robot: a robot whose chain to the frame has six revolute or prismatic joints.
        T: the pose.
        frame, limits: as in `Robot.ik`.
        counts: number of values of each of the first three joints.
        survivors: number of candidates that start the refinement.
    """
    problem = problem_of(robot, frame, limits=limits)
    if not (problem.simple and problem.n == 6 and "R" in problem.kinds[3:]):
        raise ModelError(
            f"the chain {problem.kinds} must have six joints with a revolute one among the last three",
            remedy="Use robot.ik",
        )
    lower, upper = (side[:3] for side in problem.span)
    grid = Grid.by_count(lower, upper, counts, centred=True)
    first = grid.range_points(1, grid.size + 1)
    last = replace(
        problem,
        steps=tuple(replace(step, coordinate=step.coordinate - 3) for step in problem.steps[3:]),
        lower=problem.lower[3:],
        upper=problem.upper[3:],
        task=TASKS["position"],
        model=None,
    )
    targets = np.linalg.inv(_products(problem, first)) @ T
    raw = scan.solve(last, targets)
    number = np.repeat(np.arange(len(first)), raw.count)
    rest = raw.x[np.arange(raw.x.shape[1]) < raw.count[:, None]]
    R = (_products(last, rest) @ last.T_last_frame)[:, :3, :3]
    miss = np.sum((R - targets[number, :3, :3]) ** 2, axis=(1, 2))
    best = np.argsort(miss)[:survivors]
    lanes = lanes_of(problem, T[None])
    seeds = np.concatenate([first[number[best]], rest[best]], axis=1) / problem.units
    x, squared = newton(problem, seeds, np.repeat(lanes.targets, len(seeds), axis=0), lanes.tool, 32)
    x = x[squared < ACCEPTED]
    return problem.to_q(x[distinct(problem, np.zeros(len(x), int), x)] * problem.units)


def _products(problem: IkProblem, x: np.ndarray) -> np.ndarray:
    """Poses (k, 4, 4) after the first j joints at x (k, j)."""
    T = np.broadcast_to(np.eye(4), (len(x), 4, 4))
    for k, step in enumerate(problem.steps[: x.shape[1]]):
        motion = np.broadcast_to(np.eye(4), (len(x), 4, 4)).copy()
        if step.kind != "P":
            c, s = np.cos(x[:, k]), np.sin(x[:, k])
            motion[:, 0, 0], motion[:, 0, 1], motion[:, 1, 0], motion[:, 1, 1] = c, -s, s, c
        motion[:, 2, 3] = x[:, k] * (1.0 if step.kind == "P" else step.pitch)
        T = T @ step.T_before @ motion
    return T


def rotation_constraints(
    robot: RobotFunctions, T: np.ndarray, tolerance: float, frame: str | None = None
) -> list[Bounds]:
    """Constraints of trick 3: −tolerance ≤ T_0[s, k] − T(q)[s, k] ≤ tolerance for all nine rotation entries."""
    return [
        (lambda q, r=r, c=c: robot.forward_kinematics(q, frame)[:, r, c] - T[r, c], -tolerance, tolerance)
        for r in range(3)
        for c in range(3)
    ]


def refined(
    robot: RobotFunctions,
    T: np.ndarray,
    lower: ArrayLike,
    upper: ArrayLike,
    percent: float = 1e-3,
    frame: str | None = None,
    *,
    s: ArrayLike = ALONG,
    unit: float = 1.0,
) -> tuple[Dichotomy, np.ndarray | None]:
    """Run the document's stage 2: dichotomy (П8) on the box for the pose vector, then Newton for the whole pose.

    Returns:
        The result of the dichotomy, and the solution (n_q,) that damped Newton reaches from there, or None.
    """
    system, goal = pose_system(robot, frame, s=s, unit=unit), pose_vector(T, s, unit)
    end: Dichotomy = dichotomy(system, goal, lower, upper, percent, groups=POSITION_AND_DIRECTION)
    solution = local(robot, T, end.alpha, frame, limits=False)
    return end, (solution.q if solution.converged else None)


MOST_PLOTTED = 1_000_000
"""Number of points of a graph, which is drawn in memory."""


def plot_numbers(
    grid: Grid, function: Function, mask: Mask | None = None, *, start: int = 1, stop: int | None = None
) -> Figure:
    """Draw f(i) over the numbers i, and ζ(i) below it if a mask is given: the document's flat graphs.

    Args:
        grid: grid of the parameters.
        function: function f of points (k, J).
        mask: ζ, from `zveno.scanning.admissible`.
        start, stop: range of numbers, start … stop − 1; by default the whole grid.
    """
    from matplotlib.figure import Figure

    stop = grid.size + 1 if stop is None else stop
    if not 0 < stop - start <= MOST_PLOTTED:
        raise ZvenoError(
            f"a graph of {stop - start} numbers cannot be drawn",
            element="stop",
            remedy=f"Give a range of 1 to {MOST_PLOTTED} numbers",
        )
    numbers = np.arange(start, stop)
    figure = Figure(figsize=(7.0, 3.2 if mask is None else 4.4), layout="constrained")
    shares = [3] if mask is None else [3, 1]
    panels = figure.subplots(len(shares), 1, sharex=True, squeeze=False, height_ratios=shares)[:, 0]
    panels[0].plot(numbers, evaluate(grid, function, start, stop), linewidth=0.8)
    panels[0].set_ylabel("f(i)")
    if mask is not None:
        panels[1].step(numbers, mask(start, stop), where="mid", linewidth=0.8)
        panels[1].set_ylabel("ζ(i)")
        panels[1].set_yticks([0, 1])
    panels[-1].set_xlabel("number i")
    return figure


# --- procedures as they are printed


class Cost(NamedTuple):
    """Additions and multiplications (with divisions) of a computation."""

    additions: int
    multiplications: int


def printed_encoding_cost(J: int) -> Cost:
    """Cost of formula (1) as the document states it."""
    return Cost(2 * J - 2, J * (J - 1) // 2)


def printed_decoding_cost(J: int, numbers: int) -> Cost:
    """Cost of formula (2) for all numbers as the document states it."""
    return Cost(J * (3 * numbers + 1) - 1, 2 * J * numbers)


class Counted:
    """Integer that counts its operations in a shared list [additions, multiplications]."""

    def __init__(self, value: int, done: list[int]) -> None:
        self.value: int = value
        self.done: list[int] = done

    def _new(self, value: int, kind: int) -> Counted:
        self.done[kind] += 1
        return Counted(value, self.done)

    def __add__(self, other: Counted) -> Counted:
        return self._new(self.value + other.value, 0)

    def __sub__(self, other: Counted) -> Counted:
        return self._new(self.value - other.value, 0)

    def __mul__(self, other: Counted) -> Counted:
        return self._new(self.value * other.value, 1)

    def __floordiv__(self, other: Counted) -> Counted:
        return self._new(self.value // other.value, 1)


def counted_encoding(theta: Sequence[int], radices: Sequence[int]) -> tuple[int, Cost]:
    """Compute i(θ) by formula (1), term by term as printed, and count the operations."""
    done = [0, 0]
    local, sizes, unit = [Counted(x, done) for x in theta], [Counted(x, done) for x in radices], Counted(1, done)
    number = local[0]
    for j in range(1, len(local)):
        term = sizes[0]
        for radix in sizes[1:j]:
            term = term * radix
        number = number + term * (local[j] - unit)
    return number.value, Cost(*done)


def counted_decoding(numbers: Sequence[int], radices: Sequence[int]) -> tuple[list[list[int]], Cost]:
    """Compute θ(i) by formula (2), and count the operations if each K_j − 1 and its quotient are formed once."""
    done = [0, 0]
    sizes, unit = [Counted(x, done) for x in radices], Counted(1, done)
    decoded = []
    for i in numbers:
        K, theta = Counted(i, done), []
        for radix in sizes:
            quotient = (K - unit) // radix
            theta.append((K - radix * quotient).value)
            K = unit + quotient
        decoded.append(theta)
    return decoded, Cost(*done)


def printed_dichotomy(
    system: System,
    target: ArrayLike,
    lower: ArrayLike,
    upper: ArrayLike,
    percent: float = 1e-3,
    iterations: int = 60,
    shift: float = 1e-15,
    groups: Sequence[slice] | None = None,
    compared: Callable[[np.ndarray], Any] | None = None,
) -> Dichotomy:
    """Scan 3^J nodes of the box and keep the half of every side that contains the best node: П8 as printed.

    If the best node is in the middle of a side, all parameters are moved by `shift`, a unit in the last place (γ =
    E), so that rounding decides. It decides on c_1 and c_2, by default the deviations f of П8; `compared` is
    another function of the pose vector, such as |P| of step 2.4. Other arguments as for
    `zveno.scanning.dichotomy`.
    """
    error = relative_error(target, groups)
    target = np.asarray(target, float)
    low, high = (np.array(np.atleast_1d(side), float) for side in (lower, upper))
    node, percent_left, scans = (low + high) / 2, np.inf, 0
    for scans in range(1, iterations + 1):
        grid = Grid.by_count(low, high, 2, ends=True)
        nodes = grid.range_points(1, grid.size + 1)
        u = np.asarray(system(nodes))
        distance = np.linalg.norm(u - target, axis=1)
        k = int(np.argmin(distance))
        node, percent_left = nodes[k], error(u[k])
        if percent_left <= percent:
            return Dichotomy(node, percent_left, scans, True, "the error is small enough", low, high)
        theta = decode(k + 1, grid.counts)
        moved = np.asarray(system(nodes[k : k + 1] + shift))[0]
        measure = compared or (lambda pose: np.linalg.norm(pose - target))
        second = (theta == 3) | ((theta == 2) & (not measure(u[k]) < measure(moved)))
        half = (high - low) / 2
        low = np.where(second, low + half, low)
        high = low + half
    return Dichotomy(node, percent_left, scans, False, f"stopped after {iterations} scans", low, high)


def printed_intervals(grid: Grid, system: System, target: ArrayLike) -> np.ndarray:
    """Find intervals for F(α) = F_0, given by corners (k, 2, J): П7 for several equations as printed.

    The table of F_v consists of its extrema in the sequence of numbers. F_0v selects adjacent entries that enclose
    it, and the pairs of numbers selected in every table are kept.
    """
    pairs = []
    for v, value in enumerate(np.asarray(target, float)):

        def component(points: np.ndarray, v: int = v) -> np.ndarray:
            return system(points)[:, v]

        numbers = np.unique(
            np.concatenate([flat_extrema(grid, component, kind).numbers for kind in ("min", "max")])
        )
        entries = component(grid.points(numbers))
        low, high = np.minimum(entries[:-1], entries[1:]), np.maximum(entries[:-1], entries[1:])
        enclosing = np.flatnonzero((low <= value) & (value <= high))
        pairs.append({(int(numbers[s]), int(numbers[s + 1])) for s in enclosing})
    kept = sorted(set.intersection(*pairs))
    return grid.points(np.array(kept, dtype=int).reshape(-1, 2))
