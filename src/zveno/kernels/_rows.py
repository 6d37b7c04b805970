"""Vector code that moves numbers between batch rows (one row per lane) and vectors of one number each.

`places` are the addresses of the rows of all lanes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ._assembly import Function, Module
from ._elementary import less
from ._instance import (
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

_UNROLL = 6  # blocks


def distances(f: Function, left: str) -> list[str]:
    """Return the states from the first lane to each lane, at most `left`, the distance of the last state."""
    smaller = f.module.declare("llvm.smin.i64", "i64", ["i64", "i64"])
    return [f.let(f"call i64 {smaller}(i64 {lane}, i64 {left})") for lane in range(1, f.types.lanes)]


def places(f: Function, row: str, step: str, ahead: list[str]) -> list[str]:
    """Return the row addresses of all lanes, from that of the first and the distances of the others."""
    jumps = [f.let(f"mul i64 {step}, {distance}") for distance in ahead]
    return [row, *(f.at(row, jump) for jump in jumps)]


def load_element(f: Function, places: list[str], start: str, j: str, offset: str) -> None:
    """Load one element of every row, `offset` bytes from its beginning, into the slot `j` from `start`."""
    t = f.types
    value = "poison"
    for lane, place in enumerate(places):
        x = f.load(t.scalar, f.at(place, offset), t.itemsize)
        value = f.let(f"insertelement {t.vector} {value}, {t.scalar} {x}, i32 {lane}")
    f.store(t.vector, value, f.at(start, f.let(f"mul i64 {j}, {t.stride}")), t.stride)


def store(f: Function, places: list[str], first: int, values: list[str]) -> None:
    """Store neighbouring elements of every row from element `first`: one, or one per lane."""
    t = f.types
    offset = first * t.itemsize
    if len(values) == 1:
        for lane, place in enumerate(places):
            x = f.let(f"extractelement {t.vector} {values[0]}, i32 {lane}")
            f.store(t.scalar, x, f.at(place, offset), t.itemsize)
        return
    for place, value in zip(places, transpose(f, values), strict=True):
        f.store(t.vector, value, f.at(place, offset), t.itemsize)


def fill(f: Function, places: list[str], first: int, count: int, values: Sequence[float]) -> None:
    """Fill every row from element `first` with the same numbers, one or one per lane, `count` times."""
    t = f.types
    kind, constant = (t.scalar, t.number(values[0])) if len(values) == 1 else (t.vector, t.row(values))
    size = len(values) * t.itemsize
    for place in places:
        start = f.at(place, first * t.itemsize)
        if count <= _UNROLL:
            for number in range(count):
                f.store(kind, constant, f.at(start, number * size), t.itemsize)
        else:
            f.repeat(
                str(count),
                lambda j, start=start: f.store(
                    kind, constant, f.at(start, f.let(f"mul i64 {j}, {size}")), t.itemsize
                ),
            )


def store_loose(module: Module) -> str:
    """Define on first use a function that moves single elements from the staging area to their addresses.

    Its arguments are the first row, the step to the next, the distance of the last state, the first row of the
    staging area, the table and the number of elements. Short code matters more than speed here, because it keeps
    the build time down.
    """
    if module.once("store_loose"):
        t = module.types
        arguments = "ptr %row, i64 %step, i64 %left, ptr %staged, ptr %table, i64 %count"
        f = Function(module, f"internal void @store_loose({arguments})")
        rows = places(f, "%row", "%step", distances(f, "%left"))
        jump = f.let(f"mul i64 %count, {t.itemsize}")
        sources = places(f, "%staged", jump, [str(lane) for lane in range(1, t.lanes)])

        def move(j: str) -> None:
            offset, inside = _entry(f, j), f.let(f"mul i64 {j}, {t.itemsize}")
            for source, row in zip(sources, rows, strict=True):
                x = f.load(t.scalar, f.at(source, inside), t.itemsize)
                f.store(t.scalar, x, f.at(row, offset), t.itemsize)

        f.repeat("%count", move)
        f.finish()
    return "@store_loose"


def store_stream(module: Module) -> str:
    """Define a function that moves `%count` neighbouring elements from the staging area to memory, past the caches.

    It writes single elements up to the first aligned vector, then vectors, then single elements again.
    """
    if module.once("store_stream"):
        t = module.types
        f = Function(module, "internal void @store_stream(ptr %place, ptr %staged, i64 %count)")
        smaller = module.declare("llvm.smin.i64", "i64", ["i64", "i64"])

        def move(first: str, count: str, kind: str, size: int) -> None:
            def element(j: str) -> None:
                offset = f.let(f"add i64 {first}, {f.let(f'mul i64 {j}, {size}')}")
                value = f.load(kind, f.at("%staged", offset), t.itemsize)
                f.stream(kind, value, f.at("%place", offset), size)

            f.repeat(count, element)

        before = f.let(f"sub i64 0, {f.let('ptrtoint ptr %place to i64')}")
        missing = f.let(f"udiv i64 {f.let(f'and i64 {before}, {t.stride - 1}')}, {t.itemsize}")
        head = f.let(f"call i64 {smaller}(i64 {missing}, i64 %count)")
        body = f.let(f"udiv i64 {f.let(f'sub i64 %count, {head}')}, {t.lanes}")
        start = f.let(f"mul i64 {head}, {t.itemsize}")
        end = f.let(f"add i64 {start}, {f.let(f'mul i64 {body}, {t.stride}')}")
        rest = f.let(f"sub i64 %count, {f.let(f'udiv i64 {end}, {t.itemsize}')}")
        move("0", head, t.word, t.itemsize)
        move(start, body, t.vector, t.stride)
        move(end, rest, t.word, t.itemsize)
        f.finish()
    return "@store_stream"


def _entry(f: Function, j: str) -> str:
    return f.load("i64", f.at("%table", f.let(f"mul i64 {j}, 8")), 8)


def transpose(f: Function, rows: list[str]) -> list[str]:
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


PACKED, LOOSE, STREAMED = 0, 1, 2
"""Layouts of an argument in memory: packed elements, elements with gaps, or packed and written past the caches."""
_LINE = 64


def word(f: Function, data: str, number: int | str, kind: str = "i64") -> str:
    """Read a word of `data`."""
    offset = 8 * number if isinstance(number, int) else f.let(f"mul i64 {number}, 8")
    return f.load(kind, f.at(data, offset), 8)


def write_layout(module: Module) -> str:
    """Write `layout(base, step, words, ws, steps, data, total)`: the layout, and offsets of elements with gaps."""
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
    """Return a flag that is set if the kernel's code writes the rows of this argument itself."""
    return f.let(f"icmp sge i64 {word(f, words, ROWS)}, 0")


def _is_streamed(f: Function, loose: str) -> str:
    """Return a flag that is set if rows are written past the caches: contiguous, and large in total."""
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
    """Write `point(base, step, words, ws, i, n)`: set the addresses of an output, in rows or the staging area."""
    f = Function(module, "internal void @point(ptr %base, i64 %step, ptr %words, ptr %ws, i64 %i, i64 %n)")
    t = f.types
    way = f.load("i64", f.at("%ws", word(f, "%words", LAYOUT)), 8)
    f.do(f"br i1 {f.let(f'icmp eq i64 {way}, {PACKED}')}, label %direct, label %staged")
    f.start("direct")
    point_quickly(f, _places(f), "%words")
    f.do("br label %done")
    f.start("staged")
    staged, row = f.at("%ws", word(f, "%words", STAGING)), f.let(f"mul i64 {word(f, '%words', SIZE)}, {t.itemsize}")
    point_quickly(f, places(f, staged, row, [str(lane) for lane in range(1, t.lanes)]), "%words")
    f.do("br label %done")
    f.start("done")
    f.finish()
    return "@point"


def point_quickly(f: Function, places: list[str], words: str) -> None:
    """Set the addresses to which the code writes an output."""
    at = f.at("%ws", word(f, words, ROWS))
    for lane, place in enumerate(places):
        f.store("ptr", place, f.at(at, 8 * lane), 8)


def _places(f: Function) -> list[str]:
    """Return the row addresses of all lanes, from `%base`, `%step`, `%i` and `%n`."""
    left = f.let(f"sub i64 {f.let('sub i64 %n, %i')}, 1")
    return places(f, f.at("%base", f.let("mul i64 %i, %step")), "%step", distances(f, left))


def load_quickly(f: Function, places: list[str], words: str) -> None:
    """Load packed rows of at least `lanes` elements into the slots of an input.

    The order is the first block, the last, then those between. The last block may overlap the one before it.
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
    """Load the elements from j of all rows, one per lane, into their slots."""
    t = f.types
    offset = f.let(f"mul i64 {j}, {t.itemsize}")
    values = [f.load(t.vector, f.at(place, offset), t.itemsize) for place in places]
    slot = f.at(slots, f.let(f"mul i64 {j}, {t.stride}"))
    for number, value in enumerate(transpose(f, values)):
        f.store(t.vector, value, f.at(slot, number * t.stride), t.stride)


def write_load(module: Module) -> str:
    """Write `load(base, step, words, ws, i, n)`: move rows of an input to its slots; a shared row is read once."""
    f = Function(module, "internal void @load(ptr %base, i64 %step, ptr %words, ptr %ws, i64 %i, i64 %n)")
    needed = f.let(f"or i1 {f.let('icmp eq i64 %i, 0')}, {f.let('icmp ne i64 %step, 0')}")
    f.do(f"br i1 {needed}, label %begin, label %done")
    f.start("begin")
    places, slots = _places(f), f.at("%ws", word(f, "%words", SLOTS))

    def element(j: str, offset: str) -> None:
        load_element(f, places, slots, j, offset)

    _write_elements(f, element, lambda j: _load_block(f, places, slots, j))
    return "@load"


def write_store(module: Module) -> str:
    """Write `store(base, step, words, ws, i, n)`: move an output from its slots or staging area to rows."""
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
        for place, value in zip(places, transpose(f, values), strict=True):
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
    f.do(f"call void {store_loose(f.module)}({arguments})")
    f.do("br label %done")
    f.start("stream")
    last = distances(f, left)[-1]
    count = f.let(f"mul i64 {f.let(f'add i64 {last}, 1')}, {size}")
    f.do(f"call void {store_stream(f.module)}(ptr {row}, ptr {staged}, i64 {count})")
    f.do("br label %done")


def _write_elements(f: Function, element: Callable[[str, str], None], block: Callable[[str], None]) -> None:
    """Write all elements: in blocks of `lanes` if packed (the last two may overlap), else one by one."""
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


def spread(f: Function, scalar: str) -> str:
    """Return a vector with the same number in all lanes."""
    t = f.types
    first = f.let(f"insertelement {t.vector} poison, {t.scalar} {scalar}, i32 0")
    return f.let(f"shufflevector {t.vector} {first}, {t.vector} poison, <{t.lanes} x i32> zeroinitializer")


def cut(f: Function, chosen: str, rows: str) -> list[str]:
    """Convert numbers to row numbers from 0 to `rows` − 1; NaN gives the first row."""
    t = f.types
    last = spread(f, f.let(f"sitofp i64 {f.let(f'sub i64 {rows}, 1')} to {t.scalar}"))
    positive = less(f, "olt", t.splat(0.0), chosen)
    chosen = f.let(f"select {t.mask} {positive}, {t.vector} {chosen}, {t.vector} {t.splat(0.0)}")
    inside = less(f, "olt", chosen, last)
    chosen = f.let(f"select {t.mask} {inside}, {t.vector} {chosen}, {t.vector} {last}")
    numbers = [f.let(f"extractelement {t.vector} {chosen}, i32 {lane}") for lane in range(t.lanes)]
    return [f.let(f"fptosi {t.scalar} {number} to i64") for number in numbers]


def addresses(f: Function, begin: str, rows: list[str], row_bytes: int, lane_bytes: int) -> list[str]:
    """Return the address of every lane's row, for lanes `lane_bytes` apart."""
    offsets = [f.let(f"mul i64 {row}, {row_bytes}") for row in rows]
    return [f.at(f.at(begin, lane * lane_bytes), offset) for lane, offset in enumerate(offsets)]


def spread_each(f: Function, places: list[str], vector: str) -> None:
    """Write the number of every lane to all lanes at the lane's address; of equal addresses the last one wins."""
    t = f.types
    for lane, place in enumerate(places):
        chosen = f"<{', '.join([f'i32 {lane}'] * t.lanes)}>"
        everywhere = f.let(f"shufflevector {t.vector} {vector}, {t.vector} poison, <{t.lanes} x i32> {chosen}")
        f.store(t.vector, everywhere, place, t.stride)


def gather(f: Function, places: list[str]) -> str:
    """Load one number per lane, each from its own address, into a vector."""
    t, vector = f.types, "poison"
    for lane, place in enumerate(places):
        number = f.load(t.scalar, place, t.itemsize)
        vector = f.let(f"insertelement {t.vector} {vector}, {t.scalar} {number}, i32 {lane}")
    return vector


def scatter(f: Function, places: list[str], vector: str) -> None:
    """Write the numbers of a vector, each to its lane's own address."""
    t = f.types
    for lane, place in enumerate(places):
        number = f.let(f"extractelement {t.vector} {vector}, i32 {lane}")
        f.store(t.scalar, number, place, t.itemsize)
