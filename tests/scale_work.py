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


def unsendable_answer(piece):
    """A function of its own as the answer."""
    return lambda: piece


class Peculiar(Exception):
    """An error that can be pickled, and not unpickled."""

    def __init__(self, first, second):
        super().__init__(f"{first} and {second}")


def peculiar_error(piece):
    raise Peculiar("one", piece)


def refused(piece):
    raise zveno.ShapeError("is round", element="peg", remedy="Give a square one")


def long_piece(folder, piece):
    """Leaves a mark with its process, then takes a minute."""
    (Path(folder) / f"long-{os.getpid()}").touch()
    time.sleep(60.0 if piece else 0.0)
    return piece


def a_set(piece):
    return {piece}


def bulky(piece):
    return np.full(40_000, float(piece))


def kernels_made(robot, piece):
    """How many kernels and programs this process has made or loaded after some tasks with a robot."""
    robot.inverse_dynamics(*np.zeros((3, robot.n_v)))
    robot.ik(robot.forward_kinematics(np.full((2, robot.n_q), 0.1 + 0.01 * piece["number"])))
    return [(os.getpid(), made_here())]


def made_here():
    from zveno.kernels import door
    from zveno.kernels.structured import code

    caches = (door._kernel, door._program_kernel, code._stored, code._found_by_text)
    return sum(cache.cache_info().misses for cache in caches)


def ring(points):
    return np.sum(points**2, axis=1)


def waves(points):
    return np.sin(7.0 * points[:, 0]) * np.cos(5.0 * points[:, 1]) + 0.1 * points[:, 0]


def wave(points):
    return np.sin(3.0 * points[:, 0]) + 0.1 * points[:, 0]


def pair_of_rings(points):
    return np.stack([ring(points), points[:, 0] * points[:, 1] + 0.3], axis=1)
