"""The equations of motion of a run as one traced function of the flat state y (`layout`).

All that varies inside a run beside the state (a command computed outside, which constraints are active, what they
are anchored to) are inputs, so that one kernel serves the whole run and all runs like it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from ..algorithms import constraints as algebra
from ..algorithms import drives as friction_of
from ..algorithms import energy
from ..algorithms.drives import FRICTION_SMOOTHING
from ..algorithms.factors import BodyFactors, MassFactors
from ..algorithms.forward_dynamics import forward_dynamics
from ..algorithms.springs import has_springs, spring_energy, spring_torque
from ..algorithms.velocities import AT_REST
from ..io.results import hash_of
from ..kernels.door import compiled, compiled_program
from ..kernels.kernel import Kernel
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
    _steps: dict[tuple[str, int, int], Kernel] = field(default_factory=dict, init=False, repr=False)

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
            tau, rate = self.drive.torque(self.mechanism, q, v, z, tau)
        acting = tau
        if self.friction:
            acting = tau - friction_of.friction_torque(self.mechanism, v, FRICTION_SMOOTHING)
        return tau, acting, rate

    def _sprung(self, q, acting):
        """With what the springs of the joints exert; their energy counts as potential, not as work."""
        return acting + spring_torque(self.mechanism, q) if has_springs(self.mechanism) else acting

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
        acting = self._sprung(q, acting)
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

    def schur(self, t: Any, q: Any, v: Any, acting: Any, J: Any) -> tuple[Any, Any, Any]:
        """(accelerations without constraints, M⁻¹Jᵀ, J M⁻¹ Jᵀ)."""
        mechanism, base = self._carried(t)
        factors = self._factors(mechanism, q)
        return algebra.schur(factors, factors.force(v, self._sprung(q, acting), base=base), J)

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

    def named(self, arrays: Sequence[Any], n: int = 2) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The first n arrays that a kernel is given, and those of u and c that are there, by name."""
        extra = [name for name, there in (("u", self.commanded), ("c", bool(self.constraints))) if there]
        return tuple(arrays[:n]), dict(zip(extra, arrays[n:], strict=True))

    @cached_property
    def fingerprint(self) -> str | None:
        """Changes with everything that the equations are traced from; None where functions of the user are."""
        control = self.control if self.control is not None and self.control.traced else None
        parts: list[Any] = [part for constraint in self.constraints for part in constraint.structure]
        for source in (control, self.drive):
            parts += [type(source).__name__, *(() if source is None else vars(source).values())]
        if self.moving_base is not None or any(callable(part) for part in parts):
            return None
        choices = [self.commanded, self.friction, None if self.factors is None else self.factors.__name__]
        return hash_of(self.mechanism.fingerprint, choices, *map(_plain, parts))

    @property
    def code_modules(self) -> tuple[str, ...]:
        """Modules of the constraints, the control and the drive."""
        return tuple({type(part).__module__ for part in (*self.constraints, self.control, self.drive) if part})

    def _compiled(self, function: Callable, inputs: dict[str, tuple[int, ...]], name: str, *options: Any) -> Kernel:
        """The kernel of function(equations, *options, *arrays), traced only if it was never built before."""
        if self.fingerprint is None:
            return compiled_program(trace(partial(function, self, *options), inputs, name=name))
        return compiled(function, inputs, constants=(self, *options), name=name)

    @cached_property
    def rhs(self) -> Kernel:
        """(t, y, …) → ẏ, and the quality if there are constraints."""
        return self._compiled(_rhs, self._inputs(), "rhs")

    def steps(self, method: str, n_samples: int = 1, every: int = 1) -> Kernel:
        """Many steps of a method in one call, see `fixed_steps.fixed_steps_kernel`."""
        from .fixed_steps import fixed_steps_kernel

        key = method, n_samples, every
        if key not in self._steps:
            self._steps[key] = fixed_steps_kernel(self, method, n_samples, every)
        return self._steps[key]

    def dop853(self, count: int) -> Kernel:
        """Adaptive steps in one call, see `dop853_steps.dop853_kernel`."""
        from .dop853_steps import dop853_kernel

        key = "dop853", count, 1
        if key not in self._steps:
            self._steps[key] = dop853_kernel(self, count)
        return self._steps[key]

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
        given: list[float] = []

        def run(q):
            given[:] = [x for x in self._anchors(q) if isinstance(x, float)]
            return q

        trace(run, {"q": (self.mechanism.n_q,)})
        return np.array(given)

    def anchors_at(self, q: Any, given: Any = ()) -> Any:
        """The anchors of all constraints at q, those of `given_anchors` taken from `given`."""
        left = iter(given)
        return np.array([next(left) if isinstance(x, float) else x for x in self._anchors(q)])

    @cached_property
    def direct(self) -> Kernel:
        """(t, k, q, v, u, given anchors) → what `solution` says, all constraints active and anchored at q."""

        def run(t, k, q, v, u, given=()):
            c = np.concatenate([np.array([k]), np.ones(self.n_rows), self.anchors_at(q, given)])
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
        return trace(partial(_solution, self), self._inputs(), name="solution")

    @cached_property
    def solution(self) -> Kernel:
        """`solution_program`, compiled."""
        return self._compiled(_solution, self._inputs(), "solution")

    @cached_property
    def report(self) -> Kernel:
        """(t, y, …) → a, tau, reactions, φ, φ̇, kinetic and potential energy."""
        return self._compiled(_report, self._inputs(), "report")

    @cached_property
    def terms(self) -> Kernel:
        """(t, y, …) → ẏ without constraints, M⁻¹Jᵀ, J M⁻¹ Jᵀ, J, φ, φ̇, and P: for a solution in least squares."""
        return self._compiled(_terms, self._inputs(), "terms")


def _plain(part: Any) -> Any:
    return part.tolist() if isinstance(part, np.ndarray) else part


# --- the functions of the kernels: equations first, then the arrays of `Equations._inputs`


def _rhs(equations: Equations, *arrays: Any) -> Any:
    (t, y), inputs = equations.named(arrays)
    rate, quality = equations.derivative(t, y, **inputs)
    return (rate, quality) if equations.constraints else rate


def _at(equations: Equations, arrays: Sequence[Any]) -> tuple[Any, ...]:
    """(t, q, v, torques of drives or control, what acts on the joints, ż, c)."""
    (t, y), inputs = equations.named(arrays)
    q, v, z = y[equations.q], y[equations.v], y[equations.z]
    return t, q, v, *equations.forces(t, q, v, z, inputs.get("u")), inputs.get("c")


def _solution(equations: Equations, *arrays: Any) -> Any:
    t, q, v, _, acting, _, c = _at(equations, arrays)
    return equations.solved(t, q, v, acting, c)[:5]


def _report(equations: Equations, *arrays: Any) -> Any:
    t, q, v, tau, acting, _, c = _at(equations, arrays)
    a, reactions, value, rate, _, _ = equations.solved(t, q, v, acting, c)
    kinetic = energy.kinetic_energy(equations.dynamic, q, v)
    potential = energy.potential_energy(equations.dynamic, q) + spring_energy(equations.mechanism, q)
    return a, tau, reactions, value, rate, kinetic, potential


def _terms(equations: Equations, *arrays: Any) -> Any:
    (t, y), inputs = equations.named(arrays)
    q = equations.mechanism.normalized(y[equations.q])
    v, z = y[equations.v], y[equations.z]
    _, acting, z_rate = equations.forces(t, q, v, z, inputs.get("u"))
    rows = equations.rows(t, q, v, inputs.get("c"))
    free, W, A = equations.schur(t, q, v, acting, rows.J)
    power = [np.array([v @ acting])] if equations.works else []
    y_rate = np.concatenate([equations.mechanism.tangent(q) @ v, free, z_rate, *power])
    return y_rate, W, A, rows.J, rows.value, rows.J @ v + rows.rate, rows.bias
