"""Initial states of many runs of `simulate`: random ones, or the rows of a file."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..errors import ShapeError, ZvenoError
from ..robot_functions import RobotFunctions

ONE_RUN = (".csv", ".parquet")


def sweep_states(
    robot: RobotFunctions,
    runs: int | None,
    states: Path | None,
    rng: int,
    given: dict[str, object],
    files: tuple[Path | None, ...],
) -> tuple[np.ndarray, np.ndarray | None] | None:
    """(q0 (k, n_q), v0 (k, n_v) or None) of --runs or --states; None where neither is given.

    `given` are other flags that say where a run begins, or that are for one run; they are refused beside. So are
    `files` that hold one run: not after the last of them.
    """
    if runs is None and states is None:
        return None
    if runs is not None and states is not None:
        raise ZvenoError("--runs and --states exclude each other", remedy="Give one of them")
    for name, value in given.items():
        if value:
            raise ZvenoError("is for one run", element=f"--{name}", remedy="Leave out --runs and --states")
    for file in files:
        if file is not None and file.suffix.lower() in ONE_RUN:
            raise ZvenoError("a table holds one run", file=file, remedy="Use .npz or .json")
    if runs is not None:
        if runs < 1:
            raise ZvenoError(f"is {runs}", element="--runs", remedy="Give how many, 1 or more")
        return robot.random(runs, rng), None
    return _read(robot, Path(str(states)))


def _read(robot: RobotFunctions, file: Path) -> tuple[np.ndarray, np.ndarray | None]:
    """Rows of an .npy file: q, or q and v."""
    from ..io.npz import read_npy

    array, n_q, n_v = read_npy(file), robot.n_q, robot.n_v
    if array.ndim != 2 or not len(array) or array.shape[1] not in (n_q, n_q + n_v) or array.dtype.kind not in "fiu":
        raise ShapeError(
            f"has shape {array.shape}",
            file=file,
            remedy=f"Give rows of {n_q} coordinates, or of {n_q} coordinates and {n_v} velocities",
        )
    array = array.astype(float)
    return array[:, :n_q], array[:, n_q:] if array.shape[1] > n_q else None
