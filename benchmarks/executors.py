"""Batches shared by processes: two against one."""

from __future__ import annotations

import multiprocessing
import os
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import zveno

from .ik import arms
from .timing import Row

REPEATS = 5


def general_arm(poses: int = 2000, **where: Any) -> bytes:
    """All solutions of an arm without a closed form."""
    robot = arms()["general 0"]
    return robot.ik(robot.forward_kinematics(robot.random(poses, 0)), **where).q.tobytes()


def simulation(states: int = 2048, **where: Any) -> bytes:
    """Runs of a chain of ten rods."""
    robot = zveno.load("chain(10)")
    return robot.simulate(robot.random(states, 0), duration=0.2, sample_time=0.2, **where).q.tobytes()


def run() -> list[Row]:
    """Two processes against one."""
    work = {"IK of 2000 poses, general 6R": (general_arm, 1.5), "simulation of 2048 states": (simulation, 1.5)}
    return [row for name, (function, bar) in work.items() for row in _gains(name, function, bar)]


def _gains(name: str, work: Any, bar: float) -> list[Row]:
    """Two processes against one, by the clock and by CPU times, of pools that are warm.

    The clock says little where others use the cores. CPU times do: W seconds of workers and P of this process take
    W seconds with one worker, beside which this process has a core of its own, and (W + P)/2 with two.
    """
    context = multiprocessing.get_context("spawn")
    taken: dict[int, list[float]] = {1: [], 2: []}
    there, here = [], []
    expected = work()
    with ProcessPoolExecutor(1, context) as one, ProcessPoolExecutor(2, context) as two:
        for pool in (one, two):
            assert work(executor=pool) == expected
        for _ in range(REPEATS):
            for n, pool in ((1, one), (2, two)):
                before, begin, start = _cpu(*pool._processes), time.process_time(), time.perf_counter()
                work(executor=pool)
                taken[n].append(time.perf_counter() - start)
                if n == 2:
                    there.append(_cpu(*pool._processes) - before)
                    here.append(time.process_time() - begin)
    workers, parent = min(there), min(here)
    return [
        Row(f"{name}, two processes by the clock", min(taken[2]), min(taken[1]), "one process", None),
        Row(f"{name}, two processes by CPU times", (workers + parent) / 2, workers, "one process", bar),
    ]


def _cpu(*pids: int) -> float:
    """CPU seconds of processes."""
    stats = [Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split() for pid in pids]
    return sum(int(words[11]) + int(words[12]) for words in stats) / os.sysconf("SC_CLK_TCK")
