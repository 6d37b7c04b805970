"""Seeds of recordings for fuzzing, and what must hold of what is read."""

from __future__ import annotations

import io
import tempfile
from functools import cache
from pathlib import Path

import numpy as np

import zveno

SAMPLES = 40
T = 1e-3 * np.arange(SAMPLES)
WAVES = np.sin(np.outer(T, np.arange(1, 7)))


@cache
def _robot() -> zveno.Robot:
    return zveno.load("planar2")


def read_log(path: Path) -> str | None:
    """What is wrong with a log that was read, or None."""
    log = zveno.read_log(path, _robot(), gains=1.0)
    whole = log.arrays()
    if not all(np.isfinite(x).all() for x in (whole.t, whole.q, whole.tau)):
        return "numbers are not finite"
    if not (np.diff(whole.t) > 0).all():
        return "time does not increase"
    return None if len(whole.t) == len(log) else "rows are lost between passes"


def _columns() -> dict[str, np.ndarray]:
    names = ("q1", "q2", "dq1", "dq2", "tau1", "tau2")
    return {"t": T} | dict(zip(names, WAVES.T, strict=True))


def text_seeds() -> list[bytes]:
    """CSV with commas, semicolons and blanks, with and without a header."""
    columns = _columns()
    rows = [[f"{x:.6g}" for x in row] for row in zip(*columns.values(), strict=True)]
    comma = "\n".join(",".join(row) for row in [list(columns), *rows])
    semicolon = "# angle = deg\n" + comma.replace(",", ";").replace(".", ",")
    return [text.encode() for text in (comma, semicolon, "\n".join(" ".join(row) for row in rows))]


def npz_seeds() -> list[bytes]:
    """Arrays of NumPy, packed and not."""
    seeds = []
    for save in (np.savez, np.savez_compressed):
        stream = io.BytesIO()
        save(stream, t=T, q=WAVES[:, :2], tau=WAVES[:, 2:4])
        seeds.append(stream.getvalue())
    return seeds


def mat_seeds() -> list[bytes]:
    """Arrays of MATLAB: version 5, packed and not, in a structure, and version 4."""
    from scipy.io import savemat

    data = {"t": T, "q": WAVES[:, :2].T, "tau": WAVES[:, 2:4].T}
    seeds = []
    for content, options in ((data, {}), ({"log": data}, {"do_compression": True}), (data, {"format": "4"})):
        stream = io.BytesIO()
        savemat(stream, content, **options)
        seeds.append(stream.getvalue())
    return seeds


def parquet_seeds() -> list[bytes]:
    """A table that polars wrote."""
    import polars

    stream = io.BytesIO()
    polars.DataFrame(_columns()).write_parquet(stream)
    return [stream.getvalue()]


@cache
def mcap_seeds() -> list[bytes]:
    """Joint states in MCAP."""
    from rosbags.rosbag2 import StoragePlugin, Writer
    from rosbags.typesys import Stores, get_typestore

    store, kind = get_typestore(Stores.LATEST), "sensor_msgs/msg/JointState"
    stamp, header, state = (
        store.types[name] for name in ("builtin_interfaces/msg/Time", "std_msgs/msg/Header", kind)
    )
    with tempfile.TemporaryDirectory() as folder:
        with Writer(Path(folder) / "bag", version=9, storage_plugin=StoragePlugin.MCAP) as bag:
            topic = bag.add_connection("/joint_states", kind, typestore=store)
            for k, row in enumerate(WAVES):
                names = list(_robot().joint_names)
                message = state(header(stamp(1, k * 10**6), ""), names, row[:2], row[2:4], row[4:6])
                bag.write(topic, 10**9 + k * 10**6, store.serialize_cdr(message, kind))
        return [next((Path(folder) / "bag").glob("*.mcap")).read_bytes()]
