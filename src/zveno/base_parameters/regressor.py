"""Compiled regressor of the base columns alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..algorithms.inverse_dynamics import falling, link_wrench
from ..algorithms.motion import AT_REST
from ..algorithms.regressor import drive_regressor
from ..algorithms.velocities import body_motions
from ..kernels.compile import compiled
from ..kernels.kernel import Kernel
from ..mechanism import Mechanism
from ..spatial.inertia import N_PARAMETERS
from ..spatial.transforms import inverse, move_twist
from .drives import coupling_regressor
from .result import BaseParameters


def regressor_columns(mechanism: Mechanism, columns: Sequence[int], q: Any, v: Any, a: Any) -> np.ndarray:
    """Compute some columns of `regressor`, followed by `drive_regressor`, (n_v, len(columns)).

    Torque j of parameter k of link i is the power of its unit wrench on the twist of joint j, expressed in link i.
    These twists are shared by the parameters of the link.
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
        own_twists = {row: move_twist(back, twist) for row, twist in twists[f].items()}
        factor = 1.0 if joint.mimic is None else joint.mimic.multiplier
        for k, twist in enumerate(joint.subspace(q_own[i]).T):
            row = mechanism.v_slices[joint.name].start + k
            own_twists[row] = own_twists[row] + factor * twist if row in own_twists else factor * twist
        twists.append(own_twists)
        for place in wanted.get(i, ()):
            wrench = link_wrench(np.eye(N_PARAMETERS)[columns[place] % N_PARAMETERS], motions[i])
            for row, twist in own_twists.items():
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


def base_kernel(base: BaseParameters) -> Kernel:
    """Compiled base regressor (q, v, a) → W (..., n_v, rank), with torques W p̃."""
    columns = tuple(base.regressor_columns.tolist())
    states = states_of(base.mechanism)
    return compiled(regressor_columns, states, constants=(base.mechanism, columns), name="base_regressor")


def states_of(mechanism: Mechanism) -> dict[str, tuple[int, ...]]:
    """Shapes of q, v and a."""
    return {"q": (mechanism.n_q,), "v": (mechanism.n_v,), "a": (mechanism.n_v,)}
