"""The same work on other workers: equal bits, gain of two processes, cost of a scheduler.

`python -m benchmarks scale`; the hashes alone: `python -m benchmarks.scale`. Processes of this machine stand for a
cluster, and sleeping slots for many machines.
"""

from __future__ import annotations

import atexit
import functools
import hashlib
import operator
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

import zveno
from zveno.ik import numbers

from .timing import Row

KILLS, REPEATS = 10, 5
"""Kills of a process, and as many of a Dask worker; repeats of what is timed."""
SLOTS, SLEEPS = 64, 512
SHARED_MEMORY = next((place for place in ("/dev/shm",) if os.path.isdir(place)), None)


def objective(alpha):
    """A function of six parameters with many minima."""
    waves = [zveno.math.sin(3.0 * alpha[k] + alpha[(k + 1) % 6]) for k in range(6)]
    return sum(waves[k] * waves[(k + 2) % 6] for k in range(6)) + 0.01 * sum(alpha[k] * alpha[k] for k in range(6))


def scan(size: int = 16, **where: Any) -> bytes:
    """П6 over size^6 numbers."""
    grid = numbers.Grid.by_count(-np.ones(6), np.ones(6), size)
    least = numbers.global_extremum(grid, numbers.compiled(objective, 6), piece=1 << 20, **where)
    return least.numbers.tobytes() + least.values.tobytes()


def ik_map(poses: int = 500_000, **where: Any) -> bytes:
    """All solutions of many poses, written to files by the workers; where they go is memory, not a disk."""
    robot = zveno.load("puma560")
    with tempfile.TemporaryDirectory(dir=SHARED_MEMORY) as folder:
        kept = where.get("checkpoint")
        place = folder if kept is None else Path(kept).with_suffix(".map")  # what a run began is ended there
        made = zveno.ik_map(robot, _pose_file(poses), place, **where)
        entries = zveno.scale.read_manifest(made.manifest)
    return "".join(entry["sha256"] for entry in entries).encode()


def ik_answers(poses: int = 60_000, **where: Any) -> bytes:
    """The same as one answer, which the workers send back."""
    robot = zveno.load("puma560")
    answer = robot.ik(_poses(poses), **where)
    return b"".join(np.ascontiguousarray(part).tobytes() for part in (answer.q, answer.count, answer.codes))


@functools.cache
def _pose_file(n: int) -> Path:
    folder = tempfile.mkdtemp(dir=SHARED_MEMORY)
    atexit.register(shutil.rmtree, folder)
    file = Path(folder) / "poses.npy"
    np.save(file, _poses(n))
    return file


@functools.cache
def _poses(n: int) -> np.ndarray:
    robot = zveno.load("puma560")
    return robot.forward_kinematics(robot.random(n, 0))


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


def identify(logs: int = 6, **where: Any) -> bytes:
    """Inertia, friction and their covariance from several logs."""
    robot = zveno.load("puma560")
    found = robot.identify([_log(robot, number) for number in range(logs)], **where)
    return b"".join(part.tobytes() for part in (found.values, found.covariance, found.base_values))


def _log(robot: zveno.Robot, number: int) -> zveno.Log:
    """Eight seconds of a Fourier motion with friction and noise."""
    chance = zveno.scale.stream(3, number)
    t, rates = np.arange(0.0, 8.0, 0.005), 0.4 * np.pi * np.arange(1, 6)
    sines, cosines = np.sin(t[:, None] * rates), np.cos(t[:, None] * rates)
    a, b = 0.3 * chance.normal(size=(2, 5, robot.n_v))
    q = sines @ (a / rates[:, None]) - cosines @ (b / rates[:, None])
    v, acceleration = cosines @ a + sines @ b, (cosines * rates) @ b - (sines * rates) @ a
    torque = robot.inverse_dynamics(q, v, acceleration) + 0.5 * v + 0.3 * np.sign(v)
    return zveno.Log.of(robot, t, q, torque + 0.05 * chance.normal(size=v.shape))


WORK: dict[str, Callable[..., bytes]] = {
    "scan of 16^6 numbers": scan,
    "IK map of 500 000 poses": ik_map,
    "IK of 60 000 poses": ik_answers,
    "48 calibrations": calibrate,
    "simulation of 2048 states": simulate,
    "identification from 6 logs": identify,
}
SMALL = {scan: 12, ik_map: 20_000, ik_answers: 8000, calibrate: 24, simulate: 512, identify: 3}
"""Of the same work, for hashes."""
GAINS: dict[str, float | None] = {
    "scan of 16^6 numbers": 1.8,
    "IK map of 500 000 poses": 1.8,
    "IK of 60 000 poses": None,
    "48 calibrations": 1.8,
    "simulation of 2048 states": 1.5,
}


def run() -> list[Row]:
    """Two processes against one, and a scheduler's cost."""
    rows = [row for name, bar in GAINS.items() for row in _gains(name, WORK[name], bar)]
    each, efficiency = _scheduler()
    rows.append(Row("scheduler CPU a piece", each, 3e-3, "the bar", 1.0))
    rows.append(
        Row(f"{SLOTS} sleeping slots, pieces of 1 s, share lost (bar 0.2)", 1.0 - efficiency, 0.2, "bar", 1.0, "")
    )
    return rows


def _gains(name: str, work: Callable[..., bytes], bar: float | None) -> list[Row]:
    """Two processes against one, by the clock and by CPU times, of pools that are warm: imports and kernels are
    loaded once a night, not once a piece.

    The clock says little where others use the cores. CPU times do: W seconds of workers and P of this process,
    which hands out pieces and merges answers, take W seconds with one worker, beside which this process has a core
    of its own, and (W + P)/2 with two.
    """
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    taken: dict[int, list[float]] = {1: [], 2: []}
    pools = {n: ProcessPoolExecutor(n, mp_context=get_context("spawn")) for n in taken}
    for pool in pools.values():
        work(on=pool)
    there: list[float] = []
    here: list[float] = []
    for _ in range(REPEATS):
        for n, pool in pools.items():
            before, begin, start = _cpu(*pool._processes), time.process_time(), time.perf_counter()
            work(on=pool)
            taken[n].append(time.perf_counter() - start)
            if n == 2:
                there.append(_cpu(*pool._processes) - before)
                here.append(time.process_time() - begin)
    for pool in pools.values():
        pool.shutdown()
    workers, parent = min(there), min(here)
    return [
        Row(f"{name}, two processes by the clock", min(taken[2]), min(taken[1]), "one process", None),
        Row(f"{name}, two processes by CPU times", (workers + parent) / 2, workers, "one process", bar),
    ]


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

            with Client(scheduler_file=str(file), set_as_default=False, timeout=300) as client:
                client.wait_for_workers(workers, timeout=300)
                yield client, scheduler, others
        finally:
            for process in (*others, scheduler):
                process.kill()
                process.wait()


def _cpu(*pids: int) -> float:
    """CPU seconds of processes."""
    stats = [Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split() for pid in pids]
    return sum(int(words[11]) + int(words[12]) for words in stats) / os.sysconf("SC_CLK_TCK")


def _scheduler() -> tuple[float, float]:
    """CPU seconds of a scheduler a piece, and the share of time in which slots sleep as they should."""
    with _dask(1, SLOTS) as (client, scheduler, _):
        zveno.scale.fold(_slept, range(SLOTS), operator.add, on=client)
        before, start = _cpu(scheduler.pid), time.perf_counter()
        zveno.scale.fold(_slept, range(SLEEPS), operator.add, on=client)
        elapsed = time.perf_counter() - start
        return (_cpu(scheduler.pid) - before) / SLEEPS, SLEEPS / SLOTS / elapsed


# --- equal bits


def hashes(work: Callable[..., bytes]) -> dict[str, str]:
    """SHA-256 of one work by where it was done."""
    found = {"here": _hash(work(on="here"))}
    for n in (1, 2):
        found[f"{n} processes"] = _hash(work(on=n))
    with _dask(1) as (client, _, _):
        found["1 Dask worker"] = _hash(work(on=client))
    with _dask(2) as (client, _, others):
        found["2 Dask workers"] = _hash(work(on=client))
        found |= _killed(
            "Dask worker", lambda: work(on=client), lambda: [pid for p in others for pid in _children(p.pid)]
        )
    found |= _killed(
        "process", lambda: work(on=2), lambda: [pid for pid in _children(os.getpid()) if _spawned(pid)]
    )
    found["resumed"] = _hash(_resumed(work))
    return found


def _resumed(work: Callable[..., bytes]) -> bytes:
    """Stopped half-way here, ended by two processes."""

    def stop(done: float, total: float) -> None:
        if done >= 0.5 * total:
            raise KeyboardInterrupt

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "kept.json"
        with suppress(KeyboardInterrupt):
            work(on="here", checkpoint=file, progress=stop)
        return work(on=2, checkpoint=file)


def _killed(kind: str, work: Callable[[], bytes], victims: Callable[[], list[int]]) -> dict[str, str]:
    """SHA-256 of runs in each of which a worker is killed at some time while it lasts."""
    begin = time.perf_counter()
    work()
    lasts, chance, found = time.perf_counter() - begin, random.Random(0), {}
    for number in range(KILLS):
        killer = _Killer(chance.uniform(0.1, 0.9) * lasts, victims)
        killer.start()
        said = _hash(work())
        killer.stopped.set()
        killer.join()
        found[f"{kind} {killer.victim or 'none'} killed after {killer.after:.2f} s, run {number + 1}"] = said
    return found


class _Killer(threading.Thread):
    """Kills one of the victims after a time, unless it is stopped before."""

    def __init__(self, after: float, victims: Callable[[], list[int]]):
        super().__init__()
        self.after, self.victims, self.stopped, self.victim = after, victims, threading.Event(), 0

    def run(self) -> None:
        """See `threading.Thread`."""
        while not self.stopped.wait(self.after) and not self.victim:
            for pid in self.victims()[-1:]:
                os.kill(pid, signal.SIGKILL)
                self.victim = pid


def _children(pid: int) -> list[int]:
    files = Path(f"/proc/{pid}/task").glob("*/children")
    return sorted(int(word) for file in files for word in file.read_text().split())


def _spawned(pid: int) -> bool:
    """Whether a child is a worker, and not the tracker that `multiprocessing` starts beside."""
    return b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def main() -> int:
    """Print the hashes of all work, or of that whose name has one of the words given; 1 where two differ."""
    wrong = 0
    chosen = {name: work for name, work in WORK.items() if not sys.argv[1:] or any(w in name for w in sys.argv[1:])}
    for name, work in chosen.items():
        by_place = hashes(functools.partial(work, SMALL[work]))
        same = len(set(by_place.values())) == 1
        wrong += not same
        hits = sum("killed" in place and "none" not in place for place in by_place)
        print(f"{name}: {len(by_place)} places, {hits} kills, {'equal' if same else by_place}", flush=True)
    return int(bool(wrong))


if __name__ == "__main__":
    raise SystemExit(main())
