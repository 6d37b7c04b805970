"""rk4 as a structured program: many steps of one state per call, without Python in between.

The equations of motion occur once in the code of a step, in a loop over its stages, so that a step builds as fast
as one evaluation. The numbers of steps and samples of a call are data of the kernel.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..kernels.builder import Builder
from ..kernels.ops import minimum

if TYPE_CHECKING:
    from ..kernels.kernel import Kernel
    from .equations import Equations

USERS = "functions of the user"
"""Placeholder for modules with unknown sources."""
STAGES = [[0.0, 1.0], [0.5, 2.0], [0.5, 2.0], [1.0, 1.0]]
"""For every stage of rk4: its time as a share of the step, and the weight of its rate."""


@dataclass(frozen=True, eq=False)
class Steps:
    """Samples of one call, each after `every` steps from the last one.

    Code depends on the equations only.
    """

    equations: Equations
    n_samples: int
    every: int

    @property
    def fingerprint(self) -> str:
        """Cache key of the code."""
        return users_code(self.equations)[0]

    @property
    def code_modules(self) -> tuple[str, ...]:
        """Modules that the equations depend on."""
        return users_code(self.equations)[1]


def users_code(equations: Equations) -> tuple[str, tuple[str, ...]]:
    """Return the cache key of the equations, and the modules they depend on; placeholders for user functions."""
    known = equations.fingerprint
    return (USERS, (USERS,)) if known is None else (known, equations.code_modules)


def fixed_steps_kernel(equations: Equations, n_samples: int, every: int) -> Kernel:
    """Return the kernel (t (n,), h (n,), y, …) → states (n, n_y), the k-th after `every` steps of h[k] from t[k].

    With constraints, their settings c are one more input, and their worst quality on the way one more output.
    """
    from ..kernels.compile import compiled_structured  # not needed to import the package

    return compiled_structured(fixed_steps, Steps(equations, n_samples, every), name="steps_rk4")


def fixed_steps(program: Builder, steps: Steps) -> None:
    """Build the program of `fixed_steps_kernel`."""
    equations, n_y = steps.equations, steps.equations.n_y
    t, h = program.input("t", (steps.n_samples,)), program.input("h", (steps.n_samples,))
    start = program.input("y", (n_y,), n_y)
    settings = [program.input("c", (equations.n_c,), equations.n_c)[0]] if equations.constraints else []
    samples = program.output("samples", (steps.n_samples, n_y), n_y)
    y, rate = program.scratch("state", 1, n_y), program.scratch("rate", 1, n_y, zero=True)
    total = program.scratch("total", 1, n_y)
    done, worst = program.scratch("done", 1, 1), program.scratch("worst", 1, 1)
    stages = program.table("stages", STAGES)

    y[0], worst[0] = program.step(_begun, start[0])
    with program.each(steps.n_samples) as k:
        done[0] = program.step(_none)
        with program.each(steps.every):
            total[0] = program.step(partial(np.zeros, n_y))
            with program.each(len(STAGES)) as stage:
                rate[0], total[0], worst[0] = program.step(
                    partial(_stage, equations),
                    *(t[k], h[k], done[0], y[0], rate[0], total[0], worst[0], stages[stage], *settings),
                )
            y[0], done[0] = program.step(partial(_end, equations), h[k], done[0], y[0], total[0])
        samples[k] = program.step(_same, y[0])
    if equations.constraints:
        quality = program.output("quality", ())
        quality[0] = program.step(_same, worst[0])


def _begun(y: Any) -> tuple[Any, Any]:
    return y, np.ones(1)


def _none() -> Any:
    return np.zeros(1)


def _same(x: Any) -> Any:
    return x


def _stage(
    equations: Equations,
    t: Any,
    h: Any,
    done: Any,
    y: Any,
    rate: Any,
    total: Any,
    worst: Any,
    stage: Any,
    c: Any = None,
) -> tuple[Any, Any, Any]:
    """Return (rate at the point of a stage, weighted sum of the rates so far, worst quality so far)."""
    ahead, weight = stage
    now, point = t[0] + (done[0] + ahead) * h[0], y + (ahead * h[0]) * rate
    rate, quality = equations.derivative(now, point, None, c)
    return rate, total + weight * rate, np.array([minimum(worst[0], quality)])


def _end(equations: Equations, h: Any, done: Any, y: Any, total: Any) -> tuple[Any, Any]:
    """Return (the state after a step, number of steps done)."""
    y = y + (h[0] / 6.0) * total
    return np.concatenate([equations.mechanism.normalized(y[equations.q]), y[equations.q.stop :]]), done + 1.0
