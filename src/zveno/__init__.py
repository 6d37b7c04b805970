"""zveno: robot mechanisms, from a drawing or URDF to all the equations.

`zveno` holds what every user needs; each job has a module of its own: `ik`, `loops`, `simulation`, `calibration`,
`identification`, `walking`, `base_parameters`, `scanning` and `documents`.
"""

from ._lazy import attach
from ._version import __version__ as __version__

__getattr__, __dir__, __all__ = attach(__name__)
