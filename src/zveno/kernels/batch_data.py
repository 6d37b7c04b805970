"""The words that the loop over a batch reads of one kernel, see `batch_driver`."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from .program import Argument

PARALLEL_WORK = 5_000_000
"""Operations times states from which a batch is worth more than one thread, about 0.3 ms."""

STREAM_BYTES = 16 << 20
"""Bytes of all outputs of a batch from which they are written past the caches: half of a usual last cache.
Measured with 32 MB of it: 0.8 times as fast as stores through the caches at 8 MB, twice as fast at 32 MB."""

# Words of `data`, then those of the arguments.
TEAM, THRESHOLD, RUN, WORKSPACE, N_INPUTS, N_OPERANDS, KEEPS_STATUS, CONSTANTS, STREAM_FROM, DIRECT, N_WORDS = (
    range(11)
)
# Words of an argument. An output has slots, or rows and a staging area if the code writes its rows itself.
SIZE, SLOTS, RANK, FIRST_AXIS, TABLE, LAYOUT, ROWS, STAGING, ARGUMENT_WORDS = range(9)
AXIS_WORDS = 2  # length of an axis, elements from one step along it to the next
NONE = -1


def parallel_threshold(work: int, inputs: Sequence[Argument], outputs: Sequence[Argument], least: int) -> int:
    """States from which a batch is given to several threads, by the operations of one."""
    elements = sum(argument.size for argument in (*inputs, *outputs))
    return max(least, PARALLEL_WORK // (work + 4 * elements + 1))


class BatchData:
    """The words of one kernel that the driver reads.

    Args:
        inputs, outputs: the arguments; a function without inputs has one without elements.
        lanes, itemsize: of the code.
        threshold: states from which a batch is worth several threads.
        keeps_status: whether the floating-point status is left as it was.
    """

    workspace: int

    def __init__(
        self,
        inputs: Sequence[Argument],
        outputs: Sequence[Argument],
        lanes: int,
        itemsize: int,
        threshold: int,
        keeps_status: bool,
    ):
        inputs = inputs or [Argument("", (0,))]
        arguments = [*inputs, *outputs]
        self.n_words: int = N_WORDS + len(arguments) * ARGUMENT_WORDS
        axes = [axis for argument in arguments if argument.size for axis in _axes(argument)]
        self.words: list[int] = [0] * self.n_words + [word for axis in axes for word in axis]
        self.slots: list[int] = []
        """Where the vectors of every argument begin in the workspace; those of structured programs follow."""
        self.workspace, first_axis = 0, 0
        for k, argument in enumerate(arguments):
            at = N_WORDS + k * ARGUMENT_WORDS
            rank = len(argument.shape) if argument.size else 0
            self.slots.append(self.take(argument.size * lanes * itemsize))
            table, layout = self.take(8 * argument.size), self.take(8)
            self.words[at : at + ARGUMENT_WORDS] = [
                argument.size,
                self.slots[-1],
                rank,
                first_axis,
                table,
                layout,
                NONE,
                NONE,
            ]
            first_axis += rank
        self.n_words = len(self.words)
        self.words[THRESHOLD], self.words[KEEPS_STATUS] = threshold, int(keeps_status)
        self.words[N_INPUTS], self.words[N_OPERANDS] = len(inputs), len(arguments)

    def argument(self, k: int, **words: int) -> None:
        """Set words of an argument by their names in small letters."""
        for name, value in words.items():
            self.words[N_WORDS + k * ARGUMENT_WORDS + _NAMED[name]] = value

    def take(self, size: int) -> int:
        """Room in the workspace."""
        start = self.workspace
        self.workspace += -(-size // 64) * 64
        return start


_NAMED = {"size": SIZE, "slots": SLOTS, "table": TABLE, "layout": LAYOUT, "rows": ROWS, "staging": STAGING}


def _axes(argument: Argument) -> list[tuple[int, int]]:
    return [(length, prod(argument.shape[axis + 1 :])) for axis, length in enumerate(argument.shape)]
