"""Plans: choosing postures against the methods of figaroh, and many calibrations at once against one by one.

figaroh itself cannot be run here (it needs picos and a configuration of each robot); its two methods are rebuilt on
the same candidates. DETMAX computes the determinant of every exchange anew. Its SOCP solves the convex relaxation,
which the bound of `select` approaches, and takes the n largest weights.
"""

from __future__ import annotations

import numpy as np

import zveno
from zveno.calibration.measurements import Pose
from zveno.design import study
from zveno.design.criteria import criterion
from zveno.design.engines import Determinant
from zveno.design.exchange import information, select, upper_bound
from zveno.design.rows import Rows

from .timing import Row, interleaved

N_CANDIDATES, N_CHOSEN = 5000, 40


def run() -> list[Row]:
    return [*_selection(), *_monte_carlo()]


def _selection() -> list[Row]:
    # 31 parameters: a 7-joint arm has 34 by poses, and three of the tool are left out.
    rows = Rows(zveno.load("iiwa14"), Pose(sigma={"position": 1e-4, "rotation": 2e-4}))
    J = rows.jacobians(rows.robot.random(N_CANDIDATES, 0))[:, :, :31]
    one = criterion("D")
    taken = interleaved({"ours": lambda: select(J, N_CHOSEN, one)}, repeats=3, at_least=0.0)["ours"]
    ours = select(J, N_CHOSEN, one)
    exchange_time = interleaved({"detmax": lambda: _detmax_step(J, N_CHOSEN)}, repeats=3, at_least=0.0)["detmax"]
    _, weights, _ = upper_bound(J, N_CHOSEN, one, ours, np.zeros((31, 31)), 31)
    largest = float(one.value(information(J, np.argsort(-weights)[:N_CHOSEN])))
    value, exchanges = max(_detmax(J, N_CHOSEN, seed) for seed in range(3))
    said = f"at least {100 * ours.efficiency:.1f} % of the relaxed optimum"
    better = f"{ours.value / value:.4f} × DETMAX's value (best of 3), {ours.value / largest:.4f} × SOCP's"
    return [
        Row(
            f"40 of 5000 postures, 31 parameters, D: {said}; {better}",
            taken,
            exchanges * exchange_time,
            f"DETMAX, {exchanges} exchanges at the time of one",
        ),
        Row("the same: promised 2 s", taken, 2.0, "promise", 1.0),
    ]


def _detmax_step(J: np.ndarray, n: int):
    """One exchange as figaroh does it: determinants with every candidate added, then with every member left out."""
    members = list(range(n))
    M = information(J, members)
    members.append(int(np.argmax([np.linalg.slogdet(M + Ji.T @ Ji)[1] for Ji in J])))
    M = information(J, members)
    members.pop(int(np.argmax([np.linalg.slogdet(M - J[i].T @ J[i])[1] for i in members])))


def _detmax(J: np.ndarray, n: int, seed: int) -> tuple[float, int]:
    """Value and number of exchanges of DETMAX from a random start, by our engine, which takes the same steps."""
    members = [int(i) for i in np.random.default_rng(seed).choice(len(J), n, replace=False)]
    state = Determinant(J, information(J, members), J.shape[-1], criterion("D"), n)
    exchanges = 0
    while exchanges < 500:
        exchanges += 1
        added = int(np.argmax(state.gains(1.0)))
        state.change(added, 1.0)
        members.append(added)
        gone = int(np.argmax(state.gains(-1.0, members)))
        state.change(members[gone], -1.0)
        if members.pop(gone) == added:
            break
    return float(criterion("D").value(information(J, members))), exchanges


def _monte_carlo() -> list[Row]:
    from scipy.optimize import least_squares

    q = study.proposed_plan()
    y = study.positions(study.TRUE, q) + 0.2 * np.random.default_rng(0).normal(size=(20, 16, 2))

    def loop():
        for one in y:
            least_squares(
                lambda p, one=one: (study.positions(p, q) - one).ravel(),
                np.zeros(6),
                jac=lambda p: study.jacobian(p, q),
                x_scale="jac",
            )

    times = interleaved(
        {"ours": lambda: study.simulate_study(q, 10_000, threads=1), "scipy": loop}, repeats=3, at_least=0.0
    )
    return [
        Row(
            "calibration of the planar arm, 10 000 at once",
            times["ours"] / 1e4,
            times["scipy"] / 20,
            "least_squares",
        ),
        Row("the same: promised 2 s for 10 000", times["ours"], 2.0, "promise", 1.0),
    ]
