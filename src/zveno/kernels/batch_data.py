"""The words that the loop over a batch reads of one kernel, see `batch_driver`."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from .program import Argument

# Words of `data`, then those of the arguments.
TEAM, THRESHOLD, RUN, WORKSPACE, N_INPUTS, N_OPERANDS, KEEPS_STATUS, N_WORDS = range(8)
# Words of an argument.
SIZE, SLOTS, RANK, FIRST_AXIS, TABLE, LAYOUT, ARGUMENT_WORDS = range(7)
AXIS_WORDS = 2  # length of an axis, elements from one step along it to the next


class BatchData:
    """The words of one kernel that the driver reads.

    Args:
        inputs, outputs: the arguments; a function without inputs has one without elements.
        lanes, itemsize: of the code.
        threshold: states from which a batch is worth several threads.
        keeps_status: whether the floating-point status is left as it was.
    """

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
            ]
            first_axis += rank
        self.n_words = len(self.words)
        self.words[THRESHOLD], self.words[KEEPS_STATUS] = threshold, int(keeps_status)
        self.words[N_INPUTS], self.words[N_OPERANDS] = len(inputs), len(arguments)

    def take(self, size: int) -> int:
        """Room in the workspace."""
        start = self.workspace
        self.workspace += -(-size // 64) * 64
        return start


def _axes(argument: Argument) -> list[tuple[int, int]]:
    return [(length, prod(argument.shape[axis + 1 :])) for axis, length in enumerate(argument.shape)]
