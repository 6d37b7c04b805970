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
    ROWS,
    SIZE,
    SLOTS,
    STAGING,
    STREAM_FROM,
    TABLE,
)

PACKED, LOOSE, STREAMED = 0, 1, 2
"""How an argument lies in memory, or is written to it: elements without gaps, with gaps, past the caches."""
_LINE = 64


def word(f: Function, data: str, number: int | str, kind: str = "i64") -> str:
    """Read a word."""
    offset = 8 * number if isinstance(number, int) else f.let(f"mul i64 {number}, 8")
    return f.load(kind, f.at(data, offset), 8)


def write_layout(module: Module) -> str:
    """`layout(base, step, words, ws, steps, data, total)`: how an argument lies; with gaps, a table of offsets."""
    arguments = "ptr %base, i64 %step, ptr %words, ptr %ws, ptr %steps, ptr %data, i64 %total"
    f = Function(module, f"internal i64 @layout({arguments})")
    t = f.types
    rank, first = word(f, "%words", RANK), word(f, "%words", FIRST_AXIS)
    n_operands = word(f, "%data", N_OPERANDS)
    strides = f.at("%steps", f.let(f"mul i64 {f.let(f'add i64 {n_operands}, {first}')}, 8"))
    arguments = f.let(f"mul i64 {n_operands}, {8 * ARGUMENT_WORDS}")
    skipped = f.let(f"mul i64 {first}, {8 * AXIS_WORDS}")
    axes = f.at(f.at(f.at("%data", 8 * N_WORDS), arguments), skipped)
    loose = f.let("alloca i64, align 8")
    f.store("i64", "0", loose, 8)

    def axis_of(axis: str) -> tuple[str, str, str]:
        words = f.at(axes, f.let(f"mul i64 {axis}, {8 * AXIS_WORDS}"))
        return word(f, words, 0), word(f, words, 1), word(f, strides, axis)

    def compare(axis: str) -> None:
        length, behind, stride = axis_of(axis)
        differs = f.let(f"icmp ne i64 {stride}, {f.let(f'mul i64 {behind}, {t.itemsize}')}")
        matters = f.let(f"and i1 {differs}, {f.let(f'icmp sgt i64 {length}, 1')}")
        known = f.load("i64", loose, 8)
        f.store("i64", f.let(f"or i64 {known}, {f.let(f'zext i1 {matters} to i64')}"), loose, 8)

    f.repeat(rank, compare)
    known = f.load("i64", loose, 8)
    way = f.let(f"select i1 {_is_streamed(f, known)}, i64 {STREAMED}, i64 {known}")
    f.store("i64", way, f.at("%ws", word(f, "%words", LAYOUT)), 8)
    f.do(f"br i1 {f.let(f'icmp ne i64 {known}, 0')}, label %tabulate, label %done")
    f.start("tabulate")
    table = f.at("%ws", word(f, "%words", TABLE))

    def enter(j: str) -> None:
        place = f.at(table, f.let(f"mul i64 {j}, 8"))
        f.store("i64", "0", place, 8)

        def advance(axis: str) -> None:
            length, behind, stride = axis_of(axis)
            index = f.let(f"urem i64 {f.let(f'udiv i64 {j}, {behind}')}, {length}")
            offset = f.let(f"add i64 {f.load('i64', place, 8)}, {f.let(f'mul i64 {index}, {stride}')}")
            f.store("i64", offset, place, 8)

        f.repeat(rank, advance)

    f.repeat(word(f, "%words", SIZE), enter)
    f.do("br label %done")
    f.start("done")
    f.do(f"ret i64 {way}")
    f.close()
    return "@layout"


def has_rows(f: Function, words: str = "%words") -> str:
    """Whether the code of the kernel writes the rows of this argument itself."""
    return f.let(f"icmp sge i64 {word(f, words, ROWS)}, 0")


def _is_streamed(f: Function, loose: str) -> str:
    """Whether rows are written past the caches: they follow each other without gaps, and are many."""
    row = f.let(f"mul i64 {word(f, '%words', SIZE)}, {f.types.itemsize}")
    many = f.let(f"icmp sge i64 %total, {word(f, '%data', STREAM_FROM)}")
    for condition in (
        has_rows(f),
        f.let(f"icmp eq i64 {loose}, 0"),
        f.let(f"icmp eq i64 %step, {row}"),
        f.let(f"icmp sge i64 {row}, {_LINE}"),
    ):
        many = f.let(f"and i1 {many}, {condition}")
    return many


def write_point(module: Module) -> str:
    """`point(base, step, words, ws, i, n)`: tell the code where to write an output, to rows or the staging area."""
    f = Function(module, "internal void @point(ptr %base, i64 %step, ptr %words, ptr %ws, i64 %i, i64 %n)")
    t = f.types
    way = f.load("i64", f.at("%ws", word(f, "%words", LAYOUT)), 8)
    f.do(f"br i1 {f.let(f'icmp eq i64 {way}, {PACKED}')}, label %direct, label %staged")
    f.start("direct")
    point_quickly(f, _places(f), "%words")
    f.do("br label %done")
    f.start("staged")
    staged, row = f.at("%ws", word(f, "%words", STAGING)), f.let(f"mul i64 {word(f, '%words', SIZE)}, {t.itemsize}")
    point_quickly(f, rows.places(f, staged, row, [str(lane) for lane in range(1, t.lanes)]), "%words")
    f.do("br label %done")
    f.start("done")
    f.finish()
    return "@point"


def point_quickly(f: Function, places: list[str], words: str) -> None:
    """Tell the code where to write an output."""
    at = f.at("%ws", word(f, words, ROWS))
    for lane, place in enumerate(places):
        f.store("ptr", place, f.at(at, 8 * lane), 8)


def _places(f: Function) -> list[str]:
    """The rows of all lanes, from `%base`, `%step`, `%i` and `%n`."""
    left = f.let(f"sub i64 {f.let('sub i64 %n, %i')}, 1")
    return rows.places(f, f.at("%base", f.let("mul i64 %i, %step")), "%step", rows.distances(f, left))


def load_quickly(f: Function, places: list[str], words: str) -> None:
    """Packed rows of at least `lanes` elements to the slots of an input: the first block, the last, others between.

    The last may overlap the one before it.
    """
    lanes = f.types.lanes
    size, slots = word(f, words, SIZE), f.at("%ws", word(f, words, SLOTS))
    _load_block(f, places, slots, "0")
    _load_block(f, places, slots, f.let(f"sub i64 {size}, {lanes}"))

    def between() -> None:
        blocks = f.let(f"lshr i64 {f.let(f'sub i64 {size}, {lanes + 1}')}, {lanes.bit_length() - 1}")
        f.repeat(
            blocks,
            lambda number: _load_block(
                f, places, slots, f.let(f"mul i64 {f.let(f'add i64 {number}, 1')}, {lanes}")
            ),
        )

    f.when(f.let(f"icmp sgt i64 {size}, {2 * lanes}"), between)


def _load_block(f: Function, places: list[str], slots: str, j: str) -> None:
    """Elements from j of all rows, as many as there are lanes, to their slots."""
    t = f.types
    offset = f.let(f"mul i64 {j}, {t.itemsize}")
    values = [f.load(t.vector, f.at(place, offset), t.itemsize) for place in places]
    slot = f.at(slots, f.let(f"mul i64 {j}, {t.stride}"))
    for number, value in enumerate(rows.transpose(f, values)):
        f.store(t.vector, value, f.at(slot, number * t.stride), t.stride)


def write_load(module: Module) -> str:
    """`load(base, step, words, ws, i, n)`: rows of an input to its slots; one shared by all states is read once."""
    f = Function(module, "internal void @load(ptr %base, i64 %step, ptr %words, ptr %ws, i64 %i, i64 %n)")
    needed = f.let(f"or i1 {f.let('icmp eq i64 %i, 0')}, {f.let('icmp ne i64 %step, 0')}")
    f.do(f"br i1 {needed}, label %begin, label %done")
    f.start("begin")
    places, slots = _places(f), f.at("%ws", word(f, "%words", SLOTS))

    def element(j: str, offset: str) -> None:
        rows.load_element(f, places, slots, j, offset)

    _write_elements(f, element, lambda j: _load_block(f, places, slots, j))
    return "@load"


def write_store(module: Module) -> str:
    """`store(base, step, words, ws, i, n)`: slots of an output, or its staging area, to rows."""
    f = Function(module, "internal void @store(ptr %base, i64 %step, ptr %words, ptr %ws, i64 %i, i64 %n)")
    t = f.types
    f.do(f"br i1 {has_rows(f)}, label %rows, label %slots")
    f.start("rows")
    _write_unload(f)
    f.start("slots")
    places, slots = _places(f), f.at("%ws", word(f, "%words", SLOTS))

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


def _write_unload(f: Function) -> None:
    """Move an output from the staging area to its rows, if it was written there."""
    size, staged = word(f, "%words", SIZE), f.at("%ws", word(f, "%words", STAGING))
    way = f.load("i64", f.at("%ws", word(f, "%words", LAYOUT)), 8)
    left = f.let(f"sub i64 {f.let('sub i64 %n, %i')}, 1")
    row = f.at("%base", f.let("mul i64 %i, %step"))
    f.do(f"switch i64 {way}, label %done [ i64 {LOOSE}, label %gaps i64 {STREAMED}, label %stream ]")
    f.start("gaps")
    table = f.at("%ws", word(f, "%words", TABLE))
    arguments = f"ptr {row}, i64 %step, i64 {left}, ptr {staged}, ptr {table}, i64 {size}"
    f.do(f"call void {rows.store_loose(f.module)}({arguments})")
    f.do("br label %done")
    f.start("stream")
    last = rows.distances(f, left)[-1]
    count = f.let(f"mul i64 {f.let(f'add i64 {last}, 1')}, {size}")
    f.do(f"call void {rows.store_stream(f.module)}(ptr {row}, ptr {staged}, i64 {count})")
    f.do("br label %done")


def _write_elements(f: Function, element: Callable[[str, str], None], block: Callable[[str], None]) -> None:
    """All elements one by one, or, if packed, in blocks of `lanes`; the last may overlap the one before."""
    t = f.types
    size = word(f, "%words", SIZE)
    loose = f.load("i64", f.at("%ws", word(f, "%words", LAYOUT)), 8)
    f.do(f"br i1 {f.let(f'icmp ne i64 {loose}, 0')}, label %loose, label %packed")
    f.start("loose")
    table = f.at("%ws", word(f, "%words", TABLE))
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
