"""Inverse kinematics asked in every way that `Robot.ik` takes: no way falls off a cliff.

    python -m benchmarks ik_ways --least

Every way beside the plain call of the same run; then poses near singular ones, redundant arms and first answers,
beside the times that were promised and the rivals that are installed. Times are of the processor, on one thread.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

import numpy as np

import zveno
from zveno import ik

from . import ik_native, ik_rivals
from .ik_law import singular_angles
from .timing import Row, interleaved

ROBOTS = ("ur5", "puma560")
BAR = 1.0 / 3.0
"""The plain call is at most three times as fast, windings by the solution listed."""
NEAR = 0.02
"""rad from a solution at which the local method starts."""
RIVALS = ("EAIK", "ik-geo", "ssik")
ONE, OF_MANY, GENERAL = 7e-6, 2.5e-6, 14e-6
"""Seconds promised for a plain pose of six joints: alone, of 1000, and of 1000 for a general arm."""
MEDIAN, RARELY, ALIGNED = 60e-6, 1e-3, 1e-3
"""Near a singularity: the median and 99 of 100; a wrist that is exactly aligned."""
SEVEN, SEVEN_ALONE, WHOLE = 0.35e-3, 0.6e-3, 10e-3
FIRST = {"ur5": 0.4, "panda": 1.0}
JOINTS, DISTANCES, EACH = {"elbow": 2, "shoulder": 1, "wrist": 4}, (1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8), 60
SAMPLES = 16
SSIK = {"panda": "franka_panda", "iiwa14": "iiwa14"}


def run() -> list[Row]:
    zveno.set_threads(1)
    rows = [row for name in ROBOTS for row in _ways(zveno.load(name))]
    rows += [row for name in ROBOTS for row in (*_plain(name), *_near_singular(name), *_aligned(name))]
    rows += [row for name in SSIK for row in _seven(name)]
    return [*rows, *_general(), *_first()]


def _promised(what: str, seconds: float, promised: float) -> Row:
    return Row(what, seconds, promised, "promised", 1.0)


def _ways(robot: zveno.Robot) -> list[Row]:
    T = robot.forward_kinematics(robot.random(1, 0))[0]
    plain = robot.ik(T)
    joint, n = robot.joint_names[0], robot.n_q
    whole, start = (np.full(n, -3.0), np.full(n, 3.0)), plain.q[0] + NEAR
    as_list, few_digits, neutral = T.tolist(), T.astype(np.float32), np.zeros(n)
    away = T.copy()
    away[:3, 3] = 10.0
    calls: dict[str, Callable[[], zveno.ik.Solutions]] = {
        "plain": lambda: robot.ik(T),
        "limits=False": lambda: robot.ik(T, limits=False),
        "limits as a dict": lambda: robot.ik(T, limits={joint: (-3.0, 3.0)}),
        "limits as two arrays": lambda: robot.ik(T, limits=whole),
        "limits as two numbers": lambda: robot.ik(T, limits=(-3.0, 3.0)),
        "a list of lists": lambda: robot.ik(as_list),
        "float32": lambda: robot.ik(few_digits),
        "held": lambda: robot.ik(T, fixed=neutral),
        "a mask as task": lambda: robot.ik(T, task=(1, 1, 1, 1, 1, 1)),
        "accept": lambda: robot.ik(T).where(lambda q: q[:, 0] > 0.0),
        "seconds": lambda: robot.ik(T, timeout=1.0),
        "tolerance": lambda: robot.ik(T).within(1e-3, 1e-3),
        "local from a near start": lambda: ik.local(robot, T, start),
        "windings": lambda: robot.ik(T).windings(),
        "an unreachable pose": lambda: robot.ik(away),
    }
    times = interleaved(calls, repeats=9)
    times["windings"] *= len(plain) / len(calls["windings"]())
    return [
        Row(f"{robot.name}: one pose, {way}", seconds, times["plain"], "the plain call", BAR)
        for way, seconds in times.items()
    ]


def _solvers(arm, names: Iterable[str] = RIVALS) -> dict[str, Callable | str]:
    """Rivals ready for an arm, or why they are not, by name."""
    prepared = {name: ik_rivals.RIVALS[name](arm) for name in names}
    return {name: ready.why if ready.solve is None else ready.solve for name, ready in prepared.items()}


def _beside(
    what: str, ours: float, solvers: dict[str, Callable | str], timed: Callable[[Callable], float]
) -> list[Row]:
    """Rows of the rivals of a figure."""
    return [
        Row(f"{what}: {name} {solve}", ours, np.nan, name)
        if isinstance(solve, str)
        else Row(what, ours, timed(solve), name)
        for name, solve in solvers.items()
    ]


def _plain(name: str) -> list[Row]:
    robot, arm = zveno.load(name), ik_rivals._built_in(name)
    T = robot.forward_kinematics(robot.random(1000, 0))
    one = float(np.median(_least_times(robot.ik, T[:100])))
    batch = interleaved({"batch": lambda: robot.ik(T)}, 1000, 7)["batch"]

    def timed(solve: Callable) -> float:
        return float(np.median(_least_times(solve, T[:100])))

    return [
        _promised(f"{name}: one pose", one, ONE),
        _promised(f"{name}: a pose of 1000", batch, OF_MANY),
        *_beside(f"{name}: one pose", one, _solvers(arm), timed),
    ]


def _near_singular(name: str) -> list[Row]:
    robot, rng, rows = zveno.load(name), np.random.default_rng(12), []
    solvers = _solvers(ik_rivals._built_in(name), ("EAIK",))
    for off in DISTANCES:
        T = np.concatenate([_at(robot, joint, off, rng) for joint in JOINTS.values()])
        times = _least_times(lambda one: robot.ik(one, limits=False), T)
        what = f"{name}: {off:g} rad from singular"
        rows += [
            _promised(f"{what}, median", float(np.median(times)), MEDIAN),
            _promised(f"{what}, 99 of 100", float(np.quantile(times, 0.99)), RARELY),
            *_beside(
                f"{what}, median",
                float(np.median(times)),
                solvers,
                lambda solve, T=T: float(np.median(_least_times(solve, T))),
            ),
        ]
    return rows


def _at(robot: zveno.Robot, joint: int, off: float, rng: np.random.Generator) -> np.ndarray:
    """Poses (EACH, 4, 4) with a joint `off` from where det J vanishes."""
    q, which = rng.uniform(-np.pi, np.pi, (EACH, 6)), np.full(EACH, joint)
    q[:, joint] = singular_angles(robot, q, which, rng) + off * rng.choice([-1, 1], EACH)
    return robot.forward_kinematics(q)


def _aligned(name: str) -> list[Row]:
    robot = zveno.load(name)
    q = robot.random(20, 3)
    q[:, 4] = 0.0
    times = _least_times(robot.ik, robot.forward_kinematics(q))
    return [_promised(f"{name}: an aligned wrist", float(np.median(times)), ALIGNED)]


def _seven(name: str) -> list[Row]:
    robot = zveno.load(name)
    T = robot.forward_kinematics(robot.random(100, 0))
    batch = interleaved({"batch": lambda: robot.ik(T, samples=SAMPLES)}, 100, 7)["batch"]
    alone = float(np.median(_least_times(lambda one: robot.ik(one, samples=SAMPLES), T)))
    whole = _least_times(robot.ik, T)
    neutral = _least_times(robot.ik, robot.forward_kinematics(robot.neutral())[None])[0]
    number = float(np.mean(robot.ik(T, samples=SAMPLES).count))
    rows = [
        _promised(f"{name}: {SAMPLES} samples, a pose of 100", batch, SEVEN),
        _promised(f"{name}: {SAMPLES} samples, one pose", alone, SEVEN_ALONE),
        _promised(f"{name}: whole self-motions, median", float(np.median(whole)), WHOLE),
        _promised(f"{name}: whole self-motions, the slowest of 100", float(whole.max()), WHOLE),
        _promised(f"{name}: whole self-motions, neutral configuration", float(neutral), WHOLE),
    ]
    missing = ik_rivals._missing("ssik")
    if missing is not None:
        return [*rows, Row(f"{name}: one pose: ssik {missing.why}", alone, np.nan, "ssik")]
    import ssik  # type: ignore[import-not-found]  (a rival, an extra)

    rival, rng = ssik.Manipulator.from_prebuilt(SSIK[name]), np.random.default_rng(0)
    low, high = np.array(rival.joint_limits).T
    own = [rival.fk(rng.uniform(low, high)) for _ in range(100)]  # its model has another tool
    found = float(np.mean([len(rival.solve(one)) for one in own]))
    what = f"{name}: one pose, {number:.0f} solutions on average, theirs {found:.0f}"
    return [*rows, Row(what, alone, float(np.median(_least_times(rival.solve, own))), "ssik")]


def _general() -> list[Row]:
    arm = ik_rivals.ik_arms.known_arms()["manseur_doty"]
    robot, T = ik_rivals.robot_of(arm), arm.poses(1000, seed=11)[1]
    batch = interleaved({"batch": lambda: robot.ik(T)}, 1000, 7)["batch"]
    return [_promised("Manseur–Doty: a pose of 1000", batch, GENERAL)]


def _first() -> list[Row]:
    others = {"ur5": "puma560", "panda": "ur5"}
    return [
        _promised(f"{name}: first answer, empty cache", ik_native.first_answers(name, others[name])[0], promised)
        for name, promised in FIRST.items()
    ]


def _least_times(solve: Callable, poses: Iterable[np.ndarray], repeats: int = 5) -> np.ndarray:
    """CPU seconds of each pose, the least of some calls that last a while together."""
    taken = []
    for one in poses:
        solve(one)
        start = time.perf_counter()
        solve(one)
        loops = max(1, int(2e-4 / max(1e-9, time.perf_counter() - start)))
        best = np.inf
        for _ in range(repeats):
            start = time.process_time()
            for _ in range(loops):
                solve(one)
            best = min(best, (time.process_time() - start) / loops)
        taken.append(best)
    return np.array(taken)
