"""Legged robots: feet, gaits, support and simulated walks."""

from .._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
