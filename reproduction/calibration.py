"""Document 001, complete and irreducible kinematic models and their calibration.

Counts, groups, strategies, rules and joint axes; then the accuracy of an axis, plans, and the simulation of a
calibration.
"""

from __future__ import annotations

import numpy as np

import zveno
from zveno import calibration
from zveno.calibration import CalibrationModel
from zveno.calibration._identifiability import scaled_jacobian
from zveno.calibration._postures import imagined
from zveno.calibration.measurements import measurement
from zveno.calibration.models import redundant_model
from zveno.documents import calibration as cf
from zveno.documents.base_parameters import parts
from zveno.documents.calibration import agrees, identify_axes, joint_axis, linear_step, rule_model
from zveno.spatial.rotations import exp, is_rotation, log
from zveno.spatial.transforms import transform
from zveno.spatial.vectors import skew

from . import plan_study as study
from .base_parameters import PUMA as PUMA_TABLE
from .table import Document, Row, error, shown

DOCUMENT = Document("001")
TWO_LINKS = "Rz(q1) Tx(0.25) Rz(q2) Tx(0.16)"
STRATEGIES = {
    "JL": "[Tx Ty Tz Rx Ry]o Rz(q1) [Tx Rx Ry]1 Rz(q2) [Tx Ty Rx Ry]2",
    "BJL": "[Tx Ty Tz Rx Ry Rz]o Rz(q1)° [Tx Rx Ry]1 Rz(q2) [Tx Ty Rx Ry]2",
    "TJL": "[Tx Ty Rx Ry]o Rz(q1) [Tx Rx Ry]1 Rz(q2)° [Tx Ty Tz Rx Ry Rz]2",
    "JR": "[Tx Ty Rx Ry]o Rz(q1) [Tx Rx Ry]1 Rz(q2) [Tx Tz Rx Ry Rz]2",
    "BJR": "[Tx Ty Tz Rx Ry Rz]o Rz(q1)° [Tx Rx Ry]1 Rz(q2) [Tx Rx Ry Rz]2",
    "TJR": "[Tx Ty Rx Ry]o Rz(q1) [Tx Rx Ry]1 Rz(q2)° [Tx Ty Tz Rx Ry Rz]2",
}
PUMA = (
    ("full pose, 6+4r+2p", "pose", (30, 30)),
    ("position only (20), symmetric and asymmetric tool", "position", (25, 27)),
    ("relative (22)", "relative_pose", (24, 24)),
    ("relative, position only (24)", "relative_position", (19, 21)),
)

RADIUS, SIGMA = 300.0, 0.2
FIVE = np.radians([-120.0, -90.0, 0.0, 90.0, 120.0])


def rows() -> list[Row]:
    """Everything of document 001 that can be checked."""
    return [
        *_two_links(),
        *_singular_vectors(),
        *_strategies(),
        *_puma(),
        *_bound_and_lengths(),
        _link_model(),
        *_one_prismatic(),
        *_rules(),
        *_axes(),
        _whole_robot(),
        _linear_step(),
        *_one_axis(),
        _figure_1(),
        *_two_joints(),
        *_simulation(),
    ]


def _two_links() -> list[Row]:
    structure = calibration.identifiability(zveno.load(TWO_LINKS), "pose")
    relations, hidden = "; ".join(structure.expressions), ", ".join(structure.of_class("unidentifiable"))
    groups = "{Rzo, Rzq1, Ty1} {Ty1, Rz1, Rzq2, Rz2} {Tzo, Tz1, Tz2} {Ty2, Rz2}"
    same = {frozenset(relation) for relation in structure.relations} == {
        frozenset(word.strip("{},") for word in group.split()) for group in groups.split("} ")
    }
    return [
        DOCUMENT.same(
            "model (5): parameters, independent ones", "20, 14", f"{len(structure.names)}, {structure.rank}"
        ),
        DOCUMENT.same("model (5): unidentifiable parameters", "none", hidden or "none"),
        DOCUMENT.equal("model (5): groups of semi-identifiable parameters", groups, relations, same),
        DOCUMENT.same("model (6)", STRATEGIES["JL"], structure.text),
    ]


def _singular_vectors() -> list[Row]:
    """Statements 1 and 2 and the general solution (4), on positions of the two-link arm."""
    robot, kind = zveno.load(TWO_LINKS), measurement("position")
    model = redundant_model(robot.mechanism, kind.frame)
    problem = imagined(model, kind, 40)
    J = scaled_jacobian(problem)[:, : len(model.terms)]
    structure = calibration.identifiability(robot, "position")
    _, s, Vt = np.linalg.svd(J)
    rank = int((s > 1e-9 * s[0]).sum())
    effect, freedom = Vt[:rank].T, Vt[rank:].T  # [V_1 … V_r], [V_{r+1} … V_n], a row for each parameter
    classes = ("identifiable", "semi-identifiable", "unidentifiable")
    found = cf.classify_parameters(J)
    hidden = structure.of_class("unidentifiable")
    zero_rows = int(np.sum(np.linalg.norm(effect, axis=1) < 1e-6))
    zero_columns = int(np.sum(np.linalg.norm(effect, axis=0) < 1e-6))
    through = [float(np.linalg.norm(J @ vectors) / s[0]) for vectors in (effect[:, :1], freedom)]
    return [
        DOCUMENT.compared(
            "(3), statements 1 and 2, corrected: classes of the parameters, positions of the two-link arm",
            [classes.index(name) for name in found],
            [classes.index(name) for name in structure.classes],
        ),
        DOCUMENT.wrong(
            "statement 2: unidentifiable if column i of [V_1 … V_r] is zero",
            "columns",
            f"{zero_columns} zero columns, {zero_rows} zero rows; {len(hidden)} parameters are unidentifiable",
            zero_columns == 0 and zero_rows == len(hidden) > 0,
            "columns are singular vectors of length 1; a parameter has a row, as in statement 1",
        ),
        DOCUMENT.wrong(
            "(4): the general solution adds any vector of the space of V_1, …, V_n",
            "any vector",
            f"|J v| = {through[0]:.1g} σ_1 for V_1, {through[1]:.0e} σ_1 for V_{{r+1}} … V_n",
            abs(through[0] - 1.0) < 1e-9 and through[1] < 1e-9,
            "only V_{r+1}, …, V_n leave the measurements as they are",
        ),
    ]


def _bound_and_lengths() -> list[Row]:
    """The known bound (21), what (24) counts, and d_2 − d_3 of the PUMA 560."""
    puma = zveno.load("puma560")
    bounds = {name: cf.position_bound(puma, name) for name in STRATEGIES}
    exact = calibration.identifiability(puma, "position").rank
    relative = calibration.identifiability(puma, "relative_position")

    def pose(change_2: float, change_3: float) -> np.ndarray:
        T = np.eye(4)
        for k, (row, x) in enumerate(zip(PUMA_TABLE, (0.3, -0.4, 0.9, 0.2, 0.7, -0.5), strict=True), start=1):
            row = row._replace(d=row.d + {2: change_2, 3: change_3}.get(k, 0.0))
            T = T @ np.tensordot([1.0, np.cos(x), np.sin(x)], parts(row), axes=1)
        return T

    same, opposite = (float(abs(pose(*step) - pose(0.0, 0.0)).max()) for step in ((1.0, 1.0), (1.0, -1.0)))
    return [
        DOCUMENT.assumed(
            "(21): N_p ≤ 6 + 4n − 2p − o_n − min(o_{n−1}, t_{n−1}), PUMA 560 with a symmetric tool",
            f"(20) is sharper: {exact}",
            f"{min(bounds.values())} … {max(bounds.values())} by the six strategies",
            exact <= min(bounds.values()),
            "the end of the formula is damaged in our copy and is inferred",
        ),
        DOCUMENT.wrong(
            "(24) is the number of unidentifiable parameters, PUMA 560 with a symmetric tool",
            "19 unidentifiable",
            f"{relative.rank} of 30 identifiable, {30 - relative.rank} not",
            relative.rank == 19,
            "it counts identifiable parameters, as the sentence after it does",
        ),
        DOCUMENT.assumed(
            "d_2 and d_3 of the PUMA 560 enter as d_2 − d_3",
            "d_2 − d_3",
            f"d_2 + d_3: 1 mm more of both moves it by {same:.1f} mm, 1 mm more and less by {opposite:.0e} mm",
            same > 1.0 and opposite < 1e-9,
            "the table is not printed: in that of document 000 axes 2 and 3 point the same way (α_2 = 0); with "
            "α_2 = 180° it would be the difference",
        ),
    ]


def _link_model() -> Row:
    """(7), (8): of the seven parameters of a revolute joint and its link, four remain before a prismatic joint."""
    chosen = calibration.identifiability(zveno.load("Rz(q1) Ty(0.3) Tx(q2)"), "pose").chosen
    own = [name for name in chosen if name.endswith("1")]
    return DOCUMENT.equal(
        "(7), (8): redundant ones among the seven parameters of a link before a prismatic joint",
        "3: Rz, Tx, Tz",
        f"{7 - len(own)}; kept: {', '.join(own)}",
        len(own) == 4 and not {"Rz1", "Tx1", "Tz1"} & set(own),
    )


def _whole_robot() -> Row:
    """(16), (17): a PUMA 560 from points that move with one joint at a time, against the true one anywhere."""
    robot = zveno.load("puma560").with_tool(transform(None, np.array([0.05, 0.04, 0.1])))
    rest = np.array([0.3, -0.9, 0.5, 0.4, 0.8, -0.2])
    q = np.repeat(rest[None], 42, axis=0)
    for k in range(6):
        q[7 * k : 7 * k + 7, k] = np.linspace(-1.2, 1.3, 7)

    def point(q: np.ndarray) -> np.ndarray:
        return robot.forward_kinematics(q, frame="tool")[:, :3, 3]

    found = zveno.Robot(identify_axes(q, point(q)).mechanism)
    q = robot.random(20, 1)
    return DOCUMENT.compared(
        "(16), (17): S-model of a PUMA 560 from six circles, positions elsewhere",
        found.forward_kinematics(q)[:, :3, 3],
        point(q),
        1e-9,
    )


def _linear_step() -> Row:
    """(18), (19): exact positions of an arm whose deviations are small."""
    robot, rng = zveno.load(TWO_LINKS), np.random.default_rng(3)
    names = calibration.identifiability(robot, "position").chosen
    deviations = dict(zip(names, 1e-7 * rng.normal(size=len(names)), strict=True))
    q = robot.random(40, 3)
    g = calibration.apply_deviations(robot, deviations).forward_kinematics(q)[:, :3, 3]
    step = linear_step(robot, calibration.Dataset(calibration.Position(), q, g))
    return DOCUMENT.compared(
        "(19): deviations of 1e-7 from exact positions, one step towards the minimum of (18)",
        [deviations[name] for name in names],
        [step[name] for name in names],
        1e-4,
    )


def _strategies() -> list[Row]:
    robot = zveno.load(TWO_LINKS)
    return [
        DOCUMENT.same(
            f"table of models, strategy {name}",
            text,
            calibration.identifiability(robot, "pose", model=CalibrationModel(strategy=name)).text,
        )
        for name, text in STRATEGIES.items()
    ]


def _puma() -> list[Row]:
    puma = zveno.load("puma560")
    asymmetric = puma.with_tool(transform(None, np.array([0.03, 0.02, 0.05])))
    out = []
    for what, kind, printed in PUMA:
        structures = [calibration.identifiability(robot, kind) for robot in (puma, asymmetric)]
        agree = all(_proved(structure, structure.rank) for structure in structures)
        computed = tuple(structure.rank for structure in structures)
        why = "" if agree else "formula, closure and rank differ"
        # 24 of (22) is not printed, only its formula.
        verdict = DOCUMENT.statement if "(22)" in what else DOCUMENT.equal
        out.append(
            verdict(f"PUMA 560: {what}", _pair(printed), _pair(computed), agree and printed == computed, why)
        )
    wrist = (
        "Rz(q1) Rx(-90deg) Rz(q2) Tx(0.4318) Tz(0.15) Rz(q3) Rx(90deg) Tx(-0.0203) Rz(q4) Tz(0.4331) Rx(-90deg) "
        "Rz(q5) Rx(90deg) Rz(q6)"
    )
    at_centre = calibration.identifiability(zveno.load(wrist), "position")
    out.append(
        DOCUMENT.wrong(
            "(20): s counts last axes, parallel and through the point; spherical wrist measured at its centre",
            "s = 1: 25",
            f"s = {at_centre.counts.through if at_centre.counts else '?'}: {at_centre.rank}",
            _proved(at_centre, 21),
            "the axes need not be parallel: all of the last axes through the point count",
        )
    )
    arm = "Rz(q1) Tx(0.3) Rx(90deg) Rz(q2) Tx(0.2) Rx(90deg) Tz(q3)"
    letters = calibration.identifiability(zveno.load(arm), "pose")
    out.append(
        DOCUMENT.compared(
            "N = 6+4p+2r with p revolute and r prismatic joints, for two and one",
            6 + 4 * 2 + 2,
            letters.rank,
            why="from (20) on, the letters are swapped: r revolute, p prismatic",
        )
    )
    return out


def _one_prismatic() -> list[Row]:
    robot = zveno.load("Tx(q1)")
    full, position = calibration.identifiability(robot, "pose"), calibration.identifiability(robot, "position")
    return [
        DOCUMENT.wrong(
            "one prismatic joint: parameters of the full and of the position-only model",
            "10, 7",
            f"{full.rank}, {position.rank}",
            _proved(full, 8) and _proved(position, 5),
            "the models it prints have 8 and 5 parameters, as its own formulas say",
        ),
        DOCUMENT.same("its full model", "[Ty Tz Rx Ry Rz]o Tx(q1) [Ry Rz]1", rule_model(robot, "pose").text),
        DOCUMENT.same("its position-only model", "[Ty Tz Ry Rz]o Tx(q1)", rule_model(robot, "position").text),
        DOCUMENT.same("its relative form (23)", "Tx(q1)° [Ry Rz]1", rule_model(robot, "relative_pose").text),
    ]


def _rules() -> list[Row]:
    parallel = [agrees(zveno.load(text), "pose")[0] for text in ("Tz(q1) Rz(q2) Tx(0.3)", "Tz(q1) Tx(0.1) Tz(q2)")]
    scara = agrees(zveno.load("Rz(q1) Tx(0.3) Rz(q2) Tx(0.2) Tz(q3) Rz(q4)"), "pose")[0]
    return [
        DOCUMENT.same(
            "rules of steps 1–2 on the two-link arm",
            STRATEGIES["JL"],
            rule_model(zveno.load(TWO_LINKS)).text,
        ),
        DOCUMENT.wrong(
            "rules of step 2 for neighbouring parallel axes with a prismatic joint (P∥R, P∥P)",
            "complete irreducible model",
            f"Tz Rz, Tz Tz: {'agree' if any(parallel) else 'wrong'}; Rz Rz Tz Rz: {'right' if scara else 'wrong'}",
            not any(parallel) and scara,
            "what they remove is not always what depends; the numeric selection of columns decides",
        ),
    ]


def _axes() -> list[Row]:
    rng = np.random.default_rng(0)
    worst, mirrored, trials = 0.0, 0, 400
    for _ in range(trials):
        R, t, q = exp(rng.normal(size=3)), rng.normal(size=3), rng.uniform(-2.5, 2.5, 5)
        p = 0.3 * np.stack([np.cos(q), np.sin(q), 0.0 * q], axis=1)
        g = p @ R.T + t
        worst = max(worst, float(abs(joint_axis(q, g).R - R).max()))
        noisy = g + 0.01 * rng.normal(size=g.shape)
        assert is_rotation(joint_axis(q, noisy).R)
        a, b = p - p.mean(axis=0), noisy - noisy.mean(axis=0)
        U, _, Vt = np.linalg.svd(a.T @ b)
        mirrored += np.linalg.det(Vt.T @ U.T) < 0
    return [
        DOCUMENT.law("(9)–(16) axis of a revolute joint from exact points", worst, 1e-9),
        DOCUMENT.wrong(
            "(15) R = V Uᵀ is the rotation that fits best",
            "always",
            f"a reflection in {100 * mirrored / trials:.0f} % of noisy circles",
            mirrored > 0,
            "the determinant must be fixed: R = V diag(1, 1, det V Uᵀ) Uᵀ",
        ),
    ]


def _proved(structure: calibration.Identifiability, rank: int) -> bool:
    return structure.counts is not None and structure.counts.agree(rank)


def _pair(values) -> str:
    return ", ".join(str(value) for value in values)


def _figure_1() -> Row:
    """Errors of a revolute axis within 180° against the number of measurements, by formula and simulated."""
    rng, trials, numbers = np.random.default_rng(0), 400, range(4, 12)
    predicted, seen, by_trace = [], [], []
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
        # ε_ω of (27) is least with half of the angles at each end, as for a prismatic joint.
        by_trace.append(cf.axis_error(cf.circle(even), 1.0) / cf.best_axis_error("prismatic", m, 1.0, 1.0))
    agree = bool(np.all(np.abs(np.divide(seen, predicted) - 1.0) < 4 * np.sqrt(1.0 / (2 * trials))))
    return DOCUMENT.assumed(
        "figure 1: error of a revolute axis by evenly spread angles (1) and by the proposed ones (2), m = 4 … 11",
        "curve 1 above curve 2",
        f"√tr cov(δω): {min(predicted):.2f}–{max(predicted):.2f} times as large, {min(seen):.2f}–{max(seen):.2f} "
        f"simulated; ε_ω of (27): {min(by_trace):.2f}–{max(by_trace):.2f}",
        min(predicted) > 1.0 and min(by_trace) > 1.0 and agree,
        "the range of angles is not printed: 180° is taken; three evenly spread angles are the proposed ones",
    )


def _one_axis() -> list[Row]:
    sums = max(abs(np.exp(1j * FIVE).sum()), abs(np.exp(1j * np.radians([0.0, 120.0, 240.0])).sum()))
    turns = [cf.best_axis_values("revolute", m, -np.pi, np.pi) for m in range(3, 12)]
    errors = [cf.axis_error(cf.circle(q), 1.0) for q in turns]
    ends = [cf.axis_error(cf.line(cf.best_axis_values("prismatic", m, -1.0, 1.0)), 1.0) for m in range(2, 12)]
    inferred = [1.0 / np.sqrt(m) for m in range(3, 12)]
    opposite = float(np.linalg.eigvalsh(cf.axis_information(cf.circle([0.0, np.pi])))[0])
    sum_of_two = float(abs(np.exp(1j * np.array([0.0, np.pi])).sum()))
    effective = [m if m % 2 == 0 else (m * m - 1) / m for m in range(2, 12)]

    def gain(m: int) -> float:
        even = cf.axis_error(cf.line(cf.uniform_values(m, -1.0, 1.0)), 1.0)
        return even / cf.best_axis_error("prismatic", m, 1.0, 1.0)

    gains = [gain(m) for m in range(5, 12)]
    half = cf.axis_information(cf.circle(np.radians([-90.0, -90.0, 90.0, 90.0])))
    gon = np.trace(
        cf.axis_covariance(cf.circle(cf.best_axis_values("revolute", 5, -np.pi, np.pi), RADIUS), SIGMA)[0]
    )
    five = np.trace(cf.axis_covariance(cf.circle(FIVE, RADIUS), SIGMA)[0])
    by_five = cf.axis_error(cf.circle(FIVE, RADIUS), SIGMA)
    least = cf.best_axis_error("revolute", 5, RADIUS, SIGMA)
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
        DOCUMENT.self_check(
            "(27) ε_ω = σ/(r √m) at the optimum, m = 3 … 11",
            inferred,
            errors,
            why="the formula is missing in our copy of the print and is inferred",
        ),
        DOCUMENT.assumed(
            "(27) for a prismatic joint: m, or (m² − 1)/m for odd m, m = 2 … 11",
            shown(effective),
            shown(1.0 / np.square(ends)),
            error(effective, 1.0 / np.square(ends)) <= 1e-12,
            "the text around (27) says how m changes; (27) itself is inferred",
        ),
        DOCUMENT.wrong(
            "m = 2: |q_i − q_j| = π has Σ cos q = Σ sin q = 0, and so the least error of the axis",
            "least error",
            f"sums {sum_of_two:.0e}; smallest eigenvalue of the information {abs(opposite):.0e}",
            opposite < 1e-12 and sum_of_two < 1e-12,
            "two points and the centre lie on a line, and the axis may turn about it; m ≥ 3 is needed",
        ),
        DOCUMENT.assumed(
            "gain in accuracy of a prismatic axis over even spacing (the document does not say for which m)",
            "1.4–1.6",
            f"{min(gains):.2f}–{max(gains):.2f} for m = 5 … 11",
            f"{min(gains):.1f}–{max(gains):.1f}" == "1.4–1.6",
            f"the range of m is inferred: it begins at 5, since the gain at m = 4 is {gain(4):.2f}, and may end "
            f"anywhere from 10 to 21, with {gain(10):.2f} and {gain(21):.2f}; the gain grows to √3",
        ),
        DOCUMENT.assumed(
            "{−120, −90, 0, 90, 120} makes ε_ω least, r = 300, σ = 0.2",
            "least",
            f"{by_five:.4g}, least {least:.4g}; tr cov(δω) {five:.4g}, regular pentagon {gon:.4g}",
            error(by_five, least) <= 1e-12 and gon < 0.9 * five,
            "with (27) as inferred; the covariance itself is smaller if Σ e^{2iq} = 0 too, as of regular polygons",
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
    slides = calibration.identifiability(zveno.load("Tx(q1) Ty(q2)"), "position")
    product = cf.product_plan([[-1.0, 1.0], [-1.0, 1.0]])
    best = cf.determinant_two_prismatic(*product.T)
    return [
        DOCUMENT.same("model (29): parameters that positions determine", 7, slides.rank),
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
        DOCUMENT.statement(
            "the product of the axes' optimal sets is optimal for two prismatic joints, 4 points",
            "holds",
            f"det JᵀJ = {best:.9g}; no plan within ±1 exceeds m⁷ = {4**7}",
            bool(np.isclose(best, 4**7, rtol=1e-12)),
            "Σx² and Σy² are at most m, so that m³ times (30) is at most m⁷",
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
        DOCUMENT.not_reproduced(
            "the same in 100 simulated experiments with each plan",
            "1.8–2.4",
            f"{seen.min():.2f}–{seen.max():.2f}",
            inside,
            f"a hundred experiments scatter each ratio by factors {low:.2f} … {high:.2f} (99.9 %), ours too; "
            "so narrow a range needs thousands of experiments",
        ),
        DOCUMENT.statement(
            "a constant error of the measuring system does not harm: errors of a1, a2, q1, q2 in their own spread",
            "insensitive",
            f"at most {off[:4].max():.1f} standard errors of the mean; x0, y0 take it up",
            off.max() < 4.0,
        ),
    ]
