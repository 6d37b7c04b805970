"""Words of one kernel that compiled code reads: argument sizes and strides, trip counts of loops, and tables.

The first words are for the loop over a batch (`_batch`): words of the kernel, of every argument, and of every axis
of the arguments. The others are for the code of the program (`_lower`): the offset and number of rows of every
array, the trip count of every loop, and the offset of temporary values in the workspace.
"""

from __future__ import annotations

import ctypes
from collections.abc import Collection, Sequence
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from . import threads
from .program import Argument, Array, Kind, Program, Variable, counters

if TYPE_CHECKING:
    from ._host import Code


PARALLEL_WORK = 5_000_000
"""Operations times states above which a batch is split over threads, about 0.3 ms of work."""

STREAM_BYTES = 16 << 20
"""Total output size in bytes above which outputs are written past the caches: half of a usual last-level cache.
Smaller outputs are written faster through the caches."""

# Words of the kernel.
TEAM, THRESHOLD, RUN, WORKSPACE, N_INPUTS, N_OPERANDS, KEEPS_STATUS, CONSTANTS, STREAM_FROM, N_WORDS = range(10)
# Words of an argument. An output has slots, or rows and a staging area if the code writes its rows itself.
SIZE, SLOTS, RANK, FIRST_AXIS, TABLE, LAYOUT, ROWS, STAGING, ARGUMENT_WORDS = range(9)
AXIS_WORDS = 2  # length of an axis, elements from one step along it to the next
NONE = -1


class Words:
    """Position of each word, counted from the beginning. It depends only on the structure of a program."""

    def __init__(self, program: Program):
        self._inputs = program.inputs or (Argument("", (0,)),)  # a function without arguments gets an empty one
        self.arguments: tuple[Argument, ...] = (*self._inputs, *program.outputs)
        self._n_arrays = len(program.arrays)
        self._first = self.axis(sum(len(argument.shape) for argument in self.arguments))
        self.count: int = self._first + 2 * self._n_arrays + program.n_loops + 2

    def argument(self, number: int) -> int:
        """Return the position of the words of an argument, inputs first."""
        return N_WORDS + number * ARGUMENT_WORDS

    def output(self, number: int) -> int:
        """Return the position of the words of an output."""
        return self.argument(len(self._inputs) + number)

    def axis(self, number: int) -> int:
        """Return the position of the words of an axis, counted over all arguments with elements."""
        return N_WORDS + len(self.arguments) * ARGUMENT_WORDS + number * AXIS_WORDS

    def place(self, array: Array) -> int:
        """Return the position of an array's offset in the workspace, or of a table's address."""
        return self._first + 2 * array.number

    def rows(self, array: Array) -> int:
        """Return the position of an array's number of rows."""
        return self.place(array) + 1

    def trips(self, counter: Variable) -> int:
        """Return the position of a loop's trip count."""
        return self._first + 2 * self._n_arrays + counter.number

    @property
    def slots(self) -> int:
        """Position of the workspace offset of values that outlive their chunk."""
        return self.count - 2

    @property
    def kept(self) -> int:
        """Position of the workspace offset of the room for all inputs and outputs."""
        return self.count - 1

    @property
    def n_inputs(self) -> int:
        """Number of inputs, at least one."""
        return len(self._inputs)


class Instance:
    """Words and tables in memory, at fixed addresses.

    Args:
        program: a program with the structure of the code.
        code: the compiled code.
        dtype, lanes: element type and number of lanes of the code.
        work: operations for one state.
        n_slots: vectors that outlive their chunk.
        direct: numbers of the outputs whose rows the code writes itself.
        unread: numbers of the inputs that the code never reads.
        state_by_state: True if the code computes the states of the lanes one by one.
    """

    def __init__(
        self,
        program: Program,
        code: Code,
        dtype: np.dtype,
        lanes: int,
        work: int,
        n_slots: int,
        direct: Collection[int] = (),
        unread: Collection[int] = (),
        state_by_state: bool = False,
    ):
        self.workspace: int = 0
        """Bytes per thread that a call needs beside its arrays."""
        where = Words(program)
        numbers = [0] * where.count
        self._tables: list[np.ndarray] = []
        vector = lanes * dtype.itemsize
        inputs, outputs = program.of_kind(Kind.INPUT), program.of_kind(Kind.OUTPUT)
        first_axis = 0
        for k, argument in enumerate(where.arguments):
            axes = argument.shape if argument.size else ()  # NumPy gives no strides for empty arguments
            table, layout = self._take(8 * argument.size), self._take(8)
            words = [argument.size, NONE, len(axes), first_axis, table, layout]
            if k - where.n_inputs in direct:
                words += [self._take(8 * lanes), self._take(argument.size * vector)]
            else:
                words[SLOTS] = self._take(argument.size * vector)
                words += [NONE, NONE]
            if k in unread:
                words[SIZE] = 0
            numbers[where.argument(k) : where.argument(k) + ARGUMENT_WORDS] = words
            for axis, length in enumerate(axes):
                at = where.axis(first_axis + axis)
                numbers[at : at + AXIS_WORDS] = length, prod(axes[axis + 1 :])
            first_axis += len(axes)
        for number, array in enumerate(inputs):
            numbers[where.place(array)] = numbers[where.argument(number) + SLOTS]
        for number, array in enumerate(outputs):
            numbers[where.place(array)] = numbers[where.output(number) + SLOTS]
        for array in program.arrays:
            numbers[where.rows(array)] = array.rows
            if array.kind is Kind.SCRATCH:
                numbers[where.place(array)] = self._take(array.size * vector)
            elif not array.in_lanes:
                kind = np.int64 if array.kind is Kind.INDEX else dtype
                self._tables.append(np.ascontiguousarray(array.values, kind))
                numbers[where.place(array)] = self._tables[-1].ctypes.data
        for number in unread:
            numbers[where.rows(inputs[number])] = 0
        for counter in counters(program.body):
            numbers[where.trips(counter)] = counter.count
        numbers[where.slots] = self._take(n_slots * vector)
        kept = (*inputs, *outputs) if state_by_state else ()
        numbers[where.kept] = self._take(sum(array.size for array in kept) * vector)
        together = dtype.itemsize * sum(outputs[number].size for number in direct)
        numbers[:N_WORDS] = [
            threads.team_address(),
            parallel_threshold(work, program.inputs, program.outputs, lanes),
            code.address("run"),
            self.workspace,
            where.n_inputs,
            len(where.arguments),
            int(program.has_masks),
            code.address("constants"),
            -(-STREAM_BYTES // together) if together else np.iinfo(np.int64).max,
        ]
        self._words = (ctypes.c_int64 * len(numbers))(*numbers)

    @property
    def address(self) -> int:
        """Address of the words."""
        return ctypes.addressof(self._words)

    def _take(self, size: int) -> int:
        """Reserve room in the workspace and return its offset."""
        start = self.workspace
        self.workspace += -(-size // 64) * 64
        return start


def parallel_threshold(work: int, inputs: Sequence[Argument], outputs: Sequence[Argument], lanes: int) -> int:
    """Return the number of states above which a batch is split over threads, from the operations of one state."""
    elements = sum(argument.size for argument in (*inputs, *outputs))
    return max(lanes, PARALLEL_WORK // (work + 4 * elements + 1))
