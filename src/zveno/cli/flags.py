"""The flags of a verb as data, from its signature: for shells that complete them."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints


@dataclass(frozen=True)
class VerbFlag:
    """A flag: its name, whether a value follows it, whether that is a file, and the words it may be."""

    name: str
    takes_value: bool
    is_file: bool
    choices: tuple[str, ...]


def flags_of(verb: Callable[..., None]) -> list[VerbFlag]:
    """All flags of a verb, in the order of its help."""
    hints = get_type_hints(verb, include_extras=True)
    by_name = [
        name
        for name, parameter in inspect.signature(verb).parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY
    ]
    return [flag for name in by_name for flag in _flags(name, hints[name])]


def takes_robot(verb: Callable[..., None]) -> bool:
    """Whether the first word after the verb names a robot."""
    return next(iter(inspect.signature(verb).parameters), "") == "robot"


def _flags(name: str, hint: Any) -> Iterator[VerbFlag]:
    inner = _plain(hint)
    if is_dataclass(inner):
        hints = get_type_hints(inner, include_extras=True)
        for field in fields(inner):
            yield from _flags(field.name, hints[field.name])
        return
    choices = tuple(map(str, get_args(inner))) if get_origin(inner) is Literal else ()
    yield VerbFlag("--" + name.replace("_", "-"), inner is not bool, inner is Path, choices)


def _plain(hint: Any) -> Any:
    """The type without annotations and without the None of a flag that may be missing; of many, that of one."""
    while get_origin(hint) is Annotated:
        hint = get_args(hint)[0]
    if get_origin(hint) in (Union, types.UnionType):
        return _plain(next(part for part in get_args(hint) if part is not type(None)))
    if get_origin(hint) is tuple:
        return _plain(get_args(hint)[0])
    return hint
