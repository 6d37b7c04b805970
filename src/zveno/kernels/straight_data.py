"""The words that the loop over a batch reads of a straight-line program, see `batch_data`.

They are part of the object code. What is only known when it is loaded is set then: the addresses of its functions,
and where the team of threads is found.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import batch_data, threads
from .assembly import Types
from .batch_data import CONSTANTS, RUN, STREAM_FROM, TEAM, WORKSPACE, BatchData, parallel_threshold
from .plan import Plan
from .program import Op, Program
from .workspace import Workspace

if TYPE_CHECKING:
    from .host import Code

DATA = "data"
"""Name of the words in the object code."""
_LEAST_STATES = 64


def straight_words(types: Types, program: Program, plan: Plan, workspace: Workspace) -> list[int]:
    """The words of a program; its code writes the rows of its outputs."""
    inputs, outputs = program.inputs, program.outputs
    threshold = parallel_threshold(sum(map(len, plan.chunks)), inputs, outputs, _LEAST_STATES)
    batch = BatchData(inputs, outputs, types.lanes, types.itemsize, threshold, keeps_status=False)
    shift = 0 if inputs else 1  # a function of nothing has a dummy input
    for k in range(len(inputs)):
        batch.argument(k, slots=workspace.first_slot(k), table=workspace.table(k), layout=workspace.layout(k))
        if not ((program.op == Op.INPUT) & (program.args[:, 0] == k)).any():
            batch.argument(k, size=0)  # nothing reads it
    for number in range(len(outputs)):
        k = len(inputs) + number
        batch.argument(k + shift, table=workspace.table(k), layout=workspace.layout(k))
        batch.argument(k + shift, rows=workspace.row(number, 0), staging=workspace.staging(number, 0))
    together = types.itemsize * sum(output.size for output in outputs)
    words = batch.words
    words[WORKSPACE] = workspace.size
    words[STREAM_FROM] = -(-batch_data.STREAM_BYTES // max(together, 1))
    return words


def bind_data(code: Code) -> int:
    """Set what is only known now; the address of the words."""
    code.set_word(DATA, TEAM, threads.team_address())
    code.set_word(DATA, RUN, code.address("run"))
    code.set_word(DATA, CONSTANTS, code.address("constants"))
    return code.address(DATA)
