"""Draws the README's picture, the same that `zveno demo` makes: `python docs/pictures/draw_robot.py`."""

from __future__ import annotations

from pathlib import Path

from zveno.cli.demo import swing
from zveno.io.load import load_mechanism
from zveno.report.pictures.motion import draw_motion


def main():
    """Write the picture beside this file."""
    file = Path(__file__).resolve().parent / "puma560.png"
    draw_motion(load_mechanism("puma560"), swing(), file, caption="PUMA 560: one motion, and the way of its flange")


if __name__ == "__main__":
    main()
