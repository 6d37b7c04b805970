"""Mutations of files for fuzzing: bytes, tokens, numbers, lines, whole parts, archives, nodes of JSON."""

from __future__ import annotations

import io
import json
import re
import zipfile
import zlib
from collections.abc import Callable
from random import Random

NUMBERS = (
    *("0", "-0", "1", "-1", "1e-320", "1e308", "-1e308", "1e999", "nan", "inf", "-inf", "1e49", "1e-49"),
    *("1_0", "0x1f", "1,5", "1.5.2", "٣", "9" * 400, "9" * 5000, "true", "", "1e", "--1", "1570796e-6"),
)
"""Numbers, and what is put in their place."""
BYTES = (
    b"<",
    b">",
    b'"',
    b"'",
    b"\x00",
    b"\xff",
    b"\xfe\xff",
    b"\n",
    b",",
    b";",
    b"[",
    b"{",
    b"}",
    b"]",
    b"\\",
    b"\xe2\x80\xa8",
)
_TOKEN = re.compile(rb"[A-Za-z_][\w.-]*|-?\d[\d.eE+-]*|\s+|[^\w\s]")
_NUMBER = re.compile(rb"-?\d+(\.\d*)?([eE][+-]?\d+)?")


def mutated(seeds: list[bytes], random: Random) -> bytes:
    """One of the seeds with one to four changes: of bytes, tokens, numbers, or whole parts."""
    data = random.choice(seeds)
    for _ in range(random.choice((1, 1, 1, 2, 2, 3))):
        data = random.choice(_mutations(data))(data, seeds, random)
    return data[:200_000]


def _mutations(data: bytes) -> tuple[Callable[[bytes, list[bytes], Random], bytes], ...]:
    """Mutations that suit the kind of data; those that destroy nearly every file are rare."""
    small = (_with_bytes, _with_number, _with_number, _with_number, _with_other_tokens, _with_other_lines)
    large = (_without_part, _repeated_part, _spliced)
    if data.startswith(b"PK"):
        return (*small, *large, *[_inside_archive] * 20)
    if data[:1] in (b"{", b"["):
        return (*small, *large, *[_with_other_nodes] * 10)
    return (*small * 3, *large)


def _with_bytes(data: bytes, _: list[bytes], random: Random) -> bytes:
    at = random.randint(0, len(data))
    new = random.choice((random.choice(BYTES), bytes([random.randint(0, 255)])))
    return data[:at] + new + data[at + random.randint(0, 2) :]


def _without_part(data: bytes, _: list[bytes], random: Random) -> bytes:
    a, b = sorted((random.randint(0, len(data)), random.randint(0, len(data))))
    return data[:a] + data[b:] if random.random() < 0.5 else data[: max(a, 1)]


def _repeated_part(data: bytes, _: list[bytes], random: Random) -> bytes:
    a = random.randint(0, len(data))
    part = data[a : a + random.choice((3, 30, 300))]
    return data[:a] + part * random.choice((2, 3, 50)) + data[a:]


def _spliced(data: bytes, seeds: list[bytes], random: Random) -> bytes:
    other = random.choice(seeds)
    return data[: random.randint(0, len(data))] + other[random.randint(0, len(other)) :]


def _with_number(data: bytes, _: list[bytes], random: Random) -> bytes:
    places = list(_NUMBER.finditer(data))
    if not places:
        return data
    place = random.choice(places)
    return data[: place.start()] + random.choice(NUMBERS).encode() + data[place.end() :]


def _with_other_tokens(data: bytes, _: list[bytes], random: Random) -> bytes:
    tokens = _TOKEN.findall(data)
    if len(tokens) < 2:
        return data
    for _change in range(random.randint(1, 3)):
        a, b = random.randrange(len(tokens)), random.randrange(len(tokens))
        if random.random() < 0.5:
            tokens[a] = tokens[b]
        else:
            tokens[a], tokens[b] = tokens[b], tokens[a]
    return b"".join(tokens)


def _with_other_lines(data: bytes, _: list[bytes], random: Random) -> bytes:
    lines = data.splitlines(keepends=True)
    if len(lines) < 2:
        return data
    a, b = random.randrange(len(lines)), random.randrange(len(lines))
    choice = random.randint(0, 2)
    if choice == 0:
        lines[a], lines[b] = lines[b], lines[a]
    elif choice == 1:
        del lines[a]
    else:
        lines.insert(b, lines[a])
    return b"".join(lines)


def _inside_archive(data: bytes, _: list[bytes], random: Random) -> bytes:
    """A change inside one of the files of an archive, or of their names."""
    stream = io.BytesIO()
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            parts = {entry.filename: archive.read(entry) for entry in archive.infolist()}
        name = random.choice(list(parts))
        change = random.choice((_with_bytes, _with_number, _with_other_tokens, _without_part, _repeated_part))
        if random.random() < 0.1:
            parts[random.choice(list(parts))] = parts[name]
        else:
            parts[name] = change(parts[name], [], random)
        with zipfile.ZipFile(stream, "w", random.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))) as archive:
            for entry, content in parts.items():
                archive.writestr(entry, content)
    except (
        zipfile.BadZipFile,
        ValueError,
        LookupError,
        OSError,
        EOFError,
        NotImplementedError,
        RuntimeError,
        zlib.error,
    ):
        return data
    return stream.getvalue()


def _with_other_nodes(data: bytes, _: list[bytes], random: Random) -> bytes:
    """A value of a JSON document replaced by another one of it, or by something else."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return data
    nodes = []  # (container, key)
    waiting = [value]
    while waiting:
        container = waiting.pop()
        keys = list(container) if isinstance(container, dict) else range(len(container))
        nodes += [(container, key) for key in keys]
        waiting += [container[key] for key in keys if isinstance(container[key], dict | list)]
    if not nodes:
        return data
    container, key = random.choice(nodes)
    other, at = random.choice(nodes)
    odd = (None, True, -1, 0, 10**30, 1e300, "", "x", [], {}, [[]], {"class": "tuple", "items": []}, [1, 2])
    new = json.loads(json.dumps(other[at])) if random.random() < 0.5 else random.choice(odd)
    if isinstance(container, dict) and random.random() < 0.2:
        del container[key]
    else:
        container[key] = new
    return json.dumps(value).encode()
