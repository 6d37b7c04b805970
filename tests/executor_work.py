"""Work for tests of executors: at the top of a module, so that spawned processes find it."""

import functools
import os
import signal
import time
from pathlib import Path

import numpy as np

import zveno
from zveno._executor import stream


def noise(seed, piece):
    """A sum whose rounding shows the order of additions."""
    start, stop = piece
    return float(
        sum(
            stream(seed, number).normal() * 10.0 ** stream(seed, number).integers(-8, 8)
            for number in range(start, stop)
        )
    )


NOISE = functools.partial(noise, 7)


def slow_noise(folder, piece):
    """Noise that takes a moment and leaves a mark with its process."""
    (Path(folder) / f"mark-{piece[0]}-{os.getpid()}").touch()
    time.sleep(0.2)
    return NOISE(piece)


def killing_once(folder, piece):
    """Piece 3 ends its process the first time."""
    mark = Path(folder) / "killed"
    if piece == 3 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return piece * 1.1


def killing_always(piece):
    """Piece 2 ends its process each time."""
    if piece == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return piece


def marked(folder, piece):
    """Leaves a mark, takes a moment; piece 2 fails."""
    (Path(folder) / f"mark-{piece}").touch()
    time.sleep(0.05)
    if piece == 2:
        raise ValueError("two")
    return piece


def threads(_piece):
    """Threads of kernels and of BLAS on the worker."""
    import threadpoolctl

    np.ones((3, 3)) @ np.ones((3, 3))
    blas = [pool["num_threads"] for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "blas"]
    return zveno.kernels.threads.get_threads(), max(blas, default=1)


class Peculiar(Exception):
    """An error that can be pickled, and not unpickled."""

    def __init__(self, first, second):
        super().__init__(f"{first} and {second}")


def peculiar_error(piece):
    raise Peculiar("one", piece)


def refused(piece):
    raise zveno.errors.ShapeError("is round", element="peg", remedy="Give a square one")


def kernels_made(robot, piece):
    """How many kernels and programs this process has made or loaded after some tasks with a robot."""
    robot.inverse_dynamics(*np.zeros((3, robot.n_v)))
    robot.ik(robot.forward_kinematics(np.full((2, robot.n_q), 0.1 + 0.01 * piece)))
    return os.getpid(), made_here()


def made_here():
    from zveno.kernels import compile as door

    caches = (door._kernel, door._program_kernel, door._code)
    return sum(cache.cache_info().misses for cache in caches)


def ring(points):
    return np.sum(points**2, axis=1)


def waves(points):
    return np.sin(7.0 * points[:, 0]) * np.cos(5.0 * points[:, 1]) + 0.1 * points[:, 0]


def wave(points):
    return np.sin(3.0 * points[:, 0]) + 0.1 * points[:, 0]


def pair_of_rings(points):
    return np.stack([ring(points), points[:, 0] * points[:, 1] + 0.3], axis=1)
