"""Mechanisms with closed loops: the motors are recorded, and all other joints follow along the log."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np

from ..closed_robot import ClosedRobot
from ..errors import ModelError, ZvenoError
from ..io.logs.log import Log, LogBlock
from ..loops.branch import scaled
from ..mechanism import Mechanism
from ..robot_functions import RobotFunctions

STEP = 0.1
"""Longest step of a motor between two closed states, rad or share of the size of its loop."""
SMALLEST = 1e-4
"""Share of the way to a sample below which the loops count as impossible to close there."""


class MotorLogs(NamedTuple):
    """Logs of a mechanism with closed loops, reduced to its motors.

    Attributes:
        closed: functions in the motors' velocities, on the branch that was recorded.
        logs, held_out: recordings of the motors alone.
        notes: remarks.
    """

    closed: ClosedRobot
    logs: tuple[Log, ...]
    held_out: tuple[Log, ...]
    notes: tuple[str, ...]


def motor_logs(robot: RobotFunctions, logs: Sequence[Log], held_out: Sequence[Log]) -> MotorLogs:
    """Reduce logs to the motors; recorded positions of other joints choose the branch of the loops."""
    mechanism, names = robot.mechanism, logs[0].joint_names
    q0 = np.array(mechanism.neutral() if mechanism.reference is None else mechanism.reference)
    for name, position in zip(names, next(logs[0].blocks()).q[0], strict=True):
        q0[mechanism.q_slices[name]] = position
    closed = closed_at(mechanism)
    passive = [name for name in names if name not in closed.velocity_names]
    if passive:
        closed = closed_at(mechanism, q0)
    motors = closed.velocity_names
    if closed.torque_names != motors:
        raise ModelError(
            f"torques act on {', '.join(closed.torque_names)} and {', '.join(motors)} are independent",
            element=mechanism.name,
            remedy="Identification takes mechanisms with as many motors as freedoms: name others as motors",
        )
    missing = [name for name in motors if name not in names]
    if missing:
        raise ZvenoError(
            f"the motor {missing[0]} was not recorded",
            element=logs[0].source,
            remedy=f"Record all motors: {', '.join(motors)}",
        )
    columns = [names.index(name) for name in motors]
    notes = ["joints without a motor follow from the closed loops; friction in them counts as friction of motors"]
    if passive:
        notes.append(f"recorded, and used for the branch of the loops alone: {', '.join(passive)}")
    reduced = [tuple(_with_columns(log, motors, columns) for log in part) for part in (logs, held_out)]
    return MotorLogs(closed, reduced[0], reduced[1], (*closed.notes, *notes))


def closed_at(mechanism: Mechanism, q0: np.ndarray | None = None) -> ClosedRobot:
    """Return the functions of a mechanism with closed loops in its independent velocities, each of them a joint."""
    closed = ClosedRobot(RobotFunctions(mechanism), q0)
    for name in closed.velocity_names:
        if name not in mechanism.joint_names or mechanism.joint(name).type.n_v != 1:
            raise ModelError(
                "is independent and has several axes",
                element=f"joint {name}",
                remedy="Identification takes motors of one axis: split the joint",
            )
    return closed


def _with_columns(log: Log, names: tuple[str, ...], columns: Sequence[int]) -> Log:
    others = None if log._elsewhere is None else partial(_columns, log._elsewhere, columns)
    return replace(log, joint_names=names, _pieces=partial(_columns, log._pieces, columns), _elsewhere=others)


def _columns(pieces, columns: Sequence[int]) -> Iterator[LogBlock]:
    for block in pieces():
        v = None if block.v is None else block.v[:, columns]
        yield replace(block, q=block.q[:, columns], v=v, tau=block.tau[:, columns])


class Follower:
    """Closed configurations along a motion of the motors, each reached from the one before on the same branch."""

    def __init__(self, closed: ClosedRobot):
        self.closed, self.q = closed, closed.q

    @cached_property
    def _places(self) -> tuple[list[int], np.ndarray]:
        """Entries of the motors in q, and their scales."""
        mechanism = self.closed.mechanism
        entries = [mechanism.q_slices[name].start for name in self.closed.velocity_names]
        return entries, scaled(mechanism).columns[list(self.closed.division.independent)]

    def whole(self, motors: np.ndarray) -> np.ndarray:
        """Return the configurations (m, n_q) of all joints for consecutive positions of the motors (m, n)."""
        out = np.empty((len(motors), self.closed.n_q))
        for k, target in enumerate(motors):
            out[k] = self.q = self._moved(target)
        return out

    def _moved(self, target: np.ndarray) -> np.ndarray:
        entries, scales = self._places
        move, q = self.closed.kernel("integrate"), self.q
        size = float(np.max(abs(target - q[entries]) / scales, initial=0.0))
        at, step = 0.0, min(1.0, STEP / max(size, STEP))
        largest = step
        while at < 1.0:
            share = min(step / (1.0 - at), 1.0)
            onward = np.asarray(move(q, share * (target - q[entries])))
            if np.isfinite(onward).all():
                q, at, step = onward, at + step, min(2.0 * step, largest)
            else:
                step *= 0.5
            if step < SMALLEST:
                names = zip(self.closed.velocity_names, target, strict=True)
                raise ZvenoError(
                    "the loops do not close at " + ", ".join(f"{name} = {x:.5g}" for name, x in names),
                    element=self.closed.name,
                    remedy="Check zero positions, signs and units of the motors, and the reference of the model",
                )
        return q
