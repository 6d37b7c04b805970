"""Plans: choosing postures against figaroh's two methods, and many calibrations at once against one by one.

figaroh 1.0.2 gets the information matrices of the same candidates. Its DETMAX starts at random and exchanges until
nothing improves. Its SOCP solves the convex relaxation and ranks candidates by weight, of which the first n are
taken; its time grows with the square of the candidates (4 s for 300, 54 s for 1000), so it gets fewer of them.
"""

from __future__ import annotations

import importlib
import importlib.util
import random
import time
import warnings

import numpy as np
from reproduction import plan_study as study

import zveno
from zveno.calibration.measurements import Pose
from zveno.calibration.planning._criteria import named_criterion
from zveno.calibration.planning._exchange import information, select
from zveno.calibration.planning._information import PlannedRows

from .timing import Row, interleaved

N_CANDIDATES, N_CHOSEN, N_PARAMETERS = 5000, 40, 31
N_SOCP = 400
"""Candidates the SOCP chooses from."""


def run() -> list[Row]:
    return [*_selection(), *_monte_carlo()]


def _selection() -> list[Row]:
    # 31 parameters: a 7-joint arm has 34 by poses, and three of the tool are left out.
    rows = PlannedRows(zveno.load("iiwa14"), Pose(sigma={"position": 1e-4, "rotation": 2e-4}))
    J = rows.jacobians(rows.robot.random(N_CANDIDATES, 0))[:, :, :N_PARAMETERS]
    calls = {"ours": lambda: select(J, N_CHOSEN, named_criterion("D"))}
    cpu = interleaved(calls, repeats=3, at_least=0.0)["ours"]
    wall = interleaved(calls, repeats=3, at_least=0.0, clock=time.perf_counter)["ours"]
    found = select(J, N_CHOSEN, named_criterion("D"))
    said = f"40 of 5000 postures, 31 parameters, D: at least {100 * found.efficiency:.1f} % of the best possible"
    promised = [
        Row(f"{said}, CPU", cpu, 2.0, "promise", 1.0),
        Row("the same, wall clock", wall, 2.0, "promise", 1.0),
    ]
    if importlib.util.find_spec("figaroh") is None:
        return [*promised, Row(said, cpu, float("nan"), "figaroh is not installed")]
    return [*promised, _against(J, "DETMAX", _detmax), _against(J[:N_SOCP], "SOCP", _socp)]


def _against(J: np.ndarray, name: str, rival) -> Row:
    """Our choice and a method of figaroh, in turns; the value of D of both."""
    scale = float(np.mean(np.sum(J**2, axis=(1, 2)))) / J.shape[-1]
    pool = {i: Ji.T @ Ji / scale for i, Ji in enumerate(J)}
    select(J, N_CHOSEN, named_criterion("D"))
    start = time.process_time()
    theirs = rival(pool)
    middle = time.process_time()
    ours = select(J, N_CHOSEN, named_criterion("D"))
    end = time.process_time()
    value = float(named_criterion("D").value(information(J, theirs)))
    what = f"40 of {len(J)} postures: D {ours.value / value:.4f} × that of figaroh"
    return Row(what, end - middle, middle - start, f"figaroh, {name}")


def _detmax(pool: dict[int, np.ndarray]) -> list[int]:
    Detmax, _ = _figaroh()

    class Remembering(Detmax):
        """Its set is a local variable; the last one the criterion was asked for is the final one."""

        def get_critD(self, members):
            self.members = list(members)
            return super().get_critD(members)

    random.seed(0)
    method = Remembering(pool, N_CHOSEN)
    method.main_algo()
    return method.members


def _socp(pool: dict[int, np.ndarray]) -> list[int]:
    _, SOCPOptimizer = _figaroh()
    _, ranked = SOCPOptimizer(pool, {"NbSample": len(pool)}).solve()
    return [int(i) for i in list(ranked)[:N_CHOSEN]]


def _figaroh():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = importlib.import_module("figaroh.optimal.base_optimal_calibration")
    return module.Detmax, module.SOCPOptimizer


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

    times = interleaved({"ours": lambda: study.simulate_study(q, 10_000), "scipy": loop}, repeats=3, at_least=0.0)
    return [
        Row(
            "calibration of the planar arm, 10 000 at once",
            times["ours"] / 1e4,
            times["scipy"] / 20,
            "least_squares",
        ),
        Row("the same: promised 2 s for 10 000", times["ours"], 2.0, "promise", 1.0),
    ]
