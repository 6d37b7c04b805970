"""What recordings made before tell about the wanted parameters."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import ShapeError, ZvenoError
from ...robot_functions import RobotFunctions
from .result import Excitation
from .wanted import WantedParameters


def known_before(have: Any, wanted: WantedParameters, robot: RobotFunctions, rate: float) -> np.ndarray:
    """M (r, r): information of Excitations, or of states (q, v, a), (n, n_v) each, or of a list of these."""
    M = np.zeros((wanted.n, wanted.n))
    if have is None:
        return M
    several = have if isinstance(have, list) else [have]
    for known in several:
        M += wanted.information(*_states(known, robot, rate))
    return M


def _states(known: Any, robot: RobotFunctions, rate: float) -> tuple[np.ndarray, ...]:
    names = robot.mechanism.coordinate_names
    if isinstance(known, Excitation):
        if known.joint_names != tuple(names):
            raise ZvenoError(
                f"moves {', '.join(known.joint_names)} and not {', '.join(names)}",
                element="have",
                remedy="Hold the same joints in both",
            )
        return known.sample(rate)[1:]
    try:
        q, v, a = (np.asarray(part, dtype=float) for part in known)
    except (TypeError, ValueError):
        raise ZvenoError(
            f"a {type(known).__name__} is no recording",
            element="have",
            remedy="Give an Excitation, (q, v, a) arrays, or a list of these",
        ) from None
    if q.ndim != 2 or q.shape[1] != len(names) or not q.shape == v.shape == a.shape:
        raise ShapeError(
            f"has shapes {q.shape}, {v.shape}, {a.shape}",
            element="have",
            remedy=f"Give q, v and a of {len(names)} columns each",
        )
    if not all(np.isfinite(part).all() for part in (q, v, a)):
        raise ZvenoError("holds numbers that are not finite", element="have", remedy="Leave these rows out")
    return q, v, a
