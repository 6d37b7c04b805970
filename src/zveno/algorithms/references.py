"""The three references a twist or Jacobian may be given in."""

from __future__ import annotations

from typing import Literal, get_args

from ..errors import unknown_name

Reference = Literal["aligned", "local", "world"]
REFERENCES: tuple[Reference, ...] = get_args(Reference)


def checked_reference(reference: str) -> str:
    """Return the reference if it is known, else raise an error that lists the known ones."""
    if reference not in REFERENCES:
        raise unknown_name("reference", reference, REFERENCES)
    return reference
