"""A Dask scheduler and workers as processes that are killed: the same bits, or a clear error, and nothing lost."""

import functools
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import scale_work
from zveno.errors import ZvenoError
from zveno.scale import cluster, cut, fold, ordered

distributed = pytest.importorskip("distributed")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::ResourceWarning")]
PIECES = cut(60, 4)


class Machine:
    """A scheduler and two workers."""

    def __init__(self, folder: Path):
        self.file = folder / "scheduler.json"
        where = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])}
        self.quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "env": where, "cwd": folder}
        options = ["--scheduler-file", str(self.file), "--no-dashboard"]
        module = "distributed.cli.dask_"
        self.scheduler = self.started(module + "scheduler", *options, "--port", "0", "--host", "127.0.0.1")
        self.workers = [self.started(module + "worker", *options, "--nthreads", "1") for _ in range(2)]
        end = time.monotonic() + 60
        while not self.file.exists() and time.monotonic() < end:
            time.sleep(0.1)
        self.address = json.loads(self.file.read_text())["address"]
        with distributed.Client(self.address, set_as_default=False, timeout=60) as client:
            client.wait_for_workers(2, timeout=60)

    def started(self, *words):
        return subprocess.Popen([sys.executable, "-m", *words], start_new_session=True, **self.quiet)

    def close(self):
        for process in (*self.workers, self.scheduler):
            process.kill()
            process.wait()


@pytest.fixture
def machine(tmp_path):
    running = Machine(tmp_path)
    yield running
    running.close()


def slow_noise(folder, piece):
    """Noise that takes a moment and leaves a mark."""
    (Path(folder) / f"mark{piece[0]}").touch()
    time.sleep(0.3)
    return scale_work.NOISE(piece)


def killing(process, folder):
    """Ends a process once four pieces have begun."""

    def wait_and_kill():
        end = time.monotonic() + 60
        while len(list(Path(folder).glob("mark*"))) < 4 and time.monotonic() < end:
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)

    thread = threading.Thread(target=wait_and_kill)
    thread.start()
    return thread


def test_a_worker_that_is_killed_changes_nothing(machine, tmp_path):
    here = fold(scale_work.NOISE, PIECES, scale_work.pair_sum, on="here")
    thread = killing(machine.workers[0], tmp_path)
    there = fold(functools.partial(slow_noise, str(tmp_path)), PIECES, scale_work.pair_sum, on=machine.address)
    thread.join()
    assert machine.workers[0].wait(10) == -signal.SIGKILL
    assert there == here


def test_a_scheduler_that_is_killed_is_an_error_that_loses_nothing(machine, tmp_path):
    here = fold(scale_work.NOISE, PIECES, scale_work.pair_sum, on="here")
    work, file = functools.partial(slow_noise, str(tmp_path)), tmp_path / "kept.json"
    thread = killing(machine.scheduler, tmp_path)
    with pytest.raises(ZvenoError, match=r"lost|no scheduler|checkpoint"):
        fold(work, PIECES, scale_work.pair_sum, on=machine.address, checkpoint=file)
    thread.join()
    calls = []
    again = fold(
        work, PIECES, scale_work.pair_sum, on="here", checkpoint=file, progress=lambda *at: calls.append(at)
    )
    assert again == here
    assert len(calls) <= len(PIECES)


def test_a_piece_that_ends_every_worker_is_named(machine):
    with pytest.raises(ZvenoError, match="piece 2"):
        fold(scale_work.killing_always, range(5), scale_work.pair_sum, on=machine.address)


def test_workers_that_hang_are_not_waited_for(machine, monkeypatch):
    monkeypatch.setattr(cluster, "PROBED", 1.0)
    for worker in machine.workers:
        os.killpg(worker.pid, signal.SIGSTOP)  # the nanny and the process that it looks after
    with pytest.raises(ZvenoError, match="not answered"):
        fold(scale_work.NOISE, PIECES, scale_work.pair_sum, on=machine.address)
    for worker in machine.workers:
        os.killpg(worker.pid, signal.SIGCONT)


def test_a_scheduler_that_hangs_is_not_waited_for(machine, tmp_path, monkeypatch):
    monkeypatch.setattr(ordered, "CHECKED_EVERY", 0.5)
    work, file = functools.partial(slow_noise, str(tmp_path)), tmp_path / "kept.json"

    def stop(done, _total):
        if done == 2:
            machine.scheduler.send_signal(signal.SIGSTOP)
            monkeypatch.setattr(cluster, "PROBED", 2.0)
            monkeypatch.setattr(cluster, "PATIENCE", 1.0)

    begin = time.monotonic()
    with pytest.raises(ZvenoError, match="scheduler has not answered"):
        fold(work, PIECES, scale_work.pair_sum, on=machine.address, checkpoint=file, progress=stop)
    machine.scheduler.send_signal(signal.SIGCONT)
    assert time.monotonic() - begin < 60
    assert json.loads(file.read_text())["done"] >= 2


def test_workers_that_are_lost_for_good_are_not_waited_for(machine, tmp_path, monkeypatch):
    monkeypatch.setattr(ordered, "CHECKED_EVERY", 0.5)
    monkeypatch.setattr(cluster, "WITHOUT_WORKERS", 2.0)

    def stop(done, _total):
        if done == 2:
            for worker in machine.workers:
                os.killpg(worker.pid, signal.SIGKILL)

    work, file = functools.partial(slow_noise, str(tmp_path)), tmp_path / "kept.json"
    with pytest.raises(ZvenoError, match="no workers for 2 s"):
        fold(work, PIECES, scale_work.pair_sum, on=machine.address, checkpoint=file, progress=stop)
    assert json.loads(file.read_text())["done"] >= 2
