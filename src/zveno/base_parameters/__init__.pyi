"""Base parameters: the public names and where each comes from."""

from .base_model import BaseModel as BaseModel
from .result import BaseParameters as BaseParameters
