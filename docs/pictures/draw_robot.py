"""Draws the pictures of the README and of the palletiser's tutorial: `python docs/pictures/draw_robot.py`."""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path

import numpy as np

import zveno
from zveno.report.figure import save


def swing(n: int = 121) -> np.ndarray:
    """The motion of the picture: (n, 6) joint values of the PUMA 560, rad."""
    s = np.linspace(0.0, 1.0, n)
    over = np.sin(np.pi * s)
    q = np.stack([85 - 140 * s, -20 - 45 * over, 25 - 30 * over, 0 * s, 75 - 25 * over, 0 * s], axis=-1)
    return np.radians(q)


def palletiser() -> zveno.Robot:
    """The palletiser whose file the tutorial writes."""
    page = Path(__file__).resolve().parents[1] / "tutorials" / "parallel_machines.md"
    block = re.search(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    assert block is not None
    names: dict = {}
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            exec(block[1], names)
        finally:
            os.chdir(here)
    return names["robot"]


def main():
    """Write the pictures beside this file."""
    folder = Path(__file__).resolve().parent
    save(zveno.load("puma560").plot(swing()), folder / "puma560.png")
    robot = palletiser()
    motors = np.array([[0.0, -0.2, -0.3], [0.5, 0.3, 0.1], [1.0, 0.6, -0.2]])  # yaw, shoulder, crank
    save(robot.plot(zveno.loops.close(robot, motors).q), folder / "palletiser.png")


if __name__ == "__main__":
    main()
