"""Passive joints from motors, by continuation from a closed state: the branch never changes.

Newton's method alone reaches another branch in a fifth of large moves. Here the motors move along straight lines.
The tangent predicts a step, Newton's method corrects it, and the step is taken only if the corrections contract and
the orientation of K stays: its determinant vanishes where branches meet (Allgower and Georg 1990, 6.1). All rows
take part, in least squares, because rows that are independent at the start may not be so elsewhere on the branch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ModelError, ShapeError, unknown_name
from ..io.results import hash_of, registered
from ..mechanism.units import velocity_names
from ..report.description import Description
from ..report.result import Result
from ..robot_functions import RobotFunctions
from ..spatial.vectors import real_array
from .branch import GAP, closure_kernel, scaled
from .selection import Selection, driven_entries, selection

FIRST, SMALLEST = 0.2, 1e-5
"""First and smallest step, as shares of the way."""
CONTRACTION = 0.3
"""Largest ratio of two successive corrections of a step that is taken."""
PREDICTED = 0.1
"""Largest first correction of a step that is taken, in scaled coordinates."""
MOST_STEPS = 2000
"""Number of steps after which an item is undecided."""
NEAR_SINGULAR = 0.02
"""Smallest over largest singular value of K below which a stop counts as singular."""

ClosureStatus = Literal["closed", "singular", "undecided"]


@registered
@dataclass(frozen=True, eq=False, repr=False)
class Closure(Result):
    """Closed states for given motor coordinates, on the branch of the start.

    Attributes:
        q: (..., n_q); where the loops could not be followed to the end, the last closed state.
        status: of every item: "closed"; "singular", the branch does not lead there: its determinant vanishes on the
            way, at the edge of the reach; "undecided", the steps became too small or too many elsewhere.
        reason: sentence for every item that is not closed.
        share: (...) share of the way that was followed, 1 for closed items.
        residual: (...) largest |φ| of the independent rows, m or rad.
        within_limits: (...) True if all joints are within their limits.
        driven: names of the coordinates that were given.
        q0: the closed state at which the continuation started, (n_q,).
        robot_name, inputs_hash: name of the robot, and hash of the inputs.
    """

    q: np.ndarray
    status: ClosureStatus | np.ndarray
    reason: str | np.ndarray
    share: np.ndarray
    residual: np.ndarray
    within_limits: np.ndarray
    driven: tuple[str, ...]
    q0: np.ndarray
    robot_name: str
    inputs_hash: str

    kind = "closure"

    @property
    def closed(self) -> np.ndarray:
        """Boolean array (...) of the items that are closed."""
        return np.asarray(self.status == "closed")

    @property
    def summary(self) -> str:
        """Number of closed items."""
        words, counts = np.unique(np.asarray(self.status, dtype=str), return_counts=True)
        parts = ", ".join(f"{n} {word}" for word, n in zip(words, counts, strict=True))
        return f"{self.robot_name}: {parts}; residual ≤ {np.max(self.residual, initial=0.0):.1e}"

    def describe(self) -> Description:
        """Describe the result for text, figures and pages."""
        return Description("Closed loops", self.summary, "good" if self.closed.all() else "warn")


def close(
    robot: RobotFunctions, driven: ArrayLike | Mapping[str, ArrayLike], *, q0: ArrayLike | None = None
) -> Closure:
    """Find the closed states of a mechanism with loops for given coordinates of its motors.

    Args:
        robot: a robot with closed loops.
        driven: coordinates of the independent motors in the order of `Mobility.driven`, (..., n_driven), or by
            name, numbers or arrays (...); motors that are not named stay where they are. Idle joints stay too.
        q0: configuration near the start of the continuation, (n_q,), which decides the branch; by default the
            model's reference.
    """
    chosen = selection(robot.mechanism, q0)
    if chosen.rank_at_q < len(chosen.rows):
        raise ModelError(
            "branches meet at the start, so that none is meant",
            element=robot.name,
            remedy="Give q0=, a state beside the singular one",
        )
    names, targets = _targets(robot, chosen, driven)
    shape = targets.shape[:-1]
    start = chosen.q[driven_entries(chosen)]
    state = Follower(robot, chosen).follow(targets.reshape(-1, len(names)) - start)
    statuses = state.status.reshape(shape)
    q = state.q.reshape(*shape, robot.n_q)
    reasons = np.array(
        [
            "" if word == "closed" else f"stopped at {share:.2%} of the way: {_WHY[word]}"
            for word, share in zip(state.status, state.share, strict=True)
        ],
        dtype=object,
    ).reshape(shape)
    return Closure(
        q=q,
        status=statuses if shape else statuses.item(),
        reason=reasons if shape else str(reasons[()]),
        share=state.share.reshape(shape),
        residual=state.residual.reshape(shape),
        within_limits=np.asarray(((q >= robot.lower - 1e-12) & (q <= robot.upper + 1e-12)).all(axis=-1)),
        driven=names,
        q0=chosen.q,
        robot_name=robot.name,
        inputs_hash=hash_of(robot.mechanism.fingerprint, chosen.q, targets),
    )


_WHY = {
    "singular": "the branch turns back there, because the motors' coordinates are at the edge of their reach",
    "undecided": "the steps became too small or too many",
}


def _numbers(given: ArrayLike) -> np.ndarray:
    try:
        return real_array(given)
    except (TypeError, ValueError):
        raise ShapeError("must be real numbers", element="driven") from None


def _targets(
    robot: RobotFunctions, chosen: Selection, driven: ArrayLike | Mapping[str, ArrayLike]
) -> tuple[tuple[str, ...], np.ndarray]:
    names = tuple(velocity_names(robot.mechanism)[k] for k in chosen.driven)
    if isinstance(driven, Mapping):
        for name in driven:
            if name not in names:
                raise unknown_name("driven coordinate", name, names)
        start = dict(zip(names, chosen.q[driven_entries(chosen)], strict=True))
        columns = [_numbers(driven.get(name, start[name])) for name in names]
        targets = np.stack(np.broadcast_arrays(*columns), axis=-1) if columns else np.zeros(0)
    else:
        targets = _numbers(driven)
        if targets.ndim == 0 or targets.shape[-1] != len(names):
            raise ShapeError(
                f"must have {len(names)} numbers in the last axis, got shape {targets.shape}",
                element="driven",
                remedy="Order: " + ", ".join(names),
            )
    if not np.isfinite(targets).all():
        raise ShapeError("must be finite", element="driven")
    return names, targets


@dataclass(frozen=True)
class Followed:
    """States (s, n_q) where the ways ended, and how far they were followed."""

    q: np.ndarray
    status: np.ndarray
    share: np.ndarray
    residual: np.ndarray


class Follower:
    """Continuation of a batch in the dependent coordinates of a selection."""

    def __init__(self, robot: RobotFunctions, chosen: Selection):
        self.robot, self.chosen = robot, chosen
        self.kernel = closure_kernel(robot.mechanism)
        self.scale = scaled(robot.mechanism)

    def equations(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return φ (s, m) and the columns of dependent (s, m, r) and driven joints (s, m, n_driven), scaled."""
        chosen, scale = self.chosen, self.scale
        value, J = self.kernel(np.ascontiguousarray(q))
        J = J / scale.lengths[:, None]
        K = J[:, :, chosen.dependent] * scale.columns[chosen.dependent]
        return value / scale.lengths, K, J[:, :, chosen.driven]

    def moved(self, q: np.ndarray, driven: Any, dependent: np.ndarray) -> np.ndarray:
        """Return q after changes of the driven coordinates and scaled changes of the dependent ones."""
        change = np.zeros((len(q), self.robot.n_v))
        change[:, self.chosen.driven] = driven
        change[:, self.chosen.dependent] = dependent * self.scale.columns[self.chosen.dependent]
        return self.robot.integrate(q, change)

    def follow(self, way: np.ndarray, start: np.ndarray | None = None) -> Followed:
        """Follow straight lines of the driven coordinates, (s, n_driven), from the start or states (s, n_q)."""
        count = len(way)
        q = np.tile(self.chosen.q, (count, 1)) if start is None else np.array(start)
        t, h = np.zeros(count), np.full(count, FIRST)
        going = np.flatnonzero(abs(way).max(axis=1, initial=0.0) > 0)
        t[np.setdiff1d(np.arange(count), going)] = 1.0
        for _ in range(MOST_STEPS):
            if not len(going):
                break
            dt = np.minimum(h[going], 1.0 - t[going])
            step = way[going] * dt[:, None]
            _, K_before, D = self.equations(q[going])
            onward = self.moved(q[going], step, -solved(K_before, (D @ step[..., None])[..., 0]))
            sizes = []
            for _ in range(3):
                value, K, _ = self.equations(onward)
                correction = -solved(K, value)
                onward = self.moved(onward, 0.0, correction)
                sizes.append(abs(correction).max(axis=1, initial=0.0))
            with np.errstate(invalid="ignore"):
                good = (sizes[0] < PREDICTED) & (sizes[1] <= CONTRACTION * sizes[0] + 1e-13)
                good &= (sizes[2] <= CONTRACTION * sizes[1] + 1e-13) & (sizes[2] < 1e-6)
                turned = np.swapaxes(K_before, 1, 2) @ np.nan_to_num(K)
                good &= np.linalg.slogdet(turned)[0] > 0
            taken = going[good]
            q[taken], t[taken] = onward[good], np.where(dt[good] >= 1.0 - t[taken], 1.0, t[taken] + dt[good])
            h[going] = np.where(good, 1.7 * h[going], 0.4 * h[going])
            going = going[(t[going] < 1.0) & (h[going] > SMALLEST)]
        return self._judged(q, t)

    def _judged(self, q: np.ndarray, t: np.ndarray) -> Followed:
        """Polish the states that arrived by Newton steps, and judge why the others stopped."""
        if not len(q):
            return Followed(q, np.array([], dtype=object), t, t)
        rows = self.chosen.rows
        for _ in range(2):
            value, K, _ = self.equations(q)
            correction = -solved(K, value)
            if (
                rows.size
            ):  # the independent rows to rounding; in least squares, rounding of the file would be shared
                s = np.linalg.svd(K[:, rows], compute_uv=False)
                exact = -solved(K[:, rows], value[:, rows])
                correction = np.where((s[:, -1] > GAP * s[:, 0])[:, None], exact, correction)
            q = np.where((t >= 1.0)[:, None], self.moved(q, 0.0, correction), q)
        value, K, _ = self.equations(q)
        s = np.linalg.svd(K, compute_uv=False)
        margin = s[:, -1] / s[:, 0] if s.shape[1] else np.ones(len(q))
        reference = np.linalg.svd(self.equations(self.chosen.q[None])[1][0], compute_uv=False)
        near = NEAR_SINGULAR * min(1.0, reference[-1] / reference[0] * 10.0) if len(reference) else 0.0
        stopped = np.where(margin < near, "singular", "undecided")
        status = np.where(t >= 1.0, "closed", stopped).astype(object)
        left = abs(value * self.scale.lengths)[:, rows]
        return Followed(q, status, t, left.max(axis=1, initial=0.0))


def solved(K: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the least-squares solutions of K x = b for stacks (..., m, r) and (..., m); NaN where K loses rank."""
    if K.shape[-2] != K.shape[-1]:
        Q, R = np.linalg.qr(K)
        K, b = R, (np.swapaxes(Q, -1, -2) @ b[..., None])[..., 0]
    try:
        return np.linalg.solve(K, b[..., None])[..., 0]
    except np.linalg.LinAlgError:
        x = np.full_like(b, np.nan)
        for k in np.ndindex(K.shape[:-2]):
            if np.isfinite(K[k]).all() and np.linalg.matrix_rank(K[k]) == K.shape[-1]:
                x[k] = np.linalg.solve(K[k], b[k])
        return x
