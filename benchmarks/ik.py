"""Inverse kinematics: the general scan, local solutions and slices, against the rivals that are installed."""

from __future__ import annotations

import time
from statistics import median

import numpy as np

import zveno
from zveno.ik import problem_of, solve_ik
from zveno.ik.distinct import distinct, near
from zveno.ik.refine import lanes_of, newton
from zveno.mechanism import Continuous, Frame, Joint, Link, Revolute, assemble
from zveno.spatial.transforms import transform

from .timing import Row, interleaved

ORIENTATION = {"all": 1e-3, "position": 50e-6, "local": 50e-6, "slices": 20e-3, "unreachable": 2e-3}
"""Seconds an issue gives for orientation; the ratio against them stands where no rival is installed."""


def run() -> list[Row]:
    zveno.set_threads(1)
    return [*_all_solutions(), *_position(), *_local(), *_slices(), *_unreachable(), *_workers()]


def dh_arm(rows) -> zveno.Robot:
    """A robot of revolute joints from standard (d, a, alpha)."""
    links, joints = [Link("l0")], []
    for i, (d, a, alpha) in enumerate(rows, start=1):
        c, s = np.cos(alpha), np.sin(alpha)
        links.append(Link(f"l{i}"))
        after = transform([[1, 0, 0], [0, c, -s], [0, s, c]], [a, 0, d])
        joints.append(Joint(f"j{i}", f"l{i - 1}", f"l{i}", Continuous(), T_joint_child=after))
    return zveno.Robot(assemble("arm", links, joints))


def arms(seed: int = 1) -> dict[str, zveno.Robot]:
    """Known arms, random general ones and random industrial ones."""
    rng, degree = np.random.default_rng(seed), np.pi / 180
    md = [(0, 0.3, 90), (0, 1, 1), (0.2, 0, 90), (0, 1.5, 1), (0, 0, 90), (0, 0, 1)]
    found = {"Manseur–Doty": dh_arm([(d, a, alpha * degree) for d, a, alpha in md])}
    for k in range(3):
        found[f"general {k}"] = dh_arm([(*rng.uniform(-0.5, 0.5, 2), rng.uniform(-np.pi, np.pi)) for _ in range(6)])
    while len(found) < 7:
        rows = [
            (*(rng.uniform(0.1, 0.6) * rng.integers(0, 2) for _ in range(2)), rng.choice([0, 90, -90]) * degree)
            for _ in range(6)
        ]
        arm = dh_arm(rows)
        J = arm.jacobian(rng.uniform(-np.pi, np.pi, (20, 6)))
        if np.median(np.linalg.svd(J, compute_uv=False)[:, -1]) > 1e-6:
            found[f"industrial {len(found) - 4}"] = arm
    return found | {name: zveno.load(name) for name in ("puma560", "ur5", "stanford", "doc004_arm")}


def _all_solutions() -> list[Row]:
    rows, bar = [], ORIENTATION["all"]
    for name, robot in arms().items():
        T = robot.forward_kinematics(robot.random(300, 0))
        times = interleaved({"ours": lambda r=robot, T=T: solve_ik(r, T, limits=False, method="scan")}, 300, 3)
        rows.append(Row(f"all solutions by scan, {name}", times["ours"], bar, "orientation 1 ms", 1.0))
    missing, total = recall()
    mean = sum(row.ours for row in rows) / len(rows)
    rows.append(Row(f"their mean; {missing} of {total} solutions missing", mean, bar, "orientation 1 ms", 1.0))
    return rows + _rtb()


def _rtb() -> list[Row]:
    try:
        import roboticstoolbox as rtb
    except ImportError:
        return []
    theirs, robot = rtb.models.ETS.Panda(), zveno.load("panda")
    T = robot.forward_kinematics(robot.random(50, 0))
    ets = theirs.ets()
    calls = {
        "ours": lambda: solve_ik(robot, T, method="local"),
        "rtb": lambda: [ets.ik_LM(one) for one in T],
    }
    times = interleaved(calls, 50, 5)
    return [Row("one solution, Panda, 50 poses", times["ours"], times["rtb"], "RTB ik_LM (C++)")]


def recall(poses: int = 40) -> tuple[int, int]:
    """(missing, all) solutions of the scan against 2000 random starts a pose, over all arms."""
    missing = total = 0
    rng = np.random.default_rng(5)
    for robot in arms(2).values():
        problem = problem_of(robot, limits=False)
        T = robot.forward_kinematics(robot.random(poses, rng))
        found = solve_ik(robot, T, limits=False, method="scan")
        lanes, (low, high) = lanes_of(problem, T), problem.span
        for k in range(len(T)):
            x = rng.uniform(low / problem.units, high / problem.units, (2000, problem.n))
            x, squared = newton(problem, x, np.repeat(lanes.targets[k : k + 1], 2000, axis=0), lanes.tool, 48)
            x = x[squared < 1e-20]
            for one in x[distinct(problem, np.zeros(len(x), int), x)]:
                total += 1
                missing += not near(problem, found.of(k) / problem.units, one, 1e-3).any()
    return missing, total


def _position() -> list[Row]:
    turn = transform([[1, 0, 0], [0, 0, -1], [0, 1, 0]])
    placements = [transform(), turn, transform(None, [0.5, 0, 0])]
    joints = [Joint(f"j{i}", f"l{i}", f"l{i + 1}", Revolute(), T) for i, T in enumerate(placements)]
    links = [Link(f"l{i}") for i in range(4)]
    robot = zveno.Robot(assemble("arm3", links, joints, [Frame("tool", "l3", transform(None, [0.4, 0, 0]))]))
    points = robot.forward_kinematics(robot.random(1000, 0))[:, :3, 3]
    times = interleaved({"ours": lambda: solve_ik(robot, points, task="position", method="scan")}, 1000, 3)
    return [
        Row("position of a 3-joint arm, all four", times["ours"], ORIENTATION["position"], "orientation 50 µs", 1.0)
    ]


def _local() -> list[Row]:
    rows = []
    for name in ("panda", "iiwa14"):
        robot = zveno.load(name)
        T = robot.forward_kinematics(robot.random(5000, 0))
        good = np.mean(solve_ik(robot, T, method="local").count)
        times = interleaved({"ours": lambda r=robot, T=T: solve_ik(r, T, method="local")}, 5000, 3)
        what = f"one solution inside limits, {name}, success {100 * good:.2f} %"
        rows.append(Row(what, times["ours"], ORIENTATION["local"], "orientation 50 µs", 1.0))
    return rows


def _slices() -> list[Row]:
    robot = zveno.load("panda")
    T = robot.forward_kinematics(robot.random(10, 0))
    times = interleaved({"ours": lambda: solve_ik(robot, T, slices=64, method="scan")}, 10, 3)
    return [Row("64 slices of Panda", times["ours"], ORIENTATION["slices"], "orientation 20 ms", 1.0)]


def _unreachable() -> list[Row]:
    robot = zveno.load("puma560")
    T = robot.forward_kinematics(robot.random(50, 0))
    T[:, :3, 3] *= 3.0 / np.linalg.norm(T[:, :3, 3], axis=1, keepdims=True)
    times = interleaved({"ours": lambda: solve_ik(robot, T, method="scan")}, 50, 3)
    return [
        Row(
            "unreachable, with the nearest pose", times["ours"], ORIENTATION["unreachable"], "orientation 2 ms", 1.0
        )
    ]


def _workers() -> list[Row]:
    """Two threads against one, wall clock, on the numbers module and on the scan."""
    from zveno.ik.numbers import Grid, compiled, global_extremum

    rng = np.random.default_rng(0)
    goal = rng.uniform(0.2, 0.8, 6)
    objective = compiled(lambda a: sum((a[k] - goal[k]) ** 2 * (2 + a[(k + 1) % 6]) for k in range(6)), 6)
    grid = Grid.by_count(np.zeros(6), np.ones(6), 12)

    def timed(parts: int) -> float:
        taken = []
        for _ in range(3):
            start = time.perf_counter()
            global_extremum(grid, objective, parts=parts)
            taken.append(time.perf_counter() - start)
        return median(taken)

    one, two = timed(1), timed(2)
    return [Row("3e6 numbers, two workers", two, one, "one worker", 1.8)]
