"""Exception classes. Every error states the problem, its place (file and element) and a remedy."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

MAX_WORDS = 3000
"""Maximum length of a problem, element or remedy in characters."""

UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")
"""Terminal control characters and invisible characters."""


def visible(text: str) -> str:
    """Escape the control characters of untrusted text, for example as `\\x1b`, so that it is safe to print."""
    return UNSEEN.sub(lambda match: match[0].encode("unicode_escape").decode("ascii"), text)


class ZvenoError(Exception):
    """Base of every error that bad input can cause.

    Args:
        problem: the violated requirement, one sentence without the final full stop.
        file: the input file.
        element: the element, link, joint or line of the file, or the argument.
        remedy: the action that fixes the input.
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
        problem, element, remedy = _shorten(problem), _shorten(element), _shorten(remedy)
        self.problem, self.file, self.element, self.remedy = problem, file, element, remedy
        place = ": ".join(str(part) for part in (file, element) if part is not None)
        text = f"{place}: {problem}" if place else problem
        super().__init__(visible(f"{text}. {remedy}" if remedy else text))

    def __reduce__(self) -> tuple[Any, ...]:
        # Keyword arguments do not survive the default pickling of exceptions.
        return _rebuild, (type(self), self.problem, self.file, self.element, self.remedy)

    def located(self, *, file: object | None = None, element: str | None = None) -> ZvenoError:
        """Return a copy of the error with missing parts of its place filled in."""
        return type(self)(
            self.problem,
            file=self.file if self.file is not None else file,
            element=self.element if self.element is not None else element,
            remedy=self.remedy,
        )


def _shorten(text: Any) -> Any:
    """Truncate long text, because messages may quote untrusted files."""
    return text[:MAX_WORDS] + " …" if isinstance(text, str) and len(text) > MAX_WORDS + 2 else text


def _rebuild(kind, problem, file, element, remedy):
    return kind(problem, file=file, element=element, remedy=remedy)


class ModelError(ZvenoError):
    """A mechanism, or the file that describes it, is not valid."""


class ShapeError(ZvenoError):
    """An array has the wrong shape or type for the argument it was given as."""


class UnknownNameError(ZvenoError):
    """No link, joint, frame, robot or option has the given name."""


class TraceError(ZvenoError):
    """A function cannot be traced, for example because it branches on a traced value."""


class BuildError(ZvenoError):
    """A kernel cannot be compiled, loaded or exported."""


class MissingExtraError(ZvenoError):
    """An optional dependency is needed and not installed."""


class ZvenoWarning(UserWarning):
    """Valid input that is probably not intended."""


def unknown_name(kind: str, name: object, known: Iterable[str]) -> UnknownNameError:
    """Build the error for an unknown name; the remedy lists similar and known names."""
    import difflib

    known = list(known)
    # The cost of the comparison grows with the product of the lengths, and both may come from untrusted files.
    near = difflib.get_close_matches(str(name)[:60], [word for word in known[:1000] if len(word) <= 60], 3, 0.6)
    hint = f"Did you mean {' or '.join(near)}? " if near else ""
    return UnknownNameError(
        f"there is no {kind} named {name!r}", remedy=f"{hint}Known: {first_of(known) or 'none'}"
    )


def first_of(names: Iterable[object], most: int = 40) -> str:
    """Format the first `most` names or numbers for a message, with the total count if there are more."""
    names = [str(name) for name in names]
    return ", ".join(names[:most]) + (f", … ({len(names)} in all)" if len(names) > most else "")


def refuse_other(value: object, kind: type, element: str, remedy: str) -> None:
    """Raise an error unless an argument is of the kind that it must be; `remedy` shows one."""
    if not isinstance(value, kind):
        raise ZvenoError(f"is {value!r:.80}", element=element, remedy=f"Give {remedy}")
