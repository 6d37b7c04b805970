"""Base inertial parameters: what decides a robot's dynamics, derived from its structure."""

import sys
from types import ModuleType

from .analyse import base_parameters as base_parameters
from .base_dynamics import BaseModel as BaseModel
from .coupling import coupling_regressor as coupling_regressor
from .regressor import base_kernel as base_kernel
from .result import BaseParameters as BaseParameters


class _Callable(ModuleType):
    """The package has the name of its function: `zveno.base_parameters(robot)` and `….Loop` are both meant."""

    def __call__(self, *arguments, **options) -> BaseParameters:
        return base_parameters(*arguments, **options)


sys.modules[__name__].__class__ = _Callable
