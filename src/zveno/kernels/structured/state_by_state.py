"""One state after the other by code for which all lanes hold the same state.

A batch comes with another state in every lane. A single call comes with the same in all, and so does the end of a
batch: then there is nothing to do but to compute it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..assembly import Function, Module
from .lane_rows import spread

Place = tuple[int, int, int]
"""Of an array: the words that say where it begins in the workspace and how many rows it has, and its width."""


def write_state_by_state(
    module: Module, one_state: str, inputs: Sequence[Place], outputs: Sequence[Place], kept: int
) -> None:
    """Write `run(ws, data)`, which calls `one_state(ws, data)` for every state that the lanes hold.

    Args:
        module: to which it is added.
        one_state: a function that needs the same inputs in all lanes, and gives the same outputs in all.
        inputs, outputs: where they are.
        kept: the word that says where there is room for all of them in the workspace.
    """
    f, t = Function(module, "void @run(ptr noalias %ws, ptr noalias %data)"), module.types
    elements = _Elements(f)
    differ = f.let(f"alloca {t.words}, align {t.stride}")
    f.store(t.words, t.splat_word(0), differ, t.stride)

    def compare(at: str, _: str) -> None:
        numbers = f.load(t.words, at, t.stride)
        first = f.let(f"shufflevector {t.words} {numbers}, {t.words} poison, <{t.lanes} x i32> zeroinitializer")
        bits = f.let(f"xor {t.words} {numbers}, {first}")
        f.store(t.words, f.let(f"or {t.words} {f.load(t.words, differ, t.stride)}, {bits}"), differ, t.stride)

    def compute() -> None:
        f.do(f"call void @{one_state}(ptr %ws, ptr %data)")

    room = f.at("%ws", elements.word(kept))
    behind_inputs = elements.visit(inputs, room, compare)
    some = f.let(f"icmp ne {t.words} {f.load(t.words, differ, t.stride)}, {t.splat_word(0)}")
    several = f.let(f"icmp ne i{t.lanes} {f.let(f'bitcast {t.mask} {some} to i{t.lanes}')}, 0")

    def compute_each() -> None:
        def lane(number: str) -> None:
            offset = f.let(f"mul i64 {number}, {t.itemsize}")

            def give(at: str, place: str) -> None:
                f.store(t.vector, spread(f, f.load(t.scalar, f.at(place, offset), t.itemsize)), at, t.stride)

            def take(at: str, place: str) -> None:
                f.store(t.scalar, f.load(t.scalar, at, t.itemsize), f.at(place, offset), t.itemsize)

            elements.visit(inputs, room, give)
            compute()
            elements.visit(outputs, behind_inputs, take)

        elements.visit(inputs, room, lambda at, place: _copy(f, at, place))
        f.repeat(str(t.lanes), lane)
        elements.visit(outputs, behind_inputs, lambda at, place: _copy(f, place, at))

    f.when(several, compute_each, compute)
    f.finish()


class _Elements:
    """Writes loops over all elements of arrays in the workspace."""

    def __init__(self, f: Function):
        self.f = f

    def word(self, number: int) -> str:
        return self.f.load("i64", self.f.at("%data", 8 * number), 8)

    def visit(self, arrays: Sequence[Place], place: str, visit: Callable[[str, str], None]) -> str:
        """`visit` writes what is done for the address of an element and one of its own from `place` on.

        Returns the address behind those.
        """
        f, stride = self.f, self.f.types.stride
        for begin, rows, width in arrays:
            array, count = f.at("%ws", self.word(begin)), f.let(f"mul i64 {self.word(rows)}, {width}")

            def element(j: str, array: str = array, first: str = place) -> None:
                offset = f.let(f"mul i64 {j}, {stride}")
                visit(f.at(array, offset), f.at(first, offset))

            f.repeat(count, element)
            place = f.at(place, f.let(f"mul i64 {count}, {stride}"))
        return place


def _copy(f: Function, source: str, target: str) -> None:
    t = f.types
    f.store(t.vector, f.load(t.vector, source, t.stride), target, t.stride)
