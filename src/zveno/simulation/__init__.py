"""Simulation: motion over time, constraints, contacts, controllers and drives."""

from .._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
