"""`identify`: estimation of the true dynamics from recorded motions and torques, with its accuracy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from functools import partial

import numpy as np

from ..errors import ZvenoError
from ..fit.threads import in_one_thread
from ..function_methods import FunctionMethods
from ..io.logs.log import Log
from ..io.results import hash_of
from ..progress import Progress, ProgressBar
from ..robot_functions import RobotFunctions
from ._faults.find import find_faults
from ._fitting import Fit, fitted
from ._problem import AUTO, Problem, problem_of
from ._rows import Reference
from ._survey import Survey, survey
from ._validation import Validation, validated
from ._verdict import judged
from .model import TorqueFunction
from .result import Identification


@in_one_thread
@np.errstate(over="ignore", invalid="ignore", divide="ignore")  # told by the error of a fit that breaks down
def identify(
    robot: RobotFunctions,
    logs: Log | Sequence[Log],
    *,
    validation: Log | Sequence[Log] | None = None,
    friction_terms: str | Sequence[str] = AUTO,
    extra_columns: Mapping[str, TorqueFunction] | None = None,
    prior: str = "cad",
    band: float | None = None,
    delay: float | None = None,
    velocity: str = AUTO,
    rest_speed: float | None = None,
    folds: int = 6,
    executor: Executor | None = None,
    progress: Progress = None,
) -> Identification:
    """Do what `Robot.identify` documents."""
    problem = problem_of(
        robot,
        logs,
        validation,
        friction=friction_terms,
        band=band,
        delay=delay,
        rest=rest_speed,
        velocity=velocity,
        prior=prior,
        blocks=folds,
        torques=extra_columns,
        executor=executor,
    )
    with ProgressBar("identifying", progress) as bar:
        try:
            bar(0, 3)
            surveyed = survey(problem)
            bar(1, 3)
            references = _references(problem)
            fit = fitted(problem, surveyed, references)
            bar(2, 3)
            checked = validated(problem, surveyed, fit, references)
            bar(3, 3)
        except np.linalg.LinAlgError as error:
            raise ZvenoError(
                "the fit broke down: torques and motion do not belong to this robot",
                remedy="Check the units of time, positions and torques, and the gains",
            ) from error
    return _result(problem, surveyed, fit, checked)


def _references(problem: Problem) -> tuple[Reference, ...]:
    """Return the nominal model with its friction, and its gravity alone."""
    nominal = problem.closed or RobotFunctions(problem.mechanism)
    return partial(_nominal_torques, nominal), partial(_nominal_gravity, nominal)


def _nominal_torques(robot: FunctionMethods, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
    return robot.inverse_dynamics(q, v, a, joint_friction=True)


def _nominal_gravity(robot: FunctionMethods, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
    return robot.gravity_torque(q)


def _about_elastic(names: Sequence[str]) -> tuple[str, ...]:
    """Return a note about friction that depends on the path to a state."""
    if not names:
        return ()
    return (
        f"friction that is elastic before it slides ({', '.join(names)}) depends on the way that led to a state: "
        "errors count it in, `predict` and written models take it as sliding",
    )


def _result(problem: Problem, surveyed: Survey, fit: Fit, validation: Validation) -> Identification:
    whole = fit.whole
    model = surveyed.model.with_friction(whole.friction)
    seen = whole.estimate.seen
    # Bodies and rotors have a prior where the motion shows nothing; offsets, friction and the user's own have none.
    alone = ~seen & np.concatenate([model.weightless, np.ones(len(seen) - model.n_inertial, dtype=bool)])
    covariance = whole.consistent.covariance.copy()
    covariance[alone], covariance[:, alone] = 0.0, 0.0
    covariance[alone, alone] = np.inf
    unseen = [name for name, shown in zip(model.names, seen, strict=True) if not shown]
    elastic = [
        name
        for name, column in zip(model.names[model.n_inertial :], model.friction, strict=False)
        if column.elastic
    ]
    faults = find_faults(problem, surveyed, fit, validation)
    result = Identification(
        nominal=problem.full,
        mechanism=problem.mechanism,
        joint_names=problem.logs[0].joint_names,
        base=model.base,
        kept=model.kept,
        friction=whole.friction,
        scales=model.scales,
        torque_names=tuple(problem.user_torques),
        names=model.names,
        values=whole.consistent.x,
        covariance=covariance,
        base_values=whole.estimate.x,
        base_covariance=fit.covariance,
        load=surveyed.loads[:, 0],
        parameters=whole.consistent.p,
        unknown_places=fit.unknowns.places,
        unknown_std=whole.consistent.link_std,
        prior_share=whole.consistent.prior_share,
        prior=problem.prior,
        repaired=fit.prior.repaired,
        consistency_cost=2.0 * whole.consistent.cost,
        sigma=whole.estimate.sigma,
        condition=whole.estimate.condition,
        converged=whole.consistent.converged,
        choices=surveyed.choices,
        validation=validation,
        judgement=judged(problem.logs[0].joint_names, validation, surveyed.choices, unseen, faults),
        notes=(*problem.notes, *_about_elastic(elastic)),
        faults=faults,
        inputs_hash=hash_of(
            problem.full.fingerprint,
            [[log.source, len(log), log.duration] for log in (*problem.logs, *problem.held_out)],
            [problem.prior, problem.velocity, *problem.terms],
        ),
    )
    object.__setattr__(result, "torques", dict(problem.user_torques))
    return result
