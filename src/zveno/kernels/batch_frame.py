"""What functions of the loop over a batch have in common: workspace, floating-point status, constant results."""

from __future__ import annotations

from .assembly import Function
from .batch_data import CONSTANTS, KEEPS_STATUS, WORKSPACE
from .batch_rows import word

STACK_LIMIT = 65_536
"""Bytes of the largest workspace on the stack, so that most calls need no allocator."""
_EXCEPTIONS = 0x3F


def allocate(f: Function) -> None:
    """The workspace `%ws`, aligned."""
    size = word(f, "%data", WORKSPACE)
    small = f.let(f"icmp ule i64 {size}, {STACK_LIMIT}")
    f.do(f"br i1 {small}, label %stack, label %heap")
    f.start("stack")
    f.do(f"%near = alloca i8, i64 {size}, align 64")
    f.do("br label %ready")
    f.start("heap")
    room = f.let(f"add i64 {size}, 64")
    far = f.let(f"call ptr {f.module.declare('zveno_malloc', 'ptr', ['i64'])}(i64 {room})")
    failed = f.let(f"icmp eq ptr {far}, null")
    f.do(f"br i1 {failed}, label %exhausted, label %allocated")
    f.start("exhausted")
    # A loop cannot report an error, and numbers never written must not pass for results.
    f.do(f"call void {f.module.declare('llvm.trap', 'void', [])}()")
    f.do("unreachable")
    f.start("allocated")
    address = f.let(f"ptrtoint ptr {far} to i64")
    aligned = f.at(far, f.let(f"sub i64 64, {f.let(f'and i64 {address}, 63')}"))
    f.do("br label %ready")
    f.start("ready")
    f.do(f"%ws = phi ptr [ %near, %stack ], [ {aligned}, %allocated ]")
    f.do(f"%memory = phi ptr [ null, %stack ], [ {far}, %allocated ]")


def release(f: Function) -> None:
    """Free what `allocate` took from the heap."""
    free = f.module.declare("zveno_free", "void", ["ptr"])
    f.when(f.let("icmp ne ptr %memory, null"), lambda: f.do(f"call void {free}(ptr %memory)"))


def keep_status(f: Function, function: str, place: str) -> None:
    """Keep the floating-point status, or put it back: lanes that wait may raise flags no state has raised."""
    name = f.module.declare(f"zveno_{function}", "i32", ["ptr", "i32"])
    keeps = f.let(f"icmp ne i64 {word(f, '%data', KEEPS_STATUS)}, 0")
    f.when(keeps, lambda: f.do(f"call i32 {name}(ptr {place}, i32 {_EXCEPTIONS})"))


def write_constants(f: Function, needed: str) -> None:
    """Results that are the same for all states. In the staging area they stay, in rows they are written anew."""
    constants = word(f, "%data", CONSTANTS, "ptr")
    some = f.let(f"icmp ne ptr {constants}, null")
    f.when(f.let(f"and i1 {some}, {needed}"), lambda: f.do(f"call void {constants}(ptr %ws)"))
