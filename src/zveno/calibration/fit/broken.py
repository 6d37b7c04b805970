"""Fits that break down: one sentence instead of what a matrix decomposition says."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, ParamSpec

import numpy as np

from ...errors import ZvenoError

if TYPE_CHECKING:
    from ..result import Calibration

Arguments = ParamSpec("Arguments")


def explained(function: Callable[Arguments, Calibration]) -> Callable[Arguments, Calibration]:
    """Decorator: a calibration that ends in a singular matrix, or in numbers that are none, is refused."""

    @wraps(function)
    def called(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Calibration:
        try:
            with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
                found = function(*args, **kwargs)
        except np.linalg.LinAlgError as error:
            raise _broken() from error
        if not (np.isfinite(found.values).all() and np.isfinite(found.covariance).all()):
            raise _broken()
        return found

    return called


def _broken() -> ZvenoError:
    return ZvenoError(
        "the fit broke down: the data do not belong to this robot",
        remedy="Look at the warnings before; check the order, sign and unit of the joint columns, the kind of "
        "measurement and the frame that was measured",
    )
