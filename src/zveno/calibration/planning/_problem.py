"""Planning problem: candidates with their rows, prior information, earlier postures, and the criterion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...clearance import Clearance
from ...errors import ShapeError, ZvenoError, refuse_other
from ...mechanism import Mechanism
from ...robot_functions import RobotFunctions
from ..measurements import Measurement
from ..measurements import measurement as named_measurement
from ..measurements.datasets import Dataset
from ..models import REMEDY, CalibrationModel, independent_columns
from ._criteria import Criterion, named_criterion, reduced
from ._information import PlannedRows
from .candidates import Admissible, Visibility
from .result import MeasurementPlan

N_WORKSPACE = 300
"""Number of places over the workspace where the tool's accuracy is predicted."""
WEAK = 1e-3
"""Assumed information about a place of contact, as a share of that of one posture."""
SINGULAR = 1e-9
"""Share of the largest singular value below which a singular value counts as zero."""
MOST_CANDIDATES = 10**7
"""Maximum number of random candidates, whose rows are kept in memory."""
UNDETERMINED = 10.0
"""Standard deviation, rad or sizes of the robot, beyond which a parameter is not determined."""


@dataclass(frozen=True, eq=False)
class PlanProblem:
    """Candidates, their rows, and the criterion to maximise.

    Attributes:
        rows: the measurement.
        allowed: conditions on a posture.
        q, groups, J: candidates (N, n_q), their places of contact, and rows (N, m, K).
        have: postures measured before, (n0, n_q).
        prior: information known before the new postures, (K, K).
        criterion: function to maximise.
        tool_positions, F: places (w, 3) and Jacobians (w, 3, k) of the tool over the workspace.
        notes: assumptions.
    """

    rows: PlannedRows
    allowed: Admissible
    q: np.ndarray
    groups: tuple[str, ...]
    J: np.ndarray
    have: np.ndarray
    prior: np.ndarray
    criterion: Criterion
    tool_positions: np.ndarray
    F: np.ndarray
    notes: tuple[str, ...]

    @property
    def k(self) -> int:
        """Number of parameters of interest."""
        return self.rows.n_interest

    @cached_property
    def weak(self) -> np.ndarray:
        """Weak information (K, K) about places of contact, less than a posture gives, so that a plan may omit some.

        It serves the search and is not part of predictions.
        """
        size = np.zeros(self.J.shape[-1])
        if self.groups:
            rows = np.sum(self.J[..., self.k :] ** 2, axis=1)
            size[self.k :] = [
                WEAK * np.median(squares[squares > 0]) if (squares > 0).any() else 0.0 for squares in rows.T
            ]
        return np.diag(size)

    def refuse_too_few(self, n: int) -> None:
        """Raise an error if n postures cannot determine all parameters however they are chosen."""
        m, K = self.J.shape[1:]
        known = np.linalg.matrix_rank(self.prior, hermitian=True) if self.prior.any() else 0
        unknown = K - known
        if self.groups:  # the fewest places will do: one, or none if some were measured before
            seen = np.linalg.matrix_rank(reduced(self.prior, self.k), hermitian=True) if len(self.have) else 0
            unknown = self.k - seen + (0 if len(self.have) else (K - self.k) // len(set(self.groups)))
        needed = int(np.ceil(unknown / m))
        if n < needed:
            raise ZvenoError(
                f"{n} postures give {n * m} numbers for {unknown} unknowns",
                element="n",
                remedy=f"Plan at least {needed} postures, better {2 * needed}",
            )

    def covariance(self, M: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the covariance (k, k) of scaled parameters, and their standard deviations, inf if undetermined."""
        C, std = covariance_of(reduced(M, self.k))
        return C, np.where(std > UNDETERMINED, np.inf, std)

    def tool_sigma(self, C: np.ndarray) -> np.ndarray:
        """Return the standard deviation of the tool's position over the workspace, (w,), m."""
        return np.sqrt(np.maximum(np.einsum("wij,jk,wik->w", self.F, C, self.F), 0.0))


def plan_problem(
    robot: RobotFunctions,
    measurement: Measurement | str,
    *,
    criterion_name: str = "D",
    have: Earlier | None = None,
    candidates: int | np.ndarray = 5000,
    model: CalibrationModel = CalibrationModel(),  # noqa: B008  (frozen)
    limits: Mapping[str, tuple[float, float]] | None = None,
    margin: float = 0.0,
    box: ArrayLike | None = None,
    visibility: Visibility | Sequence[Visibility] | None = None,
    clearance: Clearance | None = None,
    seed: int = 0,
) -> PlanProblem:
    """Build the problem of `plan_poses`; arguments as there."""
    refuse_other(model, CalibrationModel, "model", REMEDY)
    kind = named_measurement(measurement)
    before, words = measured_before(have, kind, robot.mechanism)
    rows = PlannedRows(
        robot,
        kind,
        model=model,
        have=before if len(before) else None,
        seed=seed,
    )
    allowed = Admissible(
        robot, rows.frame, limits=limits, margin=margin, box=box, visibility=visibility, clearance=clearance
    )
    notes = [*words, *_unchecked(allowed)]
    prior = np.zeros((len(rows.names),) * 2)
    groups: tuple[str, ...] = ()
    if kind.implicit:
        q, groups, J = _contacts(rows, allowed, candidates)
        prior = rows.known
    else:
        q, words = _candidates(rows, allowed, candidates, seed)
        notes += words
        seen = rows.visible(q)
        if not seen.all():
            notes.append(f"{seen.sum()} of {len(q)} candidates can be measured; where things stand is imagined")
            q = q[seen]
        J = rows.jacobians(q)
    if len(before):
        rows_before = rows.measured(before).reshape(-1, len(rows.names))
        prior = prior + rows_before.T @ rows_before
    _refuse_deficient(rows, J, prior)
    positions, F = rows.tool(q[:N_WORKSPACE])
    made = named_criterion(criterion_name, F)
    notes = [*rows.notes, *notes]
    return PlanProblem(rows, allowed, q, groups, J, before.q, prior, made, positions, F, tuple(notes))


def _unchecked(allowed: Admissible) -> list[str]:
    """Return notes on links that stand on the floor or touch each other anyway, and are not checked."""
    left_out = () if allowed.capsules is None else allowed.capsules.left_out
    standing = [names[0] for names in left_out if len(names) == 1]
    touching = dict.fromkeys(" and ".join(names) for names in left_out if len(names) == 2)
    notes = [f"not checked against the floor, on which they stand: {', '.join(standing)}"] if standing else []
    return notes + (
        [f"not kept apart, since they touch in every configuration: {', '.join(touching)}"] if touching else []
    )


def _candidates(
    rows: PlannedRows, allowed: Admissible, candidates: int | np.ndarray, seed: int
) -> tuple[np.ndarray, list[str]]:
    robot = rows.robot
    if isinstance(candidates, int | np.integer):
        if not 1 <= candidates <= MOST_CANDIDATES:
            raise ZvenoError(
                f"is {candidates}", element="candidates", remedy=f"Give 1 to {MOST_CANDIDATES} candidates"
            )
        q, shares = allowed.candidates(int(candidates), np.random.default_rng(seed))
        notes = []
        if len(q) < candidates:
            notes.append(f"only {len(q)} of {candidates} candidates were found within the rules")
        tight = [f"{name} lets {100 * share:.2g} % through" for name, share in shares.items() if share < 0.05]
        return q, notes + ([", ".join(tight)] if tight else [])
    q = robot.mechanism.checked_q(np.atleast_2d(candidates), "candidates")
    if q.ndim != 2 or not len(q) or not np.isfinite(q).all():
        raise ShapeError(
            f"has shape {q.shape}, or numbers that are not finite",
            element="candidates",
            remedy="Give configurations (n, n_q) of finite numbers",
        )
    ok = allowed(q)
    if not ok.any():
        failed = [name for name, fine in allowed.rules(q).items() if not fine.any()]
        raise ZvenoError(
            "none of the candidates given is allowed",
            element=", ".join(failed) or "candidates",
            remedy="Give others, or looser limits",
        )
    left = int((~ok).sum())
    return q[ok], [f"{left} of {len(ok)} candidates are not allowed and left out"] if left else []


def _contacts(
    rows: PlannedRows, allowed: Admissible, candidates: int | np.ndarray
) -> tuple[np.ndarray, tuple[str, ...], np.ndarray]:
    if not isinstance(candidates, int | np.integer):
        raise ZvenoError(
            f"a {rows.measurement.kind} measurement is made in contact, and its candidates are found by touching",
            element="candidates",
            remedy="Give their number",
        )
    q, groups, J = rows.contacts(int(candidates))
    ok = allowed(q)
    if not ok.any():
        raise ZvenoError(
            "no posture in contact is allowed", element="candidates", remedy="Loosen the limits or rules"
        )
    chosen = tuple(groups[k] for k in np.flatnonzero(ok)) if groups else ()
    return q[ok], chosen, J[ok]


def _refuse_deficient(rows: PlannedRows, J: np.ndarray, prior: np.ndarray) -> None:
    """Raise an error that names the parameters that the candidates cannot separate."""
    R = np.linalg.qr(J.reshape(-1, J.shape[-1]), mode="r")
    values, vectors = np.linalg.eigh(prior)
    A = np.concatenate([R, np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T])
    norms = np.linalg.norm(A, axis=0)
    A = A / np.where(norms > 0, norms, 1.0)
    s = np.linalg.svd(A, compute_uv=False)
    rank = int((s > SINGULAR * s[0]).sum())
    if rank == A.shape[1]:
        return
    kept = independent_columns(A, range(A.shape[1]), rank)
    lost = [rows.names[k] for k in range(A.shape[1]) if k not in kept]
    raise ZvenoError(
        f"the {len(J)} candidates determine {rank} of {A.shape[1]} unknowns; "
        f"{', '.join(lost)} cannot be told from the others",
        element="candidates",
        remedy="Allow other postures (all joints must move), or leave these parameters out",
    )


def covariance_of(S: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return S⁻¹ and the square roots of its diagonal; if S is singular, the pseudo-inverse, and inf where S tells
    nothing."""
    values, vectors = np.linalg.eigh(S)
    seen = values > SINGULAR**2 * max(values[-1], 1e-300)
    C = (vectors[:, seen] / values[seen]) @ vectors[:, seen].T
    std = np.sqrt(np.maximum(np.diag(C), 0.0))
    hidden = np.sum(vectors[:, ~seen] ** 2, axis=1) > 1e-9
    return C, np.where(hidden, np.inf, std)


Earlier = ArrayLike | Dataset | MeasurementPlan | Sequence["ArrayLike | Dataset | MeasurementPlan"]
"""Postures (n, n_q), a campaign or plan of them, or several of these."""


def measured_before(have: Earlier | None, kind: Measurement, mechanism: Mechanism) -> tuple[Dataset, list[str]]:
    """Return earlier postures as one campaign without readings, and notes on rows that do not count.

    Args:
        have: postures (n, n_q), a Dataset, a Plan, several of them in a list, or None.
        kind: kind of measurement; a campaign of another kind raises an error.
        mechanism: the robot's.
    """
    parts: list[Any] = [] if have is None else [have]
    if isinstance(have, list | tuple) and any(np.ndim(_postures(part)) == 2 for part in have):
        parts = list(have)
    campaigns = [_part(part, kind, mechanism) for part in parts]
    q = np.concatenate([np.zeros((0, mechanism.n_q)), *(part.q for part, _ in campaigns)])
    groups = tuple(group for part, _ in campaigns for group in part.groups)
    if groups and len(groups) != len(q):
        raise ShapeError(
            f"{len(q)} postures have {len(groups)} groups",
            element="existing",
            remedy="Give one group per configuration",
        )
    return Dataset(kind, q, groups=groups, name="existing"), [note for _, notes in campaigns for note in notes]


def _postures(part: ArrayLike | Dataset | MeasurementPlan) -> ArrayLike:
    return part.q if isinstance(part, Dataset | MeasurementPlan) else part


def _part(
    part: ArrayLike | Dataset | MeasurementPlan, kind: Measurement, mechanism: Mechanism
) -> tuple[Dataset, list[str]]:
    q = mechanism.checked_q(np.atleast_2d(_postures(part)), "existing")
    if q.ndim != 2:
        raise ShapeError(
            f"has shape {q.shape}", element="existing", remedy=f"Give (postures, {mechanism.n_q}) numbers"
        )
    finite = np.isfinite(q).all(axis=1)
    if not isinstance(part, Dataset):
        if not finite.all():
            raise ShapeError(
                "has numbers that are not finite",
                element="existing",
                remedy="Leave out the rows that are not finite",
            )
        return Dataset(kind, q, groups=part.groups if isinstance(part, MeasurementPlan) else ()), []
    if type(part.measurement) is not type(kind):
        raise ZvenoError(
            f"was measured by {part.measurement.kind}, the plan is for {kind.kind}",
            element=part.name or "have",
            remedy="Plan with the same kind of measurement",
        )
    y = np.zeros((len(q), 1)) if part.y is None else np.asarray(part.y, dtype=float).reshape(len(q), -1)
    counts = finite & np.isfinite(y).any(axis=1)
    lines = part.lines if len(part.lines) == len(q) else np.arange(1, len(q) + 1)
    unused = part.said_of_rows(lines[~counts], "have no posture or no reading")
    if len(q) and not counts.any():
        raise ZvenoError(f"all {unused}", element="existing", remedy="Give measured postures, or plan without them")
    notes = [f"{unused}: not counted"]
    kept = replace(part, q=q, y=y, lines=lines).only(counts)
    return kept, [] if counts.all() else notes
