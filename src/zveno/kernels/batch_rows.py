"""Rows of a batch to vectors and back, for arguments whose sizes and strides are words of `batch_data`."""

from __future__ import annotations

from collections.abc import Callable

from . import rows
from .assembly import Function, Module
from .batch_data import (
    ARGUMENT_WORDS,
    AXIS_WORDS,
    FIRST_AXIS,
    LAYOUT,
    N_OPERANDS,
    N_WORDS,
    RANK,
    SIZE,
    SLOTS,
    TABLE,
)


def word(f: Function, data: str, number: int | str, kind: str = "i64") -> str:
    """Read a word."""
    offset = 8 * number if isinstance(number, int) else f.let(f"mul i64 {number}, 8")
    return f.load(kind, f.at(data, offset), 8)


def write_layout(module: Module) -> str:
    """`layout(base, step, own, ws, steps, data)`: are the elements packed? Where not, a table of their offsets."""
    f = Function(module, "internal void @layout(ptr %base, i64 %step, ptr %own, ptr %ws, ptr %steps, ptr %data)")
    t = f.types
    rank, first = word(f, "%own", RANK), word(f, "%own", FIRST_AXIS)
    n_operands = word(f, "%data", N_OPERANDS)
    strides = f.at("%steps", f.let(f"mul i64 {f.let(f'add i64 {n_operands}, {first}')}, 8"))
    arguments = f.let(f"mul i64 {n_operands}, {8 * ARGUMENT_WORDS}")
    skipped = f.let(f"mul i64 {first}, {8 * AXIS_WORDS}")
    axes = f.at(f.at(f.at("%data", 8 * N_WORDS), arguments), skipped)
    loose = f.let("alloca i64, align 8")
    f.store("i64", "0", loose, 8)

    def axis_of(axis: str) -> tuple[str, str, str]:
        own = f.at(axes, f.let(f"mul i64 {axis}, {8 * AXIS_WORDS}"))
        return word(f, own, 0), word(f, own, 1), word(f, strides, axis)

    def compare(axis: str) -> None:
        length, behind, stride = axis_of(axis)
        differs = f.let(f"icmp ne i64 {stride}, {f.let(f'mul i64 {behind}, {t.itemsize}')}")
        matters = f.let(f"and i1 {differs}, {f.let(f'icmp sgt i64 {length}, 1')}")
        known = f.load("i64", loose, 8)
        f.store("i64", f.let(f"or i64 {known}, {f.let(f'zext i1 {matters} to i64')}"), loose, 8)

    f.repeat(rank, compare)
    known = f.load("i64", loose, 8)
    f.store("i64", known, f.at("%ws", word(f, "%own", LAYOUT)), 8)
    f.do(f"br i1 {f.let(f'icmp ne i64 {known}, 0')}, label %tabulate, label %done")
    f.start("tabulate")
    table = f.at("%ws", word(f, "%own", TABLE))

    def enter(j: str) -> None:
        place = f.at(table, f.let(f"mul i64 {j}, 8"))
        f.store("i64", "0", place, 8)

        def advance(axis: str) -> None:
            length, behind, stride = axis_of(axis)
            index = f.let(f"urem i64 {f.let(f'udiv i64 {j}, {behind}')}, {length}")
            offset = f.let(f"add i64 {f.load('i64', place, 8)}, {f.let(f'mul i64 {index}, {stride}')}")
            f.store("i64", offset, place, 8)

        f.repeat(rank, advance)

    f.repeat(word(f, "%own", SIZE), enter)
    f.do("br label %done")
    f.start("done")
    f.finish()
    return "@layout"


def _places(f: Function) -> list[str]:
    """The rows of all lanes, from `%base`, `%step`, `%i` and `%n`."""
    left = f.let(f"sub i64 {f.let('sub i64 %n, %i')}, 1")
    return rows.places(f, f.at("%base", f.let("mul i64 %i, %step")), "%step", rows.distances(f, left))


def write_load(module: Module) -> str:
    """`load(base, step, own, ws, i, n)`: rows of an input to its slots; one that all states share is read once."""
    f = Function(module, "internal void @load(ptr %base, i64 %step, ptr %own, ptr %ws, i64 %i, i64 %n)")
    t = f.types
    needed = f.let(f"or i1 {f.let('icmp eq i64 %i, 0')}, {f.let('icmp ne i64 %step, 0')}")
    f.do(f"br i1 {needed}, label %begin, label %done")
    f.start("begin")
    places, slots = _places(f), f.at("%ws", word(f, "%own", SLOTS))

    def element(j: str, offset: str) -> None:
        rows.load_element(f, places, slots, j, offset)

    def block(j: str) -> None:
        offset = f.let(f"mul i64 {j}, {t.itemsize}")
        values = [f.load(t.vector, f.at(place, offset), t.itemsize) for place in places]
        slot = f.at(slots, f.let(f"mul i64 {j}, {t.stride}"))
        for number, value in enumerate(rows.transpose(f, values)):
            f.store(t.vector, value, f.at(slot, number * t.stride), t.stride)

    _write_elements(f, element, block)
    return "@load"


def write_store(module: Module) -> str:
    """`store(base, step, own, ws, i, n)`: slots of an output to its rows."""
    f = Function(module, "internal void @store(ptr %base, i64 %step, ptr %own, ptr %ws, i64 %i, i64 %n)")
    t = f.types
    places, slots = _places(f), f.at("%ws", word(f, "%own", SLOTS))

    def element(j: str, offset: str) -> None:
        value = f.load(t.vector, f.at(slots, f.let(f"mul i64 {j}, {t.stride}")), t.stride)
        for lane, place in enumerate(places):
            number = f.let(f"extractelement {t.vector} {value}, i32 {lane}")
            f.store(t.scalar, number, f.at(place, offset), t.itemsize)

    def block(j: str) -> None:
        slot = f.at(slots, f.let(f"mul i64 {j}, {t.stride}"))
        values = [f.load(t.vector, f.at(slot, number * t.stride), t.stride) for number in range(t.lanes)]
        offset = f.let(f"mul i64 {j}, {t.itemsize}")
        for place, value in zip(places, rows.transpose(f, values), strict=True):
            f.store(t.vector, value, f.at(place, offset), t.itemsize)

    _write_elements(f, element, block)
    return "@store"


def _write_elements(f: Function, element: Callable[[str, str], None], block: Callable[[str], None]) -> None:
    """All elements one by one, or, if packed, in blocks of `lanes`; the last may overlap the one before."""
    t = f.types
    size = word(f, "%own", SIZE)
    loose = f.load("i64", f.at("%ws", word(f, "%own", LAYOUT)), 8)
    f.do(f"br i1 {f.let(f'icmp ne i64 {loose}, 0')}, label %loose, label %packed")
    f.start("loose")
    table = f.at("%ws", word(f, "%own", TABLE))
    f.repeat(size, lambda j: element(j, f.load("i64", f.at(table, f.let(f"mul i64 {j}, 8")), 8)))
    f.do("br label %done")
    f.start("packed")
    f.do(f"br i1 {f.let(f'icmp ult i64 {size}, {t.lanes}')}, label %few, label %many")
    f.start("few")
    f.repeat(size, lambda j: element(j, f.let(f"mul i64 {j}, {t.itemsize}")))
    f.do("br label %done")
    f.start("many")
    f.repeat(f.let(f"udiv i64 {size}, {t.lanes}"), lambda number: block(f.let(f"mul i64 {number}, {t.lanes}")))
    rest = f.let(f"urem i64 {size}, {t.lanes}")
    f.do(f"br i1 {f.let(f'icmp eq i64 {rest}, 0')}, label %done, label %rest")
    f.start("rest")
    block(f.let(f"sub i64 {size}, {t.lanes}"))
    f.do("br label %done")
    f.start("done")
    f.finish()
