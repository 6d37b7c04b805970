"""The robot users hold: its compiled functions, and every task as a method beside the function of `zveno`.

This is the one module that may use every task. Each is imported where it is called: a robot is loaded quickly.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from .robot_functions import RobotFunctions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .simulation.constraints import Constraint
    from .simulation.dynamics import Constrained


class Robot(RobotFunctions):
    """A mechanism with its compiled functions and the tasks that can be done with it.

    Every compiled function takes arrays with any leading batch axes, (..., n_q), and `out=`; one state is a batch
    (). Tasks are thin methods: `robot.ik(T)` is `zveno.solve_ik(robot, T)`. A robot is immutable; `with_…` methods
    return another one.
    """

    def constrained_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        constraints: Sequence[Constraint],
        *,
        t: float = 0.0,
        stabilization: float = 0.0,
        friction: bool = False,
    ) -> Constrained:
        """Accelerations and reactions under constraints that all act; see `zveno.constrained_dynamics`."""
        from .simulation.dynamics import constrained_dynamics

        return constrained_dynamics(
            self, q, v, tau, constraints, t=t, stabilization=stabilization, friction=friction
        )

    def base_regressor(self, q: ArrayLike, v: ArrayLike, a: ArrayLike, out: np.ndarray | None = None) -> np.ndarray:
        """W (..., n_v, r): torques are W p̃ with exactly the r base parameters of `robot.base_parameters()`."""
        from .base_parameters.analyse import base_parameters
        from .base_parameters.regressor import base_kernel

        key = ("base_regressor", self.mechanism.fingerprint)
        if key not in self._shared:
            self._shared[key] = base_kernel(base_parameters(self))
        return self._shared[key](q, v, a, out=out)
