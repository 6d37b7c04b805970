"""Rows that lanes choose for themselves: one address for every lane, and numbers gathered from there."""

from __future__ import annotations

from ..assembly import Function
from ..elementary import less


def spread(f: Function, scalar: str) -> str:
    """A vector with the same number in all lanes."""
    t = f.types
    first = f.let(f"insertelement {t.vector} poison, {t.scalar} {scalar}, i32 0")
    return f.let(f"shufflevector {t.vector} {first}, {t.vector} poison, <{t.lanes} x i32> zeroinitializer")


def cut(f: Function, chosen: str, rows: str) -> list[str]:
    """Whole rows from numbers: NaN and what is negative mean the first, what is too large the last of `rows`."""
    t = f.types
    last = spread(f, f.let(f"sitofp i64 {f.let(f'sub i64 {rows}, 1')} to {t.scalar}"))
    positive = less(f, "olt", t.splat(0.0), chosen)
    chosen = f.let(f"select {t.mask} {positive}, {t.vector} {chosen}, {t.vector} {t.splat(0.0)}")
    inside = less(f, "olt", chosen, last)
    chosen = f.let(f"select {t.mask} {inside}, {t.vector} {chosen}, {t.vector} {last}")
    numbers = [f.let(f"extractelement {t.vector} {chosen}, i32 {lane}") for lane in range(t.lanes)]
    return [f.let(f"fptosi {t.scalar} {number} to i64") for number in numbers]


def addresses(f: Function, begin: str, rows: list[str], row_bytes: int, lane_bytes: int) -> list[str]:
    """Where the row of every lane begins, for lanes that lie `lane_bytes` apart."""
    offsets = [f.let(f"mul i64 {row}, {row_bytes}") for row in rows]
    return [f.at(f.at(begin, lane * lane_bytes), offset) for lane, offset in enumerate(offsets)]


def spread_each(f: Function, places: list[str], vector: str) -> None:
    """Write the number of every lane to all lanes at an address of its own; of equal addresses the last stays."""
    t = f.types
    for lane, place in enumerate(places):
        chosen = f"<{', '.join([f'i32 {lane}'] * t.lanes)}>"
        everywhere = f.let(f"shufflevector {t.vector} {vector}, {t.vector} poison, <{t.lanes} x i32> {chosen}")
        f.store(t.vector, everywhere, place, t.stride)


def gather(f: Function, places: list[str]) -> str:
    """A vector of the numbers at one address for every lane."""
    t, vector = f.types, "poison"
    for lane, place in enumerate(places):
        number = f.load(t.scalar, place, t.itemsize)
        vector = f.let(f"insertelement {t.vector} {vector}, {t.scalar} {number}, i32 {lane}")
    return vector


def scatter(f: Function, places: list[str], vector: str) -> None:
    """Write the numbers of a vector to one address for every lane."""
    t = f.types
    for lane, place in enumerate(places):
        number = f.let(f"extractelement {t.vector} {vector}, i32 {lane}")
        f.store(t.scalar, number, place, t.itemsize)
