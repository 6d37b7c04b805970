"""The equations of motion of a run as one traced function of the flat state y (`layout`).

All that varies inside a run beside the state (a command computed outside, which constraints are active, what they
are anchored to) are inputs, so that one kernel serves the whole run and all runs like it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..algorithms import constraints as algebra
from ..algorithms import drives as friction_of
from ..algorithms import energy
from ..algorithms.factors import BodyFactors, MassFactors
from ..algorithms.forward_dynamics import forward_dynamics
from ..algorithms.velocities import AT_REST
from ..functions import FRICTION_SMOOTHING
from ..kernels.door import compiled, compiled_program
from ..kernels.kernel import Kernel
from ..kernels.math import minimum
from ..kernels.program import Program
from ..kernels.trace import trace
from ..mechanism import Mechanism
from ..mechanism.reduce import reduced
from .factoring import cheaper_factors
from .layout import Layout
from .motion import base_motion


@dataclass(frozen=True, eq=False)
class Equations(Layout):
    """The equations of a run: traced functions of one state, and their kernels."""

    factors: type[MassFactors] | type[BodyFactors] | None = None
    """how constrained equations are factored; None for whichever is cheaper"""
    _steps: dict[tuple[str, int], Kernel] = field(default_factory=dict, init=False, repr=False)

    # --- traced functions of one state

    @cached_property
    def dynamic(self) -> Mechanism:
        """Fewer bodies, same motion."""
        return reduced(self.mechanism).mechanism

    @cached_property
    def _factors(self) -> type[MassFactors] | type[BodyFactors]:
        return self.factors or cheaper_factors(self)

    def _split(self, y):
        return y[self.q], y[self.v], y[self.z]

    def forces(self, t: Any, q: Any, v: Any, z: Any, u: Any) -> tuple[Any, Any, Any]:
        """(torques of drives or control, what acts on the joints after friction, ż)."""
        tau: Any = np.zeros(self.mechanism.n_v)
        if self.control is not None:
            tau = self.control.torque(self.mechanism, t, q, v) if self.control.traced else u
        rate: Any = np.zeros(0)
        if self.drive is not None:
            tau, rate = self.drive.torque(self.mechanism, tau, z)
        acting = tau
        if self.friction:
            acting = tau - friction_of.friction_torque(self.mechanism, v, FRICTION_SMOOTHING)
        return tau, acting, rate

    def _carried(self, t):
        """The mechanism as seen from its base, and how the base moves."""
        if self.moving_base is None:
            return self.dynamic, AT_REST
        R, motion = base_motion(self.moving_base, t)
        return replace(self.dynamic, gravity=R.T @ self.dynamic.gravity), motion

    def rows(self, t: Any, q: Any, v: Any, c: Any) -> algebra.Rows:
        """The rows of all constraints."""
        state = algebra.Kinematics(self.mechanism, q, v)
        anchors = c[1 + self.n_rows :]
        parts = [
            constraint.rows(state, t, anchors[held])
            for constraint, held in zip(self.constraints, self.anchor_slices, strict=True)
        ]
        return algebra.stacked(parts, self.mechanism.n_v)

    def solved(self, t: Any, q: Any, v: Any, acting: Any, c: Any) -> tuple[Any, ...]:
        """(a, reactions, φ, φ̇, quality)."""
        mechanism, base = self._carried(t)
        if not self.constraints:
            a = forward_dynamics(mechanism, q, v, acting, None, base)
            return a, np.zeros(0), np.zeros(0), np.zeros(0), 1.0, np.zeros((0, self.mechanism.n_v))
        rows = self.rows(t, q, v, c)
        rate = rows.J @ v + rows.rate
        wanted = -(rows.bias + 2.0 * c[0] * rate + c[0] * c[0] * rows.value)
        factors = self._factors(mechanism, q)
        force = factors.force(v, acting, base=base)
        slips = [
            algebra.Slip(row, c[at], algebra.slip_direction(rate[row + 1 : row + 3], c[at + 1 : at + 3], c[at + 3]))
            for _, row, at, _ in self.sliding
        ]
        solution = algebra.solve(factors, force, rows.J, wanted, c[1 : 1 + self.n_rows], slips)
        return solution.a, solution.reactions, rows.value, rate, solution.quality, rows.J

    def derivative(self, t: Any, y: Any, u: Any = None, c: Any = None) -> tuple[Any, Any]:
        """(ẏ, quality of the constraints)."""
        q, v, z = self._split(y)
        q = self.mechanism.normalized(q)
        _, acting, z_rate = self.forces(t, q, v, z, u)
        a, reactions, _, _, quality, J = self.solved(t, q, v, acting, c)
        parts = [self.mechanism.tangent(q) @ v, a, z_rate]
        if self.works:
            parts.append(np.array([v @ acting + reactions @ (J @ v) if len(reactions) else v @ acting]))
        return np.concatenate(parts), quality

    # --- kernels

    def _inputs(self, **more) -> dict[str, tuple[int, ...]]:
        inputs: dict[str, tuple[int, ...]] = {"t": (), "y": (self.n_y,)} | more
        if self.commanded:
            inputs["u"] = (self.mechanism.n_v,)
        if self.constraints:
            inputs["c"] = (self.n_c,)
        return inputs

    def _with_inputs(self, function: Callable) -> Callable:
        """The function of (…, u, c) as one of the inputs that are there."""
        extra = [name for name, there in (("u", self.commanded), ("c", bool(self.constraints))) if there]

        def run(*arrays):
            own = arrays[: len(arrays) - len(extra)]
            return function(*own, **dict(zip(extra, arrays[len(own) :], strict=True)))

        return run

    @cached_property
    def rhs(self) -> Kernel:
        """(t, y, …) → ẏ, and the quality if there are constraints."""

        def run(t, y, u=None, c=None):
            rate, quality = self.derivative(t, y, u, c)
            return (rate, quality) if self.constraints else rate

        return compiled_program(trace(self._with_inputs(run), self._inputs(), name="rhs"))

    def step(self, method: str, n: int = 1) -> Kernel:
        """(t, y, h, …) → y after n steps of size h; and the worst quality on the way if there are constraints."""
        from .integrators import traced_step

        if (method, n) in self._steps:
            return self._steps[method, n]

        def run(t, y, h, u=None, c=None):
            worst: Any = 1.0
            for k in range(n):
                y, quality = traced_step(self, method, t + k * h, y, h, u, c)
                worst = minimum(worst, quality)
            return (y, worst) if self.constraints else y

        program = trace(self._with_inputs(run), self._inputs(h=()), name=f"step_{method}")
        return self._steps.setdefault((method, n), compiled_program(program))

    @cached_property
    def carried(self) -> Kernel:
        """(q, v, v after, h) → q in the middle and at the end of a step (`integrators.carried`)."""
        from .integrators import carried

        n_q, n_v = self.mechanism.n_q, self.mechanism.n_v
        inputs = {"q": (n_q,), "v": (n_v,), "after": (n_v,), "h": ()}
        return compiled(carried, inputs, constants=(self.mechanism,))

    def _anchors(self, q) -> np.ndarray:
        parts = [np.asarray(one.anchor(self.mechanism, q)) for one in self.constraints]
        return np.concatenate([np.zeros(0), *parts])

    @cached_property
    def anchors(self) -> Kernel:
        """q → the anchors of all constraints at that configuration, for batches."""
        return compiled_program(trace(self._anchors, {"q": (self.mechanism.n_q,)}, name="anchors"))

    @cached_property
    def given_anchors(self) -> np.ndarray:
        """Those numbers among the anchors that do not depend on the configuration."""
        found: list[float] = []

        def run(q):
            found[:] = [x for x in self._anchors(q) if isinstance(x, float)]
            return q

        trace(run, {"q": (self.mechanism.n_q,)})
        return np.array(found)

    @cached_property
    def direct(self) -> Kernel:
        """(t, k, q, v, u, given anchors) → what `solution` says, all constraints active and anchored at q."""

        def run(t, k, q, v, u, given=()):
            left = iter(given)
            anchors = [next(left) if isinstance(x, float) else x for x in self._anchors(q)]
            c = np.concatenate([np.array([k]), np.ones(self.n_rows), np.array(anchors)])
            _, acting, _ = self.forces(t, q, v, None, u)
            return self.solved(t, q, v, acting, c)[:5]

        n_q, n_v = self.mechanism.n_q, self.mechanism.n_v
        inputs: dict[str, tuple[int, ...]] = {"t": (), "k": (), "q": (n_q,), "v": (n_v,), "tau": (n_v,)}
        if len(self.given_anchors):
            inputs["given"] = self.given_anchors.shape
        return compiled_program(trace(run, inputs, name="constrained_dynamics"))

    @property
    def solution_program(self) -> Program:
        """(t, y, …) → a, reactions, φ, φ̇ and quality."""

        def run(t, y, u=None, c=None):
            q, v, z = self._split(y)
            _, acting, _ = self.forces(t, q, v, z, u)
            return self.solved(t, q, v, acting, c)[:5]

        return trace(self._with_inputs(run), self._inputs(), name="solution")

    @cached_property
    def solution(self) -> Kernel:
        """`solution_program`, compiled."""
        return compiled_program(self.solution_program)

    @cached_property
    def report(self) -> Kernel:
        """(t, y, …) → a, tau, reactions, φ, φ̇, kinetic and potential energy."""

        def run(t, y, u=None, c=None):
            q, v, z = self._split(y)
            tau, acting, _ = self.forces(t, q, v, z, u)
            a, reactions, value, rate, _, _ = self.solved(t, q, v, acting, c)
            kinetic = energy.kinetic_energy(self.dynamic, q, v)
            return a, tau, reactions, value, rate, kinetic, energy.potential_energy(self.dynamic, q)

        return compiled_program(trace(self._with_inputs(run), self._inputs(), name="report"))

    @cached_property
    def terms(self) -> Kernel:
        """(t, y, …) → ẏ without constraints, M⁻¹Jᵀ, J M⁻¹ Jᵀ, J, φ, φ̇, and P: for a solution in least squares."""

        def run(t, y, u=None, c=None):
            q, v, z = self._split(y)
            q = self.mechanism.normalized(q)
            _, acting, z_rate = self.forces(t, q, v, z, u)
            rows = self.rows(t, q, v, c)
            mechanism, base = self._carried(t)
            factors = self._factors(mechanism, q)
            free, W, A = algebra.schur(factors, factors.force(v, acting, base=base), rows.J)
            power = [np.array([v @ acting])] if self.works else []
            y_rate = np.concatenate([self.mechanism.tangent(q) @ v, free, z_rate, *power])
            return y_rate, W, A, rows.J, rows.value, rows.J @ v + rows.rate, rows.bias

        return compiled_program(trace(self._with_inputs(run), self._inputs(), name="terms"))
