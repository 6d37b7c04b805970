"""The one door to files: nothing blocks, nothing fills the memory, nothing is overwritten by mistake."""

from __future__ import annotations

import io
import os
import stat
import struct
import threading
import zipfile
from pathlib import Path

import numpy as np
import pytest

from zveno.errors import ModelError, ZvenoError
from zveno.ik.paths.pose_files import read_poses
from zveno.io import load_mechanism
from zveno.io.arrays import read_npy, read_npz
from zveno.io.files import read_bytes, read_json, read_text, replacing, write_text
from zveno.io.results import load_result
from zveno.io.tables import read_arrays, read_measurements
from zveno.simulation.trajectory import Trajectory

READERS = {
    "model.urdf": load_mechanism,
    "model.xml": load_mechanism,
    "model.mjcf": load_mechanism,
    "model.toml": load_mechanism,
    "model.ets": load_mechanism,
    "data.csv": read_measurements,
    "data.npz": lambda path: read_arrays(path, ["a"]),
    "data.json": lambda path: read_arrays(path, ["a"]),
    "result.json": load_result,
    "run.npz": Trajectory.load,
    "poses.csv": read_poses,
    "poses.npy": read_poses,
}


@pytest.mark.parametrize("name", READERS)
def test_a_pipe_nobody_writes_to_is_refused_at_once(tmp_path, name):
    os.mkfifo(tmp_path / name)
    errors = []

    def read():
        try:
            READERS[name](tmp_path / name)
        except ZvenoError as error:
            errors.append(str(error))

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    thread.join(20.0)
    if thread.is_alive():  # unblock it, so that only this test fails
        os.close(os.open(tmp_path / name, os.O_WRONLY | os.O_NONBLOCK))
    assert errors
    assert "not a regular file" in errors[0]
    assert name in errors[0]


@pytest.mark.parametrize("name", READERS)
def test_endless_devices_directories_and_missing_files(tmp_path, name):
    link = tmp_path / name
    link.symlink_to("/dev/zero")
    with pytest.raises(ZvenoError, match=f"{name}.*not a regular file"):
        READERS[name](link)
    link.unlink()
    with pytest.raises(ZvenoError, match="no such file"):
        READERS[name](link)
    link.mkdir()
    with pytest.raises(ZvenoError, match=f"{name}.*(this is a directory|is a folder without)"):
        READERS[name](link)


@pytest.mark.parametrize("name", READERS)
def test_large_files_are_refused_by_their_size_alone(tmp_path, name):
    with (tmp_path / name).open("wb") as stream:
        stream.truncate(3 * 2**30)  # a hole: takes no room on the disk
    with pytest.raises(ZvenoError, match=r"it has 3072 MB, and at most \d+ MB are read"):
        READERS[name](tmp_path / name)


def test_files_that_say_they_are_empty_are_read_within_the_limit():
    if not Path("/proc/self/maps").exists():
        pytest.skip("needs Linux")
    assert read_bytes("/proc/self/maps")
    with pytest.raises(ModelError, match="at most 0 MB"):
        read_bytes("/proc/self/maps", 100)


def test_text_that_is_not_utf8_names_the_line(tmp_path):
    (tmp_path / "a.toml").write_bytes(b"name = 'x'\nunit = '\xff'\n")
    with pytest.raises(ModelError, match=r"a.toml: line 2: it is not UTF-8"):
        read_text(tmp_path / "a.toml")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[1,\n2,,3]", "line 2, column 3: it is not JSON"),
        ("[1,\n" + "9" * 5000 + "]", "line 2: it has a number of too many digits"),
        ("[" * 200_000, "nested too deeply"),
        ("", "line 1, column 1: it is not JSON"),
    ],
)
def test_json_errors_name_the_place(tmp_path, text, words):
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(ModelError, match=words):
        read_json(tmp_path / "a.json")


# --- arrays


def packed(entries: dict[str, bytes], compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", compression) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return stream.getvalue()


def npy(array: np.ndarray) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def header(kind: str, n: str) -> str:
    return f"{{'descr': '{kind}', 'fortran_order': False, 'shape': ({n},)}}"


def described(text: str, data: bytes = b"") -> bytes:
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode() + data


def test_arrays_come_back(tmp_path):
    arrays = {
        "a": np.arange(6.0).reshape(2, 3),
        "b": np.array("text"),
        "c": np.asfortranarray(np.arange(6, dtype=">i4").reshape(3, 2)),
        "d": np.zeros((0, 4)),
        "e": np.array([True, False]),
        "f": np.array(""),
    }
    for save in (np.savez, np.savez_compressed):
        save(tmp_path / "a.npz", **arrays)
        read = read_npz(tmp_path / "a.npz")
        assert read.keys() == arrays.keys()
        for name, array in arrays.items():
            assert np.array_equal(read[name], array), name
            assert read[name].dtype == array.dtype, name
    np.save(tmp_path / "a.npy", arrays["a"])
    assert np.array_equal(read_npy(tmp_path / "a.npy"), arrays["a"])


BOMB = packed({"a.npy": npy(np.zeros(2**22))})
ENCRYPTED = bytearray(packed({"a.npy": npy(np.zeros(3))}))
ENCRYPTED[6] |= 1
ENCRYPTED[ENCRYPTED.index(b"PK\x01\x02") + 8] |= 1
CORRUPT = bytearray(packed({"a.npy": npy(np.arange(1000.0))}))
CORRUPT[60:90] = bytes(30)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "it is empty"),
        (b"x,y\n1,2\n", "not a zip archive"),
        (npy(np.zeros(3)), "not a zip archive"),
        (BOMB, "would take 32 MB unpacked, and at most 16 MB"),
        (
            packed({"a.npy": described(header("<f8", "10**12"))}),
            "not a NumPy array file",
        ),
        (packed({"a.npy": described(header("<f8", "1000000000000"))}), "cut off"),
        (packed({"a.npy": described(header("<U0", "1000000000000"))}), "cut off"),
        (
            packed({"a.npy": described(header("|O", "1"), b"cos\nsystem\n")}),
            "plain",
        ),
        (packed({"a.npy": described("(" * 5000)}), "not a NumPy array file"),
        (packed({"a.npy": npy(np.ones(3, complex))}), "array a: it holds complex numbers"),
        (packed({"a.npy": b""}), "array a: it is empty"),
        (packed({"xl/workbook.xml": b"<a/>"}), "which is not an array"),
        (bytes(ENCRYPTED), "encrypted"),
        (bytes(CORRUPT), "damaged"),
        (BOMB[:200], "damaged"),
        (packed({f"{k}.npy": b"" for k in range(30_000)}, zipfile.ZIP_STORED), "too many parts"),
    ],
)
def test_odd_npz_files(tmp_path, data, words):
    (tmp_path / "a.npz").write_bytes(data)
    with pytest.raises(ModelError, match=f"a.npz.*{words}"):
        read_npz(tmp_path / "a.npz", 16 * 2**20)
    if data is not BOMB:
        with pytest.raises(ZvenoError, match=f"a.npz.*{words}"):
            read_arrays(tmp_path / "a.npz", ["a"])


# --- writing


def test_written_whole_or_not_at_all(tmp_path):
    path = write_text(tmp_path / "a.txt", "old")
    with pytest.raises(ZeroDivisionError), replacing(path) as temporary:
        temporary.write_text(f"half {1 / 0}")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]
    with pytest.raises(ZvenoError, match="cannot be written"):
        write_text(path, "half \ud800")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_an_input_is_never_overwritten(tmp_path):
    model = write_text(tmp_path / "r.urdf", "<robot/>")
    (tmp_path / "same.urdf").hardlink_to(model)
    for path in (model, tmp_path / "same.urdf", tmp_path / "." / "r.urdf"):
        with pytest.raises(ZvenoError, match="read as input"):
            write_text(path, "lost", inputs=["puma560", model], force=True)
    assert model.read_text() == "<robot/>"
    write_text(tmp_path / "new.urdf", "kept", inputs=["puma560", model])


@pytest.mark.parametrize(
    "foreign",
    [
        "my notes",
        "import zveno\n",
        "# My robot\n\nIts model was written by zveno.",
        '<robot name="zveno"/>',
        '{"zveno": "my notes in JSON"}',
        "/* my code\n * uses what was written by zveno */",
        "\x89PNG of zveno",
        "",
    ],
)
def test_foreign_files_only_by_force(tmp_path, foreign):
    path = write_text(tmp_path / "README.md", foreign)
    with pytest.raises(ZvenoError, match=r"README.md: it exists.*--overwrite"):
        write_text(path, "lost", force=False)
    assert path.read_text() == foreign
    write_text(path, "new", force=True)
    assert path.read_text() == "new"


def test_links_directories_and_devices_are_not_written_through(tmp_path):
    victim = write_text(tmp_path / "victim", "kept")
    (tmp_path / "link").symlink_to(victim)
    with pytest.raises(ZvenoError, match="link"):
        write_text(tmp_path / "link", "lost")
    with pytest.raises(ZvenoError, match="directory"):
        write_text(tmp_path, "lost")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ZvenoError, match="not a regular file"):
        write_text(tmp_path / "pipe", "lost")
    assert victim.read_text() == "kept"


def test_temporary_names_cannot_be_guessed_and_permissions_stay(tmp_path):
    names = set()
    for _ in range(3):
        with replacing(tmp_path / "a.npz") as temporary:
            names.add(temporary.name)
            assert temporary.suffix == ".npz"
            assert temporary.parent == tmp_path
    assert len(names) == 3
    (tmp_path / "a.npz").chmod(0o640)
    write_text(tmp_path / "a.npz", "again")
    assert stat.S_IMODE((tmp_path / "a.npz").stat().st_mode) == 0o640
    old = os.umask(0o027)
    try:
        write_text(tmp_path / "b", "new")
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "b").stat().st_mode) == 0o640
