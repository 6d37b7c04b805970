"""Fixed-step methods as structured programs: many steps of one state in a call, without Python in between.

The equations of motion stand once in the code of a step, in a loop over its stages, so that a step builds as fast
as one evaluation. How many steps a call takes, and how many samples it returns, are data of the kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..kernels.math import minimum
from ..kernels.structured.build import Builder
from .integrators import EVALUATIONS, carried, midpoint_end, midpoint_point, semi_implicit

if TYPE_CHECKING:
    from ..kernels.structured.kernel import StructuredKernel
    from .equations import Equations

USERS = "functions of the user"
"""Stands for modules whose sources are not known."""


@dataclass(frozen=True, eq=False)
class Steps:
    """Samples that a call returns, each after as many steps from the last one.

    Code depends on the equations and the method only.
    """

    equations: Equations
    method: str
    n_samples: int
    every: int

    @property
    def fingerprint(self) -> str:
        """Of what determines the code."""
        return f"{self.method} {users_code(self.equations)[0]}"

    @property
    def code_modules(self) -> tuple[str, ...]:
        """Modules of what takes part in the equations."""
        return users_code(self.equations)[1]


def users_code(equations: Equations) -> tuple[str, tuple[str, ...]]:
    """What determines equations, and the modules of what takes part: unknown ones for functions of the user."""
    known = equations.fingerprint
    return (USERS, (USERS,)) if known is None else (known, equations.code_modules)


def fixed_steps_kernel(equations: Equations, method: str, n_samples: int, every: int) -> StructuredKernel:
    """(t (n,), h (n,), y, …) → states (n, n_y): the k-th after `every` steps of size h[k] from the time t[k] on.

    With constraints, their settings c are one more input, and their worst quality on the way one more output.
    """
    from ..kernels.structured.kernel import compiled_structured  # not needed to import the package

    steps = Steps(equations, method, n_samples, every)
    return compiled_structured(fixed_steps, steps, name=f"steps_{method}")


def fixed_steps(program: Builder, steps: Steps) -> None:
    """The program of `fixed_steps_kernel`."""
    equations, n_y = steps.equations, steps.equations.n_y
    t, h = program.input("t", (steps.n_samples,)), program.input("h", (steps.n_samples,))
    start = program.input("y", (n_y,), n_y)
    settings = [program.input("c", (equations.n_c,), equations.n_c)[0]] if equations.constraints else []
    samples = program.output("samples", (steps.n_samples, n_y), n_y)
    y, rate = program.scratch("state", 1, n_y), program.scratch("rate", 1, n_y, zero=True)
    total = program.scratch("total", 1, n_y)
    done, worst = program.scratch("done", 1, 1), program.scratch("worst", 1, 1)
    method = METHODS[steps.method]
    shares = program.table("shares", method.stages)

    y[0], worst[0] = program.step(_begun, start[0])
    with program.each(steps.n_samples) as k:
        done[0] = program.step(_none)
        with program.each(steps.every):
            total[0] = program.step(partial(np.zeros, n_y))
            with program.each(len(method.stages)) as stage:
                rate[0], total[0], worst[0] = program.step(
                    partial(_stage, equations, method),
                    *(t[k], h[k], done[0], y[0], rate[0], total[0], worst[0], shares[stage], *settings),
                )
            y[0], done[0] = program.step(partial(_end, equations, method), h[k], done[0], y[0], rate[0], total[0])
        samples[k] = program.step(_same, y[0])
    if equations.constraints:
        quality = program.output("quality", ())
        quality[0] = program.step(_same, worst[0])


@dataclass(frozen=True)
class StagedMethod:
    """A method whose stages differ in two numbers only, so that one loop runs through them.

    Attributes:
        stages: for every stage the share of the step to which its point lies ahead, and the weight of its rate in
            the sum of all, (n, 2).
        point: (equations, y, share h, last rate) → the state at which a stage is evaluated.
        time: of that point, in shares of its own share.
        end: (equations, y, h, last rate, weighted sum of all rates) → the state after the step.
    """

    stages: list[list[float]]
    point: Callable[..., Any]
    time: float
    end: Callable[..., Any]


def _straight(equations: Equations, y: Any, h: Any, rate: Any) -> Any:
    return y + h * rate


def _rk4_end(equations: Equations, y: Any, h: Any, rate: Any, total: Any) -> Any:
    y = y + (h / 6.0) * total
    return np.concatenate([equations.mechanism.normalized(y[equations.q]), y[equations.q.stop :]])


def _midpoint_point(equations: Equations, y: Any, h: Any, rate: Any) -> Any:
    return midpoint_point(equations, y, rate, h, partial(carried, equations.mechanism))


def _midpoint_end(equations: Equations, y: Any, h: Any, rate: Any, total: Any) -> Any:
    return midpoint_end(equations, y, rate, h, partial(carried, equations.mechanism))


def _semi_implicit_end(equations: Equations, y: Any, h: Any, rate: Any, total: Any) -> Any:
    return semi_implicit(equations, y, rate, h, equations.mechanism.integrate)


METHODS = {
    "rk4": StagedMethod([[0.0, 1.0], [0.5, 2.0], [0.5, 2.0], [1.0, 1.0]], _straight, 1.0, _rk4_end),
    "midpoint": StagedMethod(
        [[0.0, 0.0], *[[1.0, 0.0]] * (EVALUATIONS["midpoint"] - 1)], _midpoint_point, 0.5, _midpoint_end
    ),
    "semi-implicit": StagedMethod([[0.0, 0.0]], _straight, 0.0, _semi_implicit_end),
}


def _begun(y: Any) -> tuple[Any, Any]:
    return y, np.ones(1)


def _none() -> Any:
    return np.zeros(1)


def _same(x: Any) -> Any:
    return x


def _stage(
    equations: Equations,
    method: StagedMethod,
    t: Any,
    h: Any,
    done: Any,
    y: Any,
    rate: Any,
    total: Any,
    worst: Any,
    shares: Any,
    c: Any = None,
) -> tuple[Any, Any, Any]:
    """(rate at the point of a stage, weighted sum of the rates so far, worst quality so far)."""
    ahead, weight = shares
    now = t[0] + (done[0] + method.time * ahead) * h[0]
    point = method.point(equations, y, ahead * h[0], rate)
    rate, quality = equations.derivative(now, point, None, c)
    return rate, total + weight * rate, np.array([minimum(worst[0], quality)])


def _end(
    equations: Equations, method: StagedMethod, h: Any, done: Any, y: Any, rate: Any, total: Any
) -> tuple[Any, Any]:
    """(the state after a step, how many steps are done)."""
    return method.end(equations, y, h[0], rate, total), done + 1.0
