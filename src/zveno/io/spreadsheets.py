"""Measurements in a spreadsheet, .xlsx: its first sheet is read as a table of text would be."""

from __future__ import annotations

import io
import warnings
import zipfile
import zlib
from os import PathLike

from ..errors import MissingExtraError, ModelError
from .files import MAX_DATA_BYTES, read_bytes
from .measurements import MeasurementTable, parse_measurements

SUFFIX = ".xlsx"
MAX_ENTRIES = 10_000
"""Parts of a spreadsheet; real ones have some dozens."""
MAX_COLUMNS = 2000
_REMEDY = "Save it again as .xlsx, or as CSV"


def read_spreadsheet(path: str | PathLike[str], *, sheet: str = "", head_needed: bool = True) -> MeasurementTable:
    """The table of a sheet, the first by default: lines `# key = value`, a header, then numbers.

    Formulas count with the values that were saved; rows are numbered as in the sheet.
    """
    data = read_bytes(path, MAX_DATA_BYTES)
    try:
        text = _text(data, sheet)
    except ModelError as error:
        raise error.located(file=path) from None
    return parse_measurements(text, str(path), head_needed=head_needed)


def _text(data: bytes, sheet: str) -> str:
    """The rows of a sheet as lines of cells with tabs between them."""
    try:
        import openpyxl
    except ImportError:
        raise MissingExtraError("spreadsheets need openpyxl", remedy="pip install 'zveno[xlsx]'") from None
    _check_size(data)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # styles and extensions that it leaves out
            book = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True)
            if sheet and sheet not in book.sheetnames:
                raise ModelError(f"has no sheet {sheet!r}", remedy=f"Sheets: {', '.join(book.sheetnames)}")
            page = book[sheet] if sheet else book[book.sheetnames[0]]
            if not hasattr(page, "reset_dimensions"):
                raise ModelError("its first sheet is a chart", remedy="Name the sheet with the table")
            page.reset_dimensions()  # what the file says of its size may be anything
            lines = [
                "\t".join(_cell(cell) for cell in row[:MAX_COLUMNS]) for row in page.iter_rows(values_only=True)
            ]
    except ModelError:
        raise
    except Exception as error:  # the reader's own errors have no common class
        raise ModelError(f"it is damaged: {error}", remedy=_REMEDY) from None
    return "\n".join(line.rstrip("\t") if line.lstrip().startswith("#") else line for line in lines)


def _check_size(data: bytes) -> None:
    """Refuse what is no archive, or would fill the memory when it is unpacked."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entries = archive.infolist()
    except (zipfile.BadZipFile, zlib.error, ValueError, OSError, EOFError) as error:
        raise ModelError(f"it is no spreadsheet: {error}", remedy=_REMEDY) from None
    size = sum(entry.file_size for entry in entries)
    if size > MAX_DATA_BYTES or len(entries) > MAX_ENTRIES:
        raise ModelError(f"it would take {size / 2**20:.0f} MB unpacked", remedy="Split it into several files")


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return repr(value)
    return " ".join(str(value).split())
