"""How numbers are shown to people: by unit, what they are multiplied by and what stands behind them."""

from __future__ import annotations

import numpy as np

DEGREES = (180.0 / np.pi, "°")
ERRORS = {"m": (1e3, "mm"), "rad": DEGREES}
"""Errors of readings."""
DEVIATIONS = {
    "m": (1e3, "mm"),
    "rad": (1e3, "mrad"),
    "1": (1e3, "‰"),
    "rad/Nm": (1e6, "µrad/Nm"),
    "m/N": (1e6, "µm/N"),
}
"""Deviations of parameters."""
