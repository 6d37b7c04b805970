"""Updates a second of the studio at a websocket client, server side: `python -m benchmarks.studio`.

A client without a browser reads what a page would read. A chain of 38 joints is moved as fast as the studio
takes it; the target of a six-joint arm is moved along a circle, every pose with all its solutions as ghosts.
"""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

import zveno

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from studio_client import camera, connected

SECONDS = 4.0
JOINTS = 38


def rates(studio: Any, change: Any, done: Any) -> tuple[float, ...]:
    """Updates computed and received a second, kB a second and CPU ms an update, while something is changed."""
    windows: list[int] = []
    stop = threading.Event()

    def read() -> None:
        while not stop.is_set():
            try:
                windows.append(len(client.recv(timeout=0.2)))
            except TimeoutError:
                continue

    with connected(studio.url) as client:
        client.send(camera())
        reader = threading.Thread(target=read)
        reader.start()
        time.sleep(1.0)
        windows.clear()
        first, began, used, k = done(), time.perf_counter(), time.process_time(), 0
        while time.perf_counter() - began < SECONDS:
            change(k)
            k += 1
            time.sleep(1 / 120)
        elapsed = time.perf_counter() - began
        counted, received, size = done() - first, len(windows), sum(windows)
        used = time.process_time() - used
        stop.set()
        reader.join()
    return counted / elapsed, received / elapsed, 1e-3 * size / elapsed, 1e3 * used / max(counted, 1)


def joints() -> tuple[float, ...]:
    robot = zveno.load(f"chain({JOINTS})")
    a, b = robot.random(2, 0)
    with zveno.open_studio(robot) as studio:
        studio.targets["/robot1"].enabled.value = False
        stage = studio.stages[0]
        time.sleep(1.0)
        return rates(studio, lambda k: stage.set(a + (b - a) * 0.5 * (1 + np.sin(0.05 * k))), lambda: stage.placed)


def ghosts() -> tuple[float, ...]:
    robot = zveno.load("puma560")
    with zveno.open_studio(robot) as studio:
        target = studio.targets["/robot1"]
        middle = np.asarray(robot.forward_kinematics([0.3, -0.4, 0.5, 0.2, 0.7, 0.1]))

        def move(k: int) -> None:
            T = middle.copy()
            T[:2, 3] += 0.05 * np.array([np.cos(0.05 * k), np.sin(0.05 * k)])
            target.move(T)

        move(0)
        time.sleep(3.0)
        return rates(studio, move, lambda: target.solved)


def main() -> None:
    print(f"zveno {zveno.__version__}, updates a second at a client, {SECONDS:g} s each (aimed at: 40)\n")
    print("| what | computed | received | kB/s | CPU ms an update, client included |\n|---|---|---|---|---|")
    for what, run in ((f"{JOINTS} joints", joints), ("six joints, target dragged, all ghosts", ghosts)):
        computed, received, size, used = run()
        print(f"| {what} | {computed:.1f} | {received:.1f} | {size:.0f} | {used:.1f} |", flush=True)


if __name__ == "__main__":
    main()
