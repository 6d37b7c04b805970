"""Workers of a Dask cluster, checked before work goes out.

Scheduling, transport, retries of dead workers and the dashboard are Dask's. What it does not do is done here: a
worker without this package would be waited for without an end, and one with other sources would give other bits.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
import warnings
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from .._version import __version__
from ..errors import MissingExtraError, ZvenoError, ZvenoWarning
from .digest import arithmetic, sources
from .places import Workers
from .worker import pickled_work

PATIENCE = 10.0
"""Seconds that a scheduler or a first worker is waited for."""
PROBED = 30.0
"""Seconds that workers have to import this package and say which it is."""
WITHOUT_WORKERS = 600.0
"""Seconds that a run waits for new workers after all were lost: queues of clusters take a while."""
COUNTED_EVERY = 2.0
"""Seconds between two looks at how many workers there are: adaptive clusters grow."""


class Cluster(Workers):
    """The cluster of a `dask.distributed.Client` or of an address."""

    def __init__(self, on: Any, work: Callable[[Any], Any]):
        try:
            import distributed
        except ImportError:
            raise MissingExtraError(
                "clusters need dask.distributed", element="on", remedy="pip install 'zveno[cluster]'"
            ) from None
        self.pickled: bytes = pickled_work(work, by_value=True)
        self._own = isinstance(on, str)
        try:
            self.client: Any = distributed.Client(on, timeout=PATIENCE, set_as_default=False) if self._own else on
        except (OSError, TimeoutError, ValueError) as error:
            raise ZvenoError(
                f"no scheduler answers at {on}: {error}", element="on", remedy="Check the address, and that it runs"
            ) from error
        self._counted, self._next = 1, 0.0
        self._last_seen = time.monotonic()
        self._killed: type[Exception] = distributed.KilledWorker
        try:
            self._check()
        except BaseException:
            self.close()
            raise
        self._pool: Any = self.client.get_executor(pure=False)
        self._task, self._sources = _task(), sources()

    def _check(self) -> None:
        """Refuses workers whose answers would be other ones, and tells of those whose last bits may be."""
        try:
            self.client.wait_for_workers(1, timeout=PATIENCE)
        except TimeoutError as error:
            raise ZvenoError(
                f"the scheduler has had no workers for {PATIENCE:g} s",
                element="on",
                remedy="Start some: dask worker",
            ) from error
        answers = self._probed()
        good = [__version__, sources()]
        wrong = {
            address: said
            for address, said in answers.items()
            if not isinstance(said, list) or said[: len(good)] != good
        }
        for address, said in wrong.items():
            other = f"zveno {said[0]} of other sources" if isinstance(said, list) else str(said)
            raise ZvenoError(
                f"{len(wrong)} of {len(answers)} workers cannot be used: {address} has {other}, not {__version__}",
                element="on",
                remedy="Install the same zveno on all workers, and start them again",
            )
        for address, said in answers.items():
            if said[2] != arithmetic():
                text = f"last bits may depend on who computes what: {address} has {said[2]}, here is {arithmetic()}"
                warnings.warn(text, ZvenoWarning, stacklevel=2)
                break

    def _probed(self) -> dict[str, Any]:
        """What every worker says of itself; one that hangs is not waited for without an end.

        Workers that end while they are asked are left out: others may have come in their place, so all are asked
        again.
        """
        end = time.monotonic() + PROBED
        while True:
            answers = self._asked(end - time.monotonic())
            gone = [said for said in answers.values() if isinstance(said, OSError)]
            if answers and not gone:
                return answers
            if time.monotonic() > end:
                said = gone[0] if gone else "none is left"
                raise ZvenoError(f"the workers cannot be asked: {said}", element="on", remedy="Start them again")
            time.sleep(0.2)

    def _asked(self, seconds: float) -> dict[str, Any]:
        """Answers by worker, or the error of asking it."""
        answers: dict[str, Any] = {}
        failures: list[BaseException] = []

        def ask() -> None:
            try:
                answers.update(self.client.run(_probe(), on_error="return"))
            except BaseException as error:
                failures.append(error)

        asking = threading.Thread(target=ask, daemon=True)
        asking.start()
        asking.join(max(seconds, 0.0))
        if asking.is_alive() or failures:
            said = str(failures[0]) if failures else f"they have not answered for {PROBED:g} s"
            raise ZvenoError(f"the workers cannot be asked: {said}", element="on", remedy="Start them again")
        return answers

    def submit(self, piece: Any) -> Future[Any]:
        """See `Workers`."""
        return self._pool.submit(self._task, self.pickled, os.getpid(), self._sources, piece)

    def count(self) -> int:
        """See `Workers`."""
        if time.monotonic() > self._next:
            with contextlib.suppress(
                TimeoutError, OSError
            ):  # what is under way shows whether the scheduler is lost
                threads = self.client.sync(self.client.scheduler.ncores, callback_timeout=PATIENCE)
                self._counted = max(1, sum(threads.values()))
            self._next = time.monotonic() + COUNTED_EVERY
        return self._counted

    def check(self) -> None:
        """See `Workers`: a scheduler that hangs, or has had no workers for long, is an error."""
        try:
            said = self.client.sync(self.client.scheduler.identity, callback_timeout=PROBED)
        except (TimeoutError, OSError) as error:
            raise ZvenoError(
                f"the scheduler has not answered for {PROBED:g} s",
                element="on",
                remedy="Start it again, and run again with the checkpoint",
            ) from error
        if said["workers"]:
            self._last_seen = time.monotonic()
        elif time.monotonic() - self._last_seen > WITHOUT_WORKERS:
            raise ZvenoError(
                f"there have been no workers for {WITHOUT_WORKERS:g} s",
                element="on",
                remedy="Start some, and run again with the checkpoint",
            )

    def answer(self, future: Future[Any], number: int) -> Any:
        """See `Workers`."""
        try:
            return super().answer(future, number)
        except self._killed as error:
            raise ZvenoError(
                "ended every worker that it was given to",
                element=f"piece {number}",
                remedy='Run it with on="here" to see why; too little memory is a usual reason',
            ) from error

    def close(self) -> None:
        """See `Workers`."""
        if self._own:
            self.client.close()


def _probe() -> Callable[[], Any]:
    """A function that travels by value, since it is defined inside another: it runs where there is no zveno too."""

    def probe() -> Any:
        import importlib

        try:
            version = importlib.import_module("zveno").__version__
            digest = importlib.import_module("zveno.scale.digest")
            return [version, digest.sources(), getattr(digest, "arithmetic", str)()]
        except ImportError as error:
            return f"no zveno ({error})"

    return probe


def _task() -> Callable[..., Any]:
    """A piece for workers of a cluster, by value too: a worker without zveno that comes later says so."""

    def task(*arguments: Any) -> Any:
        import importlib

        try:
            worker = importlib.import_module("zveno.scale.worker")
        except ImportError as error:
            raise RuntimeError(f"a worker that came while others worked has no zveno ({error})") from None
        return worker.run_checked_piece(*arguments)

    return task
