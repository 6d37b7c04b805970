"""The order of operations and the slots between chunks."""

from __future__ import annotations

import numpy as np
import pytest

from kernels.programs import Builder, random_program
from zveno.kernels import _plan as plan
from zveno.kernels.program import ARITY, Op


def test_slots_are_used_again():
    """A long recursion needs few slots: those of dead values are taken by later ones."""
    b = Builder("long", x=())
    values = b.read("x") * 2
    for _ in range(20_000):
        values = [values[1], b.add(Op.ADD, *values)]
    schedule = plan.make_plan(b.program(y=((), values[-1:])).graph, 100, 4, [0])
    assert len(schedule.chunks) == 200
    assert schedule.n_slots < 10


@pytest.mark.parametrize("seed", range(3))
def test_every_live_node_is_computed_once_and_after_its_operands(seed):
    program = random_program(seed, 200, smooth=False).graph
    schedule = plan.make_plan(program, 17, 4, [0])
    order = [node for chunk in schedule.chunks for node in chunk]
    free = set(np.flatnonzero(program.op <= Op.CONST).tolist())
    assert set(order) == set(np.flatnonzero(program.live).tolist()) - free
    assert len(order) == len(set(order))
    known = set(free)
    for node in order:
        assert known.issuperset(program.args[node, : ARITY[Op(program.op[node])]].tolist())
        known.add(node)
