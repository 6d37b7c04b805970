"""One answer for any workers: order, deaths of workers, errors, bad input."""

import functools
import threading
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor

import pytest

import scale_work
import zveno
from zveno.errors import ZvenoError
from zveno.scale import cut, fold, stream

PIECES = cut(60, 4)
BY_HAND = functools.reduce(scale_work.pair_sum, [scale_work.NOISE(piece) for piece in PIECES])


class Backwards(Executor):
    """An executor that computes the last piece first, whatever was asked for first."""

    def __init__(self):
        self.waiting = []

    def submit(self, fn, /, *args, **kwargs):
        future = Future()
        self.waiting.append((future, fn, args))
        if len(self.waiting) >= 5:
            self.flush()
        else:
            threading.Timer(0.05, self.flush).start()
        return future

    def flush(self):
        while self.waiting:
            future, fn, args = self.waiting.pop()
            future.set_result(fn(*args))


def test_the_sum_shows_its_order():
    backwards = functools.reduce(scale_work.pair_sum, [scale_work.NOISE(piece) for piece in reversed(PIECES)])
    assert backwards != BY_HAND


@pytest.mark.parametrize("on", ["here", "threads", 1, 2])
def test_same_bits_on_any_workers(on):
    assert fold(scale_work.NOISE, PIECES, scale_work.pair_sum, on=on) == BY_HAND


def test_same_bits_on_executors_of_the_user():
    with ThreadPoolExecutor(3) as pool:
        assert fold(scale_work.NOISE, PIECES, scale_work.pair_sum, on=pool) == BY_HAND
        assert pool.submit(int).result() == 0  # it is the user's, and stays open
    assert fold(scale_work.NOISE, PIECES, scale_work.pair_sum, on=Backwards()) == BY_HAND


def test_robots_travel_and_workers_use_one_thread():
    work = functools.partial(scale_work.torques, zveno.load("planar2"))
    here = fold(work, cut(40, 10), scale_work.pair_sum, on="here")
    there = fold(work, cut(40, 10), scale_work.pair_sum, on=2)
    assert scale_work.hashed(here) == scale_work.hashed(there)
    assert set(fold(scale_work.threads, range(4), scale_work.pair_sum, on=2)) == {(1, 1)}


def test_a_killed_worker_changes_nothing(tmp_path):
    work = functools.partial(scale_work.killing_once, str(tmp_path))
    got = fold(work, range(12), scale_work.pair_sum, on=2)
    assert (tmp_path / "killed").exists()
    assert got == functools.reduce(scale_work.pair_sum, [k * 1.1 for k in range(12)])


def test_a_piece_that_kills_each_worker_is_named():
    with pytest.raises(ZvenoError, match="piece 2: 2 ends the process of its worker each time"):
        fold(scale_work.killing_always, range(5), scale_work.pair_sum, on=2)


def test_errors_of_the_work_name_the_piece(tmp_path):
    (tmp_path / "broken").touch()
    work = functools.partial(scale_work.broken, str(tmp_path))
    for on in ("here", 1):
        with pytest.raises(ValueError, match="five") as caught:
            fold(work, range(8), scale_work.pair_sum, on=on)
        assert "in piece 5" in caught.value.__notes__


def test_pieces_under_way_are_bounded():
    """The first piece is waited for, and what is computed meanwhile is bounded."""
    gate, computed = threading.Event(), []

    def work(piece):
        if piece == 0:
            gate.wait(5.0)
        computed.append(piece)
        if len(computed) > 80:
            gate.set()
        return 1

    with ThreadPoolExecutor(2) as pool:
        threading.Timer(0.5, gate.set).start()
        assert fold(work, range(300), scale_work.pair_sum, on=pool) == 300
    assert computed.index(0) <= 8 * 8


def test_progress_is_told():
    told = []
    fold(scale_work.NOISE, PIECES, scale_work.pair_sum, on="here", progress=lambda *x: told.append(x))
    assert told == [(k + 1, len(PIECES)) for k in range(len(PIECES))]


def test_streams_depend_on_the_number_alone():
    assert stream(3, 5).normal() == stream(3, 5).normal()
    assert len({stream(seed, k).normal() for seed in range(4) for k in range(4)}) == 16


@pytest.mark.parametrize(
    ("work", "said"),
    [
        (lambda piece: piece, "lambda"),
        (functools.partial(scale_work.with_lock, threading.Lock()), "argument 1 .*lock"),
    ],
    ids=["lambda", "lock"],
)
def test_what_cannot_be_pickled_is_named(work, said):
    with pytest.raises(ZvenoError, match=said):
        fold(work, range(3), scale_work.pair_sum, on=2)
    assert fold(work, range(3), scale_work.pair_sum, on="here") == 3


@pytest.mark.parametrize("on", [0, -1, True, "cluster", 1.5, object()])
def test_places_that_are_none_are_refused(on):
    with pytest.raises(ZvenoError, match="on: "):
        fold(scale_work.NOISE, PIECES, scale_work.pair_sum, on=on)


def test_other_bad_input():
    with pytest.raises(ZvenoError, match="nothing to do"):
        fold(scale_work.NOISE, [], scale_work.pair_sum)
    with pytest.raises(ZvenoError, match="piece 2: returned str, the pieces before it int"):
        fold(scale_work.mixed, range(4), scale_work.pair_sum, on="here")
    for size, piece in ((0, 1), (5, 0), (5, 1.5), (True, 1)):
        with pytest.raises(ZvenoError, match="whole number"):
            cut(size, piece)
    with ProcessPoolExecutor(1) as pool, pytest.raises(ZvenoError, match="lambda"):
        fold(lambda piece: piece, range(3), scale_work.pair_sum, on=pool)
