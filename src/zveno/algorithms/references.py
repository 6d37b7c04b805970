"""The three references a twist or Jacobian may be given in."""

from __future__ import annotations

from ..errors import unknown_name

REFERENCES = ("aligned", "local", "world")


def checked_reference(reference: str) -> str:
    """The reference, refused with the known ones if it is not one of them."""
    if reference not in REFERENCES:
        raise unknown_name("reference", reference, REFERENCES)
    return reference
