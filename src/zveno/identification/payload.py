"""Unknown payload from the change of base parameters, and drive gains from a known one.

A body fixed to the last link adds its ten parameters φ to the link's, so that base parameters become b + Y_N φ,
with the ten columns Y_N of the grouping. Two fits with and without it contain all information of the recordings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from ..base_parameters.result import BaseParameters
from ..errors import ModelError, ShapeError, ZvenoError
from ..fit.threads import in_one_thread
from ..io.logs.log import Log
from ..io.results import hash_of, registered
from ..mechanism import Mechanism
from ..mechanism.loops import for_trees
from ..report.description import Column, Description, Field, Table, Text
from ..report.result import Result
from ..robot_functions import RobotFunctions
from ..spatial import inertia
from ..spatial.inertia import N_PARAMETERS, PARAMETER_NAMES
from ..spatial.transforms import inverse
from ._consistency import WEAK, Prior, Unknowns, consistent_estimate, solid_ball
from ._covariance import inflation
from ._estimate import total
from ._fitting import Fit, fitted
from ._friction import TERMS
from ._problem import AUTO, Problem, problem_of
from ._survey import Survey, survey
from .result import Identification

RANK = 1e-6
"""Share of the largest singular value of a payload's scaled columns below which others are not observed."""
NO_COLUMN = 1e-18
"""Share of the largest squared column below which a column is zero up to rounding."""


EstimateStatus = Literal["identified", "partly identified"]


@registered
@dataclass(frozen=True, eq=False, repr=False)
class Payload(Result):
    """Body that a robot carries, identified from the torques.

    Attributes:
        frame: the frame that the parameters are given in.
        parameters: (10,) m, first moments and inertia about the frame's origin, of a body that can exist.
        least_squares: (10,) the same from the data alone. covariance: (10, 10) of it; infinite where unseen.
        seen: (10,) whether the motion shows a parameter.
        consistent: whether the body that can exist was reached.
        notes: remarks.
        inputs_hash: hash of the logs.
    """

    frame: str
    parameters: np.ndarray
    least_squares: np.ndarray
    covariance: np.ndarray
    seen: np.ndarray
    consistent: bool
    notes: tuple[str, ...]
    inputs_hash: str

    kind = "payload"

    @property
    def mass(self) -> float:
        """Mass, kg."""
        return float(self.parameters[0])

    @property
    def center_of_mass(self) -> np.ndarray:
        """Centre of mass, (3,) m, in the frame."""
        return inertia.center_of_mass(self.parameters)

    @property
    def std(self) -> np.ndarray:
        """(10,) standard deviations of `least_squares`."""
        return np.sqrt(self.covariance.diagonal())

    @property
    def status(self) -> EstimateStatus:
        """ "identified", or "partly identified" where the motion does not show all of it."""
        return "identified" if self.seen.all() else "partly identified"

    def describe(self) -> Description:
        """Return the description that text, figures and pages show."""
        units = ["kg", *["kg·m"] * 3, *["kg·m²"] * 6]
        columns = [
            Column("parameter", list(PARAMETER_NAMES)),
            Column("of a body that can exist", self.parameters.tolist(), "", ".4g"),
            Column("least squares", self.least_squares.tolist(), "", ".4g"),
            Column("± std", np.where(self.seen, self.std, np.nan).tolist(), units, ".2g"),
        ]
        fields = [
            Field("status", self.status),
            Field("summary", self.summary),
            Field("mass", self.mass, "kg", "mass"),
            Field("center_of_mass", self.center_of_mass),
        ]
        blocks = [Table(f"Parameters in {self.frame}", columns), Text("Notes", self.notes)]
        tone = "good" if self.status == "identified" else "warn"
        return Description(f"Payload: {self.status}", self.summary, tone, fields, blocks)

    @property
    def summary(self) -> str:
        """Mass and centre of mass in a sentence, and the unknown parameters."""
        place = ", ".join(f"{value:.4g}" for value in self.center_of_mass)
        text = f"{self.mass:.4g} kg (σ {self.std[0]:.2g}) at [{place}] m in {self.frame}"
        missing = [name for name, shown in zip(PARAMETER_NAMES, self.seen, strict=True) if not shown]
        return text + (f"; not shown by the motion: {', '.join(missing)}" if missing else "")


@registered
@dataclass(frozen=True, eq=False, repr=False)
class DriveGains(Result):
    """Correction factors of recorded torques, from a payload of known mass.

    Attributes:
        joint_names: recorded joints.
        gains: (n,) true over recorded torque; 1 where the payload does not show it.
        std: (n,) standard deviations; infinite where the payload does not show a joint's gain.
        inputs_hash: hash of the logs.
    """

    joint_names: tuple[str, ...]
    gains: np.ndarray
    std: np.ndarray
    inputs_hash: str

    kind = "drive gains"

    @property
    def status(self) -> EstimateStatus:
        """ "identified" if all gains are known to 5 %, else "partly identified"."""
        return "identified" if (self.std < 0.05).all() else "partly identified"

    @property
    def summary(self) -> str:
        """All gains in a sentence."""
        pairs = zip(self.joint_names, self.gains, self.std, strict=True)
        words = [f"{name} {g:.3f} ± {s:.2g}" if np.isfinite(s) else f"{name} not shown" for name, g, s in pairs]
        return "gains: " + ", ".join(words)


@for_trees
@in_one_thread
def identify_payload(
    arm: Identification | RobotFunctions,
    logs: Log | Sequence[Log],
    *,
    frame: str | None = None,
    band: float | None = None,
    friction_terms: str | Sequence[str] = "default",
) -> Payload:
    """Identify the ten inertial parameters of a body that the last link carries.

    Args:
        arm: the identification of the arm without the payload, whose uncertainty counts; or a robot whose inertia
            is taken as exact.
        logs: recordings with the payload.
        frame: the frame that parameters are given in; it must be on the last link. The default frame if not given.
        band: Hz; that of the arm's identification by default.
        friction_terms: terms of friction, which are fitted again since friction changes with temperature.
    """
    identified = isinstance(arm, Identification)
    robot = RobotFunctions(arm.nominal) if isinstance(arm, Identification) else arm
    if identified and band is None:
        band = arm.choices.band
    problem, surveyed, fit = _fits(robot, logs, band, friction_terms)
    base = surveyed.model.base
    where = problem.mechanism.frame(frame)
    Y = _last_columns(base, surveyed.model.kept, where.link)
    m = surveyed.model.n_inertial
    estimate, spread = fit.whole.estimate, inflation(fit.whole.estimate, fit.scores)
    S = estimate.normal / spread
    information = S[:m, :m] - S[:m, m:] @ np.linalg.pinv(S[m:, m:], rcond=1e-12, hermitian=True) @ S[m:, :m]
    if isinstance(arm, Identification):
        if not np.array_equal(arm.kept, surveyed.model.kept) or arm.base.rank != base.rank:
            raise ModelError("the arm was identified with other joints", remedy="Record the same joints")
        before, C = arm.base_values[:m], arm.base_covariance[:m, :m]
        unknown = ~np.isfinite(C.diagonal())
        C = np.where(np.isfinite(C), C, 0.0)
        # Λ' = Λ − Λ (Λ + C⁻¹)⁻¹ Λ: what is left where the arm is uncertain too.
        information = _less_certain(information, C, unknown)
    else:
        before = base.values[surveyed.model.kept]
        information = _less_certain(information, np.zeros((m, m)), surveyed.model.weightless)
    difference = estimate.x[:m] - before
    phi, covariance, seen = _weighted(Y, information, difference)
    unknowns = Unknowns([1], np.arange(N_PARAMETERS), np.zeros(0, dtype=int), Y)
    prior = Prior("none", solid_ball(max(abs(phi[0]), 0.01), phi[1:4])[None], WEAK, {})
    body = consistent_estimate(unknowns, N_PARAMETERS, difference, information, prior, np.zeros(0))
    T = inverse(where.T_link_frame)
    move = np.stack([inertia.moved(unit, T) for unit in np.eye(N_PARAMETERS)], axis=1)
    finite = np.where(np.isfinite(covariance), covariance, 0.0)
    shown = np.array([bool(seen[abs(row) > 1e-12].all()) for row in move])
    turned = move @ finite @ move.T
    turned[~shown, ~shown] = np.inf
    return Payload(
        frame=where.name,
        parameters=move @ body.p,
        least_squares=move @ phi,
        covariance=turned,
        seen=shown,
        consistent=body.converged,
        notes=problem.notes,
        inputs_hash=_hash(problem),
    )


@for_trees
@in_one_thread
def identify_drive_gains(
    robot: RobotFunctions,
    logs: Log | Sequence[Log],
    loaded: Log | Sequence[Log],
    payload: ArrayLike,
    *,
    frame: str | None = None,
    band: float | None = None,
    friction_terms: str | Sequence[str] = "default",
) -> DriveGains:
    """Identify the ratio of true to recorded torque of every joint, from recordings without and with a known
    payload.

    Every joint is fitted by itself: its recorded torque is that of unknown parameters, and with the payload more by
    the payload's torque over the gain.

    Args:
        robot: the robot.
        logs, loaded: recordings without and with the payload.
        payload: (10,) its inertial parameters, or its mass as a point at the frame's origin.
        frame: the frame that they are given in, on the last link. The default frame if not given.
        band: Hz; from the spectrum of `logs` by default.
        friction_terms: terms of friction.
    """
    problem, surveyed, bare = _fits(robot, logs, band, friction_terms)
    _, _, full = _fits(robot, loaded, surveyed.choices.band, friction_terms, surveyed)
    where = problem.mechanism.frame(frame)
    given = np.asarray(payload, dtype=float)
    phi = np.append(given, np.zeros(9)) if given.shape == () else given
    if phi.shape != (N_PARAMETERS,) or not np.isfinite(phi).all():
        raise ShapeError(
            f"has shape {given.shape}", element="payload", remedy="Give ten parameters, or a mass in kg"
        )
    added = _last_columns(surveyed.model.base, surveyed.model.kept, where.link) @ inertia.moved(
        phi, where.T_link_frame
    )
    n, p = problem.mechanism.n_v, len(bare.whole.places)
    without, carrying = (total(fit.parts).columns(fit.whole.places) for fit in (bare, full))
    T = np.concatenate([np.eye(p), np.concatenate([added, np.zeros(p - len(added))])[:, None]], axis=1)
    gains, std = np.ones(n), np.full(n, np.inf)
    for j in range(n):
        H = T.T @ carrying.H[j] @ T
        H[:p, :p] += without.H[j]
        g = T.T @ carrying.g[j]
        g[:p] += without.g[j]
        squares, rows = without.s[j] + carrying.s[j], without.counts[j] + carrying.counts[j]
        used = np.flatnonzero(H.diagonal() > 0)
        if p not in used:
            continue
        scale = np.sqrt(H.diagonal()[used])
        w, V = np.linalg.eigh(H[np.ix_(used, used)] / np.outer(scale, scale))
        good = w > 1e-9 * w[-1]
        half = V[:, good] / np.sqrt(w[good])
        if (V[-1, ~good] ** 2).sum() > 1e-6:
            continue
        x = (half @ (half.T @ (g[used] / scale))) / scale
        left = max(squares - x @ g[used], 0.0) / max(rows - good.sum(), 1.0)
        spread = max(inflation(fit.whole.estimate, fit.scores) for fit in (bare, full))
        share = float(np.sqrt(left * spread * (half[-1] ** 2).sum())) / scale[-1]
        if abs(x[-1]) > 3.0 * share:
            gains[j], std[j] = 1.0 / x[-1], share / x[-1] ** 2
    return DriveGains(problem.logs[0].joint_names, gains, std, _hash(problem))


def _fits(
    robot: RobotFunctions,
    logs: Log | Sequence[Log],
    band: float | None,
    friction: str | Sequence[str],
    like: Survey | None = None,
) -> tuple[Problem, Survey, Fit]:
    """Survey and fit some logs; with the velocity scales of another survey if given."""
    if friction == AUTO:
        raise ZvenoError(
            'is "auto"', element="friction_terms", remedy='Give terms, or "default": both fits need the same'
        )
    problem = problem_of(
        robot,
        logs,
        None,
        friction=friction,
        band=band,
        delay=None,
        rest=None,
        velocity=AUTO,
        prior="cad",
        blocks=2,
        torques=None,
    )
    surveyed = survey(problem, None if like is None else like.model.scales)
    return problem, surveyed, fitted(problem, surveyed, ())


def _last_columns(base: BaseParameters, kept: np.ndarray, link: str) -> np.ndarray:
    """Return the change (kept, 10) of the base parameters by a body fixed to a link."""
    mechanism: Mechanism = base.mechanism
    i = mechanism.link_number(link)
    if i == 0:
        raise ModelError(
            "a payload on the fixed link shows in no torque",
            element=f"link {link}",
            remedy="Name a link that joints move",
        )
    return base.matrix[kept][:, 10 * (i - 1) : 10 * i]


def _less_certain(information: np.ndarray, covariance: np.ndarray, unknown: np.ndarray) -> np.ndarray:
    """Return the information on a difference whose other side has a covariance, or is partly unknown."""
    n = len(information)
    w, V = np.linalg.eigh(covariance)
    root = V * np.sqrt(np.maximum(w, 0.0))
    reduced = information - information @ root @ np.linalg.solve(
        np.eye(n) + root.T @ information @ root, root.T @ information
    )
    if unknown.any():
        part = reduced[:, unknown]
        reduced = reduced - part @ np.linalg.pinv(reduced[np.ix_(unknown, unknown)], hermitian=True) @ part.T
    return 0.5 * (reduced + reduced.T)


def _weighted(Y: np.ndarray, information: np.ndarray, d: np.ndarray):
    """Solve weighted least squares of d = Y φ: (φ, covariance, whether each entry is seen)."""
    H = Y.T @ information @ Y
    size = H.diagonal()
    shown = size > NO_COLUMN * size.max(initial=0.0)  # what is left of columns that do not show is rounding
    scale = np.where(shown, 1.0 / np.sqrt(np.where(shown, size, 1.0)), 0.0)
    w, V = np.linalg.eigh(H * np.outer(scale, scale))
    good = w > RANK**2 * w[-1]
    half = V[:, good] / np.sqrt(w[good])
    C = (half @ half.T) * np.outer(scale, scale)
    seen = (V[:, ~good] ** 2).sum(axis=1) < 1e-6
    phi = C @ (Y.T @ (information @ d))
    C[~seen, ~seen] = np.inf
    return phi, C, seen


def _hash(problem: Problem) -> str:
    logs = [[log.source, len(log), log.duration] for log in problem.logs]
    terms = [term for term in problem.terms if term in TERMS]
    return hash_of(problem.full.fingerprint, logs, terms)
