"""Functions of time with their first two derivatives, and moving bases."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from ..algorithms.motion import Motion
from ..errors import ShapeError, TraceError, ZvenoError
from ..kernels.derivatives import forward
from ..kernels.program import Program
from ..kernels.trace import call, trace


@dataclass(frozen=True, eq=False)
class TimeFunction:
    """Function f(t) with exact ḟ and f̈: it is traced and differentiated twice on the tape."""

    program: Program

    @staticmethod
    def of(function: Callable[..., Any], label: str, shape: tuple[int, ...] = ()) -> TimeFunction:
        """Trace a function of one number; `what` names it in errors.

        Raises:
            TraceError: the function cannot be traced.
            ShapeError: it returns something of another shape.
        """
        return _time_function(function, label, shape)

    def __call__(self, t: Any) -> Any:
        """Return (f, ḟ, f̈) at a number or a traced scalar."""
        return call(self.program, t)


@lru_cache(maxsize=64)
def _time_function(function: Callable, label: str, shape: tuple[int, ...]) -> TimeFunction:
    try:
        program = trace(
            lambda t: np.asarray(function(t), object), {"t": ()}, name="function_of_time", outputs=("f",)
        )
    except ZvenoError as error:
        raise error.located(element=label) from error
    except Exception as error:
        raise TraceError(
            f"cannot be traced: {error}",
            element=label,
            remedy="Write it with NumPy's elementary functions of one number, without branching on time",
        ) from error
    if program.outputs[0].shape != shape:
        raise ShapeError(f"returns shape {program.outputs[0].shape} where {shape} is needed", element=label)
    once = forward(program, values=True)
    first = trace(lambda t: call(once, t, 1.0), {"t": ()}, outputs=("f", "f1"))
    twice = forward(first, values=True)

    def all_three(t):
        f, f1, _, f2 = call(twice, t, 1.0)
        return f, f1, f2

    return TimeFunction(trace(all_three, {"t": ()}, outputs=("f", "f1", "f2")))


def base_motion(pose: Callable[..., Any], t: Any) -> tuple[Any, Motion]:
    """Return R_world_base and the motion of link 0 in its own axes, from its pose T_world_base(t), (4, 4)."""
    T, T1, T2 = TimeFunction.of(pose, "moving_base", (4, 4))(t)
    Rt = T[:3, :3].T
    spin, turn = Rt @ T1[:3, :3], Rt @ T2[:3, :3]
    w = np.array([spin[2, 1], spin[0, 2], spin[1, 0]])
    # RᵀR̈ = [ε]× + [ω]×², whose antisymmetric part is [ε]×.
    e = 0.5 * np.array([turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]])
    return T[:3, :3], Motion(Rt @ T1[:3, 3], w, Rt @ T2[:3, 3], e)
