"""Reconstruction of saved values: only plain arrays, and fields of the types their classes declare."""

from __future__ import annotations

import re
import sys
import types
import typing
from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import cache
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ModelError
from ..mechanism import Mechanism, assemble

T = TypeVar("T")

_NUMBERS = re.compile(r"[<>|=]?[biuf](1|2|4|8|16)")


def plain_array(data: Any, dtype: Any, shape: Any) -> np.ndarray:
    """Return an array of numbers or texts from a flat list; refuse other types, which could take any memory."""
    if not isinstance(data, list) or not isinstance(dtype, str) or not isinstance(shape, list):
        raise ModelError("holds an array without a list of data, a type and a shape")
    if re.fullmatch(r"[<>|=]?U\d+", dtype) and all(isinstance(item, str) for item in data):
        dtype = f"U{max((len(item) for item in data), default=1) or 1}"
    elif not _NUMBERS.fullmatch(dtype):
        raise ModelError(f"holds an array of {dtype[:60]!r}, not of numbers or texts")
    return np.array(data, dtype=np.dtype(dtype)).reshape(shape)


def rebuilt(cls: type[T], values: dict[str, Any]) -> T:
    """Return an instance of a dataclass from its field values; refuse values of other types than declared."""
    hints = _hints(cls)
    for name, value in values.items():
        if name not in hints:
            raise ModelError(f"holds a {cls.__name__} with a field {name[:60]!r}, which does not exist")
        if not _is_of(value, hints[name]):
            raise ModelError(f"holds a {cls.__name__} whose {name} is {type(value).__name__}: {str(value)[:40]!r}")
    made = cls(**values)
    if isinstance(made, Mechanism):
        _check(made)
    return made


def _check(mechanism: Mechanism) -> None:
    """Refuse a mechanism that `assemble` refuses or would put in another order."""
    again = assemble(
        mechanism.name,
        mechanism.links,
        mechanism.joints,
        mechanism.frames,
        mechanism.gravity,
        loops=mechanism.loops,
        motors=mechanism.motors,
        reference=mechanism.reference,
    )
    if again.link_names != mechanism.link_names or [j.child for j in again.joints] != [
        j.child for j in mechanism.joints
    ]:
        raise ModelError("holds a mechanism whose links are out of order")


@cache
def _hints(cls: type) -> dict[str, Any]:
    """Return the types of the fields; Any for names that only type checkers know."""
    known = vars(sys.modules[cls.__module__])
    hints = {}
    for item in fields(cls):  # pyright: ignore[reportArgumentType]  (registered classes are dataclasses)
        try:  # annotations are text of our own modules, never of the file
            hints[item.name] = eval(item.type, dict(known)) if isinstance(item.type, str) else item.type
        except NameError:
            hints[item.name] = Any
    return hints


def _is_of(value: Any, hint: Any) -> bool:
    if hint is Any:  # a class since Python 3.11, but nothing is an instance of it
        return True
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        nested = isinstance(value, list | tuple) and set(typing.get_args(ArrayLike)) <= set(inner)
        return (nested and np.asarray(value).dtype.kind in "biuf") or any(_is_of(value, part) for part in inner)
    if origin is typing.Literal:
        return value in inner
    if origin is tuple and isinstance(value, tuple):
        if len(inner) == 2 and inner[1] is Ellipsis:
            return all(_is_of(item, inner[0]) for item in value)
        return len(value) == len(inner) and all(map(_is_of, value, inner))
    if origin in (dict, Mapping) and isinstance(value, dict):
        return all(_is_of(key, inner[0]) and _is_of(item, inner[1]) for key, item in value.items())
    if origin in (list, Sequence) and isinstance(value, list | tuple):
        return all(_is_of(item, inner[0]) for item in value)
    if hint is None or hint is types.NoneType:
        return value is None
    if hint is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    plain = origin or hint
    return isinstance(value, plain) if isinstance(plain, type) else True
