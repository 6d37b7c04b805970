"""Text writer for LLVM assembly: the vector types of one kernel, and functions with fresh names.

The text goes straight to LLVM's parser. For programs of 100 000 operations this is several times faster
than building a tree of instruction objects first, and it needs nothing of llvmlite until it is compiled.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence

import numpy as np

_ANCHOR = """define void @anchor() #0 {
  %place = alloca ptr, align 8
  store volatile ptr @anchor, ptr %place, align 8
  ret void
}"""
"""Function that takes an address through the global offset table. llvmlite's memory manager reserves this table
only for objects that use it. An object whose only external references are calls would abort the process when it is
loaded."""


class Types:
    """Names of the scalar, vector, integer and mask types for one element type and number of lanes."""

    def __init__(self, dtype: np.dtype, lanes: int):
        self.lanes = lanes
        self.itemsize: int = dtype.itemsize
        self.bits: int = 8 * dtype.itemsize
        self.scalar: str = {4: "float", 8: "double"}[dtype.itemsize]
        self.vector: str = f"<{lanes} x {self.scalar}>"
        self.word: str = f"i{self.bits}"
        self.words: str = f"<{lanes} x {self.word}>"
        self.mask: str = f"<{lanes} x i1>"
        self.suffix: str = f"v{lanes}f{self.bits}"
        self.stride: int = lanes * dtype.itemsize
        """Size of one vector in bytes, the distance between neighbouring workspace slots."""
        self._constants: dict[bytes, str] = {}

    def number(self, value: float) -> str:
        """A scalar constant. LLVM writes a float as the double of the same value."""
        if self.itemsize == 4:
            with np.errstate(all="ignore"):
                value = float(np.float32(value))
        return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"

    def splat(self, value: float) -> str:
        """A vector constant with the same number in all lanes."""
        key = struct.pack("<d", value)  # distinguishes −0 from 0
        text = self._constants.get(key)
        if text is None:
            text = f"<{', '.join([f'{self.scalar} {self.number(value)}'] * self.lanes)}>"
            self._constants[key] = text
        return text

    def row(self, values: Sequence[float]) -> str:
        """A vector constant of as many numbers as there are lanes."""
        return f"<{', '.join(f'{self.scalar} {self.number(value)}' for value in values)}>"

    def splat_word(self, value: int) -> str:
        """A vector constant of integers with the width of the elements."""
        return f"<{', '.join([f'{self.word} {value}'] * self.lanes)}>"

    def word_of(self, value: float) -> int:
        """The bit pattern of a number, as the integer of the same width."""
        formats = {4: ("<f", "<I"), 8: ("<d", "<Q")}[self.itemsize]
        return struct.unpack(formats[1], struct.pack(formats[0], value))[0]


class Module:
    """Finished functions, and the declarations and constants they need, without duplicates."""

    def __init__(self, types: Types):
        self.types = types
        self.functions: list[str] = []
        self._declarations: dict[str, str] = {}
        self._made: set[str] = set()

    def declare(self, name: str, result: str, arguments: Sequence[str]) -> str:
        """Declare an external function or intrinsic and return its name in the text."""
        self._declarations[name] = f"declare {result} @{name}({', '.join(arguments)})"
        return f"@{name}"

    def define(self, name: str, text: str) -> str:
        """Define a variable or a constant in memory and return its name in the text."""
        self._declarations[name] = f"@{name} = {text}"
        return f"@{name}"

    def constant(self, value: float) -> str:
        """Return the name of a vector in memory with the same number in all lanes."""
        t = self.types
        return self.define(
            f"k{t.number(value)}", f"internal constant {t.vector} {t.splat(value)}, align {t.stride}"
        )

    def words(self, name: str, values: Sequence[int]) -> str:
        """Return the name of 64-bit integers in memory that can be set from outside."""
        listed = ", ".join(f"i64 {value}" for value in values)
        return self.define(name, f"dso_local global [{len(values)} x i64] [{listed}], align 8")

    def once(self, name: str) -> bool:
        """Return True on the first call for a name: the caller then defines the function."""
        first = name not in self._made
        self._made.add(name)
        return first

    def text(self, triple: str) -> str:
        """Return the text of the whole module."""
        # If the two widths are missing, LLVM halves the registers on some CPUs that have AVX-512.
        width = 8 * self.types.stride
        attributes = (
            f'attributes #0 = {{ nounwind noinline "prefer-vector-width"="{width}" '
            f'"min-legal-vector-width"="{width}" }}'
        )
        head = [f'target triple = "{triple}"', attributes]
        unlikely = '!0 = !{!"branch_weights", i32 1, i32 100000}'
        streamed = "!1 = !{i32 1}"
        return "\n".join([*head, *self._declarations.values(), *self.functions, _ANCHOR, unlikely, streamed, ""])


class Function:
    """One function under construction: its lines, the current block, and a counter for names."""

    module: Module
    types: Types

    def __init__(self, module: Module, head: str):
        self.module, self.types = module, module.types
        self.block: str = "entry"
        self._lines = [f"define {head} #0 {{", "entry:"]
        self._count = 0

    def name(self, stem: str = "v") -> str:
        """Return a name that is new in this function, without its sign."""
        self._count += 1
        return f"{stem}{self._count}"

    def let(self, text: str) -> str:
        """Add an instruction with a result and return the name of the result."""
        self._count += 1
        name = f"%v{self._count}"
        self._lines.append(f"  {name} = {text}")
        return name

    def do(self, text: str) -> None:
        """Add an instruction without a result."""
        self._lines.append(f"  {text}")

    def start(self, label: str) -> None:
        """Begin the block of that label."""
        self._lines.append(f"{label}:")
        self.block = label

    def at(self, base: str, offset: int | str) -> str:
        """Return the address `offset` bytes after a pointer."""
        return base if offset == 0 else self.let(f"getelementptr i8, ptr {base}, i64 {offset}")

    def load(self, kind: str, pointer: str, align: int) -> str:
        """Read a value."""
        return self.let(f"load {kind}, ptr {pointer}, align {align}")

    def store(self, kind: str, value: str, pointer: str, align: int) -> None:
        """Write a value."""
        self.do(f"store {kind} {value}, ptr {pointer}, align {align}")

    def stream(self, kind: str, value: str, pointer: str, align: int) -> None:
        """Write a value past the caches, for an array too large to stay in them."""
        self.do(f"store {kind} {value}, ptr {pointer}, align {align}, !nontemporal !1")

    def constant(self, value: float) -> str:
        """Read a constant. Each use reads it again, because an operand in memory costs no extra instruction."""
        return self.load(self.types.vector, self.module.constant(value), self.types.stride)

    def intrinsic(self, stem: str, *operands: str) -> str:
        """Call an LLVM intrinsic on vectors, such as fma or sqrt."""
        vector = self.types.vector
        name = self.module.declare(f"llvm.{stem}.{self.types.suffix}", vector, [vector] * len(operands))
        return self.let(f"call {vector} {name}({', '.join(f'{vector} {x}' for x in operands)})")

    def repeat(self, count: str, body: Callable[[str], None]) -> None:
        """Write a loop; `body` writes one iteration, given the name of the loop counter."""
        label, out, before = self.name("repeat"), self.name("out"), self.block
        any_at_all = self.let(f"icmp ne i64 {count}, 0")
        self.do(f"br i1 {any_at_all}, label %{label}, label %{out}")
        self.start(label)
        self.do(f"%j{label} = phi i64 [ 0, %{before} ], [ %n{label}, %again{label} ]")
        body(f"%j{label}")
        self.do(f"br label %again{label}")
        self.start(f"again{label}")
        self.do(f"%n{label} = add i64 %j{label}, 1")
        more = self.let(f"icmp ult i64 %n{label}, {count}")
        self.do(f"br i1 {more}, label %{label}, label %{out}")
        self.start(out)

    def when(self, condition: str, then: Callable[[], None], otherwise: Callable[[], None] | None = None) -> None:
        """Write a branch; the functions write its two sides."""
        yes, no, out = self.name("then"), self.name("else"), self.name("end")
        self.do(f"br i1 {condition}, label %{yes}, label %{no if otherwise else out}")
        self.start(yes)
        then()
        self.do(f"br label %{out}")
        if otherwise:
            self.start(no)
            otherwise()
            self.do(f"br label %{out}")
        self.start(out)

    def branch_unlikely(self, condition: str, label: str, otherwise: str) -> None:
        """End the block: branch to a label that is almost never taken, or to the other."""
        self.do(f"br i1 {condition}, label %{label}, label %{otherwise}, !prof !0")

    def finish(self) -> None:
        """Close the function with a return and hand it to the module."""
        self.do("ret void")
        self.close()

    def close(self) -> None:
        """Hand a function that has already returned to the module."""
        self._lines.append("}")
        self.module.functions.append("\n".join(self._lines))
