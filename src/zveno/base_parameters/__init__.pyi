"""Base parameters: the public names and where each comes from."""

from .base_model import BaseModel as BaseModel
from .drives import coupling_regressor as coupling_regressor
from .result import BaseParameters as BaseParameters
