"""Inverse kinematics: all solutions of any chain, paths, whole bodies and workspaces."""

from .._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
