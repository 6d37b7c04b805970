"""One state of packed arrays, for built-in functions: every lane computes it."""

from __future__ import annotations

from .assembly import Function, Module
from .batch_data import ARGUMENT_WORDS, N_INPUTS, N_OPERANDS, N_WORDS, RUN, SIZE, SLOTS
from .batch_frame import allocate, keep_status, release, write_constants
from .batch_rows import has_rows, point_quickly, word


def write_once(module: Module) -> None:
    """`once(args, data)`: the elements of every argument follow each other from its address."""
    f = Function(module, "void @once(ptr %args, ptr %data)")
    status = f.let("alloca i64, align 8")
    allocate(f)
    keep_status(f, "fegetexceptflag", status)
    n_inputs = word(f, "%data", N_INPUTS)
    n_outputs = f.let(f"sub i64 {word(f, '%data', N_OPERANDS)}, {n_inputs}")

    def argument(k: str) -> tuple[str, str]:
        words = f.at("%data", f.let(f"add i64 {8 * N_WORDS}, {f.let(f'mul i64 {k}, {8 * ARGUMENT_WORDS}')}"))
        return word(f, "%args", k, "ptr"), words

    def output(number: str) -> tuple[str, str]:
        return argument(f.let(f"add i64 {number}, {n_inputs}"))

    def point(number: str) -> None:
        base, words = output(number)
        f.when(has_rows(f, words), lambda: point_quickly(f, [base] * f.types.lanes, words))

    def put(number: str) -> None:
        base, words = output(number)
        f.when(has_rows(f, words), lambda: None, lambda: _store(f, base, words))

    f.repeat(n_inputs, lambda k: _load(f, *argument(k)))
    f.repeat(n_outputs, point)
    write_constants(f, "true")
    f.do(f"call void {word(f, '%data', RUN, 'ptr')}(ptr %ws, ptr %data)")
    f.repeat(n_outputs, put)
    keep_status(f, "fesetexceptflag", status)
    release(f)
    f.finish()


def _load(f: Function, base: str, words: str) -> None:
    t, slots = f.types, f.at("%ws", word(f, words, SLOTS))

    def spread(j: str) -> None:
        number = f.load(t.scalar, f.at(base, f.let(f"mul i64 {j}, {t.itemsize}")), t.itemsize)
        first = f.let(f"insertelement {t.vector} poison, {t.scalar} {number}, i32 0")
        everywhere = f.let(
            f"shufflevector {t.vector} {first}, {t.vector} poison, <{t.lanes} x i32> zeroinitializer"
        )
        f.store(t.vector, everywhere, f.at(slots, f.let(f"mul i64 {j}, {t.stride}")), t.stride)

    f.repeat(word(f, words, SIZE), spread)


def _store(f: Function, base: str, words: str) -> None:
    t, slots = f.types, f.at("%ws", word(f, words, SLOTS))

    def put(j: str) -> None:
        number = f.load(t.scalar, f.at(slots, f.let(f"mul i64 {j}, {t.stride}")), t.itemsize)
        f.store(t.scalar, number, f.at(base, f.let(f"mul i64 {j}, {t.itemsize}")), t.itemsize)

    f.repeat(word(f, words, SIZE), put)
