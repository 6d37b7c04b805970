"""Base inertial parameters: the minimal set that determines a robot's dynamics, derived from its structure."""

from .._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
