"""Document 003: its constrained equation of motion, on a walking machine and on a held chain."""

from __future__ import annotations

import numpy as np

from ...robot import Robot
from ...robots import generators
from ...simulation import JointMotion, PointContact, constrained_dynamics, constraint_rows, simulate
from ..reproduce import Row
from .reproduce import DOCUMENT


def rows() -> list[Row]:
    """Accelerations and reactions of the constrained equation, and the work of its reactions."""
    trunk = Robot(generators["quadruped"]("trunk"))
    rng = np.random.default_rng(3)
    q, v, tau = 0.3 * rng.normal(size=(3, trunk.n_v))
    tau[:6] = 0.0
    feet = [PointContact(name) for name in trunk.frame_names if name.endswith("foot")]
    parts = trunk.partitioned(q, v)
    constraints = constraint_rows(trunk, q, v, feet)
    J_I, J_R, P = constraints.J[:, :6], constraints.J[:, 6:], constraints.bias
    whole = np.block(
        [
            [parts.I_II, parts.I_IR.T, -J_I.T],
            [parts.I_IR, parts.I_RR, -J_R.T],
            [J_I, J_R, np.zeros((len(P), len(P)))],
        ]
    )
    x = np.linalg.solve(whole, np.concatenate([-parts.H_I, tau[6:] - parts.H_R, -P]))
    ours = constrained_dynamics(trunk, q, v, tau, feet)
    size = abs(x).max()
    gap = max(abs(x[: trunk.n_v] - ours.a).max(), abs(x[trunk.n_v :] - ours.reactions).max()) / size
    chain = Robot(generators["chain"](3))
    held = simulate(chain, [-1.0, 0.3, 0.2], duration=1.0, constraints=[JointMotion("joint2")], rtol=1e-9)
    work = abs(held.work).max() / abs(held.kinetic).max()
    return [
        DOCUMENT.law("constrained equation on a trunk, parted into I and R: quadruped on four feet", gap, 1e-9),
        DOCUMENT.law("reactions of constraints at rest do no work", float(work), 1e-7),
    ]
