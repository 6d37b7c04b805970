"""Identifiability analysis of a measurement: rank, classes, relations, and the complete irreducible model.

Document 001, propositions 1–3 and steps 1–5. Structure is decided at zero residual, on random postures within
limits or on those measured, from a Jacobian whose lengths are scaled to about one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ..errors import ZvenoError, refuse_other
from ..fit.rng import seed_of
from ..fit.threads import in_one_thread
from ..fit.triangle import triangle
from ..io.results import hash_of, registered
from ..report.description import Description
from ..report.result import Result
from ..robot_functions import RobotFunctions
from ._closing import NOMINAL, loop_notes
from ._counts import Counts, counts
from ._postures import imagined
from .measurements import Measurement
from .measurements import measurement as named_measurement
from .measurements._fit_problem import FitProblem
from .models import REMEDY, CalibrationModel, checked_strategy, column_order, independent_columns, redundant_model

TOLERANCE = 1e-9
"""Share of the largest singular value below which others are zero."""


IdentifiabilityStatus = Literal["proved", "certain", "uncertain"]


@registered
@dataclass(frozen=True, eq=False, repr=False)
class Identifiability(Result):
    """Identifiability of the parameters of a model by a measurement.

    Attributes:
        robot_name: name of the robot.
        measurement: kind of measurement.
        names: all parameters considered, in the order of the product, then wanted unknowns (a camera's frames).
        classes: for each, "identifiable", "semi-identifiable" or "unidentifiable".
        rank: number of independent parameters, beyond nuisance parameters.
        rank_unknowns: independent unknowns that are estimated beside them (frames, targets).
        strategy: how the independent columns were chosen.
        chosen: the complete irreducible model, `rank` names.
        unknowns: independent displacements of frames and targets that are estimated beside them.
        relations: for each chosen parameter that stands for several, the combination that is found: names and
            weights.
        singular_values: of the scaled Jacobian.
        gap: smallest singular value kept over the largest dropped; inf if none was dropped.
        text: the irreducible model in the document's notation.
        counts: results of the count formulas and of the closure of twists, and whether they agree; None for joint
            terms, a choice of parameters, and closed loops.
        notes: what the analysis leaves out.
    """

    robot_name: str
    measurement: str
    names: tuple[str, ...]
    classes: tuple[str, ...]
    rank: int
    rank_unknowns: int
    strategy: str
    chosen: tuple[str, ...]
    unknowns: tuple[str, ...]
    relations: tuple[dict[str, float], ...]
    singular_values: np.ndarray
    gap: float
    text: str
    counts: Counts | None
    inputs_hash: str
    notes: tuple[str, ...] = ()

    kind = "identifiability"

    @property
    def status(self) -> IdentifiabilityStatus:
        """ "proved" by exact closure, "certain" where the gap is wide and counts agree, else "uncertain"."""
        if self.certified:
            return "proved"
        agree = self.counts is None or self.counts.agree(self.rank)
        return "certain" if agree and self.gap > 1e3 else "uncertain"

    @property
    def certified(self) -> bool:
        """True if the rank is proved: the closure of twists, in exact numbers, has the same rank."""
        return self.counts is not None and self.counts.certified and self.counts.proved == self.rank

    @property
    def summary(self) -> str:
        """One-sentence summary."""
        groups = len(self.relations)
        share = f"{self.rank} of {len(self.names)} parameters can be found"
        of = f"{share} by {self.measurement} measurements of {self.robot_name}"
        tied = f"; {groups} of them stand for groups" if groups else ""
        weak = "" if self.gap > 1e3 else f"; the gap is only {self.gap:.2g}, so the geometry is nearly degenerate"
        why = f"; {self.counts.why}" if self.counts is not None and self.counts.why else ""
        return of + tied + weak + why

    def describe(self) -> Description:
        """Return the description that text, figures and pages show."""
        from ._describe import describe_identifiability

        return describe_identifiability(self)

    def of_class(self, word: str) -> tuple[str, ...]:
        """Return the names of one class: "identifiable", "semi-identifiable" or "unidentifiable"."""
        return tuple(name for name, kind in zip(self.names, self.classes, strict=True) if kind == word)

    @property
    def expressions(self) -> tuple[str, ...]:
        """Relations as text: `Tzo + Tz1 + Tz2`."""
        return tuple(expression(relation) for relation in self.relations)


@in_one_thread
def identifiability(
    robot: RobotFunctions,
    measurement: Measurement | str = "pose",
    *,
    model: CalibrationModel = CalibrationModel(),  # noqa: B008  (frozen)
    rng: np.random.Generator | int | None = 0,
) -> Identifiability:
    """Determine the geometric parameters that a kind of measurement identifies, from random postures within limits.

    Args:
        robot: the robot.
        measurement: kind of measurement, or its name: "pose", "position", "relative_position", "distance", …
        model: parameters to analyse.
        rng: generator or seed of the random postures.
    """
    refuse_other(model, CalibrationModel, "model", REMEDY)
    kind = named_measurement(measurement)
    redundant = redundant_model(robot.mechanism, kind.frames, model.terms)
    # Three times as many rows as columns.
    n = max(20, int(np.ceil(3.0 * (len(redundant.terms) + 12) / (kind.n_seen * kind.n_rows))))
    problem = imagined(redundant, kind, n, seed_of(rng))
    if kind.implicit and problem.n_rows < problem.n_columns:
        raise ZvenoError(
            f"only {problem.n_postures} of {n} random postures can be brought into contact: too few to tell "
            f"{problem.n_columns} unknowns apart",
            element=kind.kind,
            remedy="Check where the target is and the frame that touches",
        )
    parameters = model.choose(redundant)
    plain = parameters == "all" and not model.terms
    counted = counts(redundant, kind, groups=problem.campaigns[0].groups) if plain else None
    return analyse(problem, robot.name, model.strategy or "JL", parameters, counted)


def analyse(
    problem: FitProblem,
    robot: str,
    strategy: str = "JL",
    parameters: str | Sequence[str] = "all",
    counted: Counts | None = None,
    q: list[np.ndarray] | None = None,
    firm: float = 0.0,
    compiled: bool = False,
    values: np.ndarray | None = None,
) -> Identifiability:
    """Analyse the identifiability of the rows of a system at zero residual.

    Args:
        problem: the rows.
        robot: its name.
        strategy, parameters: as in `CalibrationModel`.
        counted: independent counts.
        q: postures of every part, pulled into contact where needed; those of the system if None.
        firm: columns that are independent by less than this share of a usual column are avoided where possible.
        compiled: whether the pose comes from a kernel, where one is needed anyway.
        values: deviations (P,) of the robot; the nominal one if None.
    """
    model = problem.model
    strategy = checked_strategy(strategy)
    A = triangle(scaled_jacobian(problem, q, compiled, values))
    looked_at = [model.numbers[name] for name in model.choose(parameters)]
    wanted, in_the_way = problem.columns_of(True), problem.columns_of(False)
    columns = looked_at + wanted
    B, beside = beyond(A, in_the_way, columns)
    s = np.linalg.svd(B, compute_uv=False)
    rank = int((s > TOLERANCE * s[0]).sum()) if len(s) and s[0] > 0 else 0
    gap = float(s[rank - 1] / max(s[rank], 1e-300)) if 0 < rank < len(s) else np.inf
    order = [columns.index(k) for k in wanted]
    order += [columns.index(k) for k in column_order(model, strategy) if k in set(looked_at)]
    lengths = np.linalg.norm(A[:, columns], axis=0)
    demanded = firm * np.median(lengths) / np.maximum(lengths, 1e-300) if firm else None
    kept = independent_columns(B, order, rank, demanded)
    names = tuple(problem.names[k] for k in columns)
    norms = column_scales(problem, columns) * lengths
    classes, relations = _classified(B, kept, names, norms)
    chosen = tuple(names[k] for k in kept)
    frame = problem.parts[0].frame
    return Identifiability(
        robot,
        ", ".join(dict.fromkeys(part.measurement.kind for part in problem.parts)),
        names,
        classes,
        rank,
        len(beside) + sum(columns[i] in set(wanted) for i in kept),
        strategy,
        chosen,
        tuple(problem.names[k] for k in beside),
        relations,
        s,
        gap,
        model.text([name for name in chosen if name in model.numbers], frame),
        counted,
        hash_of(model.mechanism.fingerprint, strategy, list(names)),
        ((NOMINAL,) if model.mechanism.loops and values is None else ()) + loop_notes(model.mechanism),
    )


def scaled_jacobian(
    problem: FitProblem,
    q: list[np.ndarray] | None = None,
    compiled: bool = False,
    values: np.ndarray | None = None,
) -> np.ndarray:
    """Return derivatives of all rows by all columns at zero residual, with lengths in units of the robot's size."""
    values = problem.nominal if values is None else values
    _, J = problem.evaluate(values, problem.frames, q=q, compiled=compiled, exact=True)
    length = problem.model.scale
    units = np.array([1.0 / length if unit == "m" else 1.0 for *_, unit in problem.noise_names] + [1.0 / length])
    return units[problem.noise][:, None] * J / column_scales(problem)


def column_scales(problem: FitProblem, columns: Sequence[int] | None = None) -> np.ndarray:
    """Return the scale of every column: lengths are divided by the robot's size."""
    length = problem.model.scale
    units = problem.units if columns is None else [problem.units[k] for k in columns]
    return np.array([1.0 / length if unit == "m" else 1.0 for unit in units])


def beyond(A: np.ndarray, in_the_way: Sequence[int], columns: Sequence[int]) -> tuple[np.ndarray, list[int]]:
    """Return columns orthogonal to the nuisance columns `in_the_way`, in units of their length; and which of the
    latter are independent of each other.

    A column that vanishes is zero: it is not observable.
    """
    B = A[:, columns]
    before = np.linalg.norm(B, axis=0)
    kept: list[int] = []
    if len(in_the_way):
        N = A[:, list(in_the_way)]
        norms = np.linalg.norm(N, axis=0)
        N = np.where(norms > 1e-10 * norms.max(), N / np.where(norms > 0, norms, 1.0), 0.0)
        U, s, _ = np.linalg.svd(N, full_matrices=False)
        rank = int((s > TOLERANCE * s[0]).sum())
        kept = [in_the_way[k] for k in independent_columns(N, range(len(in_the_way)), rank)]
        U = U[:, :rank]
        for _ in range(2):
            B = B - U @ (U.T @ B)
    after = np.linalg.norm(B, axis=0)
    largest = before.max(initial=0.0)
    seen = (after > 1e-8 * before) & (before > 1e-10 * largest)
    return np.where(seen, B / np.where(seen, before, 1.0), 0.0), kept


def _classified(B, kept, names, norms):
    """Return classes (propositions 1 and 2) and the relations (proposition 3) in quasi-diagonal form.

    With the kept columns K and the others D = K·C, p_K + C p_D is identified: a row per kept parameter.
    """
    others = [k for k in range(len(names)) if k not in set(kept)]
    C = np.zeros((len(kept), len(others)))
    if kept and others:
        C = np.linalg.lstsq(B[:, kept], B[:, others], rcond=None)[0]
    # B has unit columns: back to the units of the parameters.
    C = C * norms[others] / norms[kept][:, None]
    share = abs(C) * norms[kept][:, None] / np.maximum(norms[others], 1e-300)
    C = np.where(share > 1e-7, C, 0.0)
    classes = []
    for k in range(len(names)):
        if not B[:, k].any():
            classes.append("unidentifiable")
        elif k in set(kept) and not C[list(kept).index(k)].any():
            classes.append("identifiable")
        else:
            classes.append("semi-identifiable")
    relations = []
    for row, k in enumerate(kept):
        if C[row].any():
            weights = {k: 1.0} | {others[j]: float(C[row, j]) for j in np.flatnonzero(C[row])}
            relations.append({names[j]: weights[j] for j in sorted(weights)})
    return tuple(classes), tuple(relations)


def expression(relation: dict[str, float]) -> str:
    """Return a relation as text: `Rzo + Rzq1 + 4·Ty1`."""
    words = []
    for name, weight in relation.items():
        sign = "-" if weight < 0 else "+"
        size = abs(weight)
        word = name if abs(size - 1.0) < 1e-6 else f"{size:.4g}·{name}"
        words.append(f"{sign} {word}" if words else (f"-{word}" if sign == "-" else word))
    return " ".join(words)
