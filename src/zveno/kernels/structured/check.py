"""Whether a structured program stays inside its arrays: what is checked here, the code need not check again."""

from __future__ import annotations

from ...errors import BuildError
from .statements import (
    Array,
    Entry,
    For,
    Kind,
    Lane,
    Ref,
    Row,
    Run,
    Statement,
    Structured,
    Switch,
    While,
    row_range,
)


def check(structured: Structured) -> None:
    """Refuse a program that could touch memory outside its arrays or whose parts do not fit.

    Raises:
        BuildError: naming the array.
    """
    if not structured.of_kind(Kind.OUTPUT):
        raise BuildError("the program has no output", element=f"program {structured.name}")
    _check_body(structured.body)


def _check_body(body: tuple[Statement, ...]) -> None:
    for statement in body:
        match statement:
            case Run():
                _check_run(statement)
            case For():
                if statement.variable.count:
                    _check_body(statement.body)
            case While():
                _check_single(statement.flag, "the flag of a loop")
                if statement.counter.count:
                    _check_body(statement.body)
            case Switch():
                _check_row(statement.row)
                for case in statement.cases:
                    _check_body(case)


def _check_run(run: Run) -> None:
    for refs, arguments in ((run.reads, run.program.inputs), (run.writes, run.program.outputs)):
        if len(refs) != len(arguments):
            raise BuildError(
                f"{len(arguments)} arrays are needed, not {len(refs)}", element=f"program {run.program.name}"
            )
        for ref, argument in zip(refs, arguments, strict=True):
            if argument.size != ref.length:
                raise BuildError(
                    f"{ref.length} numbers where {argument.size} are needed", element=f"array {ref.array.name}"
                )
            _check_ref(ref)
    for ref in run.writes:
        if ref.array.kind not in (Kind.OUTPUT, Kind.SCRATCH):
            raise BuildError(f"is an {ref.array.kind.value}, which nothing may write", element=_element(ref.array))


def _check_ref(ref: Ref) -> None:
    array = ref.array
    if array.kind is Kind.INDEX:
        raise BuildError("an index table says rows, it is not read as numbers", element=_element(array))
    if ref.length > ref.count * array.width:
        raise BuildError(f"has no {ref.length} numbers in {ref.count} rows", element=_element(array))
    _check_row(ref.row)
    if ref.add is not None:
        _check_row(ref.add)
    limits = row_range(ref.row)
    if limits is None:
        if not array.rows or ref.count != 1 or ref.add is not None:
            raise BuildError("lanes choose one whole row of an array that has some", element=_element(array))
    elif limits[0] <= limits[1] and not 0 <= limits[0] <= limits[1] + ref.count <= array.rows:
        raise BuildError(
            f"has {array.rows} rows, and rows {limits[0]} to {limits[1] + ref.count - 1} are asked for",
            element=_element(array),
        )


def _check_row(row: Row) -> None:
    if isinstance(row, Lane):
        _check_single(row.array, "what says the row of a lane")
    if isinstance(row, Entry):
        if row.table.kind is not Kind.INDEX:
            raise BuildError("is no index table", element=_element(row.table))
        inner = row_range(row.row)
        _check_row(row.row)
        if inner is None:
            raise BuildError("an index table is the same in all lanes", element=_element(row.table))
        if inner[0] <= inner[1] and not 0 <= inner[0] <= inner[1] < row.table.rows:
            raise BuildError(
                f"has {row.table.rows} entries, and {inner[0]} to {inner[1]} are asked for",
                element=_element(row.table),
            )


def _check_single(array: Array, what: str) -> None:
    if not array.in_lanes or array.width != 1 or array.rows < 1:
        raise BuildError(f"{what} is one number in every lane", element=_element(array))


def _element(array: Array) -> str:
    return f"array {array.name}"
