"""A Dask cluster of two processes on this machine, of which some are killed: the same bits, or one clear error."""

import functools
import os
import signal
import threading
import time

import numpy as np
import pytest

import executor_work
import zveno
from zveno._executor import cut, map_pieces
from zveno.errors import ZvenoError

distributed = pytest.importorskip("distributed")
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::RuntimeWarning")
PIECES = cut(60, 4)
BY_HAND = [executor_work.NOISE(piece) for piece in PIECES]


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
        ) as workers,
        distributed.Client(workers, set_as_default=False) as client,
    ):
        yield client


@pytest.mark.laws
def test_a_killed_worker_changes_nothing(client, tmp_path):
    """A worker is killed from outside once four pieces have begun; its piece is computed by another."""
    killed = []

    def kill():
        end = time.monotonic() + 60
        while not killed and time.monotonic() < end:
            marks = sorted(tmp_path.glob("mark-*"), key=lambda mark: mark.stat().st_mtime)
            if len(marks) >= 4:
                killed.append(int(marks[-1].name.split("-")[2]))
                os.kill(killed[0], signal.SIGKILL)
            time.sleep(0.01)

    thread = threading.Thread(target=kill)
    thread.start()
    work = functools.partial(executor_work.slow_noise, str(tmp_path))
    assert list(map_pieces(work, PIECES, executor=client.get_executor())) == BY_HAND
    thread.join()
    assert len(killed) == 1
    assert not os.path.exists(f"/proc/{killed[0]}") or not os.path.isdir("/proc")
    assert client.status == "running"  # it is the user's, and stays open


def test_inverse_kinematics_and_simulation_of_a_batch(client):
    robot = zveno.load("puma560")
    executor = client.get_executor()
    poses = robot.forward_kinematics(robot.random(300, 0))
    here, there = robot.ik(poses), robot.ik(poses, executor=executor)
    for name in ("q", "count", "codes", "residual", "condition"):
        assert getattr(here, name).tobytes() == getattr(there, name).tobytes(), name
    states = robot.random(130, 1)
    here, there = (robot.simulate(states, duration=0.01, **more) for more in ({}, {"executor": executor}))
    assert here.q.tobytes() == there.q.tobytes()


def test_functions_of_a_script_travel_by_value(client):
    assert list(map_pieces(lambda piece: piece * 2, range(5), executor=client.get_executor())) == [0, 2, 4, 6, 8]


def test_errors_of_the_work_come_through_unchanged(client, tmp_path):
    with pytest.raises(ValueError, match=r"^two$"):
        list(
            map_pieces(
                functools.partial(executor_work.marked, str(tmp_path)), range(60), executor=client.get_executor()
            )
        )
    time.sleep(0.3)
    assert len(list(tmp_path.iterdir())) < 10  # what had not begun was cancelled
    with pytest.raises(zveno.errors.ShapeError, match=r"peg: is round\. Give a square one"):
        list(map_pieces(executor_work.refused, range(3), executor=client.get_executor()))


def test_a_client_is_told_from_its_executor(client):
    with pytest.raises(ZvenoError, match=r"executor: must be an Executor, got Client .*client\.get_executor\(\)"):
        zveno.load("planar2").ik(np.eye(4)[None], executor=client)


def test_pieces_have_one_thread(client):
    assert set(map_pieces(executor_work.threads, range(4), executor=client.get_executor())) == {(1, 1)}


@pytest.mark.laws
def test_a_piece_that_ends_every_worker_is_one_clear_error(client):
    with pytest.raises(ZvenoError, match="executor: every worker that computed piece 2 of 5 died"):
        list(map_pieces(executor_work.killing_always, range(5), executor=client.get_executor()))
