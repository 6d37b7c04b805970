"""Programs: the result of tracing a function, and the input of evaluation, compilation, export and derivatives.

A program consists of arrays and of statements on rows of them:

    Run(graph, reads, writes)       straight-line code on rows of arrays
    For(variable, count, body)      the same number of trips in all lanes
    While(flag, bound, body)        at most `bound` trips, in lanes with a nonzero flag
    Switch(row, cases)              one of several bodies, the same in all lanes

Programs have no allocation, no pointers and no recursion, and every loop is bounded. A traced function is a program
of a single `Run`. Compiled code depends only on the structure: sizes, counts and the contents of tables are data of
one instance. So a chain of ten bodies and one of ten thousand share their code.

The graph of a `Run` is a list of scalar operations, each computed once (static single assignment). Operands always
point to earlier nodes, so a loop over the nodes in order evaluates the graph. Node `k` is described by

- ``op[k]``: the operation, an :class:`Op`;
- ``args[k]``: up to three operands, -1 where there is none. For ``INPUT`` they are
  (number of the argument, flat index of the element in C order, -1);
- ``value[k]``: the number, for ``CONST`` only (NaN is a legal constant; others hold 0).
"""

from __future__ import annotations

import enum
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import BuildError, unknown_name


class Op(enum.IntEnum):
    """Operations of a graph. Comparisons give 1.0 or 0.0, which AND, OR, NOT and SELECT read."""

    INPUT = 0
    CONST = 1
    NEG = 2
    ADD = 3
    SUB = 4
    MUL = 5
    DIV = 6
    SQRT = 7
    SIN = 8
    COS = 9
    TAN = 10
    ASIN = 11
    ACOS = 12
    ATAN = 13
    ATAN2 = 14
    EXP = 15
    LOG = 16
    TANH = 17
    ABS = 18
    SIGN = 19
    FLOOR = 20
    MINIMUM = 21
    MAXIMUM = 22
    LESS = 23
    LESS_EQUAL = 24
    EQUAL = 25
    AND = 26
    OR = 27
    NOT = 28
    SELECT = 29


ARITY = {
    **dict.fromkeys((Op.INPUT, Op.CONST), 0),
    **dict.fromkeys(
        (Op.NEG, Op.SQRT, Op.SIN, Op.COS, Op.TAN, Op.ASIN, Op.ACOS, Op.ATAN, Op.EXP, Op.LOG, Op.TANH), 1
    ),
    **dict.fromkeys((Op.ABS, Op.SIGN, Op.FLOOR, Op.NOT), 1),
    **dict.fromkeys((Op.ADD, Op.SUB, Op.MUL, Op.DIV, Op.ATAN2, Op.MINIMUM, Op.MAXIMUM), 2),
    **dict.fromkeys((Op.LESS, Op.LESS_EQUAL, Op.EQUAL, Op.AND, Op.OR), 2),
    Op.SELECT: 3,
}
_ARITY = np.array([ARITY[op] for op in Op])


@dataclass(frozen=True)
class Argument:
    """A named array of an input or output: its core shape, without batch axes."""

    name: str
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)


@dataclass(frozen=True, eq=False)
class Graph:
    """Scalar operations in order, from named input arrays to named output arrays."""

    name: str
    inputs: tuple[Argument, ...]
    outputs: tuple[Argument, ...]
    op: np.ndarray
    """(n,) uint8, codes of :class:`Op`."""
    args: np.ndarray
    """(n, 3) int32, operands."""
    value: np.ndarray
    """(n,) float64, constants."""
    results: tuple[np.ndarray, ...]
    """For each output, the node of every element, int32, flat in C order."""

    @property
    def n_nodes(self) -> int:
        """Number of nodes, inputs and constants included."""
        return len(self.op)

    @property
    def live(self) -> np.ndarray:
        """Mask of the nodes that a result depends on."""
        op, args, arity = self.op.tolist(), self.args.tolist(), _ARITY.tolist()
        live = bytearray(len(op))
        for result in self.results:
            for node in result.tolist():
                live[node] = 1
        for node in range(len(op) - 1, -1, -1):
            if live[node]:
                for operand in args[node][: arity[op[node]]]:
                    live[operand] = 1
        return np.frombuffer(bytes(live), dtype=np.bool_)


def untraced(name: str, inputs: tuple[Argument, ...], outputs: tuple[Argument, ...]) -> Graph:
    """Return a graph with the given arguments that computes zeros, in place of one that was compiled before."""
    results = tuple(np.zeros(output.size, np.int32) for output in outputs)
    constant = np.array([Op.CONST], np.uint8), np.full((1, 3), -1, np.int32), np.zeros(1)
    return Graph(name, inputs, outputs, *constant, results)


class Kind(enum.Enum):
    """Purpose of an array. Tables and index tables are the same in all lanes."""

    INPUT = "input"
    OUTPUT = "output"
    SCRATCH = "scratch"
    TABLE = "table"
    INDEX = "index"


@dataclass(frozen=True, eq=False)
class Array:
    """Rows of `width` numbers in fixed memory.

    Attributes:
        name: name in error messages and in C.
        number: position among all arrays of the program.
        kind: purpose of the array.
        rows, width: number of rows, and numbers per row.
        zero: True if it begins at zero in every state; else it must be written before it is read.
        values: the numbers of a table, (rows, width), or the whole numbers of an index table, (rows,).
        shape: shape of an input or output for the caller, with rows × width elements.
    """

    name: str
    number: int
    kind: Kind
    rows: int
    width: int
    zero: bool = False
    values: np.ndarray | None = None
    shape: tuple[int, ...] = ()

    @property
    def size(self) -> int:
        """Number of elements."""
        return self.rows * self.width

    @property
    def in_lanes(self) -> bool:
        """True if every lane has its own values here."""
        return self.kind in (Kind.INPUT, Kind.OUTPUT, Kind.SCRATCH)


@dataclass(frozen=True, eq=False)
class Variable:
    """The counter of a loop."""

    number: int
    count: int

    def __add__(self, offset: int) -> Shifted:
        return Shifted(self, offset)


@dataclass(frozen=True)
class Shifted:
    """A row `offset` after another."""

    row: Variable | Entry
    offset: int


@dataclass(frozen=True)
class Entry:
    """The number that an index table holds in another row."""

    table: Array
    row: Row

    def __add__(self, offset: int) -> Shifted:
        return Shifted(self, offset)


@dataclass(frozen=True)
class Lane:
    """A row that differs between lanes: the number in row 0 of an array of width 1, limited to existing rows."""

    array: Array


Row = int | Variable | Shifted | Entry | Lane
"""Reference to a row: a number, a loop counter, an entry of an index table, or one row per lane."""


@dataclass(frozen=True)
class Ref:
    """`count` neighbouring rows of an array, read or written at once.

    Attributes:
        array, row, count: the rows referred to.
        length: number of values, from the beginning of the first row.
        add: entry of an index table that is 1 if a write adds to the old values, and 0 if it replaces them.
    """

    array: Array
    row: Row
    count: int
    length: int
    add: Entry | None = None


@dataclass(frozen=True)
class Run:
    """Straight-line code, with one input per entry of `reads` and one output per entry of `writes`."""

    graph: Graph
    reads: tuple[Ref, ...]
    writes: tuple[Ref, ...]


@dataclass(frozen=True)
class For:
    """A loop whose counter runs from 0, or down to 0."""

    variable: Variable
    body: tuple[Statement, ...]
    reverse: bool = False


@dataclass(frozen=True)
class While:
    """A loop in the lanes where row 0 of `flag` is nonzero; nothing is written in the other lanes.

    It ends when the flag is zero in all lanes, or after `counter.count` trips.
    """

    flag: Array
    counter: Variable
    body: tuple[Statement, ...]


@dataclass(frozen=True)
class Switch:
    """Execution of the body whose number is the row; of the first body for all other numbers."""

    row: Row
    cases: tuple[tuple[Statement, ...], ...]


Statement = Run | For | While | Switch


@dataclass(frozen=True, eq=False)
class Program:
    """A pure function from named input arrays to named output arrays."""

    name: str
    arrays: tuple[Array, ...]
    body: tuple[Statement, ...]
    n_loops: int = 0
    """Number of `For` and `While` loops."""

    @classmethod
    def straight(cls, graph: Graph) -> Program:
        """Return the program that runs a graph once, on all elements of its inputs."""
        sides = (Kind.INPUT, graph.inputs), (Kind.OUTPUT, graph.outputs)
        given = [(kind, argument) for kind, arguments in sides for argument in arguments]
        arrays = tuple(
            Array(argument.name, number, kind, argument.size, 1, shape=argument.shape)
            for number, (kind, argument) in enumerate(given)
        )
        whole = tuple(Ref(array, 0, array.rows, array.size) for array in arrays)
        n = len(graph.inputs)
        return cls(graph.name, arrays, (Run(graph, whole[:n], whole[n:]),))

    @property
    def graph(self) -> Graph:
        """Operations of a program that runs one graph.

        Raises:
            BuildError: the program has loops.
        """
        if len(self.body) != 1 or not isinstance(self.body[0], Run):
            raise BuildError("the program has loops", element=f"program {self.name}")
        return self.body[0].graph

    def of_kind(self, *kinds: Kind) -> tuple[Array, ...]:
        """Return the arrays of these kinds, in order."""
        return tuple(array for array in self.arrays if array.kind in kinds)

    @property
    def inputs(self) -> tuple[Argument, ...]:
        """Inputs with their shapes for the caller."""
        return tuple(Argument(array.name, array.shape) for array in self.of_kind(Kind.INPUT))

    @property
    def outputs(self) -> tuple[Argument, ...]:
        """Outputs with their shapes for the caller."""
        return tuple(Argument(array.name, array.shape) for array in self.of_kind(Kind.OUTPUT))

    @property
    def has_masks(self) -> bool:
        """True if some lanes may be masked."""
        return any(isinstance(statement, While) for statement, _ in walk(self.body))


def walk(body: tuple[Statement, ...], trips: int = 1) -> Iterator[tuple[Statement, int]]:
    """Yield every statement with an upper bound of its executions. Every case counts as often as its switch."""
    for statement in body:
        yield statement, trips
        if isinstance(statement, For):
            yield from walk(statement.body, trips * statement.variable.count)
        elif isinstance(statement, While):
            yield from walk(statement.body, trips * statement.counter.count)
        elif isinstance(statement, Switch):
            for case in statement.cases:
                yield from walk(case, trips)


def counters(body: tuple[Statement, ...]) -> list[Variable]:
    """Return the counters of all loops."""
    variables: list[Variable] = []
    for statement in body:
        if isinstance(statement, For):
            variables += [statement.variable, *counters(statement.body)]
        elif isinstance(statement, While):
            variables += [statement.counter, *counters(statement.body)]
        elif isinstance(statement, Switch):
            variables += [counter for case in statement.cases for counter in counters(case)]
    return variables


def runs(body: tuple[Statement, ...], trips: float = 1) -> list[tuple[Run, float]]:
    """Return every `Run` with a bound of its executions; cases count as often as their table chooses them."""
    runs_and_trips: list[tuple[Run, float]] = []
    for statement in body:
        if isinstance(statement, Run):
            runs_and_trips.append((statement, trips))
        elif isinstance(statement, For):
            runs_and_trips += runs(statement.body, trips * statement.variable.count)
        elif isinstance(statement, While):
            runs_and_trips += runs(statement.body, trips * statement.counter.count)
        else:
            for number, case in enumerate(statement.cases):
                runs_and_trips += runs(case, trips * _share(statement, number))
    return runs_and_trips


def _share(switch: Switch, number: int) -> float:
    if isinstance(switch.row, Entry) and isinstance(switch.row.row, Variable):
        chosen = switch.row.table.values
        assert chosen is not None
        used = chosen[: switch.row.row.count]
        return float(np.mean(used == number)) if len(used) else 0.0
    return 1.0


# --- validity

Values = dict[Variable, np.ndarray]
"""Values of the loop counters at one point of a program."""


def check(program: Program) -> None:
    """Raise an error if a program could access memory outside its arrays, or its parts do not match.

    Compiled code relies on these checks and does not repeat them.

    Raises:
        BuildError: names the array or the graph.
    """
    if not program.of_kind(Kind.OUTPUT):
        raise BuildError("the program has no output", element=f"program {program.name}")
    _check_body(program.body, {})


def _check_body(body: tuple[Statement, ...], values: Values) -> None:
    for statement in body:
        match statement:
            case Run():
                _check_run(statement, values)
            case For():
                if statement.variable.count > 0:
                    taken = np.arange(statement.variable.count)
                    _check_body(statement.body, values | {statement.variable: taken})
            case While():
                _check_single(statement.flag, "the flag of a loop")
                if statement.counter.count > 0:
                    taken = np.arange(statement.counter.count)
                    _check_body(statement.body, values | {statement.counter: taken})
            case Switch():
                _check_switch(statement, values)


def _check_switch(switch: Switch, values: Values) -> None:
    """Check a switch. Each case is checked only for the trips that choose it."""
    chosen = _rows(switch.row, values)
    chosen = np.where((chosen >= 0) & (chosen < len(switch.cases)), chosen, 0)
    for number, case in enumerate(switch.cases):
        if not (chosen == number).any():
            continue
        narrowed = values
        if isinstance(switch.row, Entry) and isinstance(switch.row.row, Variable):
            variable = switch.row.row
            narrowed = values | {variable: values[variable][chosen == number]}
        _check_body(case, narrowed)


def _check_run(run: Run, values: Values) -> None:
    check_graph(run.graph)
    for refs, arguments in ((run.reads, run.graph.inputs), (run.writes, run.graph.outputs)):
        if len(refs) != len(arguments):
            raise BuildError(
                f"{len(arguments)} arrays are needed, not {len(refs)}", element=f"program {run.graph.name}"
            )
        for ref, argument in zip(refs, arguments, strict=True):
            if argument.size != ref.length:
                raise BuildError(
                    f"{ref.length} numbers where {argument.size} are needed", element=f"array {ref.array.name}"
                )
            _check_ref(ref, values)
    for ref in run.writes:
        if ref.array.kind not in (Kind.OUTPUT, Kind.SCRATCH):
            raise BuildError(f"is an {ref.array.kind.value} and must not be written", element=_element(ref.array))


def _check_ref(ref: Ref, values: Values) -> None:
    array = ref.array
    if array.kind is Kind.INDEX:
        raise BuildError("an index table holds row numbers and cannot be read as values", element=_element(array))
    if ref.length > ref.count * array.width:
        raise BuildError(f"must have {ref.length} numbers in {ref.count} rows", element=_element(array))
    if ref.add is not None:
        _rows(ref.add, values)
    if isinstance(ref.row, Lane):
        _check_single(ref.row.array, "the row of a lane")
        if not array.rows or ref.count != 1 or ref.add is not None:
            raise BuildError("lanes must choose one whole row of an array with rows", element=_element(array))
        return
    rows = _rows(ref.row, values)
    if rows.min() < 0 or rows.max() + ref.count > array.rows:
        raise BuildError(
            f"has {array.rows} rows, but rows {rows.min()} to {rows.max() + ref.count - 1} are requested",
            element=_element(array),
        )


def _rows(row: Row, values: Values) -> np.ndarray:
    """Return all rows that a reference can mean."""
    match row:
        case Variable():
            return values[row]
        case Shifted():
            return _rows(row.row, values) + row.offset
        case Entry():
            table = row.table
            if table.kind is not Kind.INDEX or table.values is None:
                raise BuildError("is not an index table", element=_element(table))
            inner = _rows(row.row, values)
            if inner.min() < 0 or inner.max() >= table.rows:
                raise BuildError(
                    f"has {table.rows} entries, but {inner.min()} to {inner.max()} are requested",
                    element=_element(table),
                )
            return table.values[inner]
        case Lane():
            raise BuildError("an index table cannot hold one row per lane", element=_element(row.array))
        case _:
            return np.array([row])


def _check_single(array: Array, subject: str) -> None:
    if not array.in_lanes or array.width != 1 or array.rows < 1:
        raise BuildError(f"{subject} must be one number in every lane", element=_element(array))


def _element(array: Array) -> str:
    return f"array {array.name}"


def check_graph(graph: Graph) -> None:
    """Raise an error if the arrays of a graph are inconsistent.

    Raises:
        BuildError: sizes differ, an operand comes after its use, or an index is out of range.
    """
    n, element = graph.n_nodes, f"program {graph.name}"
    if graph.args.shape != (n, 3) or graph.value.shape != (n,):
        raise BuildError("the arrays of the program differ in length", element=element)
    if len(graph.results) != len(graph.outputs):
        raise BuildError("the program needs results for every output", element=element)
    if n and graph.op.max() > max(Op):
        raise BuildError(f"unknown operation {graph.op.max()}", element=element)
    arity = _ARITY[graph.op]
    for place in range(3):
        used, args = arity > place, graph.args[:, place]
        if np.any(used & ((args < 0) | (args >= np.arange(n)))):
            raise BuildError("an operand does not come before the operation that reads it", element=element)
    read = np.flatnonzero(graph.op == Op.INPUT)
    number, index = graph.args[read, 0], graph.args[read, 1]
    sizes = np.array([argument.size for argument in graph.inputs] or [0])
    known = (number >= 0) & (number < len(graph.inputs)) & (index >= 0)
    known &= index < sizes[np.where(known, number, 0)]
    if not known.all():
        raise BuildError(f"node {read[~known][0]} reads an input that does not exist", element=element)
    for output, result in zip(graph.outputs, graph.results, strict=True):
        if len(result) != output.size or np.any((result < 0) | (result >= n)):
            raise BuildError(f"output {output.name} does not name one node per element", element=element)


# --- operation counts


@dataclass(frozen=True)
class Operations:
    """Number of scalar operations per state, without operations that no result depends on."""

    adds: int
    """Additions and subtractions."""
    multiplies: int
    divides: int
    square_roots: int
    sincos: int
    """Angles whose sine, cosine or both are computed."""
    other: int
    """All others: sign changes, comparisons, selections and the remaining functions."""

    @property
    def total(self) -> int:
        """Total number of operations."""
        return sum(vars(self).values())

    def __str__(self) -> str:
        parts = ((f"{count:,}".replace(",", " "), name.replace("_", " ")) for name, count in vars(self).items())
        return ", ".join(f"{count} {name}" for count, name in parts if count != "0") or "no operations"


def count_operations(program: Program, varying: Sequence[str] | None = None) -> Operations:
    """Count the operations of a program.

    Args:
        program: the program to count.
        varying: names of inputs of a straight-line program; only operations that depend on one of them count.
            Operations on the other inputs alone, such as parameters, are computed once for many states.
    """
    if varying is None:
        return total_operations(program, [graph_operations(run.graph) for run, _ in runs(program.body)])
    graph, known = program.graph, [argument.name for argument in program.inputs]
    for name in varying:
        if name not in known:
            raise unknown_name("input", name, known)
    return graph_operations(graph, _reached(graph, [known.index(name) for name in varying]))


def total_operations(program: Program, each: Sequence[Operations]) -> Operations:
    """Return the operations for one state, from those of every `Run` in order."""
    total = dict.fromkeys(vars(Operations(0, 0, 0, 0, 0, 0)), 0.0)
    for (_, trips), operations in zip(runs(program.body), each, strict=True):
        for name, count in vars(operations).items():
            total[name] += trips * count
    return Operations(**{name: round(count) for name, count in total.items()})


def graph_operations(graph: Graph, counted: np.ndarray | None = None) -> Operations:
    """Return the operations of a graph, of all nodes or of a mask of nodes."""
    live = graph.live if counted is None else graph.live & counted
    op = graph.op[live]
    counts = np.bincount(op, minlength=len(Op))
    sincos = (op == Op.SIN) | (op == Op.COS)
    named = [Op.INPUT, Op.CONST, Op.ADD, Op.SUB, Op.MUL, Op.DIV, Op.SQRT, Op.SIN, Op.COS]
    return Operations(
        adds=int(counts[Op.ADD] + counts[Op.SUB]),
        multiplies=int(counts[Op.MUL]),
        divides=int(counts[Op.DIV]),
        square_roots=int(counts[Op.SQRT]),
        sincos=len(set(graph.args[live][sincos, 0].tolist())),
        other=int(counts.sum() - counts[named].sum()),
    )


def _reached(graph: Graph, inputs: Sequence[int]) -> np.ndarray:
    """Return the mask of the nodes that depend on one of the given inputs."""
    reached = bytearray(graph.n_nodes)
    for node, (op, args) in enumerate(zip(graph.op.tolist(), graph.args.tolist(), strict=True)):
        if op == Op.INPUT:
            reached[node] = args[0] in inputs
        else:
            reached[node] = any(reached[a] for a in args[: ARITY[Op(op)]])
    return np.frombuffer(bytes(reached), dtype=np.bool_)
