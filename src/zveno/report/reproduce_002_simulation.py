"""Documents 002 and 003, what they simulate: the falling chain, and machines held by constraints."""

from __future__ import annotations

import numpy as np

from ..robot import Robot
from ..robots import generators
from ..simulation import JointMotion, PointContact, constrained_dynamics, constraint_rows, simulate
from .reproduce import Row, compared, law

STATES = {
    1.0: (-2.00569708643, -0.0252592468, 0.0066548482),
    2.0: (-1.40104663514, 0.0215159135, 0.1059134577),
}
"""q1, q2 and q10 of the document's program at two times, from an independent run of it at tight tolerance."""
DRIFTS = {1e-3: 1.2e-4, 1e-6: 3.6e-8, 1e-10: 1.8e-12}
"""Energy drift over 10 s by relative tolerance, with an integrator of order 8."""


def rows() -> list[Row]:
    """The chain of document 002 over time, and the constrained equation of document 003."""
    return [*_chain(), *_constraints()]


def _chain() -> list[Row]:
    robot = Robot(generators["chain"](10))
    q0 = np.zeros(10)
    q0[0] = -1.0
    exact = simulate(robot, q0, duration=2.0, rtol=1e-11, atol=1e-13, sample=1.0)
    found = [
        compared("002", f"the program: q1, q2, q10 at {t:g} s, rad", printed, exact.q[int(t), [0, 1, 9]], 1e-9)
        for t, printed in STATES.items()
    ]
    for rtol, printed in DRIFTS.items():
        low, high = drift_range(robot, q0, rtol)
        found.append(
            Row(
                "002",
                f"energy drift over 10 s, order 8, rtol {rtol:g}, J",
                f"{printed:.1e}",
                f"{low:.2e} … {high:.2e}",
                "equal" if 0.95 * low <= printed <= 1.05 * high else "differs",
                "the range over starts that differ by 1e-15 rad: roundings decide where steps end; absolute "
                "tolerance is a thousandth of the relative one",
            )
        )
    adams = simulate(robot, q0, duration=2.0, rtol=1e-10, integrator="adams", sample=1.0)
    found.append(
        compared(
            "002",
            "the same by a variable-order Adams method (for ode113)",
            STATES[2.0],
            adams.q[2, [0, 1, 9]],
            1e-6,
        )
    )
    return found


def drift_range(robot: Robot, q0, rtol: float, n: int = 7) -> tuple[float, float]:
    """Smallest and largest energy drift over 10 s of n runs whose starts differ by 1e-15 rad, J."""
    drifts = []
    for k in range(n):
        start = np.array(q0)
        start[3] += k * 1e-15
        drifts.append(abs(float(simulate(robot, start, duration=10.0, rtol=rtol).energy_error[-1])))
    return min(drifts), max(drifts)


def _constraints() -> list[Row]:
    trunk = Robot(generators["quadruped"]("trunk"))
    rng = np.random.default_rng(3)
    q, v, tau = 0.3 * rng.normal(size=(3, trunk.n_v))
    tau[:6] = 0.0
    feet = [PointContact(name) for name in trunk.frame_names if name.endswith("foot")]
    parts = trunk.partitioned(q, v)
    rows = constraint_rows(trunk, q, v, feet)
    J_I, J_R, P = rows.J[:, :6], rows.J[:, 6:], rows.bias
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
        law("003", "constrained equation on a trunk, parted into I and R: quadruped on four feet", gap, 1e-9),
        law("003", "reactions of constraints at rest do no work", float(work), 1e-7),
    ]
