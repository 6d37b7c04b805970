"""Identification problem: the robot with the recorded joints, the logs and the options, checked once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass

import numpy as np

from ..closed_robot import ClosedRobot
from ..errors import ModelError, ShapeError, ZvenoError, unknown_name
from ..io.logs.log import Log, LogBlock
from ..mechanism import Mechanism
from ..mechanism.edit import fix_joints
from ..robot_functions import RobotFunctions
from ._closing import motor_logs
from ._consistency import PRIORS
from ._friction import DEFAULT, MOTOR, checked_terms
from .model import TorqueFunction

AUTO = "auto"
VELOCITIES = (AUTO, "positions", "recorded")
LOOKED_AT, SAMPLED = 20_000, 100
"""Number of rows at the beginning of a log, of which some are searched for among those of others."""
DIGITS = 1e4
"""Steps of the largest value to which rows are rounded when they are compared."""


@dataclass(frozen=True, eq=False)
class Problem:
    """Identification request.

    Attributes:
        full: the robot's mechanism.
        mechanism: with the recorded joints only; the others are locked. With closed loops, all joints.
        logs, held_out: recordings to fit, and recordings for validation.
        terms: friction of every joint in any case.
        choose: whether further terms are chosen by held-out blocks.
        motor_terms: friction of motors that two joints turn.
        band, delay, rest: as given, or None: from the data.
        velocity: "auto", "positions" or "recorded".
        prior: "cad", "geometry" or "none".
        blocks: number of contiguous blocks that are held out in turn.
        own: torque columns of the user.
        notes: remarks.
        executor: workers that sum the rows of logs; this process if None.
        closed: functions in the motors' velocities, of a mechanism with closed loops.
    """

    full: Mechanism
    mechanism: Mechanism
    logs: tuple[Log, ...]
    held_out: tuple[Log, ...]
    terms: tuple[str, ...]
    choose: bool
    motor_terms: tuple[str, ...]
    band: float | None
    delay: float | None
    rest: float | None
    velocity: str
    prior: str
    blocks: int
    user_torques: Mapping[str, TorqueFunction]
    notes: tuple[str, ...]
    executor: Executor | None = None
    closed: ClosedRobot | None = None

    @property
    def n(self) -> int:
        """Number of recorded joints, those without a motor in closed loops left out."""
        return len(self.logs[0].joint_names)


def problem_of(
    robot: RobotFunctions,
    logs: Log | Sequence[Log],
    validation: Log | Sequence[Log] | None,
    *,
    friction: str | Sequence[str],
    band: float | None,
    delay: float | None,
    rest: float | None,
    velocity: str,
    prior: str,
    blocks: int,
    torques: Mapping[str, TorqueFunction] | None,
    executor: Executor | None = None,
) -> Problem:
    """Build the problem, or raise an error that names the argument that cannot be used."""
    if not isinstance(robot, RobotFunctions):
        raise ModelError(f"a {type(robot).__name__} is not a robot", element="robot", remedy="Give zveno.load(...)")
    given = _logs(logs, "logs")
    held_out = () if validation is None else _logs(validation, "validation")
    names = given[0].joint_names
    for log in (*given, *held_out):
        if log.joint_names != names:
            raise ModelError(
                f"{log.source} covers {', '.join(log.joint_names)} and {given[0].source} {', '.join(names)}",
                remedy="Give logs of the same joints",
            )
    unknown = [name for name in names if name not in robot.mechanism.joint_names]
    if unknown:
        raise unknown_name("joint", unknown[0], robot.mechanism.joint_names)
    notes, closed = [], None
    if robot.mechanism.loops:
        closed, given, held_out, about = motor_logs(robot, given, held_out)
        notes += about
    _check_apart(given, held_out)
    _check_torques(given)
    others = [name for name in robot.mechanism.joint_names if name not in names]
    locked = bool(others) and closed is None
    mechanism = fix_joints(robot.mechanism, others) if locked else robot.mechanism
    if locked:
        notes.append(f"joints that were not recorded are taken as locked at their neutral position: {_few(others)}")
    for name, value in (("band", band), ("rest", rest)):
        if value is not None and not (np.isfinite(value) and value > 0):
            raise ZvenoError(f"is {value!r}", element=name, remedy="Give a positive number")
    if delay is not None and not np.isfinite(delay):
        raise ZvenoError(f"is {delay!r}", element="delay", remedy="Give seconds")
    if velocity not in VELOCITIES:
        raise unknown_name("velocity", velocity, VELOCITIES)
    if prior not in PRIORS:
        raise unknown_name("prior", prior, PRIORS)
    if blocks < 2:
        raise ZvenoError(f"is {blocks}", element="folds", remedy="Hold out 2 blocks or more in turn; 6 are usual")
    choose = friction == AUTO
    terms = DEFAULT if choose else checked_terms(friction)
    motor = tuple(term for term in terms if term in (*MOTOR, "sign"))
    user_torques = dict(torques or {})
    for name, function in user_torques.items():
        if not callable(function):
            raise ShapeError(
                "is not a function of (q, v, a)",
                element=f"torque column {name}",
                remedy="Give a function that returns one number per joint",
            )
    return Problem(
        full=robot.mechanism,
        mechanism=mechanism,
        logs=given,
        held_out=held_out,
        terms=terms,
        choose=choose,
        motor_terms=motor,
        band=band,
        delay=delay,
        rest=rest,
        velocity=velocity,
        prior=prior,
        blocks=blocks,
        user_torques=user_torques,
        notes=tuple(notes),
        executor=executor,
        closed=closed,
    )


def _logs(logs: Log | Sequence[Log], word: str) -> tuple[Log, ...]:
    given = (logs,) if isinstance(logs, Log) else tuple(logs)
    if not given:
        raise ZvenoError("is empty", element=word, remedy="Give a log or several")
    for log in given:
        if not isinstance(log, Log):
            raise ShapeError(
                f"holds a {type(log).__name__}",
                element=word,
                remedy="Read files with zveno.identification.read_log(path, robot)",
            )
    return given


def _check_apart(given: Sequence[Log], held_out: Sequence[Log]) -> None:
    """Raise an error if fitted logs share rows with each other or with held-out ones, also with fewer digits.

    Copies count twice, and errors of copies are smaller than those of other recordings.
    """
    logs = [*given, *held_out]
    firsts = [next(log.blocks(LOOKED_AT)) for log in logs]
    size = np.max([abs(np.hstack([block.q, block.tau])).max(axis=0) for block in firsts], axis=0)
    digits = DIGITS / np.where(size > 0.0, size, 1.0)

    def keys(block: LogBlock) -> np.ndarray:
        """Return a hash (m,) of every row, rounded."""
        rows = np.round(np.hstack([block.q, block.tau]) * digits).astype(np.int64)
        return rows @ np.random.default_rng(0).integers(1, 2**62, rows.shape[1])

    some = [np.unique(keys(block)[:: max(1, len(block) // SAMPLED)]) for block in firsts]
    for number, log in enumerate(logs):
        others = [k for k in range(len(logs)) if k != number and min(k, number) < len(given) and len(some[k]) > 1]
        seen = {k: np.zeros(len(some[k]), dtype=bool) for k in others}
        for part in log.blocks() if others else ():
            rows = keys(part)
            for k in others:
                seen[k] |= np.isin(some[k], rows)
        for k in others:
            if seen[k].mean() > 0.5:
                first, last = sorted((k, number))
                if last < len(given):
                    element, remedy = "logs", "Give every recording once: copies count twice"
                else:
                    element = "validation"
                    remedy = "Give other recordings; without any, blocks of the logs are held out in turn"
                text = f"{logs[last].source} has rows of {logs[first].source}, which is fitted"
                raise ZvenoError(text, element=element, remedy=remedy)


def _check_torques(given: Sequence[Log]) -> None:
    """Raise an error if the torque of a joint is the same number in all rows: no sensor answered."""
    first = next(given[0].blocks()).tau[0]
    varies = np.zeros(len(first), dtype=bool)
    for log in given:
        for part in log.blocks():
            varies |= (part.tau != first).any(axis=0)
            if varies.all():
                return
    stuck = int(np.flatnonzero(~varies)[0])
    raise ZvenoError(
        f"the torque is {first[stuck]:g} in all rows",
        element=f"joint {given[0].joint_names[stuck]}",
        remedy="Check its sensor, or leave the joint out of the log",
    )


def _few(names: Sequence[str]) -> str:
    return ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")
