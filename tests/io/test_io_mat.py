"""MAT files: what SciPy writes is read as it was, and damaged files are refused without a crash."""

from __future__ import annotations

import io
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.io import savemat

from zveno.errors import ModelError, ZvenoError
from zveno.io.mat import read_mat

RNG = np.random.default_rng(0)
CONTENT = {
    "t": np.linspace(0.0, 1.0, 50),
    "q": RNG.normal(size=(50, 3)),
    "whole": np.arange(50),
    "small": np.arange(50, dtype=np.uint8),
    "single": RNG.normal(size=50).astype(np.float32),
    "cube": RNG.normal(size=(50, 2, 3)),
    "text": "a text",
    "number": 3.0,
    "wave": np.exp(1j * np.arange(5)),
    "cell": np.array([np.zeros(2), "x"], dtype=object),
}
ARRAYS = ("t", "q", "whole", "small", "single", "cube")


def written(tmp_path, content, **options):
    savemat(tmp_path / "a.mat", content, **options)
    return tmp_path / "a.mat"


@pytest.mark.parametrize("compressed", [False, True])
def test_arrays_of_numbers_come_back_as_they_were(tmp_path, compressed):
    content = CONTENT | {"log": {"q": CONTENT["q"], "inner": {"t": CONTENT["t"]}, "name": "x"}}
    arrays = read_mat(written(tmp_path, content, do_compression=compressed, oned_as="column"))
    assert set(arrays) == {*ARRAYS, "log.q", "log.inner.t"}
    for name in ARRAYS:
        np.testing.assert_array_equal(arrays[name], CONTENT[name])
        assert arrays[name].dtype == CONTENT[name].dtype
    np.testing.assert_array_equal(arrays["log.inner.t"], CONTENT["t"])


def test_version_4(tmp_path):
    content = {name: CONTENT[name] for name in ("t", "q", "single", "text", "wave")}
    arrays = read_mat(written(tmp_path, content, format="4", oned_as="column"))
    assert set(arrays) == {"t", "q", "single"}
    np.testing.assert_array_equal(arrays["q"], CONTENT["q"])


def test_the_other_byte_order(tmp_path):
    def element(kind: int, content: bytes) -> bytes:
        return struct.pack(">LL", kind, len(content)) + content + b"\0" * (-len(content) % 8)

    numbers = np.arange(6.0).astype(">f8").tobytes()
    parts = [(6, struct.pack(">LL", 6, 0)), (5, struct.pack(">ll", 2, 3)), (1, b"q"), (9, numbers)]
    matrix = element(14, b"".join(element(*part) for part in parts))
    (tmp_path / "big.mat").write_bytes(b" " * 124 + b"\x01\x00MI" + matrix)
    np.testing.assert_array_equal(read_mat(tmp_path / "big.mat")["q"], np.arange(6.0).reshape(2, 3, order="F"))


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "it is empty"),
        (b"t,q\n1,2\n", "no MAT file: its first bytes"),
        (b"\x89HDF\r\n\x1a\n" + bytes(200), "7.3"),
        (b" " * 124 + b"\x00\x01IM" + struct.pack("<LL", 14, 10**9), "cut off"),
        (b" " * 124 + b"\x00\x01IM" + struct.pack("<LL", 15, 4) + b"1234", "damaged"),
        (b"\0\0\0\0" + struct.pack("<4l", 10**9, 10**9, 0, 2) + b"a\0", "cut off"),
        (b"\0\0\0\0" + struct.pack("<4l", -1, 2, 0, 2) + b"a\0", "negative"),
    ],
)
def test_damaged_files_are_refused(tmp_path, data, words):
    (tmp_path / "a.mat").write_bytes(data)
    with pytest.raises(ModelError, match=f"a.mat: .*{words}"):
        read_mat(tmp_path / "a.mat")


def test_compressed_zeros_are_refused_by_their_size(tmp_path):
    path = written(tmp_path, {"zeros": np.zeros(2_000_000)}, do_compression=True)
    with pytest.raises(ModelError, match="more than 1 MB"):
        read_mat(path, 2**20)


@settings(max_examples=300, derandomize=True)
@given(st.data())
def test_whatever_is_changed_no_other_error_escapes(tmp_path_factory, data):
    stream = io.BytesIO()
    savemat(stream, CONTENT | {"log": {"q": CONTENT["q"]}})
    content = bytearray(stream.getvalue())
    for _ in range(data.draw(st.integers(1, 6))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.mktemp("mat") / "a.mat"
    path.write_bytes(bytes(content[: data.draw(st.integers(0, len(content)))]))
    try:
        arrays = read_mat(path)
    except ZvenoError:
        return
    assert all(array.dtype.kind in "biuf" for array in arrays.values())
