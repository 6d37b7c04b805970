"""What base parameters buy: a regressor with the base columns alone, and inverse dynamics with fewer operations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ..algorithms.inverse_dynamics import falling, link_wrench
from ..algorithms.regressor import drive_regressor
from ..algorithms.velocities import AT_REST, Motion, body_motions
from ..kernels.kernel import load_or_build
from ..kernels.operations import Operations, count_operations
from ..kernels.program import Program
from ..kernels.sources import source_digest
from ..kernels.trace import trace
from ..mechanism import Mechanism
from ..mechanism.reduce import reduced
from ..robot import Robot
from ..spatial.inertia import N_PARAMETERS, pseudo_inertia
from ..spatial.transforms import inverse, move_twist, move_wrench
from ..spatial.vectors import cross
from .analyse import base_parameters
from .coupling import coupling_regressor
from .result import BaseParameters
from .views import PAIRS


def regressor_columns(mechanism: Mechanism, q, v, a, columns: Sequence[int]):
    """Some columns of the regressor, (n_v, len(columns)): those of `regressor`, then those of `drive_regressor`.

    Torque j of parameter k of link i is the power of its unit wrench on the twist of joint j, seen from link i;
    these twists are shared by the link's parameters.
    """
    motions = body_motions(mechanism, q, v, a, falling(AT_REST, mechanism.gravity))
    q_own = mechanism.joint_positions(q)
    n_link = N_PARAMETERS * len(mechanism.joints)
    wanted: dict[int, list[int]] = {}
    for place, column in enumerate(columns):
        if column < n_link:
            wanted.setdefault(column // N_PARAMETERS + 1, []).append(place)
    W: list[list[Any]] = [[0.0] * len(columns) for _ in range(mechanism.n_v)]
    twists: list[dict[int, Any]] = [{}]
    for i, f, joint in mechanism.outward():
        back = inverse(joint.transform(q_own[i]))
        own = {row: move_twist(back, twist) for row, twist in twists[f].items()}
        factor = 1.0 if joint.mimic is None else joint.mimic.multiplier
        for k, twist in enumerate(joint.subspace(q_own[i]).T):
            row = mechanism.v_slices[joint.name].start + k
            own[row] = own[row] + factor * twist if row in own else factor * twist
        twists.append(own)
        for place in wanted.get(i, ()):
            wrench = link_wrench(np.eye(N_PARAMETERS)[columns[place] % N_PARAMETERS], motions[i])
            for row, twist in own.items():
                W[row][place] = twist @ wrench
    extra = [place for place, column in enumerate(columns) if column >= n_link]
    if extra:
        D = drive_regressor(mechanism, v, a)
        if max(columns) >= n_link + 4 * mechanism.n_v:
            D = np.concatenate([D, coupling_regressor(mechanism, v, a)], axis=1)
        for place in extra:
            for row in range(mechanism.n_v):
                W[row][place] = D[row][columns[place] - n_link]
    return np.array(W).reshape(mechanism.n_v, len(columns))


def base_kernel(base: BaseParameters):
    """The compiled base regressor: (q, v, a) → W (..., n_v, rank), with torques W p̃."""
    mechanism, columns = base.mechanism, tuple(base.regressor_columns.tolist())

    def program() -> Program:
        def run(q, v, a):
            return regressor_columns(mechanism, q, v, a, columns)

        return trace(run, _states(mechanism), name="base_regressor")

    return load_or_build(repr((mechanism.fingerprint, "base_regressor", columns, _sources())), program)


def base_inverse_dynamics(mechanism: Mechanism, places: Sequence[int], q, v, a, values):
    """Torques of link inertia, (n_v,), from base parameters in the pseudo-inertia view; all others are zero.

    f = m a + Ω S and n = vee(ΩΣ) + S × a with Σ = ∫ r rᵀ dm: the entries of Ω serve forces and moments alike.
    """
    numbers: list[list[Any]] = [[0.0] * 10 for _ in mechanism.links]
    for place, value in zip(places, values, strict=True):
        numbers[place // 10 + 1][place % 10] = value
    motions = body_motions(mechanism, q, v, a, falling(AT_REST, mechanism.gravity))
    wrenches = [_wrench(h, motion) for h, motion in zip(numbers, motions, strict=True)]
    q_own = mechanism.joint_positions(q)
    own: list[Any] = [np.zeros(0)] * mechanism.n_links
    for i, f, joint in mechanism.inward():
        own[i] = joint.subspace(q_own[i]).T @ wrenches[i]
        wrenches[f] = wrenches[f] + move_wrench(joint.transform(q_own[i]), wrenches[i])
    return mechanism.gather_velocities(own)


def _wrench(h: Sequence, motion: Motion):
    """The wrench `[f, n]` that gives a body of pseudo-inertia h (xx yy zz xy xz yz Sx Sy Sz m) its motion."""
    xx, yy, zz, xy, xz, yz = h[:6]
    S, m = np.array(h[6:9]), h[9]
    O = motion.rates
    wx, wy, wz = motion.w
    turning = np.array(
        [
            O[2, 0] * xy + O[2, 1] * yy - O[1, 2] * zz - O[1, 0] * xz + (wz * wz - wy * wy) * yz,
            O[0, 2] * zz + O[0, 1] * yz - O[2, 0] * xx - O[2, 1] * xy + (wx * wx - wz * wz) * xz,
            O[1, 0] * xx + O[1, 2] * xz - O[0, 1] * yy - O[0, 2] * yz + (wy * wy - wx * wx) * xy,
        ]
    )
    return np.concatenate([m * motion.a + O @ S, cross(S, motion.a) + turning])


class BaseModel:
    """A robot's inverse dynamics in base parameters, compiled, with the parameters as inputs.

    The base parameters are those of the robot with frames in its joints and fixed links merged, which needs the
    fewest operations; `values` are the robot's own.
    """

    def __init__(self, robot: Robot, massless: Sequence[str] | None = None):
        self.mechanism = reduced(robot.mechanism).mechanism
        self.base = base_parameters(self.mechanism, view="pseudo", massless=massless)

    @cached_property
    def values(self) -> np.ndarray:
        """(rank,) base parameters of the robot."""
        p = [[pseudo_inertia(link.inertia)[i, j] for i, j in PAIRS] for link in self.mechanism.links[1:]]
        return self.base.project(np.array(p, dtype=float).ravel())

    @cached_property
    def program(self) -> Program:
        """(q, v, a, values) → torques, for counting operations and for `export_c`."""
        return trace(*self._traceable())

    def _traceable(self) -> tuple[Callable, dict[str, tuple[int, ...]], str]:
        places = self.base.columns.tolist()

        def run(q, v, a, values):
            return base_inverse_dynamics(self.mechanism, places, q, v, a, values)

        return run, _states(self.mechanism) | {"values": (self.base.rank,)}, "base_inverse_dynamics"

    @cached_property
    def kernel(self):
        """The compiled function."""
        key = repr((self.mechanism.fingerprint, "base_inverse_dynamics", self.base.columns.tolist(), _sources()))
        return load_or_build(key, lambda: self.program)

    def inverse_dynamics(self, q, v, a, values=None, out=None) -> np.ndarray:
        """Torques of the links' inertia, (..., n_v), rotors and friction not included."""
        return self.kernel(q, v, a, self.values if values is None else values, out=out)

    @property
    def operations(self) -> Operations:
        """Operations of one evaluation."""
        return count_operations(self.program)


def _states(mechanism: Mechanism) -> dict[str, tuple[int, ...]]:
    return {"q": (mechanism.n_q,), "v": (mechanism.n_v,), "a": (mechanism.n_v,)}


def _sources() -> str:
    return source_digest(
        "spatial", "mechanism", "algorithms", "base_parameters/regressor.py", "base_parameters/coupling.py"
    )
