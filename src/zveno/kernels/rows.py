"""Vector code that moves numbers between rows of the batch, one per lane, and vectors of one number each.

`places` are the addresses of the rows of all lanes.
"""

from __future__ import annotations

from collections.abc import Sequence

from .assembly import Function, Module

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
    """One element of every row, `offset` bytes from its beginning, to the slot `j` from `start`."""
    t = f.types
    value = "poison"
    for lane, place in enumerate(places):
        x = f.load(t.scalar, f.at(place, offset), t.itemsize)
        value = f.let(f"insertelement {t.vector} {value}, {t.scalar} {x}, i32 {lane}")
    f.store(t.vector, value, f.at(start, f.let(f"mul i64 {j}, {t.stride}")), t.stride)


def store(f: Function, places: list[str], first: int, values: list[str]) -> None:
    """Neighbouring elements of every row from element `first`: one, or as many as there are lanes."""
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
    """The same numbers, one or as many as there are lanes, `count` times in every row from element `first`."""
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
    """A function that moves elements one by one from the staging area to their places; defined on first use.

    Its arguments: the first row, the step to the next, the distance of the last state, the first row of the staging
    area, the table and the number of elements. It need not be fast, and short code keeps the build time down.
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
    """A function that moves `%count` neighbouring elements from the staging area past the caches to their place.

    Single elements up to the first whole vector of the place, vectors, and single elements again.
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
