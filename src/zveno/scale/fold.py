"""Work in pieces on any workers, merged from left to right: the same answer whoever computes it, in any order."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import nullcontext
from typing import Any, TypeVar

from ..errors import ZvenoError
from ..progress import Progress, ProgressBar
from .checkpoint import Checkpoint, checkpoint_at
from .digest import digest_of

P = TypeVar("P")
A = TypeVar("A")

On = int | str | Executor | Any | None
"""Argument: where work goes, see `fold`."""


def fold(
    work: Callable[[P], A],
    pieces: Sequence[P],
    merge: Callable[[A, A], A],
    on: On = None,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: Progress = None,
) -> A:
    """merge(… merge(work(pieces[0]), work(pieces[1])) …, work(pieces[-1])), computed by many workers.

    Answers are merged in the order of the pieces, whoever is first, so that the result has the same bits for any
    number and kind of workers, after a worker died, and after a resumption: `work` must depend on its piece alone,
    with random numbers from `stream(seed, number)`.

    Args:
        work: function of a piece; for processes it must be importable (no lambda), arguments bound by partial.
        pieces: what is to be done, any picklable values; one should take 1 to 10 s. See `cut`.
        merge: of two answers to one.
        on: None for one process a core; a number of processes; "here" (one after the other in this process) or
            "threads" where kernels do all the work; "tcp://…" or a `dask.distributed.Client`; or any Executor.
        checkpoint: file that keeps what is merged; the same call goes on from there, on any machine and workers.
        progress: whether a bar with the time left is shown, or a function of (done, total).
    """
    pieces = list(pieces)
    if not pieces:
        raise ZvenoError("there is nothing to do", element="pieces", remedy="Give at least one piece")
    digest = digest_of(work, pieces, merge) if checkpoint is not None else ""
    keeper = nullcontext(None) if checkpoint is None else checkpoint_at(checkpoint, digest, len(pieces))
    with keeper as state, ProgressBar("Working", progress) as bar:
        begin, total = (0, None) if state is None else (state.done, state.total)
        if begin < len(pieces):
            total = _merged(_answers(work, pieces, begin, on), merge, begin, total, len(pieces), state, bar)
    return total  # type: ignore[return-value]


def _answers(work: Callable[[P], A], pieces: list[P], begin: int, on: On) -> Iterator[tuple[int, A]]:
    from .ordered import answers_in_order  # these import multiprocessing, which takes as long as a solver to import
    from .places import workers_of

    with workers_of(on, work) as workers:
        yield from answers_in_order(workers, pieces, begin)


def _merged(
    answers: Iterator[tuple[int, Any]],
    merge: Callable[[Any, Any], Any],
    begin: int,
    total: Any,
    n: int,
    state: Checkpoint | None,
    bar: Callable[[float, float], object],
) -> Any:
    kind: type | None = type(total) if begin else None
    try:
        for number, answer in answers:
            if kind is None:
                kind = type(answer)
            elif type(answer) is not kind:
                raise ZvenoError(
                    f"returned {type(answer).__name__}, the pieces before it {kind.__name__}",
                    element=f"piece {number}",
                    remedy="Let `work` return one type for every piece",
                )
            total = answer if number == 0 else merge(total, answer)
            if state is not None:
                state.keep(number + 1, total)
            bar(number + 1, n)
    finally:
        answers.close()  # type: ignore[attr-defined]
    return total
