"""One error tree: what was wrong, where (file and element), and what would work."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

MAX_WORDS = 3000
"""Characters of a problem, element or remedy that an error keeps."""

UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")
"""Characters that steer a terminal or cannot be seen."""


def visible(text: str) -> str:
    """Text from a file as it may be printed: control characters are shown, `\\x1b`, and not obeyed."""
    return UNSEEN.sub(lambda match: match[0].encode("unicode_escape").decode("ascii"), text)


class ZvenoError(Exception):
    """Base of every error that bad input can cause.

    Args:
        problem: what is wrong, one sentence without the final full stop.
        file: the file it was read from.
        element: the element, link, joint, argument or line inside it.
        remedy: what the user can do about it.
    """

    problem: str
    element: str | None
    remedy: str | None
    file: object | None

    def __init__(
        self,
        problem: str,
        *,
        file: object | None = None,
        element: str | None = None,
        remedy: str | None = None,
    ) -> None:
        problem, element, remedy = _shortened(problem), _shortened(element), _shortened(remedy)
        self.problem, self.file, self.element, self.remedy = problem, file, element, remedy
        place = ": ".join(str(part) for part in (file, element) if part is not None)
        text = f"{place}: {problem}" if place else problem
        super().__init__(visible(f"{text}. {remedy}" if remedy else text))

    def __reduce__(self) -> tuple[Any, ...]:
        # Keyword arguments do not survive the default pickling of exceptions.
        return _rebuild, (type(self), self.problem, self.file, self.element, self.remedy)

    def located(self, *, file: object | None = None, element: str | None = None) -> ZvenoError:
        """The same error with the place filled in where it was not known yet."""
        return type(self)(
            self.problem,
            file=self.file if self.file is not None else file,
            element=self.element if self.element is not None else element,
            remedy=self.remedy,
        )


def _shortened(text: Any) -> Any:
    """Words of a file may stand in an error; however long they are, a person can read it."""
    return text[:MAX_WORDS] + " …" if isinstance(text, str) and len(text) > MAX_WORDS + 2 else text


def _rebuild(kind, problem, file, element, remedy):
    return kind(problem, file=file, element=element, remedy=remedy)


class ModelError(ZvenoError):
    """A mechanism, or the file that describes it, is not valid."""


class ShapeError(ZvenoError):
    """An array has the wrong shape or type for the argument it was given as."""


class UnknownNameError(ZvenoError):
    """A link, joint, frame, robot or option of that name does not exist."""


class TraceError(ZvenoError):
    """A function cannot be traced, for example because it branches on a traced value."""


class BuildError(ZvenoError):
    """A kernel cannot be compiled, loaded or exported."""


class MissingExtraError(ZvenoError):
    """An optional dependency is needed and not installed."""


class ZvenoWarning(UserWarning):
    """Legal input that deserves a second look."""


def unknown_name(kind: str, name: object, known: Iterable[str]) -> UnknownNameError:
    """The error for a name that does not exist, with the nearest and the existing names."""
    import difflib

    known = list(known)
    # Comparing takes a time that grows with the product of the lengths, and both come from files.
    near = difflib.get_close_matches(str(name)[:60], [word for word in known[:1000] if len(word) <= 60], 3, 0.6)
    hint = f"Did you mean {' or '.join(near)}? " if near else ""
    return UnknownNameError(
        f"there is no {kind} named {name!r}", remedy=f"{hint}Known: {first_of(known) or 'none'}"
    )


def first_of(names: Iterable[object], most: int = 40) -> str:
    """Names or numbers for a message: the first of them, and how many there are."""
    names = [str(name) for name in names]
    return ", ".join(names[:most]) + (f", … ({len(names)} in all)" if len(names) > most else "")
