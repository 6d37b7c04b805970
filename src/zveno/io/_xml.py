"""Safe reader for untrusted XML: bounded size, depth and count, no entities, and a line for every element."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import ParseError, XMLParser

from ..errors import ModelError
from ..mechanism.assemble import MAX_MAGNITUDE
from .files import MAX_BYTES, too_large

MAX_DEPTH = 500
"""Largest nesting depth. URDF needs about ten levels; MJCF nests bodies, one level per link."""
MAX_ELEMENTS = 500_000
"""Largest number of elements: more take seconds and hundreds of megabytes."""

_UNBOUND_PREFIX = 27  # XML_ERROR_UNBOUND_PREFIX of expat
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


@dataclass(slots=True)
class Element:
    """XML element.

    Attributes:
        tag: its name; `{namespace}name` where it has a namespace.
        attributes: by name, as text.
        line: where its start tag begins, counted from 1.
        children: elements directly inside.
        pieces: the text directly inside, white space between elements left out.
    """

    tag: str
    attributes: dict[str, str]
    line: int
    children: list[Element] = field(default_factory=list)
    pieces: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """Text directly inside."""
        return "".join(self.pieces)

    def all(self, tag: str) -> list[Element]:
        """Return the children with that tag, in file order."""
        return [child for child in self.children if child.tag == tag]

    def only(self, tag: str, owner: str) -> Element | None:
        """Return the child with that tag, or None; refuse two of them."""
        elements = self.all(tag)
        if len(elements) > 1:
            lines = ", ".join(str(duplicate.line) for duplicate in elements[:8])
            raise ModelError(
                f"there are {len(elements)} <{tag}> elements, on lines {lines}",
                element=owner,
                remedy=f"Keep one <{tag}>",
            )
        return elements[0] if elements else None

    def walk(self) -> Iterator[Element]:
        """Yield this element and all below it, in file order."""
        waiting: list[Element] = [self]
        while waiting:
            element = waiting.pop()
            yield element
            waiting.extend(reversed(element.children))


def parse_xml(data: bytes | str) -> Element:
    """Return the root element of an XML document.

    Refused with a `ModelError` that names line and remedy: anything that is not well-formed, document type
    definitions (and with them all entities, bombs and references to other files), and the limits above.
    """
    if not isinstance(data, (bytes, str)):
        raise ModelError(f"{type(data).__name__} was given where text is needed", remedy="Give str or bytes")
    if len(data) > MAX_BYTES:
        raise too_large(len(data))
    if not data.strip():
        raise ModelError("the file is empty", remedy="Check that it was written or downloaded completely")
    data = _with_head_first(data)
    builder = _Builder()
    parser = XMLParser(target=builder, forbid_dtd=True)
    builder.expat = parser.parser  # pyright: ignore[reportAttributeAccessIssue]  (of the pure Python parser)
    try:
        parser.feed(data)
        parser.close()
    except ParseError as error:
        raise _malformed(data, error) from None
    except DefusedXmlException:
        raise ModelError(
            "it has a document type definition or entities, which are not read for safety",
            element=f"line {builder.line}",
            remedy="Delete the <!DOCTYPE …> and write out the entities it defines",
        ) from None
    except (ValueError, LookupError) as error:  # encodings that expat asks Python for
        raise ModelError(f"its text cannot be decoded: {error}", remedy="Save the file as UTF-8") from None
    assert builder.root is not None  # expat refuses documents without a root
    return builder.root


def _with_head_first(data: Any) -> Any:
    """Move blank lines before the XML declaration, where they are invalid, behind it, so that line numbers stay.

    A byte order mark before blank lines is removed.
    """
    text = isinstance(data, str)
    mark: Any = "\ufeff" if text else b"\xef\xbb\xbf"
    data = data.removeprefix(mark)
    marks: tuple[Any, Any, Any] = (" \t\r\n", "<?xml", "?>") if text else (b" \t\r\n", b"<?xml", b"?>")
    blank, head, end = marks
    rest = data.lstrip(blank)
    if len(rest) == len(data) or not rest.startswith(head) or end not in rest:
        return data
    stop = rest.index(end) + len(end)
    return rest[:stop] + data[: len(data) - len(rest)] + rest[stop:]


class _Builder:
    """Builder that collects elements as the parser meets them."""

    def __init__(self):
        self.expat = None
        self.open: list[Element] = []
        self.root: Element | None = None
        self.count = 0

    @property
    def line(self) -> int:
        return self.expat.CurrentLineNumber if self.expat is not None else 0

    def start(self, tag: str, attributes: dict[str, str]):
        element = Element(tag, dict(attributes), self.line)
        self.count += 1
        if len(self.open) >= MAX_DEPTH or self.count > MAX_ELEMENTS:
            limit = (
                f"more than {MAX_ELEMENTS} elements" if self.count > MAX_ELEMENTS else "elements nested too deep"
            )
            raise ModelError(
                f"it has {limit}", element=f"line {element.line}", remedy="A model needs far fewer; check the file"
            )
        if self.open:
            self.open[-1].children.append(element)
        else:
            self.root = element
        self.open.append(element)

    def end(self, tag: str):
        self.open.pop()

    def data(self, text: str):
        if self.open and not text.isspace():
            self.open[-1].pieces.append(text)

    def close(self):
        pass


def _malformed(data: bytes | str, error: ParseError) -> ModelError:
    line, column = error.position
    problem = f"the XML is malformed ({str(error).split(':')[0]})"
    remedy = "Correct it there; an XML editor or `xmllint` shows what is missing"
    head = data[:64] if isinstance(data, str) else data[:64].decode("latin-1").removeprefix("ï»¿")
    if isinstance(data, bytes) and data[:2] not in (b"\xff\xfe", b"\xfe\xff"):  # not UTF-16
        try:
            data.decode("utf-8")
        except UnicodeDecodeError as bad:
            problem = f"byte {bad.start} is not UTF-8"
            remedy = "Save the file as UTF-8 XML text; if it is compressed, unpack it first"
    if error.code == _UNBOUND_PREFIX:
        problem = "a prefix such as in <prefix:name> is not declared"
        remedy = 'Declare it in the root element: xmlns:prefix="prefix"; a xacro file must be expanded first'
    elif line == 1 and not head.lstrip().startswith(("<", "ÿþ", "þÿ")):
        problem, remedy = f"this is not XML; {problem}", f"An XML file begins with <. {remedy}"
    return ModelError(problem, element=f"line {line}, column {column}", remedy=remedy)


def to_float(text: str, where: str, bound: float = MAX_MAGNITUDE) -> float:
    """Return one finite number in ordinary notation; refuse anything else."""
    value = float(text) if _NUMBER.fullmatch(text) else math.nan
    if not math.isfinite(value):
        hint = f" ({text.replace(',', '.')})" if "," in text else ""
        raise ModelError(
            f"{_shortened(text)} is not a finite number",
            element=where,
            remedy=f"Write a number with a decimal point{hint}; leave a limit out where there is none",
        )
    if abs(value) > bound:
        raise ModelError(f"{_shortened(text)} is out of range", element=where, remedy="Use SI units and check it")
    return value


def to_floats(text: str, counts: tuple[int, ...], where: str, bound: float = MAX_MAGNITUDE) -> list[float]:
    """Return numbers separated by white space; their count must be one of `counts`."""
    parts = text.split()
    if len(parts) not in counts:
        needed = " or ".join(str(count) for count in counts)
        raise ModelError(
            f"{_shortened(text)} has {len(parts)} value(s) where {needed} are needed",
            element=where,
            remedy=f"Write {needed} number(s) separated by spaces",
        )
    return [to_float(part, where, bound) for part in parts]


def _shortened(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:60] + "…")
