"""Document 001, last part: accuracy of an axis, optimal plans, and the simulation of a calibration."""

from __future__ import annotations

import numpy as np

from ...spatial.rotations import log
from ...spatial.vectors import skew
from ..reproduce import Row
from . import closed_form_plans as cf
from . import plan_study as study
from .joint_axes import joint_axis
from .reproduce import DOCUMENT

RADIUS, SIGMA = 300.0, 0.2
FIVE = np.radians([-120.0, -90.0, 0.0, 90.0, 120.0])


def rows() -> list[Row]:
    """What the last part of document 001 states, beside what comes out."""
    return [*_one_axis(), _figure_1(), *_two_joints(), *_simulation()]


def _figure_1() -> Row:
    """Errors of a revolute axis within 180° against the number of measurements, by formula and simulated."""
    rng, trials, numbers = np.random.default_rng(0), 400, range(4, 12)
    predicted, seen = [], []
    for m in numbers:
        even, best = (
            cf.uniform_values(m, -np.pi / 2, np.pi / 2),
            cf.best_axis_values("revolute", m, -np.pi / 2, np.pi / 2),
        )
        spread, errors = [], []
        for q in (even, best):
            points = cf.circle(q, RADIUS)
            spread.append(np.sqrt(np.trace(cf.axis_covariance(points, SIGMA)[0])))
            turns = [log(joint_axis(q, points + SIGMA * rng.normal(size=points.shape)).R) for _ in range(trials)]
            errors.append(np.sqrt(np.mean(np.sum(np.square(turns), axis=1))))
        predicted.append(spread[0] / spread[1])
        seen.append(errors[0] / errors[1])
    agree = bool(np.all(np.abs(np.divide(seen, predicted) - 1.0) < 4 * np.sqrt(1.0 / (2 * trials))))
    return DOCUMENT.equal(
        "figure 1: error of a revolute axis by evenly spread angles (1) and by the proposed ones (2), m = 4 … 11",
        "curve 1 above curve 2",
        f"{min(predicted):.2f}–{max(predicted):.2f} times as large, {min(seen):.2f}–{max(seen):.2f} simulated",
        min(predicted) > 1.0 and agree,
        "the range of angles is not printed: 180° is taken; three evenly spread angles are the proposed ones",
    )


def _one_axis() -> list[Row]:
    sums = max(abs(np.exp(1j * FIVE).sum()), abs(np.exp(1j * np.radians([0.0, 120.0, 240.0])).sum()))
    turns = [cf.best_axis_values("revolute", m, -np.pi, np.pi) for m in range(3, 12)]
    errors = [cf.axis_error(cf.circle(q), 1.0) for q in turns]
    ends = [cf.axis_error(cf.line(cf.best_axis_values("prismatic", m, -1.0, 1.0)), 1.0) for m in range(2, 12)]
    effective = [m if m % 2 == 0 else (m * m - 1) / m for m in range(2, 12)]
    gains = [
        cf.axis_error(cf.line(cf.uniform_values(m, -1.0, 1.0)), 1.0) / cf.best_axis_error("prismatic", m, 1.0, 1.0)
        for m in range(5, 12)
    ]
    half = cf.axis_information(cf.circle(np.radians([-90.0, -90.0, 90.0, 90.0])))
    gon = np.trace(
        cf.axis_covariance(cf.circle(cf.best_axis_values("revolute", 5, -np.pi, np.pi), RADIUS), SIGMA)[0]
    )
    five = np.trace(cf.axis_covariance(cf.circle(FIVE, RADIUS), SIGMA)[0])
    away = cf.circle(np.radians([0.0, 30.0, 60.0, 90.0]), RADIUS)
    exact = cf.axis_covariance(away, SIGMA)[1]
    return [
        DOCUMENT.law(
            "(26) Σ cos q = Σ sin q = 0 for three angles 120° apart and {−120, −90, 0, 90, 120}", sums, 1e-12
        ),
        DOCUMENT.wrong(
            "criterion of (26): tr of the information of ±90° half and half, its smallest eigenvalue",
            "A-optimal",
            f"{np.trace(half):.3g} (the most four points can have), {np.linalg.eigvalsh(half)[0]:.1g}",
            np.isclose(np.trace(half), 8.0) and np.linalg.eigvalsh(half)[0] < 1e-12,
            "maximising the trace of the information is T-optimality, and it accepts singular plans",
        ),
        DOCUMENT.compared(
            "(27) ε_ω = σ/(r √m) at the optimum, m = 3 … 11 (inferred form)",
            [1.0 / np.sqrt(m) for m in range(3, 12)],
            errors,
            1e-12,
        ),
        DOCUMENT.compared(
            "(27) for a prismatic joint: m, or (m² − 1)/m for odd m, m = 2 … 11",
            effective,
            1.0 / np.square(ends),
            1e-12,
        ),
        DOCUMENT.equal(
            "gain in accuracy of a prismatic axis over even spacing (the document does not say for which m)",
            "1.4–1.6",
            f"{min(gains):.2f}–{max(gains):.2f} for m = 5 … 11",
            f"{min(gains):.1f}–{max(gains):.1f}" == "1.4–1.6",
            "the range of m is inferred, it is the one that fits: the gain is 1.34 at m = 4 and grows to √3",
        ),
        DOCUMENT.wrong(
            "{−120, −90, 0, 90, 120} makes the error of the axis least: tr cov(δω), r = 300, σ = 0.2",
            "least",
            f"{five:.4g}, regular pentagon {gon:.4g}",
            gon < 0.9 * five,
            "equal by the trace of information; the variance also needs Σ e^{2iq} = 0, as regular polygons have",
        ),
        DOCUMENT.corrected(
            "cov(δt) = σ²/m, for angles 0, 30, 60, 90",
            SIGMA**2 / 4 * np.eye(3),
            _translation(away),
            exact,
            "only if the mean of the points is on the axis; otherwise the rotation's error moves it",
        ),
    ]


def _translation(points: np.ndarray) -> np.ndarray:
    """cov(δt) from least squares over rotation and translation together: no formula for the mean is used."""
    J = np.zeros((len(points), 3, 6))
    for k, p in enumerate(points):
        J[k, :, :3] = -skew(p)
        J[k, :, 3:] = np.eye(3)
    flat = J.reshape(-1, 6)
    return SIGMA**2 * np.linalg.inv(flat.T @ flat)[3:, 3:]


def _two_joints() -> list[Row]:
    rng = np.random.default_rng(0)
    x, y, q1, q2 = rng.uniform(-2.0, 2.0, (4, 7))
    x, y = x - x.mean(), y - y.mean()
    J = cf.jacobian_two_prismatic(x, y)
    det = np.linalg.det(J.T @ J)
    printed = (x @ x) * (y @ y) * ((x @ x) * (y @ y) - (x @ y) ** 2)
    R = cf.jacobian_two_revolute(q1, q2)
    product = cf.product_plan([[-1.0, 1.0], [-1.0, 1.0]])
    best = cf.determinant_two_prismatic(*product.T)
    others = [cf.determinant_two_prismatic(*rng.uniform(-1.0, 1.0, (2, 4))) for _ in range(2000)]
    return [
        DOCUMENT.corrected(
            "(30) det JᵀJ of two perpendicular prismatic joints, 7 centred points",
            printed,
            cf.determinant_two_prismatic(x, y),
            det,
            "the factor m³ is left out; the optimum is the same",
            1e-9,
        ),
        DOCUMENT.compared(
            "(31) det JᵀJ of two parallel revolute joints, 7 postures",
            cf.determinant_two_revolute(q2),
            np.linalg.det(R.T @ R),
            1e-9,
        ),
        DOCUMENT.equal(
            "the product of the axes' optimal sets is optimal for two prismatic joints, 4 points",
            "holds",
            f"largest of 2000 random plans: {max(others) / best:.2f} of it",
            max(others) < best,
        ),
    ]


def _simulation() -> list[Row]:
    usual, proposed = study.predicted_std(study.usual_plan()), study.predicted_std(study.proposed_plan())
    ratios = usual / proposed
    studies = [
        study.simulate_study(plan, 100, bias=(0.5, -0.4), seed=seed)
        for seed, plan in enumerate((study.usual_plan(), study.proposed_plan()))
    ]
    seen = studies[0].std / studies[1].std
    low, high = study.ratio_band(100, 0.999)
    inside = bool(np.all((seen / ratios > low) & (seen / ratios < high)))
    off = abs(studies[1].mean - (0, 0, 0, 0, 0.5, -0.4)) / (studies[1].predicted / 10.0)
    return [
        DOCUMENT.equal(
            "lower errors of the proposed plan, ratios of standard deviations by (28)",
            "1.8–2.4",
            f"{ratios.min():.3f}–{ratios.max():.3f}",
            f"{ratios.min():.1f}–{ratios.max():.1f}" == "1.8–2.4",
        ),
        DOCUMENT.equal(
            "the same in 100 simulated experiments with each plan",
            "1.8–2.4",
            f"{seen.min():.2f}–{seen.max():.2f}, each within its 99.9 % band",
            inside,
            f"a hundred experiments scatter a ratio by factors {low:.2f} … {high:.2f}; 10 000 meet (28)",
        ),
        DOCUMENT.equal(
            "a constant error of the measuring system does not harm: errors of a1, a2, q1, q2 in their own spread",
            "insensitive",
            f"at most {off[:4].max():.1f} standard errors of the mean; x0, y0 take it up",
            off.max() < 4.0,
        ),
    ]
