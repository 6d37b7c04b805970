"""Programs of a robot's functions: traced, or derived from traced ones. Kernels and C sources are made of them."""

from __future__ import annotations

from collections.abc import Sequence

from .algorithms import linear
from .functions import function_named, traceable
from .kernels import derivatives
from .kernels.program import Program
from .kernels.trace import call, trace
from .mechanism import Mechanism


def program(mechanism: Mechanism, name: str, parameters: Sequence[str] = (), **options) -> Program:
    """The program of a function of `zveno.functions.FUNCTIONS`; parameters and options as in `traceable`."""
    if name == "inverse_dynamics_derivatives":
        return _inverse_dynamics_derivatives(mechanism, parameters, **options)
    if name == "forward_dynamics_derivatives":
        return _forward_dynamics_derivatives(mechanism, parameters, **options)
    function, inputs = traceable(mechanism, name, parameters, **options)
    return trace(function, inputs, name=name, outputs=function_named(name).outputs)


def _inverse_dynamics_derivatives(mechanism: Mechanism, parameters: Sequence[str], **options) -> Program:
    """∂τ/∂q in the tangent, ∂τ/∂v and ∂τ/∂a, each (n_v, n_v); the last is the mass matrix."""
    name = "inverse_dynamics_derivatives"
    inputs, slopes, masses = _parts(mechanism, parameters, **options)

    def run(q, v, a, *values):
        by_q, by_v = call(slopes, q, v, a, *values)
        return by_q @ mechanism.tangent(q), by_v, call(masses, q, *_weights(parameters, values))

    return trace(run, inputs, name=name, outputs=function_named(name).outputs)


def _forward_dynamics_derivatives(mechanism: Mechanism, parameters: Sequence[str], **options) -> Program:
    """∂a/∂q in the tangent, ∂a/∂v and ∂a/∂τ, each (n_v, n_v).

    Inverse dynamics at the acceleration found: ∂a/∂x = −M⁻¹ ∂τ/∂x, and ∂a/∂τ = M⁻¹ (Carpentier and Mansard 2018).
    """
    name = "forward_dynamics_derivatives"
    inputs, slopes, masses = _parts(mechanism, parameters, **options)
    forward = program(mechanism, "forward_dynamics", parameters, **options)

    def run(q, v, tau, *values):
        a = call(forward, q, v, tau, *values)
        by_q, by_v = call(slopes, q, v, a, *values)
        M_inverse = linear.inverse(call(masses, q, *_weights(parameters, values)))
        return -(M_inverse @ (by_q @ mechanism.tangent(q))), -(M_inverse @ by_v), M_inverse

    inputs = {("tau" if key == "a" else key): shape for key, shape in inputs.items()}
    return trace(run, inputs, name=name, outputs=function_named(name).outputs)


def _parts(mechanism: Mechanism, parameters: Sequence[str], **options):
    """Inputs, the program of ∂τ/∂q and ∂τ/∂v, and that of the mass matrix."""
    torque = program(mechanism, "inverse_dynamics", parameters, **options)
    inputs = {argument.name: argument.shape for argument in torque.inputs}
    slopes = derivatives.jacobian(torque, of="tau", wrt=("q", "v"))
    masses = program(mechanism, "mass_matrix", _heavy(parameters))
    return inputs, slopes, masses


def _heavy(parameters: Sequence[str]) -> tuple[str, ...]:
    """The parameters the mass matrix depends on."""
    return tuple(name for name in parameters if name.partition(":")[0] in function_named("mass_matrix").depends_on)


def _weights(parameters: Sequence[str], values: Sequence) -> list:
    chosen = _heavy(parameters)
    return [value for name, value in zip(parameters, values[-len(parameters) :], strict=False) if name in chosen]
