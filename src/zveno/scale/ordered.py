"""Answers in the order of the pieces, with a bounded number of pieces under way."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from ..errors import ZvenoError
from .places import Workers
from .worker import not_sent

BUFFERED = 8
"""Answers that may wait for an earlier one, for every piece under way."""
CHECKED_EVERY = 10.0
"""Seconds without an answer after which it is asked whether one can be expected at all."""
DEATHS = 2
"""Losses of workers, with no answer in between, after which pieces are tried one by one."""


def answers_in_order(workers: Workers, pieces: Sequence[Any], begin: int) -> Iterator[tuple[int, Any]]:
    """(number, answer) from piece `begin`; pieces of a worker that died are given out again.

    An error of a piece is raised when that piece is due, so that the pieces before it are never lost.
    """
    coming: dict[Future[Any], int] = {}
    ready: dict[int, Future[Any]] = {}
    waiting = list(range(len(pieces) - 1, begin - 1, -1))  # the next one is the last
    due, deaths = begin, 0
    try:
        while due < len(pieces):
            window = workers.window()
            try:
                while waiting and len(coming) < window and waiting[-1] < due + BUFFERED * window:
                    coming[_submitted(workers, pieces, waiting[-1])] = waiting[-1]
                    waiting.pop()
                finished = wait(coming, CHECKED_EVERY, return_when=FIRST_COMPLETED).done
                if not finished:
                    workers.check()
                for future in finished:
                    _refuse_broken(future)
                    ready[coming.pop(future)] = future
                    deaths = 0
            except BrokenProcessPool:
                lost = sorted(coming.values())
                coming.clear()
                waiting = sorted({*waiting, *lost}, reverse=True)
                deaths += 1
                workers.renew()
                if deaths > DEATHS:
                    ready |= _one_by_one(workers, pieces, lost)
                    waiting = [number for number in waiting if number not in ready]
                    deaths = 0
            except CancelledError as error:
                raise ZvenoError(
                    "the workers were lost while it was computed",
                    element=f"piece {due}",
                    remedy="Start the cluster, and run again with the checkpoint",
                ) from error
            while due in ready:
                yield due, _answer(workers, ready.pop(due), pieces, due)
                due += 1
    finally:
        for future in coming:
            future.cancel()


def _submitted(workers: Workers, pieces: Sequence[Any], number: int) -> Future[Any]:
    try:
        return workers.submit(pieces[number])
    except (BrokenProcessPool, ZvenoError):
        raise
    except Exception as error:
        if (other := not_sent(error, pieces[number], number)) is None:
            raise
        raise other from error


def _answer(workers: Workers, future: Future[Any], pieces: Sequence[Any], number: int) -> Any:
    try:
        return workers.answer(future, number)
    except ZvenoError:
        raise
    except Exception as error:
        if (other := not_sent(error, pieces[number], number)) is None:
            raise
        raise other from error


def _one_by_one(workers: Workers, pieces: Sequence[Any], numbers: Sequence[int]) -> dict[int, Future[Any]]:
    """Answers to pieces of which one ends its worker; that one is named."""
    answers = {}
    for number in numbers:
        try:
            answers[number] = workers.submit(pieces[number])
            _refuse_broken(answers[number])
        except BrokenProcessPool as error:
            raise ZvenoError(
                f"{pieces[number]!r:.100} ends the process of its worker each time",
                element=f"piece {number}",
                remedy='Run it with on="here" to see why: too little memory, or a script without '
                "`if __name__ == '__main__':`",
            ) from error
    return answers


def _refuse_broken(future: Future[Any]) -> None:
    error = future.exception()
    if isinstance(error, BrokenProcessPool):
        raise error
