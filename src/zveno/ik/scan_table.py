"""The coarse grid of a chain as a table: poses of all its numbers, and which of them come near a target.

Dimension reduction (document 004, trick 2, formulas (14) and (15)) takes the first joint, and for whole poses the
last one, out of the scan: whatever the others do, their best values follow in closed form. What is left to
compare are quantities that neither of them changes, the functional constraints of trick 3.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ..kernels.compile import compiled
from ..kernels.ops import atan2, cos, sin, sqrt
from ..scanning import Grid
from ..spatial.vectors import cross
from .ik_problem import IkProblem
from .newton import Lanes
from .pose_error import error, walk

SIZES = (1, 64, 576, 1728, 4096, 7776)
"""Numbers in the table by how many coordinates are scanned; the last one for more."""
MOST_WINDINGS = 8.0
_GOLDEN = 0.6180339887498949


@dataclass(frozen=True, eq=False)
class Table:
    """Grid points of a chain with the vectors that are compared with a target's.

    Attributes:
        problem: the chain.
        grid: the grid of the scanned coordinates.
        first, last: True if the first and last coordinate are solved for, not scanned.
        x: (N, n) grid points in chain units; coordinates that are not scanned are 0.
        vectors: (N, 9): a point and the directions z and x of the frame, or of the last joint where that is solved.
    """

    problem: IkProblem
    grid: Grid
    first: bool
    last: bool
    x: np.ndarray
    vectors: np.ndarray

    @property
    def size(self) -> int:
        """Number of points."""
        return len(self.x)

    def distances(self, lanes: Lanes) -> np.ndarray:
        """Return squared distances (k, N) of grid points from targets, the solved coordinates at their best."""
        if not _comparable(self.problem):
            return _spread_kernel(self.problem)(self.x, lanes.targets[:, None], lanes.tool)
        kernel = _distance_kernel(self.problem, self.first, self.last)
        return kernel(self.vectors.astype(np.float32), self._of_targets(lanes).astype(np.float32)[:, None])

    def seeds(self, lanes: Lanes, pose: np.ndarray, point: np.ndarray) -> np.ndarray:
        """Return seeds (s, n): grid points `point` with the solved coordinates at their best for targets `pose`."""
        x = self.x[point]
        if self.first or self.last:
            goal = self._of_targets(lanes)[pose]
            x = _completion_kernel(self.problem, self.first, self.last)(x, self.vectors[point], goal)
        return x

    def _of_targets(self, lanes: Lanes) -> np.ndarray:
        R, p = lanes.targets[..., :3], lanes.targets[..., 3]
        if self.last:
            R = R @ lanes.tool[:, :3].T
            p = p - R @ lanes.tool[:, 3]
        return np.concatenate([p, R[..., 2], R[..., 0]], axis=-1)


@lru_cache(maxsize=256)
def table_of(problem: IkProblem, density: float = 1.0, frozen: tuple[tuple[int, float], ...] = ()) -> Table:
    """Return the table of a chain within its limits.

    Args:
        problem: the chain.
        density: factor of the usual number of points.
        frozen: (coordinate, value in chain units) of coordinates that are neither scanned nor solved.
    """
    held = dict(frozen)
    first, last = _solvable_ends(problem, held)
    solved = [0] * first + [problem.n - 1] * last
    scanned = [k for k in range(problem.n) if k not in held and k not in solved]
    wanted = SIZES[min(len(scanned), len(SIZES) - 1)] * density * windings_within(problem)
    x = np.zeros((1, problem.n))
    grid = Grid(np.zeros(1), np.zeros(1), (1,))
    if scanned:
        lower, upper = (side[scanned] / problem.units[scanned] for side in problem.span)
        grid = Grid.by_count(
            lower, upper, _counts((upper - lower) * fastest(problem)[scanned], wanted), centred=True
        )
        x = np.zeros((min(grid.size, int(4 * wanted)), problem.n))
        if grid.size == len(x):
            x[:, scanned] = grid.range_points(1, grid.size + 1)
        else:
            # Too many to visit: numbers spread evenly over the whole range.
            numbers = [1 + int(grid.size * ((s * _GOLDEN) % 1.0)) for s in range(len(x))]
            x[:, scanned] = grid.points(np.array(numbers, dtype=object))
    for k, value in held.items():
        x[:, k] = value
    vectors = _vector_kernel(problem)(x, np.eye(3, 4) if last else problem.tool)
    return Table(problem, grid, first, last, x, vectors)


def fastest(problem: IkProblem) -> np.ndarray:
    """Return the speed ratios (n,) of the fastest joint that each coordinate moves; at least 1."""
    fastest = np.ones(problem.n)
    for step in problem.steps:
        if step.kind != "P":
            fastest[step.coordinate] = max(fastest[step.coordinate], abs(step.factor))
    return fastest


def windings_within(problem: IkProblem) -> float:
    """Return the factor by which mimic joints that turn faster than their leaders may multiply the solutions."""
    return float(min(np.prod(fastest(problem)), MOST_WINDINGS))


def _vector_kernel(problem: IkProblem):
    return compiled(_vectors, {"x": (problem.n,), "tool": (3, 4)}, constants=(problem,), name="ik_vectors")


def _vectors(problem: IkProblem, x, tool):
    moved = walk(problem, x, tool)
    return np.concatenate([moved.p, moved.R[:, 2], moved.R[:, 0]])


def _spread_kernel(problem: IkProblem):
    inputs = {"x": (problem.n,), "target": (3, 4), "tool": (3, 4)}
    return compiled(_spread, inputs, constants=(problem,), name="ik_spread")


def _spread(problem: IkProblem, x, target, tool):
    return error(problem, x, target, tool).spread


def _distance_kernel(problem: IkProblem, first: bool, last: bool):
    inputs = {"vectors": (9,), "goal": (9,)}
    return compiled(_distance, inputs, constants=(problem, first, last), name="ik_distance", dtype="float32")


def _compared(problem: IkProblem, last: bool) -> list[int]:
    """Return the indices of the point and the two directions that are compared."""
    task = problem.task
    used = ([0] if task.position else []) + ([1] if task.axis or task.rotation else [])
    return [*used, 2] if task.rotation and not last else used


def _distance(problem: IkProblem, first: bool, last: bool, vectors, goal):
    used = _compared(problem, last)
    kind = problem.steps[0].kind if first else ""
    a, b = vectors.reshape(3, 3)[used], goal.reshape(3, 3)[used]
    if kind != "R":
        rest = a - b
        if kind == "P" and problem.task.position:
            rest[0, 2] = 0.0
        return sum(r * r for r in rest.ravel())
    # The best turn about z: |Σ conj(a) b| of the horizontal parts as complex numbers.
    along = sum(p[0] * q[0] + p[1] * q[1] for p, q in zip(a, b, strict=True))
    across = sum(p[0] * q[1] - p[1] * q[0] for p, q in zip(a, b, strict=True))
    total = sum(r * r for r in a.ravel()) + sum(r * r for r in b.ravel())
    return total - 2.0 * (
        sqrt(along * along + across * across) + sum(p[2] * q[2] for p, q in zip(a, b, strict=True))
    )


def _completion_kernel(problem: IkProblem, first: bool, last: bool):
    inputs = {"x": (problem.n,), "vectors": (9,), "goal": (9,)}
    return compiled(_completed, inputs, constants=(problem, first, last), name="ik_completion")


def _completed(problem: IkProblem, first: bool, last: bool, x, vectors, goal):
    x = [x[k] for k in range(problem.n)]
    a, b = list(vectors.reshape(3, 3)), list(goal.reshape(3, 3))
    if first and problem.steps[0].kind == "P":
        x[0] = b[0][2] - a[0][2]
    elif first:
        used = _compared(problem, last)
        along = sum(a[j][0] * b[j][0] + a[j][1] * b[j][1] for j in used)
        across = sum(a[j][0] * b[j][1] - a[j][1] * b[j][0] for j in used)
        x[0] = atan2(across, along)
        c, s = cos(x[0]), sin(x[0])
        a = [np.array([c * v[0] - s * v[1], s * v[0] + c * v[1], v[2]]) for v in a]
    if last:
        (_, z, u), (_, z_goal, u_goal) = a, b
        v, v_goal = cross(z, u), cross(z_goal, u_goal)
        x[-1] = atan2(v @ u_goal - u @ v_goal, u @ u_goal + v @ v_goal)
    return np.array(x)


def _comparable(problem: IkProblem) -> bool:
    """Return True if the task compares whole positions and directions, not some of their components."""
    return len(problem.task.position) in (0, 3) and len(problem.task.rotation) in (0, 3)


def _solvable_ends(problem: IkProblem, held) -> tuple[bool, bool]:
    """Return True for the first and the last coordinate if each can be solved from the others."""
    task, steps = problem.task, problem.steps
    if not _comparable(problem):
        return False, False
    times = [sum(step.coordinate == k for step in steps) for k in range(problem.n)]

    def solvable(step, k: int) -> bool:
        return step.coordinate == k and times[k] == 1 and step.factor == 1.0 and k not in held

    first = solvable(steps[0], 0) and (steps[0].kind == "R" or (steps[0].kind == "P" and bool(task.position)))
    last = task.is_pose and solvable(steps[-1], problem.n - 1) and steps[-1].kind == "R" and problem.n > 2
    return first, last


def _counts(spans: np.ndarray, wanted: float) -> np.ndarray:
    """Return numbers of values per coordinate, in proportion to the spans, with a product near `wanted`."""
    low, high = 1e-6, max(float(spans.max()), 1e-6) * 2
    for _ in range(60):
        step = (low * high) ** 0.5
        if np.prod(np.maximum(1.0, np.round(spans / step))) > wanted:
            low = step
        else:
            high = step
    return np.maximum(1, np.round(spans / high)).astype(int)
