"""Runs whose equations of motion are integrated: from a checked start to a trajectory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .checks import check_mass
from .equations import Equations
from .events import Event
from .integration import Method, integrated
from .results import balanced_status, final_status, sane_samples, trajectory
from .start import initial_state, start_of_run
from .trajectory import Trajectory


def continuous_run(
    parts: tuple[Any, ...],
    state: tuple[np.ndarray, np.ndarray, ArrayLike | None],
    method: Method,
    times: np.ndarray,
    events: Sequence[Event],
    projection: bool,
    rates: tuple[float, float],
    progress: Callable[[float], None],
    **facts: Any,
) -> Trajectory:
    """The trajectory from q0, v0 and the drives' torques, sampled at the times (n,); see `simulate`.

    `parts` are those of `Equations`, `rates` the rate of stabilisation and how far the start may be moved.
    """
    equations = Equations(*parts)
    stabilization, max_projection = rates
    y0 = initial_state(equations, *state)
    start = start_of_run(equations, y0, method.stabilization(stabilization), method.fixed_step, max_projection)
    check_mass(equations, start.y)
    run = integrated(equations, start, method, times, events, projection, progress)
    return balanced_status(
        trajectory(
            equations,
            run.times[: run.Y.shape[-2]],
            run.Y,
            run.C,
            status=final_status(run.status, run.times, sane_samples(equations, run.Y, method.fixed_step)),
            moved=start.moved,
            notes=(*start.notes, *run.notes),
            events=run.events,
            method=method.settings,
            n_steps=run.n_steps,
            n_evaluations=run.n_evaluations,
            **facts,
        )
    )
