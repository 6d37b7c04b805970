"""Compiling MJCF in a process of its own, kept for the next model, with limits on time and memory."""

from __future__ import annotations

import atexit
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..errors import ModelError

MAX_CPU_SECONDS = 30.0
"""Processor time a model may take to compile; arms with all their meshes take about a second."""
MAX_SECONDS = 180.0
"""Time on the clock a model may take, for what waits without computing."""
MAX_MODEL_BYTES = 512 * 2**20
"""Larger compiled models are refused."""

_REMEDY = "Look for counts and sizes that are too large, and for models that attach themselves"
_SCRIPT = Path(__file__).with_name("mjcf_worker.py")
_lock = threading.Lock()
_worker: _Worker | None = None


def start() -> None:
    """Start the process, so that it is ready when it is needed."""
    with _lock:
        _current()


def compiled(mujoco: Any, *, path: str | None = None, text: str | None = None) -> tuple[Any, list[str]]:
    """(MjModel, notes) of a file or text.

    Raises:
        Refused: with MuJoCo's words.
        ModelError: if it crashed or came to a limit.
    """
    with _lock, tempfile.TemporaryDirectory(prefix="zveno-") as folder:
        out = os.path.join(folder, "model.mjb")
        request = {"path": path, "text": text, "cwd": os.getcwd(), "out": out}
        limits = {"cpu": MAX_CPU_SECONDS, "size": MAX_MODEL_BYTES}
        try:
            answer = _current().ask(request | limits)
        except _Ended:
            answer = _current().ask(request | limits)
        if "refused" in answer:
            raise Refused(answer["refused"])
        return mujoco.MjModel.from_binary_path(out), answer["notes"]


class Refused(Exception):
    """MuJoCo does not compile a model; its words say why."""


class _Ended(Exception):
    """The process had nothing to do for a while and ended just now."""


def _current() -> _Worker:
    """The process of this process: one that a fork inherited belongs to the parent."""
    global _worker
    if _worker is None or _worker.owner != os.getpid() or _worker.process.poll() is not None:
        _worker = _Worker()
    return _worker


class _Worker:
    def __init__(self):
        self.owner = os.getpid()
        # -P: modules beside the script, such as xml.py, must not hide those of the library.
        self.process = subprocess.Popen(
            [sys.executable, "-P", str(_SCRIPT)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        atexit.register(self.end)

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """The answer to a request; the process ends if there is none in time."""
        line: list[bytes] = []
        try:
            assert self.process.stdin is not None
            assert self.process.stdout is not None
            self.process.stdin.write(json.dumps(request).encode() + b"\n")
            self.process.stdin.flush()
            reader = threading.Thread(target=lambda out: line.append(out.readline()), args=(self.process.stdout,))
            reader.daemon = True
            reader.start()
            reader.join(MAX_SECONDS)
        except BrokenPipeError:
            line = [b""]
        except BaseException:
            self.end()
            raise
        if line and line[0].endswith(b"\n"):
            answer = json.loads(line[0])
            if "last" in answer:
                self.end()
            return answer
        if not line:
            self.end()
            raise ModelError(f"MuJoCo does not compile it within {MAX_SECONDS:g} s", remedy=_REMEDY)
        raise self._died()

    def _died(self) -> ModelError | _Ended:
        code = self.process.wait()
        self.end()
        if code == 0:
            return _Ended()
        if code == -getattr(signal, "SIGXCPU", 0):
            return ModelError(f"MuJoCo needs more than {MAX_CPU_SECONDS:g} s to compile it", remedy=_REMEDY)
        what = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        return ModelError(f"MuJoCo's compiler crashes on it ({what})", remedy=_REMEDY)

    def end(self) -> None:
        """Stop the process."""
        atexit.unregister(self.end)
        if self.owner != os.getpid():
            return
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                with suppress(OSError):
                    stream.close()
