"""Document 001, models and identification: counts, groups, strategies, rules, and joint axes."""

from __future__ import annotations

import numpy as np

from ...calibration.identifiability.analysis import Identifiability, identifiability
from ...io.load import load_mechanism
from ...robot import Robot
from ...spatial.rotations import exp, is_rotation
from ...spatial.transforms import transform
from ..reproduce import Document, Row
from .joint_axes import joint_axis
from .rules import agrees, rule_model

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


def rows() -> list[Row]:
    """What document 001 states about models and identification, beside what comes out."""
    return [*_two_links(), *_strategies(), *_puma(), *_one_prismatic(), *_rules(), *_axes()]


def _two_links() -> list[Row]:
    structure = identifiability(Robot(load_mechanism(TWO_LINKS)), "pose")
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


def _strategies() -> list[Row]:
    robot = Robot(load_mechanism(TWO_LINKS))
    return [
        DOCUMENT.same(f"table of models, strategy {name}", text, identifiability(robot, "pose", strategy=name).text)
        for name, text in STRATEGIES.items()
    ]


def _puma() -> list[Row]:
    puma = Robot(load_mechanism("puma560"))
    asymmetric = puma.with_tool(transform(None, np.array([0.03, 0.02, 0.05])))
    out = []
    for what, kind, printed in PUMA:
        structures = [identifiability(robot, kind) for robot in (puma, asymmetric)]
        agree = all(_proved(structure, structure.rank) for structure in structures)
        computed = tuple(structure.rank for structure in structures)
        why = "" if agree else "formula, closure and rank differ"
        out.append(
            DOCUMENT.equal(f"PUMA 560: {what}", _pair(printed), _pair(computed), agree and printed == computed, why)
        )
    wrist = (
        "Rz(q1) Rx(-90deg) Rz(q2) Tx(0.4318) Tz(0.15) Rz(q3) Rx(90deg) Tx(-0.0203) Rz(q4) Tz(0.4331) Rx(-90deg) "
        "Rz(q5) Rx(90deg) Rz(q6)"
    )
    at_centre = identifiability(Robot(load_mechanism(wrist)), "position")
    out.append(
        DOCUMENT.wrong(
            "(20): s counts last axes, parallel and through the point; spherical wrist measured at its centre",
            "s = 1: 25",
            f"s = {at_centre.counts.through if at_centre.counts else '?'}: {at_centre.rank}",
            _proved(at_centre, 21),
            "the axes need not be parallel: all of the last axes through the point count",
        )
    )
    letters = identifiability(Robot(load_mechanism("Rz(q1) Tx(0.3) Rx(90deg) Tz(q2)")), "pose")
    out.append(
        DOCUMENT.equal(
            "N = 6+4p+2r with p revolute and r prismatic joints, for one of each",
            "letters swapped in the text before (20)",
            str(letters.rank),
            letters.rank == 12,
            "4 for a revolute and 2 for a prismatic joint either way",
        )
    )
    return out


def _one_prismatic() -> list[Row]:
    robot = Robot(load_mechanism("Tx(q1)"))
    full, position = identifiability(robot, "pose"), identifiability(robot, "position")
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
    parallel = [
        agrees(Robot(load_mechanism(text)), "pose")[0]
        for text in ("Tz(q1) Rz(q2) Tx(0.3)", "Tz(q1) Tx(0.1) Tz(q2)")
    ]
    return [
        DOCUMENT.same(
            "rules of steps 1–2 on the two-link arm",
            STRATEGIES["JL"],
            rule_model(Robot(load_mechanism(TWO_LINKS))).text,
        ),
        DOCUMENT.wrong(
            "rules of step 2 for neighbouring parallel axes with a prismatic joint (P∥R, P∥P)",
            "complete irreducible model",
            "refused" if not any(parallel) else "agree",
            not any(parallel),
            "what they remove is not what depends; the numeric selection of columns decides",
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


def _proved(structure: Identifiability, rank: int) -> bool:
    return structure.counts is not None and structure.counts.agree(rank)


def _pair(values) -> str:
    return ", ".join(str(value) for value in values)
