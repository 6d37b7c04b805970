"""Small files that unpack to much are refused before they fill the memory; none of them runs code."""

from __future__ import annotations

import bz2
import io
import pickle
import struct
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat

import zveno
from zveno import identification
from zveno.errors import ModelError, ZvenoError
from zveno.io.arrays import read_mat, read_npy, read_npz
from zveno.io.logs import _bags
from zveno.io.tables import read_spreadsheet

UNPACKED, LIMIT, PEAK = 64 * 2**20, 2**20, 12 * 2**20
"""Bytes that a bomb unpacks to, bytes that are allowed, and bytes that refusing may take."""


def refused_small(read, words: str) -> None:
    """The reader raises an error with these words, and takes little memory."""
    tracemalloc.start()
    try:
        with pytest.raises(ZvenoError, match=words):
            read()
        assert tracemalloc.get_traced_memory()[1] < PEAK
    finally:
        tracemalloc.stop()


def packed_npz(path: Path, name: str, data: bytes) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, data)
    return path


def npy_of(array: np.ndarray) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=True)
    return stream.getvalue()


def test_npz(tmp_path):
    bomb = packed_npz(tmp_path / "a.npz", "a.npy", npy_of(np.zeros(UNPACKED // 8)))
    refused_small(lambda: read_npz(bomb, LIMIT), r"a\.npz: it would take 64 MB unpacked, and at most 1 MB")


def test_npz_of_bytes_count_as_numbers(tmp_path):
    """Within the limit as bytes, and eight times that as floats."""
    bomb = packed_npz(tmp_path / "a.npz", "t.npy", npy_of(np.zeros(LIMIT // 2, np.uint8)))
    refused_small(lambda: read_npz(bomb, LIMIT), r"a\.npz: it would take 4 MB unpacked")


def test_npz_whose_directory_lies(tmp_path):
    """The size in the table of contents is what NumPy reads, whatever the member unpacks to."""
    bomb = packed_npz(tmp_path / "a.npz", "a.npy", npy_of(np.zeros(UNPACKED // 8)))
    data = bytearray(bomb.read_bytes())
    at = data.index(b"PK\x01\x02")
    data[at + 24 : at + 28] = struct.pack("<L", 1000)
    bomb.write_bytes(bytes(data))
    refused_small(lambda: read_npz(bomb, LIMIT), r"a\.npz: .*damaged")


def test_npy_that_promises_more_than_it_has(tmp_path):
    data = npy_of(np.zeros(3)).replace(b"(3,), }      ", b"(3000000000,)}")
    (tmp_path / "a.npy").write_bytes(data)
    refused_small(lambda: read_npy(tmp_path / "a.npy"), r"a\.npy: its data are cut off")


def test_spreadsheet(tmp_path, monkeypatch):
    pytest.importorskip("openpyxl")
    bomb = packed_npz(tmp_path / "a.xlsx", "xl/worksheets/sheet1.xml", b" " * UNPACKED)
    monkeypatch.setattr("zveno.io.tables.MAX_DATA_BYTES", LIMIT)
    refused_small(lambda: read_spreadsheet(bomb), r"a\.xlsx: it would take 64 MB unpacked")


def test_mat(tmp_path):
    savemat(tmp_path / "a.mat", {"log": {"q": np.zeros(UNPACKED // 8)}}, do_compression=True)
    refused_small(lambda: read_mat(tmp_path / "a.mat", LIMIT), r"a\.mat: it would take \d+ MB unpacked")


def joint_states(store, k: int):
    state, header, stamp = (
        store.types[name]
        for name in ("sensor_msgs/msg/JointState", "std_msgs/msg/Header", "builtin_interfaces/msg/Time")
    )
    its = {"seq": k} if "seq" in header.__dataclass_fields__ else {}
    top = header(**its, stamp=stamp(sec=1, nanosec=10**7 * k), frame_id="")
    return state(top, ["joint1", "joint2"], np.array([0.1 * k, 0.2]), np.zeros(2), np.ones(2))


def ros1_bag(path: Path, compression: str) -> Path:
    """A bag with one chunk, packed; with bz2 the chunk is replaced by a bomb."""
    from rosbags.rosbag1 import Writer
    from rosbags.typesys import Stores, get_typestore

    store = get_typestore(Stores.ROS1_NOETIC)
    writer = Writer(path)
    writer.set_compression(writer.CompressionFormat[compression])
    with writer:
        line = writer.add_connection("/js", "sensor_msgs/msg/JointState", typestore=store)
        for k in range(30):
            raw = store.serialize_ros1(joint_states(store, k), "sensor_msgs/msg/JointState")
            writer.write(line, 10**7 * k, raw)
    return path


def test_chunks_of_bags_are_read_and_bounded(tmp_path, monkeypatch):
    pytest.importorskip("rosbags")
    robot = zveno.load("planar2")
    for compression in ("BZ2", "LZ4"):
        assert len(identification.read_log(ros1_bag(tmp_path / f"{compression}.bag", compression), robot)) == 30
    data = (tmp_path / "BZ2.bag").read_bytes()
    start = data.index(b"BZh", data.index(b"compression=bz2"))
    (size,) = struct.unpack("<I", data[start - 4 : start])
    bomb = bz2.compress(bz2.decompress(data[start : start + size]) + bytes(UNPACKED))
    data = data[: start - 4] + struct.pack("<I", len(bomb)) + bomb + data[start + size :]
    at = data.index(b"index_pos=") + 10
    (old,) = struct.unpack("<Q", data[at : at + 8])
    (tmp_path / "bomb.bag").write_bytes(data[:at] + struct.pack("<Q", old + len(bomb) - size) + data[at + 8 :])
    monkeypatch.setattr(_bags, "MAX_CHUNK_BYTES", LIMIT)
    refused_small(
        lambda: identification.read_log(tmp_path / "bomb.bag", robot),
        r"bomb\.bag: a compressed chunk has more than 1 MB unpacked",
    )


@pytest.mark.parametrize("mode", ["FILE", "MESSAGE", "STORAGE"])
def test_bags_of_ros_2_are_read_and_bounded(tmp_path, monkeypatch, mode):
    pytest.importorskip("rosbags")
    from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin, Writer
    from rosbags.typesys import Stores, get_typestore

    store, robot = get_typestore(Stores.LATEST), zveno.load("planar2")
    plugin = StoragePlugin.MCAP if mode == "STORAGE" else StoragePlugin.SQLITE3
    writer = Writer(tmp_path / "bag", version=9, storage_plugin=plugin)
    writer.set_compression(CompressionMode[mode], CompressionFormat.ZSTD)
    with writer:
        line = writer.add_connection("/js", "sensor_msgs/msg/JointState", typestore=store)
        for k in range(30):
            raw = bytes(store.serialize_cdr(joint_states(store, k), "sensor_msgs/msg/JointState"))
            writer.write(line, 10**7 * k, raw + bytes(2 * LIMIT if k == 20 else 0))
    assert len(identification.read_log(tmp_path / "bag", robot)) >= 29
    monkeypatch.setattr(_bags, "MAX_CHUNK_BYTES", LIMIT)
    monkeypatch.setattr(_bags, "MAX_UNPACKED_BYTES", LIMIT)
    with pytest.raises(ModelError, match=r"more than 1 MB unpacked|MB unpacked, and at most 1 MB"):
        identification.read_log(tmp_path / "bag", robot)


def test_a_long_description_of_a_bag_is_refused(tmp_path):
    (tmp_path / "metadata.yaml").write_text("rosbag2_bagfile_information:\n  version: 8\n# " + "a" * (5 * 2**20))
    with pytest.raises(ModelError, match=r"metadata\.yaml: it has 5 MB"):
        identification.read_log(tmp_path, zveno.load("planar2"))


RAN: list[bool] = []


def leave_a_trace() -> None:
    RAN.append(True)


class Told:
    """Leaves a trace if it is unpickled."""

    def __reduce__(self):
        return leave_a_trace, ()


def test_pickles_are_refused(tmp_path):
    pickle.loads(pickle.dumps(Told()))
    assert RAN  # the trace works
    RAN.clear()
    array = np.array([Told(), None], dtype=object)
    np.save(tmp_path / "a.npy", array, allow_pickle=True)
    np.savez(tmp_path / "a.npz", q=array)
    for read, name in ((read_npy, "a.npy"), (read_npz, "a.npz")):
        with pytest.raises(ModelError, match=f"{name}: .*not plain numbers"):
            read(tmp_path / name)
    assert not RAN
