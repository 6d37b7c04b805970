"""Information of earlier recordings about the wanted parameters."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import ShapeError, ZvenoError
from ...io.logs.log import Log
from ...robot_functions import RobotFunctions
from ..preparation import Preparation
from ..series import recording_of
from ..spectrum import highest_band, velocity_spectrum
from .result import Excitation
from .wanted import WantedParameters


def known_before(have: Any, wanted: WantedParameters, robot: RobotFunctions, rate: float) -> np.ndarray:
    """Return M (r, r): information of Excitations, of Logs, of states (q, v, a), (n, n_v) each, or of a list of
    these.

    Logs count with `rate` samples per second, whatever their own.
    """
    M = np.zeros((wanted.n, wanted.n))
    if have is None:
        return M
    for known in have if isinstance(have, list) else [have]:
        if isinstance(known, Log):
            _same_joints(known.source, known.joint_names, robot)
            for q, v, a, interval in _recorded(known):
                M += rate * interval * wanted.information(q, v, a)
        else:
            M += wanted.information(*_states(known, robot, rate))
    return M


def _recorded(log: Log):
    """Generate smooth states of a log in chunks, with the time between them, s."""
    recordings = (recording_of(log),)
    band = min(velocity_spectrum(recordings).band, highest_band(recordings))
    preparation = Preparation(recordings, band, 0.0, np.zeros(len(log.joint_names), dtype=bool))
    interval = preparation.filters(0).interval
    for motion in preparation.motions():
        yield motion.q, motion.v, motion.a, interval


def _same_joints(what: str, names: tuple[str, ...], robot: RobotFunctions) -> None:
    moving = tuple(robot.mechanism.coordinate_names)
    if names != moving:
        raise ZvenoError(
            f"{what} moves {', '.join(names)} and not {', '.join(moving)}",
            element="existing",
            remedy="Hold the same joints in both",
        )


def _states(known: Any, robot: RobotFunctions, rate: float) -> tuple[np.ndarray, ...]:
    names = robot.mechanism.coordinate_names
    if isinstance(known, Excitation):
        _same_joints("the excitation", known.joint_names, robot)
        return known.sample(rate)[1:]
    try:
        q, v, a = (np.asarray(part, dtype=float) for part in known)
    except (TypeError, ValueError):
        raise ZvenoError(
            f"a {type(known).__name__} is not a recording",
            element="existing",
            remedy="Give an Excitation, a Log, (q, v, a) arrays, or a list of these",
        ) from None
    if q.ndim != 2 or q.shape[1] != len(names) or not q.shape == v.shape == a.shape:
        raise ShapeError(
            f"has shapes {q.shape}, {v.shape}, {a.shape}",
            element="existing",
            remedy=f"Give q, v and a of {len(names)} columns each",
        )
    if not all(np.isfinite(part).all() for part in (q, v, a)):
        raise ZvenoError("holds numbers that are not finite", element="existing", remedy="Leave these rows out")
    return q, v, a
