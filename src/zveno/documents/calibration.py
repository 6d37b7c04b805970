"""Document 001: complete and irreducible kinematic models, joint axes from points, plans in closed form.

- `classify_parameters`: statements 1 and 2, the classes of parameters from the singular vectors of (3) and (4).
- `rule_model`, `agrees`: the document's rules for writing down an irreducible model.
- `position_bound`: the known bound (21), which the document sharpens to (20).
- `linear_step`: formula (19), one linearised step of a calibration.
- `joint_axis`, `identify_axes`, `identify_chain`: formulas (9) to (17), axes and a whole robot from points that
  move with one joint at a time, without a nominal model.
- `axis_covariance` … `jacobian_two_revolute`: formulas (25) to (31), accuracy of an axis, plans in closed form.
- `observability`: the trace criterion T of (26), and the observability indices O1 to O5 of the literature.

One joint is moved alone, and a point p on the moving body is measured with standard deviation σ in every
coordinate. The axis is estimated from the points with covariance

    cov(δω) = σ² [Σ (|p|² 1 − p pᵀ)]⁻¹,  p from their mean,                                             (25)

so the points should be far from their centre. Document 001 maximises the trace of the information, Σ|p|² (called
A-optimality there; it is T-optimality). For a revolute axis this requires only Σ e^{iq} = 0: two opposite points
satisfy it and leave a direction undetermined. The regular m-gon also has Σ e^{2iq} = 0, and minimises tr cov(δω) =
5σ²/(m r²).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import ArrayLike

from ..calibration._fit.frames import first_frames
from ..calibration._identifiability import analyse, identifiability, scaled_jacobian
from ..calibration._postures import imagined
from ..calibration.axes import IdentifiedAxes as IdentifiedAxes
from ..calibration.axes import JointAxis as JointAxis
from ..calibration.axes import axis_information as axis_information
from ..calibration.axes import circle as circle
from ..calibration.axes import frame_covariance as frame_covariance
from ..calibration.axes import identify_axes as identify_axes
from ..calibration.axes import identify_chain as identify_chain
from ..calibration.axes import joint_axis as joint_axis
from ..calibration.axes import line as line
from ..calibration.axes import unseen_turns as unseen_turns
from ..calibration.measurements import Measurement, Position, measurement
from ..calibration.measurements._fit_problem import fit_problem
from ..calibration.measurements.datasets import Dataset, prepared
from ..calibration.models import CalibrationModel, Model, Term, redundant_model
from ..calibration.planning._criteria import named_criterion, reduced
from ..calibration.planning._exchange import select
from ..calibration.planning._information import PlannedRows
from ..errors import ModelError, ShapeError, ZvenoError
from ..robot_functions import RobotFunctions

# --- classes of parameters


def classify_parameters(J: ArrayLike, tolerance: float = 1e-9) -> list[str]:
    """Return "identifiable", "unidentifiable" or "semi-identifiable" for every column of an aggregated Jacobian.

    With J = U Σ Vᵀ of rank r, parameter i is identifiable if row i of [V_{r+1} … V_n] is zero (statement 1), and
    unidentifiable if row i of [V_1 … V_r] is zero (statement 2, where the document says column).
    `robot.identifiability` finds the classes of a robot.
    """
    _, s, Vt = np.linalg.svd(np.asarray(J, dtype=float))
    rank = int((s > tolerance * s[0]).sum()) if len(s) else 0
    without_effect, without_freedom = (
        np.linalg.norm(vectors, axis=0) <= np.sqrt(tolerance) for vectors in (Vt[:rank], Vt[rank:])
    )
    classes = np.where(without_effect, "unidentifiable", "semi-identifiable")
    return np.where(without_freedom, "identifiable", classes).tolist()


def position_bound(robot: RobotFunctions, strategy: str = "JL") -> int:
    """Return the bound (21) on the parameters that positions determine, if the last axis meets the measured point.

    It is 6 + 4n − 2p − o_n − min(o_{n−1}, t_{n−1}) for n joints, p of them prismatic. Here o and t count rotations
    and displacements of the last two links in the complete irreducible model. The formula is damaged in our copy.
    """
    chosen = identifiability(robot, "pose", model=CalibrationModel(strategy=strategy)).chosen
    joints = [joint for joint in robot.mechanism.joints if joint.type.n_v]
    n, prismatic = len(joints), sum(joint.type.sigma == 0 for joint in joints)

    def count(kind: str, link: int) -> int:
        return sum(f"{kind}{axis}{link}" in chosen for axis in "xyz")

    return 6 + 4 * n - 2 * prismatic - count("R", n) - min(count("R", n - 1), count("T", n - 1))


# --- the irreducible model by rules


@dataclass(frozen=True, eq=False)
class RuleModel:
    """Model from the rules: kept names, text in the document's notation, and the terms removed by each step."""

    names: tuple[str, ...]
    text: str
    steps: tuple[str, ...]


def rule_model(robot: RobotFunctions, kind: Measurement | str = "pose") -> RuleModel:
    """Derive the irreducible model by steps 1–2 (pose), 0–2 (position) or in form (23) (unknown frame).

    Raises:
        ModelError: the axes are neither parallel nor perpendicular, or the rules disagree with the numeric
            selection.
    """
    measured = measurement(kind)
    model = redundant_model(robot.mechanism, measured.frame)
    chain = _Chain(model)
    relative = bool(measured.left.free)
    steps: list[str] = []
    kept = chain.written_down()
    for i in range(1, chain.n + 1):
        removed = chain.removed_by(i, kept)
        if relative and model.term(removed).role == "base":
            removed = chain.joint_name(i)  # form (23): all six terms of the base stay and are fixed
        kept.remove(removed)
        steps.append(f"joint {i} removes {removed}")
    if isinstance(measured, Position):
        for name in chain.tool_rotations(kept):
            kept.remove(name)
            steps.append(f"position only removes {name}")
        removed = chain.removed_by_virtual_rotation(kept)
        kept.remove(removed)
        steps.append(f"the virtual third rotation removes {removed}")
    if relative:
        kept = [name for name in kept if model.term(name).role != "base"]
        steps.append("the base is fixed")
    names = tuple(name for name in model.names if name in set(kept))
    _check(model, measured, names)
    return RuleModel(names, model.text(names), tuple(steps))


class _Chain:
    """Chain with the directions of joints and terms in world axes at q = 0."""

    def __init__(self, model: Model):
        if any(move.sigma is None or move.joint.mimic is not None for move in model.moves):
            raise ModelError(
                "the rules are for chains of independent revolute and prismatic joints",
                remedy="Use zveno.calibration.identifiability",
            )
        self.model, self.n = model, len(model.moves)
        path = model.paths[model.frames[0]]
        R = np.eye(3)
        self.e: list[np.ndarray] = [np.zeros(3)]
        self.directions: dict[str, np.ndarray] = {}
        self.links: list[np.ndarray] = []
        for place, number in enumerate(path):
            if place % 2:
                self.e.append(R[:, model.moves[number].axis])
                continue
            block = model.blocks[number]
            for term in model.terms[block.first : block.first + 3]:
                self.directions[term.name] = R[:, term.axis]
            self.links.append(R @ block.T[:3, 3])
            R = R @ block.T[:3, :3]
            for term in model.terms[block.first + 3 : block.first + 6]:
                self.directions[term.name] = R[:, term.axis]
        for a, b in zip(self.e[1:], self.e[2:], strict=False):
            if min(abs(abs(a @ b) - 1.0), abs(a @ b)) > 1e-6:
                raise ModelError(
                    "neighbouring axes are neither parallel nor perpendicular",
                    remedy="Use identifiability(...).chosen, which holds for any angles",
                )

    def joint_name(self, i: int) -> str:
        return self.model.terms[self.model.moves[i - 1].offset_term].name

    def terms(self, i: int, kind: str) -> list[Term]:
        """Terms of type T or R of link i; link 0 is the base."""
        block = self.model.blocks[self.model.paths[self.model.frames[0]][2 * i]]
        first = block.first + (3 if kind == "R" else 0)
        return list(self.model.terms[first : first + 3])

    def written_down(self) -> list[str]:
        """Write down all terms of step 1: six for the base, and those of every link across its axis.

        These are two displacements and two rotations for a revolute link, and two rotations for a prismatic link.
        """
        names = [term.name for kind in "TR" for term in self.terms(0, kind)]
        for i in range(1, self.n + 1):
            names.append(self.joint_name(i))
            for kind in "TR" if self.model.moves[i - 1].sigma else "R":
                names += [t.name for t in self.terms(i, kind) if abs(self.directions[t.name] @ self.e[i]) < 1e-6]
        return names

    def removed_by(self, i: int, kept: list[str]) -> str:
        """Find the term of step 2 that the joint's own offset makes redundant."""
        if not self.model.moves[i - 1].sigma:
            return self._along(i, "T", self.e[i], kept)
        parallel = i > 1 and abs(abs(self.e[i] @ self.e[i - 1]) - 1.0) < 1e-6
        if not parallel:
            return self._along(i, "R", self.e[i], kept)
        return self._across_link(i, kept)

    def removed_by_virtual_rotation(self, kept: list[str]) -> str:
        """Find the terms removed by a virtual joint: a rotation about the last axis through the measured point."""
        if self.model.moves[-1].sigma:
            return self._across_link(self.n + 1, kept, self.e[-1])
        return self._along(self.n + 1, "R", self.e[-1], kept)

    def tool_rotations(self, kept: list[str]) -> list[str]:
        return [term.name for term in self.terms(self.n, "R") if term.name in kept]

    def _along(self, i: int, kind: str, direction, kept: list[str]) -> str:
        """Find the nearest term before joint i in a direction."""
        for j in range(i - 1, -1, -1):
            for term in self.terms(j, kind):
                if term.name in kept and abs(abs(self.directions[term.name] @ direction) - 1.0) < 1e-6:
                    return term.name
        raise ModelError(
            f"the rules find no term that joint {i} replaces", remedy="Use zveno.calibration.identifiability"
        )

    def _across_link(self, i: int, kept: list[str], axis=None) -> str:
        """Find the nearest displacement across a link that rotation about the axis causes.

        A link may be skew to its own axes; the term most parallel to the displacement is chosen.
        """
        axis = self.e[i] if axis is None else axis
        arm = np.zeros(3)
        for j in range(i - 1, -1, -1):
            arm = arm + self.links[j]
            side = np.cross(axis, arm)
            if np.linalg.norm(side) < 1e-9:
                continue
            shares = {
                term.name: abs(self.directions[term.name] @ side) / np.linalg.norm(side)
                for term in self.terms(j, "T")
                if term.name in kept
            }
            nearest = max(shares, key=shares.__getitem__, default="")
            if shares.get(nearest, 0.0) > 1e-6:
                return nearest
        raise ModelError(
            f"the rules find no displacement that joint {i} replaces: the axes coincide",
            remedy="Use zveno.calibration.identifiability",
        )


def _check(model: Model, measured: Measurement, names: tuple[str, ...]):
    """Raise an error if a model is not complete and irreducible."""
    problem = imagined(model, measured, max(20, 3 * len(model.terms) // measured.n_rows))
    structure = analyse(problem, model.mechanism.name)
    columns = [model.numbers[name] for name in names]
    A = scaled_jacobian(problem)
    unknowns = problem.columns_of()
    both = A[:, columns + unknowns]
    norms = np.linalg.norm(both, axis=0)
    s = np.linalg.svd(both / np.where(norms > 0, norms, 1.0), compute_uv=False)
    rank = int((s > 1e-9 * s[0]).sum())
    if len(names) != structure.rank or rank != len(names) + structure.rank_unknowns:
        raise ModelError(
            f"the rules give {len(names)} parameters of which {rank - structure.rank_unknowns} are independent, "
            f"and the measurement determines {structure.rank}",
            remedy="The rules fail for this chain (parallel neighbours one of which is prismatic, or axes through "
            "the measured point); use identifiability(...).chosen",
        )


def agrees(robot: RobotFunctions, kind: Measurement | str = "pose") -> tuple[bool, str]:
    """Return True and the model if the rules give a complete irreducible model, else False and the reason."""
    try:
        return True, rule_model(robot, kind).text
    except ZvenoError as error:
        return False, str(error)


# --- one linearised step


def linear_step(
    robot: RobotFunctions, data: Dataset | Sequence[Dataset], *, strategy: str = "JL"
) -> dict[str, float]:
    """Return the deviations Δπ = (JᵀJ)⁻¹ Jᵀ Δg of formula (19), by parameter name, m or rad.

    J is the stacked Jacobian of the irreducible model at the nominal geometry, and Δg are the deviations of all
    measurements from the nominal model. Rows are divided by their standard deviation, if known. Unknown frames of
    instruments and targets are first estimated for the nominal robot, and then together with the parameters.
    `Robot.calibrate` repeats the step until it converges.
    """
    campaigns, _ = prepared(data, robot.mechanism)
    frames = list(dict.fromkeys(frame for campaign in campaigns for frame in campaign.measurement.frames))
    problem = fit_problem(redundant_model(robot.mechanism, frames), campaigns)
    problem = problem.placed(first_frames(problem, problem.nominal))
    structure = analyse(problem, robot.name, strategy)
    names = (*structure.chosen, *structure.unknowns)
    columns = [problem.names.index(name) for name in names]
    r, J = problem.evaluate(problem.nominal, problem.frames, columns)
    sigma = [
        noise.typical if given[noise.name] is None else given[noise.name]
        for part in problem.parts
        for given in [part.measurement.sigmas()]
        for noise in part.measurement.noises
    ]
    weight = 1.0 / problem.by_noise(np.array(sigma, dtype=float), 1.0)
    for row, (*_, known) in zip(np.flatnonzero(problem.noise < 0), problem.constraints, strict=True):
        weight[row] = 1.0 / known
    step = np.linalg.lstsq(J * weight[:, None], -r * weight, rcond=None)[0]
    return {
        name: float(x) for name, x in zip(structure.chosen, step, strict=False) if name in problem.model.numbers
    }


# --- criteria of plans

CRITERIA: Mapping[str, str] = {
    "T": "mean eigenvalue of the information, tr(S)/k: the criterion of (26), which accepts singular plans",
    "O1": "geometric mean of the singular values over √n (Borm and Menq)",
    "O2": "inverse condition number (Driels and Pathre)",
    "O3": "smallest singular value (Nahvi, Hollerbach and Hayward)",
    "O4": "noise amplification: smallest singular value squared over the largest (Nahvi and Hollerbach)",
    "O5": "inverse of the sum of inverse singular values (Sun and Hollerbach)",
}
"""Criteria of a plan by name; larger is better."""


def criteria(information: ArrayLike, n: int = 1) -> dict[str, float]:
    """Return the values of all `CRITERIA` for an information matrix (k, k) of n configurations."""
    S = np.asarray(information, dtype=float)
    s = np.sqrt(np.maximum(np.linalg.eigvalsh(S), 0.0))  # singular values of the Jacobian in ascending order
    is_singular = not s[0] > 0.0
    return {
        "T": float(np.trace(S) / len(S)),
        "O1": 0.0 if is_singular else float(np.exp(np.mean(np.log(s))) / np.sqrt(n)),
        "O2": 0.0 if is_singular else float(s[0] / s[-1]),
        "O3": float(s[0]),
        "O4": 0.0 if is_singular else float(s[0] ** 2 / s[-1]),
        "O5": 0.0 if is_singular else float(1.0 / np.sum(1.0 / s)),
    }


def observability(
    robot: RobotFunctions,
    q: ArrayLike,
    kind: Measurement | str = "pose",
    *,
    parameters: str | Sequence[str] = "all",
) -> dict[str, float]:
    """Return the values of all `CRITERIA` for measuring a robot at configurations q, (n, n_q).

    Rows of the Jacobian are divided by their standard deviation, and lengths are in units of the robot's size.
    Unknown instrument frames are eliminated first. Contact measurements raise an error, because q does not specify
    the contact.
    """
    rows = PlannedRows(robot, kind, model=CalibrationModel(parameters))
    if rows.measurement.implicit:
        raise ZvenoError(
            f"q does not specify the contacts of a {rows.measurement.kind} measurement",
            element="kind",
            remedy="Use zveno.calibration.evaluate_poses with a Dataset",
        )
    J = rows.jacobians(np.atleast_2d(q))
    flat = J.reshape(-1, J.shape[-1])
    return criteria(reduced(flat.T @ flat, rows.n_interest), len(J))


# --- plans known in closed form


def noise(sigma: float, sigma_q: float = 0.0, radius: float = 1.0) -> float:
    """Standard deviation of a point with a noisy joint sensor: σ² = σg² + r² σq² (r = 1 for a prismatic joint)."""
    return float(np.hypot(sigma, radius * sigma_q))


def axis_covariance(points: ArrayLike, sigma: float, scale: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Covariances of δω and δt, (3, 3) each, of the axis frame estimated from points; inf if the plan is singular.

    Args:
        points: points in the axis frame, (m, 3).
        sigma: standard deviation of a measured coordinate.
        scale: True if the scale of the points is estimated with the frame.

    The document's cov(δt) = σ²/m holds if the mean of the points is on the axis.
    """
    covariance, hidden = frame_covariance(points, sigma, scale), unseen_turns(points)
    if not hidden.size:
        return covariance[:3, :3], covariance[3:, 3:]
    # Unobservable directions have infinite variance; the others keep theirs.
    rotation = np.where((hidden**2).sum(axis=1) > 1e-12, np.inf, 0.0)
    return np.diag(rotation) + covariance[:3, :3], np.full((3, 3), np.nan)


def axis_error(points: ArrayLike, sigma: float) -> float:
    """Axis error ε_ω = σ √(2 / tr information), which the document minimises; at best σ / (r √m), its (27).

    The printed (27) is lost; this form is inferred from the text about it.
    """
    return float(sigma * np.sqrt(2.0 / np.trace(axis_information(points))))


def best_axis_error(kind: str, m: int, radius: float, sigma: float) -> float:
    """Smallest ε_ω of m points, (27): σ/(r √m), with m replaced by (m² − 1)/m for a prismatic joint and odd m.

    Args:
        kind: "revolute" (radius of the circle) or "prismatic" (radius is half the travel).
        m: number of points, at least 2.
        radius, sigma: m.
    """
    if m < 2:
        raise ZvenoError(f"{m} points do not determine an axis", remedy="Take at least 2, better 3")
    effective = (m * m - 1) / m if _is_prismatic(kind) and m % 2 else float(m)
    return float(sigma / (radius * np.sqrt(effective)))


def best_axis_values(kind: str, m: int, lower: float, upper: float) -> np.ndarray:
    """Optimal m values of one joint for the accuracy of its axis, (25) and (26), in ascending order, (m,).

    Prismatic: half at each end. Revolute: the regular m-gon if it fits the range; otherwise the angles within the
    range that minimise tr cov(δω), found numerically. At least 3 angles are needed: two leave one direction
    undetermined.
    """
    if not (np.isfinite(lower) and np.isfinite(upper) and lower < upper):
        raise ZvenoError(f"the range {lower} … {upper} is empty or infinite", remedy="Give lower < upper")
    if _is_prismatic(kind):
        if m < 2:
            raise ZvenoError(f"{m} points do not determine an axis", remedy="Take at least 2")
        return np.sort(np.where(np.arange(m) % 2, upper, lower))
    if m < 3:
        raise ZvenoError(f"{m} angles leave the axis undetermined", remedy="Take at least 3")
    width = upper - lower
    step = 2.0 * np.pi / m
    if width >= step * (m - 1) - 1e-12:
        return lower + 0.5 * (width - step * (m - 1)) + step * np.arange(m)
    return _best_within(m, lower, upper)


def _best_within(m: int, lower: float, upper: float) -> np.ndarray:
    """Find angles within a range that minimise tr cov(δω).

    Estimating the position of the axis with its direction makes information additive over angles, with rows
    [−[p]×, 1]. The angles are chosen from a grid like configurations, then moved to the local optimum.
    """
    from scipy.optimize import minimize

    grid = np.linspace(lower, upper, 121)
    x, y, z = circle(grid).T
    rows = np.zeros((len(grid), 3, 6))
    rows[:, 0, 1], rows[:, 0, 2], rows[:, 1, 0] = z, -y, -z
    rows[:, 1, 2], rows[:, 2, 0], rows[:, 2, 1] = x, y, -x
    rows[:, :, 3:] = np.eye(3)
    start = grid[select(rows, m, named_criterion("A"), interest=3, bound=False).members]

    def cost(q):
        return float(np.trace(np.linalg.inv(axis_information(circle(q)))))

    end = minimize(cost, start, bounds=[(lower, upper)] * m, method="L-BFGS-B")
    return np.sort(end.x if end.fun < cost(start) else start)


def uniform_values(m: int, lower: float, upper: float) -> np.ndarray:
    """Spread m values evenly over a range, the older practice that the document compares with."""
    return np.linspace(lower, upper, m)


def product_plan(values: Sequence[ArrayLike]) -> np.ndarray:
    """Combine all values of all joints, (Π m_j, joints): the document's rule for several axes."""
    return np.array(list(product(*(np.asarray(of_joint, dtype=float) for of_joint in values))))


def product_postures(robot: RobotFunctions, numbers: int | Sequence[int]) -> np.ndarray:
    """Product plan of the document for a robot within its limits: all combinations of optimal values, (n, n_q).

    Args:
        robot: a robot with revolute and prismatic joints.
        numbers: number of values, one for all joints or one per joint.
    """
    mechanism = robot.mechanism
    counts = [numbers] * robot.n_q if isinstance(numbers, int) else list(numbers)
    if len(counts) != robot.n_q:
        raise ShapeError(f"must have {robot.n_q} entries, one per joint, got {len(counts)}", element="numbers")
    values = []
    for name, m, low, high in zip(robot.joint_names, counts, robot.lower, robot.upper, strict=True):
        sigma = mechanism.joint(name).type.sigma
        if sigma is None:
            raise ZvenoError(
                "the product plan is for revolute and prismatic joints",
                element=f"joint {name}",
                remedy="Use zveno.calibration.plan_poses",
            )
        low, high = (low, high) if np.isfinite(low) and np.isfinite(high) else (-np.pi, np.pi)
        if m == 1:
            values.append([0.5 * (low + high)])
        elif m == 2 and sigma:
            # Two angles of one joint do not determine its axis; in a product, the other joints do.
            half = min(np.pi / 2, 0.5 * (high - low))
            values.append([0.5 * (low + high) - half, 0.5 * (low + high) + half])
        else:
            values.append(best_axis_values("revolute" if sigma else "prismatic", m, low, high))
    return product_plan(values)


def determinant_two_prismatic(x: ArrayLike, y: ArrayLike) -> float:
    """Determinant of JᵀJ of chain (29), two perpendicular prismatic joints at x, y, (m,), with seven parameters.

    It is m³ Σx² Σy² (Σx² Σy² − (Σxy)²) with sums about the means: (30), whose factor m³ the document omits.
    """
    centred = np.array([x, y], dtype=float)
    centred -= centred.mean(axis=1, keepdims=True)
    (xx, xy), (_, yy) = centred @ centred.T
    return float(centred.shape[1] ** 3 * xx * yy * (xx * yy - xy**2))


def determinant_two_revolute(q2: ArrayLike) -> float:
    """Determinant of JᵀJ of two parallel revolute joints by lengths and offsets, in units of the links.

    It is ((Σ cos q2)² + (Σ sin q2)² − m²)²: (31). It does not depend on q1.
    """
    q2 = np.asarray(q2, dtype=float)
    return float((np.cos(q2).sum() ** 2 + np.sin(q2).sum() ** 2 - len(q2) ** 2) ** 2)


def jacobian_two_prismatic(x: ArrayLike, y: ArrayLike) -> np.ndarray:
    """Jacobian (3m, 7) of chain (29) at nominal zero: Tz, Rx, Ry, Rz, Tx of the base, Rz between the joints, Ty."""
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    o, i = np.zeros_like(x), np.ones_like(x)
    rows = [[o, o, o, -y, i, -y, o], [o, o, o, x, o, o, i], [i, y, -x, o, o, o, o]]
    return np.array(rows).transpose(2, 0, 1).reshape(-1, 7)


def jacobian_two_revolute(q1: ArrayLike, q2: ArrayLike) -> np.ndarray:
    """Jacobian (2m, 4) of two parallel revolute joints by (length, offset) of each link, in units of lengths."""
    z1 = np.exp(1j * np.asarray(q1, dtype=float))
    z2 = z1 * np.exp(1j * np.asarray(q2, dtype=float))
    columns = np.stack([z1, 1j * z1, z2, 1j * z2], axis=-1)
    return np.concatenate([columns.real, columns.imag])


def _is_prismatic(kind: str) -> bool:
    if kind not in ("revolute", "prismatic"):
        raise ZvenoError(f"kind must be revolute or prismatic, got {kind!r}")
    return kind == "prismatic"
