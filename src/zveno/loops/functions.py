"""Functions of a mechanism with closed loops in its independent velocities, from the functions of its tree.

The table of `zveno.functions` serves here too. Its inputs v and a become u and u̇, of which the whole tree's are
G u and G u̇ + g; every axis of a result that counts velocities is covariant and is multiplied by Gᵀ. Only functions
that solve for accelerations, differentiate or integrate are written here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ..algorithms import linear
from ..algorithms.drives import FRICTION_SMOOTHING
from ..algorithms.loop_rows import loop_rows
from ..algorithms.projection import Division, Projection, least_norm, poisoned, times
from ..errors import ModelError
from ..functions import FUNCTIONS, evaluated, function_named, shapes
from ..kernels.derivatives import jacobian
from ..kernels.ops import less, logical_and, where
from ..kernels.program import Program
from ..kernels.trace import call, trace
from ..mechanism import Mechanism

NOT_COVARIANT = {
    "difference": "the velocity between two states need not keep the loops closed; subtract `independent(q)`",
    "drive_regressor": "its columns for dependent joints need q; identify friction on the opened tree",
    "joint_wrenches": "they depend on the reactions of the loops; simulation.constrained_dynamics gives these",
    "coriolis_matrix": "use bias and mass_matrix",
    "jacobian_derivative": "use frame_acceleration",
}
"""Functions of a tree that have no counterpart here, and what to do instead."""
CLOSED_FUNCTIONS: tuple[str, ...] = tuple(name for name in FUNCTIONS if name not in NOT_COVARIANT)
STEPS = 2
"""Steps of Newton's method in exported functions, from the closed state of one control cycle earlier: from 1 mrad
away they leave 1e-12 m."""
FAR_STEPS = 6
"""Steps of Newton's method when a state is moved by `integrate`."""


def closed_shapes(
    mechanism: Mechanism, division: Division, name: str, parameters: Sequence[str] = (), external: bool = False
) -> dict[str, tuple[int, ...]]:
    """Return the shapes of all inputs of `closed_evaluated`."""
    names = (*function_named(name).inputs, *(("external",) if external else ()), *parameters)
    n_u = len(division.independent)
    changed = {"v": (n_u,), "a": (n_u,), "tau": (len(division.torques),)}
    return {key: changed.get(key, shape) for key, shape in shapes(mechanism, names).items()}


def closed_outputs(name: str) -> tuple[str, ...]:
    """Return the names of the outputs."""
    return tuple(function_named(name).outputs)


def refuse_unknown(mechanism: Mechanism, division: Division, name: str) -> None:
    """Raise an error for a function that does not exist in independent coordinates."""
    function_named(name)
    if name in NOT_COVARIANT:
        raise ModelError(
            f"{name} does not exist in independent coordinates", element=mechanism.name, remedy=NOT_COVARIANT[name]
        )
    if name == "inverse_dynamics_derivatives" and division.surplus:
        raise ModelError(
            "there are more motors than independent velocities, and torques of least norm have no derivatives here",
            element=mechanism.name,
            remedy="Name as many motors as the mechanism has freedoms",
        )


def closed_evaluated(
    mechanism: Mechanism,
    division: Division,
    name: str,
    parameters: Sequence[str],
    options: Sequence[tuple[str, Any]],
    *arrays: Any,
) -> Any:
    """Evaluate a function at a closed state q; NaN where q is open or singular. This function is traced.

    Args:
        mechanism: the mechanism with its loops.
        division: its independent and dependent velocities.
        name, parameters, options: as in `zveno.functions.evaluated`.
        arrays: the inputs listed by `closed_shapes`.
    """
    q, *rest = arrays
    state = _State(mechanism, division, q)
    result = state.function(name, parameters, options, rest)
    sound = state.projection.is_sound()
    return tuple(poisoned(sound, part) for part in result) if isinstance(result, tuple) else poisoned(sound, result)


def with_closure(
    mechanism: Mechanism,
    division: Division,
    name: str,
    parameters: Sequence[str],
    options: Sequence[tuple[str, Any]],
    steps: int,
    *arrays: Any,
) -> dict[str, Any]:
    """Evaluate a function at the closed state near q, after a number of Newton steps. This function is traced.

    The results are those of the function, the closed q, and `left`: the largest |φ|, infinite at a singular state.
    """
    q, *rest = arrays
    state = _State(mechanism, division, closed_near(mechanism, division, q, steps))
    result = state.function(name, parameters, options, rest)
    parts = result if isinstance(result, tuple) else (result,)
    left = where(state.projection.is_regular, state.projection.largest(), np.inf)
    return dict(zip(closed_outputs(name), parts, strict=True)) | {"q_closed": state.q, "left": left}


def closed_near(mechanism: Mechanism, division: Division, q: Any, steps: int) -> Any:
    """Return q after Newton steps of the dependent coordinates onto the loops; the others stay."""
    for _ in range(steps):
        q = mechanism.integrate(q, _State(mechanism, division, q).projection.correction())
    return q


def sound(mechanism: Mechanism, division: Division, q: Any) -> tuple[Any, Any, Any]:
    """Return 1 for a regular state, else 0; the largest |φ|; and the sign of det K, which is that of the branch."""
    projection = _State(mechanism, division, q).projection
    return where(projection.is_regular, 1.0, 0.0), projection.largest(), projection.orientation()


def lifted(mechanism: Mechanism, division: Division, q: Any, u: Any) -> Any:
    """Return the velocities of the tree, (n_v,), for independent ones at a closed state."""
    state = _State(mechanism, division, q)
    return poisoned(state.projection.is_sound(), state.projection.velocity(u))


def projected_torques(
    mechanism: Mechanism, division: Division, torques: Callable[[Any, Any], Any], q: Any, u: Any, rate: Any
) -> np.ndarray:
    """Return Gᵀ times torques (n_v, …) of the tree, a function of its v and a; NaN at an open or singular state."""
    state = _State(mechanism, division, q)
    result = state.projection.projected(torques(*state.motion(u, rate)))
    return poisoned(state.projection.is_sound(), result)


class _State:
    """The functions at one configuration."""

    def __init__(self, mechanism: Mechanism, division: Division, q: Any) -> None:
        self.mechanism, self.division, self.q = mechanism, division, q
        self.projection: Projection = Projection(division, lambda v: loop_rows(mechanism, q, v), mechanism.n_v)

    def function(
        self, name: str, parameters: Sequence[str], options: Sequence[tuple[str, Any]], rest: Sequence[Any]
    ) -> Any:
        """Return the results of a function, whose inputs after q are given."""
        function = function_named(name)
        n_state = len(function.inputs) - 1
        inputs, more = dict(zip(function.inputs[1:], rest[:n_state], strict=True)), rest[n_state:]

        def tree(of: str, *state: Any, smoothing: float | None = None) -> Any:
            known = function_named(of).options
            chosen = {key: value for key, value in options if key in known}
            given = more[1:] if "external" in dict(options) and "external" not in known else more
            if smoothing is not None and chosen.get("joint_friction"):
                chosen["smoothing"] = smoothing
            return evaluated(self.mechanism, of, parameters, tuple(sorted(chosen.items())), self.q, *state, *given)

        special: Mapping[str, Callable[..., Any]] = {
            "integrate": self._integrate,
            "inverse_dynamics": self._inverse_dynamics,
            "bias": self._bias,
            "mass_matrix": self._mass,
            "forward_dynamics": self._forward_dynamics,
            "inverse_mass_matrix": self._inverse_mass_matrix,
            "inverse_dynamics_derivatives": self._inverse_derivatives,
            "forward_dynamics_derivatives": self._forward_derivatives,
        }
        if name in special:
            return special[name](tree, **inputs)
        return self._covariant(name, tree, **inputs)

    def motion(self, u: Any, rate: Any = None) -> tuple[Any, Any]:
        """Return the velocities and accelerations of the tree."""
        v = self.projection.velocity(u)
        if rate is None:
            return v, self.projection.bias(v)
        return v, self.projection.velocity(rate) + self.projection.bias(v)

    def _covariant(self, name: str, tree: Callable[..., Any], v: Any = None, a: Any = None) -> Any:
        function = function_named(name)
        state: list[Any] = []
        if a is not None:
            state = list(self.motion(v, a))
        elif v is not None:
            state = [self.projection.velocity(v)]
        result = tree(name, *state)
        results = result if isinstance(result, tuple) else (result,)
        projected = []
        for part, shape in zip(results, function.outputs.values(), strict=True):
            array = part
            for axis, size in enumerate(shape):
                if size == "n_v":
                    array = np.moveaxis(self.projection.projected(np.moveaxis(np.asarray(array), axis, 0)), 0, axis)
            projected.append(array)
        return tuple(projected) if isinstance(result, tuple) else projected[0]

    def _integrate(self, tree: Callable[..., Any], v: Any) -> Any:
        moved = self.mechanism.integrate(self.q, self.projection.velocity(v))
        closed = closed_near(self.mechanism, self.division, moved, FAR_STEPS)
        end = _State(self.mechanism, self.division, closed).projection
        same_branch = less(0.0, self.projection.orientation() * end.orientation())
        return poisoned(logical_and(same_branch, end.is_sound()), closed)

    def _inverse_dynamics(self, tree: Callable[..., Any], v: Any, a: Any) -> Any:
        return self.motor_torques(self.projection.projected(tree("inverse_dynamics", *self.motion(v, a))))

    def motor_torques(self, force: Any) -> Any:
        """Return the torques of `Division.torques` for a force along u: of least norm if motors are in surplus."""
        if not self.division.surplus:
            order = [self.division.independent.index(k) for k in self.division.torques]
            return np.asarray(force)[order]
        driven, independent = self.division.driven, self.division.independent
        actuated = [i for i, k in enumerate(independent) if k in driven]
        G = self.projection.G[list(driven)]
        torques = least_norm(G[:, actuated], linear.solve, np.asarray(force)[actuated])
        rest = [i for i, k in enumerate(independent) if k not in driven]
        return np.concatenate([torques, np.asarray(force)[rest] - times(G[:, rest].T, torques)])

    def force(self, tau: Any) -> Any:
        """Return the force along u of motor torques."""
        return times(self.projection.G[list(self.division.torques)].T, tau)

    def _bias(self, tree: Callable[..., Any], v: Any) -> Any:
        v, g = self.motion(v)
        return self.projection.projected(tree("bias", v) + times(tree("mass_matrix"), g))

    def _mass(self, tree: Callable[..., Any]) -> Any:
        G = self.projection.G
        return linear.symmetric(times(G.T, times(tree("mass_matrix"), G)))

    def _inverse_mass_matrix(self, tree: Callable[..., Any]) -> Any:
        return linear.inverse(self._mass(tree))

    def _accelerations(self, tree: Callable[..., Any], v: Any, tau: Any) -> tuple[Any, Any]:
        """Return (u̇, mass matrix)."""
        needed = self.projection.projected(tree("inverse_dynamics", *self.motion(v), smoothing=FRICTION_SMOOTHING))
        M = self._mass(tree)
        return linear.solve(M, self.force(tau) - needed), M

    def _forward_dynamics(self, tree: Callable[..., Any], v: Any, tau: Any) -> Any:
        return self._accelerations(tree, v, tau)[0]

    def _inverse_derivatives(self, tree: Callable[..., Any], v: Any, a: Any) -> Any:
        return self._derivatives(tree, v, a, np.zeros(self.mechanism.n_v), None)

    def _forward_derivatives(self, tree: Callable[..., Any], v: Any, tau: Any) -> Any:
        a, _ = self._accelerations(tree, v, tau)
        whole = np.zeros(self.mechanism.n_v, dtype=np.asarray(tau).dtype)
        for k, torque in zip(self.division.torques, tau, strict=True):
            whole[k] = torque
        by_q, by_v, M = self._derivatives(tree, v, a, whole, FRICTION_SMOOTHING)
        M_inverse = linear.inverse(M)
        G = self.projection.G[list(self.division.torques)]
        return -times(M_inverse, by_q), -times(M_inverse, by_v), times(M_inverse, G.T)

    def _derivatives(self, tree: Callable[..., Any], u: Any, rate: Any, tau: Any, smoothing: float | None) -> Any:
        """Return the derivatives of Gᵀ (ID − τ) by independent q (along G), u and u̇, with fixed τ (n_v,).

        The state moves along G. Then v = G u changes by δv with J δv = −∂(J v) δq, a by δa with
        J δa = −∂(J a + P) δq − ∂P δv, and Gᵀ itself by −Gᵀ ∂(JᵀR) δq, where the reactions R balance the residual.
        """
        projection, G = self.projection, self.projection.G
        v, a = self.motion(u, rate)
        residual = tree("inverse_dynamics", v, a, smoothing=smoothing) - tau
        R = projection.reactions(residual)
        slopes = _row_slopes(self.mechanism, self.division)
        pulled_q, moving_q, rate_q, rate_v = call(slopes, self.q, v, a, R)
        along = times(np.asarray(self.mechanism.tangent(self.q)), G)
        by_q, by_v, M = tree("inverse_dynamics_derivatives", v, a, smoothing=smoothing)
        change = projection.solved(times(moving_q, along))
        gain = projection.solved(times(rate_q, along) + times(rate_v, change))
        gain_by_v = projection.solved(times(rate_v, G))
        total = times(by_q, G) + times(by_v, change) + times(M, gain) - times(pulled_q, along)
        return times(G.T, total), times(G.T, times(by_v, G) + times(M, gain_by_v)), times(G.T, times(M, G))


@lru_cache(maxsize=64)
def _row_slopes(mechanism: Mechanism, division: Division) -> Program:
    """Return ∂(JᵀR)/∂q, ∂(J v)/∂q, ∂(J a + P)/∂q and ∂P/∂v of the solved rows, by the coordinates q and by v."""
    chosen = [row for row, _ in division.pivots]

    def run(q: Any, v: Any, a: Any, R: Any) -> Any:
        rows = loop_rows(mechanism, q, v)
        J = rows.J[chosen]
        return times(J.T, R), times(J, v), times(J, a) + rows.bias[chosen]

    shape = (mechanism.n_v,)
    inputs = {"q": (mechanism.n_q,), "v": shape, "a": shape, "R": (len(chosen),)}
    program = trace(run, inputs, outputs=("pulled", "moving", "rate"))
    by_q = jacobian(program, wrt="q")
    by_v = jacobian(program, of="rate", wrt="v")
    # ∂(J v)/∂v is J; only P depends on v among the accelerations J a + P.
    return trace(lambda *x: (*call(by_q, *x), call(by_v, *x)), inputs, name="row_slopes")
