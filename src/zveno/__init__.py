"""zveno: robot mechanisms, from a drawing or URDF to all the equations."""

from ._version import __version__ as __version__
