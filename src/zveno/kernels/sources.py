"""Which source files a traced function reaches: the import closure of its module, within the package.

A kernel's key holds a hash of these files, so changed code never meets a kernel traced from the old. Imports are
found in the text of a file, wherever they stand in it. A package's `__init__` counts only if a name is taken from
the package itself: `from .x import y` executes it too, but nothing in it is traced then.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path

from . import cache as disk

_IMPORT = re.compile(
    rb"[ \t]*(?:from[ \t]+(?P<dots>\.*)(?P<module>[\w.]*)[ \t]+import[ \t]*"
    rb"(?P<names>\([^)]*\)|(?:\\\r?\n|[^\r\n])*)"
    rb"|import[ \t]+(?P<modules>(?:\\\r?\n|[^\r\n])*))"
)
_COMMENT = re.compile(rb"#[^\r\n]*")
_FIRST_WORD = re.compile(rb"\s*([\w.]+)")


class Sources:
    """The Python files below a package's folder, each read once."""

    root: Path
    package: str

    def __init__(self, root: Path):
        self.root, self.package = root, root.name
        self._texts: dict[str, bytes | None] = {}
        self._hashes: dict[str, str] = {}
        self._imports: dict[str, frozenset[str]] = {}
        self._digests: dict[frozenset[str], str | None] = {}
        self._changed = False

    def digest(self, modules: Iterable[str]) -> str | None:
        """A hash of all files that modules of the package reach; None if one of the modules has no source file."""
        roots = frozenset(modules)
        if roots not in self._digests:
            self._digests[roots] = self._digest(roots)
            self._keep()
        return self._digests[roots]

    def _digest(self, roots: frozenset[str]) -> str | None:
        if any(self._text(module) is None for module in roots):
            return None
        reached = sorted(self.closure(roots))
        lines = (f"{module} {self._hash(module)}" for module in reached)
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()

    def closure(self, modules: Iterable[str]) -> set[str]:
        """Dotted names of the modules, of what they import, of what that imports, and so on."""
        reached: set[str] = set()
        waiting = set(modules)
        while waiting:
            module = waiting.pop()
            reached.add(module)
            waiting |= self.imports(module) - reached
        return reached

    def imports(self, module: str) -> frozenset[str]:
        """Modules of the package that a module names in its imports."""
        if module not in self._imports:
            text, kept = self._hash(module), self._kept
            if module not in kept or kept[module][0] != text:
                kept[module], self._changed = [text, *sorted(set(self._named_by(module)))], True
            self._imports[module] = frozenset(kept[module][1:])
        return self._imports[module]

    def _named_by(self, module: str) -> Iterator[str]:
        text = self._text(module) or b""
        parts = module.split(".")
        package = parts if self.files.get(module, "").endswith("__init__.py") else parts[:-1]
        for statement in _statements(text):
            if statement["modules"] is not None:
                yield from filter(self.files.__contains__, _words(statement["modules"]))
                continue
            level = len(statement["dots"])
            base = [] if not level else package[: len(package) - level + 1]
            if statement["module"]:
                base = [*base, *statement["module"].decode().split(".")]
            if base[:1] != [self.package]:
                continue
            source = ".".join(base)
            for name in _words(statement["names"].strip(b"()")):
                inner = f"{source}.{name}"
                yield inner if inner in self.files else source

    @cached_property
    def files(self) -> dict[str, str]:
        """The file of every module by its dotted name; of a package, its `__init__`."""
        files, prefix = {}, len(os.path.dirname(self.root)) + 1
        for folder, _, names in os.walk(self.root):
            package = folder[prefix:].replace(os.sep, ".")
            for name in names:
                if name.endswith(".py"):
                    module = package if name == "__init__.py" else f"{package}.{name[:-3]}"
                    files[module] = os.path.join(folder, name)
        return files

    @cached_property
    def _entry(self) -> str:
        """Where imports are kept on disk: they follow from texts, the names of all files, and what is done here."""
        start = len(str(self.root)) + 1
        places = sorted(file[start:] for file in self.files.values())
        return disk.digest("imports", _read(__file__) or b"", self.package, "\n".join(places))

    @cached_property
    def _kept(self) -> dict[str, list[str]]:
        """By module: the hash of a text, and what it imports: found out as slowly as a kernel is loaded."""
        stored = disk.read(self._entry)
        return {} if stored is None else json.loads(stored[1])

    def _keep(self) -> None:
        if self._changed:
            self._changed = False
            disk.write(self._entry, {}, json.dumps(self._kept).encode())

    def _hash(self, module: str) -> str:
        if module not in self._hashes:
            self._hashes[module] = hashlib.sha256(self._text(module) or b"").hexdigest()
        return self._hashes[module]

    def _text(self, module: str) -> bytes | None:
        if module not in self._texts:
            file = self.files.get(module)
            self._texts[module] = None if file is None else _read(file)
        return self._texts[module]


def _statements(text: bytes) -> Iterator[re.Match[bytes]]:
    """The import statements of a file: where a line with that word begins as one.

    To look for the word first takes a tenth of the time of trying every line.
    """
    end = 0
    while (word := text.find(b"import", end)) >= 0:
        statement = _IMPORT.match(text, text.rfind(b"\n", 0, word) + 1)
        if statement is not None:
            yield statement
        end = max(word + 1, statement.end() if statement is not None else 0)


def _words(names: bytes) -> Iterator[str]:
    """The names in `a as b, c, d as e`."""
    for part in _COMMENT.sub(b"", names).replace(b"\\", b" ").split(b","):
        word = _FIRST_WORD.match(part)
        if word:
            yield word[1].decode()


def _read(file: str) -> bytes | None:
    try:
        descriptor = os.open(file, os.O_RDONLY | getattr(os, "O_BINARY", 0))  # a stream takes twice as long
        try:
            return os.read(descriptor, os.fstat(descriptor).st_size)
        finally:
            os.close(descriptor)
    except OSError:
        return None


SOURCES = Sources(Path(__file__).parent.parent)
"""Those of this package."""
