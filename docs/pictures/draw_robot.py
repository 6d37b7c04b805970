"""Draws the README's picture: `python docs/pictures/draw_robot.py`."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from zveno.io.load import load_mechanism
from zveno.report.pictures.motion import draw_motion


def swing(n: int = 121) -> np.ndarray:
    """The motion of the picture: (n, 6) joint values of the PUMA 560, rad."""
    s = np.linspace(0.0, 1.0, n)
    over = np.sin(np.pi * s)
    q = np.stack([85 - 140 * s, -20 - 45 * over, 25 - 30 * over, 0 * s, 75 - 25 * over, 0 * s], axis=-1)
    return np.radians(q)


def main():
    """Write the picture beside this file."""
    file = Path(__file__).resolve().parent / "puma560.png"
    draw_motion(load_mechanism("puma560"), swing(), file, caption="PUMA 560: one motion, and the way of its flange")


if __name__ == "__main__":
    main()
