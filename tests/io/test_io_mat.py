"""MAT files: what SciPy writes is read as it was; damaged files and complex numbers are one error."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from scipy.io import savemat

from zveno.errors import ModelError
from zveno.io.arrays import read_mat

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
    content = {name: CONTENT[name] for name in ("t", "q", "single", "text")}
    arrays = read_mat(written(tmp_path, content, format="4", oned_as="column"))
    assert set(arrays) == {"t", "q", "single"}
    np.testing.assert_array_equal(arrays["q"], CONTENT["q"])


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "damaged, or not a MAT file"),
        (b"t,q\n1,2\n", "damaged, or not a MAT file"),
        (b"\x89HDF\r\n\x1a\n" + bytes(200), "7.3"),
        (b" " * 124 + b"\x00\x01IM" + struct.pack("<LL", 14, 10**9), "damaged"),
        (b" " * 124 + b"\x00\x01IM" + struct.pack("<LL", 15, 4) + b"1234", "damaged"),
        (b"\0\0\0\0" + struct.pack("<4l", 10**9, 10**9, 0, 2) + b"a\0", "damaged"),
    ],
)
def test_damaged_files_are_refused(tmp_path, data, words):
    (tmp_path / "a.mat").write_bytes(data)
    with pytest.raises(ModelError, match=f"a.mat: .*{words}"):
        read_mat(tmp_path / "a.mat")


def test_complex_numbers_are_refused(tmp_path):
    path = written(tmp_path, {"t": CONTENT["t"], "log": {"q": np.exp(1j * np.arange(5))}})
    with pytest.raises(ModelError, match=r"a\.mat: array log\.q: it holds complex numbers"):
        read_mat(path)
