"""`map_pieces`: order, deaths of workers, errors, threads and bad input."""

import functools
import multiprocessing
import os
import subprocess
import sys
import threading
import time
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import pytest

import executor_work
import zveno
from zveno._executor import cut, map_pieces, stream
from zveno.errors import ZvenoError

PIECES = cut(60, 4)
BY_HAND = [executor_work.NOISE(piece) for piece in PIECES]
TESTS = Path(executor_work.__file__).parent
pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")


def answers(work, pieces, executor, **more):
    return list(map_pieces(work, pieces, executor=executor, **more))


def processes(n, method="spawn"):
    return ProcessPoolExecutor(n, multiprocessing.get_context(method))


class Backwards(Executor):
    """An executor that computes the last piece first, whatever was asked for first."""

    _max_workers = 3

    def __init__(self):
        self.waiting, self.most = [], 0

    def submit(self, fn, /, *args, **kwargs):
        future = Future()
        self.waiting.append((future, fn, args))
        self.most = max(self.most, len(self.waiting))
        threading.Timer(0.05, self.flush).start()
        return future

    def flush(self):
        while self.waiting:
            future, fn, args = self.waiting.pop()
            future.set_result(fn(*args))


def test_pieces_are_computed_here_without_an_executor():
    assert answers(executor_work.NOISE, PIECES, None) == BY_HAND


@pytest.mark.laws(after=1)
@pytest.mark.parametrize(("n", "method"), [(1, "fork"), (2, "spawn"), (3, "forkserver")])
def test_processes_started_in_any_way_give_the_same_answers_in_order(n, method):
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"no {method} here")
    with processes(n, method) as pool:
        assert answers(executor_work.NOISE, PIECES, pool) == BY_HAND
        assert pool.submit(int).result() == 0  # it is the user's, and stays open


def test_threads_and_other_executors_do_too():
    with ThreadPoolExecutor(3) as pool:
        assert answers(executor_work.NOISE, PIECES, pool) == BY_HAND
        assert pool.submit(int).result() == 0
    backwards = Backwards()
    assert answers(executor_work.NOISE, PIECES, backwards) == BY_HAND
    assert backwards.most == 6  # two pieces per worker


def test_each_piece_has_one_kernel_thread_and_one_blas_thread():
    before = zveno.kernels.threads.get_threads()
    zveno.set_threads(3)
    try:
        with processes(2, "fork") as pool:
            assert set(answers(executor_work.threads, range(4), pool)) == {(1, 1)}
        with ThreadPoolExecutor(3) as pool:
            assert set(answers(executor_work.threads, range(12), pool)) == {(1, 1)}
        assert zveno.kernels.threads.get_threads() == 3
    finally:
        zveno.set_threads(before)


def test_kernels_are_made_once_per_process():
    work = functools.partial(executor_work.kernels_made, zveno.load("puma560"))
    with processes(1) as pool:
        made = answers(work, range(4), pool)
    assert len({process for process, _ in made}) == 1
    assert made[0][1] == made[-1][1] > 0


@pytest.mark.laws
def test_a_killed_worker_changes_nothing(tmp_path):
    work = functools.partial(executor_work.killing_once, str(tmp_path))
    with processes(2) as pool:
        assert answers(work, range(12), pool) == [k * 1.1 for k in range(12)]
        assert (tmp_path / "killed").exists()
        assert answers(executor_work.NOISE, PIECES[:3], pool) == BY_HAND[:3]  # a broken pool is replaced


def test_a_worker_that_always_dies_is_one_clear_error():
    with processes(1) as pool, pytest.raises(ZvenoError, match=r"executor: .*died twice during piece.* 2 .*of 5"):
        answers(executor_work.killing_always, range(5), pool)


@pytest.mark.laws
def test_errors_of_the_work_come_through_unchanged(tmp_path):
    work = functools.partial(executor_work.marked, str(tmp_path))
    for pool in (processes(1), ThreadPoolExecutor(1)):
        with pool:
            with pytest.raises(ValueError, match=r"^two$"):
                answers(work, range(60), pool)
            with pytest.raises(zveno.errors.ShapeError, match=r"peg: is round\. Give a square one"):
                answers(executor_work.refused, range(3), pool)
    assert len(list(tmp_path.iterdir())) < 10  # what had not begun was cancelled
    with processes(1) as pool, pytest.raises(RuntimeError, match="Peculiar: one and 0"):
        answers(executor_work.peculiar_error, range(3), pool)
    with ThreadPoolExecutor(1) as pool:
        with pytest.raises(executor_work.Peculiar):
            answers(executor_work.peculiar_error, range(3), pool)
        with pytest.raises(TypeError, match="unsupported operand"):
            answers(lambda piece: piece + "one", range(3), pool)


def test_an_interrupt_cancels_what_is_pending(tmp_path):
    def interrupt(done, _total):
        if done == 2:
            raise KeyboardInterrupt

    work = functools.partial(executor_work.slow_noise, str(tmp_path))
    with ThreadPoolExecutor(2) as pool:
        with pytest.raises(KeyboardInterrupt):
            answers(work, PIECES, pool, progress=interrupt)
        time.sleep(0.5)
        assert len(list(tmp_path.iterdir())) <= 2 + 4
        assert pool.submit(int).result() == 0


def test_progress_is_told():
    told = []
    with ThreadPoolExecutor(2) as pool:
        answers(executor_work.NOISE, PIECES, pool, progress=lambda *x: told.append(x))
    assert told == [(k + 1, len(PIECES)) for k in range(len(PIECES))]


def test_streams_depend_on_the_number_alone():
    assert stream(3, 5).normal() == stream(3, 5).normal()
    assert len({stream(seed, k).normal() for seed in range(4) for k in range(4)}) == 16


@pytest.mark.parametrize("executor", [4, "processes", ProcessPoolExecutor, object()])
def test_what_is_not_an_executor_is_refused(executor):
    with pytest.raises(ZvenoError, match=r"executor: must be an Executor, got .*get_executor"):
        map_pieces(executor_work.NOISE, PIECES, executor=executor)


def test_an_executor_that_was_shut_down_is_refused():
    for pool in (ThreadPoolExecutor(1), processes(1)):
        pool.shutdown()
        with pytest.raises(ZvenoError, match="executor: was shut down"):
            answers(executor_work.NOISE, PIECES, pool)


def test_what_cannot_be_pickled_is_named():
    with processes(1) as pool:
        with pytest.raises(ZvenoError, match=r"an argument cannot be sent to workers: .*lambda"):
            answers(lambda piece: piece, range(3), pool)
        with pytest.raises(ZvenoError, match=r"an argument cannot be sent to workers: .*lock"):
            answers(executor_work.NOISE, [(0, 1), threading.Lock()], pool)
    with ThreadPoolExecutor(1) as pool:
        assert answers(lambda piece: piece, range(3), pool) == [0, 1, 2]


def test_bad_sizes_are_refused():
    for size, piece in ((0, 1), (5, 0), (5, 1.5), (True, 1)):
        with pytest.raises(ZvenoError, match="whole number"):
            cut(size, piece)


SCRIPT = """
import multiprocessing, sys
from concurrent.futures import ProcessPoolExecutor
import zveno

robot = zveno.load("planar2")
poses = robot.forward_kinematics(robot.random(300, 0))
with ProcessPoolExecutor(2, multiprocessing.get_context(sys.argv[1])) as pool:
    print(robot.ik(poses, executor=pool).count.sum() > 0)
"""


@pytest.mark.parametrize("method", ["fork", pytest.param("spawn", marks=pytest.mark.laws)])
def test_a_script_without_a_guard_works_by_fork_and_is_told_otherwise(method, tmp_path):
    file = tmp_path / "script.py"
    file.write_text(SCRIPT)
    path = os.pathsep.join([str(TESTS), *sys.path])
    run = subprocess.run(
        [sys.executable, str(file), method],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    if method == "fork":
        assert run.stdout.strip() == "True", run.stderr
    else:
        assert run.returncode
        assert 'if __name__ == "__main__"' in run.stderr
