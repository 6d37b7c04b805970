"""Inverse kinematics: the general scan, local solutions and slices, against the rivals that are installed."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from statistics import median

import numpy as np

import zveno
from zveno.ik import local
from zveno.ik._rows import near
from zveno.ik.ik_problem import problem_of
from zveno.ik.solve import solve_ik
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
    return rows + _one_solution()


def _one_solution() -> list[Row]:
    """One solution of Panda from a seed, against those of RTB and TRAC-IK that are installed, in the same run."""
    robot = zveno.load("panda")
    T = robot.forward_kinematics(robot.random(50, 0))
    calls = {"ours": lambda: local(robot, T)} | _rivals(robot, T)
    times = interleaved(calls, 50, 5)
    return [
        Row("one solution, Panda, 50 poses", times["ours"], times[name], name) for name in calls if name != "ours"
    ]


def _rivals(robot: zveno.Robot, T: np.ndarray) -> dict:
    """Calls of the rivals that are installed, on poses of the same configurations."""
    found = {}
    try:
        import roboticstoolbox as rtb  # pyright: ignore[reportMissingImports]  (a rival, rarely there)

        ets = rtb.models.ETS.Panda().ets()
        own = [ets.eval(q) for q in robot.random(len(T), 0)]  # its Panda has another tool
        success = np.mean([bool(ets.ik_LM(one).success) for one in own])
        found[f"RTB ik_LM (C++), success {100 * success:.0f} %"] = lambda: [ets.ik_LM(one) for one in own]
    except ImportError:
        print("roboticstoolbox: not installed")
    try:
        from pathlib import Path
        from tempfile import TemporaryDirectory

        from trac_ik import TracIK  # pyright: ignore[reportMissingImports]  (a rival, rarely there)

        from zveno.io.write import write_model

        with TemporaryDirectory() as folder:
            file = Path(folder) / "panda.urdf"
            write_model(robot.mechanism, file)
            tip = robot.mechanism.frame(None).link
            solver = TracIK(robot.link_names[0], tip, str(file), timeout=0.01, epsilon=1e-6)
        T_link_tool = robot.mechanism.frame(None).T_link_frame
        links = T @ np.linalg.inv(T_link_tool)
        seeds = robot.random(len(T), 1)
        answers = [solver.ik(one[:3, 3], one[:3, :3], seed) for one, seed in zip(links, seeds, strict=True)]
        success = np.mean([answer is not None for answer in answers])
        found[f"TRAC-IK, success {100 * success:.0f} %"] = lambda: [
            solver.ik(one[:3, 3], one[:3, :3], seed) for one, seed in zip(links, seeds, strict=True)
        ]
    except ImportError:
        print("pytracik: not installed")
    return found


def recall(poses: int = 6, starts: int = 400, seed: int = 2) -> tuple[int, int]:
    """(missing, all) solutions of the scan against random starts of an oracle that shares nothing with it."""
    missing = total = 0
    rng = np.random.default_rng(seed + 3)
    for robot in arms(seed).values():
        problem = problem_of(robot, limits=False)
        T = robot.forward_kinematics(robot.random(poses, rng))
        found = solve_ik(robot, T, limits=False, method="scan")
        for k in range(len(T)):
            for one in multistart(robot, T[k], rng, starts):
                total += 1
                missing += not near(problem, found.of(k) / problem.units, one / problem.units, 1e-3).any()
    return missing, total


def multistart(robot: zveno.Robot, T: np.ndarray, rng: np.random.Generator, starts: int) -> np.ndarray:
    """Distinct solutions (s, n_q) from random starts: damped Gauss–Newton on the robot's own Jacobian, in NumPy.

    The error is R(q) − R of the columns of the rotation, not the rotation vector that our solvers use, so that
    neither kernels nor formulas are shared with them.
    """
    slides = np.array([robot.mechanism.joint(name).type.kind == "prismatic" for name in robot.joint_names])
    q = np.where(slides, robot.random(starts, rng), rng.uniform(-np.pi, np.pi, (starts, robot.n_q)))
    damping = np.ones(starts)
    e, J = _columns(robot, q, T)
    cost = np.sum(e * e, axis=1)
    for _ in range(60):
        A = np.swapaxes(J, 1, 2) @ J + (damping * np.minimum(cost, 1.0) + 1e-14)[:, None, None] * np.eye(robot.n_q)
        new = q - np.linalg.solve(A, np.swapaxes(J, 1, 2) @ e[..., None])[..., 0]
        e_new, J_new = _columns(robot, new, T)
        cost_new = np.sum(e_new * e_new, axis=1)
        better = cost_new < cost
        damping = np.clip(np.where(better, damping * 0.3, damping * 4.0), 1e-3, 1e4)
        q, cost = np.where(better[:, None], new, q), np.where(better, cost_new, cost)
        e, J = np.where(better[:, None], e_new, e), np.where(better[:, None, None], J_new, J)
    q = q[cost < 1e-18]
    kept: list[np.ndarray] = []
    for one in q:
        turned = [np.where(slides, one - other, (one - other + np.pi) % (2 * np.pi) - np.pi) for other in kept]
        if all(np.abs(d).max() > 1e-4 for d in turned):
            kept.append(one)
    return np.array(kept).reshape(-1, robot.n_q)


def _columns(robot: zveno.Robot, q: np.ndarray, T: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Differences of position and of the three columns of the rotation (s, 12), and their Jacobian."""
    F, J = robot.forward_kinematics(q), robot.jacobian(q)
    parts, rates = [F[:, :3, 3] - T[:3, 3]], [J[:, :3]]
    for k in range(3):
        parts.append(F[:, :3, k] - T[:3, k])
        rates.append(np.swapaxes(np.cross(np.swapaxes(J[:, 3:], 1, 2), F[:, None, :3, k]), 1, 2))
    return np.concatenate(parts, axis=1), np.concatenate(rates, axis=1)


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
        good = np.mean(local(robot, T).converged)
        times = interleaved({"ours": lambda r=robot, T=T: local(r, T)}, 5000, 3)
        what = f"one solution inside limits, {name}, success {100 * good:.2f} %"
        rows.append(Row(what, times["ours"], ORIENTATION["local"], "orientation 50 µs", 1.0))
    return rows


def _slices() -> list[Row]:
    robot = zveno.load("panda")
    T = robot.forward_kinematics(robot.random(10, 0))
    times = interleaved({"ours": lambda: solve_ik(robot, T, samples=64, method="scan")}, 10, 3)
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
    from zveno.scanning import Grid, compile_function, global_extremum

    rng = np.random.default_rng(0)
    goal = rng.uniform(0.2, 0.8, 6)
    objective = compile_function(lambda a: sum((a[k] - goal[k]) ** 2 * (2 + a[(k + 1) % 6]) for k in range(6)), 6)
    grid = Grid.by_count(np.zeros(6), np.ones(6), 12)

    def timed(threads: int) -> float:
        taken = []
        for _ in range(3):
            with ThreadPoolExecutor(threads) as pool:
                start = time.perf_counter()
                global_extremum(grid, objective, executor=pool, piece=1 << 18)
                taken.append(time.perf_counter() - start)
        return median(taken)

    one, two = timed(1), timed(2)
    robot = zveno.load("doc004_arm")
    T = robot.forward_kinematics(robot.random(1024, 0))

    def scanned(threads: int) -> float:
        zveno.set_threads(threads)
        start = time.perf_counter()
        solve_ik(robot, T, method="scan")
        return time.perf_counter() - start

    scanned(1)
    pairs = [(scanned(1), scanned(2)) for _ in range(5)]
    zveno.set_threads(1)
    single, double = (median(times) / len(T) for times in zip(*pairs, strict=True))
    return [
        Row("3e6 numbers, two workers", two, one, "one worker", 1.8),
        Row("scan of 1024 poses, two workers (wall clock)", double, single, "one worker", 1.8),
    ]
