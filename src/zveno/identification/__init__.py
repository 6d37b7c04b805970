"""Identification of inertia, friction and drives from recorded motions and torques."""

from .._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
