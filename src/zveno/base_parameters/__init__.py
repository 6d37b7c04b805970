"""Base inertial parameters."""

from .analyse import base_parameters as base_parameters
from .coupling import coupling_regressor as coupling_regressor
from .loops import Loop as Loop
from .regressor import BaseModel as BaseModel
from .regressor import base_kernel as base_kernel
from .result import BaseParameters as BaseParameters
