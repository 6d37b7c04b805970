"""Closed forms by canonical subproblems, where the geometry admits them: recognised, then solved in lanes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from ...kernels.compile import compiled_structured
from .. import scan
from ..ik_problem import IkProblem
from ..newton import CONVERGED, lanes_of, newton
from ..six_revolute.arm import merged
from ..six_revolute.polish import polish
from ..six_revolute.route import arm_of, as_raw
from ..six_revolute.templates import FLIP, chain, rigid_inverse
from ..solutions import Continuum, Raw
from .continua import aligned_branches, alignment_doubtful, parallel_continua, sixth_error
from .other_forms import (
    EDGE,
    MEETING,
    REAL,
    PointsForm,
    SlidingForm,
    WristForm,
    branch_kernel,
    points_form_of,
    sliding_form_of,
)
from .recognition import fitting

ITERATIONS = 24
"""Steps of Newton's method on candidates of a program."""


@dataclass(frozen=True, eq=False)
class Form:
    """A closed form that fits an arm.

    Attributes:
        name: for people.
        function: `spherical_wrist` or `three_parallel`.
        options: of the function.
        backwards: True if the arm is solved from its last joint to its first.
        h, a, e: axes (6, 3) of the arm, or of the arm walked backwards, with all angles zero.
        end_inverse: (4, 4) inverse of where the chain ends with all angles zero.
        links: L1 … L5, (5, 3, 4), and
        scale: (1,) factor of all lengths.

    Of several stacked forms these arrays have a leading axis.
    """

    name: str
    function: Callable[..., Any]
    options: tuple[tuple[str, str], ...]
    backwards: bool
    h: np.ndarray
    a: np.ndarray
    e: np.ndarray
    end_inverse: np.ndarray
    links: np.ndarray
    scale: np.ndarray

    def solve(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[Continuum]]:
        """Return poses (n,), solutions (n, 6) of targets X (k, 4, 4) in the arm's lengths; (k,) True if ambiguous.

        There is where branches meet, or one that exists was not closed by Newton's method. Fourth, the continua
        that a closed form knows as such. Solutions may repeat.
        """
        X = X * self._scaling
        D = (FLIP @ rigid_inverse(X) @ FLIP if self.backwards else X) @ self.end_inverse
        q, margin, gap, *sixth = branch_kernel(self.function, 6, self.options)(
            self.h, self.a, self.e, D[:, :3, :3], D[:, :3, 3]
        )
        curves: list[Continuum] = []
        points: list[Continuum] = []
        aligned, rounding, unclear = None, 0.0, False
        if sixth:
            aligned, rounding, unclear = aligned_branches(sixth[0]), sixth_error(*sixth), alignment_doubtful(*sixth)
        if aligned is not None:
            curves, points = self._continua(D, aligned)
            margin, gap = np.where(aligned, -1.0, margin), np.where(aligned, 1.0, gap)
        doubt = np.asarray((gap < MEETING).any(1)) | unclear
        pose, branch = (margin > -EDGE - rounding).nonzero()
        q = q[pose, branch]
        links = self.links if self.links.ndim == 3 else self.links[pose]
        goals = X[0, :3] if len(X) == 1 else X[pose, :3]
        q, closed = polish(links, goals, q[:, ::-1] if self.backwards else q, steps=30)
        if not closed.all():
            doubt[pose[~closed & ((margin + rounding)[pose, branch] > REAL)]] = True
            pose, q = pose[closed], q[closed]
        if points:  # rounding decides whether such a configuration exists, and whether it is one or an arc
            touching = np.array([point.pose for point in points])
            doubt[touching] = True
            pose, q = np.concatenate([pose, touching]), np.concatenate([q, *[point.x for point in points]])
            order = pose.argsort(kind="stable")
            pose, q = pose[order], q[order]
        return pose, q, doubt, curves

    def _continua(self, D: np.ndarray, aligned: np.ndarray) -> tuple[list[Continuum], list[Continuum]]:
        """Find continua of displacements D (k, 4, 4), whose branches (k, 8) are `aligned`, and single points."""
        continua, points = [], []
        for i in np.flatnonzero(aligned.any(axis=1)):
            h, a, e = (part if part.ndim == 2 else part[i] for part in (self.h, self.a, self.e))
            first = aligned[i].reshape(2, 4).any(1)
            curves, touching = parallel_continua(h, a, e, D[i, :3, :3], D[i, :3, 3], first, EDGE)
            for found, rows in ((continua, curves), (points, [point[None] for point in touching])):
                found += [Continuum(int(i), q[:, ::-1] if self.backwards else q) for q in rows]
        return continua, points

    @cached_property
    def _scaling(self) -> np.ndarray:
        """(4, 4), or one for each target: factors of a pose's entries that scale its lengths."""
        factors = np.ones((*self.scale.shape[:-1], 4, 4))
        factors[..., :3, 3] = self.scale
        return factors

    def of(self, which: np.ndarray) -> Form:
        """Return some of several stacked forms, perhaps repeatedly, one per target."""
        return replace(self, **{name: getattr(self, name)[which] for name in _PER_ARM})

    def like(self, other: Form) -> bool:
        """Return True if both are the same formula, for arms of other lengths."""
        return (self.function, self.options, self.backwards) == (other.function, other.options, other.backwards)


_PER_ARM = ("h", "a", "e", "end_inverse", "links", "scale")


def stacked(forms: list[Form]) -> Form:
    """Stack forms that are all `like` the first, for as many targets as there are forms."""
    return replace(forms[0], **{name: np.stack([getattr(form, name) for form in forms]) for name in _PER_ARM})


class ClosedForm:
    """Arms that canonical subproblems solve: wrists or shoulders whose axes meet, parallel axes, slides, points."""

    name = "closed_form"

    def applies(self, problem: IkProblem) -> bool:
        """Return True if the joints are independent and a closed form fits a pose, or a point for three joints."""
        return problem.simple and form_of_problem(problem) is not None

    def solve(self, problem: IkProblem, T: np.ndarray) -> Raw:
        """Find all solutions of poses (k, 4, 4). Where branches meet, a general method is used too."""
        before, after = problem.end_transforms
        form = form_of_problem(problem)
        assert form is not None
        if isinstance(form, Form):
            return as_raw(*all_solutions(problem.constants[:6].tobytes(), before @ T @ after))
        if isinstance(form, SlidingForm):
            pose, x, meeting = form.solve(before @ T @ after)
        else:
            pose, x, meeting = _by_program(problem, form, T)
        complete = ~meeting
        if meeting.any():
            unclear = meeting.nonzero()[0]
            raw = scan.solver.solve(problem, T[unclear])
            complete[unclear] = raw.complete
            pose = np.concatenate([pose, unclear.repeat(raw.count)])
            order = pose.argsort(kind="stable")
            more = raw.x[np.arange(raw.x.shape[1]) < raw.count[:, None]]
            pose, x = pose[order], np.concatenate([x, more])[order]
        return as_raw(pose, x, complete)

    def explain(self, problem: IkProblem) -> str:
        """Name the closed form."""
        form = form_of_problem(problem)
        assert form is not None
        return f"Closed form by canonical subproblems: {form.name}."


def _by_program(
    problem: IkProblem, form: PointsForm | WristForm, T: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return poses (n,) and solutions (n, joints) of poses T (k, 4, 4), and where there may be others.

    The candidates are those of the compiled program. One that Newton's method does not take to the pose leaves a
    doubt.
    """
    from ..native.points.program import candidates_only
    from ..native.points.tables import points_tables

    kernel = compiled_structured(
        candidates_only, points_tables(problem, form), name="ik_point", state_by_state=True
    )
    listed, found = kernel(T)
    count, doubt = found.T
    pose, row = (np.arange(listed.shape[1]) < count[:, None]).nonzero()
    lanes = lanes_of(problem, T)
    x, squared = newton(problem, listed[pose, row], lanes.targets[pose], lanes.tool, ITERATIONS)
    meeting, reached = doubt > 0.0, squared < CONVERGED
    meeting[pose[~reached]] = True
    return pose[reached], problem.from_units(x[reached]), meeting


def all_solutions(
    links: bytes, X: np.ndarray, allowed: Any = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[Continuum]]:
    """Return poses (n,) and solutions (n, 6) of six links for targets X (k, 4, 4), completeness, and continua.

    The closed form is used if the arm has one; the general method if not, and where the former is ambiguous.
    """
    form = form_of(links)
    if form is None:
        solutions = arm_of(links).solve(X, allowed)
        return solutions.pose, solutions.q, solutions.sure, []
    pose, q, meeting, curves = form.solve(X)
    complete = ~meeting
    if np.count_nonzero(meeting):
        arm = arm_of(links)
        if arm.solvable:
            more = arm.solve(X[meeting], allowed)
            complete[meeting] = more.sure
            own = meeting[pose]  # poses without doubt stay as they are, whatever is beside them
            unclear = np.concatenate([pose[own], meeting.nonzero()[0][more.pose]])
            unclear, found = merged(unclear, np.concatenate([q[own], more.q]))
            pose, q = np.concatenate([pose[~own], unclear]), np.concatenate([q[~own], found])
            order = pose.argsort(kind="stable")
            pose, q = pose[order], q[order]
    return pose, q, complete, curves


@lru_cache(maxsize=64)
def form_of_problem(problem: IkProblem) -> Form | SlidingForm | WristForm | PointsForm | None:
    """Return the closed form that fits the chain and the task of a problem, or None."""
    task = problem.task
    if task.is_pose and problem.kinds == "RRRRRR":
        return form_of(problem.constants[:6].tobytes())
    if task.is_pose:
        return sliding_form_of(problem.kinds, problem.constants[:-1].tobytes())
    points = len(task.position) == 3 and not task.rotation and not task.axis
    return points_form_of(problem.kinds, problem.constants.tobytes()) if points else None


@lru_cache(maxsize=64)
def form_of(constants: bytes) -> Form | None:
    """Return the closed form that fits six links (6, 4, 4) given as bytes, or None."""
    L = np.frombuffer(constants).reshape(6, 4, 4).copy()
    L[0] = np.eye(4)
    size = np.linalg.norm(L[:, :3, 3], axis=1).sum()
    scale = 2.0 / size if size > 0 else 1.0
    L[:, :3, 3] *= scale
    reverse = np.concatenate([np.eye(4)[None], FLIP @ rigid_inverse(L[:0:-1]) @ FLIP])
    for links, backwards in ((L, False), (reverse, True)):
        fit = fitting(links)
        if fit is not None:
            name, function, options, h, a, e = fit
            end = rigid_inverse(chain(links, np.zeros(6)))
            where = " from the last joint to the first" if backwards else ""
            return Form(
                name + where, function, options, backwards, h, a, e, end, L[1:, :3].copy(), np.array([scale])
            )
    return None


solver: ClosedForm = ClosedForm()
