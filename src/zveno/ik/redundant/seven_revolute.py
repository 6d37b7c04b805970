"""Seven revolute joints: one is held at many values, and each slice is an arm of six, solved completely."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from ..clock import time_is_over
from ..closed_form.forms import Form, all_solutions, form_of, stacked
from ..ik_problem import IkProblem
from ..six_revolute.arm import Arm, merged
from ..six_revolute.polish import mobile
from ..six_revolute.route import arm_of, explained, ranges
from ..six_revolute.templates import chain, rigid_inverse
from .slices import Sliced

GENERIC = 0.3819
"""Place of the held joint in its range while a template is chosen: not an angle that geometry makes special."""


def applies(problem: IkProblem, coordinate: int) -> bool:
    """Return True for seven independent revolute joints, a whole pose, and a redundant joint."""
    if not is_seven(problem):
        return False
    generic = _generic(problem, coordinate)
    return generic.mobile and (generic.form is not None or generic.arm.solvable)


def closed_form(problem: IkProblem, coordinate: int) -> Form | None:
    """Return the closed form that slices of a joint generally have, None if they have none or reach no pose."""
    if not is_seven(problem):
        return None
    generic = _generic(problem, coordinate)
    return generic.form if generic.form is not None and generic.mobile else None


def is_seven(problem: IkProblem) -> bool:
    """Return True for seven independent revolute joints and a whole pose."""
    return problem.kinds == "RRRRRRR" and problem.simple and problem.task.is_pose


def solve_slices(problem: IkProblem, T: np.ndarray, coordinate: int, values: np.ndarray) -> Sliced:
    """Find all solutions of k poses (k, 4, 4) with one joint at each of the values, inside limits.

    All slices of all poses are one batch: the arms differ in one link, which the kernels take as an input. Where a
    value is special, so that the template chosen for the others is of no use, the slice is set up by itself.
    """
    values = np.asarray(values, float)
    cuts = _slices(problem, coordinate, tuple(values.tolist()))
    n, k = len(values), len(T)
    cut, pose = np.arange(n).repeat(k), np.tile(np.arange(k), n)
    X = cuts.first[cut] @ T[pose] @ cuts.last[cut]
    allowed = ranges(problem)
    if allowed is not None:
        allowed = allowed[:coordinate] + allowed[coordinate + 1 :]
    rows, q = _solved(cuts, cut, X, allowed)
    x = np.insert(q, coordinate, values[cut[rows]], axis=1)
    x = problem.wrapped(x)
    x[:, coordinate] = values[cut[rows]]
    inside = problem.inside(x)
    rows, x = rows[inside], x[inside]
    order = np.lexsort((cut[rows], pose[rows]))
    return Sliced(pose[rows][order], cut[rows][order], x[order])


def _solved(cuts: Cuts, cut: np.ndarray, X: np.ndarray, allowed) -> tuple[np.ndarray, np.ndarray]:
    """Return target indices (n,) and solutions (n, 6) of targets X that belong to the samples `cut`.

    Closed forms where slices have one; the general method elsewhere, and where branches of a closed form meet.
    """
    rest, rows, q = np.arange(len(X)), np.zeros(0, int), np.zeros((0, 6))
    if cuts.form is not None:
        targets = (cuts.place[cut] >= 0).nonzero()[0]
        row, q, meeting, curves = cuts.form.of(cuts.place[cut[targets]]).solve(X[targets])
        rows = np.concatenate([targets[row], *([targets[curve.pose]] * len(curve.x) for curve in curves)])
        q = np.concatenate([q, *(curve.x for curve in curves)])
        rest = np.concatenate([targets[meeting], (cuts.place[cut] < 0).nonzero()[0]])
    if not len(rest):
        return rows, q
    special = cuts.special[cut[rest]]
    rest, own_way = rest[~special], rest[special]
    if len(rest):
        solutions = cuts.arms.of(cut[rest]).solve(X[rest], allowed)
        rows, q = np.concatenate([rows, rest[solutions.pose]]), np.concatenate([q, solutions.q])
        own_way = np.concatenate([own_way, rest[~solutions.sure]])
    for s in np.flatnonzero(np.bincount(cut[own_way])):
        if time_is_over():
            break
        targets = own_way[cut[own_way] == s]
        row, x, _, _ = all_solutions(cuts.links[s].tobytes(), X[targets], allowed)
        rows, q = np.concatenate([rows, targets[row]]), np.concatenate([q, x])
    return merged(rows, q)


def explain(problem: IkProblem, coordinate: int, slices: int) -> str:
    """Describe the route of slices in sentences."""
    names = [step.joint for step in problem.steps]
    rest = names[:coordinate] + names[coordinate + 1 :]
    generic = _generic(problem, coordinate)
    form = generic.form
    how = explained(generic.arm, rest) if form is None else f"Closed form by canonical subproblems: {form.name}."
    return f"{names[coordinate]} is held at {slices} values; each slice is an arm of six joints. {how}"


def held(problem: IkProblem, coordinate: int, values: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return arms of six with a joint held at values (n,): first transforms, links, last transforms, (n, ...)."""
    C = np.broadcast_to(problem.constants, (len(values), 8, 4, 4))
    Z = np.zeros((len(values), 4, 4))
    Z[:, 0, 0] = Z[:, 1, 1] = np.cos(values)
    Z[:, 1, 0], Z[:, 0, 1] = np.sin(values), -np.sin(values)
    Z[:, 2, 2] = Z[:, 3, 3] = 1.0
    joined = C[:, coordinate] @ Z @ C[:, coordinate + 1]
    C = np.concatenate([C[:, :coordinate], joined[:, None], C[:, coordinate + 2 :]], axis=1)
    return C[:, 0], C[:, :6], C[:, 6]


class Generic:
    """The arm with a joint held at an angle without special meaning, links (6, 4, 4)."""

    def __init__(self, links: np.ndarray):
        self.links = links

    @cached_property
    def form(self) -> Form | None:
        """Its closed form, if it has one."""
        return form_of(self.links.tobytes())

    @cached_property
    def mobile(self) -> bool:
        """True if it has a regular configuration."""
        return mobile(np.ascontiguousarray(self.links[1:, :3]))

    @cached_property
    def arm(self) -> Arm:
        """For the general method, which takes long to set up and may never be asked."""
        return arm_of(self.links.tobytes())


@dataclass(frozen=True, eq=False)
class Cuts:
    """Slices: arms that differ in the angle of the held joint.

    Attributes:
        first: (n, 4, 4), inverse of the transform before the first joint.
        links: (n, 6, 4, 4).
        last: (n, 4, 4), inverse of the transform after the last joint.
        generic: the arm with the joint held elsewhere.
        form: those with the closed form that the generic one has, stacked.
        place: (n,) index of a slice among them; −1 if it is not.
    """

    first: np.ndarray
    links: np.ndarray
    last: np.ndarray
    generic: Generic
    form: Form | None
    place: np.ndarray

    @cached_property
    def arms(self) -> Arm:
        """All of them, for the general method."""
        return self.generic.arm.on(self.links)

    @cached_property
    def special(self) -> np.ndarray:
        """(n,) True for slices that the template chosen for the others cannot solve."""
        return _special(self.arms)


@lru_cache(maxsize=32)
def _generic(problem: IkProblem, coordinate: int) -> Generic:
    lower, upper = problem.span[0][coordinate], problem.span[1][coordinate]
    return Generic(held(problem, coordinate, np.array([lower + GENERIC * (upper - lower)]))[1][0])


@lru_cache(maxsize=8)
def _slices(problem: IkProblem, coordinate: int, values: tuple[float, ...]) -> Cuts:
    first, links, last = held(problem, coordinate, np.array(values))
    generic = _generic(problem, coordinate)
    form, alike, place = generic.form, [], np.full(len(values), -1)
    for i, arm_links in enumerate(links if form is not None else ()):
        fit = form_of(arm_links.tobytes())
        if fit is not None and form is not None and fit.like(form):
            place[i] = len(alike)
            alike.append(fit)
    together = stacked(alike) if alike else None
    return Cuts(rigid_inverse(first), links, rigid_inverse(last), generic, together, place)


def _special(arms: Arm, n: int = 2) -> np.ndarray:
    """Return True (slices,) if the first template certifies none of n random targets."""
    which = np.arange(len(arms.L)).repeat(n)
    q = np.random.default_rng(1).uniform(-np.pi, np.pi, (len(which), 6))
    solutions = arms.of(which).first(chain(arms.L[which], q))
    return solutions.sure.reshape(-1, n).sum(axis=1) == 0
