"""Workers of a Dask cluster, checked before work goes out.

Scheduling, transport, retries of dead workers and the dashboard are Dask's. What it does not do is done here: a
worker without this package would be waited for without an end, and one with other sources would give other bits.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from .._version import __version__
from ..errors import MissingExtraError, ZvenoError
from .digest import sources
from .places import Workers
from .worker import pickled_work, run_piece

PATIENCE = 10.0
"""Seconds that a scheduler or a first worker is waited for."""
PROBED = 30.0
"""Seconds that workers have to import this package and say which it is."""
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
        self._killed: type[Exception] = distributed.KilledWorker
        try:
            self._check()
        except BaseException:
            self.close()
            raise
        self._pool: Any = self.client.get_executor(pure=False)

    def _check(self) -> None:
        try:
            self.client.wait_for_workers(1, timeout=PATIENCE)
        except TimeoutError as error:
            raise ZvenoError(
                f"the scheduler has had no workers for {PATIENCE:g} s",
                element="on",
                remedy="Start some: dask worker",
            ) from error
        answers = self._probed()
        wrong = {address: said for address, said in answers.items() if said != [__version__, sources()]}
        for address, said in wrong.items():
            other = f"zveno {said[0]} of other sources" if isinstance(said, list) else said
            raise ZvenoError(
                f"{len(wrong)} of {len(answers)} workers cannot be used: {address} has {other}, not {__version__}",
                element="on",
                remedy="Install the same zveno on all workers, and start them again",
            )

    def _probed(self) -> dict[str, Any]:
        """What every worker says of itself; a worker that hangs is not waited for without an end."""
        answers: dict[str, Any] = {}
        failures: list[BaseException] = []

        def ask() -> None:
            try:
                answers.update(self.client.run(_probe()))
            except BaseException as error:
                failures.append(error)

        asking = threading.Thread(target=ask, daemon=True)
        asking.start()
        asking.join(PROBED)
        if asking.is_alive() or failures:
            said = str(failures[0]) if failures else f"they have not answered for {PROBED:g} s"
            raise ZvenoError(f"the workers cannot be asked: {said}", element="on", remedy="Start them again")
        return answers

    def submit(self, piece: Any) -> Future[Any]:
        """See `Workers`."""
        return self._pool.submit(run_piece, self.pickled, os.getpid(), piece)

    def count(self) -> int:
        """See `Workers`."""
        if time.monotonic() > self._next:
            self._counted = max(1, sum(self.client.nthreads().values()))
            self._next = time.monotonic() + COUNTED_EVERY
        return self._counted

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
            return [version, importlib.import_module("zveno.scale.digest").sources()]
        except ImportError as error:
            return f"no zveno ({error})"

    return probe
