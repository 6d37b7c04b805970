"""How far calibrations miss simulated robots, measured as a plan says."""

import numpy as np

from zveno.calibration import CalibrationModel
from zveno.calibration.calibrate import calibrate
from zveno.calibration.simulated import apply_deviations, simulate_dataset


def squares_of_errors(robot, kind, plan, off, runs, *, q=None, groups=(), frames=None):
    """χ² per parameter of the errors by the plan's covariance, and by that of the calibrations themselves.

    The true robots are off by `off`, m and rad, in every parameter: the plan promises what the readings tell, and
    for an exactly nominal robot the prior scales, found in the data, tell more.
    """
    rng = np.random.default_rng(0)
    q = plan.q if q is None else q
    planned, own = [], []
    for _ in range(runs):
        true = dict(zip(plan.names, off * rng.normal(size=len(plan.names)), strict=True))
        readings = simulate_dataset(
            apply_deviations(robot, true),
            kind,
            q,
            groups=groups,
            frames=frames,
            rng=int(rng.integers(1 << 30)),
        )
        assert len(readings) == len(q)
        found = calibrate(robot, readings, model=CalibrationModel(joint_terms=()), loss="none", folds=0)
        assert set(found.parameters) == set(plan.names)
        error = np.array([found.parameters[name] - true[name] for name in plan.names])
        order = [plan.names.index(name) for name in found.names]
        planned.append(error @ np.linalg.solve(plan.covariance, error))
        own.append(error[order] @ np.linalg.solve(found.covariance, error[order]))
    return np.mean(planned) / len(plan.names), np.mean(own) / len(plan.names)
