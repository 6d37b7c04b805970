"""Closed loops: mobility of parallel and hybrid mechanisms."""

from .._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
