"""Hoisting of loop-invariant computations: values that do not change between trips are computed once and kept.

The branches of a closed form differ in signs that come from a table. Half of a branch's operations depend only on
its first signs, which change every fourth trip. A step in a loop is therefore split into stages. All stages but the
last run only in trips before which one of their inputs has changed. Operations and results are the same to the last
bit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .program import (
    ARITY,
    Argument,
    Array,
    Entry,
    For,
    Graph,
    Kind,
    Lane,
    Op,
    Program,
    Ref,
    Row,
    Run,
    Shifted,
    Statement,
    Switch,
    Variable,
    While,
    walk,
)

WORTH = 24
"""Number of operations below which values are not worth storing."""
_FREE = (Op.INPUT, Op.CONST)
Trips = frozenset[int]
"""Trips of a loop in which a value changes; the first is always one of them."""


def computed_once(program: Program) -> Program:
    """Return the same program with the steps of its loops split into stages."""
    writer = _Writer(list(program.arrays))
    body = writer.body(program.body)
    return replace(program, arrays=tuple(writer.arrays), body=body)


@dataclass(frozen=True)
class _Writer:
    arrays: list[Array]

    def body(self, body: tuple[Statement, ...]) -> tuple[Statement, ...]:
        return tuple(self._statement(statement) for statement in body)

    def _statement(self, statement: Statement) -> Statement:
        match statement:
            case For():
                inner = self.body(statement.body)
                if not statement.reverse and statement.variable.count > 1:
                    written = _written(statement.body)
                    apart = [self._apart(inner_statement, statement.variable, written) for inner_statement in inner]
                    inner = tuple(part for parts in apart for part in parts)
                return replace(statement, body=inner)
            case While():
                return replace(statement, body=self.body(statement.body))
            case Switch():
                return replace(statement, cases=tuple(self.body(case) for case in statement.cases))
            case _:
                return statement

    def _apart(self, run: Statement, variable: Variable, written: set[Array]) -> list[Statement]:
        """Return a statement of a loop, or a `Run` in stages, each restricted to its own trips."""
        if not isinstance(run, Run):
            return [run]
        stages = _stages(run, variable, written)
        made: list[Statement] = []
        kept: dict[int, tuple[Array, int]] = {}
        for number, trips in enumerate(stages.trips):
            last = number == len(stages.trips) - 1
            values = [] if last else stages.handed_on(number)
            graph, reads = stages.graph(number, values, kept, run)
            if last:
                return [*made, replace(run, graph=graph, reads=reads)]
            array = self._array(f"kept_{len(self.arrays)}", Kind.SCRATCH, 1, len(values))
            kept |= {node: (array, place) for place, node in enumerate(values)}
            stage = Run(graph, reads, (Ref(array, 0, 1, len(values)),))
            flags = np.array([int(trip in trips) for trip in range(variable.count)])
            changed = self._array(f"changed_{len(self.arrays)}", Kind.INDEX, variable.count, 1, values=flags)
            made.append(Switch(Entry(changed, variable), ((), (stage,))))
        return made

    def _array(self, name: str, kind: Kind, rows: int, width: int, values: np.ndarray | None = None) -> Array:
        self.arrays.append(Array(name, len(self.arrays), kind, rows, width, values=values))
        return self.arrays[-1]


@dataclass(frozen=True)
class _Stages:
    """A graph split into stages.

    Attributes:
        whole: the graph.
        trips: trips of every stage, in order; the last stage has all of them.
        stage: stage of every node, −1 for nodes that no result depends on.
    """

    whole: Graph
    trips: list[Trips]
    stage: list[int]

    def handed_on(self, number: int) -> list[int]:
        """Return the nodes of a stage that later stages read."""
        op, args = self.whole.op.tolist(), self.whole.args.tolist()
        wanted = {node for result in self.whole.results for node in result.tolist()}
        for node in range(len(op)):
            if self.stage[node] > number:
                wanted |= set(_operands(op[node], args[node]))
        return sorted(node for node in wanted if self.stage[node] == number and op[node] not in _FREE)

    def graph(
        self, number: int, values: list[int], kept: dict[int, tuple[Array, int]], run: Run
    ) -> tuple[Graph, tuple[Ref, ...]]:
        """Return the graph of a stage that gives `values`, or the results if it is the last, and its reads."""
        whole = self.whole
        members = [node for node, stage in enumerate(self.stage) if stage == number]
        needed = {k for node in members for k in _operands(int(whole.op[node]), whole.args[node].tolist())} | set(
            members
        )
        results = whole.results if not values else (np.array(values, np.int32),)
        needed |= {node for result in results for node in result.tolist()}
        read = list(dict.fromkeys(kept[node][0] for node in sorted(needed) if node in kept))
        inputs = (*whole.inputs, *(Argument(array.name, (array.width,)) for array in read))
        op, args, value, place = [], [], [], {}
        for node in sorted(needed):
            place[node] = len(op)
            if node in kept:
                array, column = kept[node]
                op.append(int(Op.INPUT))
                args.append([len(whole.inputs) + read.index(array), column, -1])
            else:
                code, given = int(whole.op[node]), whole.args[node].tolist()
                op.append(code)
                args.append(given if code in _FREE else [place[k] if k >= 0 else -1 for k in given])
            value.append(float(whole.value[node]) if node not in kept else 0.0)
        outputs = whole.outputs if not values else (Argument("kept", (len(values),)),)
        graph = Graph(
            whole.name,
            inputs,
            outputs,
            np.array(op, np.uint8),
            np.array(args, np.int32).reshape(-1, 3),
            np.array(value),
            tuple(np.array([place[node] for node in result.tolist()], np.int32) for result in results),
        )
        return graph, (*run.reads, *(Ref(array, 0, 1, array.width) for array in read))


def _stages(run: Run, variable: Variable, written: set[Array]) -> _Stages:
    graph = run.graph
    every = frozenset(range(variable.count))
    changes = [_changes(ref, variable, written) for ref in run.reads]
    op, args, live = graph.op.tolist(), graph.args.tolist(), graph.live
    trips: list[Trips] = []
    for node in range(len(op)):
        if op[node] == Op.INPUT:
            argument, element = args[node][:2]
            trips.append(changes[argument][element])
        else:
            stage_trips: Trips = frozenset([0])
            for operand in _operands(op[node], args[node]):
                stage_trips |= trips[operand]
            trips.append(stage_trips)
    computed = [node for node in range(len(op)) if live[node] and op[node] not in _FREE]
    counts: dict[Trips, int] = {}
    for node in computed:
        counts[trips[node]] = counts.get(trips[node], 0) + 1
    worth = [stage_trips for stage_trips, count in counts.items() if count >= WORTH and stage_trips != every]
    # A stage reads values kept by earlier stages, so those with fewer trips come first.
    chosen = [*sorted(worth, key=lambda stage_trips: (len(stage_trips), sorted(stage_trips))), every]
    stage = [-1] * len(op)
    for node in computed:
        stage[node] = next(k for k, stage_trips in enumerate(chosen) if trips[node] <= stage_trips)
    return _Stages(graph, chosen, stage)


def _changes(ref: Ref, variable: Variable, written: set[Array]) -> list[Trips]:
    """Return for every number read the trips before which it may change."""
    every, array = frozenset(range(variable.count)), ref.array
    if array.kind is Kind.TABLE and ref.row is variable and ref.count == 1:
        assert array.values is not None
        rows = np.ascontiguousarray(array.values[: variable.count], float).view(np.int64)  # −0.0 differs from 0.0
        changed = np.concatenate([np.ones_like(rows[:1], bool), rows[1:] != rows[:-1]])
        return [frozenset(np.flatnonzero(column).tolist()) for column in changed.T]
    fixed = array not in written and _fixed(ref.row, variable, written)
    return [frozenset([0]) if fixed else every] * ref.length


def _fixed(row: Row, variable: Variable, written: set[Array]) -> bool:
    """Return True if a row is the same in all trips."""
    match row:
        case Variable():
            return row is not variable
        case Shifted() | Entry():
            return _fixed(row.row, variable, written)
        case Lane():
            return row.array not in written
        case _:
            return True


def _written(body: tuple[Statement, ...]) -> set[Array]:
    return {ref.array for statement, _ in walk(body) if isinstance(statement, Run) for ref in statement.writes}


def _operands(op: int, args: list[int]) -> list[int]:
    return [] if op in _FREE else args[: ARITY[Op(op)]]
