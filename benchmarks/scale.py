"""The same work on other workers: equal bits, gain of two processes, cost of a scheduler.

`python -m benchmarks scale`; the hashes alone: `python -m benchmarks.scale`. Processes of this machine stand for a
cluster, and sleeping slots for many machines.
"""

from __future__ import annotations

import functools
import hashlib
import operator
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import contextmanager, suppress
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import zveno
from zveno.ik import numbers

from .timing import Row

KILLS = 20
SLOTS, SLEEPS = 64, 512


def objective(alpha):
    """A function of six parameters with many minima."""
    waves = [zveno.math.sin(3.0 * alpha[k] + alpha[(k + 1) % 6]) for k in range(6)]
    return sum(waves[k] * waves[(k + 2) % 6] for k in range(6)) + 0.01 * sum(alpha[k] * alpha[k] for k in range(6))


def scan(size: int = 16, **where: Any) -> bytes:
    """П6 over size^6 numbers."""
    grid = numbers.Grid.by_count(-np.ones(6), np.ones(6), size)
    least = numbers.global_extremum(grid, numbers.compiled(objective, 6), piece=1 << 20, **where)
    return least.numbers.tobytes() + least.values.tobytes()


def ik_map(poses: int = 60_000, **where: Any) -> bytes:
    """All solutions of many poses."""
    robot = zveno.load("puma560")
    answer = robot.ik(robot.forward_kinematics(robot.random(poses, 0)), **where)
    return b"".join(np.ascontiguousarray(part).tobytes() for part in (answer.q, answer.count, answer.codes))


def calibrate(trials: int = 48, **where: Any) -> bytes:
    """Simulated calibrations."""
    robot = zveno.load("puma560").with_tool(zveno.transforms.transform(None, [0.03, 0.05, 0.08]))
    tried = zveno.calibration_trials(robot, robot.random(40, 0), trials, measurement="position", **where)
    return tried.before.tobytes() + tried.after.tobytes()


def simulate(states: int = 2048, **where: Any) -> bytes:
    """Runs of a chain of ten rods."""
    robot = zveno.load("chain(10)")
    runs = robot.simulate(robot.random(states, 0), duration=0.2, sample=0.2, **where)
    return runs.q.tobytes() + runs.kinetic.tobytes()


WORK: dict[str, Callable[..., bytes]] = {
    "scan of 16^6 numbers": scan,
    "IK of 60 000 poses": ik_map,
    "48 calibrations": calibrate,
    "simulation of 2048 states": simulate,
}
SMALL = {
    "scan of 16^6 numbers": 10,
    "IK of 60 000 poses": 8000,
    "48 calibrations": 24,
    "simulation of 2048 states": 512,
}
"""Of the same work, for hashes."""
GAINS = {
    "scan of 16^6 numbers": 1.8,
    "IK of 60 000 poses": 1.8,
    "48 calibrations": 1.8,
    "simulation of 2048 states": 1.5,
}


def run() -> list[Row]:
    """Two processes against one, and a scheduler's cost."""
    rows = [_gain(name, work, GAINS[name]) for name, work in WORK.items()]
    each, efficiency = _scheduler()
    rows.append(Row("scheduler CPU a piece", each, 3e-3, "the bar", 1.0))
    rows.append(
        Row(f"{SLOTS} sleeping slots, pieces of 1 s, share lost (bar 0.2)", 1.0 - efficiency, 0.2, "bar", 1.0, "")
    )
    return rows


def _gain(name: str, work: Callable[..., bytes], bar: float) -> Row:
    """Wall clock of pools that are warm: imports and kernels are loaded once a night, not once a piece."""
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    taken: dict[int, list[float]] = {1: [], 2: []}
    pools = {n: ProcessPoolExecutor(n, mp_context=get_context("spawn")) for n in taken}
    for pool in pools.values():
        work(on=pool)
    for _ in range(3):
        for n, pool in pools.items():
            start = time.perf_counter()
            work(on=pool)
            taken[n].append(time.perf_counter() - start)
    for pool in pools.values():
        pool.shutdown()
    return Row(f"{name}, two processes", median(taken[2]), median(taken[1]), "one process", bar)


def _slept(piece: int) -> int:
    time.sleep(1.0)
    return piece


@contextmanager
def _dask(workers: int, threads: int = 1):
    """The address of a scheduler with workers, all of them processes of their own, and their process numbers."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "scheduler.json"
        command = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--scheduler-file", str(file)]
        command += ["--no-dashboard", "--port", "0", "--host", "127.0.0.1"]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": Path.cwd()}
        scheduler = subprocess.Popen(command, **quiet)
        worker = [sys.executable, "-m", "distributed.cli.dask_worker", "--scheduler-file", str(file)]
        worker += ["--nthreads", str(threads), "--no-dashboard", "--local-directory", folder]
        others = [subprocess.Popen(worker, **quiet) for _ in range(workers)]
        try:
            from distributed import Client

            with Client(scheduler_file=str(file), set_as_default=False, timeout=60) as client:
                client.wait_for_workers(workers, timeout=60)
                yield client, scheduler, others
        finally:
            for process in (*others, scheduler):
                process.kill()
                process.wait()


def _cpu(process: subprocess.Popen) -> float:
    words = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def _scheduler() -> tuple[float, float]:
    """CPU seconds of a scheduler a piece, and the share of time in which slots sleep as they should."""
    with _dask(1, SLOTS) as (client, scheduler, _):
        zveno.scale.fold(_slept, range(SLOTS), operator.add, on=client)
        before, start = _cpu(scheduler), time.perf_counter()
        zveno.scale.fold(_slept, range(SLEEPS), operator.add, on=client)
        elapsed = time.perf_counter() - start
        return (_cpu(scheduler) - before) / SLEEPS, SLEEPS / SLOTS / elapsed


# --- equal bits


def hashes(name: str) -> dict[str, str]:
    """SHA-256 of one work by where it was done."""
    work = functools.partial(WORK[name], SMALL[name])
    found = {"here": _hash(work(on="here"))}
    for n in (1, 2):
        found[f"{n} processes"] = _hash(work(on=n))
    for n in (1, 2):
        with _dask(n) as (client, _, _):
            found[f"{n} Dask workers"] = _hash(work(on=client))
    found["resumed"] = _hash(_resumed(work))
    return found


def _resumed(work: Callable[..., bytes]) -> bytes:
    """Stopped after the first piece here, ended by two processes."""

    def stop(done: float, _total: float) -> None:
        raise KeyboardInterrupt

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "kept.json"
        with suppress(KeyboardInterrupt):
            work(on="here", checkpoint=file, progress=stop)
        return work(on=2, checkpoint=file)


def killed(name: str, times: int = KILLS) -> list[str]:
    """SHA-256 of one work after a worker process was killed at some time, so many times."""
    work, chance, found = functools.partial(WORK[name], SMALL[name]), random.Random(0), []
    for _ in range(times):
        stopped = threading.Event()
        thread = threading.Thread(target=_kill_a_child, args=(chance.uniform(1.5, 4.0), stopped))
        thread.start()
        found.append(_hash(work(on=2)))
        stopped.set()
        thread.join()
    return found


def _kill_a_child(after: float, stopped: threading.Event) -> None:
    if stopped.wait(after):
        return
    children = Path(f"/proc/{os.getpid()}/task").glob("*/children")
    numbers_ = [int(word) for file in children for word in file.read_text().split()]
    spawned = [pid for pid in numbers_ if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()]
    if spawned:
        os.kill(spawned[-1], signal.SIGKILL)


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def main() -> int:
    """Print the hashes; 1 where two differ."""
    wrong = 0
    for name in WORK:
        by_place = hashes(name)
        by_place |= {f"a worker killed, time {k + 1}": said for k, said in enumerate(killed(name))}
        same = len(set(by_place.values())) == 1
        wrong += not same
        print(f"{name}: {len(by_place)} places, {'equal' if same else by_place}", flush=True)
    return int(bool(wrong))


if __name__ == "__main__":
    raise SystemExit(main())
