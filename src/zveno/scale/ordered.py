"""Answers in the order of the pieces, with a bounded number of pieces under way."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from ..errors import ZvenoError
from .places import Workers

BUFFERED = 8
"""Answers that may wait for an earlier one, for every piece under way."""
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
                    coming[workers.submit(pieces[waiting[-1]])] = waiting[-1]
                    waiting.pop()
                for future in wait(coming, return_when=FIRST_COMPLETED).done:
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
                yield due, workers.answer(ready.pop(due), due)
                due += 1
    finally:
        for future in coming:
            future.cancel()


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
                remedy='Run it with on="here" to see why; too little memory is a usual reason',
            ) from error
    return answers


def _refuse_broken(future: Future[Any]) -> None:
    error = future.exception()
    if isinstance(error, BrokenProcessPool):
        raise error
