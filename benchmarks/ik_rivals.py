"""All solutions of arms with six revolute joints beside EAIK, ssik, ikdh, ik-geo and RTB, on the same poses.

Truth is the union of what all of them and Newton's method from many random starts find, checked by forward
kinematics. A rival that is not installed, or does not take an arm, has a row that says so. Beside EAIK also poses
near singular ones: one joint is away from where det J vanishes by a given angle.
"""

from __future__ import annotations

import importlib.util
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import zveno
from zveno.ik.closed_form.axis_geometry import meeting_point, parallel
from zveno.ik.ik_problem import problem_of
from zveno.ik.six_revolute.arm import Arm, merged
from zveno.ik.six_revolute.polish import polish
from zveno.ik.six_revolute.templates import rigid_inverse

from .ik_law import singular_angles
from .timing import Row

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "ik"))
import ik_arms  # pyright: ignore[reportMissingImports]  (arms of the tests)
from ik_answers import robot_of  # pyright: ignore[reportMissingImports]

POSES, STARTS = 60, 1500
SOLVED = 1e-13
"""Error of a pose, m and rad, of a true solution: beside a singularity what misses by 1e-12 is mrad away."""
NEAR, DISTANCES = ("ur5", "puma", "kuka"), (1e-3, 1e-6)
"""Arms and angles, rad, from singular, at which EAIK is run too."""
LONGEST_SETUP = 60.0
"""Seconds of set-up above which a rival that says so beforehand is not run."""
SAME, RIGHT = 1e-3, 1e-5
"""Angles, rad, up to which solutions are the same; error of a pose, m and rad, up to which one counts as found."""


class Prepared(NamedTuple):
    """A rival ready for an arm: one pose (4, 4) → (n, 6), and (n,) which it calls approximate; or why it is not."""

    solve: Callable | None
    setup: float = np.nan
    why: str = ""


def run() -> list[Row]:
    """All comparisons, one row an arm and a rival; times of a pose, one at a time on both sides."""
    zveno.set_threads(1)
    known = ik_arms.known_arms()
    arms = [known[name] for name in ("ur5", "puma", "kuka_limits", "jaco", "manseur_doty")]
    arms += [_built_in("puma560"), *ik_arms.general_arms(1, seed=500), *ik_arms.industrial_arms(2, seed=600)]
    rows = [row for arm in arms for row in _of(arm, arm.poses(POSES, seed=11)[1], RIVALS)]
    beside = {name: prepare for name, prepare in RIVALS.items() if name == "EAIK"}
    near = [_of(known[name], _near_singular(known[name], off), beside, off) for name in NEAR for off in DISTANCES]
    return rows + [row for of_arm in near for row in of_arm]


def _near_singular(arm, off: float) -> np.ndarray:
    """Poses (POSES, 4, 4) with the second, third or fifth joint `off` from where det J vanishes."""
    robot, rng = robot_of(arm), np.random.default_rng(12)
    q = rng.uniform(-np.pi, np.pi, (POSES, 6))
    joint = rng.choice([1, 2, 4], POSES)
    q[np.arange(POSES), joint] = singular_angles(robot, q, joint, rng) + off * rng.choice([-1, 1], POSES)
    return arm.forward(q)


def _of(arm, T: np.ndarray, rivals: dict[str, Callable], off: float = 1.0) -> list[Row]:
    answers, times, setups, notes = {}, {}, {}, {}
    solvers = {"zveno": _ours} | rivals
    for name, prepare in solvers.items():
        ready = prepare(arm)
        if ready.solve is None:
            notes[name] = ready.why
            continue
        setups[name] = ready.setup
        answers[name], times[name] = _timed(ready.solve, T)
    truth = _truth(arm, T, answers)
    found = {name: _account(arm, T, truth, own) for name, own in answers.items()}
    total = sum(map(len, truth))
    where = arm.name if off == 1.0 else f"{arm.name}, {off:g} from singular"
    return [_row(where, name, total, found, times, setups, notes) for name in rivals]


def _row(arm: str, rival: str, total: int, found, times, setups, notes) -> Row:
    ours = f"{arm}, {total} solutions: ours misses {found['zveno'][0]}"
    if rival in notes:
        return Row(f"{ours}; {rival} {notes[rival]}", times["zveno"], np.nan, rival)
    missing, outside, wrong = found[rival]
    what = f"{ours}, theirs {missing}, {outside} outside limits, {wrong} wrong; set-up {setups[rival]:.2g} s"
    return Row(f"{what} (ours {setups['zveno']:.2g})", times["zveno"], times[rival], rival)


def _timed(solve: Callable, T: np.ndarray) -> tuple[list[tuple], float]:
    """Answers for every pose, and the median of seconds a pose, the better of two runs of each."""
    answers = [(np.asarray(q, float).reshape(-1, 6), np.asarray(flags, bool)) for q, flags in map(solve, T)]
    taken = []
    for one in T:
        best = np.inf
        for _ in range(2):
            start = time.perf_counter()
            solve(one)
            best = min(best, time.perf_counter() - start)
        taken.append(best)
    return answers, float(np.median(taken))


def _truth(arm, T: np.ndarray, answers: dict[str, list[tuple]]) -> list[np.ndarray]:
    """All distinct solutions of every pose, to rounding, wherever they come from."""
    ready = Arm(arm.F)
    X = rigid_inverse(arm.F[0]) @ T @ rigid_inverse(arm.tool)
    X[:, :3, 3] *= ready.scale
    rng = np.random.default_rng(77)
    out = []
    for i in range(len(T)):
        starts = [rng.uniform(-np.pi, np.pi, (STARTS, 6))] + [own[i][0] for own in answers.values()]
        q, closed = polish(ready.L[1:, :3], X[i, :3], np.concatenate(starts), steps=30)
        q = q[closed]
        q = q[abs(arm.forward(q) - T[i]).max((1, 2), initial=0) < SOLVED]
        out.append(merged(np.zeros(len(q), int), q)[1])
    return out


def _account(arm, T: np.ndarray, truth: list[np.ndarray], own: list[tuple]) -> tuple[int, int, int]:
    """How many solutions are missing, and how many answers are outside limits, and wrong without saying so."""
    missing = outside = wrong = 0
    for pose, true, (q, approximate) in zip(T, truth, own, strict=True):
        right = abs(arm.forward(q) - pose).max((1, 2), initial=0) < RIGHT
        wrong += int(np.sum(~right & ~approximate))
        q = q[right]
        d = true[:, None] - q
        far = abs(d - 2 * np.pi * np.round(d / (2 * np.pi))).max(2).min(1, initial=np.inf) > SAME
        missing += int(np.sum(far & _inside(arm, true)))
        outside += int(np.sum(~_inside(arm, q)))
    return missing, outside, wrong


def _inside(arm, q: np.ndarray) -> np.ndarray:
    """Whether whole turns bring every angle into the limits."""
    middle, half = (arm.lower + arm.upper) / 2, (arm.upper - arm.lower) / 2
    d = q - middle
    return (abs(d - 2 * np.pi * np.round(d / (2 * np.pi))) <= half + 1e-6).all(1)


def _built_in(name: str):
    problem = problem_of(zveno.load(name))
    C = problem.constants
    return ik_arms.Arm(name, C[:6], C[6], problem.lower, problem.upper)


def _setup(make: Callable) -> tuple[Any, float]:
    start = time.perf_counter()
    return make(), time.perf_counter() - start


def _ours(arm) -> Prepared:
    robot_of(arm).ik(arm.poses(1)[1][0])  # kernels are cached on disk; set-up is what a new arm costs
    robot, limits = robot_of(arm), (arm.lower, arm.upper)
    _, setup = _setup(lambda: robot.ik(arm.poses(1)[1][0], limits=limits))

    def solve(T):
        answer = robot.ik(T, limits=limits)
        return _exact(np.concatenate([answer.of(), *(family.q for family in answer.self_motions.get(0, ()))]))

    return Prepared(solve, setup)


def _exact(q) -> tuple[np.ndarray, np.ndarray]:
    q = np.reshape(q, (-1, 6))
    return q, np.zeros(len(q), bool)


def _missing(package: str) -> Prepared | None:
    return None if importlib.util.find_spec(package) else Prepared(None, why="not installed")


def _eaik(arm) -> Prepared:
    if (no := _missing("eaik")) is not None:
        return no
    from eaik.IK_Homogeneous import HomogeneousRobot  # type: ignore[import-not-found]  (a rival, an extra)

    frames, T = [], np.eye(4)
    for F in arm.F:
        T = T @ F
        frames.append(T)
    robot, setup = _setup(lambda: HomogeneousRobot(np.array([*frames, T @ arm.tool])))
    if not robot.hasKnownDecomposition():
        return Prepared(None, why="does not know its class")

    def solve(T):
        found = robot.IK(T)
        return np.reshape(found.Q, (-1, 6)), found.is_LS

    return Prepared(solve, setup)


def _dh(arm) -> tuple[list[float], list[float], list[float]] | None:
    """Standard (a, d, α) of an arm that has them, else None."""
    links = [*arm.F[1:], arm.tool]
    a, d = ([float(T[k, 3]) for T in links] for k in (0, 2))
    alpha = [float(np.arctan2(T[2, 1], T[1, 1])) for T in links]
    same = ik_arms.dh_arm("same", a, alpha, d)
    close = np.allclose(same.F, arm.F, atol=1e-9) and np.allclose(same.tool, arm.tool, atol=1e-9)
    return (a, d, alpha) if close else None


def _ssik(arm) -> Prepared:
    if (no := _missing("ssik")) is not None:
        return no
    import ssik  # type: ignore[import-not-found]  (a rival, an extra)

    dh = _dh(arm)
    if dh is None:
        return Prepared(None, why="needs a table of standard parameters")
    a, d, alpha = dh
    robot = ssik.Manipulator.from_dh(alpha, a, d, limits=np.stack([arm.lower, arm.upper], 1))
    expected = robot.dispatch_plan.estimated_precompute_seconds or 0.0
    if expected > LONGEST_SETUP:
        return Prepared(None, why=f"expects {expected:.0f} s of set-up, not run")
    _, setup = _setup(robot.prepare)
    return Prepared(lambda T: _exact(np.array([one.q for one in robot.solve(T, enumerate_windings=False)])), setup)


def _ikdh(arm) -> Prepared:
    if (no := _missing("ikdh")) is not None:
        return no
    import ikdh  # type: ignore[import-not-found]  (a rival, an extra)

    dh = _dh(arm)
    if dh is None:
        return Prepared(None, why="needs a table of standard parameters")
    limits = ikdh.JointLimits(list(zip(np.degrees(arm.lower), np.degrees(arm.upper), strict=True)))
    robot, setup = _setup(lambda: ikdh.Solver(ikdh.DHTable(*dh, [0.0] * 6), limits))
    return Prepared(lambda T: _exact(np.radians(robot.solve(T))), setup)


def _ik_geo(arm) -> Prepared:
    if (no := _missing("ik_geo")) is not None:
        return no
    from ik_geo import Robot  # type: ignore[import-not-found]  (a rival, an extra)

    T, h, points = np.eye(4), [], [np.zeros(3)]
    for F in arm.F:
        T = T @ F
        h.append(T[:3, 2])
        points.append(T[:3, 3])
    zero = T @ arm.tool
    h, a = np.array(h), np.array(points[1:])
    kind = _ik_geo_class(h, a)
    if kind is None:
        return Prepared(None, why="searches two angles for its class, not run")
    if kind.startswith("spherical"):
        a[3:] = meeting_point([3, 4, 5], h, a)
    elif kind.startswith("three"):
        a[4:] = meeting_point([4, 5], h, a)
    offsets = np.diff(np.vstack([np.zeros(3), a, zero[:3, 3]]), axis=0)
    robot, setup = _setup(lambda: getattr(Robot, kind)(h.tolist(), offsets.tolist()))

    def solve(T):
        found = robot.get_ik((zero[:3, :3] @ T[:3, :3].T).tolist(), T[:3, 3].tolist())  # matrices by columns
        return np.reshape([q for q, _ in found], (-1, 6)), [approximate for _, approximate in found]

    return Prepared(solve, setup)


def _ik_geo_class(h: np.ndarray, a: np.ndarray) -> str | None:
    """The name by which ik-geo calls a class that it solves without a search."""
    if meeting_point([3, 4, 5], h, a) is not None:
        if parallel(h[1], h[2]):
            return "spherical_two_parallel"
        return "spherical_two_intersecting" if meeting_point([0, 1], h, a) is not None else None
    if parallel(h[1], h[2]) and parallel(h[2], h[3]) and meeting_point([4, 5], h, a) is not None:
        return "three_parallel_two_intersecting" if meeting_point([0, 1], h, a) is not None else "three_parallel"
    return None


def _rtb(arm) -> Prepared:
    """Its fastest numerical solver from 30 random starts; it has no method for all solutions of any arm."""
    if (no := _missing("roboticstoolbox")) is not None:
        return no
    import roboticstoolbox as rtb  # type: ignore[import-not-found]  (a rival, an extra)

    def make():
        ets = rtb.ETS()
        for F in arm.F:
            ets = ets * rtb.ET.SE3(F) * rtb.ET.Rz()
        return ets * rtb.ET.SE3(arm.tool)

    ets, setup = _setup(make)
    ets.qlim = np.stack([arm.lower, arm.upper])
    rng = np.random.default_rng(5)

    def solve(T):
        found = [ets.ik_LM(T, q0=rng.uniform(arm.lower, arm.upper), slimit=1, tol=1e-12) for _ in range(30)]
        return _exact([one.q for one in found if one.success])

    return Prepared(solve, setup)


RIVALS: dict[str, Callable] = {
    "EAIK": _eaik,
    "ssik": _ssik,
    "ikdh": _ikdh,
    "ik-geo": _ik_geo,
    "RTB, 30 starts": _rtb,
}
