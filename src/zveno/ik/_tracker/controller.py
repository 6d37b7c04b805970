"""The step of a tracker for a controller: its program with the model's limits, and its page of the README."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import BuildError
from ...kernels.builder import structured_program
from ..ik_problem import problem_of
from ..native.bounds import DOUBLE, SINGLE
from ..native.controller_pages import ControllerIk
from .program import HELD, LIMITED, MOST_STEPS, TRACKED, tracker_program
from .tracker import limits_and_speeds, middle_posture, refuse_balls


def controller_tracker(robot: Any, frame: str | None, single: bool) -> ControllerIk:
    """Return the program of `Tracker` for a frame in the world, in `float` if `single`.

    Raises:
        BuildError: the chain has ball joints, or a joint has no velocity limit.
    """
    problem = problem_of(robot, frame)
    refuse_balls(problem, BuildError)
    limits = limits_and_speeds(problem, True, BuildError, "Give the model a velocity limit of every joint")
    bounds = SINGLE if single else DOUBLE
    written, _ = structured_program(tracker_program, problem, bounds, limits, name="tracker")
    lower, upper = problem.span
    q = lower + 0.4 * (upper - lower)
    T = problem.forward(q + 1e-4 * limits[2]).astype(float)
    given = {"T": T, "q": q, "posture": np.nan_to_num(middle_posture(problem)), "dt": np.array([1e-3])}
    joints = ", ".join(f"`{name}`" for name in dict.fromkeys(step.joint for step in problem.steps))
    page = f"""
## Tracker

One period of a control loop: `q_next` for the end of a period of `dt` seconds, from the present `q` towards the
pose `T` of frame `{problem.frame}` in the world. q is in the order {joints}. The model's limits of
position and velocity are kept for any input. A redundant arm approaches `posture`, but for joints whose
entry is NaN. `error` is
that of the pose at `q_next`, in metres and radians. At most {MOST_STEPS * (2 if problem.redundancy else 1)}
Gauss–Newton steps are taken; the operations above are this worst case.

| status | meaning |
|---|---|
| {TRACKED:.0f} | tracked: `q_next` reaches the pose to {bounds.exact:g} m and rad, within limits |
| {LIMITED:.0f} | limited: limits, speeds, a singularity or the reach keep the pose away; \
`q_next` is nearer to it, or a joint returns from beyond a limit |
| {HELD:.0f} | held: `q_next` is `q`; nothing comes nearer, `T` is not a rigid transform, or a value is not finite |
"""
    return ControllerIk(written, page, given)
