"""The information a posture carries about the parameters: the building block of plans."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ...robot_functions import RobotFunctions
from ..fit.structure import structure
from ..measurements import Measurement
from ..measurements import measurement as named_measurement
from ..measurements.assembly import fit_problem
from ..measurements.campaigns import Campaign
from ..model.loads import gravity
from ..model.models import redundant_model


@dataclass(frozen=True, eq=False)
class Information:
    """Fisher information of single postures about one set of parameters.

    Attributes:
        names: parameters and unknowns, in the order of rows and columns; the first `n_parameters` are the robot's.
        units: of each.
        n_parameters: how many of them are parameters of the robot or wanted frames.
        matrices: Jᵀ Σ⁻¹ J of every posture, (n, k, k). Their sum is the inverse of the covariance (28) of a plan.
        rows: whitened Jacobian rows of every posture, (n, m, k): `matrices` = rowsᵀ rows.
    """

    names: tuple[str, ...]
    units: tuple[str, ...]
    n_parameters: int
    matrices: np.ndarray
    rows: np.ndarray

    def covariance(self, postures=None) -> np.ndarray:
        """Covariance (k, k) after measuring these postures (all if None), repeats allowed."""
        total = (self.matrices if postures is None else self.matrices[postures]).sum(axis=0)
        scale = np.sqrt(np.maximum(np.diag(total), 1e-300))
        return np.linalg.inv(total / np.outer(scale, scale)) / np.outer(scale, scale)


def information(
    robot: RobotFunctions,
    measurement: Measurement | str,
    q: ArrayLike,
    *,
    strategy: str = "JL",
    parameters: str | Sequence[str] = "all",
    joint_terms: Sequence[str] = (),
    groups: Sequence[str] = (),
    unknowns: Mapping[str, np.ndarray] | None = None,
    names: Sequence[str] | None = None,
) -> Information:
    """What measuring at postures q tells about the parameters of the complete irreducible model.

    Args:
        robot: nominal or calibrated robot.
        measurement: what is measured, with its noise; typical noise where it does not say.
        q: candidate postures, (n, n_q).
        strategy, parameters, joint_terms: as in `identifiability`.
        groups: of the postures, for kinds that need them.
        unknowns: (4, 4) values of unknown frames and targets by name, where they are thought to be.
        names: parameters and unknowns to report; by default the irreducible model that these postures determine.
    """
    what = named_measurement(measurement)
    q = robot.mechanism.checked_q(q)
    model = redundant_model(robot.mechanism, what.frame, joint_terms)
    n, things = len(q), len(what.right) * len(what.targets)
    all_groups = tuple(groups) if len(groups) else (("",) * n if what.grouped is not None else ())
    readings = np.zeros((n, things, what.n_data))
    campaign = Campaign(what, q, readings, all_groups, what.kind, np.arange(1, n + 1))
    problem = fit_problem(model, [campaign], gravity(robot.mechanism) if "compliance" in joint_terms else None)
    problem = problem.placed(unknowns or {})
    if names is None:
        found = structure(problem, robot.name, strategy, parameters)
        names = (*found.chosen, *found.unknowns)
    numbers = {name: k for k, name in enumerate(problem.names)}
    columns = [numbers[name] for name in names]
    _, J = problem.evaluate(np.zeros(len(model.terms)), problem.frames, columns, exact=True)
    given = what.sigmas()
    sigma = np.array([given[noise.name] or noise.typical for noise in what.noises])
    data = problem.noise >= 0
    variance = sigma[problem.noise[data]] ** 2
    if what.sigma_q:
        own = [move.own for move in model.moves if move.sigma is not None]
        _, by_joints = problem.evaluate(np.zeros(len(model.terms)), problem.frames, own, exact=True)
        variance = variance + what.sigma_q**2 * np.sum(by_joints[data] ** 2, axis=1)
    rows = (J[data] / np.sqrt(variance)[:, None]).reshape(n, -1, len(columns))
    in_the_way = {problem.names[k] for k in problem.columns_of(False)}
    return Information(
        tuple(names),
        tuple(problem.units[k] for k in columns),
        sum(name not in in_the_way for name in names),
        np.swapaxes(rows, 1, 2) @ rows,
        rows,
    )
