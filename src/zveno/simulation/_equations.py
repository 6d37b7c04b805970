"""Equations of motion of a run as one traced function of the flat state y (`_layout`).

Everything else that varies between runs (an external command, constraint anchors) is an input, so that one kernel
serves all runs of the same structure.
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
from ..algorithms.drives import FRICTION_SMOOTHING, couples_joints
from ..algorithms.factors import BodyFactors, MassFactors
from ..algorithms.forward_dynamics import forward_dynamics
from ..algorithms.inverse_dynamics import inverse_dynamics
from ..algorithms.motion import AT_REST
from ..algorithms.springs import has_springs, spring_energy, spring_torque
from ..io.results import hash_of
from ..kernels.compile import compiled, compiled_program
from ..kernels.kernel import Kernel
from ..kernels.ops import abs, greater, minimum, where
from ..kernels.program import Program
from ..kernels.trace import trace
from ..mechanism import Mechanism
from ..mechanism.reduce import reduced
from ._layout import Layout
from .control import base_motion

# --- factorisation of the mass matrix

SHALLOW, DEEP = 10, 40
"""Velocities on the longest path to the root up to which the entries of M are always cheaper, and beyond which
separate bodies are; in between both are traced and counted.
"""
WORTH = 0.8
"""Share of the operations below which separate bodies are preferred: their operations are less parallel."""


def cheaper_factors(equations: Equations) -> type[MassFactors] | type[BodyFactors]:
    """Return the factorisation with the cheaper kernel for these constraints on this tree."""
    mechanism = equations.dynamic
    if couples_joints(mechanism):
        return MassFactors
    depth = np.zeros(mechanism.n_links, dtype=int)
    for i, f, joint in mechanism.outward():
        depth[i] = depth[f] + joint.type.n_v
    if depth.max() <= SHALLOW:
        return MassFactors
    if depth.max() > DEEP or operations(equations, BodyFactors) < WORTH * operations(equations, MassFactors):
        return BodyFactors
    return MassFactors


def operations(equations: Equations, factors: type[MassFactors] | type[BodyFactors]) -> int:
    """Count the operations of one evaluation of the accelerations with the given factors."""
    return len(replace(equations, factors=factors).solution_program.graph.op)


# --- equations

ROUNDING = 1e-12
"""Share of the mechanism's size below which entries of J are rounding: a plane loop that is not aligned with the
world axes leaves 1e-17 in directions in which it cannot move."""
FOLLOWS = 1e-2
"""Share of its terms within which the accelerations of a row that follows from others must vanish: a model with
angles of four digits leaves 4e-3."""


@dataclass(frozen=True, eq=False)
class Equations(Layout):
    """Equations of a run: traced functions of one state, and their kernels."""

    factors: type[MassFactors] | type[BodyFactors] | None = None
    """factorisation of constrained equations; None for the cheaper one"""
    _steps: dict[tuple[int, ...], Kernel] = field(default_factory=dict, init=False, repr=False)

    # --- traced functions of one state

    @cached_property
    def dynamic(self) -> Mechanism:
        """Mechanism with fewer bodies and the same motion."""
        return reduced(self.mechanism).mechanism

    @cached_property
    def _rounding(self) -> float:
        """Length below which a row of J is rounding."""
        return ROUNDING * (1.0 + _reach(self.mechanism))

    @cached_property
    def _factors(self) -> type[MassFactors] | type[BodyFactors]:
        return self.factors or cheaper_factors(self)

    def _split(self, y):
        return y[self.q], y[self.v], y[self.z]

    def forces(self, t: Any, q: Any, v: Any, z: Any, u: Any) -> tuple[Any, Any, Any]:
        """Return (torques of drives or control, torques on the joints after friction, ż)."""
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
        """Add the torques of joint springs; their energy counts as potential, not as work."""
        return acting + spring_torque(self.mechanism, q) if has_springs(self.mechanism) else acting

    def _carried(self, t):
        """Return the mechanism in its base frame, and the motion of the base."""
        if self.moving_base is None:
            return self.dynamic, AT_REST
        R, motion = base_motion(self.moving_base, t)
        return replace(self.dynamic, gravity=R.T @ self.dynamic.gravity), motion

    def rows(self, t: Any, q: Any, v: Any, c: Any) -> algebra.Rows:
        """Return the rows of all constraints."""
        state = algebra.Kinematics(self.mechanism, q, v)
        anchors = c[1:]
        parts = [
            constraint.rows(state, t, anchors[held])
            for constraint, held in zip(self.constraints, self.anchor_slices, strict=True)
        ]
        return algebra.stacked(parts, self.mechanism.n_v)

    def solved(self, t: Any, q: Any, v: Any, acting: Any, c: Any) -> tuple[Any, ...]:
        """Return (a, reactions, φ, φ̇, quality)."""
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
        solved = list(self.solved_rows)
        J = rows.J[solved]
        solution = algebra.solve(factors, force, J, wanted[solved])
        quality = solution.quality
        for share in (*self.moving(J), *self._following(rows, solution.a)):
            quality = minimum(quality, share)
        reactions = np.zeros(self.n_rows, dtype=np.asarray(solution.reactions).dtype)
        reactions[solved] = solution.reactions
        return solution.a, reactions, rows.value, rate, quality, rows.J

    def _following(self, rows: algebra.Rows, a: Any) -> list[Any]:
        """Return 1 for every row that follows from the solved ones, 0 if it is independent at this state."""
        shares = []
        for row in self.checked_rows:
            terms = [rows.bias[row], *(rows.J[row] * a)]
            size = sum(abs(term) for term in terms)
            shares.append(where(greater(abs(sum(terms)), FOLLOWS * size + self._rounding), 0.0, 1.0))
        return shares

    def moving(self, J: Any) -> list[Any]:
        """Return 1 for every row of J (m, n_v) that moves something, 0 for a row of rounding errors."""
        return [where(greater(row @ row, self._rounding**2), 1.0, 0.0) for row in J]

    def schur(self, t: Any, q: Any, v: Any, acting: Any, J: Any) -> tuple[Any, Any, Any]:
        """Return (accelerations without constraints, M⁻¹Jᵀ, J M⁻¹ Jᵀ)."""
        mechanism, base = self._carried(t)
        factors = self._factors(mechanism, q)
        return algebra.schur(factors, factors.force(v, self._sprung(q, acting), base=base), J)

    def power(self, q: Any, v: Any, a: Any, acting: Any) -> Any:
        """Return the power on the robot except that of reactions, W; a moving base adds inertial forces.

        Energies are those seen from the base, so that forces of inertia and the turning of gravity work too: what
        accelerates the robot as if its base were at rest, less its springs.
        """
        if self.moving_base is None:
            return v @ acting
        return v @ (inverse_dynamics(self.dynamic, q, v, a) - self._sprung(q, np.zeros(self.mechanism.n_v)))

    def derivative(self, t: Any, y: Any, u: Any = None, c: Any = None) -> tuple[Any, Any]:
        """Return (ẏ, quality of the constraints)."""
        q, v, z = self._split(y)
        q = self.mechanism.normalized(q)
        _, acting, z_rate = self.forces(t, q, v, z, u)
        a, reactions, _, _, quality, J = self.solved(t, q, v, acting, c)
        parts = [self.mechanism.tangent(q) @ v, a, z_rate]
        if self.works:
            with np.errstate(invalid="ignore"):  # the reaction of a row that moves nothing is not a number
                power = self.power(q, v, a, acting)
                if len(reactions) and self.moving_base is None:
                    power = power + reactions @ (J @ v)
                parts.append(np.array([power]))
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
        """Return the first n arrays of a kernel call, and u and c, if present, by name."""
        extra = [name for name, used in (("u", self.commanded), ("c", bool(self.constraints))) if used]
        return tuple(arrays[:n]), dict(zip(extra, arrays[n:], strict=True))

    @cached_property
    def fingerprint(self) -> str | None:
        """Cache key of everything that the equations are traced from; None with user functions."""
        control = self.control if self.control is not None and self.control.traced else None
        parts: list[Any] = [part for constraint in self.constraints for part in constraint.structure]
        for source in (control, self.drive):
            parts += [type(source).__name__, *(() if source is None else vars(source).values())]
        if self.moving_base is not None or any(callable(part) for part in parts):
            return None
        choices = [
            self.commanded,
            self.friction,
            None if self.factors is None else self.factors.__name__,
            *self.solved_rows,
        ]
        return hash_of(self.mechanism.fingerprint, choices, *map(_plain, parts))

    @property
    def code_modules(self) -> tuple[str, ...]:
        """Modules of the constraints, the control and the drive."""
        return tuple({type(part).__module__ for part in (*self.constraints, self.control, self.drive) if part})

    def _compiled(self, function: Callable, inputs: dict[str, tuple[int, ...]], name: str, *options: Any) -> Kernel:
        """Return the kernel of function(equations, *options, *arrays), traced only if it was never built before."""
        if self.fingerprint is None:
            return compiled_program(trace(partial(function, self, *options), inputs, name=name))
        return compiled(function, inputs, constants=(self, *options), name=name)

    @cached_property
    def rhs(self) -> Kernel:
        """Kernel (t, y, …) → ẏ, and the quality if there are constraints."""
        return self._compiled(_rhs, self._inputs(), "rhs")

    def steps(self, n_samples: int = 1, every: int = 1) -> Kernel:
        """Return the kernel of many rk4 steps, see `fixed_steps.fixed_steps_kernel`."""
        from ._rk4 import fixed_steps_kernel

        key = n_samples, every
        if key not in self._steps:
            self._steps[key] = fixed_steps_kernel(self, n_samples, every)
        return self._steps[key]

    def dop853(self, count: int) -> Kernel:
        """Return the kernel of adaptive steps, see `dop853_steps.dop853_kernel`."""
        from ._dop853 import dop853_kernel

        key = (count,)
        if key not in self._steps:
            self._steps[key] = dop853_kernel(self, count)
        return self._steps[key]

    def _anchors(self, q) -> np.ndarray:
        parts = [np.asarray(constraint.anchor(self.mechanism, q)) for constraint in self.constraints]
        return np.concatenate([np.zeros(0), *parts])

    @cached_property
    def anchors(self) -> Kernel:
        """Kernel q → the anchors of all constraints at that configuration, for batches."""
        return compiled_program(trace(self._anchors, {"q": (self.mechanism.n_q,)}, name="anchors"))

    @cached_property
    def given_anchors(self) -> np.ndarray:
        """Anchor values that do not depend on the configuration."""
        given: list[float] = []

        def run(q):
            given[:] = [x for x in self._anchors(q) if isinstance(x, float)]
            return q

        trace(run, {"q": (self.mechanism.n_q,)})
        return np.array(given)

    def anchors_at(self, q: Any, given: Any = ()) -> Any:
        """Return the anchors of all constraints at q, those of `given_anchors` taken from `given`."""
        left = iter(given)
        return np.array([next(left) if isinstance(x, float) else x for x in self._anchors(q)])

    @cached_property
    def direct(self) -> Kernel:
        """Kernel (t, k, q, v, u, given anchors) → outputs of `solution`, all constraints anchored at q."""

        def run(t, k, q, v, u, given=()):
            c = np.concatenate([np.array([k]), self.anchors_at(q, given)])
            _, acting, _ = self.forces(t, q, v, None, u)
            return self.solved(t, q, v, acting, c)[:5]

        n_q, n_v = self.mechanism.n_q, self.mechanism.n_v
        inputs: dict[str, tuple[int, ...]] = {"t": (), "k": (), "q": (n_q,), "v": (n_v,), "tau": (n_v,)}
        if len(self.given_anchors):
            inputs["given"] = self.given_anchors.shape
        return compiled_program(trace(run, inputs, name="constrained_dynamics"))

    @property
    def solution_program(self) -> Program:
        """Program (t, y, …) → a, reactions, φ, φ̇ and quality."""
        return trace(partial(_solution, self), self._inputs(), name="solution")

    @cached_property
    def solution(self) -> Kernel:
        """`solution_program`, compiled."""
        return self._compiled(_solution, self._inputs(), "solution")

    @cached_property
    def report(self) -> Kernel:
        """Kernel (t, y, …) → a, tau, reactions, φ, φ̇, kinetic and potential energy."""
        return self._compiled(_report, self._inputs(), "report")

    @cached_property
    def rows_of(self) -> Kernel:
        """Kernel (t, y, c) → J, zero in rows of rounding errors."""
        inputs: dict[str, tuple[int, ...]] = {"t": (), "y": (self.n_y,), "c": (self.n_c,)}
        return self._compiled(_rows_of, inputs, "rows_of")

    @cached_property
    def terms(self) -> Kernel:
        """Kernel (t, y, …) → ẏ without constraints, M⁻¹Jᵀ, J M⁻¹ Jᵀ, J, φ, φ̇, and P, for least squares."""
        return self._compiled(_terms, self._inputs(), "terms")


def _reach(mechanism: Mechanism) -> float:
    """Return an upper bound of the lever arms with prismatic joints at zero, m."""
    placed = [T for joint in mechanism.joints for T in (joint.T_parent_joint, joint.T_joint_child)]
    placed += [frame.T_link_frame for frame in mechanism.frames]
    return float(sum(np.linalg.norm(T[:3, 3]) for T in placed))


def _plain(part: Any) -> Any:
    return part.tolist() if isinstance(part, np.ndarray) else part


# --- the functions of the kernels: equations first, then the arrays of `Equations._inputs`


def _rhs(equations: Equations, *arrays: Any) -> Any:
    (t, y), inputs = equations.named(arrays)
    rate, quality = equations.derivative(t, y, **inputs)
    return (rate, quality) if equations.constraints else rate


def _at(equations: Equations, arrays: Sequence[Any]) -> tuple[Any, ...]:
    """Return (t, q, v, torques of drives or control, torques on the joints, ż, c)."""
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


def _rows_of(equations: Equations, t: Any, y: Any, c: Any) -> Any:
    q = equations.mechanism.normalized(y[equations.q])
    J = equations.rows(t, q, y[equations.v], c).J
    return J * np.array(equations.moving(J))[:, None]


def _terms(equations: Equations, *arrays: Any) -> Any:
    (t, y), inputs = equations.named(arrays)
    q = equations.mechanism.normalized(y[equations.q])
    v, z = y[equations.v], y[equations.z]
    _, acting, z_rate = equations.forces(t, q, v, z, inputs.get("u"))
    rows = equations.rows(t, q, v, inputs.get("c"))
    J = rows.J * np.array(equations.moving(rows.J))[:, None]
    free, W, A = equations.schur(t, q, v, acting, J)
    power = [np.array([equations.power(q, v, free, acting)])] if equations.works else []
    y_rate = np.concatenate([equations.mechanism.tangent(q) @ v, free, z_rate, *power])
    return y_rate, W, A, J, rows.value, rows.J @ v + rows.rate, rows.bias
