"""Geometric calibration: measurements, identifiability, plans, estimation and accuracy."""

from .._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
