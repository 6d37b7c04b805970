"""Draws the README's picture: `python docs/pictures/draw_robot.py`."""

from __future__ import annotations

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


def main():
    """Write the picture beside this file."""
    file = Path(__file__).resolve().parent / "puma560.png"
    save(zveno.load("puma560").plot(swing()), file)


if __name__ == "__main__":
    main()
