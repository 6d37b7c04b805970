"""Whether a structured program stays inside its arrays: what is checked here, the code need not check again."""

from __future__ import annotations

import numpy as np

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
    Shifted,
    Statement,
    Structured,
    Switch,
    Variable,
    While,
)

Values = dict[Variable, np.ndarray]
"""The values that loop counters take at some place of a program."""


def check(structured: Structured) -> None:
    """Refuse a program that could touch memory outside its arrays or whose parts do not fit.

    Raises:
        BuildError: naming the array.
    """
    if not structured.of_kind(Kind.OUTPUT):
        raise BuildError("the program has no output", element=f"program {structured.name}")
    _check_body(structured.body, {})


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
    """A case is only asked to fit the trips that choose it."""
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
            _check_ref(ref, values)
    for ref in run.writes:
        if ref.array.kind not in (Kind.OUTPUT, Kind.SCRATCH):
            raise BuildError(f"is an {ref.array.kind.value}, which nothing may write", element=_element(ref.array))


def _check_ref(ref: Ref, values: Values) -> None:
    array = ref.array
    if array.kind is Kind.INDEX:
        raise BuildError("an index table says rows, it is not read as numbers", element=_element(array))
    if ref.length > ref.count * array.width:
        raise BuildError(f"has no {ref.length} numbers in {ref.count} rows", element=_element(array))
    if ref.add is not None:
        _rows(ref.add, values)
    if isinstance(ref.row, Lane):
        _check_single(ref.row.array, "what says the row of a lane")
        if not array.rows or ref.count != 1 or ref.add is not None:
            raise BuildError("lanes choose one whole row of an array that has some", element=_element(array))
        return
    rows = _rows(ref.row, values)
    if rows.min() < 0 or rows.max() + ref.count > array.rows:
        raise BuildError(
            f"has {array.rows} rows, and rows {rows.min()} to {rows.max() + ref.count - 1} are asked for",
            element=_element(array),
        )


def _rows(row: Row, values: Values) -> np.ndarray:
    """All rows that can be meant."""
    match row:
        case Variable():
            return values[row]
        case Shifted():
            return _rows(row.row, values) + row.offset
        case Entry():
            table = row.table
            if table.kind is not Kind.INDEX or table.values is None:
                raise BuildError("is no index table", element=_element(table))
            inner = _rows(row.row, values)
            if inner.min() < 0 or inner.max() >= table.rows:
                raise BuildError(
                    f"has {table.rows} entries, and {inner.min()} to {inner.max()} are asked for",
                    element=_element(table),
                )
            return table.values[inner]
        case Lane():
            raise BuildError("an index table is the same in all lanes", element=_element(row.array))
        case _:
            return np.array([row])


def _check_single(array: Array, what: str) -> None:
    if not array.in_lanes or array.width != 1 or array.rows < 1:
        raise BuildError(f"{what} is one number in every lane", element=_element(array))


def _element(array: Array) -> str:
    return f"array {array.name}"
