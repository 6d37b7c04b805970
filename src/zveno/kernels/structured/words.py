"""The layout of the words that the code of a structured program reads of one instance."""

from __future__ import annotations

from .statements import Array, Structured, Variable


class Words:
    """Where the words of one instance are, counted in words of 8 bytes from the beginning of `data`."""

    def __init__(self, structured: Structured, first: int):
        self.first = first
        self._n_arrays = len(structured.arrays)
        self.count: int = 2 * self._n_arrays + structured.n_loops + 2

    def place(self, array: Array) -> int:
        """The offset of an array in the workspace, or the address of a table."""
        return self.first + 2 * array.number

    def rows(self, array: Array) -> int:
        """Its number of rows."""
        return self.place(array) + 1

    def trips(self, counter: Variable) -> int:
        """How often a loop runs."""
        return self.first + 2 * self._n_arrays + counter.number

    @property
    def slots(self) -> int:
        """The offset in the workspace of the slots of long steps."""
        return self.first + self.count - 2

    @property
    def kept(self) -> int:
        """The offset in the workspace of room for all inputs and outputs."""
        return self.first + self.count - 1
