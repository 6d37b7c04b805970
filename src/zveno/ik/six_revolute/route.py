"""Six revolute joints as a method of `solve_ik`: problems to arms, limits to ranges, and the story for people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ...kernels import ops as zm
from ...kernels.compile import compiled
from ...spatial import rotations
from ..ik_problem import TURN, IkProblem
from ..solutions import Continuum, Raw
from . import roots
from .arm import Arm, ArmSolutions

STILL = 1e-6
"""Up to this angle, rad, a joint that was added counts as at zero; the pose is checked later."""
SLACK = 1e-6
"""Beyond a limit, rad, a root is still looked for; roots really outside are dropped later."""


class Curve(NamedTuple):
    """The function of one angle whose zeros hold all solutions of one pose, for a drawing.

    Attributes:
        joint: name of the joint that is scanned.
        angle: (n,) its angle, −π to π.
        value: (n,) the function, greatest sample 1.
        roots: (r,) its zeros, ascending.
        solutions: (s, joints) all solutions, limits disregarded.
        at: (s,) the zero each solution belongs to, a number below r.
        inside: (s,) True if a solution is within limits.
        limits: (low, high) of the joint; infinite where it has none.
    """

    joint: str
    angle: np.ndarray
    value: np.ndarray
    roots: np.ndarray
    solutions: np.ndarray
    at: np.ndarray
    inside: np.ndarray
    limits: tuple[float, float]

    def explain(self) -> str:
        """Describe the zeros of this pose in a sentence."""
        held = len(np.unique(self.at))
        text = f"At this pose p has {_count(len(self.roots), 'zero')}"
        if held < len(self.roots):
            text += f", {len(self.roots) - held} of which belong to no configuration"
        outside = int(np.sum(~self.inside))
        text += f": {_count(len(self.solutions), 'configuration')}"
        return text + (f", {outside} of them outside the limits." if outside else ", all inside the limits.")


def _count(n: int, what: str) -> str:
    return f"{n or 'no'} {what}{'s' * (n != 1)}"


class SixRevolute:
    """Every solution of any arm with six revolute joints, by the roots of one polynomial."""

    name = "six_revolute"

    def applies(self, problem: IkProblem) -> bool:
        """Return True for three to six independent revolute joints, a whole pose, and a usable template."""
        return (
            problem.kinds in ("RRR", "RRRR", "RRRRR", "RRRRRR")
            and problem.simple
            and problem.task.is_pose
            and arm_of(links_of(problem), problem.n).solvable
        )

    def solve(self, problem: IkProblem, T: np.ndarray) -> Raw:
        """Find all solutions of poses (k, 4, 4). If limits leave none, return those outside limits."""
        arm = arm_of(links_of(problem), problem.n)
        X = targets(problem, T)
        allowed = ranges(problem)
        solutions = _real(arm.solve(X, allowed), problem.n)
        if allowed is not None:
            inside = over_limits(problem, solutions.q) <= SLACK
            none = (np.bincount(solutions.pose[inside], minlength=len(X)) == 0).nonzero()[0]
            if len(none):
                solutions = _with(solutions, _real(arm.solve(X[none]), problem.n), none)
        return as_raw(solutions.pose, solutions.q, solutions.sure)

    def explain(self, problem: IkProblem) -> str:
        """Describe the route, the scan joint and the template."""
        names = [step.joint for step in problem.steps] + ["a joint added at the end"] * (6 - problem.n)
        return explained(arm_of(links_of(problem), problem.n), names)


def explained(arm: Arm, names: list[str]) -> str:
    """Describe the scan joint, the template, and the fallback of an arm whose joints have these names."""
    e = arm.chosen[0]
    t = e.template
    walk = "backwards" if t.backwards else "forwards"
    extra = "" if e.dimension == 1 else f" {e.dimension} configurations share a zero, as a rule."
    second = (
        f" Where zeros are too close to tell, the polynomial of {names[arm.chosen[1].template.scan_joint]} decides."
        if len(arm.chosen) > 1
        else ""
    )
    return (
        f"All configurations are zeros of one trigonometric polynomial p of the angle of {names[t.scan_joint]}.\n"
        f"The loop is cut before {names[t.order[0]]} and walked {walk}; {e.equations} equations are left "
        f"of 14 when {names[t.order[0]]} and {names[t.order[1]]} are eliminated.{extra}{second}"
    )


def curve(problem: IkProblem, T: np.ndarray, n: int = 1441) -> Curve:
    """Return the polynomial of one pose (4, 4) with its zeros, as `zveno ik --explain` draws it."""
    arm = arm_of(links_of(problem), problem.n)
    e = arm.chosen[0]
    t = e.template
    k = t.scan_joint
    X = targets(problem, T[None])
    x = problem.wrapped(_real(arm.solve(X), problem.n).q)
    X[:, :3, 3] *= arm.scale
    c = roots.polynomials(e.determinants(e.system(X[:, :3])[0], roots.SAMPLE_POINTS))
    offset = t.scan_offset
    angle = np.linspace(-np.pi, np.pi, n)
    zeros = np.sort(_turned(roots.isolate(c).y + offset))
    at = np.argmin(abs(_turned(x[:, k, None] - zeros)), axis=1) if len(x) and len(zeros) else np.zeros(0, int)
    value, limits = roots.values(c, angle - offset), (float(problem.lower[k]), float(problem.upper[k]))
    return Curve(problem.steps[k].joint, angle, value, zeros, x, at, problem.inside(x), limits)


def _turned(angle: np.ndarray) -> np.ndarray:
    """Return angles in [−π, π]."""
    return angle - TURN * np.round(angle / TURN)


def as_raw(pose: np.ndarray, q: np.ndarray, complete: np.ndarray, curves: Sequence[Continuum] = ()) -> Raw:
    """Return solutions in order of their poses, padded."""
    k = len(complete)
    if k == 1:
        return Raw(q[None], np.array([len(q)]), complete, tuple(curves))
    count = np.bincount(pose, minlength=k)
    x = np.full((k, max(count.max(initial=0), 1), q.shape[1]), np.nan)
    x[pose, np.arange(len(pose)) - (np.cumsum(count) - count)[pose]] = q
    return Raw(x, count, complete, tuple(curves))


def excess(q: Any, middle: Any, half: Any) -> Any:
    """Return the largest joint-limit violation in rad, modulo 2π; negative if feasible."""
    worst = -np.inf
    for angle, about, reach in zip(q, middle, half, strict=True):
        d = angle - about
        worst = zm.maximum(worst, zm.abs(d - TURN * zm.floor(d * (1.0 / TURN) + 0.5)) - reach)
    return worst


def over_limits(problem: IkProblem, q: np.ndarray) -> np.ndarray:
    """Return `excess` of angles (..., n) over the limits of a problem."""
    kernel, middle, half = _limits(problem)
    return kernel(q, middle, half)


@lru_cache(maxsize=64)
def _limits(problem: IkProblem):
    n = problem.n
    ended = np.isfinite(problem.upper - problem.lower)
    lower, upper = np.where(ended, problem.lower, -TURN), np.where(ended, problem.upper, TURN)
    middle, half = (lower + upper) / 2, (upper - lower) / 2
    return compiled(excess, {"q": (n,), "middle": (n,), "half": (n,)}), middle, half


def targets(problem: IkProblem, T: np.ndarray) -> np.ndarray:
    """Return targets (k, 4, 4) of the chain from first to last joint, joints added at the end at zero."""
    before, after = problem.end_transforms
    X = before @ T @ after
    if problem.n < 6:
        for link in _added(problem):
            X = X @ link
    return X


@lru_cache(maxsize=64)
def links_of(problem: IkProblem) -> bytes:
    """Return C0 … C5 as bytes. An arm of fewer joints is one of six whose last ones, added here, stay at zero."""
    return np.concatenate([problem.constants[: problem.n], _added(problem)]).tobytes()


def _added(problem: IkProblem) -> np.ndarray:
    """Return links (6 − n, 4, 4) of the size of the arm, in no special position."""
    links = np.zeros((6 - problem.n, 4, 4))
    for i, link in enumerate(links):
        link[:3, :3] = rotations.exp(np.array([0.9, -0.7 - 0.2 * i, 0.4 * i]))
        link[:3, 3] = problem.length * np.array([0.31, 0.17 + 0.05 * i, -0.23])
        link[3, 3] = 1.0
    return links


def _real(solutions: ArmSolutions, n: int) -> ArmSolutions:
    """Return the solutions in which added joints stay at zero, without these joints."""
    if n == 6:
        return solutions
    extra = solutions.q[:, n:]
    still = (abs(extra - TURN * np.round(extra / TURN)) < STILL).all(1)
    return replace(solutions, pose=solutions.pose[still], q=solutions.q[still, :n])


@lru_cache(maxsize=64)
def ranges(problem: IkProblem) -> tuple[Any, ...] | None:
    """Return for each joint the range that limits leave, None for all of it; None if no joint is limited."""
    limited = problem.upper - problem.lower < TURN
    if not limited.any() and problem.n >= 6:
        return None
    limited_ranges = (
        ((float(low) - SLACK, float(high) + SLACK),) if narrow else None
        for low, high, narrow in zip(problem.lower, problem.upper, limited, strict=True)
    )
    return (*limited_ranges, *[((-SLACK, SLACK),)] * (6 - problem.n))


@lru_cache(maxsize=64)
def arm_of(constants: bytes, joints: int = 6) -> Arm:
    """Return the arm of six links (6, 4, 4) given as bytes, of which the first joints are real; set up once."""
    return Arm(np.frombuffer(constants).reshape(6, 4, 4), joints)


def _with(solutions: ArmSolutions, more: ArmSolutions, poses: np.ndarray) -> ArmSolutions:
    """Replace the solutions of some poses."""
    keep = ~np.isin(solutions.pose, poses)
    pose, q = np.r_[solutions.pose[keep], poses[more.pose]], np.concatenate([solutions.q[keep], more.q])
    order = np.argsort(pose, kind="stable")
    flags = []
    for name in ("sure", "settled"):
        flag = getattr(solutions, name).copy()
        flag[poses] = getattr(more, name)
        flags.append(flag)
    return ArmSolutions(pose[order], q[order], *flags)


solver: SixRevolute = SixRevolute()
