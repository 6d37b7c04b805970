"""Work for tests of `zveno.scale`: at the top of a module, so that spawned processes find it."""

import functools
import hashlib
import os
import signal
import time
from pathlib import Path

import numpy as np

import zveno
from zveno.scale import stream


def pair_sum(a, b):
    return a + b


def noise(seed, piece):
    """A sum whose rounding shows the order of additions."""
    start, stop = piece
    return float(
        sum(
            stream(seed, number).normal() * 10.0 ** stream(seed, number).integers(-8, 8)
            for number in range(start, stop)
        )
    )


def torques(robot, piece):
    """(1, n) inverse dynamics of random states, as bytes that are hashed by the caller."""
    q, v, a = stream(1, piece[0]).normal(size=(3, piece[1] - piece[0], robot.n_v))
    return robot.inverse_dynamics(q, v, a).sum(axis=0)


def killing_once(folder, piece):
    """Piece 3 ends its process the first time."""
    mark = Path(folder) / "killed"
    if piece == 3 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return piece * 1.1


def killing_always(piece):
    if piece == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return piece


def counted(folder, piece):
    """Leaves a mark for every piece that is computed."""
    (Path(folder) / f"{piece}-{os.getpid()}-{time.monotonic_ns()}").touch()
    return piece * 0.1


def broken(folder, piece):
    """As `counted`, and piece 5 fails while there is a mark for it."""
    if piece == 5 and (Path(folder) / "broken").exists():
        raise ValueError("five")
    return counted(folder, piece)


def mixed(piece):
    return piece if piece < 2 else str(piece)


def square(piece):
    return np.full((2, 3), piece, dtype=float) ** 2


def threads(_piece):
    """Threads of kernels and of BLAS on the worker."""
    import threadpoolctl

    blas = [pool["num_threads"] for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "blas"]
    return [(zveno.get_threads(), max(blas, default=1))]


def hashed(value):
    return hashlib.sha256(np.asarray(value).tobytes()).hexdigest()


def with_lock(lock, piece):
    return piece


NOISE = functools.partial(noise, 7)
