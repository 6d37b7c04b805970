"""Parts of the corpus, each a module with `cases(archive)`."""

from __future__ import annotations

DEFAULT = (
    "functions",
    "operations",
    "base_parameters",
    "calibration",
    "identification",
    "simulation",
    "walking",
    "ik_tools",
    "scanning",
    "export",
    "ik",
    "real",
)
"""Parts of `make corpus`."""
ALL = (*DEFAULT, "ratios")
NEEDS_DATA = ("real", "export")
"""Parts whose cases are left out where data or a compiler are missing."""
