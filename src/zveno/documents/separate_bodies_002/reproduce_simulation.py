"""Document 002: the falling chain over time."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ...robot import Robot
from ...robots import generators
from ...simulation import simulate
from ..reproduce import NOTED, Row
from .reproduce import DOCUMENT

STATES = {
    1.0: (-2.00569708643, -0.0252592468, 0.0066548482),
    2.0: (-1.40104663514, 0.0215159135, 0.1059134577),
}
"""q1, q2 and q10 of the document's program at two times, from an independent run of it at tight tolerance."""
DRIFTS = {1e-3: 1.2e-4, 1e-6: 3.6e-8, 1e-10: 1.8e-12}
"""Energy drift over 10 s by relative tolerance, with an integrator of order 8."""


def rows() -> list[Row]:
    """States and energy drift of the document's chain."""
    robot = Robot(generators["chain"](10))
    q0 = np.zeros(10)
    q0[0] = -1.0
    exact = simulate(robot, q0, duration=2.0, rtol=1e-11, atol=1e-13, sample=1.0)
    statements = [
        DOCUMENT.noted(f"the program: q1, q2, q10 at {t:g} s, rad", before, exact.q[int(t), [0, 1, 9]], 1e-9)
        for t, before in STATES.items()
    ]
    for rtol, before in DRIFTS.items():
        low, high = drift_range(robot, q0, rtol)
        statements.append(
            Row(
                DOCUMENT.number,
                f"energy drift over 10 s, order 8, rtol {rtol:g}, J",
                f"{NOTED}{before:.1e}",
                f"{low:.2e} … {high:.2e}",
                "regression" if 0.95 * low <= before <= 1.05 * high else "differs",
                "the range over starts that differ by 1e-15 rad: roundings decide where steps end; absolute "
                "tolerance is a thousandth of the relative one",
            )
        )
    adams = simulate(robot, q0, duration=2.0, rtol=1e-10, integrator="adams", sample=1.0)
    statements.append(
        DOCUMENT.noted(
            "the same by a variable-order Adams method (for ode113)", STATES[2.0], adams.q[2, [0, 1, 9]], 1e-6
        )
    )
    return statements


def drift_range(robot: Robot, q0: ArrayLike, rtol: float, n: int = 7) -> tuple[float, float]:
    """Smallest and largest energy drift over 10 s of n runs whose starts differ by 1e-15 rad, J."""
    drifts = []
    for k in range(n):
        start = np.array(q0)
        start[3] += k * 1e-15
        drifts.append(abs(float(simulate(robot, start, duration=10.0, rtol=rtol).energy_error[-1])))
    return min(drifts), max(drifts)
