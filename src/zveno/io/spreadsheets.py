"""Measurements in a spreadsheet, .xlsx: its first sheet is read like a text table."""

from __future__ import annotations

import re
import warnings
from os import PathLike
from typing import Any

from ..errors import MissingExtraError, ModelError
from .files import MAX_DATA_BYTES, opened, opened_archive
from .measurements import MeasurementTable, parse_measurements

SUFFIX = ".xlsx"
MAX_BLANK_ROWS = 100_000
"""Longest gap between two rows: openpyxl creates every missing row."""
MAX_COLUMNS = 2000
_REMEDY = "Save it again as .xlsx, or as CSV"


_ROW = re.compile(rb'<(?:\w+:)?row\b[^>]*?\br="(\d{1,18})"')


def read_spreadsheet(path: str | PathLike[str], *, sheet: str = "", head_needed: bool = True) -> MeasurementTable:
    """Read the table of a sheet, the first by default: lines `# key = value`, a header, then numbers.

    Formulas count with the values that were saved; rows are numbered as in the sheet.
    """
    try:
        import openpyxl
    except ImportError:
        raise MissingExtraError("spreadsheets need openpyxl", remedy="pip install 'zveno[xlsx]'") from None
    with opened(path, MAX_DATA_BYTES) as stream:
        with opened_archive(stream, MAX_DATA_BYTES, path, _REMEDY):
            pass
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # styles and extensions that it leaves out
                book = openpyxl.load_workbook(stream, read_only=True, data_only=True)
                text = _text(book, sheet)
        except ModelError as error:
            raise error.located(file=path) from None
        except Exception as error:  # the reader's own errors have no common class
            raise ModelError(f"it is damaged: {error}", file=path, remedy=_REMEDY) from None
    return parse_measurements(text, str(path), head_needed=head_needed)


def _text(book: Any, sheet: str) -> str:
    """Return the rows of a sheet as lines of cells with tabs between them."""
    if sheet and sheet not in book.sheetnames:
        raise ModelError(f"has no sheet {sheet!r}", remedy=f"Sheets: {', '.join(book.sheetnames)}")
    page = book[sheet] if sheet else book[book.sheetnames[0]]
    if not hasattr(page, "reset_dimensions"):
        raise ModelError("its first sheet is a chart", remedy="Name the sheet with the table")
    _check_order(book, page)
    page.reset_dimensions()  # what the file says of its size may be anything
    lines: list[str] = []
    blank = 0
    for row in page.iter_rows(values_only=True):
        blank = blank + 1 if all(cell is None for cell in row) else 0
        if blank > MAX_BLANK_ROWS:
            raise ModelError(
                f"more than {MAX_BLANK_ROWS} rows from row {len(lines) - blank + 2} on are empty", remedy=_REMEDY
            )
        lines.append("\t".join(_cell(cell) for cell in row[:MAX_COLUMNS]))
    return "\n".join(line.rstrip("\t") if line.lstrip().startswith("#") else line for line in lines)


def _check_order(book: Any, page: Any) -> None:
    """Refuse rows whose numbers do not increase: the library would drop late ones."""
    last, left = 0, b""
    with book._archive.open(page._worksheet_path) as source:
        while chunk := source.read(2**20):
            left += chunk
            found = list(_ROW.finditer(left))
            for match in found:
                number = int(match[1])
                if number <= last:
                    raise ModelError(f"row {number} stands behind row {last}", remedy=_REMEDY)
                last = number
            left = left[found[-1].end() if found else max(0, len(left) - 4096) :]


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return repr(value)
    return " ".join(str(value).split())
