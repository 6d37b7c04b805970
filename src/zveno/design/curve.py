"""Accuracy against the number of postures, and where more of them stop paying."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from ..calibration.measurements import Measurement
from ..clearance import Clearance
from ..errors import ZvenoError
from ..fit.greedy import add_best
from ..fit.rng import seed_of
from ..fit.threads import in_one_thread
from ..io.results import hash_of
from ..robot_functions import RobotFunctions
from .candidates import Visibility
from .criteria import named_criterion, reduced
from .earlier import Earlier
from .engines import Determinant
from .exchange import greedy, information
from .plan_problem import covariance_of, plan_problem
from .result import Curve


@in_one_thread
def accuracy_curve(
    robot: RobotFunctions,
    measurement: Measurement | str = "pose",
    n: int = 100,
    *,
    have: Earlier | None = None,
    candidates: int | np.ndarray = 5000,
    parameters: str | Sequence[str] = "all",
    strategy: str = "JL",
    joint_terms: Sequence[str] = (),
    limits: Mapping[str, tuple[float, float]] | None = None,
    margin: float = 0.0,
    box: ArrayLike | None = None,
    visibility: Visibility | Sequence[Visibility] | None = None,
    clearance: Clearance | None = None,
    places: int | None = None,
    workspace: ArrayLike | None = None,
    rng: np.random.Generator | int | None = 0,
) -> Curve:
    """How accuracy grows with the number of postures, from the fewest that suffice to n.

    The postures are a chain: each is the candidate that helps the determinant of the information most. With `have`,
    a plan or measurements one already has, the curve starts there and counts the postures added.

    Args:
        robot, measurement: as in `plan_poses`.
        n: postures added at most.
        have: postures (n0, n_q) to begin with.
        candidates, parameters, strategy, joint_terms, limits, margin, box, visibility, clearance, places: as in
            `plan_poses`: what is calibrated, and which candidates there are.
        workspace: postures over which the tool's accuracy is judged, as in `plan_poses`.
        rng: generator or seed of the random candidates.
    """
    task = plan_problem(
        robot,
        measurement,
        have=have,
        candidates=candidates,
        parameters=parameters,
        strategy=strategy,
        joint_terms=joint_terms,
        limits=limits,
        margin=margin,
        box=box,
        visibility=visibility,
        clearance=clearance,
        places=places,
        workspace=workspace,
        seed=seed_of(rng),
    )
    k, K, m = task.k, task.J.shape[2], task.J.shape[1]
    M = task.prior + task.weak
    fewest = 0
    if not len(task.have):
        fewest = int(np.ceil(K / m)) + 1
        if n <= fewest:
            raise ZvenoError(f"{n} postures are too few for a curve", element="n", remedy=f"Give > {fewest}")
        M = M + information(task.J, greedy(task.J, fewest, M, k))
    if np.linalg.cond(M) > 1e15:
        raise ZvenoError(
            f"the {len(task.have) or fewest} postures to begin with do not determine all parameters",
            remedy="Plan more postures with plan_poses first",
        )
    state = Determinant(task.J, M, k, named_criterion("D"), n)
    numbers = np.arange(fewest, n + 1)
    points = []
    for number in numbers:
        C, std = covariance_of(reduced(state.M - task.weak, k))
        tool = task.tool_sigma(C)
        worst = int(np.argmax(std))
        points.append((std[worst], worst, float(np.sqrt(np.mean(tool**2))), tool.max()))
        if number < n:
            add_best(state, [])
    which = [point[1] for point in points]
    typical = np.array([point[2] for point in points])
    return Curve(
        robot.name,
        task.rows.measurement.kind,
        len(task.have),
        numbers,
        np.array([point[0] for point in points]),
        tuple(task.rows.names[i] for i in which),
        np.array([point[0] * task.rows.scales[i] for point, i in zip(points, which, strict=True)]),
        tuple(task.rows.units[i] for i in which),
        typical,
        np.array([point[3] for point in points]),
        int(numbers[knee(numbers, typical)]),
        hash_of(robot.mechanism.fingerprint, task.rows.measurement.kind, n),
    )


def knee(x: ArrayLike, y: ArrayLike) -> int:
    """Place of the point of a falling convex curve that is farthest below the line between its ends."""
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    if len(x) < 3 or x[0] == x[-1] or y[0] == y[-1]:
        return 0
    u, v = (x - x[0]) / (x[-1] - x[0]), (y - y[-1]) / (y[0] - y[-1])
    return int(np.argmax(1.0 - u - v))
