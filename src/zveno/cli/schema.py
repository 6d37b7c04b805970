"""The verb `schema`: what programs may rely on in the JSON of a verb."""

from __future__ import annotations

from typing import Annotated, Any

import tyro

from .options import OUTPUT, OutputFlags
from .output import Answer, as_json, deliver, protect
from .schemas import FIELDS, TEXT, record

VerbName = Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="VERB")]


def schema(verb: VerbName, /, *, output: OutputFlags = OUTPUT) -> None:
    """The JSON Schema of what a verb prints with --json.

    Fields are added over time, never renamed; numbers are in SI units and radians.

    Args:
        verb: the verb meant.
    """
    protect(output, [])
    described = schema_of(verb)
    deliver(Answer(lambda: described, lambda console: console.print(as_json(described), soft_wrap=True)), output)


def schema_of(verb: str) -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of what a verb prints."""
    from ..errors import unknown_name

    if verb not in FIELDS:
        raise unknown_name("verb", verb, FIELDS)
    fields = FIELDS[verb]
    version = {"zveno": ("version that printed it", TEXT)}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"zveno {verb} --json",
        **record(version | dict(fields), closed=bool(fields)),
    }
