"""The document's rules for writing down a complete irreducible model, for neighbouring axes at 0° or 90°.

A second route to the models of `strategies`, which decides: where the rules disagree with it they are refused.
They do for neighbouring parallel axes one of which is prismatic (P∥R, P∥P).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...calibration.identifiability.analysis import analyse, scaled_jacobian
from ...calibration.identifiability.postures import imagined
from ...calibration.measurements import Measurement, Position, measurement
from ...calibration.model.models import Model, Term, redundant_model
from ...errors import ModelError, ZvenoError
from ...robot_functions import RobotFunctions


@dataclass(frozen=True, eq=False)
class RuleModel:
    """A model from the rules: names kept, text in the document's notation, and what each step removed."""

    names: tuple[str, ...]
    text: str
    steps: tuple[str, ...]


def rule_model(robot: RobotFunctions, kind: Measurement | str = "pose") -> RuleModel:
    """The irreducible model by steps 1–2 (pose), 0–2 (position) or in the form (23) (relative to an unknown frame).

    Raises:
        ModelError: the axes are neither parallel nor perpendicular, or the rules disagree with the numeric
            selection.
    """
    what = measurement(kind)
    model = redundant_model(robot.mechanism, what.frame)
    chain = _Chain(model)
    relative = bool(what.left.free)
    steps: list[str] = []
    kept = chain.written_down()
    for i in range(1, chain.n + 1):
        removed = chain.removed_by(i, kept)
        if relative and model.term(removed).role == "base":
            removed = chain.joint_name(i)  # the form (23): all six terms of the base stay, and are fixed
        kept.remove(removed)
        steps.append(f"joint {i} removes {removed}")
    if isinstance(what, Position):
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
    _check(model, what, names)
    return RuleModel(names, model.text(names), tuple(steps))


class _Chain:
    """Directions of joints and terms in world axes at q = 0."""

    def __init__(self, model: Model):
        if any(move.sigma is None or move.joint.mimic is not None for move in model.moves):
            raise ModelError("the rules are for chains of independent revolute and prismatic joints")
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
        """T or R terms of link i; link 0 is the base."""
        block = self.model.blocks[self.model.paths[self.model.frames[0]][2 * i]]
        first = block.first + (3 if kind == "R" else 0)
        return list(self.model.terms[first : first + 3])

    def written_down(self) -> list[str]:
        """Step 1: six terms for the base; two displacements and two rotations across the axis of a revolute
        link, two rotations across that of a prismatic one."""
        names = [term.name for kind in "TR" for term in self.terms(0, kind)]
        for i in range(1, self.n + 1):
            names.append(self.joint_name(i))
            for kind in "TR" if self.model.moves[i - 1].sigma else "R":
                names += [t.name for t in self.terms(i, kind) if abs(self.directions[t.name] @ self.e[i]) < 1e-6]
        return names

    def removed_by(self, i: int, kept: list[str]) -> str:
        """Step 2: the term that the joint's own offset makes superfluous."""
        if not self.model.moves[i - 1].sigma:
            return self._along(i, "T", self.e[i], kept)
        parallel = i > 1 and abs(abs(self.e[i] @ self.e[i - 1]) - 1.0) < 1e-6
        if not parallel:
            return self._along(i, "R", self.e[i], kept)
        return self._across_link(i, kept)

    def removed_by_virtual_rotation(self, kept: list[str]) -> str:
        """The rotation about the last axis, with the measured point as its place, seen as one more joint."""
        if self.model.moves[-1].sigma:
            return self._across_link(self.n + 1, kept, self.e[-1])
        return self._along(self.n + 1, "R", self.e[-1], kept)

    def tool_rotations(self, kept: list[str]) -> list[str]:
        return [term.name for term in self.terms(self.n, "R") if term.name in kept]

    def _along(self, i: int, kind: str, direction, kept: list[str]) -> str:
        """The nearest term before joint i in a direction."""
        for j in range(i - 1, -1, -1):
            for term in self.terms(j, kind):
                if term.name in kept and abs(abs(self.directions[term.name] @ direction) - 1.0) < 1e-6:
                    return term.name
        raise ModelError(f"the rules find no term that joint {i} replaces")

    def _across_link(self, i: int, kept: list[str], axis=None) -> str:
        """The nearest displacement across a link that turning about the axis gives rise to.

        A link may lie askew to its own axes: of its terms the one that points most along the displacement counts.
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
        raise ModelError(f"the rules find no displacement that joint {i} replaces: the axes coincide")


def _check(model: Model, what: Measurement, names: tuple[str, ...]):
    """Refuse a model that is not complete and irreducible."""
    problem = imagined(model, what, max(20, 3 * len(model.terms) // what.n_rows))
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
    """Whether the rules give a complete irreducible model, and the model or the reason."""
    try:
        return True, rule_model(robot, kind).text
    except ZvenoError as error:
        return False, str(error)
