"""Arguments that are no plain NumPy arrays.

NumPy hands a call over to types that define their own arithmetic: a data frame aligns columns by label and
transposes, a masked array keeps masks of the wrong shape. So everything but a plain array is converted before the
call, or refused where the conversion would lose something.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import ShapeError

_SCALARS = (float, int, np.generic)
_HARMLESS = (float, int, list, np.ndarray)


def plain_arrays(name: str, inputs: Sequence[str], arrays: Sequence[Any]) -> tuple[Any, ...]:
    """The arguments of a call as plain arrays or numbers.

    Raises:
        ShapeError: one has masked entries or a unit, or is no array at all.
    """
    return tuple([_plain(name, inputs, k, array) for k, array in enumerate(arrays)])


def _plain(name: str, inputs: Sequence[str], k: int, value: Any) -> Any:
    if type(value) is np.ndarray or isinstance(value, _SCALARS):
        return value
    element = f"argument {inputs[k] if k < len(inputs) else k + 1} of {name}"
    for part in value if isinstance(value, list | tuple) else (value,):
        if type(part) in _HARMLESS:
            continue
        if isinstance(part, np.ma.MaskedArray) and np.ma.is_masked(part):
            raise ShapeError("has masked entries", element=element, remedy="Fill them in or leave their rows out")
        if hasattr(type(part), "unit") or hasattr(type(part), "units"):
            raise ShapeError(
                "has units of its own", element=element, remedy="Give plain numbers in metres, radians and seconds"
            )
    try:
        return np.asarray(value)
    except Exception as error:  # whatever a foreign type raises
        if isinstance(value, list | tuple):
            return value  # of unequal lengths: the call itself says what was expected
        raise ShapeError(f"cannot be made an array: {error}", element=element) from error


def check_plain_output(name: str, outputs: Sequence[str], out: Any) -> None:
    """Refuse to write into what is no plain array; files mapped into memory are."""
    for k, array in enumerate(out if isinstance(out, tuple) else (out,)):
        if array is not None and type(array) not in (np.ndarray, np.memmap):
            which = outputs[k] if k < len(outputs) else k + 1
            raise ShapeError(
                f"expected an array, received {type(array).__name__}", element=f"output {which} of {name}"
            )
