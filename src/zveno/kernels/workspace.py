"""The memory a kernel works in, one piece for each call and thread."""

from __future__ import annotations

from .assembly import Types
from .plan import Plan
from .program import Program

_ALIGNMENT = 64


class Workspace:
    """Offsets in bytes of everything in the workspace.

    - slots: vectors of the inputs and of values that outlive their chunk;
    - rows: for every output and lane the address of the row to write to;
    - staging: rows for outputs whose elements are not neighbours in memory, or which are written past the
      caches; they are moved afterwards;
    - tables: for every argument the offsets of its elements, if they are not neighbours, and one word that says so.
    """

    def __init__(self, types: Types, program: Program, plan: Plan):
        self._stride, self._lanes, self._itemsize = types.stride, types.lanes, types.itemsize
        self._sizes = [argument.size for argument in (*program.inputs, *program.outputs)]
        self._n_inputs = len(program.inputs)
        self._rows = plan.n_slots * types.stride
        self._staging = _round_up(self._rows + 8 * types.lanes * len(program.outputs))
        self._tables = _round_up(self._staging + types.stride * sum(self._sizes[self._n_inputs :]))
        self._layouts = self._tables + 8 * sum(self._sizes)
        self.size: int = _round_up(self._layouts + 8 * len(self._sizes))

    def slot(self, number: int) -> int:
        """A slot."""
        return number * self._stride

    def first_slot(self, argument: int) -> int:
        """The slot of the first element of an input."""
        return sum(self._sizes[:argument]) * self._stride

    def row(self, output: int, lane: int) -> int:
        """Where the address of a row is kept."""
        return self._rows + 8 * (output * self._lanes + lane)

    def staging(self, output: int, lane: int) -> int:
        """The row of an output that is moved afterwards."""
        start = self._n_inputs
        before = sum(self._sizes[start : start + output])
        return self._staging + before * self._stride + lane * self._sizes[start + output] * self._itemsize

    def table(self, argument: int) -> int:
        """The table of offsets of an argument, counted over inputs and outputs."""
        return self._tables + 8 * sum(self._sizes[:argument])

    def layout(self, argument: int) -> int:
        """The word that says how an argument lies in memory."""
        return self._layouts + 8 * argument


def _round_up(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT
