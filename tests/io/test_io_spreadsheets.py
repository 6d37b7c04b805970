"""Measurements in spreadsheets: the table that a CSV file has, and one clear error for what is none."""

import io
import zipfile

import numpy as np
import pytest

import zveno
from zveno import calibration
from zveno.errors import MissingExtraError, ModelError
from zveno.io.tables import parse_measurements, read_spreadsheet

openpyxl = pytest.importorskip("openpyxl")


def book(path, rows, sheet="Sheet", first=()):
    made = openpyxl.Workbook()
    page = made.active
    for row in first:
        page.append(row)
    if sheet != "Sheet":
        page = made.create_sheet(sheet)
    for row in rows:
        page.append(row)
    made.save(path)
    return path


ROWS = [
    ["# kind = position"],
    ["# unit = mm"],
    [],
    ["q1", "q2", "x", "y", "z"],
    [0.1, 0.2, 1.5, None, 3],
    [1, 2, 3, 4.25, 5],
]


def test_a_sheet_is_the_table_of_its_text(tmp_path):
    table = read_spreadsheet(book(tmp_path / "a.xlsx", ROWS))
    text = "# kind = position\n# unit = mm\n\nq1,q2,x,y,z\n0.1,0.2,1.5,,3\n1,2,3,4.25,5\n"
    other = parse_measurements(text)
    assert table.settings == other.settings
    assert list(table.columns) == list(other.columns)
    for name in table.columns:
        np.testing.assert_array_equal(table.numbers(name), other.numbers(name))
    assert table.lines.tolist() == [5, 6]


def test_a_campaign_comes_from_a_sheet_of_a_name(tmp_path):
    robot = zveno.load("puma560")
    q = robot.random(5, 1)
    names = [f"q{k}" for k in range(1, 7)]
    table = np.column_stack([q, q[:, :3]]).tolist()
    rows = [["# kind = position"], [*names, "x", "y", "z"], *table]
    file = book(tmp_path / "b.xlsx", rows, "robot 2", [["nothing of interest"]])
    campaign = calibration.read_dataset(file, robot.mechanism, settings={"sheet": "robot 2"})
    np.testing.assert_allclose(campaign.q, q, rtol=1e-14)  # openpyxl writes sixteen digits
    with pytest.raises(ModelError, match=r"has no sheet 'robot 3'.*robot 2"):
        calibration.read_dataset(file, robot.mechanism, settings={"sheet": "robot 3"})


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "not a zip archive"),
        (b"PK\x03\x04 not a zip", "not a zip archive"),
        (b"q1,q2\n1,2\n", "not a zip archive"),
    ],
)
def test_what_is_none_is_refused(tmp_path, data, words):
    file = tmp_path / "c.xlsx"
    file.write_bytes(data)
    with pytest.raises(ModelError, match=words):
        read_spreadsheet(file)


def test_a_damaged_one_is_refused(tmp_path):
    file = book(tmp_path / "d.xlsx", ROWS)
    packed = io.BytesIO()
    with zipfile.ZipFile(file) as old, zipfile.ZipFile(packed, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            new.writestr(name, data[: len(data) // 2] if "sheet1" in name else data)
    (tmp_path / "e.xlsx").write_bytes(packed.getvalue())
    with pytest.raises(ModelError, match="it is damaged"):
        read_spreadsheet(tmp_path / "e.xlsx")


def test_empty_rows_without_end_are_refused(tmp_path, monkeypatch):
    """openpyxl makes all rows that are missing before a row of a large number."""
    made = openpyxl.Workbook()
    for k, row in enumerate(ROWS[3:], start=1):
        for column, value in enumerate(row, start=1):
            made.active.cell(k if k < 3 else 5000, column, value)
    made.save(tmp_path / "f.xlsx")
    assert len(read_spreadsheet(tmp_path / "f.xlsx")) == 2
    monkeypatch.setattr("zveno.io.tables._MAX_BLANK_ROWS", 1000)
    with pytest.raises(ModelError, match=r"f\.xlsx: more than 1000 rows from row 3 on are empty"):
        read_spreadsheet(tmp_path / "f.xlsx")


def test_the_extra_is_named_where_it_is_missing(tmp_path, monkeypatch):
    file = book(tmp_path / "g.xlsx", ROWS)
    monkeypatch.setitem(__import__("sys").modules, "openpyxl", None)
    with pytest.raises(MissingExtraError, match=r"zveno\[xlsx\]"):
        read_spreadsheet(file)


@pytest.mark.parametrize("word", ["#DIV/0!", "#N/A", "#REF!", "#NAME?", "#####"])
def test_a_row_that_begins_with_an_error_is_named(tmp_path, word):
    """It was a comment, and the row was gone without a word."""
    rows = [*ROWS[:4], *([0.1 * k, 0.2, 1.0, 2.0, 3.0] for k in range(12))]
    rows[7] = [word, *rows[7][1:]]
    text = "\n".join(",".join("" if cell is None else str(cell) for cell in row) for row in rows)
    (tmp_path / "g.csv").write_text(text)
    robot = zveno.load("Rz(q1) Tx(0.3) Rz(q2) Tx(0.3)")
    for file in (book(tmp_path / "g.xlsx", rows), tmp_path / "g.csv"):
        with pytest.warns(zveno.ZvenoWarning, match=r"is not a number \(line 8, column q1\)"):
            assert np.isnan(calibration.read_dataset(file, robot.mechanism).q[3, 0])


def test_comments_stay_comments():
    text = "# kind = position\n#\n## a title, with a comma\n#### \n#0.1,0.2\n%,\nq1,x\n1,2\n#N/A is missing\n3,4\n"
    table = parse_measurements(text)
    assert table.settings == {"kind": "position"}
    assert table.lines.tolist() == [8, 10]


def test_a_row_of_a_negative_number_is_refused(tmp_path):
    """The library left it out."""
    with zipfile.ZipFile(book(tmp_path / "h.xlsx", ROWS)) as old, zipfile.ZipFile(tmp_path / "i.xlsx", "w") as new:
        for name in old.namelist():
            data = old.read(name)
            new.writestr(name, data.replace(b'<row r="5"', b"<row r='-5'") if "sheet1" in name else data)
    with pytest.raises(ModelError, match="row -5 stands behind row"):
        read_spreadsheet(tmp_path / "i.xlsx")


def test_sheets_that_are_not_read_are_named(tmp_path):
    file = book(tmp_path / "j.xlsx", ROWS, "more", ROWS)
    with pytest.warns(zveno.ZvenoWarning, match="only its first sheet is read, not more"):
        assert len(read_spreadsheet(file)) == 2
    assert len(read_spreadsheet(file, sheet="more")) == 2  # who names one has chosen
