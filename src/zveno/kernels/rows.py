"""Vector code that moves numbers between rows of the batch, one per lane, and slots of the workspace.

`places` are the addresses of the rows, `start` that of the slot of an argument's first element, and `j` the
number of an element or of the first of a block of as many elements as there are lanes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from zveno.kernels.assembly import Function, Module

_UNROLL = 6  # blocks


def distances(f: Function, left: str) -> list[str]:
    """States from the first lane to each other, but not past the last state, which is `left` away."""
    smaller = f.module.declare("llvm.smin.i64", "i64", ["i64", "i64"])
    return [f.let(f"call i64 {smaller}(i64 {lane}, i64 {left})") for lane in range(1, f.types.lanes)]


def places(f: Function, row: str, step: str, ahead: list[str]) -> list[str]:
    """Addresses of the rows of all lanes, from that of the first and the distances of the others."""
    jumps = [f.let(f"mul i64 {step}, {distance}") for distance in ahead]
    return [row, *(f.at(row, jump) for jump in jumps)]


def load_element(f: Function, places: list[str], start: str, j: str, offset: str) -> None:
    """One element of every row, `offset` bytes from its beginning, to a slot."""
    t = f.types
    value = "poison"
    for lane, place in enumerate(places):
        x = f.load(t.scalar, f.at(place, offset), t.itemsize)
        value = f.let(f"insertelement {t.vector} {value}, {t.scalar} {x}, i32 {lane}")
    f.store(t.vector, value, _slot(f, start, j), t.stride)


def store_element(f: Function, places: list[str], start: str, j: str, offset: str) -> None:
    """A slot to one element of every row."""
    t = f.types
    value = f.load(t.vector, _slot(f, start, j), t.stride)
    for lane, place in enumerate(places):
        x = f.let(f"extractelement {t.vector} {value}, i32 {lane}")
        f.store(t.scalar, x, f.at(place, offset), t.itemsize)


def load_block(f: Function, places: list[str], start: str, j: str) -> None:
    """A block of neighbouring elements of every row to as many slots."""
    t = f.types
    offset = f.let(f"mul i64 {j}, {t.itemsize}")
    values = [f.load(t.vector, f.at(place, offset), t.itemsize) for place in places]
    slot = _slot(f, start, j)
    for number, value in enumerate(_transpose(f, values)):
        f.store(t.vector, value, f.at(slot, number * t.stride), t.stride)


def store_block(f: Function, places: list[str], start: str, j: str) -> None:
    """Slots to a block of neighbouring elements of every row."""
    t = f.types
    slot = _slot(f, start, j)
    values = [f.load(t.vector, f.at(slot, number * t.stride), t.stride) for number in range(t.lanes)]
    offset = f.let(f"mul i64 {j}, {t.itemsize}")
    for place, value in zip(places, _transpose(f, values), strict=True):
        f.store(t.vector, value, f.at(place, offset), t.itemsize)


@dataclass(frozen=True)
class Direction:
    """From rows to slots or back."""

    name: str
    element: Callable[[Function, list[str], str, str, str], None]
    block: Callable[[Function, list[str], str, str], None]


LOAD = Direction("load", load_element, load_block)
STORE = Direction("store", store_element, store_block)


def move_packed(f: Function, direction: Direction, places: list[str], start: str, size: int) -> None:
    """All elements of rows without gaps: full blocks, and one that ends with the last element.

    That one overlaps the block before it, unless the size is a multiple of the lanes.
    """
    n, block = f.types.lanes, direction.block
    if size < n:
        for j in range(size):
            direction.element(f, places, start, str(j), str(j * f.types.itemsize))
        return
    if size // n <= _UNROLL:
        for j in range(0, size - n + 1, n):
            block(f, places, start, str(j))
    else:
        f.repeat(str(size // n), lambda b: block(f, places, start, f.let(f"mul i64 {b}, {n}")))
    if size % n:
        block(f, places, start, str(size - n))


def loose_function(module: Module, direction: Direction) -> str:
    """A function that moves elements one by one, at the offsets in a table; defined on first use."""
    name = f"{direction.name}_loose"
    if module.once(name):
        arguments = "ptr %row, i64 %step, i64 %left, ptr %start, ptr %table, i64 %count"
        f = Function(module, f"internal void @{name}({arguments})")
        rows = places(f, "%row", "%step", distances(f, "%left"))

        def move(j: str) -> None:
            offset = f.load("i64", f.at("%table", f.let(f"mul i64 {j}, 8")), 8)
            direction.element(f, rows, "%start", j, offset)

        f.repeat("%count", move)
        f.finish()
    return f"@{name}"


def _slot(f: Function, start: str, j: str) -> str:
    return f.at(start, f.let(f"mul i64 {j}, {f.types.stride}"))


def _transpose(f: Function, rows: list[str]) -> list[str]:
    """Transpose a square of vectors: exchange halves, then quarters, and so on."""
    n = f.types.lanes
    rows, step = list(rows), n // 2
    while step:
        low = [n + j - step if j & step else j for j in range(n)]
        high = [n + j if j & step else j + step for j in range(n)]
        for i in range(n):
            if not i & step:
                a, b = rows[i], rows[i + step]
                rows[i], rows[i + step] = _shuffle(f, a, b, low), _shuffle(f, a, b, high)
        step //= 2
    return rows


def _shuffle(f: Function, a: str, b: str, picks: list[int]) -> str:
    t = f.types
    mask = ", ".join(f"i32 {pick}" for pick in picks)
    return f.let(f"shufflevector {t.vector} {a}, {t.vector} {b}, <{t.lanes} x i32> <{mask}>")
