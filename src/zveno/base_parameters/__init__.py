"""Base inertial parameters."""

from .analyse import base_parameters as base_parameters
from .loops import Loop as Loop
from .result import BaseParameters as BaseParameters
